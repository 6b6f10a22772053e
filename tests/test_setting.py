"""What fields mean, what belongs together."""

import dataclasses
import re

import numpy as np
import pytest
import torch
from sized import sized

import recallbook as rb
from recallbook.setting import Choices
from recallbook_theory.bounds import sufficient

pytestmark = pytest.mark.essential

GOOD = {"vocab": 6, "seq_len": 3, "dim": 5, "samples": 10}
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


def refuses(field, value, call, *given, **named):
    """The error names the field and the value and says what is allowed."""
    try:
        said = f"no error, but {call(*given, **named)!r}"
    except ValueError as error:
        said = str(error)
    assert re.match(rf"{field}=.+ is not allowed: .{{5,}}", said, re.DOTALL), (call, said)
    assert isinstance(value, torch.Tensor) or repr(value)[:20] in said, (call, said)


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


def test_positional_sizes_are_refused():
    """Four integers in a row are easily exchanged."""
    with pytest.raises(TypeError, match="positional argument"):
        rb.Setting(64, 8, 64, 4096)
    with pytest.raises(TypeError, match="positional argument"):
        rb.Setting(64, seq_len=8, dim=64, samples=4096)


def returned():
    return [name for name in rb.__all__ if name[0].isupper()]


def test_type_checkers_know_the_choices():
    sizes = {"vocab", "seq_len", "dim", "samples"}
    assert {*Choices.__annotations__} == {
        field.name for field in dataclasses.fields(rb.Setting)
    } - sizes


def test_settings_print_what_differs_and_names_the_nearest():
    setting = sized(8, 4, 6, 9, zipf=1)
    assert repr(setting) == "Setting(vocab=8, seq_len=4, dim=6, samples=9, zipf=1.0)"
    assert eval(repr(setting), {"Setting": rb.Setting}) == setting
    calls = {name for name in rb.__all__ if callable(getattr(rb, name))} - {*returned()}
    assert {*dir(rb)} == {*calls, "reference", "Setting", "RecallTransformer", "__version__"}
    with pytest.raises(AttributeError, match="'simulat'; the nearest is 'simulate'"):
        rb.simulat  # noqa: B018
