"""Every field and every public argument against every kind of wrong value."""

import dataclasses
import inspect
import re
import warnings
from functools import partial

import numpy as np
import pytest
import torch

import recallbook as rb
from recallbook.arguments import LARGEST_SIZE
from recallbook_theory.bounds import sufficient

pytestmark = pytest.mark.essential

GOOD = {"vocab": 6, "seq_len": 3, "dim": 5, "samples": 10}
NAN, INF = float("nan"), float("inf")
NOT_SIZES = [0, -1, 1.5, 4.0, "4", None, True, np.True_, NAN, INF, [4], LARGEST_SIZE + 1, 2**70]
NOT_RATES = [0, 0.0, -1.0, NAN, INF, -INF, "1", b"1", True, [1.0], 1j, np.complex128(1)]
NOT_EXPONENTS = [-0.1, 4.1, NAN, INF, "1", True, np.False_, [1.0], 1j]
NOT_FLAGS = [0, 1, None, "True", 1.0]
NOT_CHOICES = ["Inverse", "", None, 1.0, True, ["equal"]]
NO_OBJECTS = [None, 3, "x", rb.Setting(**GOOD)]


def breaks(x):
    raise RuntimeError("no")


FIELDS = {
    **dict.fromkeys((*GOOD, "width"), NOT_SIZES),
    **dict.fromkeys(("zipf", "other_zipf"), NOT_EXPONENTS),
    **dict.fromkeys(("trigger_in_values", "balanced", "centred"), NOT_FLAGS),
    **dict.fromkeys(("embeddings", "loss_weights", "output_bias"), NOT_CHOICES),
    "activation": [
        *("ReLU", "", None, 3, torch.sum, lambda x: 1.0, lambda x: x[:1], breaks),
        lambda x: torch.softmax(x, dim=-1),  # not of each number by itself
        lambda x: x - x.mean(dim=0),
        lambda x: x + torch.rand_like(x),  # not the same twice
        lambda x: x.detach(),  # without a slope
        lambda x: (x > 0).to(x),
    ],
}
# of every function that has an argument of this name
ARGUMENTS = {
    **dict.fromkeys(("test_samples", "steps", "count", "chunk", "batch"), NOT_SIZES),
    **dict.fromkeys(("eta", "gamma"), NOT_RATES),
    **dict.fromkeys(("problem", "weights", "model"), NO_OBJECTS),
    "role": ["third", None, 1],
    "setting": [None, 3, "x", torch.ones(2)],
    "seed": [-1, 1.5, "0", None, True, np.False_, NAN, [0]],
    "dtype": [torch.float16, torch.int64, "float64", float, np.float64, 64],
    "device": ["gpu", "cuda:99", "cpu:99", "meta", 3.5, [], ""],
    "progress": [1],
    **dict.fromkeys(("warn", "from_above"), NOT_FLAGS),
    "reading_error": [*NOT_RATES, None, 1e-310],
}
UNEQUAL = {
    "zipf": 1.0,
    "other_zipf": 0.5,
    "balanced": True,
    "loss_weights": "inverse",
    "output_bias": "trained",
    "centred": True,
}
LARGE = rb.Setting(vocab=2**14, seq_len=4, dim=2**16, samples=1)


@pytest.fixture(scope="module")
def problem():
    return rb.draw(rb.Setting(**GOOD), seed=0)


@pytest.fixture(scope="module")
def calls(problem):
    """Every function with arguments that it takes."""
    drawn, steps = {"setting": problem.setting, "seed": 0}, {"eta": 1.0, "gamma": 1.0}
    given, sizes = {"problem": problem}, {"vocab": 8, "seq_len": 3, "dim": 8}
    return {
        rb.draw: drawn,
        rb.simulate: drawn | steps,
        rb.three_steps: given | steps,
        rb.reference.three_steps: given | steps,
        rb.evaluate: {**given, "weights": rb.three_steps(problem)},
        rb.initial_gradient: given,
        rb.RecallTransformer: given,
        rb.descend: {**given, **steps, "model": rb.RecallTransformer(problem), "steps": 1},
        problem.fresh: {"count": 3},
        rb.certify: given,
        rb.predict: {"setting": problem.setting},
        **dict.fromkeys((rb.critical_samples, rb.minimum_samples), sizes),
        partial(rb.minimum_samples, learner="three steps"): sizes,
        rb.capacity: {"samples": 64, "seq_len": 3, "dim": 8},
    }


def refuses(field, value, call, *given, **named):
    """The error names the field and the value and says what is allowed."""
    try:
        said = f"no error, but {call(*given, **named)!r}"
    except ValueError as error:
        said = str(error)
    assert re.match(rf"{field}=.+ is not allowed: .{{5,}}", said, re.DOTALL), (call, said)
    assert isinstance(value, torch.Tensor) or repr(value)[:20] in said, (call, said)


def each(wrong):
    """All pairs of a name and a wrong value; no width is allowed."""
    return [
        (name, value)
        for name, values in wrong.items()
        for value in values
        if (name, value) != ("width", None)
    ]


def stable(value):
    """Name a case alike in every process: functions without their address."""
    return getattr(value, "__name__", repr(value))


@pytest.mark.parametrize(
    ("field", "value"), [*each(FIELDS), ("vocab", 1), ("zipf", None)], ids=stable
)
def test_wrong_fields_are_refused(field, value):
    fields = {**GOOD, **({"width": 4} if field == "activation" else {}), field: value}
    refuses(field, value, rb.Setting, **fields)


@pytest.mark.parametrize(("name", "value"), each(ARGUMENTS), ids=stable)
def test_wrong_arguments_are_refused(calls, name, value):
    asked = {call: inspect.signature(call).parameters.get(name) for call in calls}
    assert any(asked.values())
    for call, argument in asked.items():
        named = argument and argument.kind is not argument.VAR_KEYWORD
        if named and not (value is None and argument.default is None):
            refuses(name, value, call, **{**calls[call], name: value})


def test_what_belongs_together(problem):
    refuses("gamma", None, rb.three_steps, problem, eta=1.0)
    refuses("eta", None, rb.three_steps, problem, gamma=1.0)
    refuses("eta", None, rb.reference.three_steps, problem, None, None)
    other = rb.draw(rb.Setting(**{**GOOD, "dim": 4}), seed=0)
    refuses("weights", [(5, 5), (5, 5)], rb.evaluate, other, rb.three_steps(problem))
    model = rb.RecallTransformer(problem)
    refuses("model", problem.setting, rb.descend, model, other, 1, eta=1.0, gamma=1.0)
    for dim in (5, 6, 7):
        refuses("dim", dim, rb.Setting, **{**GOOD, "dim": dim}, embeddings="orthogonal")
    assert rb.Setting(**{**GOOD, "dim": 8}, embeddings="orthogonal").dim == 8


@pytest.mark.parametrize("value", [np.int32(7), np.int64(7), np.uint8(7)], ids=repr)
def test_numpy_integers_are_sizes(value):
    for field in (*GOOD, "width"):
        stored = getattr(rb.Setting(**{**GOOD, field: value}), field)
        assert stored == 7 and type(stored) is int


def test_fields_have_one_form():
    plain, steep = rb.Setting(**GOOD), rb.Setting(**GOOD, zipf=1)
    assert (
        rb.Setting(**GOOD, zipf=np.float32(1))
        == steep
        == rb.Setting(**GOOD, zipf=1.0, other_zipf=1.0)
    )
    assert rb.Setting(**GOOD, other_zipf=0) == plain == rb.Setting(**GOOD, width=None)
    assert steep.other_zipf is None and rb.Setting(**GOOD, zipf=1, other_zipf=0).other_zipf == 0.0
    for flag in ("trigger_in_values", "balanced", "centred"):
        assert getattr(rb.Setting(**GOOD, **{flag: np.True_}), flag) is True
    x = torch.ones(3)
    assert rb.Setting(**GOOD, width=4, activation=torch.sin).phi(x).equal(x.sin())
    assert rb.Setting(**{**GOOD, "vocab": 2}).vocab == 2 and hash(plain) == hash(rb.Setting(**GOOD))
    with pytest.raises(dataclasses.FrozenInstanceError):
        plain.vocab = 3


@pytest.mark.parametrize(("field", "value"), UNEQUAL.items(), ids=str)
def test_what_holds_for_equal_facts_alone_refuses_others(field, value):
    setting = rb.Setting(**GOOD, **{field: value})
    problem = rb.draw(setting, seed=0)
    plain = field not in ("loss_weights", "output_bias")
    assert not setting.equal_facts and setting.plain_steps == plain
    refused = [
        (rb.decode, "whitened"),
        (rb.decode, "assignment"),
        (rb.decode, "refined"),
    ]
    for call, *given in refused:
        refuses(field, value, call, problem, *given)
    assert rb.decode(problem).shape == (6,)
    large = dataclasses.replace(LARGE, **{field: value})
    assert sufficient._closed_form(large, 0.5) == np.inf > sufficient._closed_form(LARGE, 0.5)


def test_sequences_given_to_the_model(problem):
    model, tokens, positions = rb.RecallTransformer(problem), problem.tokens, problem.positions
    wrong_tokens = [tokens.double(), tokens[0], tokens.numpy(), tokens + 6, tokens - 6]
    wrong_positions = [
        positions.int(),
        positions[:, None],
        positions[:-1],
        positions + 3,
        positions - 3,
    ]
    for call in (model, model.attention):
        for wrong in wrong_tokens:
            refuses("tokens", torch.ones(1), call, wrong, positions)
        for wrong in wrong_positions:
            refuses("positions", wrong, call, tokens, wrong)


def test_nothing_is_allocated_before_the_check():
    """A setting far larger than memory is refused at once for its bad seed."""
    huge = rb.Setting(**dict.fromkeys(GOOD, 2**31 - 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        refuses("seed", -1, rb.draw, huge, -1)
        for name, value in {"eta": -1.0, "test_samples": 0, "dtype": None}.items():
            refuses(name, value, rb.simulate, huge, 0, **{"eta": 1.0, "gamma": 1.0, name: value})


def test_positional_sizes_are_refused():
    """Four integers in a row are easily exchanged."""
    with pytest.raises(TypeError, match="positional argument"):
        rb.Setting(64, 8, 64, 4096)
    with pytest.raises(TypeError, match="positional argument"):
        rb.Setting(64, seq_len=8, dim=64, samples=4096)
