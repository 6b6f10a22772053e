r"""The loss written out at tiny sizes, its derivatives entry by entry, and the matrix forms they
must equal.

Attention-only. Two independent routes to the same gradient: SymPy's derivative of :func:`loss`,
and the matrix forms that the package evaluates. :func:`vanishes` decides whether their difference
is zero, exactly. Derivations in the chapter on gradients; ours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import sympy as sp


@dataclass(frozen=True, eq=False)
class TinyModel:
    r"""A batch and its embeddings as SymPy matrices.

    Attributes
    ----------
    tokens, positions, labels
        $x_{ij}$ as $N$ sequences of length $L$, $\ell_i$ and $y_i$; all count from 0.
    inputs, outputs : Matrix ``(V, d)``
        $Z$ and $U$.
    trigger, query : Matrix ``(d, 1)``
        $t$ and $z_{\rm EOS}$.
    trigger_in_values : bool
        $\tau$: whether the values $e'_{ij}$ are the keys or only $z_{x_{ij}}$.
    """

    tokens: Sequence[Sequence[int]]
    positions: Sequence[int]
    labels: Sequence[int]
    inputs: sp.Matrix
    outputs: sp.Matrix
    trigger: sp.Matrix
    query: sp.Matrix
    trigger_in_values: bool

    def keys(self, i: int, marked: bool = True) -> sp.Matrix:
        r"""$e_{ij}=z_{x_{ij}}+\mathbf 1\{j=\ell_i\}t$ of sequence $i$ as rows, ``(L, d)``; or without
        $t$."""
        rows = [self.inputs.row(token) for token in self.tokens[i]]
        rows[self.positions[i]] += int(marked) * self.trigger.T
        return sp.Matrix.vstack(*rows)

    def values(self, i: int) -> sp.Matrix:
        """$e'_{ij}$ of sequence $i$ as rows, ``(L, d)``."""
        return self.keys(i, self.trigger_in_values)


def letters(name: str, rows: int, columns: int) -> sp.Matrix:
    """A matrix with a letter in each entry: what holds for it holds for all."""
    return sp.Matrix(rows, columns, lambda a, b: sp.Symbol(f"{name}_{a}{b}", real=True))


# Route one: the loss, and nothing but differentiation


def loss(model: TinyModel, value: sp.Matrix, key_query: sp.Matrix) -> sp.Expr:
    r"""$\hat{\mathcal L}=\frac1N\sum_i\big(\log\sum_k e^{u_k^\top W_Vh_i}-u_{y_i}^\top
    W_Vh_i\big)$, term by term."""
    total = sp.Integer(0)
    for i, label in enumerate(model.labels):
        logits = model.outputs * value * located(model, i, key_query)
        total += sp.log(sum(sp.exp(logit) for logit in logits)) - logits[label]
    return total / len(model.labels)


# Route two: matrix forms


def attention(model: TinyModel, i: int, key_query: sp.Matrix) -> sp.Matrix:
    r"""$a_{ij}=\mathrm{softmax}_j(e_{ij}^\top W_{KQ}z_{\rm EOS})$, ``(L, 1)``."""
    return _softmax(model.keys(i) * key_query * model.query)


def located(model: TinyModel, i: int, key_query: sp.Matrix) -> sp.Matrix:
    r"""$h_i=\sum_ja_{ij}e'_{ij}$, ``(d, 1)``."""
    return model.values(i).T * attention(model, i, key_query)


def residual(model: TinyModel, i: int, value: sp.Matrix, key_query: sp.Matrix) -> sp.Matrix:
    r"""$U^\top r_i$ with $r_i=\mathbf 1_{y_i}-p_i$, ``(d, 1)``."""
    predicted = _softmax(model.outputs * value * located(model, i, key_query))
    return model.outputs.row(model.labels[i]).T - model.outputs.T * predicted


def value_descent(model: TinyModel, value: sp.Matrix, key_query: sp.Matrix) -> sp.Matrix:
    r"""$-\nabla_{W_V}\hat{\mathcal L}=\frac1N\sum_iU^\top r_i\,h_i^\top$, ``(d, d)``, at any
    weights."""
    return _mean(
        residual(model, i, value, key_query) * located(model, i, key_query).T
        for i in range(len(model.labels))
    )


def key_query_descent(model: TinyModel, value: sp.Matrix, key_query: sp.Matrix) -> sp.Matrix:
    r"""$-\nabla_{W_{KQ}}\hat{\mathcal L}=\frac1N\sum_i\mathrm{Cov}_i(e,e')\,W_V^\top U^\top
    r_i\,z_{\rm EOS}^\top$, ``(d, d)``, at any weights.

    $\mathrm{Cov}_i(e,e')=E_i^\top\big(\mathrm{diag}(a_i)-a_ia_i^\top\big)E'_i$ under attention."""
    terms = []
    for i in range(len(model.labels)):
        weights = attention(model, i, key_query)
        spread = sp.diag(*weights) - weights * weights.T
        covariance = model.keys(i).T * spread * model.values(i)
        terms.append(covariance * value.T * residual(model, i, value, key_query))
    return _mean(terms) * model.query.T


def _mean(terms: Iterable[sp.Matrix]) -> sp.Matrix:
    first, *others = terms
    return sum(others, first) / (1 + len(others))


# Comparing the two routes


def vanishes(expression: sp.Expr | sp.Matrix) -> bool:
    """Whether ``expression`` is zero, by expanding the numerator of what is left over one
    denominator.

    ``True`` is a proof. ``False`` may be due to an identity that SymPy does not see."""
    entries = list(expression) if isinstance(expression, sp.MatrixBase) else [expression]
    return all(sp.expand(sp.numer(sp.together(entry))) == 0 for entry in entries)


def _softmax(scores: sp.Matrix) -> sp.Matrix:
    powers = scores.applyfunc(sp.exp)
    return powers / sum(powers)
