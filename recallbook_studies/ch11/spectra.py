r"""Means over Gaussian embeddings of any covariance, summed over tokens of any frequency:
polynomials in power sums.

Tokens have frequencies $p_x$ and independent embeddings $z_x\sim N(0,S)$ with $\mathrm{tr}\,S=1$. A
mean of inner products is a sum over Wick's pairings. A pairing says which tokens are one, which
gives $P_j=\sum_xp_x^j$ or, where token $v$ is one of them, $q^j$ with $q=p_v$; and its closed loops
give $s_j=\mathrm{tr}\,S^j$. Ours."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product

import sympy as sp

from recallbook.arguments import check_size
from recallbook.theory.symbolic.expressions import power, q, trace
from recallbook_studies.ch05.contractions import pairings

Product = tuple[str, str]  # the inner product of two vectors, by the names of their tokens
Block = tuple[int, ...]


@cache
def non_crossing(size: int) -> tuple[tuple[Block, ...], ...]:
    """All partitions of ``range(size)`` whose blocks do not cross; Catalan's number of them."""
    if size == 0:
        return ((),)
    found = []
    for first in _blocks_of_zero(size):
        ends = (*first[1:], size)
        gaps = [range(start + 1, end) for start, end in zip(first, ends, strict=True)]
        for parts in product(*(non_crossing(len(gap)) for gap in gaps)):
            inner = [
                tuple(gap[i] for i in block)
                for gap, part in zip(gaps, parts, strict=True)
                for block in part
            ]
            found.append((first, *inner))
    return tuple(found)


def _blocks_of_zero(size: int) -> Iterator[Block]:
    """Each set of places that holds place 0."""
    for chosen in product((False, True), repeat=size - 1):
        yield (0, *(place for place, taken in enumerate(chosen, start=1) if taken))


def complement(partition: tuple[Block, ...]) -> tuple[Block, ...]:
    """Kreweras's complement: the cycles of each block's rotation, undone after one step around the
    circle."""
    size = sum(map(len, partition))
    before = {place: block[at - 1] for block in partition for at, place in enumerate(block)}
    left, found = set(range(size)), []
    while left:
        at, cycle = min(left), []
        while at in left:
            left.remove(at)
            cycle.append(at)
            at = before[(at + 1) % size]
        found.append(tuple(cycle))
    return tuple(found)


@cache
def token_moment(degree: int) -> sp.Expr:
    r"""$\mathbb E\,z_v^\top(\sum_xp_xz_xz_x^\top)^kz_v$ to leading order, for a token of frequency
    $q$.

    A sum over non-crossing partitions of $k+1$ places on a circle, one of them that of $v$. A block
    of $j$ places gives $P_j$, that of $v$ with $j+1$ gives $q^j$, and a block of $j$ of Kreweras's
    complement $s_j$.

    Raises
    ------
    ValueError
        If ``degree`` is not a whole number above 0.
    """
    terms = []
    for parts in non_crossing(check_size("degree", degree) + 1):
        tokens = [q ** (len(block) - 1) if 0 in block else power(0, len(block)) for block in parts]
        terms.append(sp.prod(tokens + [trace(len(block)) for block in complement(parts)]))
    return sp.Add(*terms)


@cache
def gaussian_mean(products: tuple[Product, ...]) -> sp.Expr:
    r"""Exact mean of a product of inner products, summed over tokens with weights $p_x$; ``"v"`` is
    not summed.

    Examples
    --------
    >>> gaussian_mean((("v", "x"), ("x", "v")))
    q*s_2 + q + s_2
    """
    ends = [name for pair in products for name in pair]
    return sp.expand(sp.Add(*(_weight(ends, pairs) for pairs in pairings(tuple(range(len(ends)))))))


def _weight(ends: list[str], pairs: tuple[tuple[int, int], ...]) -> sp.Expr:
    """What one pairing gives: ends 2k and 2k+1 are those of the k-th product."""
    same = {name: {name} for name in ends}
    mate = {}
    for one, other in pairs:
        mate[one], mate[other] = other, one
        joined = same[ends[one]] | same[ends[other]]
        same.update(dict.fromkeys(joined, joined))
    groups = {frozenset(group) for group in same.values()}
    weight = sp.prod(
        [q ** (len(group) - 1) if "v" in group else power(0, len(group)) for group in groups]
    )
    left = set(range(len(ends)))
    while left:
        at, length = min(left), 0
        while at in left:  # along a product to its other end, then along the pairing
            left -= {at, at ^ 1}
            at, length = mate[at ^ 1], length + 1
        weight *= trace(length)
    return weight


@cache
def centred_mean(products: tuple[Product, ...], covariances: tuple[str, ...]) -> sp.Expr:
    r"""The same where $zz^\top$ of these tokens is one factor of $C=\sum_xp_xz_xz_x^\top-bb^\top$,
    $b=\sum_xp_xz_x$.

    Such a token ``x`` ends one product and begins the next one; in $bb^\top$ the two are different
    tokens."""
    total = sp.Integer(0)
    for mean in product((False, True), repeat=len(covariances)):
        split = {name for name, apart in zip(covariances, mean, strict=True) if apart}
        total += (-1) ** len(split) * gaussian_mean(_apart(products, split))
    return sp.expand(total)


def _apart(products: tuple[Product, ...], split: set[str]) -> tuple[Product, ...]:
    """The products with the second place of each of these tokens under a name of its own."""
    seen, found = set[str](), []
    for pair in products:
        names = []
        for name in pair:
            names.append(name + "'" if name in split and name in seen else name)
            seen.add(name)
        found.append((names[0], names[1]))
    return tuple(found)


@cache
def bias_overlap() -> sp.Expr:
    r"""$\mathbb E\,z_v^\top Cb=q^2-qP'_2+s_2\,q\,(1+q-2P'_2)$, exact: what the mean value does to
    token $v$."""
    return centred_mean((("v", "x"), ("x", "y")), ("x",))
