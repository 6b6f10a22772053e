"""One default everywhere: the trigger is not in the values."""

import ast
import inspect
import re
from dataclasses import fields, replace
from pathlib import Path

import pytest
from budgets import PACKAGES
from sized import sized

import recallbook as rb
from recallbook.__main__ import command_parser
from recallbook.arguments import LARGEST_SIZE

ROOT = Path(__file__).resolve().parents[1]
SETTING = sized(16, 3, 24, 64)
COMMANDS = [
    "predict --vocab 8 --seq-len 3 --dim 8 --samples 64",
    "examine table.npy",
]


def declared(path: Path):
    """The default of every parameter and field of this name in a module, where it has one."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef):
            given = [*node.args.posonlyargs, *node.args.args]
            pairs = [
                *zip(given[len(given) - len(node.args.defaults) :], node.args.defaults, strict=True)
            ]
            pairs += zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
            yield from (
                value
                for name, value in pairs
                if name.arg == "trigger_in_values" and value is not None
            )
        if (
            isinstance(node, ast.AnnAssign)
            and ast.unparse(node.target) == "trigger_in_values"
            and node.value
        ):
            yield node.value


def test_every_declared_default_is_the_same():
    found = {
        f"{path.relative_to(ROOT)}:{value.lineno}": ast.unparse(value)
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        for value in declared(path)
    }
    # what is necessary may be asked for both
    assert len(found) > 3 and sorted(found.values())[:-1] == ["False"] * (len(found) - 1), found
    assert {field.name: field.default for field in fields(rb.Setting)}["trigger_in_values"] is False


@pytest.mark.parametrize(
    "call",
    [
        lambda **kind: rb.critical_samples(16, 3, 24, 0.5, warn=False, **kind),
        lambda **kind: rb.predict(replace(SETTING, **kind), warn=False).accuracy,
    ],
)
def test_calls_leave_the_trigger_out(call):
    assert call() == call(trigger_in_values=False) != call(trigger_in_values=True)


def test_what_is_necessary_predicted_and_proved_is_for_one_accuracy():
    calls = (
        rb.minimum_samples,
        rb.critical_samples,
        rb.critical_width,
        rb.sufficient_samples,
    )
    known = {call: inspect.signature(call).parameters for call in calls}
    assert {names["accuracy"].default for names in known.values()} == {0.9}
    assert known[rb.minimum_samples]["trigger_in_values"].default is None, "holds for both"
    assert float(command_parser().parse_args(COMMANDS[0].split()).accuracy) == 0.9


@pytest.mark.parametrize("command", COMMANDS)
def test_the_command_line_leaves_the_trigger_out(command):
    assert command_parser().parse_args(command.split()).trigger_in_values is False


def test_the_explorer_leaves_the_trigger_out():
    page = (ROOT / "book" / "explorer.md").read_text(encoding="utf-8")
    box = re.search(r'<input[^>]*name="trigger_in_values"[^>]*>', page)
    assert box and "checked" not in box.group() and "trigger_in_values=False" in page
    script = (ROOT / "book" / "_static" / "explorer" / "page.js").read_text(encoding="utf-8")
    assert re.search(r"START = \{[^}]*trigger_in_values: false", script)
    assert "LARGEST = 2 ** 31 - 1;" in script and LARGEST_SIZE == 2**31 - 1, (
        "sizes that Setting refuses"
    )
