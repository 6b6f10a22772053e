"""The law of cosines, against simulation; Welch's bound against every
draw."""

import numpy as np
import pytest
from scipy import stats

from recallbook_studies.ch02 import retrieval


@pytest.mark.parametrize("embeddings", ["gaussian", "sphere"])
@pytest.mark.parametrize("dim", [3, 16, 60])
def test_cosines_follow_their_law(embeddings, dim):
    # disjoint pairs are independent, so that the test is exact
    values = np.concatenate([retrieval.cosines(2, dim, seed, embeddings) for seed in range(600)])
    squared = stats.beta(0.5, (dim - 1) / 2)
    assert stats.kstest(values**2, squared.cdf).pvalue > 1e-4
    assert stats.binomtest(int((values > 0).sum()), 600).pvalue > 1e-4


@pytest.mark.parametrize(("vocab", "dim"), [(50, 10), (100, 40)])
def test_no_draw_is_below_the_floor(vocab, dim):
    values = [np.abs(retrieval.cosines(vocab, dim, seed, "sphere")).max() for seed in range(300)]
    floor = float(retrieval.coherence_floor().subs({retrieval.n: vocab, retrieval.d: dim}))
    assert min(values) > floor


def test_floor_is_reached_by_the_simplex():
    """V = d + 1 vectors with all cosines -1/d attain Welch's bound."""
    dim = 7
    assert float(
        retrieval.coherence_floor().subs({retrieval.n: dim + 1, retrieval.d: dim})
    ) == pytest.approx(1 / dim)
