"""Where predictions are in doubt, and by about how much: drawn from the committed error map, not
from the derivation.

Outside all of these, no setting of the map is off by more than the tolerances beyond two standard
errors of its simulation: 0.02 for accuracy and recall, 0.03 for lock-on. ``about`` is the 90th
percentile of the difference between prediction and simulation over the map's settings to which a
doubt applies; a test computes it anew."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from recallbook.setting import Setting
from recallbook.theory import hermite
from recallbook.theory.values import mean_value_variance

FEWEST_TOKENS, FEWEST_DIMS = 60, 12
PARTIAL = (0.2, 0.8)  # lock-on
LINEAR_SHARE = 0.5  # of an activation's variance
# what was simulated; more sequences than that only approach a limit
LARGEST = {"vocab": 65536, "seq_len": 1024, "dim": 3987, "width": 32768}


class Doubt(NamedTuple):
    """What is unusual about a setting, given its predicted lock-on, and what is then off by about
    how much."""

    name: str
    applies: Callable[[Setting, float], bool]
    says: Callable[[Setting], str]
    about: Mapping[str, float]


@lru_cache(maxsize=64)
def linear_share(activation: hermite.Phi, variance: float) -> float:
    r"""$\phi_1^2(a)/\sum_{k\ge1}\phi_k^2(a)$: how much of what the activation does to a
    pre-activation is linear."""
    squares = hermite.hermite_coefficients(activation, variance, 16).values[1:] ** 2
    return float(squares[0] / squares.sum()) if squares.sum() > 0 else 0.0


def _even(setting: Setting, lock_on: float) -> bool:
    if setting.width is None or setting.seq_len == 1:
        return False
    return linear_share(setting.activation, mean_value_variance(setting)) < LINEAR_SHARE


DOUBTS = (
    Doubt(
        "few tokens",
        lambda s, lock_on: s.vocab < FEWEST_TOKENS,
        lambda s: f"vocab={s.vocab} below {FEWEST_TOKENS}",
        {"accuracy": 0.03, "lock_on": 0.07, "recall": 0.03},
    ),
    Doubt(
        "few dimensions",
        lambda s, lock_on: s.dim < FEWEST_DIMS,
        lambda s: f"dim={s.dim} below {FEWEST_DIMS}",
        {"accuracy": 0.02, "lock_on": 0.06},
    ),
    Doubt(
        "few sequences",
        lambda s, lock_on: 2 * s.samples < s.vocab,
        lambda s: f"samples={s.samples} below half of vocab={s.vocab}",
        {},
    ),
    Doubt(
        "long sequences",
        lambda s, lock_on: s.seq_len > s.vocab,
        lambda s: f"seq_len={s.seq_len} above vocab={s.vocab}",
        {"accuracy": 0.03, "lock_on": 0.04, "recall": 0.04},
    ),
    Doubt(
        "partial lock-on in long sequences",
        lambda s, lock_on: 4 * s.seq_len > s.vocab and PARTIAL[0] < lock_on < PARTIAL[1],
        lambda s: f"lock-on is partial and seq_len={s.seq_len} above a quarter of vocab={s.vocab}",
        {"accuracy": 0.02, "lock_on": 0.07, "recall": 0.03},
    ),
    Doubt(
        "no slope near zero",
        _even,
        lambda s: f"activation={s.activation!r} has little linear part near zero",
        {"accuracy": 0.04, "lock_on": 0.11, "recall": 0.03},
    ),
    Doubt(
        "few neurons",
        lambda s, lock_on: s.width is not None and s.width < s.dim and s.seq_len > 1,
        lambda s: f"width={s.width} below dim={s.dim}",
        {"accuracy": 0.03, "lock_on": 0.06, "recall": 0.03},
    ),
    Doubt(
        "curved activation",
        lambda s, lock_on: s.width is not None and linear_share(s.activation, 1.0) < LINEAR_SHARE,
        lambda s: f"activation={s.activation!r} has little linear part at unit variance",
        {"accuracy": 0.04, "recall": 0.03},
    ),
)


UNMEASURED = Doubt(
    "law never measured",
    lambda s, lock_on: not s.law.measured,
    lambda s: f"embeddings={s.embeddings!r} never measured{s.law.caveat}",
    {},
)
BEYOND = Doubt(
    "larger than simulated",
    lambda s, lock_on: bool(_beyond(s)),
    lambda s: ", ".join(_beyond(s)),
    {},
)


def _beyond(setting: Setting) -> list[str]:
    sizes = {name: getattr(setting, name) or 0 for name in LARGEST}
    return [f"{k}={size} above {LARGEST[k]}" for k, size in sizes.items() if size > LARGEST[k]]


def doubts(known: Iterable[Doubt], setting: Setting, lock_on: float) -> list[Doubt]:
    """Those that apply to a setting with this predicted lock-on, of those that its theory knows."""
    return [doubt for doubt in (*known, UNMEASURED, BEYOND) if doubt.applies(setting, lock_on)]


def message(setting: Setting, found: list[Doubt], remarks: Sequence[str] = ()) -> str:
    """What is off, and by about how much: the largest of the doubts for each quantity; and remarks
    on this one prediction."""
    if not found:
        return f"prediction in doubt: {'; '.join(remarks)}"
    reasons = "; ".join([*(doubt.says(setting) for doubt in found), *remarks])
    about: dict[str, float] = {}
    for doubt in found:
        about |= {name: max(size, about.get(name, 0.0)) for name, size in doubt.about.items()}
    sizes = ", ".join(f"{name} by about {size:.2f}" for name, size in sorted(about.items()))
    parts = [f"off in {sizes}"] if sizes else []
    if not all(doubt.about for doubt in found):
        parts.append("it is beyond the settings where predictions were checked")
    return f"prediction in doubt: {reasons}: {'; '.join(parts)}"
