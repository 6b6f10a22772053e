"""A chapter at another setting: its cell of knobs rewritten, as a reader would, and all cells run."""

import copy
import re
import tempfile

from nbclient import NotebookClient
from nbformat import v4


def knobs(source):
    """The sizes that a cell of knobs sets, by the name of each."""
    return {name: int(size) for name, size in re.findall(r"(?m)^([VLdN]) = (\d+)\b", source)}


def moved(notebook, check="", **values):
    """Run a copy of `notebook` with other values of its knobs, then `check`; return it."""
    notebook = copy.deepcopy(notebook)
    held = next(cell for cell in notebook.cells if "knobs" in cell.metadata.get("tags", []))
    for name, value in values.items():
        held.source = re.sub(rf"(?m)^{name} = \d+", f"{name} = {value}", held.source)
    notebook.cells.append(v4.new_code_cell(check))
    with tempfile.TemporaryDirectory() as folder:
        options = {"kernel_name": "python3", "resources": {"metadata": {"path": folder}}}
        return NotebookClient(notebook, timeout=900, **options).execute()
