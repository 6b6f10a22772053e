"""Write the repository's address, release tag and date to wherever they are used: `make stamp`.

The one source is the table `[tool.recallbook]` of pyproject.toml. The places are the setup cell of
every notebook, `_config.yml` (repository and Colab buttons) and the addresses in README.md,
CITATION.cff and pyproject.toml itself. Without an address the setup cell installs a wheel that lies
beside its notebook, and else stops with one line: whoever claims an address that nobody has would
run code in readers' notebooks. And there are no buttons."""

import re
import tomllib
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parents[1]
NOWHERE = "https://github.com/OWNER/NAME"  # shown where a file must have some address
COLAB = "https://colab.research.google.com"
# The requirement in README.md, and any setup cell, whole
REQUIREMENT = re.compile(r"recallbook @ git\+[^\s\"'`]+")
SETUP = re.compile(r"try:\n    import recallbook as rb\nexcept ImportError:\n(?:(?: .*)?(?:\n|$))+")
ARCHIVE = "learning-to-recall"  # .zip: beside the pages, with the wheel and all plain notebooks
CELL = f"""\
try:
    import recallbook as rb
except ImportError:
    from pathlib import Path

    published = ""
    wheel = max(Path().glob("recallbook-*.whl"), default=published)
    if not wheel:
        raise SystemExit(
            "recallbook is not installed: open this notebook where you have unpacked "
            "{ARCHIVE}.zip, which the book's page Run it has"
        ) from None
    %pip install -q {{wheel}}
    import recallbook as rb"""


def source(root=ROOT):
    """The table `[tool.recallbook]`: its `repository`, `pages`, `tag` and `date`."""
    table = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    table = table["tool"]["recallbook"]
    return table | {"pages": table["pages"].rstrip("/")}


def wheel(root=ROOT):
    """The name of the wheel, which lies beside the pages."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return f"{project['name']}-{project['version']}-py3-none-any.whl"


def requirement(repository, tag):
    return f"recallbook @ git+{repository or 'ADDRESS'}@{tag}"


def setup_cell(root=ROOT):
    """The first code cell of every notebook: the package, else a wheel beside the notebook, else
    the wheel of the published pages, else it stops."""
    pages = source(root)["pages"]
    return installing(f"{pages}/run/{wheel(root)}" if pages else "")


def installing(published):
    """The setup cell of a book whose wheel is published there, or not at all."""
    return CELL.replace('published = ""', f'published = "{published}"')


def lines(root=ROOT):
    """By file, how its lines begin that are stamped, and what they go on with."""
    table = source(root)
    address, tag = table["repository"], table["tag"]
    shown = address or NOWHERE
    return {
        "_config.yml": {
            "  url: ": shown,
            "  colab_url: ": f'"{COLAB if address else ""}"',
            "  use_repository_button: ": str(bool(address)).lower(),
            "  branch: ": tag,
        },
        "pyproject.toml": {"Repository = ": f'"{shown}"'},
        "CITATION.cff": {
            "repository-code: ": shown,
            "version: ": tag[1:],
            "date-released: ": table["date"],
        },
        "README.md": {"git clone ": address or "ADDRESS"},
    }


def stamped(path, root=ROOT):
    """The text that the file at `path` should have."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        notebook = nbformat.reads(text, as_version=4)
        first = next(cell for cell in notebook.cells if cell.cell_type == "code")
        if SETUP.fullmatch(first.source.rstrip()):
            first.source = setup_cell(root)
        return nbformat.writes(notebook) + "\n"
    for start, rest in lines(root)[path.name].items():
        text = re.sub(rf"(?m)^({re.escape(start)}).*$", rf"\g<1>{rest}", text)
    table = source(root)
    return REQUIREMENT.sub(requirement(table["repository"], table["tag"]), text)


def places(root=ROOT):
    notebooks = sorted((root / "notebooks").glob("*.ipynb"))
    return [*(root / name for name in lines(root)), *notebooks]


def main(root=ROOT):
    for path in places(root):
        text = stamped(path, root)
        if text != path.read_text(encoding="utf-8"):
            path.write_text(text, encoding="utf-8")
            print(f"stamped {path.relative_to(root)}")


if __name__ == "__main__":
    main()
