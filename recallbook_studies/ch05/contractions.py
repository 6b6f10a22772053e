r"""Means of products of inner products: Wick's pairings of embeddings, and the tokens that they say
are one. Ours.

A pair of equal Gaussian embeddings gives 1/d, a closed loop of products gives d, an open one ends
in triggers and gives $|t|^2$. Tokens that have to be one are a graph: independent uniform tokens
satisfy it with probability V to minus its rank."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

TRIGGER = -1  # stands for t where the token of a place is expected
Poly = Counter[tuple[int, ...]]  # coefficients by powers
Pairs = tuple[tuple[int, int], ...]


class Contraction(NamedTuple):
    """One pairing of embeddings, with the powers of 1/d and of T that it brings."""

    pairs: Pairs
    dims: int
    triggers: int


@cache
def contractions(trigger: tuple[bool, ...]) -> tuple[Contraction, ...]:
    """Wick's pairings of a product of inner products; half-edges 2k and 2k+1 are the k-th product's
    vectors."""
    free = tuple(i for i, is_trigger in enumerate(trigger) if not is_trigger)
    if len(free) % 2:
        return ()
    found = []
    for pairs in pairings(free):
        mate = dict(pairs) | {b: a for a, b in pairs}
        left, loops = set(range(len(trigger))), 0
        while left:
            chain, todo = set[int](), [min(left)]
            while todo:
                at = todo.pop()
                if at not in chain:
                    chain.add(at)
                    todo += [at ^ 1, *([mate[at]] if at in mate else [])]
            loops += not any(trigger[at] for at in chain)
            left -= chain
        found.append(Contraction(pairs, len(pairs) - loops, sum(trigger) // 2))
    return tuple(found)


def joined(pairs: Pairs) -> tuple[int, Callable[[int], int]]:
    """Rank of the graph of places that hold one token, and which place stands for each."""
    parent: dict[int, int] = {}

    def root(place: int) -> int:
        while place in parent:
            place = parent[place]
        return place

    for one, other in pairs:
        one, other = root(one), root(other)
        if one != other:
            parent[one] = other
    return len(parent), root


def one_token(pairs: Pairs, labels: Pairs) -> tuple[int, tuple[int, int, int]]:
    """Rank of the graph of places that hold one token, and how many tokens have 2, 3 and 4 pairs of
    embeddings."""
    rank, root = joined((*pairs, *labels))
    several = [0, 0, 0]
    for group in (pairs, labels):  # embeddings of inputs and of outputs are different ones
        for number in Counter(root(one) for one, _ in group).values():
            if number > 1:
                several[number - 2] += 1
    return rank, (several[0], several[1], several[2])


@cache
def mean_of_products(places: tuple[int, ...], labels: tuple[int, ...]) -> Poly:
    """Mean over tokens and embeddings, by powers of 1/V, 1/d, T and three numbers of shared tokens
    (see POWERS).

    ``places`` are the places of the vectors, or ``TRIGGER``; ``labels`` those of the labels, two
    for each half. A pair of centred labels is 1 where the tokens are one, less 1/V."""
    found: Poly = Counter()
    for inputs in contractions(tuple(place == TRIGGER for place in places)):
        same = tuple((places[a], places[b]) for a, b in inputs.pairs)
        for outputs in contractions((False,) * len(labels)):
            for kept in itertools.product((True, False), repeat=len(outputs.pairs)):
                alike = tuple(
                    (labels[a], labels[b])
                    for (a, b), keep in zip(outputs.pairs, kept, strict=True)
                    if keep
                )
                rank, several = one_token(same, alike)
                dropped = len(kept) - sum(kept)
                powers = (rank + dropped, inputs.dims + outputs.dims, inputs.triggers, *several)
                found[powers] += (-1) ** dropped
    return found


@cache
def pairings(items: tuple[int, ...]) -> tuple[Pairs, ...]:
    """All ways to pair up; none for an odd number."""
    if not items:
        return ((),)
    first, *rest = items
    return tuple(
        ((first, mate), *others)
        for at, mate in enumerate(rest)
        for others in pairings(tuple(rest[:at] + rest[at + 1 :]))
    )
