r"""What a table of embeddings looks like to the theory: lengths, mean, cosines, spectrum, effective
dimensions."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float64
from scipy.optimize import brentq
from scipy.special import betaincinv

from recallbook.arguments import (
    check_seed,
    computable,
    not_allowed,
    real_table,
    repeated_rows,
)
from recallbook.memory_needs import NUMBER, Need, require_memory
from recallbook.setting import Setting
from recallbook_studies.examining.rows import sampled

if TYPE_CHECKING:
    from recallbook_studies.examining.verdict import Verdict

# no table has so many columns: what is less coherent than random directions there counts as
# orthogonal
LARGEST_DIM = 1e9


def coherence_quantile(vocab: int, dim: float, probability: float) -> float:
    r"""Quantile of the coherence, the largest absolute cosine among $V$ random directions.

    All $V(V-1)/2$ cosines have the exact law :func:`cosine_quantile` and are pairwise independent; this
    takes them as jointly independent: $P(\text{coherence}\le x)=(1-p(x))^{V(V-1)/2}$. Leading
    order."""
    tail = -np.expm1(2 * np.log(probability) / (vocab * (vocab - 1)))
    return float(np.sqrt(1 - betaincinv((dim - 1) / 2, 0.5, tail)))


def cosine_quantile(dim: int, probability: float) -> float:
    r"""Quantile of the absolute cosine of two random directions; exact."""
    return float(np.sqrt(1 - betaincinv((dim - 1) / 2, 0.5, 1 - probability)))


def dim_of_coherence(vocab: int, coherence: float) -> float:
    r"""The dimension, any real number from 2, in which half of all sets of $V$ random directions
    are that coherent.

    Infinite at coherence 0; ``nan`` where already directions in the plane are less coherent.
    Leading order, as
    :func:`coherence_quantile`, whose inverse it is.
    """
    if coherence <= coherence_quantile(vocab, LARGEST_DIM, 0.5):
        return np.inf
    if coherence > coherence_quantile(vocab, 2, 0.5):
        return np.nan
    lifted = brentq(
        lambda log: coherence_quantile(vocab, np.exp(log), 0.5) - coherence,
        np.log(2),
        np.log(LARGEST_DIM),
    )
    return float(np.exp(lifted))


LEVELS = (0.5, 0.9, 0.99, 0.999)
SAMPLED = 2048  # rows whose pairs give the quantiles of cosines
ROUNDING = 1e-12  # of a cosine: pairs this close tie, and the first of them is named
BLOCK = 256  # rows at once against all: V = 50,000 takes 100 MB


@dataclass(frozen=True, eq=False)
class TableReport:
    r"""What :func:`examine` found in a table with rows $z_v$; every ratio is free of units.

    Attributes
    ----------
    rows, dim : int
        $V$ and $d$.
    repeated_rows, zero_rows : int
        Rows that equal an earlier one, which :func:`recallbook.draw` refuses, and rows of zeros,
        which have no cosines.
    mean_square_length : float
        $\frac1V\sum_v|z_v|^2$; 1 in the laws.
    length_variance : float
        Variance of $|z_v|^2$ over its squared mean; $2/d$ for Gaussian rows, 0 on the sphere.
    mean_share : float
        $|\bar z|^2$ over the mean square length; $1/V$ for random rows.
    coherence : float
        Largest $|\cos|$ of two rows.
    most_alike : tuple of int
        Those two rows.
    levels, cosines, random_cosines : tuple of float
        Quantiles of $|\cos|$ at these levels, and those of random directions in $d$ dimensions.
    sampled_rows : int
        Of how many rows, drawn without repetition, all pairs gave the quantiles; all other numbers
        are of all rows.
    spectrum : array ``(d,)``
        Eigenvalues of the covariance $S=\frac1V\sum_v(z_v-\bar z)(z_v-\bar z)^\top$, largest first.
    centred_dim, uncentred_dim : float
        $(\operatorname{tr}S)^2/\operatorname{tr}S^2$, the participation ratio, and the same of
        $\frac1V\sum_vz_vz_v^\top$; below $V$, since rows are counted with themselves:
        $1/(\frac1d+\frac1V)$, nearly, for Gaussian rows.
    pair_dim : float
        $(\text{mean}\,|z_v|^2)^2$ over the mean of $(z_v^\top z_{v'})^2$ of different rows: $d$ for
        Gaussian rows at any $V$. It is the dimension that interference sees.
    cosine_dim : float
        One over the mean of $\cos^2$ of different rows: the same for directions.
    coherence_dim : float
        The dimension in which half of all sets of as many random directions are as coherent as
        these.
    verdict : Verdict or None
        What this means for learning facts, where it was asked for.
    """

    rows: int
    dim: int
    repeated_rows: int
    zero_rows: int
    mean_square_length: float
    length_variance: float
    mean_share: float
    coherence: float
    most_alike: tuple[int, int]
    levels: tuple[float, ...]
    cosines: tuple[float, ...]
    random_cosines: tuple[float, ...]
    sampled_rows: int
    spectrum: Float64[np.ndarray, " d"]
    centred_dim: float
    uncentred_dim: float
    pair_dim: float
    cosine_dim: float
    coherence_dim: float
    verdict: Verdict | None = None

    def as_dict(self) -> dict[str, Any]:
        """All attributes by name; the spectrum as a list."""
        return {**asdict(self), "spectrum": self.spectrum.tolist()}

    def __str__(self) -> str:
        ten = self.spectrum[: max(1, self.dim // 10)].sum() / self.spectrum.sum()
        quantiles = zip(self.levels, self.cosines, self.random_cosines, strict=True)
        lines = [
            f"{self.rows:,} rows in {self.dim:,} dimensions; {self.repeated_rows} repeat an earlier one,"
            f" {self.zero_rows} are zero",
            *["fewer rows than columns: rows are tokens, is the table transposed?"]
            * (self.rows < self.dim),
            f"mean square length {self.mean_square_length:.4g}, relative variance {self.length_variance:.3g}"
            f" (Gaussian rows: {2 / self.dim:.3g})",
            f"share of the mean vector {self.mean_share:.3g} (random rows: {1 / self.rows:.3g})",
            f"largest |cosine| {self.coherence:.3f}, of rows {self.most_alike[0]} and {self.most_alike[1]}",
            f"|cosine|: quantile, here (pairs of {self.sampled_rows:,} rows), random directions",
            *(f"  {level:<6g} {here:.3f} {there:.3f}" for level, here, there in quantiles),
            f"the first tenth of the covariance's directions holds {ten:.3f} of its trace",
            f"effective dimension {self.pair_dim:.4g}, by products of different rows: what interference sees",
            f"  {self.cosine_dim:<8.4g} by their cosines: the same at equal lengths",
            f"  {self.centred_dim:<8.4g} of the covariance: the same without the mean, nearly",
            f"  {self.uncentred_dim:<8.4g} of the table, rows with themselves counted: the participation ratio",
            f"  {self.coherence_dim:<8.4g} by the largest cosine: the worst pair alone",
            *[str(self.verdict)] * (self.verdict is not None),
        ]
        return "\n".join(lines)


def examine_needs(shape: tuple[Any, ...]) -> list[Need]:
    """Of looking at a matrix of this shape: four copies of it, and four of the square of its
    columns."""
    rows, dim = (int(size) for size in shape)
    return [
        Need(4.0 * NUMBER * rows * dim, {"rows": rows, "dim": dim}),
        Need(4.0 * NUMBER * dim * dim, {"dim": dim}),
    ]


def examine(
    table: np.ndarray | torch.Tensor,
    *,
    seed: int = 0,
    verdict: bool | Setting = False,
    output: np.ndarray | torch.Tensor | None = None,
) -> TableReport:
    r"""How far a table of embeddings is from random directions, and in how many dimensions it
    really lives.

    Parameters
    ----------
    table : array or tensor ``(V, d)`` of any floating type
        At least two rows that are not zero, and two columns; see
        :func:`recallbook.read_embeddings`.
    seed : int
        Of the rows whose pairs give the quantiles of cosines, where there are more than 2,048; and
        of those that a verdict is about.
    verdict : bool or Setting
        Whether to predict what this means for learning facts with these input embeddings, at V = 512
        or all rows, L = 16 and N = 8 V, or in this setting: six predictions, some seconds each.
    output : array, tensor ``(V, d)`` or None
        Output embeddings of the same tokens, for the verdict, or ``table`` itself, which ties them;
        ``None`` draws them.

    Raises
    ------
    ValueError
        If the table is no such matrix, or all its rows are equal; for a verdict, if one is zero or
        repeats an earlier one.

    Notes
    -----
    Costs $V^2d/2$ multiplications, for the largest cosine, in blocks. Cosines tie within $10^{-12}$. Ours.

    Examples
    --------
    >>> from recallbook import Setting, draw
    >>> problem = draw(Setting(vocab=2000, seq_len=1, dim=64, samples=1, embeddings="low_rank(16)"), seed=0)
    >>> report = examine(problem.input_embeddings)
    >>> report.dim, round(report.pair_dim)
    (64, 16)
    """
    checked, seed = _checked(table), check_seed("seed", seed)
    rows, dim = checked.shape
    squares = np.einsum("vd,vd->v", checked, checked)
    scale = squares.mean()
    mean = checked.mean(axis=0)
    second = checked.T @ checked / rows
    centred = checked - mean
    spectrum = np.linalg.eigvalsh(centred.T @ centred / rows)[::-1].clip(min=0)
    places = np.flatnonzero(checked.any(axis=1))
    # squares of a very short row may vanish
    directions = checked[places] / np.abs(checked[places]).max(axis=1)[:, None]
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    largest, alike = coherence(directions)
    chosen = directions[sampled(len(directions), SAMPLED, seed, 0)]
    sizes = np.abs((chosen @ chosen.T)[np.triu_indices(len(chosen), 1)])
    report = TableReport(
        rows=rows,
        dim=dim,
        repeated_rows=repeated_rows(checked),
        zero_rows=rows - len(places),
        mean_square_length=float(scale),
        length_variance=float(squares.var() / scale**2),
        mean_share=float(mean @ mean / scale),
        coherence=largest,
        most_alike=(int(places[alike[0]]), int(places[alike[1]])),
        levels=LEVELS,
        cosines=tuple(float(found) for found in np.quantile(sizes, LEVELS)),
        random_cosines=tuple(cosine_quantile(dim, level) for level in LEVELS),
        sampled_rows=len(chosen),
        spectrum=spectrum,
        centred_dim=float(spectrum.sum() ** 2 / (spectrum**2).sum()),
        uncentred_dim=float(scale**2 / (second**2).sum()),
        pair_dim=_over(scale**2, _of_pairs(checked)),
        cosine_dim=_over(1.0, _of_pairs(directions)),
        coherence_dim=dim_of_coherence(len(directions), largest),
    )
    if verdict is False:
        return report
    from recallbook_studies.examining.verdict import judge, setting_of

    setting = setting_of(checked) if verdict is True else verdict
    if not isinstance(setting, Setting):
        raise not_allowed("verdict", verdict, "True, False or a recallbook.Setting")
    labels = checked if output is table else output if output is None else _checked(output)
    return replace(report, verdict=judge(report, checked, setting, labels, seed))


def coherence(directions: Float64[np.ndarray, "rows d"]) -> tuple[float, tuple[int, int]]:
    """Largest absolute product of two different rows, and the first pair that has it; in blocks of
    rows."""
    largest, pair = -1.0, (0, 1)
    for first in range(0, len(directions), BLOCK):
        block = directions[first : first + BLOCK] @ directions[first:].T
        # column 0 is row `first`, so that a row meets itself on the diagonal
        np.fill_diagonal(block, 0.0)
        found = float(max(block.max(), -block.min()))
        if found > largest + ROUNDING:
            sizes = np.abs(block)
            np.fill_diagonal(sizes, -1.0)
            row, column = divmod(int((sizes >= found - ROUNDING).argmax()), block.shape[1])
            largest, pair = found, (first + row, first + column)
    return min(largest, 1.0), pair


def _checked(table: Any) -> Float64[np.ndarray, "rows d"]:
    nested = getattr(table, "is_nested", False)  # it has no shape
    if isinstance(table, np.ndarray | torch.Tensor) and not nested and table.ndim == 2:
        require_memory(examine_needs(tuple(table.shape)), "the examination")
    checked = computable("table", real_table("table", table))
    allowed = "at least 2 rows that are not zero, not all rows equal, and 2 columns"
    if checked.ndim != 2 or min(checked.shape) < 2:
        raise not_allowed("table", f"of shape {checked.shape}", allowed)
    if np.count_nonzero(checked.any(axis=1)) < 2 or (checked == checked[0]).all():
        raise not_allowed("table", "of one direction at most", allowed)
    return checked


def _of_pairs(rows: Float64[np.ndarray, "rows d"]) -> float:
    """Mean squared product of two different rows, from the matrix of second moments: V^2 pairs for
    the price of V."""
    own = np.einsum("vd,vd->v", rows, rows)
    gram = rows.T @ rows
    return float(((gram**2).sum() - (own**2).sum()) / (len(rows) * (len(rows) - 1)))


def _over(one: float, other: float) -> float:
    """The ratio; infinite where rows are orthogonal up to rounding."""
    return float(one / other) if other > 1e-15 * one else np.inf
