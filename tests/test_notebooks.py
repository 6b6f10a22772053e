"""What nbval cannot see: rules that every chapter keeps.

nbval compares text exactly, skips a notebook without stored outputs and ignores a misspelt tag, so
the notebooks themselves are tested here. Every rule is a function from a notebook to a list of
complaints. What only a writer looks at is printed by writing.py.
"""

import ast
import copy
import re
import shutil
import sys
from pathlib import Path
from unittest.mock import Mock

import nbformat
import pytest
import stamp
import yaml
from execute import Refused, code_cells, execute, merge_streams, normalise
from IPython.core.inputtransformer2 import TransformerManager
from nbformat import v4

from recallbook_studies.answers import TABLE, agrees

pytestmark = pytest.mark.essential

ROOT = Path(__file__).resolve().parents[1]
CHAPTERS = sorted((ROOT / "notebooks").glob("*.ipynb"))
APPENDIX = "# Appendix: "  # starts the title of a notebook that holds what serves the expert
NOT_COMPARED = {"nbval-skip", "nbval-ignore-output", "raises-exception"}
TAGS = NOT_COMPARED | {"nbval-check-output", "setup", "hide-input", "hide-cell", "hide-output"}
TAGS |= {"remove-input", "remove-cell", "full-width", "knobs", "own-sizes"}
BOX = ("Question.", "Answer.", "Reading.", "Computing.", "Memory.", "Prerequisites.", "Seed.")
FEWEST_EXERCISES = 5
UNWANTED = {
    "an address": re.compile(r"0x[0-9a-fA-F]{4,}"),
    "an absolute path": re.compile(r"(?:^|[\s'\"(=,\[])(?:/[\w.+-]+){2,}|[A-Z]:\\"),
    "a negative zero": re.compile(r"-0\.0*(?![0-9])"),
}


def markdown(notebook):
    return "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


def is_appendix(notebook):
    return notebook.cells[0].source.startswith(APPENDIX)


def tags(cell):
    return set(cell.metadata.get("tags", []))


def images(cell):
    data = [output.get("data", {}) for output in cell.outputs]
    return [entry for entry in data if any(kind.startswith("image/") for kind in entry)]


def texts(cell):
    """The stored text outputs of a cell; what stands beside an image is only its type's name."""
    for output in cell.outputs:
        if output.output_type == "stream":
            yield output.text
        elif not any(kind.startswith("image/") for kind in output.get("data", {})):
            yield output.get("data", {}).get("text/plain", "")


# The rules


def executed_in_order(notebook):
    counts = [cell.execution_count for cell in code_cells(notebook)]
    expected = list(range(1, len(counts) + 1))
    return [] if counts == expected else [f"execution counts are {counts}, run `make notebooks`"]


def known_tags(notebook):
    found = set().union(*(tags(cell) for cell in notebook.cells))
    wrong = [f"unknown tag {tag!r}" for tag in sorted(found - TAGS)]
    for cell in code_cells(notebook):
        # A tag is checked against the list above; a comment with a typing error is not.
        wrong += ["use a tag, not an NBVAL comment"] * ("NBVAL" in cell.source.upper())
    return wrong


def enough_compared_numbers(notebook):
    count = sum(
        any(re.search(r"\d", text) for text in texts(cell))
        for cell in code_cells(notebook)
        if not tags(cell) & (NOT_COMPARED | {"hide-cell"})
    )
    fewest = 1 if is_appendix(notebook) else 5
    return [] if count >= fewest else [f"only {count} cells print a number that is compared"]


def clean_outputs(notebook):
    wrong = []
    for cell in code_cells(notebook):
        for output in cell.outputs:
            if output.output_type == "error":
                wrong.append(f"stored error: {output.ename}")
            if output.get("name") == "stderr":
                wrong.append(f"stderr: {output.text[:80]!r}")
        wrong += [
            f"{name} in an output: {match.group()!r}"
            for text in texts(cell)
            for name, pattern in UNWANTED.items()
            if (match := pattern.search(text))
        ]
    return wrong


def starts_with_setup(notebook):
    first = code_cells(notebook)[0].source.strip() if code_cells(notebook) else None
    if first == stamp.setup_cell():
        return []
    return [f"the first code cell is not the setup cell, try `make stamp`: {first!r}"]


def one_device(notebook):
    lines = "\n".join(cell.source for cell in code_cells(notebook)).splitlines()
    count = sum(bool(re.match(r"device\s*=[^=]", line)) for line in lines)
    used = any(re.search(r"\bdevice\b(?!\s*=[^=])", line) for line in lines)
    return (
        []
        if count == used
        else [f"{count} lines set `device`, there must be one where it is used, else none"]
    )


def named_figures(notebook):
    wrong, count = [], 0
    for cell in code_cells(notebook):
        found = images(cell)
        count += len(found)
        if len(found) > 1:
            wrong.append("two images in one cell would share one caption")
        if found:
            settings = cell.metadata.get("mystnb", {})
            if not settings.get("figure", {}).get("name"):
                wrong.append("figure without mystnb.figure.name")  # words for it: test_book.py
    return wrong if count or is_appendix(notebook) else ["no figure"]


def has_its_parts(notebook):
    first = notebook.cells[0]
    text = markdown(notebook)
    wrong = []
    if first.cell_type != "markdown" or not first.source.startswith("# "):
        wrong.append("does not start with a title")
    if "$" in first.source.splitlines()[0]:
        wrong.append("the title holds mathematics, which the links to neighbouring pages show raw")
    if ":::{admonition} In this chapter" not in first.source:
        wrong.append("the first cell has no box `:::{admonition} In this chapter`")
    wrong += [f"the box has no **{word}**" for word in BOX if f"**{word}**" not in first.source]
    said = re.search(r"\*\*Reading\.\*\* (\d+) min \(estimate\)", first.source)
    if not said:
        wrong.append("the box should say **Reading.** N min (estimate): nobody took the time")
    if is_appendix(notebook):
        return [] if "**Belongs to.**" in first.source else ["the box has no **Belongs to.**"]
    opening = first.source.partition("\n")[2].partition(":::")[0]
    if len(re.findall(r"[.?!]\s", opening)) < 2:
        wrong.append("between title and box: two or three sentences on why anyone should care")
    if not re.search(r"^## Takeaways$", text, re.MULTILINE):
        wrong.append("no heading `## Takeaways`")
    if not re.search(
        r"explorer\.html\?vocab=\d+&amp;seq_len=\d+&amp;dim=\d+&amp;samples=\d+", text
    ):
        wrong.append(
            "no link to the explorer, `../book/explorer.html?vocab=...`, at a setting of its own"
        )
    return wrong


def exercises_ask_first(notebook):
    """Cells after an exercise, which check a prediction, and its solution are folded."""
    if is_appendix(notebook):
        return []
    found = (i for i, cell in enumerate(notebook.cells) if "## Exercises" in cell.source)
    cells = notebook.cells[next(found, None) :]
    text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    asked = re.findall(r"(?ms)^:::\{exercise\}\n:label: (\S+)$", text)
    solved = re.findall(r"(?ms)^:::\{solution\} (\S+)\n:class: dropdown$", text)
    shown = [c for c in cells if c.get("outputs") and "hide-cell" not in tags(c)]
    wrong = [f"{len(asked)} exercises"] * (len(asked) < FEWEST_EXERCISES)
    wrong += [f"folded solutions of {solved}, exercises {asked}"] * (solved != asked)
    return wrong + [f"not tagged hide-cell: {cell.source[:60]!r}" for cell in shown]


def knobs(source):
    """The sizes that a cell of knobs sets, by the name of each."""
    return {name: int(size) for name, size in re.findall(r"(?m)^([VLdN]) = (\d+)\b", source)}


def moves_with_its_knobs(notebook):
    """One cell holds the setting; later cells use its names, or have sizes of their own."""
    sizes, wrong, held = {}, [], 0
    for cell in code_cells(notebook):
        if "knobs" in tags(cell):
            sizes, held = knobs(cell.source), held + 1
        elif sizes:
            kind, kept = ast.Constant, {*sizes.values()}
            if "own-sizes" in tags(cell):
                kind, kept = ast.Name, {*sizes, "running"}
            nodes = [node for node in ast.walk(ast.parse(cell.source)) if isinstance(node, kind)]
            used = kept & {getattr(node, "id", None) or node.value for node in nodes}
            wrong += [f"{used} in {cell.source[:60]!r}"] * bool(used)
    return wrong + [f"{held} cells are tagged knobs"] * (held != 1 and not is_appendix(notebook))


def reads_well_raw(notebook):
    text = re.sub(r"(?s)```(?!\{).*?```", "", markdown(notebook))
    fence = re.search(r"```\s*\{", text)
    return ["a directive as a code fence; write it as a colon fence"] if fence else []


def is_normalised(notebook):
    same = normalise(copy.deepcopy(notebook)) == notebook
    return [] if same else ["volatile metadata, run `make notebooks`"]


RULES = (
    executed_in_order,
    known_tags,
    enough_compared_numbers,
    clean_outputs,
    starts_with_setup,
    one_device,
    named_figures,
    has_its_parts,
    exercises_ask_first,
    moves_with_its_knobs,
    reads_well_raw,
    is_normalised,
)


def complaints(notebook):
    return {rule.__name__: found for rule in RULES if (found := rule(notebook))}


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_chapter_keeps_the_rules(path):
    assert complaints(nbformat.read(path, as_version=4)) == {}


def after(cells, label):
    """The code cells between an exercise and its solution."""
    sources = ["".join(cell["source"]) for cell in cells]
    place = next(i for i, source in enumerate(sources) if re.search(rf":label: {label}\b", source))
    found = []
    for cell, source in zip(cells[place + 1 :], sources[place + 1 :], strict=True):
        if ":::{solution}" in source:
            break
        found += [cell] * (cell["cell_type"] == "code")
    return found


def complaint(cells, label):
    """What an exercise lacks: a cell that asks if the table has it, and numbers that agree with it."""
    first, *_, last = after(cells, label) * 2
    asks = "".join(first["source"]).startswith(f'answer = None  # yours\ncheck("{label}", answer')
    if asks != (label in TABLE):
        return f"{label}: a cell asks {asks}, answers.toml has an entry {not asks}"
    if not asks:
        return ""
    entry, values = TABLE[label], TABLE[label]["right"]
    parts = [out.get("text") or out["data"].get("text/plain", "") for out in last["outputs"]]
    text = "\n".join("".join(part) for part in parts)
    found = [*re.finditer(entry["printed"], text)]
    told = [group for match in found for group in match.groups() if group is not None]
    agree = map(agrees, told, values, entry["ask"].values())
    if found and len(told) in (0, len(values)) and all(agree):
        return ""
    return f"{label}: {values} is right, but its cell prints {text!r}"


def test_exercises_ask_what_is_right():
    for path in CHAPTERS[:12]:
        notebook = nbformat.read(path, as_version=4)
        for label in re.findall(r"(?m)^:label: (ex-\S+)", markdown(notebook)):
            wrong = complaint(notebook.cells, label)
            assert not wrong, f"{wrong} (CHECKLISTS.md, An exercise, step 2)"


def test_pages_on_disk_are_those_of_the_book():
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    entries = [entry for part in toc["parts"] for entry in part["chapters"]]
    files = [page["file"] for entry in entries for page in (entry, *entry.get("sections", []))]
    pages = [*CHAPTERS, *(ROOT / "book").glob("*.md"), *(ROOT / "book" / "api").glob("*.md")]
    there = [path.relative_to(ROOT).with_suffix("").as_posix() for path in pages]
    assert sorted([toc["root"], *files]) == sorted(there), (
        "_toc.yml lists other pages than there are (CHECKLISTS.md, A chapter, step 1)"
    )
    assert CHAPTERS, "the book has no chapter"


# The rules themselves: a notebook that keeps them all, and ways to break each


def code(source, *outputs, **metadata):
    return v4.new_code_cell(source, outputs=list(outputs), metadata=metadata)


def printed(text, name="stdout"):
    return v4.new_output("stream", name=name, text=text)


# The tool that stores the outputs


def test_streams_are_merged():
    merged = merge_streams([printed("a"), printed("b"), printed("c", "stderr"), printed("d")])
    assert [(output.name, output.text) for output in merged] == [
        ("stdout", "ab"),
        ("stderr", "c"),
        ("stdout", "d"),
    ]


@pytest.mark.slow
def test_execute_refuses_stderr():
    notebook = v4.new_notebook(cells=[code("import sys; print('careful', file=sys.stderr)")])
    with pytest.raises(Refused, match="careful"):
        execute(notebook)


# nbval fails when it must; when the package changes, too, as `make mutants` shows


# One address


@pytest.mark.parametrize("path", stamp.places(), ids=lambda path: path.name)
def test_address_and_tag_agree(path):
    """So `make stamp` on a fresh clone changes nothing."""
    text = path.read_text(encoding="utf-8")
    assert stamp.stamped(path) == text, "run `make stamp`"


def test_stamp_reaches_every_place(tmp_path):
    (tmp_path / "notebooks").mkdir()
    for name in ("pyproject.toml", "_config.yml", "README.md", "CITATION.cff"):
        shutil.copy(ROOT / name, tmp_path / name)
    notebook = v4.new_notebook(cells=[code(stamp.setup_cell())])
    nbformat.write(notebook, tmp_path / "notebooks" / "a.ipynb")
    project = tmp_path / "pyproject.toml"

    def restamp(repository, tag):
        text = project.read_text(encoding="utf-8")
        text = re.sub('(?m)^(repository|pages) = ".*"', rf'\1 = "{repository}"', text)
        project.write_text(re.sub('(?m)^tag = ".*"', f'tag = "{tag}"', text), encoding="utf-8")
        stamp.main(tmp_path)
        return {path.name: path.read_text(encoding="utf-8") for path in stamp.places(tmp_path)}

    first = restamp("", "v0.1.0")
    assert 'colab_url: ""' in first["_config.yml"]
    assert "use_repository_button: false" in first["_config.yml"]
    stamped = restamp("https://example.org/me/copy", "v9.9.9")
    for name, text in stamped.items():
        assert "https://example.org/me/copy" in text and "OWNER/NAME" not in text, name
    assert "v9.9.9" in stamped["_config.yml"] and "colab.research" in stamped["_config.yml"]
    assert f"copy/run/{stamp.wheel(tmp_path)}" in stamped["a.ipynb"]
    assert restamp("", "v0.1.0") == first


def test_the_setup_cell_installs_what_lies_beside_or_is_published_and_else_stops(
    monkeypatch, tmp_path
):
    monkeypatch.setitem(sys.modules, "recallbook", None)  # as if it were not installed
    monkeypatch.chdir(tmp_path)

    def end(cell):
        names = {"get_ipython": Mock()}
        with pytest.raises((SystemExit, ImportError)) as end:
            exec(TransformerManager().transform_cell(cell), names)
        return str(names["wheel"]) or str(end.value)

    cells = [stamp.installing(published) for published in ("", "https://example.org/a.whl")]
    assert "Run it" in end(cells[0]) and end(cells[1]) == "https://example.org/a.whl"
    (tmp_path / stamp.wheel()).touch()
    assert set(map(end, cells)) == {stamp.wheel()}
