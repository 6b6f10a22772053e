"""Execute chapters in place and store their outputs: `python book/execute.py [NOTEBOOK ...]`.

Each notebook runs from top to bottom in an empty folder, as it would for a reader without a
checkout, in a kernel of the Python that runs this script. A notebook with an error or with
anything on stderr is not written. What changes from run to run without meaning (timestamps,
versions, the kernel's name) is removed, so that a second run changes no byte.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

# A kernel of the same name in the user's home would come first otherwise.
os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[1]
KERNELSPEC = {"display_name": "Python 3", "language": "python", "name": "python3"}
# A tool's own notes in the metadata of a cell; tags and figure settings stay.
VOLATILE = ("execution", "collapsed", "scrolled", "jupyter", "colab", "outputId", "ExecuteTime")


class Refused(Exception):
    """The notebook ran, but what it left must not be stored."""


def execute(notebook, timeout=600):
    """Run every cell of `notebook` in an empty folder; return it, normalised.

    Raises `nbclient.exceptions.CellExecutionError` if a cell fails, `Refused` if one writes to
    stderr.
    """
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(
            notebook,
            timeout=timeout,
            kernel_name="python3",
            record_timing=False,
            resources={"metadata": {"path": folder}},
        ).execute()
    for cell in code_cells(notebook):
        for output in cell.outputs:
            if output.output_type == "stream" and output.name == "stderr":
                raise Refused(f"a cell wrote to stderr:\n{cell.source}\n---\n{output.text}")
    return normalise(notebook)


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def normalise(notebook):
    """Remove from `notebook`, in place, what differs between two equal runs; return it."""
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    notebook.metadata = nbformat.from_dict(
        {"kernelspec": KERNELSPEC, "language_info": {"name": "python"}}
    )
    taken = set()
    for number, cell in enumerate(notebook.cells):
        # Ids stay as they are; a cell without one, or with a copied one, gets its number.
        if not cell.get("id") or cell.id in taken:
            cell["id"] = f"cell-{number:03d}"
        taken.add(cell.id)
        for key in VOLATILE:
            cell.metadata.pop(key, None)
        if cell.cell_type == "code":
            cell.outputs = merge_streams(cell.outputs)
    return notebook


def merge_streams(outputs):
    """Join neighbouring pieces of one stream: where the kernel cut them depends on timing."""
    merged = []
    for output in outputs:
        last = merged[-1] if merged else None
        if last and output.output_type == last.output_type == "stream" and output.name == last.name:
            last.text += output.text
        else:
            merged.append(output)
    return merged


def main(arguments):
    paths = [Path(argument) for argument in arguments]
    paths = paths or sorted((ROOT / "notebooks").glob("*.ipynb"))
    if not paths:
        sys.exit("No notebooks found")
    failed = []
    for path in paths:
        print(f"{path} ...", end=" ", flush=True)
        start = time.perf_counter()
        try:
            notebook = execute(nbformat.read(path, as_version=4))
        except Exception as error:
            # Go on to the next chapter, and report every failure in one run.
            print(f"{path} NOT written: {error}", file=sys.stderr)
            failed.append(path)
        else:
            nbformat.write(notebook, path)
            print(f"{time.perf_counter() - start:.0f} s", flush=True)
    if failed:
        sys.exit(f"Not written: {', '.join(map(str, failed))}")


if __name__ == "__main__":
    main(sys.argv[1:])
