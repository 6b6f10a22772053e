"""Every field and every public argument against every kind of wrong value."""

import dataclasses
import warnings

import numpy as np
import pytest
import torch

import recallbook as rb
from recallbook.arguments import LARGEST_SIZE
from recallbook.bounds import decoding, sufficient
from recallbook_studies.ch06 import proved_rates
from recallbook_studies.ch08 import lattice

pytestmark = pytest.mark.essential

GOOD = {"vocab": 6, "seq_len": 3, "dim": 5, "samples": 10}
NOT_SIZES = [0, -1, 1.5, 4.0, "4", None, True, np.True_, float("nan"), float("inf"), [4], LARGEST_SIZE + 1, 2**70]
NOT_SEEDS = [-1, 1.5, "0", None, True, np.False_, float("nan"), [0]]
NOT_RATES = [0, 0.0, -1.0, float("nan"), float("inf"), -float("inf"), "1", True, [1.0], 1j]


@pytest.fixture(scope="module")
def problem():
    return rb.draw(rb.Setting(**GOOD), seed=0)


def refuses(field, value, call):
    """The error names the field and the value and says what is allowed."""
    with pytest.raises(ValueError, match=rf"^{field}=.+ is not allowed: .{{5,}}") as caught:
        call()
    if not isinstance(value, torch.Tensor):
        assert repr(value)[:20] in str(caught.value)


@pytest.mark.parametrize("field", ["vocab", "seq_len", "dim", "samples", "width"])
@pytest.mark.parametrize("value", NOT_SIZES, ids=repr)
def test_sizes(field, value):
    if field == "width" and value is None:
        assert rb.Setting(**GOOD, width=None).width is None
        return
    refuses(field, value, lambda: rb.Setting(**{**GOOD, field: value}))


def test_vocabulary_has_at_least_two_tokens():
    refuses("vocab", 1, lambda: rb.Setting(**{**GOOD, "vocab": 1}))
    assert rb.Setting(**{**GOOD, "vocab": 2}).vocab == 2


@pytest.mark.parametrize("value", [np.int32(7), np.int64(7), np.uint8(7)], ids=repr)
def test_numpy_integers_are_sizes(value):
    for field in (*GOOD, "width"):
        stored = getattr(rb.Setting(**{**GOOD, field: value}), field)
        assert stored == 7 and type(stored) is int


@pytest.mark.parametrize("value", ["Gaussian", "", None, 3, True, ["gaussian"]], ids=repr)
def test_embeddings(value):
    refuses("embeddings", value, lambda: rb.Setting(**GOOD, embeddings=value))


@pytest.mark.parametrize("value", [0, 1, None, "True", 1.0], ids=repr)
def test_trigger_in_values(value):
    refuses("trigger_in_values", value, lambda: rb.Setting(**GOOD, trigger_in_values=value))
    assert rb.Setting(**GOOD, trigger_in_values=np.True_).trigger_in_values is True


@pytest.mark.parametrize("value", [-0.1, 4.1, float("nan"), float("inf"), "1", True, np.False_, [1.0], 1j], ids=repr)
@pytest.mark.parametrize("field", ["zipf", "other_zipf"])
def test_exponents(field, value):
    refuses(field, value, lambda: rb.Setting(**GOOD, **{field: value}))


def test_exponents_have_one_form():
    refuses("zipf", None, lambda: rb.Setting(**GOOD, zipf=None))
    assert rb.Setting(**GOOD, zipf=np.float32(1)) == rb.Setting(**GOOD, zipf=1) == rb.Setting(**GOOD, zipf=True + 0.0)
    assert rb.Setting(**GOOD, zipf=1, other_zipf=1.0).other_zipf is None
    assert rb.Setting(**GOOD, other_zipf=0) == rb.Setting(**GOOD)
    assert rb.Setting(**GOOD, zipf=1, other_zipf=0).other_zipf == 0.0


@pytest.mark.parametrize("value", [0, 1, None, "True", 1.0], ids=repr)
def test_balanced(value):
    refuses("balanced", value, lambda: rb.Setting(**GOOD, balanced=value))
    assert rb.Setting(**GOOD, balanced=np.True_).balanced is True


@pytest.mark.parametrize("value", ["Inverse", "", None, 1.0, True, ["equal"]], ids=repr)
@pytest.mark.parametrize("field", ["loss_weights", "output_bias"])
def test_weights_and_biases(field, value):
    refuses(field, value, lambda: rb.Setting(**GOOD, **{field: value}))


UNEQUAL = [
    ("zipf", 1.0),
    ("other_zipf", 0.5),
    ("balanced", True),
    ("loss_weights", "inverse"),
    ("output_bias", "trained"),
]


@pytest.mark.parametrize(("field", "value"), UNEQUAL, ids=str)
def test_what_holds_for_equal_facts_alone_refuses_others(field, value):
    setting = rb.Setting(**GOOD, **{field: value})
    problem, generator = rb.draw(setting, seed=0), np.random.default_rng(0)
    assert not setting.equal_facts and setting.plain_steps == (field in ("zipf", "other_zipf", "balanced"))
    for method in ("whitened", "assignment", "refined"):
        refuses(field, value, lambda method=method: rb.decode(problem, method))
    for method in ("argmax", "descent"):
        assert rb.decode(problem, method).shape == (6,)
    refuses(field, value, lambda: lattice.lattice_counts(problem, 50))
    refuses(field, value, lambda: lattice.error_of_reading(problem, 0.1, generator))
    if field in ("zipf", "other_zipf"):
        refuses(field, value, lambda: decoding.feature_moments(problem))
    if setting.plain_steps:
        assert proved_rates.kept(problem, 0.1, 10.0).facts.shape == (6,)
    else:
        refuses(field, value, lambda: proved_rates.kept(problem, 0.1, 10.0))
    assert sufficient._closed_form(replace_sizes(setting), 0.5) == np.inf > sufficient._closed_form(LARGE, 0.5)


LARGE = rb.Setting(vocab=2**14, seq_len=4, dim=2**16, samples=1, trigger_in_values=False)


def replace_sizes(setting):
    return dataclasses.replace(setting, vocab=LARGE.vocab, dim=LARGE.dim, trigger_in_values=False)


def test_activation():
    def breaks(x):
        raise RuntimeError("no")

    for value in ["ReLU", "", None, 3, torch.sum, lambda x: 1.0, lambda x: x[:1], breaks]:
        refuses("activation", value, lambda value=value: rb.Setting(**GOOD, width=4, activation=value))
    assert rb.Setting(**GOOD, width=4, activation=torch.sin).phi is torch.sin


def test_orthogonal_embeddings_need_room():
    for dim in (5, 6, 7):
        refuses("dim", dim, lambda dim=dim: rb.Setting(**{**GOOD, "dim": dim}, embeddings="orthogonal"))
    assert rb.Setting(**{**GOOD, "dim": 8}, embeddings="orthogonal").dim == 8


def test_frozen_and_hashable():
    setting = rb.Setting(**GOOD)
    assert hash(setting) == hash(rb.Setting(**GOOD))
    with pytest.raises(dataclasses.FrozenInstanceError):
        setting.vocab = 3


@pytest.mark.parametrize("value", NOT_SEEDS, ids=repr)
def test_seeds(problem, value):
    setting = problem.setting
    refuses("seed", value, lambda: rb.draw(setting, value))
    refuses("seed", value, lambda: rb.simulate(setting, value))
    if value is not None:  # None is the problem's own seed
        refuses("seed", value, lambda: rb.evaluate(problem, rb.three_steps(problem), seed=value))


@pytest.mark.parametrize("value", NOT_RATES, ids=repr)
def test_rates(problem, value):
    model = rb.RecallTransformer(problem)
    calls = {
        "eta": [
            lambda: rb.three_steps(problem, value, 1.0),
            lambda: rb.simulate(problem.setting, 0, eta=value, gamma=1.0),
            lambda: rb.reference.three_steps(problem, value, 1.0),
            lambda: rb.descend(model, problem, 1, eta=value, gamma=1.0),
        ],
        "gamma": [
            lambda: rb.three_steps(problem, 1.0, value),
            lambda: rb.simulate(problem.setting, 0, eta=1.0, gamma=value),
            lambda: rb.reference.three_steps(problem, 1.0, value),
            lambda: rb.descend(model, problem, 1, eta=1.0, gamma=value),
        ],
    }
    for field, each in calls.items():
        for call in each:
            refuses(field, value, call)


def test_rates_come_together(problem):
    refuses("gamma", None, lambda: rb.three_steps(problem, eta=1.0))
    refuses("eta", None, lambda: rb.three_steps(problem, gamma=1.0))
    refuses("eta", None, lambda: rb.reference.three_steps(problem, None, None))


@pytest.mark.parametrize("value", [torch.float16, torch.int64, "float64", float, np.float64, 64], ids=repr)
def test_dtypes(problem, value):
    weights = rb.three_steps(problem)
    calls = [
        lambda: rb.draw(problem.setting, 0, dtype=value),
        lambda: rb.simulate(problem.setting, 0, dtype=value),
        lambda: rb.three_steps(problem, dtype=value),
        lambda: rb.reference.three_steps(problem, 1.0, 1.0, dtype=value),
        lambda: rb.evaluate(problem, weights, dtype=value),
        lambda: rb.initial_gradient(problem, dtype=value),
        lambda: rb.RecallTransformer(problem, dtype=value),
    ]
    for call in calls:
        refuses("dtype", value, call)


@pytest.mark.parametrize("value", ["gpu", "cuda:99", "meta", 3.5, [], ""], ids=repr)
def test_devices(problem, value):
    weights = rb.three_steps(problem)
    calls = [
        lambda: rb.draw(problem.setting, 0, device=value),
        lambda: rb.simulate(problem.setting, 0, device=value),
        lambda: rb.three_steps(problem, device=value),
        lambda: rb.evaluate(problem, weights, device=value),
        lambda: rb.initial_gradient(problem, device=value),
        lambda: rb.RecallTransformer(problem, device=value),
    ]
    for call in calls:
        refuses("device", value, call)


@pytest.mark.parametrize("value", NOT_SIZES, ids=repr)
def test_counts_of_sequences_and_steps(problem, value):
    weights, model = rb.three_steps(problem), rb.RecallTransformer(problem)
    refuses("test_samples", value, lambda: rb.evaluate(problem, weights, value))
    refuses("test_samples", value, lambda: rb.simulate(problem.setting, 0, test_samples=value))
    refuses("steps", value, lambda: rb.descend(model, problem, value, eta=1.0, gamma=1.0))
    refuses("count", value, lambda: problem.fresh(value))
    if value is not None:
        refuses("chunk", value, lambda: rb.three_steps(problem, chunk=value))
        refuses("chunk", value, lambda: rb.evaluate(problem, weights, chunk=value))
        refuses("batch", value, lambda: rb.descend(model, problem, 1, eta=1.0, gamma=1.0, batch=value))


def test_objects(problem):
    weights, model = rb.three_steps(problem), rb.RecallTransformer(problem)
    for wrong in (None, 3, "x", problem.setting):
        refuses("problem", wrong, lambda wrong=wrong: rb.three_steps(wrong))
        refuses("problem", wrong, lambda wrong=wrong: rb.initial_gradient(wrong))
        refuses("problem", wrong, lambda wrong=wrong: rb.evaluate(wrong, weights))
        refuses("problem", wrong, lambda wrong=wrong: rb.reference.three_steps(wrong, 1.0, 1.0))
        refuses("problem", wrong, lambda wrong=wrong: rb.RecallTransformer(wrong))
        refuses("problem", wrong, lambda wrong=wrong: rb.descend(model, wrong, 1, eta=1.0, gamma=1.0))
        refuses("weights", wrong, lambda wrong=wrong: rb.evaluate(problem, wrong))
        refuses("model", wrong, lambda wrong=wrong: rb.descend(wrong, problem, 1, eta=1.0, gamma=1.0))
    for wrong in (None, 3, "x", problem):
        refuses("setting", wrong, lambda wrong=wrong: rb.draw(wrong, 0))
        refuses("setting", wrong, lambda wrong=wrong: rb.simulate(wrong, 0))
    other = rb.draw(rb.Setting(**{**GOOD, "dim": 4}), seed=0)
    refuses("weights", [(5, 5), (5, 5)], lambda: rb.evaluate(other, weights))
    refuses("model", problem.setting, lambda: rb.descend(model, other, 1, eta=1.0, gamma=1.0))
    refuses("progress", 1, lambda: rb.descend(model, problem, 1, eta=1.0, gamma=1.0, progress=1))


def test_sequences_given_to_the_model(problem):
    model, tokens, positions = rb.RecallTransformer(problem), problem.tokens, problem.positions
    wrong = [
        ("tokens", tokens.double(), positions),
        ("tokens", tokens[0], positions),
        ("tokens", tokens.numpy(), positions),
        ("tokens", tokens + 6, positions),
        ("tokens", tokens - 6, positions),
        ("positions", tokens, positions.int()),
        ("positions", tokens, positions[:, None]),
        ("positions", tokens, positions[:-1]),
        ("positions", tokens, positions + 3),
        ("positions", tokens, positions - 3),
    ]
    for field, x, where in wrong:
        for call in (model, model.attention):
            with pytest.raises(ValueError, match=rf"^{field}=.+ is not allowed: .{{5,}}"):
                call(x, where)


def test_nothing_is_allocated_before_the_check():
    """A setting far larger than memory is refused at once for its bad seed."""
    huge = rb.Setting(vocab=2**31 - 1, seq_len=2**31 - 1, dim=2**31 - 1, samples=2**31 - 1, trigger_in_values=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        refuses("seed", -1, lambda: rb.draw(huge, -1))
        refuses("eta", -1.0, lambda: rb.simulate(huge, 0, eta=-1.0, gamma=1.0))
        refuses("test_samples", 0, lambda: rb.simulate(huge, 0, test_samples=0))
        refuses("dtype", None, lambda: rb.simulate(huge, 0, dtype=None))


def test_positional_sizes_are_refused():
    """Four integers in a row are easily exchanged; the message says what to write."""
    with pytest.raises(TypeError, match=r"keywords only, such as Setting\(vocab=64, ...\); got \(64, 8, 64, 4096\)"):
        rb.Setting(64, 8, 64, 4096)
    with pytest.raises(TypeError, match="keywords only"):
        rb.Setting(64, seq_len=8, dim=64, samples=4096, trigger_in_values=True)
