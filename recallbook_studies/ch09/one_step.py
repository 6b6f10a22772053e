r"""How much one gradient at initialisation remembers: decoding against $Nd^2/(LV^2)$, the axis of
the bound.

No step is taken: labels are decoded from the gradient in the values at zero, by arg max and by
assignment."""

from __future__ import annotations

import numpy as np
import pandas as pd
import sympy as sp

from recallbook.analysis.critical import critical_table
from recallbook.bounds.information import information_samples
from recallbook.sweeps.point import Point
from recallbook.theory.symbolic.expressions import L, N, V, d, numeric
from recallbook.theory.symbolic.lock_terms import kappa
from recallbook.theory.values import columns
from recallbook_studies import grids

SEEDS = range(10)
METHODS = ("argmax", "assignment")
DOUBLINGS = range(-1, 8)  # of N d^2 / (L V^2), from 1/2 to 128
CASES = tuple(  # V, L, d and whether the values carry the trigger
    (vocab, seq_len, vocab // share, flag)
    for vocab, lengths in ((128, (16,)), (256, (4, 16, 64)), (512, (16,)))
    for seq_len in lengths
    for share in (8, 4, 2, 1)
    for flag in (False, True)
    if not flag or (vocab, seq_len) == (256, 16)
)


def points() -> list[Point]:
    """Each case at each doubling, with both decoders."""
    found = []
    for vocab, seq_len, dim, flag in CASES:
        counts = grids.octaves(seq_len * vocab**2 / dim**2, DOUBLINGS)
        sizes = {"vocab": vocab, "seq_len": seq_len, "dim": dim, "samples": counts}
        found += grids.settings(**sizes, trigger_in_values=flag)
    return [Point(s, seed, method=method) for s in found for seed in SEEDS for method in METHODS]


def with_axis(frame: pd.DataFrame) -> pd.DataFrame:
    r"""The frame with ``information`` $=Nd^2/(LV^2)$, on which all curves should fall together."""
    return frame.assign(
        information=frame["samples"] * frame["dim"] ** 2 / (frame["seq_len"] * frame["vocab"] ** 2)
    )


def noise() -> sp.Expr:
    r"""Mean square of a wrong entry of $UGZ^\top$ over the squared right one, to leading order;
    ours.

    The other $L-1$ tokens of each sequence give $LV^2\kappa^2/N$ with $\kappa=\frac1d+\frac1V$, the
    mean square overlap of two embeddings; the other facts give $V/d^2$."""
    return L * V**2 * kappa**2 / N + V / d**2


def law() -> sp.Expr:
    r"""Number of sequences at which the largest wrong entry, about $\sqrt{2\log V}$ deviations,
    meets the right one.

    About half of the facts are then lost to the arg max. Negative where interference alone costs
    more."""
    above, below = sp.fraction(sp.simplify(sp.solve(sp.Eq(2 * sp.log(V) * noise(), 1), N)[0]))
    return -above / -below  # both are positive where there is a solution: easier to read


def with_margin(frame: pd.DataFrame) -> pd.DataFrame:
    r"""The frame with ``margin``, $1/(2\log V)$ over :func:`noise`: 1 where the arg max should lose
    half the facts."""
    return frame.assign(margin=1 / (2 * np.log(frame["vocab"]) * numeric(noise())(columns(frame))))


def critical(frame: pd.DataFrame, method: str) -> pd.DataFrame:
    """Critical N for half of the facts without the trigger in the values, by V, L and d;
    ``predicted`` and ``least``.

    ``predicted`` is :func:`law` (of the arg max at half of the facts), infinite where interference
    alone is too much; ``least`` the information bound."""
    chosen = grids.at(frame, method=method, trigger_in_values=False)
    by = ["vocab", "seq_len", "dim"]
    table = critical_table(chosen, by, outcome="recall")
    found = np.asarray(numeric(law())(columns(table)))
    sizes = zip(*(table[name].tolist() for name in by), strict=True)
    least = [information_samples(vocab, seq_len, dim, 0.5) for vocab, seq_len, dim in sizes]
    return table.assign(predicted=np.where(found > 0, found, np.inf), least=least)
