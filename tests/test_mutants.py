"""The machinery of `make mutants`, on a few fast mutants; and that every mutant still applies."""

import ast
import tomllib
from pathlib import Path

import mutants
import pytest
import yaml


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
