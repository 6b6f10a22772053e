"""What is refused, whatever is called: each field by its name, with the value that was given."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from sized import sized

import recallbook as rb
from recallbook.arguments import all_finite
from recallbook.training.gradients import descent_directions
from recallbook_studies.ch02 import retrieval
from recallbook_studies.ch05 import scores
from recallbook_studies.ch06 import origins
from recallbook_studies.intervals import fitted_slope, seed_interval
from recallbook_theory.symbolic.expressions import d, numeric

pytestmark = pytest.mark.essential

SIZES = {"vocab": 64, "seq_len": 8, "dim": 40}
SETTING = rb.Setting(**SIZES, samples=640)
ZIPF = replace(SETTING, zipf=1.0)
PROBLEM = rb.draw(sized(5, 2, 2, 9), 0)
WIDE = rb.draw(replace(PROBLEM.setting, width=4), 0)
LARGE = rb.draw(sized(5000, 2, 60, 2), 0)
UNEVEN = replace(PROBLEM.setting, zipf=1.0)
FLAT = replace(PROBLEM, setting=replace(PROBLEM.setting, embeddings="low_rank(2)"))


def capacity(**fields):
    return rb.capacity(**{"samples": 4000, "seq_len": 8, "dim": 64, **fields})


def quantile(setting, **without):
    return rb.predict(setting, warn=False, **without).quantile(0.5)


def gradients(wrt):
    zeros = torch.zeros(2, 2, dtype=torch.float64)
    return descent_directions(PROBLEM, PROBLEM.sequences, zeros, PROBLEM.query, wrt=wrt)


def fails_above_two(x):
    if (x > 2).any():
        raise RuntimeError("its own words")
    return x.tanh()


def loses_rows(x):
    return x[0] if x.numel() > 50 else x.tanh()


def own(activation):
    return replace(SETTING, width=80, activation=activation)


TABLES = {
    r"Embedding.*its \.weight, ": torch.nn.Embedding(64, 40),
    r"its \.to_numpy\(\), ": pd.DataFrame(np.eye(3)),
}
SAID = [  # what the message says, and the call
    *(
        ("^seq_len=tensor", lambda value=value: replace(SETTING, seq_len=value))
        for value in (torch.tensor(True), torch.tensor(8, device="meta"))
    ),
    ("^zipf=tensor", lambda: replace(SETTING, zipf=torch.tensor(True))),
    ("^zipf=tensor", lambda: replace(SETTING, zipf=torch.tensor(1.0, device="meta"))),
    ("^seed=tensor", lambda: rb.draw(SETTING, torch.tensor(True))),
    *(
        ("^without=", lambda names=names: rb.predict(SETTING, without=names))
        for names in (np.array("mean bias"), np.array([["mean bias"]]), np.array([1.0]))
    ),
    ("^warn=3", lambda: rb.predict_trained(SETTING, warn=3)),
    *(
        (f"input.*{said}", lambda table=table: rb.draw(SETTING, 0, embeddings={"input": table}))
        for said, table in TABLES.items()
    ),
    ("^activation=.*its own words", lambda: rb.predict(own(fails_above_two))),
    ("^activation=", lambda: rb.three_steps(rb.draw(own(fails_above_two), 0))),
    ("^activation=.*it makes", lambda: rb.predict(own(loses_rows))),
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
    (r"^zipf=1\.0 .*: 0\.0: .*hours", lambda: capacity(zipf=1.0)),
    (r"^embeddings='low_rank\(3\)'", lambda: capacity(embeddings="low_rank(3)")),
    ("^output_bias='trained'", lambda: capacity(value_steps=2, output_bias="trained")),
    ("^width=9", lambda: capacity(value_steps=2, width=9)),
    ("^vocab=", lambda: capacity(value_steps=2, samples=10**6, dim=2000)),
    ("^width=8 is not allowed: None", lambda: quantile(sized(20, 6, 16, 200, width=8))),
    ("^vocab=5000 .*: at most 4096", lambda: quantile(sized(5000, 6, 16, 9000))),
    ("^without=.*: empty", lambda: quantile(PROBLEM.setting, without=("coverage",))),
    ("^activation=", lambda: rb.Point(replace(SETTING, width=4, activation=torch.sin), 0)),
    ("^zipf=", lambda: rb.Point(ZIPF, 0, method="assignment")),
    ("^zipf=", lambda: origins.fact_counts(UNEVEN, 0)),
    ("^zipf=", lambda: scores.measure(rb.draw(UNEVEN, 0))),
    (r"^values=\['n'\].*missing: \[d\]", lambda: numeric(retrieval.n + d)({retrieval.n: 1})),
    *(
        (r"^wrt=.* is not allowed: .*'value', ", lambda wrt=wrt: gradients(wrt))
        for wrt in ("value", ("value", "tokens"), ("key",), None, 3)
    ),
    ("width", lambda: rb.predict(replace(ZIPF, width=60))),
    ("width", lambda: rb.predict(replace(SETTING, width=60, embeddings="low_rank(20)"))),
    ("vocab", lambda: rb.predict(replace(ZIPF, vocab=5000))),
    ("frequent tokens", lambda: rb.predict(ZIPF, without=("mean bias",))),
    ("; the nearest is 'mean bias'$", lambda: rb.predict(SETTING, without=("mean biases",))),
    ("; the nearest is 'power_law'$", lambda: replace(SETTING, embeddings="powerlaw(1)")),
]


@pytest.mark.parametrize(("said", "call"), SAID, ids=[said for said, _ in SAID])
def test_what_does_not_fit_together_is_refused(said, call):
    with pytest.raises(ValueError, match=said):
        call()


def test_names_may_stand_in_arrays():
    right = rb.predict(SETTING, without=["mean bias"])
    for names in map(np.array, (["mean bias"], ("mean bias",))):
        assert rb.predict(SETTING, without=names) == right
    assert rb.predict(SETTING, without=pd.Series(["mean bias"])) == right
    assert rb.predict(SETTING, without=np.array([], dtype=str)) == rb.predict(SETTING)


@pytest.mark.parametrize(
    ("numbers", "finite"),
    [([1e308] * 4, True), ([], True), ([math.inf, -math.inf], False), ([0.0, math.nan], False)],
)
def test_finite_numbers_may_have_a_sum_that_is_not(numbers, finite):
    assert all_finite(torch.tensor(numbers, dtype=torch.float64)) is finite
