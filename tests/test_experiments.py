"""The experiments' grids and reductions, on small runs and known answers."""

import numpy as np
import pytest
import torch
from scipy.stats import sem
from sized import sized

import recallbook as rb
from recallbook_studies.ch03 import rates

pytestmark = pytest.mark.essential


def test_trigger_score_is_what_the_mark_adds():
    """In the model: how much larger the logarithm of attention is on the mark, when all tokens are
    the same."""
    problem = rb.draw(rates.setting(False), seed=0)
    limit = rb.three_steps(problem)
    model = rb.RecallTransformer(problem)
    model.key_query.data = limit.key_query
    logs = model.attention(torch.full((1, 16), 7), torch.tensor([3])).detach().log()[0]
    assert rates.trigger_score(problem, limit) == pytest.approx(float(logs[3] - logs[0]), rel=1e-9)


def test_means_over_seeds_are_those_of_single_runs():
    setting = sized(32, 4, 24, 256)
    means = rb.simulate(setting, range(3), test_samples=500)
    runs = [rb.simulate(setting, seed, test_samples=500) for seed in range(3)]
    for name, error in vars(means.error).items():
        values = [getattr(run, name) for run in runs]
        assert getattr(means, name) == pytest.approx(np.mean(values))
        assert error == pytest.approx(sem(values))
    assert repr(means).endswith("seeds=3)") and f"accuracy={means.accuracy:.3f} ±" in repr(means)


@pytest.mark.parametrize("rates", [(None, None), (30.0, 300.0)])
@pytest.mark.parametrize("width", [None, 48])
def test_a_model_at_given_weights_answers_as_they_do(rates, width):
    problem = rb.draw(sized(32, 4, 24, 256, width=width), 0)
    weights = rb.three_steps(problem, *rates)
    model = rb.RecallTransformer(problem, weights)
    found, wanted = (rb.evaluate(problem, held, 2000) for held in (model, weights))
    assert vars(found) == pytest.approx(vars(wanted), abs=2e-3)
    shown = model.attention(problem.tokens[:5], problem.positions[:5])
    assert not shown.requires_grad and torch.allclose(shown.sum(dim=1), torch.ones(5).to(shown))
    assert rates[0] or set(shown.unique().tolist()) <= {0.0, 0.5, 1.0}
    assert repr(problem.setting) in repr(model)
    with pytest.raises(ValueError, match=r"^weights="):
        rb.RecallTransformer(problem, 3)
