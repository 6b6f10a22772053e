"""One default everywhere: the trigger is not in the values."""

import inspect
from dataclasses import replace
from pathlib import Path

import pytest
from sized import sized

import recallbook as rb
from recallbook.__main__ import command_parser

ROOT = Path(__file__).resolve().parents[1]
SETTING = sized(16, 3, 24, 64)
COMMANDS = [
    "predict --vocab 8 --seq-len 3 --dim 8 --samples 64",
    "examine table.npy",
]


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
