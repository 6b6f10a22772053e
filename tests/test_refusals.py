"""What theory, bounds and searches refuse: each field by its name, with the value that was
given."""

import ast
import math
import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from sized import sized

import recallbook as rb
from recallbook.arguments import all_finite
from recallbook_studies.ch11 import breaking
from recallbook_studies.intervals import fitted_slope, seed_interval
from recallbook_theory import hermite
from recallbook_theory.bounds import closed_form, information

pytestmark = pytest.mark.essential

SIZES = {"vocab": 64, "seq_len": 8, "dim": 40}
SETTING = rb.Setting(**SIZES, samples=640)
ZIPF = replace(SETTING, zipf=1.0)
PROBLEM = rb.draw(sized(5, 2, 2, 9), 0)
WIDE = rb.draw(replace(PROBLEM.setting, width=4), 0)
LARGE = rb.draw(sized(5000, 2, 60, 2), 0)
FLAT = replace(PROBLEM, setting=replace(PROBLEM.setting, embeddings="low_rank(2)"))

# What is called; arguments that are allowed; each alone that is not, as the message says it.
REFUSED = [
    (rb.minimum_samples, SIZES, "vocab=1; seq_len=0; accuracy=1.1; error=1.0; trigger_in_values=2"),
    (
        rb.minimum_samples,
        SIZES | {"learner": "three steps"},
        "vocab=1; seq_len=0; dim=0; error=1.0",
    ),
    (rb.minimum_samples, SIZES, "learner='two steps'"),
    (information.available_information, {**SIZES, "samples": 9}, "samples=-1"),
    (information.allowed_accuracy, {"vocab": 4}, "nats=nan"),
    (
        closed_form.sufficient_samples_closed_form,
        SIZES,
        "vocab=4; seq_len=1; dim=0; accuracy=1.0; accuracy=0; trigger_in_values=1",
    ),
    (rb.sufficient_samples, SIZES, "accuracy=1.0; accuracy=0; confidence=1.5; seed=-1"),
    (rb.critical_width, {**SIZES, "samples": 640}, "accuracy=1; dim=0; samples=-1"),
    (rb.critical_samples, SIZES, "accuracy=1; accuracy='x'; accuracy=nan; dim=0"),
    (rb.predict(replace(SETTING, seq_len=1), warn=False).quantile, {}, "q=0; q=1; q=nan; q='half'"),
    (
        hermite.hermite_coefficients,
        {"activation": "relu"},
        "variance=0; variance='x'; order=61; activation='swish'",
    ),
    (rb.decode, {"problem": PROBLEM}, "method='best'; problem=3"),
    (rb.certify, {}, "problem=3"),
    (rb.predict, {"setting": SETTING}, "setting=3; without='x'"),
]


@pytest.mark.parametrize(
    ("call", "allowed", "wrong"),
    [(*case, one) for *case, every in REFUSED for one in every.split("; ")],
)
def test_values_are_refused_by_name(call, allowed, wrong):
    field, value = wrong.split("=")
    given = math.nan if value == "nan" else ast.literal_eval(value)
    with pytest.raises(ValueError, match=f"^{re.escape(wrong)} is not allowed: "):
        call(**{**allowed, field: (given,) if field == "without" else given})


NOT_COVERED = r"setting=.*Zipf's law of all tokens"
SAID = [  # what the message says, and the call
    (r"^dtype=torch\.int32", lambda: rb.decode(PROBLEM, dtype=torch.int32)),
    ("embeddings='low_rank", lambda: rb.certify(FLAT)),
    (r"problem\.query=", lambda: rb.certify(replace(PROBLEM, query=PROBLEM.query * 0))),
    ("1,500,000,000 such numbers", lambda: rb.certify(LARGE)),
    *(
        ("^values=", lambda values=values: seed_interval(values))
        for values in ([1.0], [], [[1.0, 2.0]], 3.0)
    ),
    *(
        ("^values=", lambda v=v: fitted_slope([1, 2, 3], v))
        for v in ([[1.0, 2.0, -1.0]], [[1.0]], [1.0, 2.0, 3.0])
    ),
    *(
        (NOT_COVERED, lambda field=field: breaking.lead(replace(ZIPF, **field)))
        for field in (
            {"output_bias": "trained"},
            {"other_zipf": 0.5},
            {"embeddings": "sphere"},
            {"seq_len": 1},
        )
    ),
    ("width", lambda: rb.predict(replace(ZIPF, width=60))),
    ("width", lambda: rb.predict(replace(SETTING, width=60, embeddings="low_rank(20)"))),
    ("vocab", lambda: rb.predict(replace(ZIPF, vocab=5000))),
    ("frequent tokens", lambda: rb.predict(ZIPF, without=("mean bias",))),
    ("input", lambda: rb.predict(SETTING, embeddings={"input": np.zeros((3, 3))})),
    ("; the nearest is 'mean bias'$", lambda: rb.predict(SETTING, without=("mean biases",))),
    ("; the nearest is 'power_law'$", lambda: replace(SETTING, embeddings="powerlaw(1)")),
]


@pytest.mark.parametrize(("said", "call"), SAID, ids=[said for said, _ in SAID])
def test_what_does_not_fit_together_is_refused(said, call):
    with pytest.raises(ValueError, match=said):
        call()


@pytest.mark.parametrize(
    ("numbers", "finite"),
    [([1e308] * 4, True), ([], True), ([math.inf, -math.inf], False), ([0.0, math.nan], False)],
)
def test_finite_numbers_may_have_a_sum_that_is_not(numbers, finite):
    assert all_finite(torch.tensor(numbers, dtype=torch.float64)) is finite
