"""The caller's own embeddings in a problem: what is taken, what is refused, and that nothing else moves."""

import numpy as np
import pytest
import torch

import recallbook as rb
from recallbook.data.embeddings import Embeddings
from recallbook.data.own_tables import repeated_rows

SETTING = rb.Setting(vocab=7, seq_len=3, dim=5, samples=40, trigger_in_values=True)
NAMES = {"input": "input_embeddings", "output": "output_embeddings", "trigger": "trigger", "query": "query"}


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


def test_what_the_law_draws_may_be_given():
    """Given back its own tables, a problem is the same problem, and trains to the same weights."""
    drawn = rb.draw(SETTING, 4)
    again = Embeddings(*(getattr(drawn, attribute).numpy() for attribute in NAMES.values()))
    ours = rb.draw(SETTING, 4, embeddings=again)
    for name in ("value1", "key_query", "value2"):
        assert torch.equal(getattr(rb.three_steps(ours), name), getattr(rb.three_steps(drawn), name))
    assert rb.simulate(SETTING, 4, embeddings=again, test_samples=500) == rb.simulate(SETTING, 4, test_samples=500)
    other = rb.simulate(SETTING, 4, embeddings=tables(), test_samples=500)
    mine = rb.draw(SETTING, 4, embeddings=tables())
    assert other == rb.evaluate(mine, rb.three_steps(mine), 500)
    assert other != rb.simulate(SETTING, 4, test_samples=500)


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32", "float64"])
def test_tensors_of_every_floating_type(kind):
    table = torch.from_numpy(tables()["input"]).to(getattr(torch, kind)).requires_grad_()
    found = rb.draw(SETTING, 0, embeddings={"input": table}).input_embeddings
    assert found.dtype == torch.float64 and torch.equal(found, table.detach().double())
    if kind != "bfloat16":
        array = table.detach().numpy()[:, ::-1]  # not contiguous
        assert np.array_equal(rb.draw(SETTING, 0, embeddings={"output": array}).output_embeddings, array.astype(float))


def test_the_problem_keeps_a_copy():
    given = tables()
    problem = rb.draw(SETTING, 0, embeddings=given)
    given["input"][:] = 0
    assert torch.equal(problem.input_embeddings, torch.from_numpy(tables()["input"]))


def changed(name: str, place: tuple[int, ...], value: float) -> dict[str, np.ndarray]:
    table = tables()[name]
    table[place] = value
    return {name: table}


BAD = {
    "no mapping": (np.ones((7, 5)), "embeddings=.*a mapping with any of"),
    "a plain tuple": (tuple(tables().values()), "embeddings=.*a mapping with any of"),
    "a text": ("gaussian", "embeddings='gaussian'.*a mapping with any of"),
    "an unknown name": ({"keys": np.ones((7, 5))}, r"embeddings=\['keys'\].*'input', 'output', 'trigger', 'query'"),
    "a list": ({"input": tables()["input"].tolist()}, r"embeddings\['input'\]=.*real floating"),
    "none": ({"input": None}, r"embeddings\['input'\]=None.*real floating"),
    "whole numbers": ({"input": np.arange(35).reshape(7, 5)}, r"\['input'\]='ndarray of int64'.*real floating"),
    "complex numbers": ({"output": tables()["output"] * 1j}, r"\['output'\]='ndarray of complex128'.*real floating"),
    "complex tensor": ({"output": torch.ones(7, 5) * 1j}, r"\['output'\]='Tensor of torch.complex64'.*real floating"),
    "objects": ({"input": tables()["input"].astype(object)}, r"\['input'\]='ndarray of object'.*real floating"),
    "a row too few": ({"input": tables()["input"][:6]}, r"\['input'\]='of shape \(6, 5\)'.*shape \(7, 5\)"),
    "a column too many": ({"output": np.ones((7, 6))}, r"\['output'\]='of shape \(7, 6\)'.*shape \(7, 5\)"),
    "turned": ({"input": tables()["input"].T}, r"of shape \(5, 7\)"),
    "a matrix for a vector": ({"query": np.ones((1, 5))}, r"\['query'\]='of shape \(1, 5\)'.*shape \(5,\)"),
    "a number": ({"trigger": np.float64(1.0)}, r"embeddings\['trigger'\]="),
    "no number": (changed("input", (3, 2), np.nan), r"\['input'\]='with 1 numbers that are infinite or none'.*finite"),
    "infinite": (changed("trigger", (1,), -np.inf), r"\['trigger'\]='with 1 numbers that.*finite"),
    "zero trigger": ({"trigger": np.zeros(5)}, r"\['trigger'\]='zero'.*not zero"),
    "zero query": ({"query": np.zeros(5)}, r"\['query'\]='zero'.*not zero"),
    "equal rows": ({"input": np.ones((7, 5))}, r"\['input'\]='with 6 rows that repeat an earlier one'.*all differ"),
    "a row twice": ({"output": tables()["output"][[0, 1, 2, 3, 4, 5, 2]]}, r"\['output'\]='with 1 rows that repeat"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_tables_are_refused_before_any_work(name, monkeypatch):
    given, message = BAD[name]
    monkeypatch.setattr("recallbook.data.task.stream", lambda *_: pytest.fail("drew before it checked"))
    for call in (rb.draw, rb.simulate):
        with pytest.raises(ValueError, match=message):
            call(SETTING, 0, embeddings=given)


def test_rows_repeat_up_to_the_sign_of_zero():
    assert repeated_rows(np.array([[0.0, 1.0], [-0.0, 1.0], [0.0, 1.0], [1.0, 0.0]])) == 2


def test_certificates_of_own_inputs_but_not_outputs():
    """A certificate of given input embeddings is the one of the same tables drawn; given outputs are refused."""
    setting = rb.Setting(vocab=24, seq_len=2, dim=40, samples=600, trigger_in_values=False)
    drawn = rb.draw(setting, 0)
    given = {name: getattr(drawn, NAMES[name]).numpy() for name in ("input", "trigger", "query")}
    found = rb.certify(rb.draw(setting, 0, embeddings=given))
    assert found == rb.certify(drawn) and found.recall > 0.5
    doubled = rb.certify(rb.draw(setting, 0, embeddings={"input": 2 * given["input"]}))
    assert doubled != found
    with pytest.raises(ValueError, match=r"problem\.own=\('output',\)"):
        rb.certify(rb.draw(setting, 0, embeddings={"output": drawn.output_embeddings}))


def test_own_tables_agree_with_autograd():
    given = {**tables(), "input": 3 * tables()["input"] + 1}  # neither centred nor of length 1
    for setting in (
        SETTING,
        rb.Setting(vocab=7, seq_len=3, dim=5, samples=40, width=6, activation="tanh", trigger_in_values=True),
    ):
        problem = rb.draw(setting, 2, embeddings=given)
        ours, oracle = rb.three_steps(problem, 0.3, 2.0), rb.reference.three_steps(problem, 0.3, 2.0)
        for name in ("value1", "key_query", "value2"):
            assert torch.allclose(getattr(ours, name), getattr(oracle, name), rtol=1e-9, atol=1e-14)
