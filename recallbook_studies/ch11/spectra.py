r"""Means over Gaussian embeddings of any covariance, summed over tokens of any frequency:
polynomials in power sums.

Tokens have frequencies $p_x$ and independent embeddings $z_x\sim N(0,S)$ with $\mathrm{tr}\,S=1$. A
mean of inner products is a sum over Wick's pairings. A pairing says which tokens are one, which
gives $P_j=\sum_xp_x^j$ or, where token $v$ is one of them, $q^j$ with $q=p_v$; and its closed loops
give $s_j=\mathrm{tr}\,S^j$. Ours."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import pairwise

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
def bias_overlap() -> sp.Expr:
    r"""$\mathbb E\,z_v^\top Cb=q^2-qP'_2+s_2\,q\,(1+q-2P'_2)$, exact: what the mean value does to
    token $v$."""
    # of C the first part, and less the mean's square, in which the two places are different tokens
    first, second = (("v", "x"), ("x", "y")), (("v", "x"), ("w", "y"))
    return sp.expand(gaussian_mean(first) - gaussian_mean(second))
