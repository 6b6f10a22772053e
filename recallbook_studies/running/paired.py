"""Points that share draws: problems cut from the largest of them, and tasks of points that share
one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from recallbook.arguments import check_seed, not_allowed
from recallbook.data.streams import gaussian_table
from recallbook.data.task import Problem, Sequences, assemble, draw
from recallbook.embedding_laws import Table
from recallbook.setting import Setting
from recallbook_studies.running.point import Point

SHORTEST, LONGEST = (
    5.0,
    30.0,
)  # estimated seconds of a task: small ones are joined, large ones are cut
Task = list[list[Point]]  # groups of points that share a draw


def shared_sequences(setting: Setting) -> tuple[tuple[str, Any], ...]:
    """The fields, by name, that two settings must share to have the same sequences up to their
    number."""
    return tuple(
        (name, getattr(setting, name))
        for name in ("vocab", "seq_len", "zipf", "other_zipf", "balanced")
    )


class PairedDraws:
    """Problems of one seed, vocabulary and sequence length, each equal to what
    :func:`recallbook.draw` gives.

    Sequences are drawn once, at the largest ``samples``, and Gaussian tables at the largest ``dim``
    and ``width``. Every problem is a cut of these, equal bit for bit.

    Parameters
    ----------
    settings : iterable of Setting
        All with the same ``vocab``, ``seq_len`` and laws of tokens.
    seed : int

    Raises
    ------
    ValueError
        If there is no setting, or vocabularies, lengths or laws of tokens differ.
    """

    def __init__(self, settings: Iterable[Setting], seed: int) -> None:
        wanted = list(settings)
        sizes = {shared_sequences(setting) for setting in wanted}
        if len(sizes) != 1:
            raise not_allowed(
                "settings",
                sorted(map(str, sizes)),
                "settings of one vocab, one seq_len and one law of tokens",
            )
        self.seed = check_seed("seed", seed)
        self._sizes = sizes.pop()
        self._dim = max(setting.dim for setting in wanted)
        self._width = max(setting.width or 0 for setting in wanted)
        # one dimension is enough: sequences and facts do not depend on it
        longest = Setting(dim=1, samples=max(s.samples for s in wanted), **dict(self._sizes))
        self._longest = draw(longest, self.seed)
        self._tables: dict[str, Table] = {}

    def problem(self, setting: Setting) -> Problem:
        """The problem of one of the settings, or of a smaller one; equal to ``draw(setting,
        seed)``."""
        fits = setting.samples <= len(self._longest.labels) and setting.dim <= self._dim
        fits = fits and (setting.width or 0) <= self._width
        if shared_sequences(setting) != self._sizes or not fits:
            raise not_allowed(
                "setting",
                setting,
                "one of the settings that the draws were made for, or a smaller one",
            )
        sequences = Sequences(*(part[: setting.samples] for part in self._longest.sequences))
        return assemble(setting, self.seed, sequences, self._longest.permutation, self._corner)

    def _corner(self, seed: int, role: str, rows: int, columns: int) -> Table:
        """What ``gaussian_table`` gives, cut from a table drawn once."""
        if len(self._tables.get(role, ())) < rows:
            most = self._width if role == "mlp_weights" else rows
            self._tables[role] = gaussian_table(seed, role, most, self._dim)
        return np.ascontiguousarray(self._tables[role][:rows, :columns])


def cut(points: Iterable[Point]) -> list[Task]:
    """Tasks of :data:`SHORTEST` to :data:`LONGEST` estimated seconds, as far as points allow.

    A group shares vocabulary, length and seed. One that takes too long is cut at its largest
    ``samples`` first, where cutting costs least; groups that take less are joined."""
    groups: defaultdict[tuple[object, int], list[Point]] = defaultdict(list)
    for point in points:
        groups[shared_sequences(point.setting), point.seed].append(point)
    tasks: list[Task] = []
    joined: Task = []
    room = 0.0
    for group in groups.values():
        for part in _parts(sorted(group, key=lambda point: (point.setting.samples, point.key))):
            cost = sum(point.cost for point in part)
            if joined and cost > room:
                tasks.append(joined)
                joined = []
            if not joined:
                room = SHORTEST
            joined.append(part)
            room -= cost
    return [*tasks, joined] if joined else tasks


def _parts(points: list[Point]) -> Iterator[list[Point]]:
    """Runs of points, each of at most :data:`LONGEST` seconds, or of one point."""
    part: list[Point] = []
    seconds = 0.0
    for point in points:
        if part and seconds + point.cost > LONGEST:
            yield part
            part, seconds = [], 0.0
        part.append(point)
        seconds += point.cost
    yield part
