"""What does not fit, overflows or is none: refused by name before it is asked for, or an error
where it arises."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from sized import sized

import recallbook as rb
from recallbook import memory_needs
from recallbook.embedding_laws import parse_law

SETTING = sized(8, 3, 6, 40)
LARGE = sized(3000, 50, 3000, 10**6)
GIB = r"would take [\d,.]+ GiB of memory, and 0\.5 are free"


@pytest.fixture
def small_machine(monkeypatch):
    monkeypatch.setattr(memory_needs, "free_memory", lambda: 2.0**29)


@pytest.mark.parametrize(
    ("field", "call"),
    [
        ("samples", lambda: rb.draw(replace(LARGE, samples=10**8), 0)),
        ("dim", lambda: rb.draw(replace(LARGE, dim=10**6), 0)),
        ("width", lambda: rb.draw(replace(LARGE, width=10**7, vocab=9, seq_len=1), 0)),
        ("test_samples", lambda: rb.simulate(SETTING, 0, test_samples=10**9)),
        (
            "test_samples",
            lambda: rb.evaluate(rb.draw(SETTING, 0), rb.three_steps(rb.draw(SETTING, 0)), 10**9),
        ),
        ("batch", lambda: descended(batch=10**9)),
        ("dim", lambda: rb.predict(replace(LARGE, dim=2**31 - 1, zipf=1.0))),
        ("dim", lambda: rb.predict(replace(LARGE, dim=2**31 - 1, width=8))),
        (
            "vocab",
            lambda: rb.certify(rb.draw(replace(SETTING, vocab=1000, dim=900), 0)),
        ),
        ("rows", lambda: rb.examine(np.zeros((10**7, 8)))),
    ],
)
def test_what_does_not_fit_is_refused_by_name_with_the_figure(field, call, small_machine):
    with pytest.raises(
        ValueError, match=rf"^{field}=\d+ is not allowed: a size that fits: {GIB.join(['.*', '$'])}"
    ):
        call()


def test_estimates_are_above_what_draws_hold_and_not_far_above():
    for setting in (
        replace(LARGE, samples=10**5, dim=999),
        replace(LARGE, embeddings="orthogonal", vocab=999, dim=1002),
        replace(LARGE, width=4000, samples=10),
    ):
        problem = rb.draw(setting, 0)
        held = sum(part.nbytes for part in vars(problem).values() if isinstance(part, torch.Tensor))
        estimate = sum(need.bytes for need in memory_needs.draw_needs(setting))
        assert held <= estimate <= 8 * held, setting
        table = memory_needs.table(setting, 1, "vocab", "dim")
        assert table.bytes == problem.input_embeddings.nbytes
    assert 2.0**28 < memory_needs.free_memory() < math.inf


def descended(setting=SETTING, seed=0, **changes):
    problem = rb.draw(setting, 0)
    model = rb.RecallTransformer(rb.draw(setting, seed))
    return rb.descend(model, problem, **{"steps": 3, "eta": 1.0, "gamma": 1.0, **changes})


def bad_at(edge):
    """An activation that passes the probe and is none beyond."""
    return lambda x: torch.where(x.abs() > edge, x * math.nan, x)


def evaluated_with(value):
    weights = rb.three_steps(rb.draw(SETTING, 0))
    weights.value2[0, 0] = value
    return rb.evaluate(rb.draw(SETTING, 0), weights)


TABLE = np.random.default_rng(0).normal(size=(8, 6))
NONE_SOMEWHERE = replace(SETTING, width=20, activation=bad_at(1.01))
FAILS = [  # what the error says, the call and what it is given
    ("not finite: smaller", lambda rate: rb.three_steps(rb.draw(SETTING, 0), rate, rate), 1e300),
    ("not finite: smaller", lambda rate: descended(eta=rate, gamma=rate), 1e300),
    *(
        ("^activation=.* is not allowed", call, NONE_SOMEWHERE)
        for call in (
            lambda setting: rb.three_steps(rb.draw(setting, 0)),
            lambda setting: rb.three_steps(rb.draw(setting, 0), 1.0, 1.0),
            descended,
            lambda setting: rb.predict(setting, warn=False),
        )
    ),
    *(
        (r"^weights=.with 1 numbers that are infinite or none. is not", evaluated_with, value)
        for value in (math.nan, math.inf)
    ),
    (r"^model=.of another draw. is not allowed", lambda seed: descended(seed=seed), 1),
]


@pytest.mark.parametrize(
    ("said", "call", "given"), FAILS, ids=[f"{place} {one[0]}" for place, one in enumerate(FAILS)]
)
def test_numbers_and_models_that_fail_later_are_refused(said, call, given):
    """Weights that overflow are an error where they do; the rest is refused by name."""
    error = ArithmeticError if said.startswith("not finite") else ValueError
    with pytest.raises(error, match=said):
        call(given)


@pytest.mark.parametrize(
    "text", ["clustered(1234567, 0.5)", "power_law(0.1234567890123)", "low_rank(7654321)"]
)
def test_laws_keep_all_their_digits(text):
    law = parse_law(text, 2**31 - 1, 2**31 - 1)
    assert parse_law(str(law), 2**31 - 1, 2**31 - 1) == law
    assert str(parse_law("power_law(0.50)", 9, 9)) == "power_law(0.5)", (
        "as keys of points always had it"
    )
    assert str(parse_law("clustered(2,0.25)", 9, 9)) == "clustered(2, 0.25)"


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_missing_cuda_device_is_said_by_name():
    with pytest.raises(
        ValueError, match=r"^device='cuda' is not allowed: 'cpu': this machine has no CUDA device"
    ):
        rb.draw(SETTING, 0, device="cuda")
