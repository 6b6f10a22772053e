r"""Finite learning rates that provably keep what the early-phase limit finds, for one draw
(Attention-only). Ours.

Step 1 is exact at any rate, $W_V^{(1)}=\eta G$. What changes afterwards is that predictions are not
quite uniform and attention is not quite hard. With $\omega$ the largest spread of the logits
$u_k^\top Ge'$ over labels, at any value vector $e'$, every prediction of steps 2 and 3 lies between
$e^{-\eta\omega}/V$ and $e^{\eta\omega}/V$."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from recallbook.arguments import check_rate, not_allowed
from recallbook.data.residuals import centred_labels
from recallbook.data.task import Problem, check_problem
from recallbook.model.attention import key_size, pull_size
from recallbook.model.ties import tolerance
from recallbook.setting import Setting
from recallbook.training.early_phase import key_query_step, value_step


class Kept(NamedTuple):
    """What is proved at a pair of rates.

    ``attention``: lower bound on the weight at the informative token, in every sequence of marked
    tokens; 0 where nothing is proved. ``facts (V,)``: tokens whose label wins in every sequence
    that asks for them."""

    attention: float
    facts: Bool[Tensor, " V"]


class _Limit(NamedTuple):
    """Sizes of the early-phase limit that the conditions are made of; labels are named by their
    token."""

    spread: float  # omega
    margin: (
        float  # least score of an informative token over another, per unit gamma eta, less rounding
    )
    drift: float  # by how much it can fall, per unit of e^{eta omega} - 1
    gaps: Float[
        Tensor, "V V"
    ]  # logit of token v's label less that of label k, per unit gamma; infinite for its own
    overlap: Float[Tensor, " V"]  # beta_v, the mean of |h_y.h_v| over sequences
    pull: Float[Tensor, " V"]  # alpha_k, the sum over labels of |u~_k.u~_l|
    mean_pull: Float[Tensor, " V"]  # phi_k, the same weighted by frequencies
    reach: float  # rho, the largest range of e'.e'' over values e'
    size: float  # of a logit of the limit before anything cancels, for what rounding can change


def kept(problem: Problem, eta: float, gamma: float) -> Kept:
    r"""Which conclusions of the early-phase limit are proved to hold at these rates, for this draw.

    With $G$ minus the gradient at zero, $r=e^{\eta\omega}-1$, $s=|z_{\rm EOS}|^2$, $\kappa$ the
    least margin of scores in the limit and $D$ its drift, attention at the informative token is at
    least $1-\epsilon$ if $\kappa>rD$, with $\epsilon=(L-1)e^{-\gamma\eta(\kappa-rD)}$. Fact $v$ is
    kept if its gap in the limit to every label $k$ exceeds $$\frac{\eta\omega}\gamma+\frac
    rV(\alpha_v+\alpha_k)(\beta_v+2\epsilon\rho)+2\epsilon\rho(\varphi_v+\varphi_k).$$

    Parameters
    ----------
    problem : Problem
        Attention-only; tokens of any frequency, but neither loss weights nor an output bias.
    eta, gamma : float
        Finite and positive.

    Raises
    ------
    ValueError
        Names the argument, its value and what is allowed.

    Notes
    -----
    Proved in the appendix of proofs; symbols as in the comments of the source.
    """
    problem = check_problem(problem, torch.float64, "cpu")
    if problem.setting.width is not None:
        raise not_allowed(
            "width", problem.setting.width, "None: finite rates are covered without the MLP"
        )
    problem.setting.require_equal(
        "finite rates are covered for the plain loss", ("loss_weights", "output_bias")
    )
    eta, gamma = check_rate("eta", eta), check_rate("gamma", gamma)
    limit = _limit(problem)
    missing, off = _deviations(limit, problem.setting, eta, gamma)
    off += tolerance(problem.dtype) * limit.size if missing < 1 else math.inf
    return Kept(max(1 - missing, 0.0), (limit.gaps > off).all(dim=1))


def _deviations(
    limit: _Limit, setting: Setting, eta: float, gamma: float
) -> tuple[float, Float[Tensor, "V V"]]:
    """Missing attention at most, and by how much gaps can differ from those of the limit, per unit
    gamma."""
    changed = math.expm1(min(eta * limit.spread, 700.0))
    exponent = gamma * eta * (limit.margin - changed * limit.drift)
    missing = (setting.seq_len - 1) * math.exp(-max(exponent, -700.0))
    blur = 2 * missing * limit.reach
    pulled = changed / setting.vocab * _pairs(limit.pull) * (limit.overlap + blur)[:, None]
    return missing, eta * limit.spread / gamma + pulled + blur * _pairs(limit.mean_pull)


def _limit(problem: Problem) -> _Limit:
    setting, tokens = problem.setting, problem.input_embeddings
    labels = centred_labels(problem)[problem.permutation]  # row v: the label of token v
    gradient = value_step(problem)
    key = key_query_step(problem, gradient)
    asked = tokens + float(setting.trigger_in_values) * problem.trigger  # located vectors h_v
    values = torch.cat([tokens, asked])  # whatever a slot can hold
    keys = torch.cat([tokens, tokens + problem.trigger])
    logits = labels @ gradient @ values.T  # (label, value)

    strength, scores = float(problem.query.square().sum()), tokens @ key
    slack = tolerance(key.dtype) * pull_size(problem, labels @ gradient) * key_size(problem)
    margin = strength * float(problem.trigger @ key - (scores.max() - scores.min()) - slack)
    # cov_j(u~_l.G e'_j, e_j.g) is at most a quarter of the product of ranges, and g = t + z_v -
    # z_v'
    longest = _ranges(problem.trigger @ keys.T) + 2 * _ranges(tokens @ keys.T).max()
    drift = strength / 4 * float(_ranges(logits).mean() * longest)

    counts = torch.bincount(problem.labels, minlength=setting.vocab)[problem.permutation]
    frequency = counts.to(tokens.dtype) / setting.samples
    overlaps, gram = asked @ asked.T, labels @ labels.T
    exact = (overlaps * frequency) @ gram  # of label k when v is asked, (v, k)
    return _Limit(
        spread=float(_ranges(logits.T).max()),
        margin=margin,
        drift=drift,
        gaps=(exact.diagonal()[:, None] - exact).fill_diagonal_(math.inf),
        overlap=overlaps.abs() @ frequency,
        pull=gram.abs().sum(dim=1),
        mean_pull=gram.abs() @ frequency,
        reach=float(_ranges(values @ values.T).max()),
        size=float(overlaps.abs().max() * gram.abs().max()),
    )


def _ranges(rows: Tensor) -> Tensor:
    """Largest less smallest of every row."""
    return rows.amax(dim=-1) - rows.amin(dim=-1)


def _pairs(values: Float[Tensor, " V"]) -> Float[Tensor, "V V"]:
    """Sums of two entries."""
    return values[:, None] + values
