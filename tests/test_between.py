"""Value steps between one and the end: the steps themselves, and what is predicted of them."""

from functools import cache

import numpy as np
import pytest
import torch

import recallbook as rb
from recallbook_theory.steps import FactSample, outcomes

SMALL = {"vocab": 40, "seq_len": 6, "dim": 20, "samples": 300}
WALL = rb.Setting(vocab=128, seq_len=1, dim=34, samples=10**5)  # d² = 1.9 V ln V


def plain_steps(problem, attention_vector, rates):
    """The steps sequence by sequence, and how many positions the most undecided one attends to."""
    setting, count = problem.setting, problem.setting.samples
    keys = problem.input_embeddings[problem.tokens]
    values = keys.clone()
    keys[torch.arange(count), problem.positions] += problem.trigger
    scores = keys @ attention_vector
    shares = (scores >= scores.amax(dim=1, keepdim=True) - 1e-9).double()
    weights = shares / shares.sum(dim=1, keepdim=True)
    located = torch.einsum("nl,nld->nd", weights, keys if setting.trigger_in_values else values)
    if setting.width is not None:
        located = setting.phi(located @ problem.mlp_weights.T) / setting.width**0.5
    value, asked = 0, torch.nn.functional.one_hot(problem.labels, setting.vocab)
    for step, rate in enumerate(rates):
        logits = 0 * asked + (located @ value.T @ problem.output_embeddings.T if step else 0.0)
        residuals = asked - torch.softmax(logits.double(), dim=1)
        move = (residuals @ problem.output_embeddings).T @ located
        value = value + rate * setting.vocab / count * move
    return value, int(shares.sum(dim=1).max())


@pytest.mark.essential
@pytest.mark.parametrize(
    "other",
    [{}, {"trigger_in_values": True}, {"width": 24}, {"zipf": 0.8}, {"seq_len": 200, "dim": 4}],
    ids=str,
)
def test_value_steps_are_those_written_out(other):
    problem = rb.draw(rb.Setting(**{**SMALL, **other}), 0)
    for rates in ((2.0,) * 4, (3.0, 2.0, 1.0, 0.5)):
        found = rb.three_steps(problem, value_steps=4, rate=rates, chunk=7)
        wanted, attended = plain_steps(problem, found.key_query @ problem.query, rates)
        torch.testing.assert_close(found.value2, wanted)
    constant = rb.three_steps(problem, value_steps=4, rate=2.0)
    every = rb.three_steps(problem, value_steps=4, rate=np.full(4, 2.0))
    assert torch.equal(constant.value2, every.value2) and not torch.equal(
        every.value2, found.value2
    )
    assert attended > 1 or "seq_len" not in other  # a sequence with its token twice


def test_one_value_step_is_what_it_was():
    problem = rb.draw(rb.Setting(**SMALL), 0)
    assert torch.equal(rb.three_steps(problem, rate=3.0).value2, rb.three_steps(problem).value2)
    assert rb.predict(problem.setting, rate=3.0) == rb.predict(problem.setting)


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda s: rb.simulate(s, 0, value_steps=2), "rate=None"),
        (lambda s: rb.simulate(s, 0, value_steps=2, rate=1.0, eta=1.0, gamma=1.0), "value_steps=2"),
        (lambda s: rb.simulate(s, 0, rate=1.0, eta=1.0, gamma=1.0), "rate=1.0"),
        (lambda s: rb.predict(s, value_steps=2, without=["coverage"]), "without='coverage'"),
        (lambda s: rb.predict(s, value_steps=2, rate=1.0, warn=False).quantile(0.5), "value_steps"),
        (lambda s: rb.predict(rb.Setting(**SMALL, width=9), value_steps=2), "width=9"),
        (lambda s: rb.predict(rb.Setting(**SMALL, zipf=1.0), value_steps=2), "zipf=1.0"),
    ],
)
def test_what_is_refused(ask, says):
    with pytest.raises(ValueError, match=says):
        ask(rb.Setting(**SMALL))


@cache
def simulated(setting, rate, step):
    """Mean recall over 16 seeds."""
    seeds = range(51000, 51016)
    return np.mean([rb.simulate(setting, s, value_steps=step, rate=rate).recall for s in seeds])


def missed(setting, rate, steps):
    """How far predicted recall is from what is simulated, step by step."""
    found = [simulated(setting, rate, step) for step in steps]
    return outcomes(setting, [rate] * max(steps))[np.array(steps) - 1, 2] - found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rate", "steps"),
    [
        (4.85, [1, 2, 4]),
        pytest.param(4.85, [8], marks=pytest.mark.nightly),
        pytest.param(1.2, [1, 2, 4, 8], marks=pytest.mark.nightly),
    ],
)
def test_recall_after_each_step_is_predicted(rate, steps):
    assert np.abs(missed(WALL, rate, steps)).max() < 0.05


@pytest.mark.nightly
@pytest.mark.parametrize("dim", [96, 48])
def test_more_dimensions_than_labels(dim):
    """There, directions in which no label has a part move nothing."""
    wide = rb.Setting(vocab=48, seq_len=1, dim=dim, samples=480, trigger_in_values=False)
    assert np.abs(missed(wide, 2.0, [1, 4])).max() < 0.03


@pytest.mark.slow
@pytest.mark.parametrize(
    ("term", "without"),
    [
        ("_memory", lambda self, chances, rate: [np.zeros(34) for _ in self.states]),
        ("_noise", lambda self: np.zeros_like(self.state)),
    ],
)
def test_no_term_can_be_left_out(monkeypatch, term, without):
    monkeypatch.setattr(FactSample, term, without)
    assert np.abs(missed(WALL, 4.85, [1, 2, 4])).max() > 0.1


@pytest.mark.slow
def test_few_sequences_and_strays_enter():
    few = rb.Setting(vocab=128, seq_len=64, dim=40, samples=1200)
    found = [rb.simulate(few, seed, value_steps=2, rate=3.0) for seed in range(51000, 51024)]
    lock_on = np.mean([one.lock_on for one in found])
    assert 0.4 < lock_on < 0.95  # else nothing is tested
    guess = rb.predict(few, value_steps=2, rate=3.0, warn=False)
    assert guess.rate == 3.0
    for name in ("accuracy", "recall"):
        wanted = np.mean([getattr(one, name) for one in found])
        assert getattr(guess, name) == pytest.approx(wanted, abs=0.06)


@pytest.mark.slow
def test_draws_keep_their_own_lock_state():
    """Partial lock-on: facts of one draw are read together, which the mean of lock-on would lose."""
    setting = rb.Setting(vocab=97, seq_len=78, dim=29, samples=2224)
    seeds = range(52000, 52040)
    runs = [rb.simulate(setting, s, value_steps=4, rate=2.0, test_samples=1000) for s in seeds]
    accuracy = np.array([run.accuracy for run in runs])
    guess = rb.predict(setting, value_steps=4, rate=2.0, warn=False)
    error = accuracy.std(ddof=1) / len(accuracy) ** 0.5
    assert abs(guess.accuracy - accuracy.mean()) < guess.expected_error.accuracy + 2 * error
    assert guess.accuracy > 1 / 97


def test_a_schedule_is_predicted():
    """A rate for each step; one rate is that of every step; wide tables have the smaller spectrum."""
    falling = tuple(4.0 * (1 - step / 4) for step in range(4))
    constant, fall = (
        rb.predict(WALL, value_steps=4, rate=rate, warn=False) for rate in (4.0, falling)
    )
    assert constant.rate == 4.0 and fall.rate == falling
    assert rb.predict(WALL, value_steps=4, rate=[4.0] * 4, warn=False).recall == constant.recall
    seeds = range(53000, 53008)
    runs = [rb.simulate(WALL, s, value_steps=4, rate=falling).recall for s in seeds]
    assert fall.recall == pytest.approx(np.mean(runs), abs=0.04)
    assert abs(fall.recall - constant.recall) > 0.05
