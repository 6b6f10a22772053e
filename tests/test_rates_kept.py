"""Finite rates that provably keep the limit: every inequality on draws, and what is promised
against simulation."""

import math

import pytest
import torch
from sized import marked, sized

import recallbook as rb
from recallbook_studies.ch06 import proved_rates

SETTINGS = [
    sized(24, 4, 96, 1200),
    marked(24, 4, 96, 4000),
    marked(16, 3, 40, 300, embeddings="sphere"),
    marked(16, 5, 18, 900, embeddings="orthogonal"),
]
SHARES = (1e-4, 1e-3, 5e-3)  # eta over L V


def chosen(setting, share):
    eta = share * setting.seq_len * setting.vocab
    return eta, 300 * setting.vocab * setting.seq_len**2 / eta


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_what_is_kept_happens(setting):
    problem = rb.draw(setting, seed=2)
    limit = rb.evaluate(problem, rb.three_steps(problem), 2000)
    for share in SHARES:
        eta, gamma = chosen(setting, share)
        found = proved_rates.kept(problem, eta, gamma)
        weights = rb.three_steps(problem, eta, gamma)
        model = rb.RecallTransformer(problem)
        with torch.no_grad():
            model.key_query.copy_(weights.key_query)
            model.value.copy_(weights.value2)
        sample = problem.fresh(2000, seed=5)
        attention = model.attention(sample.tokens.long(), sample.positions).detach()
        assert (
            float(attention.gather(1, sample.positions[:, None]).min()) >= found.attention - 1e-12
        )
        asked = sample.tokens.gather(1, sample.positions[:, None])[:, 0].long()
        sure = found.facts[asked]
        right = model(sample.tokens.long(), sample.positions).argmax(dim=1) == sample.labels
        assert bool(right[sure].all())
        assert float(found.facts.double().mean()) <= limit.recall + 1e-9
    eta, gamma = chosen(setting, 1e-3)
    assert (
        proved_rates.kept(problem, eta, gamma).facts.double().mean() > 0.5 * limit.recall
    )  # and it is not empty


@pytest.mark.parametrize("setting", SETTINGS[:2], ids=str)
def test_each_inequality_and_its_slack(setting):
    problem = rb.draw(setting, seed=3)
    eta, _ = chosen(setting, 0.02)
    limit = proved_rates._limit(problem)
    gradient = rb.initial_gradient(problem)
    embedded = problem.input_embeddings[problem.tokens.long()]  # (n, L, d)
    place = (
        torch.nn.functional.one_hot(problem.positions, setting.seq_len)[:, :, None]
        * problem.trigger
    )
    keys, values = embedded + place, embedded + float(setting.trigger_in_values) * place
    logits = problem.output_embeddings @ gradient @ values.mean(dim=1).T
    chances = torch.softmax(eta * logits, dim=0)
    bound = math.exp(eta * limit.spread) / setting.vocab
    assert float(chances.max()) <= bound and float(chances.min()) >= 1 / setting.vocab**2 / bound
    assert (
        math.log(bound / float(chances.max())) < eta * limit.spread
    )  # slack: less than another factor of this size

    # how far the margins of step 2 move
    moved = torch.zeros(setting.vocab, setting.vocab, dtype=torch.float64)
    centred = keys - keys.mean(dim=1, keepdim=True)
    pulled = (1 / setting.vocab - chances).T @ problem.output_embeddings @ gradient  # (n, d)
    change = torch.einsum("nld,nlc,nc->d", centred, values, pulled) / (
        setting.seq_len * setting.samples
    )
    scores = problem.input_embeddings @ change
    moved = (
        problem.trigger @ change + scores[:, None] - scores
    ).abs() * problem.query.square().sum()
    allowed = math.expm1(eta * limit.spread) * limit.drift
    assert (
        3e-4 * allowed < float(moved.max()) <= allowed
    )  # the loosest step: sequences do not err together


@pytest.mark.parametrize("setting", SETTINGS[:2], ids=str)
@pytest.mark.parametrize("share", [1e-3, 5e-3])
def test_gaps_differ_from_the_limit_by_no_more_than_said(setting, share):
    problem = rb.draw(setting, seed=5)
    eta, gamma = chosen(setting, share)
    limit = proved_rates._limit(problem)
    missing, off = proved_rates._deviations(limit, setting, eta, gamma)
    assert missing < 1e-6
    value = rb.three_steps(problem, eta, gamma).value2 / gamma
    asked = problem.input_embeddings + float(setting.trigger_in_values) * problem.trigger
    logits = (asked @ value.T @ problem.output_embeddings.T)[:, problem.permutation]
    apart = ~torch.eye(setting.vocab, dtype=torch.bool)
    moved = (logits.diagonal()[:, None] - logits - limit.gaps).abs()[apart]
    assert bool((moved <= off[apart]).all())
    assert float((moved / off[apart]).max()) > 0.01  # and not by much less


def test_the_limit_is_that_of_the_three_steps():
    problem = rb.draw(SETTINGS[1], seed=4)
    limit, weights = proved_rates._limit(problem), rb.three_steps(problem)
    scores, mark = (
        problem.input_embeddings @ (weights.key_query @ problem.query),
        problem.trigger @ (weights.key_query @ problem.query),
    )
    assert limit.margin == pytest.approx(float(mark + (scores[:, None] - scores).min()))
    asked = problem.input_embeddings + problem.trigger
    logits = (asked @ weights.value2.T @ problem.output_embeddings.T)[:, problem.permutation]
    gaps = logits.diagonal()[:, None] - logits
    apart = ~torch.eye(len(gaps), dtype=torch.bool)
    assert torch.allclose(limit.gaps[apart], gaps[apart], atol=1e-12)


def test_where_positions_tie_nothing_is_kept():
    """Orthonormal embeddings, three sequences: margins are zero but for rounding, and gamma is
    large."""
    for length, seed in ((4, 59), (2, 38), (2, 58)):
        problem = rb.draw(sized(3, length, 6, 3, embeddings="orthogonal"), seed)
        assert rb.evaluate(problem, rb.three_steps(problem), 500).lock_on < 1
        found = proved_rates.kept(problem, 1e-22, 1e44)
        assert found.attention == 0 and not bool(found.facts.any())


@pytest.mark.essential
def test_large_rates_and_small_gamma_keep_nothing():
    problem = rb.draw(SETTINGS[0], seed=2)
    for eta, gamma in ((1e4, 1e6), (0.1, 1e-3)):
        found = proved_rates.kept(problem, eta, gamma)
        assert found.attention == 0 and not bool(found.facts.any())
