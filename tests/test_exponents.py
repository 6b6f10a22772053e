r"""With orthogonal embeddings $UGZ^\top$ holds the signal $1/(LV)$ and noise of deviation
$(V^2NL)^{-1/2}$."""

import numpy as np
import pytest

import recallbook as rb
from recallbook_studies.intervals import fitted_slope, seed_interval

SEEDS = range(10)
BASE = {"vocab": 64, "seq_len": 16, "samples": 16000, "trigger_in_values": True}


def table(setting, seed):
    """Entries of U G Z^T by (token, label of token), labels reordered so that facts sit on the
    diagonal."""
    problem = rb.draw(setting, seed)
    entries = problem.output_embeddings @ rb.initial_gradient(problem) @ problem.input_embeddings.T
    return entries[problem.permutation].T.numpy()


def signal_and_noise(setting, seed):
    """Mean of facts minus mean of the rest, and the deviation of the rest around each label's own
    mean.

    The label's mean carries how often the label occurs: the same for every token, it is no noise
    between tokens."""
    entries = table(setting, seed)
    vocab = setting.vocab
    off = entries[~np.eye(vocab, dtype=bool)].reshape(
        vocab, vocab - 1
    )  # facts left out, token by token
    rest = np.where(np.eye(vocab, dtype=bool), np.nan, entries)
    noise = rest - np.nanmean(rest, axis=0)
    freedom = vocab * (vocab - 1) - vocab
    return np.trace(entries) / vocab - off.mean(), np.sqrt(np.nansum(noise**2) / freedom)


def exact_noise(vocab, seq_len, samples):
    r"""Deviation of an entry around its label's mean, all finite-size factors kept.

    A sequence adds $(1\{y=k\}-1/V)\,c_v/(NL)$, with $c_v$ the count of token $v$. Differences
    between two tokens $v,v'$ other than the fact have $E(c_v-c_{v'})^2/2=(L-1)/V$ under the label
    itself and $L/V$ or $(L-1)/V$ under the others, where one of the two is the informative token
    with probability $2/(V-1)$."""
    own = (seq_len - 1) / vocab
    other = (seq_len - 1) / vocab + 1 / (vocab - 1)
    square = (1 / vocab) * (1 - 1 / vocab) ** 2 * own + (1 - 1 / vocab) / vocab**2 * other
    return np.sqrt(square / (samples * seq_len**2))


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("vocab", [32, 64, 128, 256]),
        ("seq_len", [8, 16, 32, 64]),
        ("samples", [4000, 16000, 64000]),
    ],
)
def test_signal_and_noise_are_the_exact_ones(name, sizes):
    """Constants and exponents: what is measured over the exact size is 1, and has no slope."""
    settings = []
    for size in sizes:
        values = {**BASE, name: size}
        settings.append(rb.Setting(**values, dim=values["vocab"] + 2, embeddings="orthogonal"))
    measured = np.array(
        [[signal_and_noise(setting, seed) for setting in settings] for seed in SEEDS]
    )
    signal = np.array([1 / (s.seq_len * s.vocab) for s in settings])
    noise = np.array([exact_noise(s.vocab, s.seq_len, s.samples) for s in settings])
    for ratios, width in ((measured[..., 0] / signal, 0.2), (measured[..., 1] / noise, 0.05)):
        for found, true in (
            (fitted_slope(sizes, ratios, level=0.999), 0),
            (seed_interval(ratios.mean(1), 0.999), 1),
        ):
            assert found.low <= true <= found.high and found.high - found.low < width
