"""Finite rates that provably keep the limit: every inequality on draws, and what is promised against simulation."""

import math

import pytest
import torch

import recallbook as rb
from recallbook.data.residuals import centred_labels
from recallbook_studies.ch06 import proved_rates

SETTINGS = [
    rb.Setting(vocab=24, seq_len=4, dim=96, samples=1200),
    rb.Setting(vocab=24, seq_len=4, dim=96, samples=4000, trigger_in_values=True),
    rb.Setting(vocab=16, seq_len=3, dim=40, samples=300, embeddings="sphere", trigger_in_values=True),
    rb.Setting(vocab=16, seq_len=5, dim=18, samples=900, embeddings="orthogonal", trigger_in_values=True),
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
        assert float(attention.gather(1, sample.positions[:, None]).min()) >= found.attention - 1e-12
        asked = sample.tokens.gather(1, sample.positions[:, None])[:, 0].long()
        sure = found.facts[asked]
        right = model(sample.tokens.long(), sample.positions).argmax(dim=1) == sample.labels
        assert bool(right[sure].all())
        assert float(found.facts.double().mean()) <= limit.recall + 1e-9
    eta, gamma = chosen(setting, 1e-3)
    assert proved_rates.kept(problem, eta, gamma).facts.double().mean() > 0.5 * limit.recall  # and it is not empty


@pytest.mark.parametrize("setting", SETTINGS[:2], ids=str)
def test_each_inequality_and_its_slack(setting):
    problem = rb.draw(setting, seed=3)
    eta, _ = chosen(setting, 0.02)
    limit = proved_rates._limit(problem)
    gradient = rb.initial_gradient(problem)
    embedded = problem.input_embeddings[problem.tokens.long()]  # (n, L, d)
    place = torch.nn.functional.one_hot(problem.positions, setting.seq_len)[:, :, None] * problem.trigger
    keys, values = embedded + place, embedded + float(setting.trigger_in_values) * place
    logits = problem.output_embeddings @ gradient @ values.mean(dim=1).T
    chances = torch.softmax(eta * logits, dim=0)
    bound = math.exp(eta * limit.spread) / setting.vocab
    assert float(chances.max()) <= bound and float(chances.min()) >= 1 / setting.vocab**2 / bound
    assert math.log(bound / float(chances.max())) < eta * limit.spread  # slack: less than another factor of this size

    # how far the margins of step 2 move
    moved = torch.zeros(setting.vocab, setting.vocab, dtype=torch.float64)
    centred = keys - keys.mean(dim=1, keepdim=True)
    pulled = (1 / setting.vocab - chances).T @ problem.output_embeddings @ gradient  # (n, d)
    change = torch.einsum("nld,nlc,nc->d", centred, values, pulled) / (setting.seq_len * setting.samples)
    scores = problem.input_embeddings @ change
    moved = (problem.trigger @ change + scores[:, None] - scores).abs() * problem.query.square().sum()
    allowed = math.expm1(eta * limit.spread) * limit.drift
    assert 3e-4 * allowed < float(moved.max()) <= allowed  # the loosest step: sequences do not err together

    # how far predictions pull the logits of step 3, with attention exact
    informative = problem.tokens.gather(1, problem.positions[:, None])[:, 0].long()
    asked = problem.input_embeddings + float(setting.trigger_in_values) * problem.trigger
    residual = 1 / setting.vocab - torch.softmax(
        eta * asked[informative] @ gradient.T @ problem.output_embeddings.T, dim=1
    )
    value = (residual @ problem.output_embeddings).T @ asked[informative] / setting.samples
    labels = centred_labels(problem)[problem.permutation]
    found = asked @ value.T @ labels.T
    off = (found.diagonal()[:, None] - found).abs()
    allowed = math.expm1(eta * limit.spread) / setting.vocab * proved_rates._pairs(limit.pull) * limit.overlap[:, None]
    assert bool((off <= allowed).all()) and float((off / allowed).max()) > 0.01


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


def test_large_rates_and_small_gamma_keep_nothing():
    problem = rb.draw(SETTINGS[0], seed=2)
    for eta, gamma in ((1e4, 1e6), (0.1, 1e-3)):
        found = proved_rates.kept(problem, eta, gamma)
        assert found.attention == 0 and not bool(found.facts.any())


def test_bad_input():
    problem = rb.draw(SETTINGS[0], seed=2)
    with pytest.raises(ValueError, match="eta=0 is not allowed"):
        proved_rates.kept(problem, 0, 1.0)
    with pytest.raises(ValueError, match="width=8 is not allowed"):
        proved_rates.kept(
            rb.draw(rb.Setting(vocab=8, seq_len=2, dim=4, samples=9, width=8, trigger_in_values=True), 0), 1.0, 1.0
        )
