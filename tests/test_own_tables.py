"""The caller's own embeddings in a problem: what is taken, what is refused, and that nothing else
moves."""

import warnings

import numpy as np
import pytest
import torch
from sized import marked, sized

import recallbook as rb
from recallbook.arguments import repeated_rows

SETTING = marked(7, 3, 5, 40)
NAMES = {
    "input": "input_embeddings",
    "output": "output_embeddings",
    "trigger": "trigger",
    "query": "query",
}


def tables(seed: int = 0) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(seed)
    shapes = {"input": (7, 5), "output": (7, 5), "trigger": (5,), "query": (5,)}
    return {name: generator.standard_normal(shape) for name, shape in shapes.items()}


@pytest.mark.parametrize("names", [[], ["input"], ["output", "query"], ["trigger"], list(NAMES)])
def test_given_tables_are_taken_and_the_rest_is_drawn(names):
    given = {name: table for name, table in tables().items() if name in names}
    ours, drawn = rb.draw(SETTING, 3, embeddings=given), rb.draw(SETTING, 3)
    for name, attribute in NAMES.items():
        found = getattr(ours, attribute)
        expected = torch.from_numpy(given[name]) if name in given else getattr(drawn, attribute)
        assert torch.equal(found, expected) and found.dtype == torch.float64
    for mine, other in zip(ours.sequences, drawn.sequences, strict=True):
        assert torch.equal(mine, other)
    assert torch.equal(ours.permutation, drawn.permutation)
    assert ours.setting == SETTING and ours.own == tuple(name for name in NAMES if name in names)
    assert ours.to(torch.float32).own == ours.own and ("own=" in repr(ours)) == bool(names)


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32", "float64"])
def test_tensors_of_every_floating_type(kind):
    table = torch.from_numpy(tables()["input"]).to(getattr(torch, kind))
    table = torch._neg_view(table).requires_grad_()  # as the imaginary part of a conjugate is
    found = rb.draw(SETTING, 0, embeddings={"input": table}).input_embeddings
    assert found.dtype == torch.float64 and torch.equal(found, table.detach().double())


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_the_problem_keeps_a_copy(kind):
    array = tables()["input"].astype(kind)[:, ::-1]  # not contiguous
    problem, kept = rb.draw(SETTING, 0, embeddings={"input": array}), array.astype(float)
    array[:] = 0
    assert np.array_equal(problem.input_embeddings, kept)


def test_rows_repeat_up_to_the_sign_of_zero():
    assert repeated_rows(np.array([[0.0, 1.0], [-0.0, 1.0], [0.0, 1.0], [1.0, 0.0]])) == 2


def test_certificates_of_own_inputs_but_not_outputs():
    """A certificate of given input embeddings is the one of the same tables drawn; given outputs
    are refused."""
    setting = sized(24, 2, 40, 600)
    drawn = rb.draw(setting, 0)

    def certified(**given):
        return rb.certify(rb.draw(setting, 0, embeddings=given))

    given = {name: getattr(drawn, NAMES[name]) for name in ("input", "trigger", "query")}
    found = certified(**given)
    assert found == rb.certify(drawn)
    assert found.recall > 0.5
    assert certified(input=2 * given["input"]) != found
    with pytest.raises(ValueError, match=r"problem\.own=\('output',\)"):
        certified(output=drawn.output_embeddings)


@pytest.mark.parametrize("factor", [0.5, 1.0, 3.0])
def test_another_scale_is_warned_of(factor):
    drawn = rb.draw(SETTING, 0).input_embeddings * factor
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        rb.predict(SETTING, embeddings={"input": drawn}, warn=False)
    square = float((drawn**2).sum(dim=1).mean())
    assert len(said) == (not 0.5 <= square <= 2) == (factor != 1)
    assert all(f"mean squared length of {square:.3g}, where" in str(one.message) for one in said)
