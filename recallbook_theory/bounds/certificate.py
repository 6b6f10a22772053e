r"""Certificates: proved bounds on what three steps reach, from below and from above, for the data
and input embeddings of one draw."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float64
from torch import Tensor

from recallbook.arguments import NUMPY, check_flag, not_allowed
from recallbook.data.task import Problem, check_problem
from recallbook.embedding_laws import LAWS, Geometry
from recallbook.memory_needs import NUMBER, Need, require_memory, table
from recallbook.result import OUTCOMES, Outcome, Result
from recallbook.setting import Setting, fact_frequencies, other_frequencies
from recallbook_theory.bounds import lock_law, recall_law

FAILING = (0.02, 0.05, 0.15)  # chances that more goes astray than is charged; each is valid
RARE = 1e-3  # chance that output embeddings are longer or overlap more than is charged


@dataclass(frozen=True, repr=False)
class Certificate(Result):
    r"""Proved bounds on expectations over fresh output embeddings in the early-phase limit.

    Attributes
    ----------
    lock_on, recall, accuracy : float
        Lower bounds on the expectation of what :func:`recallbook.evaluate` measures, between 0 and
        1.
    all_lock : float
        Lower bound on the chance that *every* sequence of marked tokens locks, training and test
        alike.
    stored : float
        Lower bound on the expected recall if attention were exact on every training sequence.
    at_most : Outcome
        Upper bounds on the expectations of the first three.
    bounded : str
        What is bounded, for whoever reads the printed certificate alone.
    """

    lock_on: float
    recall: float
    accuracy: float
    all_lock: float
    stored: float
    at_most: Outcome
    bounded: str = "means over output embeddings"

    def __repr__(self) -> str:
        """Bounds from below rounded down, from above rounded up."""
        ends = {name: (getattr(self, name), getattr(self.at_most, name)) for name in OUTCOMES}
        parts = [
            f"{name} {math.floor(1e3 * low) / 1e3:.3f} to {math.ceil(1e3 * high) / 1e3:.3f}"
            for name, (low, high) in ends.items()
        ]
        return f"Certificate({', '.join(parts)}: {self.bounded})"


def certify_needs(setting: Setting) -> list[Need]:
    """Of one certificate: the form of all margins, and the batch in 64 bits."""
    columns = min(setting.dim, setting.vocab + 1)
    form = Need(
        1.25 * NUMBER * setting.vocab**2 * columns, {"vocab": setting.vocab, "dim": setting.dim}
    )
    batch = table(setting, 3, "samples", "seq_len")
    return [form, batch] if setting.seq_len > 1 else [batch, table(setting, 6, "vocab", "vocab")]


@np.errstate(**NUMPY)
def certify(problem: Problem, *, from_above: bool = True) -> Certificate:
    r"""Proved bounds on expected lock-on, recall and accuracy of this problem over fresh output
    embeddings, from below and, in ``at_most``, from above.

    Tokens, positions, facts, input embeddings, trigger, query and MLP weights are those of
    ``problem``, drawn or the caller's own; its output embeddings are not looked at, only their law
    (``problem.setting.embeddings``), and so they may not be the caller's. With $p_{vv'}$ a bound on
    the chance that token $v$, marked, does not outscore $v'$, $\Sigma_{\rm train}$ the sum of
    $p_{vv'}$ over pairs that share a training sequence,
    $\Sigma_{\rm test}=1-\frac1V\sum_v\big(1-\frac1V\sum_{v'}p_{vv'}\big)^{L-1}$ and $R$ the proved
    recall with perfect attention, $$\text{lock-on}\ge1-\Sigma_{\rm test},\qquad\text{recall}\ge
    R-\Sigma_{\rm train},\qquad\text{accuracy}\ge R-\Sigma_{\rm train}-\Sigma_{\rm test}$$
    (eq-certificate, appendix of chapter 6; $F$ and $T$ of chapter 6). Where $\Sigma_{\rm train}$ is
    above 0.02, and for Attention-only with Gaussian output embeddings, equal loss weights and no
    output bias, $R-\Sigma_{\rm train}$ is the larger of itself and what is recalled if pairs that
    fail are charged by their share of the stored weight (eq-charged). From above, a sequence about
    $v$ locks with at most the least chance, among its other tokens $v'$, that $v$ is not behind
    $v'$. With $A$ the mean of this over sequences and $R'$ what perfect attention recalls at most,
    $$\text{lock-on}\le A,\qquad\text{recall}\le R'+\Sigma_{\rm train},\qquad
    \text{accuracy}\le\min\big(A+\tfrac1V,\ R'+\Sigma_{\rm train}+\Sigma_{\rm test}\big)$$
    (eq-upper-draw), and each of $n$ facts that no sequence shows counts for at most $\frac1n$.
    Where tokens are not equally frequent, averages over sequences are by frequency.

    Parameters
    ----------
    problem : Problem
        Computed in float64 on the CPU, whatever its own type and device.
    from_above : bool
        Without, ``at_most`` is 1 throughout, in half of the time.

    Raises
    ------
    ValueError
        If ``problem`` is not a Problem, or its output embeddings are the caller's own or of a law
        that is not marked as proved: proofs are over fresh ones that are Gaussian, on the sphere or
        orthogonal, and input embeddings may be any. If it is too large: $V^2\min(d,V+1)$ above $1.2\cdot10^9$
        (10 GB).

    Notes
    -----
    Bounds on the $p_{vv'}$ are Chernoff's (:mod:`recallbook_theory.bounds.lock_law`); $R$ is nearly exact for Gaussian output
    embeddings (:mod:`recallbook_theory.bounds.recall_law`), a union over labels on the sphere, and needs no chance
    where they are orthonormal. Rounding: each bound is weakened by far more than float64 can lose. Memory $8V^2d$
    bytes. Proofs: chapters 6 and 8. All of it is ours, not the paper's.

    Examples
    --------
    >>> from recallbook import Setting, draw
    >>> found = certify(draw(Setting(vocab=64, seq_len=4, dim=64, samples=1280, trigger_in_values=False), seed=0))
    >>> found.lock_on > 0.99, 0.8 < found.accuracy < found.at_most.accuracy < 1
    (True, True)
    """
    problem, geometry = _provable(problem)
    setting = problem.setting
    facts, others = fact_frequencies(setting), other_frequencies(setting)
    q = recall_law.stored_weights(problem)
    recalled = _recalled(q, setting.dim, geometry)
    stored, asked = float(recalled.mean()), float(_mean(recalled, facts))
    if setting.seq_len == 1:  # one token a sequence: nothing to find, and no chance in that
        possible = recall_law.recall_at_most(q, setting.dim, geometry)
        most = _from_above(problem, possible, torch.ones_like(possible), 0.0, 0.0)
        return Certificate(1.0, _at_least(stored), _at_least(asked), 1.0, _at_least(stored), most)
    margins = lock_law.margins(problem)
    p = lock_law.pair_chances(margins, setting.dim, geometry)
    # given w each other token beats v with the same chance, and 1 - (1 - chance)^(L-1) is concave:
    # Jensen
    sigma_test = 1 - float(_mean((1 - _mean(p, others)) ** (setting.seq_len - 1), facts))
    shares = _met(problem)
    sigma_train = float(p[shares > 0].sum())
    every = float(p.sum())
    missed, failed = min(sigma_test, every), min(sigma_train + sigma_test, every)
    recall, accuracy = stored - sigma_train, asked - failed
    plain = geometry == "normal" and setting.width is None and setting.plain_steps
    if plain and FAILING[0] < sigma_train < 10:  # so many pairs cost all facts
        charged = _charged(problem, q, p, shares)
        recall = max(recall, float(charged.mean()))
        accuracy = max(accuracy, float(_mean(charged, facts)) - missed)
    most = Outcome(1.0, 1.0, 1.0)
    if check_flag("from_above", from_above):
        possible = recall_law.recall_at_most(q, setting.dim, geometry)
        locked = lock_law.lock_at_most(
            margins, setting.dim, geometry, torch.from_numpy(others), setting.seq_len - 1
        )
        most = _from_above(problem, possible, locked, min(sigma_train, every), failed)
    return Certificate(
        lock_on=_at_least(1 - missed),
        recall=_at_least(recall),
        accuracy=_at_least(accuracy),
        all_lock=_at_least(1 - every),
        stored=_at_least(stored),
        at_most=most,
    )


def _provable(problem: Problem) -> tuple[Problem, Geometry]:
    """Check the problem, and return it in float64 on the CPU with the geometry of its output
    embeddings."""
    problem = check_problem(problem, torch.float64, "cpu")
    setting, geometry = problem.setting, problem.setting.law.geometry
    if not setting.law.proved or geometry is None:
        allowed = (
            "one of "
            + ", ".join(repr(name) for name, law in LAWS.items() if law.proved)
            + ": the laws of output embeddings that proofs cover"
        )
        raise not_allowed("problem.setting.embeddings", setting.embeddings, allowed)
    if "output" in problem.own:
        raise not_allowed(
            "problem.own",
            problem.own,
            "no 'output': proofs are over output embeddings drawn by a law",
        )
    if not bool(problem.query.any()):
        raise not_allowed(
            "problem.query", "zero", "a vector that is not zero: attention would see nothing"
        )
    numbers = lock_law.form_size(setting)
    if setting.seq_len > 1 and numbers > lock_law.LARGEST_FORM:
        limit = f"vocab**2 * min(dim, vocab + 1) at most {lock_law.LARGEST_FORM:,}, for the form of all margins"
        raise not_allowed("problem", f"with {numbers:,} such numbers", limit)
    require_memory(certify_needs(setting), "the certificate")
    return problem, geometry


def _mean(values: Tensor, law: Float64[np.ndarray, " V"]) -> Tensor:
    """Average over tokens, the last axis, of this law."""
    return values.mean(dim=-1) if np.all(law == law[0]) else values @ torch.from_numpy(law)


def _at_least(bound: float) -> float:
    """Take off the bound what rounding can add to it: where there is a chance, a certificate of 1
    would be wrong by it."""
    return max(0.0, bound - recall_law.SAFETY)


def _at_most(bound: Tensor | float) -> float:
    """Add to the bound what rounding can take from it."""
    return min(1.0, float(bound) + recall_law.SAFETY)


def _recalled(q: Tensor, dim: int, geometry: Geometry) -> Tensor:
    """Bound the chance of each fact to be recalled with perfect attention from below, ``(V,)``."""
    if geometry == "orthonormal":
        return recall_law.surely_recalled(q).to(q.dtype)
    if geometry == "spherical":
        return recall_law.sphere_bound(q, dim)
    return recall_law.recall_bound(q, dim)


def _charged(problem: Problem, q: Tensor, p: Tensor, shares: Tensor) -> Tensor:
    r"""Bound the chance of each fact to be recalled from below where pairs on the wrong side are
    charged by their share of the stored weight, ``(V,)`` (eq-charged, proofs of certificates).

    ``shares``: $n_{jv'}/N$. A failing pair moves $q$ by at most its share times
    $\lvert(z_{v'}-h_j)^\top h_v\rvert$, $h_j=z_j+\tau t$; together they move it by $B_v$. A pair
    whose chance is above $\kappa$ counts as failing, and the sum over the others is at most its
    mean over $\kappa$ but for a chance of $\kappa$ (Markov); the best of a few $\kappa$ for each
    fact."""
    setting, z = problem.setting, problem.input_embeddings
    h = z + float(setting.trigger_in_values) * problem.trigger
    overlaps, own = z @ h.T, h @ h.T
    b, most = recall_law.pull(setting, RARE), torch.zeros_like(q[0])
    longest = torch.linalg.norm(h, dim=1)
    blur = 2.0**-48 * setting.dim * longest * (longest.max() + torch.linalg.norm(z, dim=1).max())
    for kappa in FAILING:
        counted = shares * (p / kappa).clamp(max=1)
        moved = sum(row @ (overlaps - one).abs() for row, one in zip(counted, own, strict=True))
        moved += blur * float(counted.sum())  # B_v
        proved = recall_law.recall_bound(q, setting.dim, b * moved)
        most = torch.maximum(most, proved - kappa - RARE)
    return most


def _from_above(
    problem: Problem,
    possible: Tensor,
    locked: Tensor,
    sigma_train: float,
    failed: float,
) -> Outcome:
    r"""Bound what is expected from above (eq-upper-draw, proofs of what three steps need).

    ``possible`` $R'_v$, ``locked`` $A_v$, ``failed`` $\Sigma_{\rm train}+\Sigma_{\rm test}$."""
    facts, kappa = fact_frequencies(problem.setting), _covered(problem)
    possible = torch.minimum(possible, kappa)
    # where another token is ahead, the others alone say what is located: not what is asked
    answered = _mean(torch.minimum(locked, kappa), facts) + facts.max()
    return Outcome(
        _at_most(min(answered, _mean(possible, facts) + failed, _mean(kappa, facts))),
        _at_most(_mean(locked, facts)),
        _at_most(min(possible.mean() + sigma_train, kappa.mean())),
    )


def _covered(problem: Problem) -> Tensor:
    r"""Bound the chance $\kappa_v$ of each fact to be answered from above, ``(V,)``: $\frac1n$ if
    it is one of $n$ that no sequence shows, since their labels are alike (step 3 of the proof of
    prop-upper-draw)."""
    counts = torch.bincount(problem.labels, minlength=problem.setting.vocab)[problem.permutation]
    if problem.setting.output_bias == "calibrated":  # a bias tells labels apart
        return torch.ones_like(counts, dtype=problem.dtype)
    return torch.where(counts > 0, 1.0, 1 / (counts == 0).sum().clamp(min=1).to(problem.dtype))


def _met(problem: Problem) -> Tensor:
    r"""Count how often an informative token (row) meets another token, $n_{jv'}$, per training
    sequence, ``(V, V)``."""
    vocab, tokens = problem.setting.vocab, problem.tokens.long()
    informative = tokens.gather(1, problem.positions[:, None])
    other = torch.ones_like(tokens, dtype=torch.bool).scatter_(1, problem.positions[:, None], False)
    met = torch.bincount((informative * vocab + tokens)[other], minlength=vocab**2)
    return met.view(vocab, vocab).double() / problem.setting.samples
