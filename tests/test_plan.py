"""Plans: what they promise is what `rb.predict` says, and nothing cheaper nearby would do."""

import math
import sys

import pytest
from sized import either, marked

import recallbook as rb
from recallbook_studies.plan import Cost, Place, cheapest, plan

pytestmark = pytest.mark.essential

SIZES = {"vocab": 64, "seq_len": 16, "trigger_in_values": False}
FIXED = {**SIZES, "accuracy": 0.6}


def accuracy(place, samples=None, **other):
    sizes = {"dim": place.dim, "width": place.width, "samples": samples or place.samples}
    return rb.predict(rb.Setting(**{**SIZES, **sizes, **other}), warn=False).accuracy


@pytest.fixture(scope="module")
def found():
    return plan(**FIXED)


@pytest.mark.slow
def test_the_plan_reaches_the_target_and_a_tenth_less_does_not(found):
    assert accuracy(found.best) == found.predicted >= 0.6
    assert accuracy(found.best, round(0.9 * found.best.samples)) < 0.6


def test_the_frontier_is_the_critical_n_of_each_dimension(found):
    assert found.best in found.frontier
    dims = [place.dim for place in found.frontier]
    samples = [place.samples for place in found.frontier]
    assert dims == sorted(set(dims)) and samples == sorted(samples, reverse=True)
    for place in found.frontier[::3]:
        assert place.samples == rb.critical_samples(dim=place.dim, **FIXED, warn=False)
        setting = rb.Setting(**SIZES, dim=place.dim, samples=place.samples)
        assert place.cost == Cost().of(setting)


@pytest.mark.slow
def test_no_dimension_nearby_is_cheaper(found):
    for factor in (0.8, 0.9, 1.1, 1.25):
        other = plan(**FIXED, dim=round(factor * found.best.dim)).best
        assert (
            other.cost >= 0.995 * found.best.cost
        )  # critical N is found to one part in a thousand


def test_what_each_is_worth_is_a_difference_of_predictions(found):
    best = found.best
    assert found.doubled == {
        "samples": accuracy(best, 2 * best.samples),
        "dim": accuracy(best, dim=2 * best.dim),
        "seq_len": accuracy(best, seq_len=8),
    }


@pytest.mark.nightly
def test_prices_move_the_plan(found):
    data = plan(**FIXED, cost=Cost(per_sequence=1e6))
    memory = plan(**FIXED, cost=Cost(per_weight=1e5))
    assert data.best.samples < found.best.samples < memory.best.samples
    assert data.best.dim > found.best.dim > memory.best.dim
    assert accuracy(data.best) >= 0.6 and accuracy(memory.best) >= 0.6


def test_cost_counts_the_products_of_three_steps():
    """Every product of a sequence written out as (rows, columns): what Cost sums up."""
    dim, width, length = 5, 7, 3
    scores = [(length, dim)] * 3
    plain = [(dim, dim)] * 3 + scores
    features = (
        [(dim, width)] * 3 + [(width, dim)] * 4 + scores
    )  # outer products and pull; the MLP there and back
    for operations, m in ((plain, None), (features, width)):
        setting = marked(20, length, dim, 11, width=m)
        counted = 11 * sum(rows * columns for rows, columns in operations)
        assert Cost().of(setting) == counted
        assert Cost(per_sequence=2).of(setting) == counted + 22
        assert Cost(per_weight=2).of(setting) == counted + 2 * (25 + 5 * (m or 5))


def test_with_n_given_the_smallest_dimension_is_found():
    best = plan(**FIXED, samples=160).best
    assert best.samples == 160 and accuracy(best) >= 0.6
    assert accuracy(Place(best.dim - 1, None, 160, 0.0)) < 0.6


def test_orthogonal_embeddings_have_one_dimension():
    found = plan(**FIXED, embeddings="orthogonal")
    assert found.best.dim == 66 and len(found.frontier) == 1
    assert accuracy(found.best, embeddings="orthogonal") >= 0.6


@pytest.mark.slow
def test_where_nothing_suffices_it_says_what_would():
    found = plan(**FIXED, dim=16)
    assert found.best is None and found.frontier == ()
    least = found.remedies["dim"]
    unlimited = 2**31 - 1
    assert (
        accuracy(Place(least, None, unlimited, 0.0))
        >= 0.6
        > accuracy(Place(least - 1, None, unlimited, 0.0))
    )
    assert "trigger_out" not in found.remedies, "it is out already"
    few = plan(**FIXED, dim=96, samples=60)
    assert few.best is None and few.predicted == accuracy(Place(96, None, 60, 0.0)) < 0.6
    assert few.remedies["samples"] == rb.critical_samples(dim=96, **FIXED, warn=False)
    marked = plan(**{**FIXED, "trigger_in_values": True}, dim=40)
    assert marked.best is None
    assert marked.remedies["trigger_out"] == rb.critical_samples(dim=40, **FIXED, warn=False)


@pytest.mark.nightly
def test_the_width_varies_with_the_mlp():
    found = plan(**FIXED, dim=48, vary_width=True, activation="he3")
    assert accuracy(found.best, activation="he3") >= 0.6
    assert accuracy(found.best, round(0.9 * found.best.samples), activation="he3") < 0.6
    for factor in (0.7, 1.42):
        other = plan(**FIXED, dim=48, width=round(factor * found.best.width), activation="he3").best
        assert other is None or other.cost > 0.97 * found.best.cost
    assert found.doubled.keys() == {"samples", "dim", "width", "seq_len"}


@pytest.mark.parametrize("kind", [{"zipf": 1.0}, {"embeddings": "low_rank(20)"}], ids=str)
def test_what_takes_hours_is_refused(kind):
    with pytest.raises(ValueError, match=r"setting=.*equal facts and no structure"):
        plan(**FIXED, **kind)


@either("terminal")
def test_a_terminal_shows_how_far_it_is(terminal, monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    plan(8, 3, 0.5, dim=12)
    rb.sufficient_samples(12, 2, 40, 0.1)
    said = capsys.readouterr().err
    assert [part in said for part in ("plan: dimensions", "some 80 cert")] == [terminal] * 2


def test_the_search_ends_where_no_step_is_cheaper():
    assert cheapest(
        lambda size: (math.log(size / 300)) ** 2, 10, 1, (2.0, 2**0.25)
    ) == pytest.approx(300, rel=0.1)
    assert cheapest(lambda size: size, 64, 20, (2.0, 2**0.5)) == 20
    assert cheapest(lambda size: math.inf, 64, 1, (2.0,)) == 64
