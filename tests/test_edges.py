"""Everything that a Setting allows is answered, or refused by name: no other error, no NaN, always
in [0, 1]."""

import math

import pytest
from hypothesis import example, given
from settings import answered, rarely, settings, thorough

import recallbook as rb

pytestmark = pytest.mark.usefixtures("few_draws")


LEAST = {"vocab": 2, "seq_len": 1, "dim": 1, "samples": 1}
# one of its variances is zero but for rounding, which makes it negative
ROUNDED = rb.Setting(
    vocab=2,
    seq_len=2,
    dim=4,
    samples=4,
    embeddings="orthogonal",
    trigger_in_values=False,
    output_bias="trained",
)


def fractions(found, names=("accuracy", "lock_on", "recall")):
    return found is None or all(0 <= getattr(found, name) <= 1 for name in names)


def ascends(found):
    """Quantiles are fractions that ascend."""
    laws = zip(
        (0, 0, 0),
        *(found.quantile(q).to_dict().values() for q in (0.1, 0.5, 0.9)),
        (1, 1, 1),
        strict=True,
    )
    return (
        all(list(law) == sorted(law) for law in laws)
        and answered(lambda: found.quantile(1)) is None
    )


@thorough
@given(settings())
def test_simulations(setting):
    problem = rb.draw(setting, 0)
    for rates in ((None, None), (2.0, 30.0)):
        assert fractions(rb.evaluate(problem, rb.three_steps(problem, *rates), 50)), rates
    assert fractions(answered(lambda: rb.certify(problem)))


@thorough
@given(settings())
@example(ROUNDED)
def test_predictions(setting):
    found = answered(lambda: rb.predict(setting, warn=False))
    assert fractions(found)
    sizes = dict(found.ledger) if found else {}
    unknown = {name for name, size in sizes.items() if math.isnan(size)}
    for name in sizes.keys() - unknown:
        assert sizes[name] >= 0, name
    # In units of a signal of zero: one position or dimension, or a trained bias that tells all labels.
    told = setting.output_bias == "trained" and unknown == sizes.keys() - {"coverage"}
    assert not unknown or told or 1 in (setting.seq_len, setting.dim), unknown


@rarely
@given(settings())
def test_quantiles_and_searches(setting):
    """What takes dozens of predictions, or a second."""
    found = answered(lambda: rb.predict(setting, warn=False))
    binds = answered(lambda: rb.phase(setting))
    assert found is None or binds in found.ledger
    assert found is None or setting.width is not None or ascends(found)
    kind = {name: value for name, value in vars(setting).items() if name != "samples"}
    critical = answered(lambda: rb.critical_samples(**kind, accuracy=0.5, warn=False))
    assert (binds, critical) == (None, None) or critical >= 1
    least = answered(
        lambda: rb.minimum_samples(
            setting.vocab, setting.seq_len, setting.dim, 0.5, width=setting.width
        )
    )
    assert least is None or least >= 0


@pytest.mark.parametrize(
    "fields",
    [
        *({"dim": 1, **kind} for kind in ({}, {"embeddings": "sphere"})),
        *(
            pytest.param(fields, marks=pytest.mark.nightly)
            for fields in (
                {"dim": 1, "embeddings": "sphere", "width": 4},
                {"vocab": 2, "width": 3},
                {"vocab": 3, "width": 3},
            )
        ),
        *(
            {**LEAST, **kind}
            for kind in ({}, {"width": 1}, {"zipf": 4.0, "loss_weights": "inverse"})
        ),
        *(
            {"seq_len": 1, **kind}
            for kind in ({"zipf": 1.0}, {"balanced": True}, {"output_bias": "calibrated"})
        ),
        *(
            {"seq_len": 1, "embeddings": law}
            for law in ("power_law(1)", "low_rank(2)", "clustered(2, 0.5)")
        ),
    ],
    ids=str,
)
def test_smallest_sizes_are_predicted(fields):
    """Each of these ended in an error that was not a refusal."""
    sizes = {
        "vocab": 8,
        "seq_len": 3,
        "dim": 4,
        "samples": 40,
        "trigger_in_values": False,
        **fields,
    }
    found = rb.predict(rb.Setting(**sizes), warn=False)
    assert fractions(found) and (sizes.get("width") or ascends(found))
