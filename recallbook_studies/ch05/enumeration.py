r"""Exact moments of the scores of step 2, by enumeration of what can coincide. Ours.

The form of the scores is typed in, as a sum over sequences and positions; all else is counted. With
$A_{ik}$ the product of the centred label embeddings of sequences $i$ and $k$, and $e',e$ values and
keys, $N^2\,x^\top w=\sum_{i,k}A_{ik}$ times the mean over positions $j,b$ of $(x^\top
e_{ij})\big(e'_{ij}-\bar e'_i\big)^\top e'_{kb}$: a *half*. A moment of order $h$ is a product of
$h$ halves. Its mean needs four lists:

- which sequences of the halves are one (set partitions; chances are falling factorials in $N$),
- which positions of a sequence are one, the marked one among them (the same in $L$),
- at a marked position, whether the key or the value is read as its token or as the trigger,
- Wick's pairings of the embeddings that are left: a pair gives 1/d and says that two tokens are
  one, a closed loop of products gives d, an open one ends in triggers and gives $|t|^2$. Labels
  pair in the same way.

All tokens that have to be one are a graph; independent uniform tokens satisfy it with probability V
to the minus its rank. The sum is a polynomial in 1/N, 1/L, 1/V, 1/d, $T=|t|^2$ with integer
coefficients: exact for Gaussian embeddings at every size, and for orthonormal ones at 1/d = 0.
Embeddings on the sphere are Gaussian ones divided by their lengths: k pairs of one token give
$d^{k-1}/((d+2)\cdots(d+2k-2))$; tokens that are one only by chance, of order 1/V of these
corrections, are left out there.

``python -m recallbook_studies.ch05.enumeration`` writes the table that
:mod:`recallbook_theory.moments` evaluates, and the digest that ``make test`` compares: whoever
changes the enumeration makes both anew (minutes).
"""

from __future__ import annotations

import ast
import hashlib
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache, reduce
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from recallbook_studies.ch05 import contractions
from recallbook_studies.ch05.contractions import TRIGGER, Poly, joined, mean_of_products
from recallbook_theory.moments import COLUMNS, POWERS, TABLE

# of the sources and of the table that they gave
DIGEST = Path(__file__).with_name("moments.sha256")


@cache
def set_partitions(count: int) -> tuple[tuple[int, ...], ...]:
    """All ways in which ``count`` things can coincide, as block numbers in order of appearance;
    Bell's number."""
    if not count:
        return ((),)
    return tuple(
        (*rest, b) for rest in set_partitions(count - 1) for b in range(max(rest, default=-1) + 2)
    )


@cache
def falling(blocks: int, names: int) -> NDArray[np.int64]:
    """x(x-1)...(x-blocks+1)/x^names as coefficients of powers of 1/x: the chance of a partition of
    independent uniform choices."""
    found = np.array([0] * (names - blocks) + [1])
    for k in range(blocks):
        found = np.convolve(found, [1, -k])
    return found


class Configuration(NamedTuple):
    """What coincides among the halves' sequences and positions.

    ``sign`` times a chance that depends on ``blocks`` alone: for each sequence, how many different
    positions there are for how many names. ``sequences`` are the numbers of the halves' two
    sequences; ``keys``, ``values`` and ``others`` the places of the key, of the value it comes
    with, and of the other sequence's value; ``marked`` the places of the marks, by sequence;
    ``free`` the first number that is no place."""

    sign: int
    blocks: tuple[tuple[int, int], ...]
    sequences: tuple[int, ...]
    keys: tuple[int, ...]
    values: tuple[int, ...]
    others: tuple[int, ...]
    marked: tuple[int, ...]
    free: int


def configurations(halves: int) -> Iterator[Configuration]:
    """All coincidences of sequences and positions; the value is the key's own, or with a minus any
    of its sequence."""
    for sequences in set_partitions(2 * halves):
        count = max(sequences) + 1
        for own in itertools.product((True, False), repeat=halves):
            names: list[list[tuple[str, int]]] = [[("mark", s)] for s in range(count)]
            for h in range(halves):
                names[sequences[2 * h]] += [("key", h)] if own[h] else [("key", h), ("value", h)]
                names[sequences[2 * h + 1]].append(("other", h))
            sign = (-1) ** (halves - sum(own))
            for blocks in itertools.product(*(set_partitions(len(part)) for part in names)):
                yield _configuration(sign, sequences, own, names, blocks)


def _configuration(
    sign: int,
    sequences: tuple[int, ...],
    own: tuple[bool, ...],
    names: list[list[tuple[str, int]]],
    blocks: tuple[tuple[int, ...], ...],
) -> Configuration:
    place, free = {}, 0
    for part, block in zip(names, blocks, strict=True):
        place.update({name: free + at for name, at in zip(part, block, strict=True)})
        free += max(block) + 1
    halves = range(len(own))
    keys = tuple(place["key", h] for h in halves)
    values = tuple(keys[h] if own[h] else place["value", h] for h in halves)
    others = tuple(place["other", h] for h in halves)
    marked = tuple(place["mark", s] for s in range(max(sequences) + 1))
    chance = tuple(sorted((max(block) + 1, len(block)) for block in blocks))
    return Configuration(sign, chance, sequences, keys, values, others, marked, free)


Parts = dict[tuple[tuple[int, int], ...], Poly]  # by chance; powers are those behind N and L


def _collected(parts: Parts, halves: int) -> Poly:
    """A sum by powers in the order of POWERS: the factors in 1/N and 1/L are multiplied out once,
    at the end."""
    found: Poly = Counter()
    for blocks, part in parts.items():
        lengths = reduce(np.convolve, (falling(*block) for block in blocks))
        chances = np.outer(falling(len(blocks), 2 * halves), lengths)
        for powers, c in part.items():
            for n, length in np.argwhere(chances).tolist():
                found[n, length, *powers] += c * int(chances[n, length])
    return Counter({powers: c for powers, c in found.items() if c})


class Reading(NamedTuple):
    """A configuration with, at each marked position, what is read: its token or the trigger."""

    key: tuple[bool, ...]  # whether the trigger, by half
    value: tuple[bool, ...]
    other: tuple[bool, ...]

    def odd(self) -> bool:
        """Whether each half reads the trigger an odd number of times; all do or none does."""
        return bool((self.key[0] + self.value[0] + self.other[0]) % 2)

    def in_values(self) -> bool:
        """Whether any value is read as the trigger: only where values carry it."""
        return any((*self.value, *self.other))


def readings(at: Configuration) -> Iterator[Reading]:
    """All ways to read the marked positions in which every half has the same parity; others have
    mean zero."""
    size, marks = len(at.keys), [at.marked[s] for s in at.sequences]
    places = (*at.keys, *at.values, *at.others)
    own = (*marks[::2], *marks[::2], *marks[1::2])  # the marks of their sequences
    spots = (
        (False, True) if place == mark else (False,)
        for place, mark in zip(places, own, strict=True)
    )
    for read in itertools.product(*spots):
        reading = Reading(read[:size], read[size : 2 * size], read[2 * size :])
        if len({sum(half) % 2 for half in zip(*reading, strict=True)}) == 1:
            yield reading


def term(at: Configuration, reading: Reading) -> str:
    """The name of what this contributes to a second moment, by the places that the two halves
    share."""
    (key, key2), (other, other2) = at.keys, at.others
    marks = [at.marked[s] for s in at.sequences]
    if all(at.values[h] == marks[2 * h] and at.others[h] == marks[2 * h + 1] for h in (0, 1)):
        return (
            "trigger overlap" if reading.odd() else "uneven facts"
        )  # both halves read facts in the values
    if (key == key2 and other == other2) or (key == other2 and other == key2):
        return "gradient noise"
    if other == other2:
        noise = all(not reading.key[h] and at.keys[h] != marks[2 * h] for h in (0, 1))
        return "frequency noise" if noise else "fact interference"
    if key == key2:
        return "fact interference"
    if key == other2 or other == key2:
        return "cross terms"
    if reading.odd():
        return "trigger overlap"
    meet = at.sequences[0] == at.sequences[1] and at.sequences[2] == at.sequences[3]
    return "mean bias" if meet else "cross terms"


def moment(scored: tuple[int, ...]) -> dict[tuple[str, bool], Poly]:
    """Mean of the product of the scores of ``scored``, by term and by parity in the trigger.

    Each is ``TRIGGER``, or a number: equal numbers are one random token, different ones independent
    random tokens."""
    found: dict[tuple[str, bool], Parts] = {}
    for at in configurations(len(scored)):
        for reading in readings(at):
            name = term(at, reading) if len(scored) == 2 else ""
            parts = found.setdefault((name, reading.odd()), {})
            part = parts.setdefault(at.blocks, Counter())
            for powers, c in mean_of_products(*_places(at, reading, scored)).items():
                part[*powers[:3], int(reading.in_values()), *powers[3:]] += at.sign * c
    return {key: _collected(parts, len(scored)) for key, parts in found.items()}


def _places(
    at: Configuration, reading: Reading, scored: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Places of all vectors and of all labels."""
    vectors = []
    for who, places, read in zip(
        scored,
        zip(at.keys, at.values, at.others, strict=True),
        zip(*reading, strict=True),
        strict=True,
    ):
        vectors.append(who if who == TRIGGER else at.free + who)
        vectors += [TRIGGER if r else place for place, r in zip(places, read, strict=True)]
    found = _renumbered((*vectors, *(at.marked[s] for s in at.sequences)))
    return found[: len(vectors)], found[len(vectors) :]


def _renumbered(places: Iterable[int]) -> tuple[int, ...]:
    """In order of appearance, so that equal cases are met once."""
    number: dict[int, int] = {}
    return tuple(p if p == TRIGGER else number.setdefault(p, len(number)) for p in places)


def third_moment() -> Poly:
    r"""Mean cube of a token's score among orthonormal embeddings, where token scores sum to zero.

    The same enumeration at 1/d = 0: products of different vectors vanish, so each half asks that
    the token is the key's and that two values agree."""
    found: Parts = {}
    for at in configurations(3):
        part = found.setdefault(at.blocks, Counter())
        labels = [at.marked[s] for s in at.sequences]
        pairs = list(zip(at.values, at.others, strict=True))
        marks = zip(labels[::2], labels[1::2], strict=True)
        agree = (
            (False, True) if pair == mark else (False,)
            for pair, mark in zip(pairs, marks, strict=True)
        )
        for through_trigger in itertools.product(*agree):
            left = (pair for pair, gone in zip(pairs, through_trigger, strict=True) if not gone)
            same = ((at.free, key) for key in at.keys)
            places = itertools.chain(*same, *left, labels)
            for powers, c in _means_of_coincidences(_renumbered(places)).items():
                part[powers, 0, 0, int(any(through_trigger)), 0, 0, 0] += at.sign * c
    return _collected(found, 3)


@cache
def _means_of_coincidences(places: tuple[int, ...]) -> dict[int, int]:
    """Mean of a product of coincidences of pairs, and of three of centred labels, which come last;
    by powers of 1/V."""
    pairs = tuple(zip(places[::2], places[1::2], strict=True))
    found: Counter[int] = Counter()
    for kept in itertools.product((True, False), repeat=3):
        alike = itertools.compress(pairs[-3:], kept)
        dropped = 3 - sum(kept)
        found[joined((*pairs[:-3], *alike))[0] + dropped] += (-1) ** dropped
    return dict(found)


def within_draw() -> dict[tuple[str, bool], Poly]:
    """Mean over draws of the variance of token scores in a draw: two halves of one token less those
    of two tokens."""
    found = moment((0, 0))
    for key, poly in moment((0, 1)).items():
        found.setdefault(key, Counter()).subtract(poly)
    return {key: Counter({p: c for p, c in poly.items() if c}) for key, poly in found.items()}


def table() -> pd.DataFrame:
    """All moments that predictions use, one row for each power product."""
    parts = {
        "score": moment((TRIGGER,)),
        "square": moment((TRIGGER, TRIGGER)),
        "scatter": within_draw(),
    }
    parts["cube"] = {("", False): third_moment()}
    rows = [
        (quantity, name, odd, *powers, c)
        for quantity, terms in parts.items()
        for (name, odd), poly in terms.items()
        for powers, c in sorted(poly.items())
    ]
    return pd.DataFrame(rows, columns=COLUMNS).astype(
        {**dict.fromkeys(POWERS, "int8"), "coefficient": "int64"}
    )


def digest() -> str:
    """SHA-256 of what enumerates, without comments and layout, and of the committed table."""
    sources = (Path(__file__), Path(contractions.__file__))
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in sources]
    text = "\n".join(ast.unparse(node) for tree in trees for node in tree.body)
    return hashlib.sha256(text.encode() + TABLE.read_bytes()).hexdigest()


if __name__ == "__main__":
    table().to_parquet(TABLE, engine="pyarrow", compression="zstd", index=False)
    DIGEST.write_text(digest() + "\n", encoding="utf-8")
