r"""An oracle for the mean of the mark's score: enumeration of what can coincide, with nothing typed in.

N^2 L^2 t.w is the sum over pairs (i, k) of sequences of A_{y_i y_k} times
    sum_{j, j2} [ (e'_{k j2} . e'_{i j}) - (1/L) sum_{j1} (e'_{k j2} . e'_{i j1}) ] (t . e_{i j}),
a finite sum, with A the products of centred label embeddings. Its mean needs three lists: which sequences are one (i=k
or not), which positions are one, and which of the distinct places hold the same token. Each pattern has a chance, a
falling factorial, and given the pattern the mean over Gaussian embeddings is that of each pair (Isserlis).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

import sympy as sp

from recallbook.theory.symbolic.expressions import L, N, V, d, tau
from recallbook.theory.symbolic.lock_on import Q, T, trigger_score

Pattern = dict[str, int]  # which block each name is in; equal numbers are one and the same


def set_partitions(names: Sequence[str]) -> Iterator[Pattern]:
    """All ways in which things can coincide; Bell's number of them."""
    if not names:
        yield {}
        return
    for rest in set_partitions(names[:-1]):
        blocks = 1 + max(rest.values(), default=-1)
        for block in range(blocks + 1):
            yield {**rest, names[-1]: block}


def uniform_patterns(names: Sequence[str], size: sp.Expr) -> Iterator[tuple[sp.Expr, Pattern]]:
    """Patterns of independent uniform choices among ``size``, with their chances: falling factorials over powers."""
    for pattern in set_partitions(names):
        blocks = 1 + max(pattern.values(), default=-1)
        yield sp.ff(size, blocks) / size ** len(names), pattern


def places(sequences: dict[str, tuple[str, ...]]) -> Iterator[tuple[sp.Expr, dict[str, tuple[str, int]]]]:
    """Where positions can lie: for each sequence its names, the first of them the marked one; places of all names."""
    if not sequences:
        yield sp.Integer(1), {}
        return
    name, *others = sequences
    for weight, pattern in uniform_patterns(sequences[name], L):
        for other, rest in places({key: sequences[key] for key in others}):
            yield weight * other, {**{position: (name, block) for position, block in pattern.items()}, **rest}


def _pair_mean(where: dict[str, tuple[str, int]], token: Pattern, key: str, value: str, seen: str) -> sp.Expr:
    """Mean of (e'_seen . e'_value) (t . e_key) over Gaussian embeddings, given |t|^2 = T.

    Of the eight products those with one or three embeddings vanish; two embeddings meet if they are one token's.
    """
    marked = {name: int(where[name] == where["l" if where[name][0] == "i" else "m"]) for name in (key, value, seen)}
    same = {(a, b): int(token[a] == token[b]) for a in (key, value, seen) for b in (key, value, seen)}
    return (
        same[seen, value] * marked[key] * T
        + tau * marked[seen] * same[value, key] * T / d
        + tau * marked[value] * same[seen, key] * T / d
        + tau * marked[seen] * marked[value] * marked[key] * T**2
    )


def _mean_for(one_sequence: bool) -> sp.Expr:
    """Mean of one summand (i, k) of N^2 t.w, for i = k or for two different sequences.

    Names: ``l`` and ``m`` are the marked positions of i and k; ``j``, ``j1`` positions of i, and ``j2`` one of k.
    """
    own = {"i": ("l", "j", "j1", "j2")} if one_sequence else {"i": ("l", "j", "j1"), "k": ("m", "j2")}
    total = sp.Integer(0)
    for weight, where in places(own):
        if one_sequence:
            where = {**where, "m": where["l"]}
        slots = sorted(set(where.values()))
        for chance, tokens in uniform_patterns([str(slot) for slot in slots], V):
            token = {name: tokens[str(slot)] for name, slot in where.items()}
            labels = int(token["l"] == token["m"]) - 1 / V  # the mean of A, given the labels
            first, second = (_pair_mean(where, token, "j", value, "j2") for value in ("j", "j1"))
            total += weight * chance * labels * (first - second)
    return total


@cache
def mean_score() -> sp.Expr:
    """Mean of t.w given |t|^2 = T, over labels, data and embeddings; exact for every V, N, L, d and tau of 0 or 1."""
    mean = _mean_for(one_sequence=True) / N + (1 - 1 / N) * _mean_for(one_sequence=False)
    # tau is 0 or 1: all its powers are one
    linear = sp.expand(mean).replace(lambda part: part.is_Pow and part.base == tau, lambda part: tau)
    return sp.factor(linear)


def remainder() -> sp.Expr:
    """The exact mean over that of the ledger at Q = 1, less 1: what the ledger's leading order leaves out."""
    return sp.factor(sp.cancel(mean_score() / trigger_score().subs(Q, 1)) - 1)
