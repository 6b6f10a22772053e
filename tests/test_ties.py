"""What ties, what a tie is worth, and where it shows in attention."""

import pytest
import torch
from sized import sized

import recallbook as rb
from recallbook.data.task import Sequences
from recallbook.model import ties
from recallbook.model.attention import Scores, hard_attention

pytestmark = pytest.mark.essential

VALUES = torch.tensor(
    [[1.0, 1.0 - 1e-13, 0.5], [0.0, 0.0, 0.0], [2.0, 1.0, 2.0 - 1e-6]], dtype=torch.float64
)


def test_a_tie_among_k_earns_one_kth():
    for wanted, expected in enumerate(([0.5, 1 / 3, 1.0], [0.5, 1 / 3, 0.0], [0.0, 1 / 3, 0.0])):
        found = ties.credit(VALUES, torch.full((3,), wanted), 1e-10)
        assert found.tolist() == pytest.approx(expected)


def test_what_is_not_a_number_excludes_nothing():
    values = torch.tensor([[float("nan"), 1.0], [1.0, 2.0]])
    assert ties.tied(values, 0).tolist() == [[True, True], [False, True]]


def test_rounding_is_set_to_zero_and_nothing_else():
    vector, one = torch.full((4,), 1e-17, dtype=torch.float64), torch.tensor(1.0)
    assert not ties.without_rounding(vector, one).any()
    assert torch.equal(ties.without_rounding(vector, torch.tensor(1e-5)), vector)
    for scale in (one, one * float("nan")):
        assert ties.without_rounding(torch.full((4,), float("nan")), scale).isnan().all()


def test_tied_positions_share_attention():
    """Tokens 0 and 1 score alike; the mark adds nothing, and then one."""
    tokens = torch.tensor([[0, 1, 2], [0, 0, 2], [2, 2, 1], [1, 0, 0]], dtype=torch.int32)
    sequences = Sequences(tokens, torch.tensor([0, 2, 2, 1]), torch.zeros(4, dtype=torch.int64))
    scores = torch.tensor([1.0, 1.0, 0.0], dtype=torch.float64)
    slack = torch.tensor(1e-9, dtype=torch.float64)
    found = hard_attention(sequences, Scores(scores, torch.zeros((), dtype=torch.float64), slack))
    assert found.locks.tolist() == pytest.approx([1 / 2, 0, 1, 1 / 3])
    # row 1: the same token twice is one vector; rows 0 and 3 mix vectors
    assert found.mixed.tolist() == [0, 3] and found.codes[1:3].tolist() == [0, 1 + 3]
    assert found.shares.tolist() == [
        pytest.approx([1 / 2, 1 / 2, 0]),
        pytest.approx([1 / 3, 1 / 3, 1 / 3]),
    ]
    marked = hard_attention(sequences, Scores(scores, torch.ones((), dtype=torch.float64), slack))
    assert marked.locks.tolist() == pytest.approx([1, 1 / 3, 1, 1]) and marked.mixed.tolist() == [1]


@pytest.mark.parametrize("width", [None, 16])
def test_tied_attention_is_the_limit_of_softmax(width):
    """N = 1, orthogonal embeddings: every unmarked score ties, and huge finite rates share
    attention alike."""
    setting = sized(12, 4, 14, 1, width=width, embeddings="orthogonal", activation="gelu")
    for seed in range(6):
        problem = rb.draw(setting, seed)
        limit, finite = rb.three_steps(problem), rb.three_steps(problem, 1e-6, 1e12)
        scale = float(limit.value2.abs().max())
        assert float((finite.value2 / 1e12 - limit.value2).abs().max()) < 1e-5 * scale
        test = problem.fresh(500)
        found = [rb.evaluate(problem, weights, sequences=test) for weights in (limit, finite)]
        assert found[0].lock_on == pytest.approx(found[1].lock_on, abs=1e-9)
