r"""The loss written out at tiny sizes, its derivatives entry by entry, and the matrix forms they
must equal.

Attention-only. Two independent routes to the same gradient: :func:`loss` with
:func:`explicit_descent`, which knows nothing but differentiation, and the matrix forms that the
package evaluates. :func:`vanishes` decides whether their difference is zero, exactly. Derivations
in the chapter on gradients; ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import sympy as sp

if TYPE_CHECKING:
    from torch import Tensor

    from recallbook.data.task import Problem


@dataclass(frozen=True, eq=False)
class TinyModel:
    r"""A batch and its embeddings as SymPy matrices; keys are $e_{ij}=z_{x_{ij}}+\mathbf
    1\{j=\ell_i\}t$.

    Attributes
    ----------
    tokens, positions, labels
        $x_{ij}$ as $N$ tuples of length $L$, $\ell_i$ and $y_i$; all count from 0.
    inputs, outputs : Matrix ``(V, d)``
        $Z$ and $U$.
    trigger, query : Matrix ``(d, 1)``
        $t$ and $z_{\rm EOS}$.
    trigger_in_values : bool
        $\tau$: whether the values $e'_{ij}$ are the keys or only $z_{x_{ij}}$.
    """

    tokens: tuple[tuple[int, ...], ...]
    positions: tuple[int, ...]
    labels: tuple[int, ...]
    inputs: sp.Matrix
    outputs: sp.Matrix
    trigger: sp.Matrix
    query: sp.Matrix
    trigger_in_values: bool

    def keys(self, i: int) -> sp.Matrix:
        """$e_{ij}$ of sequence $i$ as rows, ``(L, d)``."""
        rows = [self.inputs.row(token) for token in self.tokens[i]]
        rows[self.positions[i]] += self.trigger.T
        return sp.Matrix.vstack(*rows)

    def values(self, i: int) -> sp.Matrix:
        """$e'_{ij}$ of sequence $i$ as rows, ``(L, d)``."""
        if self.trigger_in_values:
            return self.keys(i)
        return sp.Matrix.vstack(*(self.inputs.row(token) for token in self.tokens[i]))

    def one_hot(self, i: int) -> sp.Matrix:
        """The label of sequence $i$, ``(V, 1)``."""
        return sp.Matrix([int(k == self.labels[i]) for k in range(self.outputs.rows)])


def lettered_model(
    tokens: Sequence[Sequence[int]],
    positions: Sequence[int],
    labels: Sequence[int],
    *,
    vocab: int,
    dim: int,
    trigger_in_values: bool = False,
) -> TinyModel:
    """A tiny model in which every coordinate of every embedding is a letter: what holds here holds
    for all of them."""
    names = [("z", vocab), ("u", vocab), ("t", 1), ("zeta", 1)]
    z, u, t, query = (
        sp.Matrix(rows, dim, lambda v, a, s=s: sp.Symbol(f"{s}_{v}{a}", real=True))
        for s, rows in names
    )
    batch = tuple(tuple(row) for row in tokens)
    return TinyModel(batch, tuple(positions), tuple(labels), z, u, t.T, query.T, trigger_in_values)


def exact_model(problem: Problem) -> TinyModel:
    """The tiny model of a drawn problem: a floating-point number is a rational one, so nothing is
    rounded."""

    def matrix(tensor: Tensor) -> sp.Matrix:
        rows = tensor.reshape(len(tensor), -1).tolist()
        return sp.Matrix([[sp.Rational(entry) for entry in row] for row in rows])

    return TinyModel(
        tokens=tuple(tuple(row) for row in problem.tokens.tolist()),
        positions=tuple(problem.positions.tolist()),
        labels=tuple(problem.labels.tolist()),
        inputs=matrix(problem.input_embeddings),
        outputs=matrix(problem.output_embeddings),
        trigger=matrix(problem.trigger),
        query=matrix(problem.query),
        trigger_in_values=problem.setting.trigger_in_values,
    )


def weight_letters(dim: int) -> tuple[sp.Matrix, sp.Matrix]:
    """$W_V$ and $W_{KQ}$ with a letter in each entry, ``(d, d)`` both."""
    value, key_query = (
        sp.Matrix(dim, dim, lambda a, b, s=s: sp.Symbol(f"{s}_{a}{b}", real=True)) for s in "vk"
    )
    return value, key_query


# Route one: the loss, and nothing but differentiation


def loss(model: TinyModel, value: sp.Matrix, key_query: sp.Matrix) -> sp.Expr:
    r"""$\hat{\mathcal L}=\frac1N\sum_i\big(\log\sum_k e^{u_k^\top W_Vh_i}-u_{y_i}^\top
    W_Vh_i\big)$, term by term."""
    total = sp.Integer(0)
    for i, label in enumerate(model.labels):
        logits = model.outputs * value * located(model, i, key_query)
        total += sp.log(sum(sp.exp(logit) for logit in logits)) - logits[label]
    return total / len(model.labels)


def explicit_descent(expression: sp.Expr, matrix: sp.Matrix) -> sp.Matrix:
    """Minus the derivative of ``expression`` in each entry of a matrix of letters, one at a
    time."""
    return matrix.applyfunc(lambda entry: -sp.diff(expression, entry))


# Route two: matrix forms


def attention(model: TinyModel, i: int, key_query: sp.Matrix) -> sp.Matrix:
    r"""$a_{ij}=\mathrm{softmax}_j(e_{ij}^\top W_{KQ}z_{\rm EOS})$, ``(L, 1)``."""
    return _softmax(model.keys(i) * key_query * model.query)


def located(model: TinyModel, i: int, key_query: sp.Matrix) -> sp.Matrix:
    r"""$h_i=\sum_ja_{ij}e'_{ij}$, ``(d, 1)``."""
    return model.values(i).T * attention(model, i, key_query)


def residual(model: TinyModel, i: int, value: sp.Matrix | None, key_query: sp.Matrix) -> sp.Matrix:
    r"""$r_i=\mathbf 1_{y_i}-p_i$, ``(V, 1)``; ``value=None`` takes $p_i$ as uniform, the
    early-phase limit."""
    if value is None:
        vocab = model.outputs.rows
        return model.one_hot(i) - sp.ones(vocab, 1) / vocab
    return model.one_hot(i) - _softmax(model.outputs * value * located(model, i, key_query))


def value_descent(model: TinyModel, value: sp.Matrix | None, key_query: sp.Matrix) -> sp.Matrix:
    r"""$-\nabla_{W_V}\hat{\mathcal L}=\frac1N\sum_iU^\top r_i\,h_i^\top$, ``(d, d)``, at any
    weights.

    ``value=None`` takes predictions as uniform: exact at $W_V=0$.
    """
    terms = [
        model.outputs.T * residual(model, i, value, key_query) * located(model, i, key_query).T
        for i in range(len(model.labels))
    ]
    return sum(terms, sp.zeros(*terms[0].shape)) / len(terms)


def covariance(model: TinyModel, i: int, key_query: sp.Matrix) -> sp.Matrix:
    r"""$\mathrm{Cov}_i(e,e')=E_i^\top\big(\mathrm{diag}(a_i)-a_ia_i^\top\big)E'_i$ under attention,
    ``(d, d)``."""
    weights = attention(model, i, key_query)
    return model.keys(i).T * (sp.diag(*weights) - weights * weights.T) * model.values(i)


def direction(
    model: TinyModel, value: sp.Matrix, key_query: sp.Matrix, uniform_predictions: bool = False
) -> sp.Matrix:
    r"""$k=\frac1N\sum_i\mathrm{Cov}_i(e,e')\,W_V^\top U^\top r_i$, ``(d, 1)``, at any weights.

    With it $-\nabla_{W_{KQ}}\hat{\mathcal L}=k\,z_{\rm EOS}^\top$. ``uniform_predictions`` is the
    early-phase form."""
    seen = None if uniform_predictions else value
    terms = [
        covariance(model, i, key_query)
        * value.T
        * model.outputs.T
        * residual(model, i, seen, key_query)
        for i in range(len(model.labels))
    ]
    return sum(terms, sp.zeros(*terms[0].shape)) / len(terms)


def key_query_descent(model: TinyModel, value: sp.Matrix, key_query: sp.Matrix) -> sp.Matrix:
    r"""$-\nabla_{W_{KQ}}\hat{\mathcal L}=k\,z_{\rm EOS}^\top$, ``(d, d)``, at any weights."""
    return direction(model, value, key_query) * model.query.T


# What gradient descent sees of the batch


def label_token_counts(model: TinyModel) -> tuple[sp.Matrix, sp.Matrix]:
    """$C_{kv}$, how often token $v$ stands in sequences of label $k$, ``(V, V)``; $n_k$, their
    number, ``(V, 1)``."""
    vocab = model.outputs.rows
    table, sequences = sp.zeros(vocab, vocab), sp.zeros(vocab, 1)
    for row, label in zip(model.tokens, model.labels, strict=True):
        sequences[label] += 1
        for token in row:
            table[label, token] += 1
    return table, sequences


def value_descent_from_counts(model: TinyModel) -> sp.Matrix:
    r"""$-\nabla_{W_V}\hat{\mathcal L}(0,0)=\frac1{NL}\tilde U^\top(CZ+\tau\,n\,t^\top)$, ``(d,
    d)``."""
    table, sequences = label_token_counts(model)
    vocab = model.outputs.rows
    centred = model.outputs - sp.ones(vocab, vocab) * model.outputs / vocab
    seen = table * model.inputs
    if model.trigger_in_values:
        seen += sequences * model.trigger.T
    return centred.T * seen / (len(model.tokens) * len(model.tokens[0]))


# Comparing the two routes


def vanishes(expression: sp.Expr | sp.Matrix) -> bool:
    """Whether ``expression`` is zero, by polynomial arithmetic alone.

    Exponentials become letters, the innermost first; what is left is a fraction of polynomials, and
    its numerator must expand to zero. ``True`` is a proof. ``False`` may be due to an identity
    between exponentials."""
    entries = list(expression) if isinstance(expression, sp.MatrixBase) else [expression]
    return all(_numerator(entry) == 0 for entry in entries)


def _softmax(scores: sp.Matrix) -> sp.Matrix:
    powers = scores.applyfunc(sp.exp)
    return powers / sum(powers)


def _numerator(expression: sp.Expr) -> sp.Expr:
    while innermost := [atom for atom in expression.atoms(sp.exp) if not atom.args[0].has(sp.exp)]:
        expression = expression.xreplace(_letters(innermost))
    return sp.expand(sp.numer(sp.together(expression)))


def _letters(powers: list[sp.Expr]) -> dict[sp.Expr, sp.Expr]:
    """Each $e^{\\sum_jc_jm_j}$ as $\\prod_jx_j^{Dc_j}$, with one letter $x_j=e^{m_j/D}$ for each
    monomial $m_j$.

    SymPy merges $e^ae^b$ into $e^{a+b}$ by itself, so a letter for each exponential would hide
    identities. $D$ is a common denominator of the $c_j$."""
    exponents = {power: _monomials(power.args[0]) for power in powers}
    common = sp.ilcm(1, *(c.q for exponent in exponents.values() for c in exponent.values()))
    letters = {
        monomial: sp.Dummy(positive=True)
        for exponent in exponents.values()
        for monomial in exponent
    }
    return {
        power: sp.Mul(*(letters[monomial] ** (common * c) for monomial, c in exponent.items()))
        for power, exponent in exponents.items()
    }


def _monomials(exponent: sp.Expr) -> dict[sp.Expr, sp.Rational]:
    """A fraction of polynomials as rational coefficients of monomials over one primitive
    denominator."""
    above, below = sp.fraction(sp.cancel(exponent))
    content, below = below.primitive()
    terms = sp.expand(above / content).as_coefficients_dict()
    return {monomial / below: coefficient for monomial, coefficient in terms.items()}
