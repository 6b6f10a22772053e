r"""The way around the bound: an exactly known initial gradient determines the counts behind it.

$NL\,G=\sum_{kv}C_{kv}\,\tilde u_kx_v^\top$ with $x_v=z_v+\frac\tau Lt$ and integer counts $C_{kv}$
of token $v$ under label $k$: $V^2$ small integers hidden in $d^2$ real numbers, found by lattice
reduction. Attention-only. Ours."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import torch
from numpy.typing import NDArray

from recallbook.arguments import check_rate, check_size, not_allowed
from recallbook.data.residuals import centred_labels
from recallbook.data.task import Problem, check_problem

Table = NDArray[np.object_]  # of fractions, which are exact
exactly = np.vectorize(Fraction, otypes=[object])


def count_table(problem: Problem) -> NDArray[np.int64]:
    r"""$C_{kv}$: how often token $v$ occurs in sequences with label $k$, shape ``(V, V)``."""
    counts = np.zeros((problem.setting.vocab,) * 2, dtype=np.int64)
    labels = problem.labels.cpu().numpy()[:, None]
    np.add.at(
        counts, (np.broadcast_to(labels, problem.tokens.shape), problem.tokens.cpu().numpy()), 1
    )
    return counts


def exact_products(problem: Problem) -> Table:
    r"""Every $\tilde u_kx_v^\top$ as exact fractions of the stored embeddings, shape ``(V, V, d,
    d)``."""
    setting = problem.setting
    outputs, inputs = (
        exactly(e.cpu().numpy()) for e in (problem.output_embeddings, problem.input_embeddings)
    )
    if setting.trigger_in_values:
        inputs = inputs + exactly(problem.trigger.cpu().numpy()) / setting.seq_len
    centred = outputs - outputs.sum(axis=0) / setting.vocab
    return np.asarray(np.einsum("ka,vb->kvab", centred, inputs))


def exact_gradient(problem: Problem, products: Table) -> Table:
    r"""$NL\,G$ without any rounding, ``(d, d)``; ``products`` from :func:`exact_products`."""
    return np.asarray(np.einsum("kv,kvab->ab", count_table(problem).astype(object), products))


def error_of_reading(
    problem: Problem, reading_error: float, generator: np.random.Generator
) -> NDArray[np.float64]:
    r"""$NL\,W$, ``(d, d)``: Gaussian, of ``reading_error`` $=c$ times the covariance of $NL\,G$
    given the labels.

    That covariance is $N(L-1)\,S_U\otimes\Sigma_Z$; zero at $L=1$. Attention-only.

    Raises
    ------
    ValueError
        ``reading_error`` not a finite number above 0.
    """
    problem.setting.require_equal("errors are those of reading a plain gradient of uniform tokens")
    setting, scale = problem.setting, check_rate("reading_error", reading_error) ** 0.5
    counts = np.bincount(problem.labels.cpu().numpy(), minlength=setting.vocab)
    labels = (
        centred_labels(problem).cpu().numpy() * counts[:, None] ** 0.5
    )  # products of rows add up to N S_U
    tokens = (
        problem.input_embeddings - problem.input_embeddings.mean(dim=0)
    ).cpu().numpy() / setting.vocab**0.5
    white = generator.standard_normal((setting.vocab, setting.vocab))
    return np.asarray(scale * (setting.seq_len - 1) ** 0.5 * (labels.T @ white @ tokens))


def lattice_counts(
    problem: Problem, bits: int, gradient: torch.Tensor | None = None
) -> NDArray[np.int64]:
    r"""$C_{kv}$ less the smallest of its column, ``(V, V)``, from the gradient to ``bits`` binary
    digits.

    ``gradient``: as :func:`recallbook.initial_gradient` computed it; ``None`` is the exact one.
    Digits count from the largest entry; the rest is rounded away.

    Looks for the small integers $C_{kv}-\frac{NL}{V^2}$ whose sum of products is the gradient: a
    short vector of the lattice of dimension $V^2+1$ in which a mismatch of one unit in the last
    digit costs as much as one count (Kannan's embedding of the closest-vector problem). Each column
    of $C$ is found up to a constant, since $\sum_k\tilde u_k=0$; its largest entry is at the label
    of $v$ if the counts say so. Cost grows like a high power of $V$: tiny sizes only.

    Raises
    ------
    ValueError
        ``bits`` not a size, the problem has an MLP, or ``vocab`` is above 12.
    """
    from flint import fmpz_mat  # only here: the rest of the package needs no lattices

    bits, problem = check_size("bits", bits), check_problem(problem)
    setting = problem.setting
    if setting.width is not None:
        raise not_allowed(
            "width",
            setting.width,
            "None, since with the MLP the gradient is no sum of counts of tokens",
        )
    setting.require_equal("counts are looked for around equal ones")
    if setting.vocab > 12:
        raise not_allowed("vocab", setting.vocab, "at most 12: lattice reduction is slow")
    products = exact_products(problem)
    if gradient is None:
        target = exact_gradient(problem, products)
    else:
        target = exactly(gradient.cpu().numpy()) * (setting.samples * setting.seq_len)
    start = round(Fraction(setting.samples * setting.seq_len, setting.vocab**2))
    missing = target - start * products.sum(axis=(0, 1))
    entries: list[Fraction] = target.flatten().tolist()
    unit = (max(map(abs, entries)) or Fraction(1)) / 2**bits
    known = np.vectorize(lambda entry: round(entry / unit), otypes=[object])
    rows = known(products).reshape(setting.vocab**2, -1)
    unknowns = len(rows)
    weight = max(1, start)  # of the row that carries the target, about as long as a count
    basis = np.zeros((unknowns + 1, unknowns + 1 + rows.shape[1]), dtype=object)
    basis[:unknowns, :unknowns] = np.eye(unknowns, dtype=int)
    basis[:unknowns, unknowns + 1 :] = rows
    basis[unknowns, unknowns], basis[unknowns, unknowns + 1 :] = weight, -known(missing).flatten()
    reduced = np.array(
        fmpz_mat([[int(x) for x in row] for row in basis]).lll().tolist(), dtype=object
    )
    found = reduced[[abs(int(row[unknowns])) == weight for row in reduced]]
    if len(found) == 0:
        return np.zeros((setting.vocab, setting.vocab), dtype=np.int64)  # no candidate
    shortest = min(found, key=lambda row: sum(int(x) ** 2 for x in row))
    counts = (shortest[:unknowns] * int(np.sign(int(shortest[unknowns])))).reshape(
        setting.vocab, setting.vocab
    )
    return np.asarray(counts - counts.min(axis=0), dtype=np.int64)
