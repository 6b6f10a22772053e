"""Laws of embeddings: all that drawing, theory, proofs and warnings know of one. What a law lacks
is an error where it is asked for."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from jaxtyping import Float64

from recallbook.arguments import not_allowed

Table = Float64[np.ndarray, "rows d"]
Source = Callable[[str, int, int], Table]  # role, rows and columns of a standard normal table
Spectrum = Float64[np.ndarray, " d"]
Geometry = Literal["normal", "spherical", "orthonormal"]


@dataclass(frozen=True)
class Law:
    r"""A law at its ``numbers``; mean square lengths are 1. One of your own is a subclass, put into
    ``LAWS`` under its name, which a setting then knows.

    Attributes
    ----------
    name, takes
        As it is written: ``name`` alone, or with the numbers that it ``takes``.
    geometry
        What the theory of equal facts and the proofs take it for. ``"normal"``: $N(0,I_d/d)$.
        ``"spherical"``: lengths are 1, and products with a fixed vector are those of a uniform
        direction, exactly or to leading order in $1/d$. ``"orthonormal"``: no overlaps. ``None``:
        that theory has no place for it, and predictions draw tables.
    proved
        Whether certificates hold for output embeddings of this law: the exact geometry.
    measured
        Whether a map of errors has met it; predictions warn where not, and say its ``caveat``.
    tables
        Tables of the size of the tokens' that drawing holds.
    """

    numbers: tuple[float, ...] = ()
    name: ClassVar[str]
    takes: ClassVar[tuple[str, ...]] = ()
    geometry: ClassVar[Geometry | None] = None
    proved = measured = False
    allowed = caveat = ""
    tables = 5

    def __str__(self) -> str:
        """The one way in which it is written: numbers by the fewest digits that give them back."""
        numbers = [repr(int(x) if x.is_integer() else x) for x in self.numbers]
        return f"{self.name}({', '.join(numbers)})" if numbers else self.name

    def lacking(self, question: str) -> ValueError:
        """The error where the law has no answer."""
        return not_allowed("embeddings", str(self), f"a law that has {question}")

    def fits(self, vocab: int, dim: int) -> bool:
        """Whether the numbers are ``allowed`` at these sizes."""
        return True

    def least_dim(self, vocab: int) -> int:
        """The smallest dimension for so many tokens."""
        return 1

    def rows(self, normal: Table) -> Table:
        """Independent embeddings from standard normal rows."""
        raise self.lacking("independent rows")

    def draw(self, tables: list[Table], source: Source) -> list[Table]:
        """From standard normal tables of tokens, labels ``(V, d)``, trigger and query ``(1, d)``,
        and a ``source`` of others."""
        return [self.rows(table) for table in tables]

    def eigenvalues(self, dim: int) -> Spectrum:
        r"""Of the covariance of independent tokens, coordinate by coordinate; of sum 1."""
        raise self.lacking("a covariance under which tokens' embeddings are independent")

    def trace(self, power: int, dim: float) -> float:
        r"""$\mathrm{tr}\,S^j$ of that covariance, ``dim`` being infinite without overlaps."""
        return float(np.sum(self.eigenvalues(int(dim)) ** power))

    def length_variance(self, dim: int) -> float:
        """Of an embedding's squared length, whose mean is 1."""
        raise self.lacking("a variance of squared lengths")


def orthonormal_rows(table: Table) -> Table:
    """Orthonormal rows from a Gaussian table, uniform over frames (Mezzadri, math-ph/0609050)."""
    import torch

    q, r = torch.linalg.qr(torch.from_numpy(table).T)
    # without the signs the law would depend on the routine's convention
    return np.asarray((q * r.diag().sign()).T)


class Isotropic(Law):
    """Covariance $I/d$."""

    def eigenvalues(self, dim: int) -> Spectrum:
        """All $1/d$."""
        return np.full(dim, 1 / dim)

    def trace(self, power: int, dim: float) -> float:
        """$d^{1-j}$."""
        return float(dim ** (1.0 - power))


class Gaussian(Isotropic):
    """$N(0,I_d/d)$."""

    name = "gaussian"
    geometry = "normal"
    proved = measured = True

    def rows(self, normal: Table) -> Table:
        return np.asarray(normal / np.sqrt(normal.shape[1]))

    def length_variance(self, dim: int) -> float:
        """$2/d$."""
        return 2 / dim


class UnitLength(Isotropic):
    """Lengths are 1."""

    def length_variance(self, dim: int) -> float:
        return 0.0


class Sphere(UnitLength):
    """Gaussian, normalised."""

    name = "sphere"
    geometry = "spherical"
    proved = measured = True

    def rows(self, normal: Table) -> Table:
        return np.asarray(normal / np.linalg.norm(normal, axis=1, keepdims=True))


class Orthogonal(UnitLength):
    """Uniform orthonormal frames: tokens, trigger and query in one, labels in another."""

    name = "orthogonal"
    geometry = "orthonormal"
    proved = measured = True
    tables = 8

    def least_dim(self, vocab: int) -> int:
        """One for each token, the trigger and the query."""
        return vocab + 2

    def draw(self, tables: list[Table], source: Source) -> list[Table]:
        tokens, labels, trigger, query = tables
        frame = orthonormal_rows(np.concatenate([tokens, trigger, query]))
        return [frame[:-2], orthonormal_rows(labels), frame[-2:-1], frame[-1:]]


class Signs(UnitLength):
    r"""Coordinates $\pm1/\sqrt d$."""

    name = "signs"
    geometry = "spherical"  # fourth moments of products are those of the sphere up to 1/d^2
    caveat = "; scores and logits tie in few dimensions, which no formula sees"

    def rows(self, normal: Table) -> Table:
        return np.asarray(np.copysign(1 / np.sqrt(normal.shape[1]), normal))


class Spectral(Law):
    """Gaussian, the coordinates of different variance."""

    measured = True

    def rows(self, normal: Table) -> Table:
        """Times the root of the eigenvalues."""
        return np.asarray(normal * np.sqrt(self.eigenvalues(normal.shape[1])))

    def length_variance(self, dim: int) -> float:
        r"""$2\,\mathrm{tr}\,S^2$."""
        return 2 * self.trace(2, dim)


class PowerLaw(Spectral):
    r"""Variances $\propto i^{-s}$."""

    name = "power_law"
    takes = ("EXPONENT",)
    allowed = "power_law with an exponent from 0 to 4"

    def fits(self, vocab: int, dim: int) -> bool:
        return 0 <= self.numbers[0] <= 4

    def eigenvalues(self, dim: int) -> Spectrum:
        r"""$\propto i^{-s}$."""
        weights = np.arange(1, dim + 1) ** -self.numbers[0]
        return np.asarray(weights / weights.sum())


class LowRank(Spectral):
    """Variances equal for the first coordinates, else 0."""

    name = "low_rank"
    takes = ("RANK",)
    allowed = "low_rank with an integer from 1 to dim = {dim}"

    def fits(self, vocab: int, dim: int) -> bool:
        return self.numbers[0] in range(1, dim + 1)

    def least_dim(self, vocab: int) -> int:
        return int(self.numbers[0])

    def eigenvalues(self, dim: int) -> Spectrum:
        """$1/r$ for the first $r$."""
        return np.asarray((np.arange(dim) < self.numbers[0]) / self.numbers[0])

    def trace(self, power: int, dim: float) -> float:
        """$r^{1-j}$."""
        return float(self.numbers[0] ** (1.0 - power))


class Clustered(Law):
    r"""$\sqrt s\,c_{v\bmod K}+\sqrt{1-s}\,g_v$, Gaussian rows $g_v$ around $K$ Gaussian centres;
    tokens and labels have centres of their own, trigger and query none."""

    name = "clustered"
    takes = ("CLUSTERS", "SHARE")
    allowed = "clustered with 1 to vocab = {vocab} clusters and a share in [0, 1)"
    measured = True

    def fits(self, vocab: int, dim: int) -> bool:
        return self.numbers[0] in range(1, vocab + 1) and 0 <= self.numbers[1] < 1

    def draw(self, tables: list[Table], source: Source) -> list[Table]:
        """Gaussian tables, and centres for the first two."""
        (rows, dim), count, share = tables[0].shape, int(self.numbers[0]), self.numbers[1]
        found = [table / np.sqrt(dim) for table in tables]
        for place, role in enumerate(("input_centres", "output_centres")):
            centres = source(role, count, dim) / np.sqrt(dim)
            own = centres[np.arange(rows) % count]
            found[place] = np.sqrt(share) * own + np.sqrt(1 - share) * found[place]
        return found

    def length_variance(self, dim: int) -> float:
        """$2/d$: each embedding alone is Gaussian."""
        return 2 / dim


LAWS: dict[str, type[Law]] = {
    law.name: law for law in (Gaussian, Sphere, Orthogonal, Signs, PowerLaw, Clustered, LowRank)
}
FORMS = [name + f"({', '.join(law.takes)})" * bool(law.takes) for name, law in LAWS.items()]


def parse_law(value: Any, vocab: int, dim: int) -> Law:
    """Find the law that a text such as ``"power_law(0.5)"`` names, checked against the sizes."""
    found = re.fullmatch(r"(\w+)(?:\(([^()]+)\))?", value) if isinstance(value, str) else None
    kind = LAWS.get(found[1]) if found else None
    try:
        numbers = tuple(map(float, found[2].split(","))) if found and found[2] else ()
    except ValueError:
        kind = None
    if kind is None or len(numbers) != len(kind.takes):
        raise not_allowed("embeddings", value, f"one of {', '.join(map(repr, FORMS))}")
    law = kind(numbers)
    if not law.fits(vocab, dim):
        raise not_allowed("embeddings", value, law.allowed.format(vocab=vocab, dim=dim))
    return law
