r"""Lock-on over fresh output embeddings, given tokens, input embeddings and neurons: Chernoff
bounds for all pairs.

The informative token $v$ outscores another token $v'$ of its sequence if the margin $a^\top w$ is
positive, $a=t+z_v-z_{v'}$. With $C$ the centring over labels the margin is a quadratic form of the
columns of $U$, $$a^\top w=\sum_{i\le d}U_{\cdot i}^\top M\,U_{\cdot i},\qquad
M=\operatorname{sym}C\,S(a)\,m^\top C,$$ linear in $a$; with loss weights or an output bias, $C$ is
$R^\top$ on the left and $R$ on the right (``onto_labels_`` of :mod:`recallbook.data.residuals`).
$S_k(a)=\frac1N\sum_{i:y_i=k}J_i\Sigma_i^\top a$ and $m_l=\frac1N\sum_{j:y_j=l}g(\bar e'_j)$, with
$\Sigma_i=\frac1L\sum_j(e_{ij}-\bar e_i)(e'_{ij}-\bar e'_i)^\top$ and $J_i$ the features' Jacobian.
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

LARGEST_FORM = 1_200_000_000  # numbers in the form of all margins: 10 GB
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


def margins(problem: Problem) -> Margins:
    r"""Margins of all pairs. Costs $V^2dc$, $c=\min(d,V+1)$ coordinates, and $V^2c$ numbers; $d\to
    m$ with the MLP."""
    setting = problem.setting
    vocab, scale = setting.vocab, 1.0 / setting.samples
    keys = _coordinates(torch.cat([problem.input_embeddings, problem.trigger[None]]))
    means = keys.new_zeros(
        vocab, setting.feature_dim if setting.width is not None else keys.shape[1]
    )
    slopes, steepest = [], 1.0  # of each label: features by coordinates
    for label, means_of, slope, steep in _by_label(problem, keys):
        means[label], steepest = means_of * scale, max(steepest, steep)
        slopes.append((label, slope * scale))
    centred = onto_labels_(problem, means)
    form = keys.new_zeros(vocab, vocab, keys.shape[1])
    for label, slope in slopes:
        form[label] = centred @ slope
    form = onto_labels_(problem, form)
    form += form.transpose(0, 1).clone()
    form /= 2
    flat, diagonal = form.flatten(0, 1), form.diagonal(dim1=0, dim2=1).T  # (V V, c), (V, c)
    unit, size, reach = _sizes(problem, keys, steepest)
    return Margins(
        form,
        keys,
        _linear(keys @ diagonal.sum(dim=0)),
        _quadratic(keys @ (flat.T @ flat) @ keys.T),
        _quadratic(keys @ (diagonal.T @ diagonal) @ keys.T),
        unit * size * reach,
        (unit + ROUNDING * vocab**2) * float(form.square().sum()) * reach.square(),
    )


def _sizes(
    problem: Problem, keys: Float[Tensor, "V1 c"], steepest: float
) -> tuple[float, float, Float[Tensor, "V V"]]:
    r"""Rounding per unit of size, the size of $M$ per unit of $a$ before anything cancels, and that
    of $a$ for pairs.

    No sum has more terms than all slots of one label, tokens, features and coordinates together. A
    slot's value times its key is at most ``slot``, a feature of a sequence at most ``feature``, and
    label $k$ adds up $f_k$ of either. With loss weights or a bias, $\|R^\top X\|\le\|\omega
    X\|+\|c\|\sum_k\omega_k\|X_k\|$."""
    counts = torch.bincount(problem.labels, minlength=problem.setting.vocab)
    terms = (
        int(counts.max()) * problem.setting.seq_len
        + 2 * len(keys)
        + problem.setting.feature_dim
        + keys.shape[1]
    )
    lengths = torch.linalg.vector_norm(keys, dim=1)
    longest, scale = float(lengths[:-1].max() + lengths[-1]), 1.0
    if problem.mlp_weights is not None:  # |W_in| / sqrt(m) times the steepest slope of phi
        scale = (
            steepest
            * float(torch.linalg.norm(problem.mlp_weights))
            / problem.mlp_weights.shape[0] ** 0.5
        )
    offset = (
        0.0 if problem.mlp_weights is None else float(problem.setting.phi(keys.new_zeros(1)).abs())
    )
    slot, feature = 2 * scale * longest**2, scale * longest + offset
    share = float((counts / problem.setting.samples).square().sum())
    if not problem.setting.plain_steps:
        known = residuals(problem)
        asked = known.weights * counts / problem.setting.samples
        share = (
            float(torch.linalg.norm(asked) + torch.linalg.norm(known.prediction) * asked.sum()) ** 2
        )
    return (
        ROUNDING * terms,
        2 * slot * feature * share,
        lengths[-1] + lengths[:-1, None] + lengths[:-1],
    )


def _coordinates(table: Float[Tensor, "V1 d"]) -> Float[Tensor, "V1 c"]:
    """The rows in an orthonormal basis of the space that they span, where that has fewer
    dimensions."""
    if table.shape[1] <= table.shape[0]:
        return table
    return torch.linalg.qr(table.T)[1].T  # type: ignore[no-any-return]


def _by_label(
    problem: Problem, keys: Float[Tensor, "V1 c"]
) -> Iterator[tuple[int, Float[Tensor, " m"], Float[Tensor, "m c"], float]]:
    r"""For each label met: sums over its sequences of features and of $J\Sigma^\top$, and the
    steepest slope."""
    setting, mlp = problem.setting, problem.mlp_weights
    vocab, length, tau = setting.vocab, setting.seq_len, float(setting.trigger_in_values)
    tokens, mark = keys[:-1], keys[-1]
    values, trigger = (
        (tokens, mark)
        if mlp is None
        else (problem.input_embeddings @ mlp.T, problem.trigger @ mlp.T)
    )
    for label in torch.bincount(problem.labels).nonzero()[:, 0].tolist():
        rows = (problem.labels == label).nonzero()[:, 0]
        told, asked = (
            problem.tokens[rows].long(),
            int(problem.tokens[rows[0], problem.positions[rows[0]]]),
        )
        counts = keys.new_zeros(len(rows), vocab).scatter_add_(
            1, told, keys.new_ones(told.shape)
        )  # (n, V)
        mean_key, mean_value = (
            (counts @ tokens + mark) / length,
            (counts @ values + tau * trigger) / length,
        )
        if mlp is None:
            gains = torch.ones_like(mean_value)
            weighted = counts.sum(dim=0)[:, None] * values
        else:
            gains = _slopes(problem, mean_value)
            weighted = (counts.T @ gains) * values
        # slots by token, then what the mark adds to its own slot, less the mean
        slope = weighted.T @ tokens + torch.outer(gains.sum(dim=0) * values[asked], mark)
        slope += tau * torch.outer(gains.sum(dim=0) * trigger, tokens[asked] + mark)
        slope = slope / length - (gains * mean_value).T @ mean_key
        if mlp is None:
            yield label, mean_value.sum(dim=0), slope, 1.0
        else:
            images = setting.phi(mean_value).sum(dim=0) / mlp.shape[0] ** 0.5
            yield label, images, slope / mlp.shape[0] ** 0.5, float(gains.abs().max())


def _slopes(problem: Problem, inputs: Float[Tensor, "n m"]) -> Float[Tensor, "n m"]:
    r"""$\phi'$ at the inputs, by autograd: any activation will do."""
    return differentiated(problem.setting.phi, inputs)[1](torch.ones_like(inputs))


def _linear(values: Float[Tensor, " V1"]) -> Float[Tensor, "V V"]:
    """A linear function of $a=t+z_v-z_{v'}$ for all pairs from its values at the tokens and the
    trigger."""
    tokens, mark = values[:-1], values[-1]
    return mark + (tokens[:, None] - tokens)


def _quadratic(gram: Float[Tensor, "V1 V1"]) -> Float[Tensor, "V V"]:
    """A quadratic function of $a$ for all pairs, at least 0, from its bilinear form at the tokens
    and the trigger."""
    tokens, cross, mark = gram[:-1, :-1], gram[-1, :-1], gram[-1, -1]
    own = tokens.diagonal()
    return (mark + own[:, None] + own - 2 * tokens + 2 * (cross[:, None] - cross)).clamp(min=0)


def log_chances(found: Margins, dim: int, geometry: Geometry = "normal") -> Float[Tensor, "V V"]:
    r"""Upper bounds on $\log P(a^\top w\le0)$ for all pairs, without eigenvalues; at most 0.

    For $0<\theta<1$ and $\lambda=\frac{\theta d}{2\|M\|_F}$ the exponent is
    $-\lambda\operatorname{tr}M+\frac{\lambda^2\|M\|_F^2}{d(1-\theta)}$. With
    $r=\operatorname{tr}M/\|M\|_F$ the best $\theta=1-\frac1{\sqrt{1+2r}}$ makes it $-\frac
    d4(\sqrt{1+2r}-1)^2$. On the sphere the diagonal of $M$ does not fluctuate and is left out of
    the norm; orthonormal embeddings leave nothing to chance."""
    trace = found.trace - found.slack
    if geometry == "orthonormal":
        return torch.where(trace > 0, -math.inf, 0.0).to(trace.dtype)
    square = found.square - found.diagonal if geometry == "spherical" else found.square
    norm = (square.clamp(min=0) + found.blur).sqrt() + found.slack
    ratio = torch.where(trace > 0, trace / norm, 0.0)
    return -dim / 4 * ((1 + 2 * ratio).sqrt() - 1).square()


def refined(
    found: Margins, pairs: Float[Tensor, "n 2"], dim: int, geometry: Geometry = "normal"
) -> Float[Tensor, " n"]:
    r"""The same for some pairs from eigenvalues: the least $-\frac
    d2\sum_i\log(1+\frac{2\lambda\mu_i}d)$ of many.

    On the sphere $-\lambda\operatorname{tr}M$ and the eigenvalues of $M$ without its diagonal.
    """
    first, second = pairs.T
    matrices = _matrices(found, pairs)
    shift = torch.zeros(len(pairs), dtype=matrices.dtype)
    slack = found.slack[first, second]
    if geometry == "spherical":
        shift = matrices.diagonal(dim1=1, dim2=2).sum(dim=1) - slack
        matrices = matrices - torch.diag_embed(matrices.diagonal(dim1=1, dim2=2))
    values = torch.linalg.eigvalsh(matrices) - slack[:, None]
    largest = dim / (2 * (-values[:, 0]).clamp(min=1e-300))
    spread = values.square().sum(dim=1).clamp(min=1e-300)
    best = (dim * (values.sum(dim=1) + shift) / (2 * spread)).clamp(
        min=1e-300
    )  # without the higher orders
    tilts = torch.minimum(0.999 * largest, 8 * best)[:, None] * torch.linspace(
        0.02, 1, TILTS, dtype=values.dtype
    )
    exponents = -tilts * shift[:, None]
    exponents = exponents - dim / 2 * torch.log1p(
        2 * tilts[..., None] * values[:, None, :] / dim
    ).sum(dim=2)
    return exponents.amin(dim=1).clamp(max=0)


def _matrices(found: Margins, pairs: Float[Tensor, "n 2"]) -> Float[Tensor, "n V V"]:
    """$M$ of some pairs."""
    first, second = pairs.T
    direction = found.keys[-1] + found.keys[first] - found.keys[second]  # (n, c)
    return torch.einsum("klc,nc->nkl", found.form, direction)


def pair_chances(found: Margins, dim: int, geometry: Geometry = "normal") -> Float[Tensor, "V V"]:
    """Upper bounds on the chance that each pair is on the wrong side; with eigenvalues for the
    worst pairs."""
    chances = log_chances(found, dim, geometry).exp()
    if geometry == "orthonormal":
        return chances
    left = float(chances.sum())
    for pairs in _worst(chances):
        if left < ENOUGH:
            break
        first, second = pairs.T
        before = chances[first, second]
        better = torch.minimum(before, refined(found, pairs, dim, geometry).exp())
        chances[first, second] = better
        left -= float((before - better).sum())
    return chances


def _worst(sizes: Float[Tensor, "V V"]) -> Iterator[Tensor]:
    """The pairs whose eigenvalues are found, from the largest size on, a batch at a time."""
    vocab = len(sizes)
    order = sizes.flatten().argsort(descending=True)[: max(FEWEST, EIGENVALUES // vocab**3)]
    for batch in torch.split(order, max(1, BATCH * 256**2 // max(vocab, 256) ** 2)):
        yield torch.stack([batch // vocab, batch % vocab], dim=1)


def lock_at_most(
    found: Margins, dim: int, geometry: Geometry, others: Float[Tensor, " V"], count: int
) -> Float[Tensor, " V"]:
    r"""Upper bounds on the chance that none of ``count`` tokens of the law ``others`` outscores
    each informative token, ``(V,)``.

    Of a sequence's pairs the least bound on $P(a^\top w\ge0)$ counts; its mean over sequences is
    a sum over each row in order. Eigenvalues are found where they should gain most, by the normal
    law.
    """
    turned = found._replace(keys=-found.keys, trace=-found.trace)
    chances = log_chances(turned, dim, geometry).exp()
    if geometry != "orthonormal":
        guess = special.ndtr((found.trace * (dim / 2 / (found.square + found.blur)).sqrt()).numpy())
        _, which, shares = _least(torch.from_numpy(guess), others, count)
        gains = shares.scatter(1, which, shares) * (chances - torch.from_numpy(guess))
        for pairs in _worst(gains):
            first, second = pairs.T
            better = (
                above_zero(found, pairs, dim)
                if geometry == "normal"
                else refined(turned, pairs, dim, geometry).exp()
            )
            chances[first, second] = torch.minimum(chances[first, second], better)
    ordered, _, shares = _least(chances, others, count)
    return (ordered * shares).sum(dim=1)


def _least(
    chances: Float[Tensor, "V V"], others: Float[Tensor, " V"], count: int
) -> tuple[Float[Tensor, "V V"], Int[Tensor, "V V"], Float[Tensor, "V V"]]:
    """Each row in rising order, the tokens in this order, and how often each is the first of
    ``count`` tokens."""
    ordered, which = chances.sort(dim=1)
    later = others[which].flip(1).cumsum(dim=1).flip(1) ** count
    return ordered, which, -torch.diff(later, append=torch.zeros_like(later[:, :1]))


def above_zero(found: Margins, pairs: Float[Tensor, "n 2"], dim: int) -> Float[Tensor, " n"]:
    r"""Upper bounds on $P(a^\top w\ge0)$, nearly exact, for some pairs over Gaussian output
    embeddings.

    With $K(s)=-\frac d2\sum_i\log(1-\frac{2s\mu_i}d)$ the sum $\frac
    h{2\pi}\sum_n\frac{e^{K(\lambda+inh)}}{\lambda+inh}$ over all $n$ is $\sum_ke^{2\pi
    k\lambda/h}P(a^\top w\ge\frac{2\pi k}h)$ by Poisson's formula: no term is negative, and $k=0$
    is what is wanted. What is left out beyond ``NODES`` is bounded.
    """
    first, second = pairs.T
    values = torch.linalg.eigvalsh(_matrices(found, pairs))
    values = 2 / dim * (values + found.slack[first, second][:, None])
    spread = (dim / 2 * values.square().sum(dim=1)).sqrt()
    # where e^K / lambda is least, nearly
    tilts = torch.logspace(-1, 1.3, TILTS, dtype=values.dtype) / spread[:, None]
    tilts = torch.minimum(tilts, 0.9 / values[:, -1:].clamp(min=1e-300))
    logs = torch.log1p(-tilts[..., None] * values[:, None]).sum(dim=2)
    best = (-dim / 2 * logs - tilts.log()).argmin(dim=1, keepdim=True)
    tilt = tilts.gather(1, best)
    places = STEP * torch.arange(NODES, dtype=values.dtype) * tilt
    slopes = values / (1 - tilt * values)  # of a tilted variable
    turns = torch.log(1 - 1j * places[..., None] * slopes[:, None]).sum(dim=2)
    sizes = (-dim / 2 * (logs.gather(1, best) + turns)).exp() / (1 + 1j * places / tilt)
    last = (places[:, -1:] * slopes).square()
    falls = dim / 2 * (last / (1 + last)).sum(dim=1)
    whole = STEP / math.pi * (sizes.real.sum(dim=1) - sizes[:, 0].real / 2)
    return torch.clamp(whole + sizes[:, -1].abs() * NODES * STEP / math.pi / falls, max=1)
