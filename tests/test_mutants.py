"""The machinery of `make mutants`, on a few fast mutants; and that every mutant still applies."""

import ast
import tomllib
from pathlib import Path

import mutants
import pytest
import yaml

EQUIVALENT = mutants.Mutant(
    "a docstring",
    "none",
    "recallbook_studies/intervals.py",
    '"""Mean over seeds',
    '"""Average over seeds',
    ("test_intervals.py",),
)


def named(name):
    return next(mutant for mutant in mutants.MUTANTS if mutant.name == name)


def test_there_are_enough_of_every_kind():
    assert len(mutants.MUTANTS) >= 60
    assert len({mutant.name for mutant in mutants.MUTANTS}) == len(mutants.MUTANTS)
    kinds = {"sign", "factor", "index", "swapped axis", "off by one", "left out"}
    assert {mutant.kind for mutant in mutants.MUTANTS} == kinds


def test_every_package_and_every_chapter_has_one():
    """Also the modules that stand alone, but for the one that lists public names and the command
    line."""
    folders = {
        str(path.parent.relative_to(mutants.ROOT))
        for path in mutants.ROOT.glob("recallbook*/**/__init__.py")
        if path.parent.name != "recallbook"
    }
    modules = {f"recallbook/{name}.py" for name in ("setting", "arguments", "activations")}
    hit = {mutant.file for mutant in mutants.MUTANTS}
    assert {name for name in folders if not any(file.startswith(name) for file in hit)} == set()
    assert modules <= hit
    notebooks = {path.stem for path in (mutants.ROOT / "notebooks").glob("*.ipynb")}
    chapters = {name for name in notebooks if not name.startswith("appendix_")}
    assert (
        chapters
        <= {chapter for mutant in mutants.MUTANTS for chapter in mutant.chapters}
        <= notebooks
    )


@pytest.mark.parametrize("mutant", mutants.MUTANTS, ids=lambda mutant: mutant.name)
def test_mutant_applies(mutant):
    reads = {".toml": tomllib.loads, ".yml": yaml.safe_load, ".py": ast.parse}
    reads[Path(mutant.file).suffix](mutants.mutated(mutant))
    for name in mutant.tests:
        assert (mutants.ROOT / "tests" / name).is_file()
    for name in mutant.chapters:
        assert (mutants.ROOT / "notebooks" / f"{name}.ipynb").is_file()


@pytest.mark.parametrize("old", ["no such text", "return"])
def test_old_text_must_occur_once(old):
    with pytest.raises(ValueError, match=r"occurs \d+ times in recallbook_studies/intervals\.py"):
        mutants.mutated(EQUIVALENT._replace(old=old))


@pytest.mark.nightly
def test_real_mistakes_are_caught(capsys):
    chosen = [
        named("facts are the inverse permutation")._replace(chapters=("01_the_task",)),
        named("sphere: columns are normalised, not rows")._replace(chapters=()),
        named("largest count: one more")._replace(chapters=()),
        named("the deviation is that of a population")._replace(chapters=()),
    ]
    assert mutants.report(chosen, control=False) == 0
    _, first, *others, last = capsys.readouterr().out.splitlines()
    assert first.count("caught") == 2 and "01 caught" in first
    assert len(others) == 3
    assert [
        line for line in others if not (line.count("caught") == 1 and mutants.UNCHANGED in line)
    ] == []
    assert last == "4 mutants: all were caught"


@pytest.mark.nightly
def test_an_equivalent_mutant_survives(capsys):
    """A changed docstring changes no result: nothing may claim to have caught it."""
    assert mutants.report([EQUIVALENT], control=False) == 1
    assert "SURVIVED" in capsys.readouterr().out.splitlines()[1]


@pytest.mark.nightly
def test_a_mutant_that_cannot_run_is_no_success():
    """A syntax error makes every test file fail: that shows nothing about the tests."""
    with pytest.raises(RuntimeError, match="pytest ended with"):
        mutants.report([EQUIVALENT._replace(new="x = (")], control=False)
