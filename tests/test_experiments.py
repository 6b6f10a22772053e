"""The experiments' grids and reductions, on small runs and known answers."""

import pytest
import torch
from sized import marked

import recallbook as rb
from recallbook_studies.ch03 import rates
from recallbook_studies.ch05 import scores
from recallbook_studies.ch06 import origins

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


@pytest.mark.parametrize(("field", "value"), [("zipf", 1.0), ("loss_weights", "inverse")])
def test_measurements_of_equal_facts_refuse_others(field, value):
    setting = marked(6, 3, 5, 10, **{field: value})
    for measure in (
        lambda: origins.fact_counts(setting, 0),
        lambda: scores.measure(rb.draw(setting, seed=0)),
    ):
        with pytest.raises(ValueError, match=f"^{field}=.* is not allowed"):
            measure()
