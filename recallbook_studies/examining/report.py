r"""Report what a table of embeddings looks like to the theory: lengths, mean, spectrum, effective
dimensions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float64

from recallbook.arguments import (
    check_seed,
    check_size,
    computable,
    not_allowed,
    real_table,
)
from recallbook.memory_needs import NUMBER, Need, require_memory
from recallbook.result import Result
from recallbook.setting import Setting
from recallbook_studies.examining.read import DROP, bad_rows, named

if TYPE_CHECKING:
    from recallbook_studies.examining.judge import Verdict


@dataclass(frozen=True, eq=False, repr=False)
class TableReport(Result):
    r"""What :func:`examine` reports of a table with rows $z_v$; every ratio is free of units.

    Attributes
    ----------
    rows, dim : int
        $V$ and $d$.
    mean_square_length : float
        $\frac1V\sum_v|z_v|^2$; 1 in the laws.
    length_variance : float
        Variance of $|z_v|^2$ over its squared mean; $2/d$ for Gaussian rows, 0 on the sphere.
    mean_share : float
        $|\bar z|^2$ over the mean square length; $1/V$ for random rows.
    spectrum : array ``(d,)``
        Eigenvalues of the covariance $S=\frac1V\sum_v(z_v-\bar z)(z_v-\bar z)^\top$, largest first.
    pair_dim : float
        $(\text{mean}\,|z_v|^2)^2$ over the mean of $(z_v^\top z_{v'})^2$ of different rows: $d$ for
        Gaussian rows at any $V$. It is the dimension that interference sees.
    centred_dim : float
        $(\operatorname{tr}S)^2/\operatorname{tr}S^2$, the participation ratio; below $V$, since rows
        are counted with themselves: $1/(\frac1d+\frac1V)$, nearly, for Gaussian rows.
    verdict : Verdict or None
        What this means for learning facts, where it was asked for.
    """

    rows: int
    dim: int
    mean_square_length: float
    length_variance: float
    mean_share: float
    spectrum: Float64[np.ndarray, " d"]
    pair_dim: float
    centred_dim: float
    verdict: Verdict | None = None

    def __str__(self) -> str:
        tenth = self.spectrum[: max(1, self.dim // 10)].sum() / self.spectrum.sum()
        lines = [
            f"{self.rows:,} rows in {self.dim:,} dimensions",
            f"mean square length {self.mean_square_length:.4g}, relative variance {self.length_variance:.3g}"
            f" (Gaussian rows: {2 / self.dim:.3g})",
            f"share of the mean vector {self.mean_share:.3g} (random rows: {1 / self.rows:.3g})",
            f"the first tenth of the covariance's directions holds {tenth:.3f} of its trace",
            f"effective dimension {self.pair_dim:.4g}, by products of different rows: what interference sees",
            f"  {self.centred_dim:.4g} of the covariance: the same without the mean, nearly",
        ]
        if self.rows < self.dim:
            lines.append("fewer rows than columns: rows are tokens, is the table transposed?")
        if self.verdict:
            lines.insert(0, str(self.verdict))
        return "\n".join(lines)


def examine(
    table: np.ndarray | torch.Tensor,
    *,
    seed: int = 0,
    verdict: bool | Setting = False,
    output: np.ndarray | torch.Tensor | None = None,
) -> TableReport:
    r"""Report how far a table of embeddings is from random directions, and in how many dimensions it
    really lives.

    Parameters
    ----------
    table : array or tensor ``(V, d)`` of any floating type
        At least two rows, of which none is zero or repeats an earlier one, and two columns; see
        :func:`recallbook.read_embeddings`, which can leave such rows out.
    seed : int
        Of the rows that a verdict is about.
    verdict : bool or Setting
        Whether to predict what this means for learning facts with these input embeddings, at V = 512
        or all rows, L = 16 and N = 8 V, or in this setting: nine predictions, some seconds each.
    output : array, tensor ``(V, d)`` or None
        Output embeddings of the same tokens, for the verdict, or ``table`` itself, which ties them;
        ``None`` draws them.

    Raises
    ------
    ValueError
        If the table is no such matrix; for a verdict, if sizes do not fit.

    Notes
    -----
    Costs $2Vd^2$ multiplications, and the eigenvalues of a matrix of $d$ columns. Ours.

    Examples
    --------
    >>> from recallbook import Setting, draw
    >>> problem = draw(Setting(vocab=2000, seq_len=1, dim=64, samples=1, embeddings="low_rank(16)"), seed=0)
    >>> report = examine(problem.input_embeddings)
    >>> report.dim, round(report.pair_dim)
    (64, 16)
    """
    checked, seed = _checked("table", table), check_seed("seed", seed)
    if verdict is False:
        if output is not None:
            raise not_allowed("output", output, "left out without a verdict, which is about it")
        return _report(checked)
    from recallbook_studies.examining.judge import judge, setting_of

    setting = setting_of(checked) if verdict is True else verdict
    if not isinstance(setting, Setting):
        raise not_allowed("verdict", verdict, "True, False or a recallbook.Setting")
    check_size("vocab", setting.vocab, largest=len(checked))
    check_size("dim", setting.dim, checked.shape[1], checked.shape[1])
    labels = checked if output is table else None
    if output is not None and labels is None:
        labels = _checked("output", output)
        if labels.shape != checked.shape:
            raise not_allowed("output", f"of shape {labels.shape}", f"of shape {checked.shape}")
    report = _report(checked)
    return replace(report, verdict=judge(report, checked, setting, labels, seed))


def _report(table: Float64[np.ndarray, "rows d"]) -> TableReport:
    rows, dim = table.shape
    squares = np.einsum("vd,vd->v", table, table)
    scale = squares.mean()
    mean = table.mean(axis=0)
    centred = table - mean
    spectrum = np.linalg.eigvalsh(centred.T @ centred / rows)[::-1].clip(min=0)
    return TableReport(
        rows=rows,
        dim=dim,
        mean_square_length=float(scale),
        length_variance=float(squares.var() / scale**2),
        mean_share=float(mean @ mean / scale),
        spectrum=spectrum,
        pair_dim=_pair_dim(table),
        centred_dim=float(spectrum.sum() ** 2 / (spectrum**2).sum()),
    )


def _checked(field: str, table: Any) -> Float64[np.ndarray, "rows d"]:
    nested = getattr(table, "is_nested", False)  # it has no shape
    if isinstance(table, np.ndarray | torch.Tensor) and not nested and table.ndim == 2:
        rows, dim = map(int, table.shape)
        need = Need(4.0 * NUMBER * (rows + dim) * dim, {"rows": rows, "dim": dim})
        require_memory([need], "the examination")
    checked = computable(field, real_table(field, table))
    if checked.ndim != 2 or min(checked.shape) < 2:
        raise not_allowed(field, f"of shape {checked.shape}", "at least 2 rows and 2 columns")
    bad = bad_rows(checked)
    if len(bad):
        raise not_allowed(field, f"with {named(bad)}", DROP)
    return checked


def _pair_dim(rows: Float64[np.ndarray, "rows d"]) -> float:
    """Compute the squared mean square length over the mean squared product of two different rows,
    which is that of V^2 pairs for the price of V; infinite where rows are orthogonal up to
    rounding."""
    own = np.einsum("vd,vd->v", rows, rows)
    gram = rows.T @ rows
    products = ((gram**2).sum() - (own**2).sum()) / (len(rows) * (len(rows) - 1))
    scale = own.mean() ** 2
    return float(scale / products) if products > 1e-15 * scale else np.inf
