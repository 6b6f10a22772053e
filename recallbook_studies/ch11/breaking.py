r"""Where Zipf's law breaks lock-on: the lead of the most frequent token over the mark, how far it
scatters from draw to draw, and the exponent that follows, beside the simulated one.

To first order the lead is $\operatorname{tr}QE+\operatorname{tr}Q'E'$, with $E$ and $E'$ what the
inner products of tokens, mark and asked token, and those of labels, differ by from an orthonormal
set's. Both $Q$ are sums of few products of vectors: one number for each token, then, on the input's
side, one for the mark and one for the asked token. Ours."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float64
from scipy.optimize import brentq
from scipy.special import ndtr

from recallbook.arguments import not_allowed
from recallbook.setting import Setting, fact_frequencies
from recallbook_studies.critical import critical_table
from recallbook_studies.running.archive import load_results
from recallbook_theory.sampled.theory import label_choice

Vector = Float64[np.ndarray, " n"]
Form = tuple[Vector, Vector]  # uv', of which the symmetric half counts


class Lead(NamedTuple):
    """The most frequent token's mean score over the mark's, and the variance of the lead over both
    others, by what is drawn, in the same unit."""

    quotient: float
    variances: dict[str, float]

    @property
    def deviation(self) -> float:
        """How far the lead scatters between draws."""
        return math.sqrt(sum(self.variances.values()))

    @property
    def ahead(self) -> float:
        """Share of draws in which the token outscores the mark of a rare fact; a normal closure."""
        return float(ndtr((self.quotient - 1) / self.deviation))


def square(forms: list[Form], diagonal: Vector) -> float:
    r"""$\operatorname{tr}Q^2$ of the symmetric half of all forms and of a diagonal."""
    u, v = (np.array(side) for side in zip(*forms, strict=True))
    pairs = (u @ u.T * (v @ v.T)).sum() + (u @ v.T * (v @ u.T)).sum()
    return float(pairs / 2 + 2 * (u * v).sum(axis=0) @ diagonal + diagonal @ diagonal)


def check_covered(setting: Setting) -> None:
    """Refuse a setting with a remedy, other tokens of another law, embeddings that are not Gaussian,
    or one token."""
    others = (
        setting.other_zipf is not None
        or setting.law.geometry != "normal"
        or setting.width is not None
    )
    if others or label_choice(setting) != "none" or setting.seq_len == 1:
        allowed = "Zipf's law of all tokens, Gaussian embeddings, no remedy, L above 1"
        raise not_allowed("setting", setting, allowed)


def lead(setting: Setting) -> Lead:
    r"""$\mathbb E\,S_1/\mathbb E\,M$ and the variance of $(S_1-S_a-M)/\mathbb E\,M$, to first order
    in $1/d$.

    Raises
    ------
    ValueError
        By :func:`check_covered`.
    """
    check_covered(setting)
    p, length, tau = fact_frequencies(setting), setting.seq_len, float(setting.trigger_in_values)
    top, squares, rest = float(p[0]), float(p @ p), 1 - 1 / length
    shared = 1 / setting.dim  # s_2
    uneven = p - 1 / setting.vocab  # a label along g
    pull = squares - 1 / setting.vocab + (1 - squares) / setting.samples  # |g|^2
    finds = tau / length - rest * squares + rest * p  # what a fact's label reads along g
    first, mark, asked = np.zeros((3, setting.vocab + 2))
    first[0] = mark[-2] = asked[-1] = 1.0

    def vector(tokens: Vector, on_mark: float = 0.0) -> Vector:
        return np.append(tokens, [on_mark, 0.0])

    # the mean residual R|g|^2 b + sum_k p_k (u_k.g) (z_k + tau t) / L, which step 2 multiplies by the
    # tokens' covariance; and the fact of a token, which finds itself once attention stands on it
    residual = vector(rest * pull * p + p * uneven / length, tau * pull / length)
    fact = p * (1 - p) / length + uneven * finds
    mean_read, mean_fact = float(p @ residual[:-2]), float(p @ fact)
    attention = rest**2 * vector(p * residual[:-2] - mean_read * p) + rest**2 * shared * residual
    attention += rest / length * vector(p * (fact - mean_fact), mean_fact)
    of_mark = attention[-2]  # mean scores are the entries
    # tokens, mark and asked token
    centred, less = first - vector(p), -(1 + top) * rest / length  # z_1 - b
    reads = vector(rest * p, tau / length)  # what a label along g reads
    along_first = (top - 1 / setting.vocab) * reads + top / length * first
    pulled = float(p @ uneven)
    of_tokens = [
        (first - mark - asked, attention),
        (rest**2 * top * centred, residual),
        (rest / length * top * (centred + tau * mark), along_first),
        (less * vector(-p, tau), vector(p**2 / length)),
        (less * vector(p * (uneven - pulled), tau * pulled), reads),
    ]
    # labels
    through = rest**3 * top * (top + shared - squares) - tau * rest**2 * shared / length
    on_labels = through * uneven - rest**2 * top / length * p**2 + less * p * finds
    on_labels[0] += rest**2 * top * (top + shared) / length + rest / length * top * finds[0]
    of_labels = [
        (on_labels - on_labels.mean(), uneven),
        (rest / length**2 * top**2 * (1 - top) * first[:-2], first[:-2]),
    ]
    parts = {
        "tokens, trigger": square(of_tokens, vector(less / length * p**2)),
        "labels": square(of_labels, less / length * (p**2 - p**3)),
    }
    scale = 2 / (setting.dim * of_mark**2)
    return Lead(float(attention[0] / of_mark), {name: scale * part for name, part in parts.items()})


def broken_share(setting: Setting) -> float:
    r"""$(1-p_1)\,P(\text{present})\,P(\text{ahead})$: sequences that the most frequent token takes
    from the mark.

    It is not their informative token, stands in them, and is ahead in this draw. What other tokens
    take is left out."""
    if setting.seq_len == 1:
        return 0.0
    top = float(fact_frequencies(setting)[0])
    return float((1 - top) * (1 - (1 - top) ** (setting.seq_len - 1)) * lead(setting).ahead)


def critical_zipf(
    vocab: int, seq_len: int, dim: int, samples: int, *, trigger_in_values: bool = False
) -> float:
    r"""Exponent $\alpha$ of all tokens at which lock-on falls below one half, by
    :func:`broken_share`; 4 if it does nowhere."""
    equal = Setting(
        vocab=vocab, seq_len=seq_len, dim=dim, samples=samples, trigger_in_values=trigger_in_values
    )

    def excess(exponent: float) -> float:
        return 0.5 - broken_share(replace(equal, zipf=float(exponent)))

    # the first crossing: very frequent tokens are facts too, and lock-on returns
    grid = np.arange(1, 161) / 40
    below = next((exponent for exponent in grid if excess(exponent) < 0), None)
    return 4.0 if below is None else brentq(excess, below - 1 / 40, below)


def critical_exponents(*sweeps: str) -> pd.DataFrame:
    """Exponent of each case of committed sweeps at which mean lock-on falls below one half:
    ``simulated``, with the ends ``low`` and ``high`` of its 95 % interval over ``seeds``, and
    ``predicted``."""
    names = ["vocab", "seq_len", "dim", "samples", "trigger_in_values"]
    # lock-on rises with the inverse of the exponent
    frames = [load_results(name).assign(inverse=lambda rows: 1 / rows["zipf"]) for name in sweeps]
    tables = [critical_table(frame, names, along="inverse") for frame in frames]
    table = pd.concat(tables, ignore_index=True)
    simulated, low, high = (1 / table[name] for name in ("critical", "high", "low"))
    predicted = [critical_zipf(**sizes) for sizes in table[names].to_dict("records")]
    return table[[*names, "seeds"]].assign(
        simulated=simulated, low=low, high=high, predicted=predicted
    )
