"""The kernels of step 2 of polynomial activations, in closed form."""

from __future__ import annotations

import sympy as sp

a = sp.Symbol("a", positive=True)  # variance of the pre-activation
covariance = sp.Symbol("c", real=True)  # of two pre-activations of variance a
x, y = sp.symbols("x y", real=True)  # independent and standard normal

ORDERS = {"linear": 1, "he2": 2, "he3": 3}  # normalised Hermite polynomials


def normalised_hermite(order: int) -> sp.Expr:
    r"""$\mathrm{He}_k(x)/\sqrt{k!}$, orthonormal under the standard normal law."""
    polynomial = 2 ** sp.Rational(-order, 2) * sp.hermite(order, x / sp.sqrt(2))
    return sp.expand(polynomial) / sp.sqrt(sp.factorial(order))


def _mean(polynomial: sp.Expr) -> sp.Expr:
    """Mean of a polynomial of $x$ and $y$."""
    terms = sp.Poly(sp.expand(polynomial), x, y).terms()
    moments = [
        sp.prod(sp.factorial2(p - 1) if p % 2 == 0 else 0 for p in powers) for powers, _ in terms
    ]
    weights = [weight for _, weight in terms]
    return sp.expand(sum(map(sp.Mul, weights, moments)))


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
    one = sp.sqrt(a) * x
    other = covariance / sp.sqrt(a) * x + sp.sqrt(a - covariance**2 / a) * y
    kernel, neuron = (_mean(left.subs(x, one) * phi.subs(x, other)) for left in (phi, slope))
    square, steepness = (_mean(part.subs(x, one) ** 2) for part in (phi, slope))
    found = {
        "slope": sp.diff(kernel, covariance),
        "bias": sp.diff(kernel, covariance) + sp.diff(kernel, a),
        "own": sp.diff(square, a),
        "neuron": neuron,
        "scatter": steepness * square,
    }
    return {name: sp.factor(kind) for name, kind in found.items()}
