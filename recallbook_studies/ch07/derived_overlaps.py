r"""Hermite coefficients of activations in closed form, where there is one, and Mehler's kernel.

$\phi(\sqrt a\,\xi)=\sum_k\phi_k(a)\,\mathrm{He}_k(\xi)/\sqrt{k!}$.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import sympy as sp

a = sp.Symbol("a", positive=True)  # variance of the pre-activation
x = sp.Symbol("x", real=True)
covariance = sp.Symbol("c", real=True)  # of two pre-activations of variance a

ORDERS = {"linear": 1, "he2": 2, "he3": 3}  # normalised Hermite polynomials
CLOSED = (*ORDERS, "relu", "gelu")


def normalised_hermite(order: int) -> sp.Expr:
    r"""$\mathrm{He}_k(x)/\sqrt{k!}$, orthonormal under the standard normal law."""
    return sp.expand(2 ** sp.Rational(-order, 2) * sp.hermite(order, x / sp.sqrt(2))) / sp.sqrt(
        sp.factorial(order)
    )


@cache
def coefficient(activation: str, order: int) -> sp.Expr | None:
    r"""$\phi_k(a)$ as an expression in $a$; ``None`` where there is no closed form (tanh)."""
    if activation not in CLOSED:
        return None
    factor = normalised_hermite(order)
    if activation == "relu":
        return sp.simplify(sp.sqrt(a) * _mean(sp.expand(x * factor), _half_normal))
    if activation == "gelu":
        return sp.simplify(_gelu(order))
    polynomial = normalised_hermite(ORDERS[activation]).subs(x, sp.sqrt(a) * x)
    return sp.factor(_moment(sp.expand(polynomial * factor)))


def _mean(polynomial: sp.Expr, moment: Callable[[int], sp.Expr]) -> sp.Expr:
    """Mean of a polynomial of a variable with these moments."""
    terms = sp.Poly(polynomial, x).terms()
    return sum((weight * moment(power) for (power,), weight in terms), start=sp.Integer(0))


def _normal(power: int) -> sp.Expr:
    return sp.factorial2(power - 1) if power % 2 == 0 else sp.Integer(0)


def _moment(polynomial: sp.Expr, variance: sp.Expr | int = 1) -> sp.Expr:
    """Mean of a polynomial of a centred normal variable."""
    return _mean(polynomial, lambda power: _normal(power) * variance ** (power // 2))


def _half_normal(power: int) -> sp.Expr:
    r"""$\mathbb E\,x^p\mathbf 1\{x>0\}=2^{p/2-1}\Gamma(\frac{p+1}2)/\sqrt\pi$."""
    half = sp.Rational(power + 1, 2)
    return 2 ** (sp.Rational(power, 2) - 1) * sp.gamma(half) / sp.sqrt(sp.pi)


def _gelu(order: int) -> sp.Expr:
    r"""$x\Phi(x)$: $\phi_k=\sqrt{a^k/k!}\;\mathbb E\,\phi^{(k)}$ (Stein), and
    $\phi''=(2-x^2)\varphi$ is Gaussian.

    $\mathbb E\,p(x)\varphi(x)$ over variance $a$ is $\frac1{\sqrt{2\pi(1+a)}}$ times the mean of
    $p$ over variance $\frac a{1+a}$. The first two orders: $\mathbb E\,x\Phi=a\,\mathbb
    E\,\varphi$, $\mathbb E\,\Phi=\frac12$."""
    density = 1 / sp.sqrt(2 * sp.pi * (1 + a))
    if order == 0:
        return a * density
    if order == 1:
        return sp.sqrt(a) / 2
    polynomial = 2 - x**2
    for _ in range(order - 2):
        polynomial = sp.expand(sp.diff(polynomial, x) - x * polynomial)  # (p phi)' = (p' - x p) phi
    return sp.sqrt(a**order / sp.factorial(order)) * density * _moment(polynomial, a / (1 + a))


def kernels_near_zero(activation: str) -> dict[str, sp.Expr]:
    r"""The kernels of step 2 of a polynomial activation, in the variance $a$ and the covariance $c$
    of a pair.

    From $K(a,a',c)=\mathbb E\,\phi(x)\phi(x')$: ``slope`` $=\partial_cK=\mathbb E\,\phi'\phi'$
    (Price), which is $k_s$ and $k_o$ at their covariances; ``bias`` $=\partial_cK+\frac d{da}K$,
    for $k_b$: what adds $\delta$ to both vectors changes $c$ and both variances; ``own`` $=\frac
    d{da}\mathbb E\,\phi^2$ for $k_1$; ``neuron`` $=\mathbb E\,\phi'(x)\phi(x')$ for $p_o$, at $c=a$
    for $p_1$; ``scatter`` $=\mathbb E\,\phi'^2\,\mathbb E\,\phi^2$ for $e$."""
    phi = normalised_hermite(ORDERS[activation])
    slope = sp.diff(phi, x)
    kernel = _pair_mean(phi, phi)
    own = sp.diff(_moment(sp.expand(phi**2), a), a)
    return {
        "slope": sp.factor(sp.diff(kernel, covariance)),
        "bias": sp.factor(sp.diff(kernel, covariance) + sp.diff(kernel, a)),
        "own": sp.factor(own),
        "neuron": sp.factor(_pair_mean(slope, phi)),
        "scatter": sp.factor(_moment(sp.expand(slope**2), a) * _moment(sp.expand(phi**2), a)),
    }


def _pair_mean(left: sp.Expr, right: sp.Expr) -> sp.Expr:
    r"""Mean of a product of polynomials of two normal variables: $x'=\frac cax+\sqrt{a-c^2/a}\,y$,
    moment by moment."""
    y = sp.Symbol("y", real=True)
    other = right.subs(x, covariance / a * x + sp.sqrt(a - covariance**2 / a) * y)
    inner = sp.Poly(sp.expand(left * other), y).terms()
    parts = [_normal(power) * _moment(sp.expand(weight), a) for (power,), weight in inner]
    return sp.expand(sum(parts, start=sp.Integer(0)))
