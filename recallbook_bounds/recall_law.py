r"""Recall with perfect attention, given input embeddings and counts: the exact law, and proved
bounds from both sides.

Label $k$ of the fact that is asked for has the logit $u_k^\top\sum_jq_ju_j$, with weights $q_j$
whose sum is zero. Over fresh Gaussian $U$ the logits are together, up to a positive factor that
they share, distributed as $$x_k=\hat q_k\chi+\psi_k,\qquad\hat q=q/\lVert q\rVert,$$ with $\chi$ a
chi variable of $d$ degrees of freedom and $\psi$ an independent standard normal vector without its
part along $\hat q$. All of it is ours."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float
from scipy import special
from scipy.stats import chi
from torch import Tensor

from recallbook.data.residuals import onto_labels_, residuals
from recallbook.data.task import Problem
from recallbook.embedding_laws import Geometry
from recallbook.model.ties import lengths
from recallbook.setting import Setting
from recallbook.training.gradients import features

FAR = 1e5  # a margin in noises that is not tried: nothing is proved there
NORMAL_EDGES = np.linspace(-4.8, 4.8, 33)  # of the cells for the right label's own normal variable
LENGTH_QUANTILES = (1e-6, 0.01, 0.16, 0.5, 0.84, 0.99, 1 - 1e-6)  # and for chi
PARTS = 8  # of a cell: chords are free to evaluate, products over all labels are not
BLOCK_NUMBERS = 1 << 22  # numbers in one block of arguments
SPHERE_CELLS = 500  # for the overlap of two unit vectors
LENGTH_EXCESS = (
    0.0,
    0.05,
    0.1,
    0.2,
    0.3,
    0.45,
    0.65,
    0.9,
    1.2,
    1.6,
    2.2,
)  # of a squared length over its mean
STEEPEST = 0.3  # above the largest slope of -(log Phi)'', which is below 0.2958
SAFETY = 1e-8  # taken off every probability: special functions and sums are exact to 1e-10
STEADY = 1e-6  # of a row's length: what rounding may add to its entries where no chance is left


Array = Float[np.ndarray, "..."]


class Cells(NamedTuple):
    """A variable cut into cells: ``edges (n,)``, and parts of cells with their ``chances (k,)`` and
    ``chords (k, n)``.

    ``chords`` takes values at the edges to where the chords through them pass the mean of the
    variable in each part."""

    edges: Float[np.ndarray, " n"]
    chances: Float[np.ndarray, " k"]
    chords: Float[np.ndarray, "k n"]


def normal_cells() -> Cells:
    """Cells of a standard normal variable."""
    fine = _divided(NORMAL_EDGES)
    chances = np.diff(special.ndtr(fine))
    means = -np.diff(np.exp(-(fine**2) / 2)) / math.sqrt(2 * math.pi) / chances
    return Cells(NORMAL_EDGES, chances, _chords(NORMAL_EDGES, means))


def chi_cells(dim: int) -> Cells:
    r"""Cells of $\chi$, the length of a standard normal vector in ``dim`` dimensions."""
    edges = chi.ppf(LENGTH_QUANTILES, dim)
    fine = _divided(edges)
    chances = np.diff(chi.cdf(fine, dim))
    mean = math.sqrt(2) * math.exp(special.gammaln((dim + 1) / 2) - special.gammaln(dim / 2))
    return Cells(edges, chances, _chords(edges, mean * np.diff(chi.cdf(fine, dim + 1)) / chances))


def _divided(edges: Float[np.ndarray, " n"]) -> Float[np.ndarray, " m"]:
    """Every cell in ``PARTS`` equal parts."""
    places = np.arange((len(edges) - 1) * PARTS + 1) / PARTS
    return np.asarray(np.interp(places, np.arange(len(edges)), edges), dtype=np.float64)


def _chords(
    edges: Float[np.ndarray, " n"], points: Float[np.ndarray, " k"]
) -> Float[np.ndarray, "k n"]:
    """Weights of linear interpolation from the edges to each point."""
    return np.stack([np.interp(points, edges, row) for row in np.eye(len(edges))], axis=1)


def stored_weights(problem: Problem) -> Float[Tensor, "V V"]:
    r"""$q_j=f_j\,g(h_j)^\top g(h_v)$, centred over $j$, with $h_v=z_v+\tau t$: row for the asked
    $v$, column for $j$.

    With loss weights $q_j$ has the factor $\omega_j$; with an output bias $c_j$ times their sum is
    taken off. What step 3 stores if every training sequence locks, in the early-phase limit. Labels
    are named by their token. A row that rounding could turn by more than ``SAFETY`` over $\sqrt d$
    is zero, because such an angle can change a chance by ``SAFETY``: nothing is proved about its
    fact. Where orthonormal outputs leave no chance, ``STEADY`` is enough."""
    setting = problem.setting
    informative = problem.tokens.gather(1, problem.positions[:, None])[:, 0].long()
    frequency = (
        torch.bincount(informative, minlength=setting.vocab).to(problem.dtype) / setting.samples
    )
    marked = problem.input_embeddings + float(setting.trigger_in_values) * problem.trigger
    images = features(problem, marked)
    weights = images @ images.T * frequency
    weights = onto_labels_(problem, weights, problem.permutation, dim=1)
    known = residuals(problem)
    asked = lengths(images) * frequency * known.weights[problem.permutation]
    size = torch.linalg.norm(asked) + torch.linalg.norm(known.prediction) * asked.sum()
    terms = setting.vocab + setting.dim + setting.feature_dim
    least = 1 / STEADY if setting.law.geometry == "orthonormal" else setting.dim**0.5 / SAFETY
    rounding = 2.0**-53 * terms * lengths(images) * size
    proved = torch.linalg.norm(weights, dim=1) > least * rounding
    return torch.where(proved[:, None], weights, 0.0)


def beats(right: Tensor, wrong: Tensor, length: Tensor, dim: int) -> Tensor:
    r"""$P(k\text{ beats }v)=I_{(1-\rho)/2}(\frac d2,\frac d2)$ with
    $\rho=\frac{q_v-q_k}{\sqrt2\lVert q\rVert}$; exact.

    ``right`` $q_v$, ``wrong`` $q_k$, ``length`` $\lVert q\rVert>0$, of shapes that broadcast.
    """
    correlation = ((right - wrong) / (math.sqrt(2) * length)).clamp(-1, 1)
    return torch.from_numpy(
        np.asarray(special.betainc(dim / 2, dim / 2, ((1 - correlation) / 2).numpy()))
    )


def union_bound(weights: Float[Tensor, "V V"], dim: int) -> Float[Tensor, " V"]:
    """Chance that fact $v$ is recalled, at least one minus the chances of all wrong labels; at
    least 0."""
    lost = _comparisons(weights, dim).sum(dim=1)
    return torch.where(weights.any(dim=1), (1 - lost - SAFETY).clamp(min=0), 0.0)


def _comparisons(weights: Float[Tensor, "V V"], dim: int) -> Float[Tensor, "V V"]:
    """Chance that each wrong label (column) beats the right one; 0 on the diagonal."""
    length = torch.linalg.norm(weights, dim=1, keepdim=True)
    right = weights.diagonal()[:, None]
    return beats(right, weights, torch.where(length > 0, length, 1.0), dim).fill_diagonal_(0.0)


def recall_bound(
    weights: Float[Tensor, "V V"], dim: int, moved: Float[Tensor, " V"] | None = None
) -> Float[Tensor, " V"]:
    r"""Proved lower bound on the chance that each fact is recalled, ``(V,)``, over Gaussian output
    embeddings; with ``moved`` that all its margins are above this, as $u_k^\top\sum_jq_ju_j$
    counts.

    Given $\chi$ and the right label's own normal variable $\xi$ the chance is log-concave in both;
    on each of the cells of a grid its logarithm lies above the chord through values at the edges,
    and Jensen's inequality does the rest. The values are those of :func:`log_wins`. Never below
    :func:`union_bound`."""
    own, size = normal_cells(), chi_cells(dim)
    found = torch.zeros(len(weights), dtype=weights.dtype)
    ahead = 0 * found if moved is None else moved * dim / torch.linalg.norm(weights, dim=1)
    for unit, asked in _blocks(weights):
        away = ahead[asked, None, None].clamp(max=FAR).numpy() / size.edges[:, None]
        logs = np.stack(
            [log_wins(unit, asked, size.edges, edge, away) for edge in own.edges]
        )  # (own, rows, size)
        found[asked] = torch.from_numpy(_over_cells(logs, own, size))
    known = torch.where(weights.any(dim=1), (found - SAFETY).clamp(min=0), 0.0)
    if moved is not None:
        return torch.where(ahead < FAR, known, 0.0)
    return torch.maximum(known, union_bound(weights, dim))


def pull(setting: Setting, chance: float) -> float:
    r"""What all $\lvert\tilde u_j^\top(\tilde u_v-\tilde u_k)\rvert$ of centred Gaussian output
    embeddings stay below, but for this chance: half of it for lengths, half for overlaps."""
    vocab, root = setting.vocab, setting.dim**0.5
    length = float(chi.isf(chance / (2 * vocab), setting.dim)) / root
    overlap = -float(special.ndtri(chance / (2 * vocab**2))) * length / root
    overlap += length**2 / (vocab - 1)
    return float(overlap + max(length**2, overlap))


def recall_at_most(
    weights: Float[Tensor, "V V"], dim: int, geometry: Geometry = "normal"
) -> Float[Tensor, " V"]:
    r"""Proved upper bound on the chance that each fact is recalled, ``(V,)``; a tie among k counts
    1/k.

    For Gaussian output embeddings by the tangents of :func:`_wins_at_most`, and what lies outside
    the grid counts as recalled; never above the chance against one wrong label, nor one over the
    number of labels with as much weight. On the sphere only labels of equal weight are counted.
    Rows of zeros: 1, nothing is proved."""
    right = weights.diagonal()[:, None]
    if geometry == "orthonormal":
        slack = 2 * STEADY * torch.linalg.norm(weights, dim=1, keepdim=True)
        return torch.gt(weights, right + slack).any(dim=1).logical_not().to(weights.dtype)
    level = torch.eq if geometry == "spherical" else torch.ge
    found = 1 / level(weights, right).sum(dim=1).to(weights.dtype)
    if geometry == "normal":
        found = torch.minimum(found, 1 - _comparisons(weights, dim).amax(dim=1))
        own, size = normal_cells(), chi_cells(dim)
        for unit, asked in _blocks(weights):
            inside = torch.from_numpy(_wins_at_most(unit, asked, own, size))
            outside = 1 - own.chances.sum() * size.chances.sum()
            found[asked] = torch.minimum(found[asked], inside + outside)
    return torch.where(weights.any(dim=1), (found + SAFETY).clamp(max=1), 1.0)


def _blocks(weights: Float[Tensor, "V V"]) -> Iterator[tuple[Float[Tensor, "n V"], Tensor]]:
    """Rows of unit length, a block of them at a time, and the facts that they ask for."""
    rows = max(1, BLOCK_NUMBERS // (len(weights) * len(LENGTH_QUANTILES)))
    for asked in torch.split(torch.arange(len(weights)), rows):
        yield torch.nn.functional.normalize(weights[asked], eps=1e-300), asked


def log_wins(
    unit: Float[Tensor, "n V"],
    asked: Tensor,
    sizes: Float[np.ndarray, " c"],
    own: float,
    away: Array | float = 0.0,
) -> Float[np.ndarray, "n c"]:
    r"""Lower bound on $\log P(\text{all wrong logits below the right one}\mid\chi,\xi)$, for each
    fact and $\chi$; below it by ``away``.

    ``unit`` holds $\hat q$, a row for each of the ``asked`` facts. With $s^2=1-\hat q_v^2$ the
    right logit is $x_v=\hat q_v\chi+s\xi$, and the wrong ones are $\hat q_k(\chi-\hat q_v\xi/s)$
    plus a normal vector without its part along $p=\hat q_{-v}/s$. Adding that part back gives
    independent variables and the product $H(r)=\prod_k\Phi(c_k+rp_k)$; log-concavity of what is
    asked for gives $\log P\ge\min_r\log H(-r)+\frac{r^2}2\ge\log H(0)-\frac{h^2}{2\mu}$ with
    $h=(\log H)'(0)$, where $\mu\ge\frac12$ bounds the second derivative of what is minimised for
    $\lvert r\rvert\le2\lvert h\rvert$."""
    gaps, _, _, parts = _gaps(unit, asked, sizes, own)
    gaps -= away
    logs, ratio = _logs(gaps)
    slope = np.abs((parts * ratio).sum(axis=2))
    bend = ratio * (ratio + np.where(np.isfinite(gaps), gaps, 0.0))  # -(log Phi)''
    reach = STEEPEST * np.abs(parts) ** 3  # by how much each can grow, per unit of r
    convexity = 1 - (parts**2 * bend).sum(axis=2) - 2 * slope * reach.sum(axis=2)
    product = logs.sum(axis=2) - slope**2 / (2 * np.maximum(convexity, 1 / 2))
    return np.where(convexity >= 1 / 2, product, -np.inf)


def _gaps(
    unit: Float[Tensor, "n V"], asked: Tensor, sizes: Float[np.ndarray, " c"], own: float
) -> tuple[Array, ...]:
    r"""$c_k$, what it gains per unit of $\chi$ and of $\xi$, and $p_k$; infinite and 0 for the right
    label, which does not compete with itself."""
    rows, columns, others = np.arange(len(unit)), asked.numpy(), unit.numpy()[:, None, :]
    right = others[rows, :, columns][:, :, None]
    rest = np.sqrt(np.maximum(1 - right**2, 1e-12))
    by_size, by_own, parts = right - others, rest + others * right / rest, others / rest
    gaps = by_size * sizes[:, None] + by_own * own
    gaps[rows, :, columns] = np.inf
    for table in (by_size, by_own, parts):
        table[rows, :, columns] = 0
    return gaps, by_size, by_own, parts


def _logs(gaps: Array) -> tuple[Array, Array]:
    r"""$\log\Phi$ and its slope."""
    logs = special.log_ndtr(gaps)
    return logs, np.exp(-(gaps**2) / 2 - logs) / math.sqrt(2 * math.pi)


def _wins_at_most(
    unit: Float[Tensor, "n V"], asked: Tensor, own: Cells, size: Cells
) -> Float[np.ndarray, " n"]:
    r"""Upper bound on the chance that all wrong logits lie below the right one, with both variables
    on the grid.

    Given $t$, the sum of $\lvert p_k\rvert g'_k$ over wrong labels whose $p_k$ have one sign, these
    are negatively correlated: their chances multiply at most (Slepian), and $t$ is the same for
    both signs. The product is log-concave in $t$, $\chi$ and $\xi$, so below the exponential of its
    tangent plane at $t=0$ in the middle of each cell."""
    (sizes, *size_parts), found = _cells(size), np.zeros(len(unit))
    for middle, *parts in zip(*_cells(own), strict=True):
        gaps, by_size, by_own, along = _gaps(unit, asked, sizes, middle)
        square, above = along**2, along > 0
        upper, lower = ((square * one).sum(axis=2, keepdims=True) for one in (above, ~above))
        share = np.maximum(np.where(above, upper, lower), 1e-300)
        competes = square < 0.75 * share  # who is nearly alone with its sign is left out
        spread = np.sqrt(np.maximum(1 - square / share, 0.25))
        logs, ratio = _logs(np.where(competes, gaps / spread, np.inf))
        ratio /= spread
        tilt = (ratio * np.abs(along) / share).sum(axis=2)
        total = logs.sum(axis=2) + tilt**2 * (upper * lower)[:, :, 0] / 2
        total += _log_tilted((ratio * by_own).sum(axis=2), *parts)
        total += _log_tilted((ratio * by_size).sum(axis=2), *size_parts)
        most = parts[0].sum() * size_parts[0].sum(axis=1)
        found += np.minimum(np.exp(total.clip(max=0)), most).sum(axis=1)
    return found


def _cells(cells: Cells) -> tuple[Array, ...]:
    """By cell: its middle, chances of its parts, how far from the middle their means are, and their
    width."""
    middles = (cells.edges[:-1] + cells.edges[1:]) / 2
    means = (cells.chords @ cells.edges).reshape(-1, PARTS)
    chances = cells.chances.reshape(-1, PARTS)
    return middles, chances, means - middles[:, None], np.diff(cells.edges) / PARTS


def _log_tilted(slope: Array, chances: Array, away: Array, width: Array | float) -> Array:
    r"""$\log\mathbb E[e^{g(x-x_0)};\text{cell}]$ at most, $x_0$ its middle: a part of width $w$ and
    mean $m$ gives $e^{g(m-x_0)+g^2w^2/8}$ (Hoeffding)."""
    logs = special.logsumexp(slope[..., None] * away, b=chances, axis=-1)
    return np.asarray(logs + (slope * width) ** 2 / 8)


def _over_cells(
    logs: Float[np.ndarray, "own n size"], own: Cells, size: Cells
) -> Float[np.ndarray, " n"]:
    """Expectation over both variables of the exponential of chords: along one variable, then along
    the other."""
    finite = np.maximum(logs, -1e300)  # a part with any weight on a corner at -inf gets exactly 0
    across = np.tensordot(own.chords, finite, axes=1) @ size.chords.T
    total: Float[np.ndarray, " n"] = np.tensordot(
        own.chances, np.exp(across) @ size.chances, axes=1
    )
    return total


def surely_recalled(weights: Float[Tensor, "V V"]) -> Bool[Tensor, " V"]:
    r"""Facts that are recalled with orthonormal output embeddings: $q_v>q_k$ for all $k\ne v$,
    beyond rounding."""
    gaps = weights.diagonal()[:, None] - weights
    slack = 2 * STEADY * torch.linalg.norm(weights, dim=1, keepdim=True)
    return gaps.fill_diagonal_(math.inf).gt(slack).all(dim=1)


def sphere_bound(weights: Float[Tensor, "V V"], dim: int) -> Float[Tensor, " V"]:
    r"""The same for output embeddings on the sphere: a union over labels of nearly exact chances,
    ``(V,)``.

    With $R=\sum_{j\ne v,k}q_ju_j$ the margin of $v$ over $k$ is $(q_v-q_k)(1-u_v^\top
    u_k)+(u_v-u_k)^\top R$. Given the length of $R$ it is at most 0 with the chance of
    :func:`sphere_beats` at $(q_v-q_k)/\lVert R\rVert$, for $q_v>q_k$; any other label counts as one
    that beats $v$. The tail of $\lVert R\rVert^2$ is at most :func:`length_tail`, Chernoff's for
    Gaussian vectors, around $\sum_{j\ne v,k}q_j^2$."""
    if dim == 1:
        return torch.zeros(len(weights), dtype=weights.dtype)
    right, square = weights.diagonal()[:, None], weights.square()
    rest = (square.sum(dim=1, keepdim=True) - right.square() - square).clamp(min=0) + 1e-300
    blur = 2 * SAFETY * torch.linalg.norm(weights, dim=1, keepdim=True)  # see `stored_weights`
    ahead = ((right - weights - blur).clamp(min=0) / (rest.sqrt() + blur)).numpy()
    grid = np.concatenate([[0.0], np.geomspace(1e-3, 1e3, 1200)])
    chances = sphere_beats(grid, dim)
    lost, before, beyond = np.zeros_like(ahead), np.zeros_like(ahead), 1.0
    for excess in LENGTH_EXCESS:
        below = (
            np.searchsorted(grid, ahead / math.sqrt(1 + excess), side="right") - 1
        )  # the next smaller: safe
        here = chances[below]
        lost += (here - before) * beyond
        before, beyond = here, length_tail(excess, dim)
    lost += (1 - before) * beyond
    lost[ahead == 0] = 1.0  # nothing is proved against a label that is not behind
    np.fill_diagonal(lost, 0.0)
    return torch.from_numpy((1 - lost.sum(axis=1) - SAFETY).clip(min=0))


def length_tail(excess: float, dim: int) -> float:
    r"""$e^{-\frac d2(x-\log(1+x))}$: how often $\lVert\sum_jq_ju_j\rVert^2$ exceeds $1+x$ times its
    mean, at most."""
    return math.exp(-dim / 2 * (excess - math.log1p(excess)))


def sphere_beats(ahead: Float[np.ndarray, " n"], dim: int) -> Float[np.ndarray, " n"]:
    r"""$P\big((1-c)\kappa+\sqrt{2(1-c)}\,c'\le0\big)$ for $\kappa$ = ``ahead``, from above.

    Overlaps of unit vectors, independent: $c=u_v^\top u_k$ has
    $\frac{1-c}2\sim\text{Beta}(\frac{d-1}2,\frac{d-1}2)$, and $c'$ is a coordinate of the direction
    of $R$. The chance falls with $1-c$: each cell counts at its lower end."""
    half = (dim - 1) / 2
    shares = np.concatenate(
        [[0.0], np.geomspace(1e-16, 0.01, 80), np.linspace(0.01, 1, SPHERE_CELLS)[1:]]
    )
    edges = special.betaincinv(half, half, shares[:-1]) * (1 - 1e-9)
    reach = np.minimum(np.outer(ahead, np.sqrt(edges)), 1.0)
    below: Float[np.ndarray, " n"] = special.betainc(half, 0.5, 1 - reach**2) @ np.diff(shares) / 2
    return below
