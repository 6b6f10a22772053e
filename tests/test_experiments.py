"""The experiments' grids and reductions, on small runs and known answers."""

import pytest
import torch

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
