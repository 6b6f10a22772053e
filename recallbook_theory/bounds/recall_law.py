r"""Recall with perfect attention, given input embeddings and counts: the exact law, and proved
bounds from both sides.

Label $k$ of the fact that is asked for has the logit $u_k^\top\sum_jq_ju_j$, with weights $q_j$
whose sum is zero. Over fresh Gaussian $U$ the logits are together, up to a positive factor that
they share, distributed as $$x_k=\hat q_k\chi+\psi_k,\qquad\hat q=q/\lVert q\rVert,$$ with $\chi$ a
chi variable of $d$ degrees of freedom and $\psi$ an independent standard normal vector without its
part along $\hat q$ (thm-recall-law, eq-recall-law, chapter 6). From below: "All wrong labels at
once" in the proofs of certificates; from above: thm-recall-at-most. All of it is ours."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float
from scipy import special, stats
from torch import Tensor

from recallbook.data.residuals import onto_labels_, residuals
from recallbook.data.task import Problem
from recallbook.embedding_laws import Geometry
from recallbook.model.ties import lengths
from recallbook.setting import Setting
from recallbook.training.gradients import features
from recallbook_theory.symbolic.expressions import Array

FAR = 1e5  # a margin in noises that is not tried: nothing is proved there
NORMAL_EDGES = np.linspace(-4.8, 4.8, 33)  # of the cells for xi
LENGTH_QUANTILES = (1e-6, 0.01, 0.16, 0.5, 0.84, 0.99, 1 - 1e-6)  # of chi: edges of its cells
PARTS = 8  # of a cell: chords are free to evaluate, products over all labels are not
BLOCK_NUMBERS = 1 << 22  # numbers in one block of arguments
SPHERE_CELLS = 500  # for the overlap of two unit vectors
# of a squared length over its mean
LENGTH_EXCESS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.45, 0.65, 0.9, 1.2, 1.6, 2.2)
STEEPEST = 0.3  # above the largest slope of -(log Phi)'', which is below 0.2958
SAFETY = 1e-8  # taken off every probability: special functions and sums are exact to 1e-10
STEADY = 1e-6  # of a row's length: what rounding may add to its entries where no chance is left


class Cells(NamedTuple):
    """A variable cut into cells: ``edges (n,)``, and parts of cells with their ``chances (k,)`` and
    ``chords (k, n)``.

    ``chords`` takes values at the edges to where the chords through them pass the mean of the
    variable in each part."""

    edges: Float[np.ndarray, " n"]
    chances: Float[np.ndarray, " k"]
    chords: Float[np.ndarray, "k n"]


def normal_cells() -> Cells:
    r"""Cut $\xi$, a standard normal variable, into cells."""
    fine = _divided(NORMAL_EDGES)
    chances = np.diff(special.ndtr(fine))
    means = -np.diff(np.exp(-(fine**2) / 2)) / math.sqrt(2 * math.pi) / chances
    return Cells(NORMAL_EDGES, chances, _chords(NORMAL_EDGES, means))


def chi_cells(dim: int) -> Cells:
    r"""Cut $\chi$, the length of a standard normal vector in ``dim`` dimensions, into cells."""
    edges = stats.chi.ppf(LENGTH_QUANTILES, dim)
    fine = _divided(edges)
    chances = np.diff(stats.chi.cdf(fine, dim))
    mean = math.sqrt(2) * math.exp(special.gammaln((dim + 1) / 2) - special.gammaln(dim / 2))
    means = mean * np.diff(stats.chi.cdf(fine, dim + 1)) / chances
    return Cells(edges, chances, _chords(edges, means))


def _divided(edges: Float[np.ndarray, " n"]) -> Float[np.ndarray, " m"]:
    """Divide every cell into ``PARTS`` equal parts."""
    places = np.arange((len(edges) - 1) * PARTS + 1) / PARTS
    return np.asarray(np.interp(places, np.arange(len(edges)), edges), dtype=np.float64)


def _chords(
    edges: Float[np.ndarray, " n"], points: Float[np.ndarray, " k"]
) -> Float[np.ndarray, "k n"]:
    """Weights of linear interpolation from the edges to each point."""
    return np.stack([np.interp(points, edges, row) for row in np.eye(len(edges))], axis=1)


def stored_weights(problem: Problem) -> Float[Tensor, "V V"]:
    r"""Compute $q_j=f_j\,g(h_j)^\top g(h_v)$, $h_v=z_v+\tau t$, centred over $j$, ``(V, V)``: row
    for the asked $v$, column for $j$ (eq-asked and thm-recall-law, chapter 6).

    With loss weights $q_j$ has the factor $\omega_j$; with an output bias $c_j$ times their sum is
    taken off. What step 3 stores if every training sequence locks, in the early-phase limit. Labels
    are named by their token. A row that rounding could turn by more than ``SAFETY`` over $\sqrt d$
    is not a number, because such an angle can change a chance by ``SAFETY``: nothing is proved
    about its fact. Where orthonormal outputs leave no chance, ``STEADY`` is enough."""
    setting = problem.setting
    informative = problem.tokens.gather(1, problem.positions[:, None])[:, 0].long()
    f = torch.bincount(informative, minlength=setting.vocab).to(problem.dtype) / setting.samples
    h = problem.input_embeddings + float(setting.trigger_in_values) * problem.trigger
    g = features(problem, h)
    q = onto_labels_(problem, g @ g.T * f, problem.permutation, dim=1)
    known = residuals(problem)
    asked = lengths(g) * f * known.weights[problem.permutation]
    size = torch.linalg.norm(asked) + torch.linalg.norm(known.prediction) * asked.sum()
    terms = setting.vocab + setting.dim + setting.feature_dim
    least = 1 / STEADY if setting.law.geometry == "orthonormal" else setting.dim**0.5 / SAFETY
    rounding = 2.0**-53 * terms * lengths(g) * size
    proved = torch.linalg.norm(q, dim=1) >= least * rounding  # a row of zeros is proved by zeros
    return torch.where(proved[:, None], q, math.nan)


def beats(right: Tensor, wrong: Tensor, length: Tensor, dim: int) -> Tensor:
    r"""Compute $P(k\text{ beats }v)=I_{(1-\rho)/2}(\frac d2,\frac d2)$ with
    $\rho=\frac{q_v-q_k}{\sqrt2\lVert q\rVert}$; exact (eq-one-comparison, chapter 6).

    ``right`` $q_v$, ``wrong`` $q_k$, ``length`` $\lVert q\rVert>0$, of shapes that broadcast.
    """
    rho = ((right - wrong) / (math.sqrt(2) * length)).clamp(-1, 1)
    return torch.from_numpy(np.asarray(special.betainc(dim / 2, dim / 2, ((1 - rho) / 2).numpy())))


def union_bound(q: Float[Tensor, "V V"], dim: int) -> Float[Tensor, " V"]:
    """Bound the chance that fact $v$ is recalled from below, ``(V,)``: one minus the chances of all
    wrong labels; at least 0."""
    lost = _comparisons(q, dim).sum(dim=1)
    return torch.where(_known(q), (1 - lost - SAFETY).clamp(min=0), 0.0)


def _comparisons(q: Float[Tensor, "V V"], dim: int) -> Float[Tensor, "V V"]:
    """Compute the chance that each wrong label (column) beats the right one; 0 on the diagonal."""
    length = torch.linalg.norm(q, dim=1, keepdim=True)
    right = q.diagonal()[:, None]
    return beats(right, q, torch.where(length > 0, length, 1.0), dim).fill_diagonal_(0.0)


def recall_bound(
    q: Float[Tensor, "V V"], dim: int, moved: Float[Tensor, " V"] | None = None
) -> Float[Tensor, " V"]:
    r"""Bound the chance that each fact is recalled from below, ``(V,)``, over Gaussian output
    embeddings; with ``moved`` that all its margins are above this, as $u_k^\top\sum_jq_ju_j$
    counts ("Averaging over $\chi$ and $\xi$" in the proofs of certificates; with ``moved``
    eq-charged).

    Given $\chi$ and $\xi$ the chance is log-concave in both; on each of the cells of a grid its
    logarithm lies above the chord through values at the edges, and Jensen's inequality does the
    rest. The values are those of :func:`log_wins`. Never below :func:`union_bound`."""
    xi, chi = normal_cells(), chi_cells(dim)
    chances = q.new_zeros(len(q))
    ahead = 0 * chances if moved is None else moved * dim / torch.linalg.norm(q, dim=1)
    for q_hat, v in _blocks(q):
        away = ahead[v, None, None].clamp(max=FAR).numpy() / chi.edges[:, None]
        logs = np.stack([log_wins(q_hat, v, chi.edges, edge, away) for edge in xi.edges])
        chances[v] = torch.from_numpy(_over_cells(logs, xi, chi))
    known = torch.where(_known(q), (chances - SAFETY).clamp(min=0), 0.0)
    if moved is not None:
        return torch.where(ahead < FAR, known, 0.0)
    return torch.maximum(known, union_bound(q, dim))


def pull(setting: Setting, chance: float) -> float:
    r"""Compute $b$ of eq-charged (proofs of certificates): what all $\lvert\tilde u_j^\top(\tilde
    u_v-\tilde u_k)\rvert$ of Gaussian output embeddings stay below, but for this chance $\delta$,
    half of it for lengths $\ell$, half for overlaps $o$."""
    vocab, root = setting.vocab, setting.dim**0.5
    ell = float(stats.chi.isf(chance / (2 * vocab), setting.dim)) / root
    x = -float(special.ndtri(chance / (2 * vocab**2)))
    o = x * ell / root + ell**2 / (vocab - 1)
    return float(o + max(ell**2, o))


def recall_at_most(
    q: Float[Tensor, "V V"], dim: int, geometry: Geometry = "normal"
) -> Float[Tensor, " V"]:
    r"""Bound the chance that each fact is recalled from above, ``(V,)``; a tie among k counts 1/k
    (thm-recall-at-most, proofs of certificates).

    For Gaussian output embeddings by the tangents of :func:`_wins_at_most`, and what lies outside
    the grid counts as recalled; never above the chance against one wrong label, nor one over the
    number of labels with as much weight. On the sphere only labels of equal weight are counted.
    Rows of zeros leave all labels alike, $\frac1V$; where nothing is proved, 1."""
    right = q.diagonal()[:, None]
    unknown = torch.where(q.isnan().any(dim=1), 1.0, 1 / len(q))
    if geometry == "orthonormal":
        slack = 2 * STEADY * torch.linalg.norm(q, dim=1, keepdim=True)
        ahead = torch.gt(q, right + slack).any(dim=1).logical_not().to(q.dtype)
        return torch.where(_known(q), ahead, unknown)
    level = torch.eq if geometry == "spherical" else torch.ge
    chances = 1 / level(q, right).sum(dim=1).to(q.dtype)
    if geometry == "normal":
        chances = torch.minimum(chances, 1 - _comparisons(q, dim).amax(dim=1))
        xi, chi = normal_cells(), chi_cells(dim)
        outside = 1 - xi.chances.sum() * chi.chances.sum()
        for q_hat, v in _blocks(q):
            inside = torch.from_numpy(_wins_at_most(q_hat, v, xi, chi))
            chances[v] = torch.minimum(chances[v], inside + outside)
    return torch.where(_known(q), (chances + SAFETY).clamp(max=1), unknown)


def _known(q: Float[Tensor, "V V"]) -> Bool[Tensor, " V"]:
    """Say which facts have weights, neither zeros nor unknown."""
    return torch.gt(torch.linalg.norm(q, dim=1), 0)


def _blocks(q: Float[Tensor, "V V"]) -> Iterator[tuple[Float[Tensor, "n V"], Tensor]]:
    r"""Rows $\hat q$, a block of them at a time, and the facts $v$ that they ask for."""
    rows = max(1, BLOCK_NUMBERS // (len(q) * len(LENGTH_QUANTILES)))
    for v in torch.split(torch.arange(len(q), device=q.device), rows):
        yield torch.nn.functional.normalize(q[v], eps=1e-300), v


def log_wins(
    q_hat: Float[Tensor, "n V"],
    v: Tensor,
    chi: Float[np.ndarray, " c"],
    xi: float,
    away: Array | float = 0.0,
) -> Float[np.ndarray, "n c"]:
    r"""Bound $\log P(\text{all wrong logits below the right one}\mid\chi,\xi)$ from below, for each
    fact and $\chi$, ``(n, c)``; below it by ``away`` ("All wrong labels at once" in the proofs of
    certificates).

    ``q_hat`` holds $\hat q$, a row for each of the asked ``v``. With $s^2=1-\hat q_v^2$ the
    right logit is $x_v=\hat q_v\chi+s\xi$, and the wrong ones are $\hat q_k(\chi-\hat q_v\xi/s)$
    plus a normal vector without its part along $p=\hat q_{-v}/s$. Adding that part back gives
    independent variables and the product $H(r)=\prod_k\Phi(c_k+rp_k)$; log-concavity of what is
    asked for gives $\log P\ge\min_r\log H(-r)+\frac{r^2}2\ge\log H(0)-\frac{h^2}{2\mu}$ with
    $h=(\log H)'(0)$, where $\mu\ge\frac12$ bounds the second derivative of what is minimised for
    $\lvert r\rvert\le2\lvert h\rvert$."""
    c, _, _, p = _thresholds(q_hat, v, chi, xi)
    c -= away
    logs, slopes = _log_phi(c)
    h = np.abs((p * slopes).sum(axis=2))
    bend = slopes * (slopes + np.where(np.isfinite(c), c, 0.0))  # D = -(log Phi)''
    reach = STEEPEST * np.abs(p) ** 3  # by how much each can grow, per unit of r
    mu = 1 - (p**2 * bend).sum(axis=2) - 2 * h * reach.sum(axis=2)
    product = logs.sum(axis=2) - h**2 / (2 * np.maximum(mu, 1 / 2))
    return np.where(mu >= 1 / 2, product, -np.inf)


def _thresholds(
    q_hat: Float[Tensor, "n V"], v: Tensor, chi: Float[np.ndarray, " c"], xi: float
) -> tuple[Array, ...]:
    r"""Compute $c_k$, what it gains per unit of $\chi$ and of $\xi$, and $p_k$; infinite and 0 for
    the right label, which does not compete with itself."""
    rows, columns, wrong = np.arange(len(q_hat)), v.numpy(), q_hat.numpy()[:, None, :]
    right = wrong[rows, :, columns][:, :, None]
    s = np.sqrt(np.maximum(1 - right**2, 1e-12))
    by_chi, by_xi, p = right - wrong, s + wrong * right / s, wrong / s
    c = by_chi * chi[:, None] + by_xi * xi
    c[rows, :, columns] = np.inf
    for table in (by_chi, by_xi, p):
        table[rows, :, columns] = 0
    return c, by_chi, by_xi, p


def _log_phi(x: Array) -> tuple[Array, Array]:
    r"""Compute $\log\Phi$ and its slope; below -100 as there, where chances are 0 in any case."""
    x = np.maximum(x, -100)
    logs = special.log_ndtr(x)
    return logs, np.exp(-(x**2) / 2 - logs) / math.sqrt(2 * math.pi)


def _wins_at_most(
    q_hat: Float[Tensor, "n V"], v: Tensor, xi: Cells, chi: Cells
) -> Float[np.ndarray, " n"]:
    r"""Bound the chance that all wrong logits lie below the right one from above, with both
    variables on the grid, ``(n,)`` (eq-recall-at-most, proofs of certificates).

    Given $t$, the sum of $\lvert p_k\rvert g'_k$ over wrong labels whose $p_k$ have one sign, these
    are negatively correlated: their chances multiply at most (Slepian), and $t$ is the same for
    both signs. The product is log-concave in $t$, $\chi$ and $\xi$, so below the exponential of its
    tangent plane at $t=0$ in the middle of each cell; its slope along $t$ is $-\kappa$."""
    (middles, *chi_parts), chances = _cells(chi), np.zeros(len(q_hat))
    for middle, *xi_parts in zip(*_cells(xi), strict=True):
        c, by_chi, by_xi, p = _thresholds(q_hat, v, middles, middle)
        square, above = p**2, p > 0
        a, b = ((square * one).sum(axis=2, keepdims=True) for one in (above, ~above))
        share = np.maximum(np.where(above, a, b), 1e-300)  # A_k
        competes = square < 0.75 * share  # who is nearly alone with its sign is left out
        sigma = np.sqrt(np.maximum(1 - square / share, 0.25))
        logs, slopes = _log_phi(np.where(competes, c / sigma, np.inf))
        slopes /= sigma
        kappa = (slopes * np.abs(p) / share).sum(axis=2)
        total = logs.sum(axis=2) + kappa**2 * (a * b)[:, :, 0] / 2
        total += _log_tilted((slopes * by_xi).sum(axis=2), *xi_parts)
        total += _log_tilted((slopes * by_chi).sum(axis=2), *chi_parts)
        most = xi_parts[0].sum() * chi_parts[0].sum(axis=1)
        chances += np.minimum(np.exp(total.clip(max=0)), most).sum(axis=1)
    return chances


def _cells(cells: Cells) -> tuple[Array, ...]:
    r"""Give by cell its middle $x_0$, chances of its parts, how far from it their means are, and
    their width."""
    middles = (cells.edges[:-1] + cells.edges[1:]) / 2
    means = (cells.chords @ cells.edges).reshape(-1, PARTS)
    chances = cells.chances.reshape(-1, PARTS)
    return middles, chances, means - middles[:, None], np.diff(cells.edges) / PARTS


def _log_tilted(slope: Array, chances: Array, away: Array, width: Array | float) -> Array:
    r"""Bound $\log\mathbb E[e^{g(x-x_0)};\text{cell}]$ from above, $x_0$ its middle: a part of
    width $w$ and mean $m$ gives $e^{g(m-x_0)+g^2w^2/8}$ (Hoeffding)."""
    logs = special.logsumexp(slope[..., None] * away, b=chances, axis=-1)
    return np.asarray(logs + (slope * width) ** 2 / 8)


def _over_cells(
    logs: Float[np.ndarray, "own n size"], xi: Cells, chi: Cells
) -> Float[np.ndarray, " n"]:
    """Average the exponential of chords over both variables, ``(n,)``: along $\\chi$, then along
    $\\xi$."""
    finite = np.maximum(logs, -1e300)  # a part with any weight on a corner at -inf gets exactly 0
    across = np.tensordot(xi.chords, finite, axes=1) @ chi.chords.T
    total: Float[np.ndarray, " n"] = np.tensordot(xi.chances, np.exp(across) @ chi.chances, axes=1)
    return total


def surely_recalled(q: Float[Tensor, "V V"]) -> Bool[Tensor, " V"]:
    r"""Say which facts are recalled with orthonormal output embeddings, ``(V,)``: $q_v>q_k$ for all
    $k\ne v$, beyond rounding ("Other laws" in the proofs of certificates)."""
    gaps = q.diagonal()[:, None] - q
    slack = 2 * STEADY * torch.linalg.norm(q, dim=1, keepdim=True)
    return gaps.fill_diagonal_(math.inf).gt(slack).all(dim=1)


def sphere_bound(q: Float[Tensor, "V V"], dim: int) -> Float[Tensor, " V"]:
    r"""Bound the same from below for output embeddings on the sphere, ``(V,)``: a union over labels
    of nearly exact chances ("Other laws" in the proofs of certificates).

    With $R=\sum_{j\ne v,k}q_ju_j$ and $\Delta=q_v-q_k$ the margin of $v$ over $k$ is
    $\Delta(1-u_v^\top u_k)+(u_v-u_k)^\top R$. Given the length of $R$ it is at most 0 with the
    chance of :func:`sphere_beats` at $\kappa=\Delta/\lVert R\rVert$, for $\Delta>0$; any other
    label counts as one that beats $v$. The tail of $\lVert R\rVert^2$ is at most
    :func:`length_tail`, Chernoff's for Gaussian vectors, around $Q=\sum_{j\ne v,k}q_j^2$."""
    if dim == 1:
        return q.new_zeros(len(q))
    right, square = q.diagonal()[:, None], q.square()
    rest = (square.sum(dim=1, keepdim=True) - right.square() - square).clamp(min=0) + 1e-300  # Q
    blur = 2 * SAFETY * torch.linalg.norm(q, dim=1, keepdim=True)  # see `stored_weights`
    kappa = ((right - q - blur).clamp(min=0) / (rest.sqrt() + blur)).numpy()
    grid = np.concatenate([[0.0], np.geomspace(1e-3, 1e3, 1200)])
    chances = sphere_beats(grid, dim)
    lost, before, beyond = np.zeros_like(kappa), np.zeros_like(kappa), 1.0
    for x in LENGTH_EXCESS:
        # the next smaller: safe
        below = np.searchsorted(grid, kappa / math.sqrt(1 + x), side="right") - 1
        lost += (chances[below] - before) * beyond
        before, beyond = chances[below], length_tail(x, dim)
    lost += (1 - before) * beyond
    lost[~(kappa > 0)] = 1.0  # nothing is proved against a label that is not behind
    np.fill_diagonal(lost, 0.0)
    return torch.from_numpy((1 - lost.sum(axis=1) - SAFETY).clip(min=0))


def length_tail(excess: float, dim: int) -> float:
    r"""Bound how often $\lVert\sum_jq_ju_j\rVert^2$ exceeds $1+x$ times its mean:
    $e^{-\frac d2(x-\log(1+x))}$."""
    return math.exp(-dim / 2 * (excess - math.log1p(excess)))


def sphere_beats(kappa: Float[np.ndarray, " n"], dim: int) -> Float[np.ndarray, " n"]:
    r"""Bound $P\big((1-c)\kappa+\sqrt{2(1-c)}\,c'\le0\big)$ from above, ``(n,)``.

    Overlaps of unit vectors, independent: $c=u_v^\top u_k$ has
    $\frac{1-c}2\sim\text{Beta}(\frac{d-1}2,\frac{d-1}2)$, and $c'$ is a coordinate of the direction
    of $R$. The chance falls with $1-c$: each cell counts at its lower end."""
    half = (dim - 1) / 2
    shares = np.concatenate(
        [[0.0], np.geomspace(1e-16, 0.01, 80), np.linspace(0.01, 1, SPHERE_CELLS)[1:]]
    )
    edges = special.betaincinv(half, half, shares[:-1]) * (1 - 1e-9)  # of (1 - c) / 2
    reach = np.minimum(np.outer(kappa, np.sqrt(edges)), 1.0)
    below: Float[np.ndarray, " n"] = special.betainc(half, 0.5, 1 - reach**2) @ np.diff(shares) / 2
    return below
