r"""Lock-on over fresh output embeddings, given tokens, input embeddings and neurons: Chernoff
bounds for all pairs.

The informative token $v$ outscores another token $v'$ of its sequence if the margin $a^\top w$ is
positive, $a=t+z_v-z_{v'}$. With $C$ the centring over labels the margin is a quadratic form of the
columns of $U$, $$a^\top w=\sum_{i\le d}U_{\cdot i}^\top M\,U_{\cdot i},\qquad
M=\operatorname{sym}C\,S(a)\,m^\top C,$$ linear in $a$; with loss weights or an output bias, $C$ is
$R^\top$ on the left and $R$ on the right (``onto_labels_`` of :mod:`recallbook.data.residuals`).
$S_k(a)=\frac1N\sum_{i:y_i=k}J_i\Sigma_i^\top a$ and $m_l=\frac1N\sum_{j:y_j=l}g(\bar e'_j)$, with
$\Sigma_i=\frac1L\sum_j(e_{ij}-\bar e_i)(e'_{ij}-\bar e'_i)^\top$ and $J_i$ the features' Jacobian
(thm-lock-given, appendix of chapter 6; proof: "Margins of lock-on" in the proofs of certificates).
All of it is ours."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from scipy import special
from torch import Tensor

from recallbook.activations import differentiated
from recallbook.data.residuals import onto_labels_, residuals
from recallbook.data.task import Problem
from recallbook.embedding_laws import Geometry
from recallbook.setting import Setting

LARGEST_FORM = 1_200_000_000  # of `form_size`: 10 GB
ROUNDING = 8 * 2.0**-53  # of one operation, for a chain of a few products
BATCH = 32  # pairs whose eigenvalues are found at once
EIGENVALUES = 4 * 10**9  # V^3 times the pairs whose eigenvalues are found: seconds
FEWEST = 256  # such pairs, whatever V is
ENOUGH = 1e-4  # chance below which the pairs without eigenvalues may stay so
NODES = 32  # of the sum that gives a pair's chance from above
STEP = 0.7  # between them, in units of Chernoff's parameter
TILTS = 64  # values of Chernoff's parameter that are tried; each gives a valid bound


class Margins(NamedTuple):
    """The quadratic form of every margin, and of every pair of tokens what a bound needs.

    ``form (V, V, c)``: $M$ for each coordinate of $a$; ``keys (V + 1, c)``: tokens and the trigger
    in coordinates; ``trace (V, V)``, ``square (V, V)``: trace and squared norm of $M$, and
    ``diagonal (V, V)`` that of its diagonal, for $v$ (row) over $v'$ (column; the same token: the
    trigger alone). What rounding can have changed, from the sizes of all terms before differences
    are taken: ``slack (V, V)`` of a trace, a norm or an eigenvalue, ``blur (V, V)`` of a squared
    norm."""

    form: Float[Tensor, "V V c"]
    keys: Float[Tensor, "V1 c"]
    trace: Float[Tensor, "V V"]
    square: Float[Tensor, "V V"]
    diagonal: Float[Tensor, "V V"]
    slack: Float[Tensor, "V V"]
    blur: Float[Tensor, "V V"]


def form_size(setting: Setting) -> int:
    r"""Count the numbers in the form of all margins, $V^2\min(d,V+1)$; at most ``LARGEST_FORM`` of
    them are computed with."""
    return setting.vocab**2 * min(setting.dim, setting.vocab + 1)


def margins(problem: Problem) -> Margins:
    r"""Compute the forms of all margins (thm-lock-given, appendix of chapter 6).

    Costs $V^2dc$, $c=\min(d,V+1)$ coordinates, and $V^2c$ numbers; $d\to m$ with the MLP."""
    z, t, w_in = problem.input_embeddings, problem.trigger, problem.mlp_weights
    keys = _coordinates(torch.cat([z, t[None]]))
    values = keys if w_in is None else torch.cat([z @ w_in.T, (t @ w_in.T)[None]])
    vocab, steepest = len(z), 1.0
    m, s = keys.new_zeros(vocab, values.shape[1]), {}
    for k in torch.bincount(problem.labels).nonzero()[:, 0].tolist():
        m[k], s[k], slope = _label_tables(problem, keys, values, k)
        steepest = max(steepest, slope)
    m = onto_labels_(problem, m)
    form = keys.new_zeros(vocab, vocab, keys.shape[1])
    for k, s_k in s.items():
        form[k] = m @ s_k
    form = onto_labels_(problem, form)
    form += form.transpose(0, 1).clone()
    form /= 2
    flat, diagonal = form.flatten(0, 1), form.diagonal(dim1=0, dim2=1).T  # (V V, c), (V, c)
    size, reach = _sizes(problem, keys, steepest)
    unit = ROUNDING * _terms(problem, keys)
    return Margins(
        form,
        keys,
        _linear(keys @ diagonal.sum(dim=0)),
        _quadratic(keys @ (flat.T @ flat) @ keys.T),
        _quadratic(keys @ (diagonal.T @ diagonal) @ keys.T),
        unit * size * reach,
        (unit + ROUNDING * vocab**2) * float(form.square().sum()) * reach.square(),
    )


def _label_tables(
    problem: Problem, keys: Float[Tensor, "V1 c"], values: Float[Tensor, "V1 m"], k: int
) -> tuple[Float[Tensor, " m"], Float[Tensor, "m c"], float]:
    r"""Compute $m_k$, the table that takes $a$ to $S_k$, and the steepest slope of $\phi$ at label
    $k$.

    $\Sigma_i^\top=\frac1L\sum_je'_{ij}e_{ij}^\top-\bar e'_i\bar e_i^\top$. With the MLP
    $J_i=\operatorname{diag}\phi'(W_{\rm in}\bar e'_i)\,W_{\rm in}/\sqrt m$, and ``values`` are
    $W_{\rm in}z_v$ and $W_{\rm in}t$; else they are the keys, $z_v$ and $t$."""
    length, tau = problem.setting.seq_len, float(problem.setting.trigger_in_values)
    (z, t), (z_value, t_value) = ((table[:-1], table[-1]) for table in (keys, values))
    rows = (problem.labels == k).nonzero()[:, 0]  # i
    tokens = problem.tokens[rows].long()
    v = int(tokens[0, problem.positions[rows[0]]])  # the informative one of each
    counts = keys.new_zeros(len(rows), len(z))
    counts.scatter_add_(1, tokens, keys.new_ones(tokens.shape))
    e_mean, value_mean = (counts @ z + t) / length, (counts @ z_value + tau * t_value) / length
    phi, slopes = _activated(problem, value_mean)
    # slots by token, then what the trigger adds to its own slot, less the mean
    s_k = ((counts.T @ slopes) * z_value).T @ z + torch.outer(slopes.sum(dim=0) * z_value[v], t)
    s_k += tau * torch.outer(slopes.sum(dim=0) * t_value, z[v] + t)
    s_k = s_k / length - (slopes * value_mean).T @ e_mean
    root = 1.0 if problem.mlp_weights is None else values.shape[1] ** 0.5
    scale = 1.0 / problem.setting.samples
    return phi.sum(dim=0) / root * scale, s_k / root * scale, float(slopes.abs().max())


def _activated(
    problem: Problem, inputs: Float[Tensor, "n m"]
) -> tuple[Float[Tensor, "n m"], Float[Tensor, "n m"]]:
    r"""$\phi$ and $\phi'$ at the inputs, by autograd: any activation will do. Without the MLP the
    inputs and ones."""
    ones = torch.ones_like(inputs)
    if problem.mlp_weights is None:
        return inputs, ones
    images, pullback = differentiated(problem.setting.phi, inputs)
    return images, pullback(ones)


def _terms(problem: Problem, keys: Float[Tensor, "V1 c"]) -> int:
    """Count what a sum adds up at most: all slots of one label, tokens, features and coordinates
    together."""
    slots = int(torch.bincount(problem.labels).max()) * problem.setting.seq_len
    return slots + 2 * len(keys) + problem.setting.feature_dim + keys.shape[1]


def _sizes(
    problem: Problem, keys: Float[Tensor, "V1 c"], steepest: float
) -> tuple[float, Float[Tensor, "V V"]]:
    r"""Bound the norm of $M$ per unit of $|a|$ before anything cancels, and $|a|$ of all pairs
    (section "Rounding" of the proofs of certificates).

    A slot's value times its key is at most ``slot``, a feature of a sequence at most ``feature``,
    and label $k$ adds up $f_k$ of either. With loss weights or a bias, $\|R^\top X\|\le\|\omega
    X\|+\|c\|\sum_k\omega_k\|X_k\|$."""
    setting, w_in = problem.setting, problem.mlp_weights
    lengths = torch.linalg.vector_norm(keys, dim=1)
    longest, scale, offset = float(lengths[:-1].max() + lengths[-1]), 1.0, 0.0
    if w_in is not None:  # |W_in| / sqrt(m) times the steepest slope of phi, and phi(0)
        scale = steepest * float(torch.linalg.norm(w_in)) / w_in.shape[0] ** 0.5
        offset = float(setting.phi(keys.new_zeros(1)).abs())
    slot, feature = 2 * scale * longest**2, scale * longest + offset
    counts = torch.bincount(problem.labels, minlength=setting.vocab).to(keys.dtype)
    share = float((counts / setting.samples).square().sum())
    if not setting.plain_steps:
        known = residuals(problem)
        asked = known.weights * counts / setting.samples
        share = (
            float(torch.linalg.norm(asked) + torch.linalg.norm(known.prediction) * asked.sum()) ** 2
        )
    reach = lengths[-1] + lengths[:-1, None] + lengths[:-1]
    return 2 * slot * feature * share, reach


def _coordinates(table: Float[Tensor, "V1 d"]) -> Float[Tensor, "V1 c"]:
    """Turn the rows into an orthonormal basis of the space that they span, where that has fewer
    dimensions."""
    if table.shape[1] <= table.shape[0]:
        return table
    return torch.linalg.qr(table.T)[1].T  # type: ignore[no-any-return]


def _linear(values: Float[Tensor, " V1"]) -> Float[Tensor, "V V"]:
    """Give a linear function of $a=t+z_v-z_{v'}$ for all pairs from its values at the tokens and
    the trigger."""
    tokens, mark = values[:-1], values[-1]
    return mark + (tokens[:, None] - tokens)


def _quadratic(gram: Float[Tensor, "V1 V1"]) -> Float[Tensor, "V V"]:
    """Give a quadratic function of $a$ for all pairs, at least 0, from its bilinear form at the
    tokens and the trigger."""
    tokens, cross, mark = gram[:-1, :-1], gram[-1, :-1], gram[-1, -1]
    own = tokens.diagonal()
    return (mark + own[:, None] + own - 2 * tokens + 2 * (cross[:, None] - cross)).clamp(min=0)


def log_chances(
    all_margins: Margins, dim: int, geometry: Geometry = "normal"
) -> Float[Tensor, "V V"]:
    r"""Bound $\log P(a^\top w\le0)$ of all pairs from above without eigenvalues, ``(V, V)``; at
    most 0 (second bound of eq-lock-chernoff, appendix of chapter 6).

    For $0<\theta<1$ and $\lambda=\frac{\theta d}{2\|M\|_F}$ the exponent is
    $-\lambda\operatorname{tr}M+\frac{\lambda^2\|M\|_F^2}{d(1-\theta)}$. With
    $r=\operatorname{tr}M/\|M\|_F$ the best $\theta=1-\frac1{\sqrt{1+2r}}$ makes it $-\frac
    d4(\sqrt{1+2r}-1)^2$. On the sphere the diagonal of $M$ does not fluctuate and is left out of
    the norm; orthonormal embeddings leave nothing to chance."""
    trace = all_margins.trace - all_margins.slack
    if geometry == "orthonormal":
        return torch.where(trace > 0, -math.inf, 0.0).to(trace.dtype)
    square = (
        all_margins.square - all_margins.diagonal if geometry == "spherical" else all_margins.square
    )
    norm = (square.clamp(min=0) + all_margins.blur).sqrt() + all_margins.slack
    r = torch.where(trace > 0, trace / norm, 0.0)
    return -dim / 4 * ((1 + 2 * r).sqrt() - 1).square()


def refined(
    all_margins: Margins, pairs: Float[Tensor, "n 2"], dim: int, geometry: Geometry = "normal"
) -> Float[Tensor, " n"]:
    r"""Bound the same of some pairs by eigenvalues, ``(n,)``: the least $-\frac
    d2\sum_i\log(1+\frac{2\lambda\mu_i}d)$ of many $\lambda$ (first bound of eq-lock-chernoff).

    On the sphere $-\lambda\operatorname{tr}M$ and the eigenvalues of $M$ without its diagonal.
    """
    v, other = pairs.T
    form, slack = _forms(all_margins, pairs), all_margins.slack[v, other]
    trace = form.new_zeros(len(pairs))  # what does not fluctuate
    if geometry == "spherical":
        diagonal = form.diagonal(dim1=1, dim2=2)
        trace = diagonal.sum(dim=1) - slack
        form = form - torch.diag_embed(diagonal)
    mu = torch.linalg.eigvalsh(form) - slack[:, None]
    largest = dim / (2 * (-mu[:, 0]).clamp(min=1e-300))
    best = dim * (mu.sum(dim=1) + trace) / (2 * mu.square().sum(dim=1).clamp(min=1e-300))
    best = best.clamp(min=1e-300)  # without the higher orders
    shares = torch.linspace(0.02, 1, TILTS, dtype=mu.dtype, device=mu.device)
    lam = torch.minimum(0.999 * largest, 8 * best)[:, None] * shares
    exponents = -lam * trace[:, None]
    exponents = exponents - dim / 2 * torch.log1p(2 * lam[..., None] * mu[:, None] / dim).sum(dim=2)
    return exponents.amin(dim=1).clamp(max=0)


def _forms(all_margins: Margins, pairs: Float[Tensor, "n 2"]) -> Float[Tensor, "n V V"]:
    """Compute $M$ of some pairs, ``(n, V, V)``."""
    v, other = pairs.T
    a = all_margins.keys[-1] + all_margins.keys[v] - all_margins.keys[other]  # (n, c)
    return torch.einsum("klc,nc->nkl", all_margins.form, a)


def pair_chances(
    all_margins: Margins, dim: int, geometry: Geometry = "normal"
) -> Float[Tensor, "V V"]:
    r"""Bound the chance $p_{vv'}$ that each token does not outscore each other (thm-lock-given),
    ``(V, V)``; with eigenvalues for the worst pairs."""
    p = log_chances(all_margins, dim, geometry).exp()
    if geometry == "orthonormal":
        return p
    left = float(p.sum())
    for pairs in _worst(p):
        if left < ENOUGH:
            break
        v, other = pairs.T
        before = p[v, other]
        better = torch.minimum(before, refined(all_margins, pairs, dim, geometry).exp())
        p[v, other] = better
        left -= float((before - better).sum())
    return p


def _worst(sizes: Float[Tensor, "V V"]) -> Iterator[Tensor]:
    """Give the pairs whose eigenvalues are found, from the largest size on, a batch at a time."""
    vocab = len(sizes)
    order = sizes.flatten().argsort(descending=True)[: max(FEWEST, EIGENVALUES // vocab**3)]
    for batch in torch.split(order, max(1, BATCH * 256**2 // max(vocab, 256) ** 2)):
        yield torch.stack([batch // vocab, batch % vocab], dim=1)


def lock_at_most(
    all_margins: Margins, dim: int, geometry: Geometry, others: Float[Tensor, " V"], count: int
) -> Float[Tensor, " V"]:
    r"""Bound the chance $A_v$ that none of ``count`` tokens of the law ``others`` outscores $v$,
    ``(V,)`` (prop-upper-draw, proofs of what three steps need).

    Of a sequence's pairs the least bound on $P(a^\top w\ge0)$ counts; its mean over sequences is
    a sum over each row in order. Eigenvalues are found where they should gain most, by the normal
    law.
    """
    turned = all_margins._replace(keys=-all_margins.keys, trace=-all_margins.trace)  # -M
    p = log_chances(turned, dim, geometry).exp()
    if geometry != "orthonormal":
        spread = (dim / 2 / (all_margins.square + all_margins.blur)).sqrt()
        guess = torch.from_numpy(special.ndtr((all_margins.trace * spread).numpy()))
        _, which, shares = _least(guess, others, count)
        for pairs in _worst(shares.scatter(1, which, shares) * (p - guess)):
            v, other = pairs.T
            better = (
                above_zero(all_margins, pairs, dim)
                if geometry == "normal"
                else refined(turned, pairs, dim, geometry).exp()
            )
            p[v, other] = torch.minimum(p[v, other], better)
    ordered, _, shares = _least(p, others, count)
    return (ordered * shares).sum(dim=1)


def _least(
    chances: Float[Tensor, "V V"], others: Float[Tensor, " V"], count: int
) -> tuple[Float[Tensor, "V V"], Int[Tensor, "V V"], Float[Tensor, "V V"]]:
    r"""Order each row: $P_{(j)}$ rising, the tokens in this order, and how often each is the first
    of ``count`` tokens, $S_j^{L-1}-S_{j+1}^{L-1}$ (prop-upper-draw, step 1)."""
    ordered, which = chances.sort(dim=1)
    share = others[which].flip(1).cumsum(dim=1).flip(1)
    later = (share / share[:, :1]) ** count  # the first is 1: a power would magnify its rounding
    return ordered, which, -torch.diff(later, append=torch.zeros_like(later[:, :1]))


def above_zero(all_margins: Margins, pairs: Float[Tensor, "n 2"], dim: int) -> Float[Tensor, " n"]:
    r"""Bound $P(a^\top w\ge0)$ of some pairs from above, nearly exactly, over Gaussian output
    embeddings, ``(n,)`` (lem-upper-chance, eq-upper-poisson, proofs of what three steps need).

    $\frac h{2\pi}\sum_n\frac{e^{K(\lambda+inh)}}{\lambda+inh}$ with $K(s)=-\frac
    d2\sum_i\log(1-s\nu_i)$, $\nu_i=\frac{2\mu_i}d$, and $h$ = ``STEP`` $\lambda$. Of $n$ and $-n$,
    below ``NODES``, the real part counts twice; the terms beyond fall like $n^{-\rho-1}$."""
    v, other = pairs.T
    mu = torch.linalg.eigvalsh(_forms(all_margins, pairs)) + all_margins.slack[v, other][:, None]
    nu = 2 / dim * mu
    lam, logs = _least_term(nu, dim)
    nh = STEP * torch.arange(NODES, dtype=nu.dtype, device=nu.device) * lam
    tilted = nu / (1 - lam * nu)
    logs = logs + torch.log(1 - 1j * nh[..., None] * tilted[:, None]).sum(dim=2)
    terms = (-dim / 2 * logs).exp() / (1 + 1j * nh / lam)  # times lambda
    whole = STEP / math.pi * (terms.real.sum(dim=1) - terms[:, 0].real / 2)
    square = (nh[:, -1:] * tilted).square()  # of x_i at the last n
    rho = dim / 2 * (square / (1 + square)).sum(dim=1)
    return torch.clamp(whole + terms[:, -1].abs() * NODES * STEP / math.pi / rho, max=1)


def _least_term(
    nu: Float[Tensor, "n V"], dim: int
) -> tuple[Float[Tensor, "n 1"], Float[Tensor, "n 1"]]:
    r"""Choose of many $\lambda$ the one at which $e^{K(\lambda)}/\lambda$ is least; with
    $\sum_i\log(1-\lambda\nu_i)$ there."""
    spread = (dim / 2 * nu.square().sum(dim=1)).sqrt()
    lam = torch.logspace(-1, 1.3, TILTS, dtype=nu.dtype, device=nu.device) / spread[:, None]
    lam = torch.minimum(lam, 0.9 / nu[:, -1:].clamp(min=1e-300))
    logs = torch.log1p(-lam[..., None] * nu[:, None]).sum(dim=2)
    best = (-dim / 2 * logs - lam.log()).argmin(dim=1, keepdim=True)
    return lam.gather(1, best), logs.gather(1, best)
