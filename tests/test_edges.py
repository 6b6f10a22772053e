"""Everything that a Setting allows is answered, or refused by name: no other error, no NaN, always in [0, 1]."""

import json
import math
import os
import re
import warnings

import pytest
from hypothesis import HealthCheck, given, settings as profile
from settings import settings

import recallbook as rb
from recallbook.__main__ import main
from recallbook.theory import unequal

HOUSE = re.compile(r"^[\w.\[\]' ]+=.* is not allowed: .+", re.DOTALL)
EXAMPLES = int(os.environ.get("EDGES", "12"))  # of each test; nightly sets it to some hundred
thorough = profile(
    max_examples=EXAMPLES, deadline=None, derandomize=EXAMPLES < 100, suppress_health_check=list(HealthCheck)
)


@pytest.fixture(autouse=True, scope="module")
def few_draws():
    """Few draws are enough for a prediction: its precision is not asked here."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"ENOUGH": 1.0, "STEP": 2, "MOST": 4}.items():
            patch.setattr(unequal, name, value)
        yield


def answered(call):
    """What the call gives, or None where it refuses in the house's form; any other error is one of the test."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call()
        except ValueError as refusal:
            assert HOUSE.match(str(refusal)), refusal
            return None


def fractions(found, names=("accuracy", "lock_on", "recall")):
    return found is None or all(0 <= getattr(found, name) <= 1 for name in names)


def ascends(found):
    """Quantiles are fractions that ascend."""
    laws = zip((0, 0, 0), *(found.quantile(q) for q in (0.1, 0.5, 0.9)), (1, 1, 1), strict=True)
    return all(list(law) == sorted(law) for law in laws) and answered(lambda: found.quantile(1)) is None


@thorough
@given(settings())
def test_simulations(setting):
    problem = rb.draw(setting, 0)
    for rates in ((None, None), (2.0, 30.0)):
        weights = rb.three_steps(problem, *rates)
        assert fractions(rb.evaluate(problem, weights, 50)), rates
    assert fractions(answered(lambda: rb.certify(problem)))


@thorough
@given(settings())
def test_predictions(setting):
    found = answered(lambda: rb.predict(setting, warn=False))
    assert fractions(found)
    for name, term in found.ledger.items() if found else ():
        assert term.size >= 0 or (math.isnan(term.size) and 1 in (setting.seq_len, setting.dim)), name


@profile(thorough, max_examples=max(3, EXAMPLES // 4))
@given(settings())
def test_quantiles_and_searches(setting):
    """What takes dozens of predictions, or a second."""
    found = answered(lambda: rb.predict(setting, warn=False))
    binds = answered(lambda: rb.phase(setting))
    assert found is None or (ascends(found) and binds in found.ledger)
    kind = {name: value for name, value in vars(setting).items() if name != "samples"}
    critical = answered(lambda: rb.critical_samples(**kind, accuracy=0.5, warn=False))
    assert (binds, critical) == (None, None) or critical >= 1
    least = answered(lambda: rb.minimum_samples(setting.vocab, setting.seq_len, setting.dim, 0.5, width=setting.width))
    assert least is None or least >= 0


@profile(thorough, max_examples=max(3, EXAMPLES // 4))
@given(settings())
def test_the_command_line(setting):
    numbers = ["vocab", "seq_len", "dim", "samples", "zipf", "other_zipf", "width"]
    given = {name: getattr(setting, name) for name in (*numbers, "embeddings", "loss_weights", "output_bias")}
    words = ["predict", "--json", "--accuracy", "0.5"]
    for name, value in given.items():
        words += [] if value is None else ["--" + name.replace("_", "-"), str(value)]
    words += ["--activation", setting.activation] if setting.width else []
    words += [flag for flag in ("balanced", "trigger_in_values") if getattr(setting, flag)]
    words = ["--" + word.replace("_", "-") if word in ("balanced", "trigger_in_values") else word for word in words]
    printed: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("builtins.print", lambda *text, **kind: printed.append(" ".join(map(str, text))))
        status = main(words)
    if status == 0:
        found = json.loads(printed[0])
        assert [n for n in ("accuracy", "lock_on", "recall") if not 0 <= found[n] <= 1] == []
    else:
        assert status == 2 and HOUSE.match(printed[0].removeprefix("recallbook: ")), printed


@pytest.mark.parametrize(
    "fields",
    [
        {"dim": 1},
        {"dim": 1, "embeddings": "sphere"},
        {"dim": 1, "embeddings": "sphere", "width": 4},
        {"vocab": 2, "width": 3},
        {"vocab": 3, "width": 3},
        {"vocab": 2, "seq_len": 1, "dim": 1, "samples": 1},
        {"vocab": 2, "seq_len": 1, "dim": 1, "samples": 1, "width": 1},
        {"vocab": 2, "seq_len": 1, "dim": 1, "samples": 1, "zipf": 4.0, "loss_weights": "inverse"},
        *({"seq_len": 1, **kind} for kind in ({"zipf": 1.0}, {"balanced": True}, {"output_bias": "calibrated"})),
        *({"seq_len": 1, "embeddings": law} for law in ("power_law(1)", "low_rank(2)", "clustered(2, 0.5)")),
    ],
    ids=str,
)
def test_smallest_sizes_are_predicted(fields):
    """Each of these ended in an error that was not a refusal."""
    sizes = {"vocab": 8, "seq_len": 3, "dim": 4, "samples": 40, "trigger_in_values": False, **fields}
    found = rb.predict(rb.Setting(**sizes), warn=False)
    assert fractions(found) and ascends(found)


def test_one_dimension_is_predicted_well():
    """Where a size is at its end, the prediction still is one: beside 200 simulated draws."""
    setting = rb.Setting(vocab=3, seq_len=1, dim=1, samples=60, trigger_in_values=False)
    runs = [rb.simulate(setting, seed, test_samples=1).recall for seed in range(200)]
    assert rb.predict(setting, warn=False).recall == pytest.approx(sum(runs) / 200, abs=0.1)
