"""The linear memory: exact moments by z-score, predicted recall against simulation, limits."""

import numpy as np
import pytest
from sampling import by_day, standard_error
from scipy import stats
from sized import marked

from recallbook.data.embeddings import draw_embeddings
from recallbook_studies.ch02 import associative, retrieval
from recallbook_theory.symbolic.expressions import V, d
from recallbook_theory.symbolic.recall_terms import others_variance

pytestmark = pytest.mark.essential


@pytest.mark.slow
@pytest.mark.parametrize("embeddings", ["gaussian", "sphere"])
@pytest.mark.parametrize(("facts", "dim"), [(3, 8), (12, 8), (40, 16), (90, 16)])
def test_variance_of_a_wrong_logit(embeddings, facts, dim):
    """Each origin and their sum, as z-scores over independent draws."""
    means = {"label overlap": [], "own fact": [], "interference": []}
    for seed in range(150):
        tables = draw_embeddings(
            marked(facts, 1, dim, 1, embeddings=embeddings),
            seed,
        )
        tokens, labels = tables.input @ tables.input.T, tables.output @ tables.output.T
        overlap, own = labels * np.diag(tokens), np.diag(labels)[:, None] * tokens
        wrong = ~np.eye(facts, dtype=bool)
        parts = {"label overlap": overlap, "own fact": own}
        parts["interference"] = labels @ tokens - overlap - own
        for name, part in parts.items():
            means[name].append(np.mean(part[wrong] ** 2))
    expected = retrieval.competitor_variance(embeddings)
    for name, values in means.items():
        exact = float(expected[name].subs({retrieval.n: facts, d: dim}))
        z = (np.mean(values) - exact) / standard_error(values)
        assert abs(z) < 4, (name, z)


@pytest.mark.parametrize(
    ("law", "facts", "dim", "seeds", "window"),
    by_day(
        [
            # 0.006: the size of what the leading order leaves out at d >= 32
            ("gaussian", 60, 32, 100, (-0.006, 0.006)),
            ("gaussian", 350, 64, 40, (-0.006, 0.006)),
            ("gaussian", 700, 64, 20, (-0.006, 0.006)),
            ("gaussian", 500, 128, 20, (-0.006, 0.006)),
            # on the sphere the prediction is a little low, and less so in larger dimension
            ("sphere", 194, 64, 20, (-0.005, 0.02)),
            ("sphere", 800, 128, 20, (-0.005, 0.01)),
        ],
        quick=1,
    ),
)
def test_predicted_recall(law, facts, dim, seeds, window):
    """Within these bounds plus four standard errors."""
    values = [associative.recalled(facts, dim, seed, law).mean() for seed in range(seeds)]
    error = np.mean(values) - associative.predicted_recall(facts, dim, law)
    spread = 4 * standard_error(values) if law == "gaussian" else 0
    assert window[0] - spread < error < window[1] + spread


def test_capacity_finds_the_crossing():
    assert associative.capacity(lambda n: 1 - n / 1000, 0.9) == 100
    assert associative.capacity(lambda n: float(n <= 3), 0.5) == 3
    found = associative.capacity(lambda n: associative.predicted_recall(n, 64), 0.99)
    assert (
        associative.predicted_recall(found, 64)
        >= 0.99
        > associative.predicted_recall(found + 1, 64)
    )


def test_variance_of_the_others_is_that_of_the_product():
    across, along = stats.chi2(8), stats.chi2(3)  # d - 1 and n - 1 degrees of freedom
    expected = across.moment(2) * along.moment(2) / (across.mean() * along.mean()) ** 2 - 1
    found = others_variance().subs({V: 4, d: 9})
    assert float(found) == pytest.approx(expected, rel=1e-12)
