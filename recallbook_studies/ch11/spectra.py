r"""Means over Gaussian embeddings of any covariance, summed over tokens of any frequency:
polynomials in power sums.

Tokens have frequencies $p_x$ and independent embeddings $z_x\sim N(0,S)$ with $\mathrm{tr}\,S=1$. A
mean of inner products is a sum over Wick's pairings. A pairing says which tokens are one, which
gives $P_j=\sum_xp_x^j$ or, where token $v$ is one of them, $q^j$ with $q=p_v$; and its closed loops
give $s_j=\mathrm{tr}\,S^j$. Ours."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import pairwise, product

import sympy as sp
from sympy.combinatorics import Permutation

from recallbook.arguments import check_size
from recallbook.theory.symbolic.expressions import power, q, trace
from recallbook_studies.ch05.contractions import pairings

Product = tuple[str, str]  # the inner product of two vectors, by the names of their tokens


@cache
def token_moment(degree: int) -> sp.Expr:
    r"""$\mathbb E\,z_v^\top(\sum_xp_xz_xz_x^\top)^kz_v$ to leading order, for a token of frequency
    $q$: the pairings that do not cross.

    They are those with the most tokens and loops together, $k+2$ (Euler's formula). Of $k+1$ places
    on a circle, one of them that of $v$, a set of $j$ that hold one token gives $P_j$, that of $v$
    with $j+1$ places $q^j$, and a loop of $j$ products $s_j$.

    Raises
    ------
    ValueError
        If ``degree`` is not a whole number above 0.
    """
    names = ["v", *map(str, range(check_size("degree", degree))), "v"]
    found = _pairings(tuple(pairwise(names)))
    return sp.Add(*(weight for size, weight in found if size == degree + 2))


@cache
def gaussian_mean(products: tuple[Product, ...]) -> sp.Expr:
    r"""Exact mean of a product of inner products, summed over tokens with weights $p_x$; ``"v"`` is
    not summed.

    Examples
    --------
    >>> gaussian_mean((("v", "x"), ("x", "v")))
    q*s_2 + q + s_2
    """
    return sp.expand(sp.Add(*(weight for _, weight in _pairings(products))))


def _pairings(products: tuple[Product, ...]) -> Iterator[tuple[int, sp.Expr]]:
    """What each pairing gives, after how many tokens and loops it has; ends 2k and 2k+1 are those
    of the k-th product."""
    ends = [name for pair in products for name in pair]
    for pairs in pairings(tuple(range(len(ends)))):
        same = {name: {name} for name in ends}
        for one, other in pairs:
            joined = same[ends[one]] | same[ends[other]]
            same.update(dict.fromkeys(joined, joined))
        tokens = {frozenset(group) for group in same.values()}
        # along a product to its other end, then along the pairing
        mate = dict(pairs) | {other: one for one, other in pairs}
        cycles = Permutation([mate[at ^ 1] for at in range(len(ends))]).full_cyclic_form
        loops = sorted(map(len, cycles))[::2]  # each in both directions
        weights = [q ** (len(g) - 1) if "v" in g else power(0, len(g)) for g in tokens]
        weights += [trace(length) for length in loops]
        yield len(tokens) + len(loops), sp.prod(weights)


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
