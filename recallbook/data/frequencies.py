r"""How frequent tokens are: Zipf's law, as probabilities and as draws."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float64, Int32

from recallbook.data.streams import uniform_integers
from recallbook.setting import Setting


def zipf_law(vocab: int, exponent: float) -> Float64[np.ndarray, " V"]:
    r"""$p_v\propto(v+1)^{-\alpha}$, shape ``(V,)``, most frequent first."""
    weights = np.arange(1, vocab + 1, dtype=float) ** -exponent
    return np.asarray(weights / weights.sum())


def fact_frequencies(setting: Setting) -> Float64[np.ndarray, " V"]:
    """How often each token is the informative one of a test sequence."""
    return zipf_law(setting.vocab, setting.zipf)


def other_frequencies(setting: Setting) -> Float64[np.ndarray, " V"]:
    """How often each token stands where the mark does not."""
    return zipf_law(setting.vocab, setting.zipf if setting.other_zipf is None else setting.other_zipf)


def tokens_of_law(
    generator: np.random.Generator, law: Float64[np.ndarray, " V"], count: int
) -> Int32[np.ndarray, " count"]:
    """``count`` tokens of this law; fewer are the first of more. One uniform number each, so that laws are paired."""
    if np.all(law == law[0]):
        return uniform_integers(generator, len(law), count)
    edges = np.cumsum(law)
    found = np.searchsorted(edges / edges[-1], generator.random(count), side="right")
    return np.asarray(np.minimum(found, len(law) - 1), dtype=np.int32)


def balanced_tokens(generator: np.random.Generator, vocab: int, count: int) -> Int32[np.ndarray, " count"]:
    """Every token once in each run of ``vocab``, in random order; fewer are the first of more."""
    runs = [generator.permutation(vocab) for _ in range(-(-count // vocab))]
    return np.asarray(np.concatenate(runs)[:count], dtype=np.int32)
