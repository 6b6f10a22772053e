"""How much memory a computation needs: estimated, and compared with what is free, before it is
asked for."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from recallbook.arguments import not_allowed
from recallbook.setting import LATER, Setting

GIB = 2.0**30
NUMBER = 8  # bytes of one in float64 or int64
# of a token while it is drawn: a uniform number, where it falls, and the token
ZIPF_BYTES, UNIFORM_BYTES = 28, 5
SEQUENCE_BYTES = 48  # positions, labels and what they are drawn from


class Need(NamedTuple):
    """Bytes of one array, and the sizes by name that make it so large."""

    bytes: float
    fields: dict[str, int]


def free_memory() -> float:
    """Bytes that this machine, or the group of processes that this one is in, can still give;
    infinite if unknown."""
    found = [float("inf")]
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        found += [
            1024.0 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")
        ]
    except (OSError, ValueError, IndexError):
        # no such file: all that there is
        if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
            found.append(float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")))
    group = Path("/sys/fs/cgroup")
    try:
        most, used = (
            float((group / f"memory.{name}").read_text("utf-8")) for name in ("max", "current")
        )
        found.append(max(0.0, most - used))
    except (OSError, ValueError):  # "max": no limit
        pass
    return min(found)


def require_memory(needs: Iterable[Need], purpose: str) -> None:
    """Refuse what does not fit, by the size that asks for most.

    Raises
    ------
    ValueError
        Names the size, what would be needed and what is free, in GiB.
    """
    needs = list(needs)
    total = sum(need.bytes for need in needs)
    if total < GIB / 4 or total <= (free := free_memory()):
        return
    fields = max(needs, key=lambda need: need.bytes).fields
    name = max(fields, key=lambda field: fields[field])
    allowed = f"a size that fits: {purpose} would take {total / GIB:,.1f} GiB of memory, and {free / GIB:,.1f} are free"
    raise not_allowed(name, fields[name], allowed)


def table(setting: Setting, copies: float, *names: str) -> Need:
    """Copies of an array of numbers with these fields as its axes."""
    fields = {name: getattr(setting, name) for name in names}
    size = copies * NUMBER
    for name in names:
        size *= fields[name]
    return Need(size, fields)


def sequences(setting: Setting, count: int, field: str) -> list[Need]:
    """Of ``count`` sequences, a size called ``field``."""
    zipf = any(getattr(setting, name) != LATER[name] for name in ("zipf", "other_zipf"))
    tokens = (ZIPF_BYTES if zipf else UNIFORM_BYTES) * float(count) * setting.seq_len
    return [
        Need(tokens, {field: count, "seq_len": setting.seq_len}),
        Need(SEQUENCE_BYTES * float(count), {field: count}),
    ]


def draw_needs(setting: Setting) -> list[Need]:
    """Of :func:`recallbook.draw`: the batch, two tables of embeddings and what they are made of,
    the MLP."""
    mlp = [table(setting, 2, "width", "dim")] if setting.width else []
    return [
        *sequences(setting, setting.samples, "samples"),
        table(setting, setting.law.tables, "vocab", "dim"),
        *mlp,
    ]


def simulation_needs(setting: Setting, test_samples: int) -> list[Need]:
    """A draw, three steps and their evaluation; nothing for what is no setting, which the draw
    refuses."""
    if not isinstance(setting, Setting):
        return []
    test = sequences(setting, test_samples, "test_samples")
    return [*draw_needs(setting), *weight_needs(setting), *test]


def weight_needs(setting: Setting, copies: float = 3) -> list[Need]:
    """Of both trained matrices, in so many copies."""
    value = ("dim", "dim") if setting.width is None else ("dim", "width")
    return [table(setting, copies, *value), table(setting, copies, "dim", "dim")]
