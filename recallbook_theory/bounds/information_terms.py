r"""What the initial gradient can say about the facts: mutual information, and how much of it naming
facts takes.

The observation is $G=\frac1N\sum_i\tilde u_{y_i}\bar e_i'^\top$ read with an independent Gaussian
error of $c$ times the covariance of its own noise, given the labels (chapter 8). What coverage
allows holds for every observation. Ours."""

from __future__ import annotations

from functools import cache

import sympy as sp

from recallbook_theory.symbolic.expressions import L, N, V

directions = sp.Symbol("D", positive=True)  # directions of the gradient that can carry facts
information = sp.Symbol("I", positive=True)  # in nats
named = sp.Symbol("a", positive=True)  # facts named correctly
error = sp.Symbol("delta", positive=True)  # how often fewer are named
reading = sp.Symbol("c", positive=True)  # reading error, in units of the noise's covariance
unseen = sp.Symbol("mu", positive=True)  # facts that no sequence shows, on average


def signal_to_noise() -> sp.Expr:
    r"""Give signal over reading error, $\frac{N+V-1}{c\,(L-1)(V-1)}$ (thm-bound-information).

    It is $\frac N{c(L-1)}$ times $1-\mathbb E\,b_v^\top b_{v'}=\frac V{V-1}$ for two different
    tokens in random order, of sum zero and mean square length 1 (step 3), and times $\mathbb
    E\sum_kf_k^2=\frac{N+V-1}{NV}$ for multinomial counts $Nf_k$ with equal chances (step 4)."""
    return (N + V - 1) / (reading * (L - 1) * (V - 1))


@cache
def available() -> sp.Expr:
    r"""Give the nats about the facts in $D$ directions: $\frac D2\log(1+\text{signal over noise})$
    (eq-bound-information)."""
    return directions / 2 * sp.log(1 + signal_to_noise())


@cache
def samples() -> sp.Expr:
    r"""Give the $N$ at which so many nats are available in $D$ directions: that of
    :func:`available`, solved for it (eq-bound)."""
    ratio = sp.exp(2 * information / directions) - 1  # of signal to noise
    return (V - 1) * (reading * (L - 1) * ratio - 1)


def some_facts() -> sp.Expr:
    r"""Give the nats without which no labels have $a$ facts named on average:
    $\max_\lambda\,\lambda a-(e^\lambda-1)$ (thm-bound-fano, part 1)."""
    return named * sp.log(named) - named + 1  # at lambda = log(a)


@cache
def fano() -> sp.Expr:
    r"""Give the nats to have at least $a$ facts named but for an event of probability $\delta$
    (thm-bound-fano, part 2)."""
    entropy = -error * sp.log(error) - (1 - error) * sp.log(1 - error)
    return (1 - error) * sp.loggamma(named + 1) - entropy


def coverage() -> sp.Expr:
    r"""Solve for the $N$ at which $\mu$ facts are unseen on average (eq-bound)."""
    return sp.log(unseen / V) / sp.log((V - 1) / V)
