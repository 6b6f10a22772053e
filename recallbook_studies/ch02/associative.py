"""A linear associative memory: facts stored as a sum of outer products, recalled by an arg max."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
import torch
from numpy.polynomial.hermite_e import hermegauss
from numpy.typing import NDArray
from scipy.linalg import eigh_tridiagonal
from scipy.special import betainc, log_ndtr

from recallbook.arguments import Device, check_choice, check_share, check_size
from recallbook.data.task import draw
from recallbook.embedding_laws import LAWS as registry, Geometry
from recallbook.model.ties import credit, logit_slack
from recallbook.setting import Setting
from recallbook_studies.ch02 import retrieval
from recallbook_theory.search import bracket
from recallbook_theory.symbolic.expressions import V, d, numeric
from recallbook_theory.symbolic.recall_terms import others_variance

POINTS = 20  # quadrature points in each of up to four directions
NORMAL = hermegauss(POINTS)[0], hermegauss(POINTS)[1] / math.sqrt(2 * math.pi)
LAWS = ("gaussian", "sphere")
Quadrature = tuple[NDArray[np.float64], NDArray[np.float64]]


def recalled(
    facts: int, dim: int, seed: int, embeddings: str = "gaussian", *, device: Device = "cpu"
) -> NDArray[np.float64]:
    r"""Simulate: which of $n$ facts come back from $W=\sum_j u_jz_j^\top$, 1 or 0, shape ``(n,)``.

    Fact $v$ is recalled when $\arg\max_k u_k^\top Wz_v=v$ over all $n$ labels; a tie among k counts
    1/k. Draws are paired: for one seed, fewer facts are the first of more. Cost $O(n^2d)$, memory
    $O(n^2)$."""
    setting = Setting(vocab=facts, seq_len=1, dim=dim, samples=1, embeddings=embeddings)
    problem = draw(setting, seed, device=device)
    inputs, outputs = problem.input_embeddings, problem.output_embeddings
    memory = outputs.T @ inputs
    logits = inputs @ memory.T @ outputs.T  # (tokens, labels)
    slack = logit_slack(outputs, memory, inputs)
    return credit(logits, torch.arange(facts, device=logits.device), slack).cpu().numpy()


def capacity(recall: Callable[[int], float], accuracy: float) -> int:
    """Largest $n$ found by doubling and bisection with ``recall(n) >= accuracy``, from 3 facts on.

    ``recall`` should fall with ``n``; where it is a noisy simulation this is one of its crossings.
    """
    accuracy = check_share("accuracy", accuracy)
    return max(3, bracket(lambda facts: recall(facts) < accuracy, 3, smallest=3).low)


def predicted_recall(facts: int, dim: int, embeddings: str = "gaussian") -> float:
    r"""Predicted mean fraction of facts recalled; no fitted constant.

    $$\mathbb E_{a,b,\xi,r}\,F\big(S/\sigma\big)^{n-1},$$ with signal $S$ and noise variance
    $\sigma^2$ from :func:`~recallbook_studies.ch02.retrieval.recall_terms`, $\xi$ standard normal,
    $r$ a gamma variable of mean 1, and $a,b\sim\chi^2_d/d$ (1 on the sphere). $F$ is the normal
    distribution function, or that of a coordinate on the sphere. Gauss quadrature. Derived to
    leading order: given $a,b,\xi,r$, competing logits are taken as independent and of law $F$.
    Ours.

    Raises
    ------
    ValueError
        If ``facts`` or ``dim`` is below 3, or the law is neither ``"gaussian"`` nor ``"sphere"``.
    """
    facts, dim = check_size("facts", facts, smallest=3), check_size("dim", dim, smallest=3)
    law = registry[check_choice("embeddings", embeddings, LAWS)]()
    sizes = {retrieval.n: facts, V: facts, d: dim}
    length = _gamma(spread) if (spread := law.length_variance(dim)) else (np.ones(1), np.ones(1))
    others = _gamma(float(numeric(others_variance())(sizes)))
    laws = {retrieval.a: length, retrieval.b: length, retrieval.xi: NORMAL, retrieval.r: others}
    grid = np.meshgrid(*(points for points, _ in laws.values()), indexing="ij", sparse=True)
    terms, values = retrieval.recall_terms(), {**sizes, **dict(zip(laws, grid, strict=True))}
    ratio = numeric(terms.signal)(values) / np.sqrt(numeric(terms.noise)(values))
    right = np.exp((facts - 1) * _log_cdf(ratio, dim, law.geometry))
    return float(np.einsum("i,j,k,l,ijkl->", *(weights for _, weights in laws.values()), right))


def _log_cdf(
    ratio: NDArray[np.float64], dim: int, geometry: Geometry | None
) -> NDArray[np.float64]:
    """Log probability that a variable of mean 0 and variance 1 stays below ``ratio``."""
    if geometry == "normal":
        return np.asarray(log_ndtr(ratio))
    # sqrt(d) times a coordinate of a uniform point on the sphere; its square is a beta variable
    beyond = betainc((dim - 1) / 2, 0.5, np.clip(1 - ratio**2 / dim, 0, 1)) / 2
    return np.asarray(np.where(ratio > 0, np.log1p(-beyond), np.log(np.maximum(beyond, 1e-300))))


@cache
def _gamma(variance: float) -> Quadrature:
    r"""Points and weights of the gamma law of mean 1 and this variance; $\chi^2_d/d$ at variance
    $2/d$."""
    # Golub and Welsch: scipy's own routine overflows for large shapes
    shape, k = 1 / variance, np.arange(POINTS)
    points, vectors = eigh_tridiagonal(2 * k + shape, np.sqrt(k[1:] * (k[1:] + shape - 1)))
    return points * variance, vectors[0] ** 2
