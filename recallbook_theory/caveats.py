"""Where predictions are in doubt: where they were never compared with simulation, and where they
are expected to be off by much (:mod:`recallbook_theory.expected_errors`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from recallbook.setting import Setting
from recallbook_theory.expected_errors import LARGE

# what was simulated; more sequences than that only approach a limit
LARGEST = {"vocab": 65536, "seq_len": 1024, "dim": 3987, "width": 32768}


class Doubt(NamedTuple):
    """What a setting has that none of those had where predictions were checked."""

    name: str
    applies: Callable[[Setting], bool]
    says: Callable[[Setting], str]


FEW_SEQUENCES = Doubt(
    "few sequences",
    lambda s: 2 * s.samples < s.vocab,
    lambda s: f"samples={s.samples} below half of vocab={s.vocab}",
)
UNMEASURED = Doubt(
    "law never measured",
    lambda s: not s.law.measured,
    lambda s: f"embeddings={s.embeddings!r} never measured{s.law.caveat}",
)
BEYOND = Doubt(
    "larger than simulated",
    lambda s: bool(_beyond(s)),
    lambda s: ", ".join(_beyond(s)),
)


def _beyond(setting: Setting) -> list[str]:
    sizes = {name: getattr(setting, name) or 0 for name in LARGEST}
    return [f"{k}={size} above {LARGEST[k]}" for k, size in sizes.items() if size > LARGEST[k]]


def doubts(known: Iterable[Doubt], setting: Setting) -> list[Doubt]:
    """Those that apply to a setting, of those that its theory knows."""
    return [doubt for doubt in (*known, UNMEASURED, BEYOND) if doubt.applies(setting)]


def message(
    setting: Setting,
    found: Sequence[Doubt],
    remarks: Sequence[str] = (),
    expected: Mapping[str, float] | None = None,
) -> str | None:
    """What a warning says: outcomes that are expected to be off by much, doubts, and remarks on
    this one prediction; None without any."""
    large = {name: size for name, size in (expected or {}).items() if size > LARGE}
    parts = [", ".join(f"{name} typically off by {size:.2f}" for name, size in large.items())]
    if found:
        reasons = ", ".join(doubt.says(setting) for doubt in found)
        parts.append(f"{reasons}: beyond the settings where predictions were checked")
    said = "; ".join(filter(None, [*parts, *remarks]))
    return f"prediction in doubt: {said}" if said else None
