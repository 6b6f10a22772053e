"""Plans: what they promise is what `rb.predict` says, and nothing cheaper nearby would do."""

from dataclasses import replace

import pytest
from sized import marked

import recallbook as rb
from recallbook_studies.commands.plan import cheapest, cost_of, plan

pytestmark = pytest.mark.essential

FIXED = {"vocab": 64, "seq_len": 16, "accuracy": 0.6}
UNLIMITED = 2**31 - 1


def accuracy(setting, **changed):
    return rb.predict(replace(setting, **changed), warn=False).accuracy


@pytest.fixture(scope="module")
def found():
    return plan(**FIXED)


@pytest.mark.slow
def test_the_plan_reaches_the_target_and_a_tenth_less_does_not(found):
    best = found.best
    assert accuracy(best) == found.predicted >= 0.6 > accuracy(best, samples=best.samples * 9 // 10)
    assert best.samples == rb.critical_samples(dim=best.dim, **FIXED, warn=False)
    assert found.one_in_ten == rb.predict(best, warn=False).quantile(0.1).accuracy < 0.6
    assert found.binds == rb.phase(best) and found.cost == cost_of(best)


@pytest.mark.slow
@pytest.mark.parametrize("factor", [0.8, 0.9, 1.1, 1.25])
def test_no_dimension_nearby_is_cheaper(found, factor):
    """Critical N is found to one part in a thousand."""
    assert plan(**FIXED, dim=round(factor * found.best.dim)).cost >= 0.995 * found.cost


def test_the_cheapest_size_is_found_from_both_sides():
    for start in (3, 70, 4000):
        assert cheapest(lambda size: abs(size - 70), start, 3) == pytest.approx(70, abs=3), start
    assert cheapest(lambda size: size, 40, 9) == 9, "never below the least"


def test_cost_counts_the_products_of_three_steps():
    """Every product of a sequence written out as (rows, columns): what cost_of sums up."""
    dim, width, length = 5, 7, 3
    scores = [(length, dim)] * 3
    plain = [(dim, dim)] * 3 + scores
    # outer products and pull; the MLP there and back
    features = [(dim, width)] * 3 + [(width, dim)] * 4 + scores
    for operations, m in ((plain, None), (features, width)):
        counted = 11 * sum(rows * columns for rows, columns in operations)
        assert cost_of(marked(20, length, dim, 11, width=m)) == counted


def test_with_n_given_the_smallest_dimension_is_found():
    best = plan(**FIXED, samples=160).best
    assert best.samples == 160 and accuracy(best) >= 0.6 > accuracy(best, dim=best.dim - 1)


def test_orthogonal_embeddings_have_one_dimension():
    best = plan(**FIXED, embeddings="orthogonal").best
    assert (best.dim, best.embeddings) == (66, "orthogonal") and accuracy(best) >= 0.6


@pytest.mark.nightly
def test_an_mlp_keeps_its_width():
    best = plan(**FIXED, dim=48, width=100, activation="he3").best
    assert (best.width, best.activation) == (100, "he3")
    assert accuracy(best) >= 0.6 > accuracy(best, samples=best.samples * 9 // 10)


def test_where_nothing_suffices_it_says_what_binds():
    setting = rb.Setting(vocab=64, seq_len=16, dim=16, samples=UNLIMITED)
    for given, there in {
        "dim": setting,
        "samples": replace(setting, dim=2**20, samples=20),
    }.items():
        found = plan(**FIXED, **{given: getattr(there, given)})
        assert (found.best, found.cost) == (None, None)
        assert found.predicted == accuracy(there) < 0.6 and found.binds == rb.phase(there)


@pytest.mark.parametrize("kind", [{"zipf": 1.0}, {"embeddings": "low_rank(20)"}], ids=str)
def test_what_takes_hours_is_refused(kind):
    with pytest.raises(ValueError, match=r"setting=.*equal facts and no structure"):
        plan(**FIXED, **kind)
