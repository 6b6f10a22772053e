"""Constants of the proofs in interval arithmetic, over the package's own expressions: what holds
here holds in spite of rounding. Moments of counts as polynomials."""

import itertools
import math

import pytest
import sympy as sp
from mpmath import iv

from recallbook_theory.bounds import closed_form as cf
from recallbook_theory.symbolic.expressions import L, N, V, d, tau

pytestmark = pytest.mark.essential

NAMES = {"mpf": iv.mpf, "sqrt": iv.sqrt, "log": iv.log, "exp": iv.exp, "pi": iv.pi}
NAMES["Max"] = lambda *of: iv.mpf([max(iv.mpf(x).a for x in of), max(iv.mpf(x).b for x in of)])


def enclosed(expression):
    """As ``numeric``, of intervals."""
    names = sorted(expression.free_symbols, key=str)
    found = sp.lambdify(names, expression, [NAMES, "mpmath"])
    return lambda values: found(*(values[name] for name in names))


# The closed form


def locks(values):
    """Whether lock-on is proved (eq-prf-conditions)."""
    margin = enclosed(cf.signal - sp.Add(*cf.losses().values()))(values)
    asked = 2 * (1 + values[cf.eps]) * values[cf.eps] * enclosed(cf.norm)(values)
    return min(values[cf.alpha_minus].a, margin.a, (margin - asked).a) > 0


def recalls(values):
    """Whether recall is (eq-prf-recall)."""
    right, mean = values[cf.q_minus], values[N] / values[V]
    uneven = values[tau] * values[cf.c_plus]
    square = right**2 + values[cf.R] + values[cf.f] ** 2 * values[cf.h_2] / 2
    s = iv.mpf((right / (2 * square / values[d] + uneven**2 / mean)).mid)  # any is valid
    moved = values[N] / (values[V] - 1) * (iv.exp(s * uneven / mean) - 1) - s * uneven
    met = s * right - s**2 * square / values[d] - moved - values[cf.Lambda]
    rare = iv.mpf(4) / 5 * mean - values[cf.x]
    return min(met.a, rare.a, right.a, s.a) >= 0 and values[cf.p_minus].a > 0


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [
    (10**4, 1000, 4000, 0), (10**5, 1000, 10**4, 0), (10**5, 1000, 10**4, 1), (10**6, 10**5, 10**4, 0)
])  # fmt: skip
def test_the_number_that_suffices_is_enclosed(sizes, monkeypatch):
    """For an expected accuracy of 0.9 (thm-closed); 1 % fewer do not pass."""
    enough = cf.sufficient_samples_closed_form(*sizes[:3], 0.9, bool(sizes[3]))
    monkeypatch.setattr(cf, "numeric", enclosed)
    error = iv.mpf(1) / 10
    for share, proved in ((1.000001, True), (0.99, False)):
        known = dict(zip((V, L, d, tau, N), map(iv.mpf, (*sizes, enough * share)), strict=True))
        pairs = iv.log(5 * cf.OF_LOCK_ON * known[V] ** 2 / error)
        one = {cf.Lambda: iv.log(cf.OF_ONE * known[V] / error), cf.x: iv.log(cf.RARE / error)}
        asked = cf.constants(cf.constants({**known, **one}), cf.question)
        assert (locks(cf.constants({**known, cf.Lambda: pairs})) and recalls(asked)) == proved


# Inequalities of one variable


def normal(y):
    """The normal distribution function at a number up to 4: its series alternates."""
    y = iv.mpf(y)
    terms = [
        (-1) ** n * y ** (2 * n + 1) / (2**n * math.factorial(n) * (2 * n + 1)) for n in range(80)
    ]
    rest = abs(terms.pop())
    return iv.mpf(1) / 2 + (sum(terms) + iv.mpf([-rest.b, rest.b])) / iv.sqrt(2 * iv.pi)


def test_the_normal_distribution_is_enclosed():
    from scipy.stats import norm

    for y in (-3.5, -0.2, 1.25, 3.06):
        found = normal(y)
        assert found.delta < 1e-12 and found.a - 1e-15 <= norm.cdf(y) <= found.b + 1e-15


@pytest.mark.slow
def test_a_line_is_below_the_normal_tail():
    """Step 2 of thm-mean-bias: 1/4 - y/8 on [0, 2], in cells, as both sides fall."""
    ends = [iv.mpf(k) / 250 for k in range(501)]
    assert min((normal(-b) - (2 - a) / 8).a for a, b in itertools.pairwise(ends)) > 0


def test_a_parabola_is_below_both_signs():
    """Step 5 of thm-mean-bias-many: at the ends of the range of the level."""
    touch = iv.mpf(5) / 4
    density = iv.exp(-(touch**2) / 2) / iv.sqrt(2 * iv.pi)
    for z, room in (("0.53", 0.08), ("3.06", 1e-4)):
        z = iv.mpf(z)
        most = normal(z) / 2 - normal(-touch) - density * (z + touch) / 2
        assert room < most.a


def test_numbers_of_the_proofs():
    one = iv.mpf(1)
    # e^x - 1 - x over x^2 rises: at most 0.72 up to 1 (thm-closed-product)
    assert (iv.exp(1) - 2).b < 0.72
    # what is excluded (thm-label-frequencies, step 5), times V^(1/3), falls with V
    assert (2 * one * 216 / 215 + 10 / (6 * one) ** 2).b < 3
    # terms with k < 0 of eq-upper-poisson
    ratio = iv.exp(-2 * iv.pi / (one * 7 / 10))
    assert (ratio / (1 - ratio)).b < 1.3e-4


# Moments of counts


def positive(polynomial):
    """Whether a polynomial in V and N is nowhere negative from V = 2 and N = V on."""
    v, n = sp.symbols("v n")
    moved = sp.Poly(sp.expand(polynomial.subs(N, V + n).subs(V, v + 2)), v, n)
    return min(moved.coeffs()) >= 0


def test_moments_of_frequencies():
    """Step 5 of thm-mean-bias, from factorial moments of multinomial counts."""
    from sympy.functions.combinatorial.numbers import stirling

    def mean(first, second=0):  # E f_1^first f_2^second
        total = 0
        for i in range(first + 1):
            for j in range(second + 1):
                weight = stirling(first, i) * stirling(second, j)
                total += weight * sp.ff(N, i + j) / V ** (i + j)
        return sp.expand_func(total) / N ** (first + second)

    deviating = mean(4) - 2 * mean(3) / V + mean(2) / V**2
    room = sp.together(7 / (V**3 * N) - deviating)
    assert positive(sp.expand(sp.numer(room)))
    together = mean(4) + (V - 1) * mean(2, 2) - mean(2) / V
    room = sp.together((2 + 1 / V) / (V**2 * N) - together)
    assert positive(sp.expand(sp.numer(room)))
