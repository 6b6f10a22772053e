"""Write the repository's address and release tag to wherever they are used: `make stamp`.

The one source is the table `[tool.recallbook]` of pyproject.toml. The places are the setup cell of
every notebook, `_config.yml` (repository and Colab buttons) and the addresses in README.md,
CONTRIBUTING.md, CITATION.cff and pyproject.toml itself.
"""

import re
import tomllib
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parents[1]
URL = r"https?://[^\s\"'@)>\]]+"
# Matches the requirement in a setup cell and in the Markdown files that show it.
REQUIREMENT = re.compile(rf"recallbook @ git\+{URL}@[^\s\"'`]+")


def source(root=ROOT):
    """The table `[tool.recallbook]`: its `repository` and its `tag`."""
    table = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    table = table["tool"]["recallbook"]
    return table["repository"], table["tag"]


def requirement(root=ROOT):
    repository, tag = source(root)
    return f"recallbook @ git+{repository}@{tag}"


def setup_cell(root=ROOT):
    """The first code cell of every notebook."""
    return (
        "try:\n"
        "    import recallbook as rb\n"
        "except ImportError:\n"
        f'    %pip install -q "{requirement(root)}"\n'
        "    import recallbook as rb"
    )


def stamped(path, root=ROOT):
    """The text that the file at `path` should have."""
    text = path.read_text(encoding="utf-8")
    repository, tag = source(root)
    if path.suffix == ".ipynb":
        notebook = nbformat.reads(text, as_version=4)
        for cell in notebook.cells:
            cell.source = REQUIREMENT.sub(requirement(root), cell.source)
        return nbformat.writes(notebook) + "\n"
    if path.name == "_config.yml":
        text = re.sub(r"(?m)^(  url: ).*$", rf"\g<1>{repository}", text, count=1)
        return re.sub(r"(?m)^(  branch: ).*$", rf"\g<1>{tag}", text, count=1)
    if path.name == "pyproject.toml":
        return re.sub(r"(?m)^(Repository = ).*$", rf'\g<1>"{repository}"', text, count=1)
    if path.name == "CITATION.cff":
        return re.sub(r"(?m)^(repository-code: ).*$", rf"\g<1>{repository}", text, count=1)
    text = REQUIREMENT.sub(requirement(root), text)
    return re.sub(r"(?m)^(git clone ).*$", rf"\g<1>{repository}", text)


def places(root=ROOT):
    return [
        root / "_config.yml",
        root / "pyproject.toml",
        root / "README.md",
        root / "CONTRIBUTING.md",
        root / "CITATION.cff",
        *sorted((root / "notebooks").glob("*.ipynb")),
    ]


def main(root=ROOT):
    for path in places(root):
        text = stamped(path, root)
        if text != path.read_text(encoding="utf-8"):
            path.write_text(text, encoding="utf-8")
            print(f"stamped {path.relative_to(root)}")


if __name__ == "__main__":
    main()
