r"""What the book's two matrices answer once they are trained to the end: coverage, and what a
matrix can hold.

A fact $v$ that was shown $c_v$ times adds $c_v\,\ell_v(UWz_v)$ to the cross-entropy, a convex
function of $W=W_V$. With Gaussian embeddings two numbers say what its minimiser does to a fact, by
the cavity method: without the fact its $V$ logits are $\xi/T$ with $\xi\sim N(0,I_V)$, and with
it they are the minimiser of $c_v\ell_v(x)+\frac T{2A}|x-\xi/T|^2$, say $\xi'/T$. With load
$\alpha=K/d^2$, K facts seen,

$$\alpha\,\mathbb E|\xi'-\xi|^2=1,\qquad
\alpha\,\mathbb E\,\mathrm{tr}(I-\partial\xi'/\partial\xi)=1.$$

At $T=0$ the first equation bounds the load: $\xi'$ is then the nearest point at which the right
logit is the largest, at squared distance $\delta$. Below $\alpha=1/\mathbb E\delta$ some matrix
answers every fact, and the loss has no minimum: descent goes to one that does."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64
from scipy.optimize import root
from scipy.special import ndtr, ndtri, wrightomega
from scipy.stats import binom

from recallbook.arguments import check_flag, not_allowed
from recallbook.result import Outcome, Result
from recallbook.setting import Setting
from recallbook_theory.expected_errors import expected_errors

LARGEST_VOCAB = 2**16
TABLE = "trained_errors.csv"  # weights of expected errors
LARGE = 0.08  # a prediction warns where accuracy or recall is typically off by more
MOST = 0.5  # the largest error expected
NUMBERS = 2**17  # of logits in a sample of facts
GOLDEN = (5**0.5 - 1) / 2
PLASTIC = 0.7548776662466927  # with its square the best lattice in two dimensions

Logits = Float64[np.ndarray, "n V"]
PerFact = Float64[np.ndarray, " n"]


@dataclass(frozen=True, repr=False)
class TrainedPrediction(Result):
    """Means over embeddings and data; each lies between 0 and 1. ``expected_error``: how far each is
    typically off from 800 steps of training, beyond sampling, as a root mean square, to 0.001."""

    accuracy: float
    recall: float
    lock_on: float
    expected_error: Outcome


def predict_trained(setting: Setting, *, warn: bool = True) -> TrainedPrediction:
    r"""Predict accuracy, recall of all V facts and lock-on of $W_V$ and $W_{KQ}$ trained to the end
    on N fixed sequences. No fitted constant; ours, derived to leading order in $1/d$.

    Recall is the expected share of facts seen, $1-(1-1/V)^N$, times the share of these that the
    minimiser of the cross-entropy recalls (:func:`share_held`). Lock-on is that of the key vector
    that tells the trigger best from what all tokens have in their scores, the linear discriminant:
    its signal is $\rho=\sqrt{dV/(V-d-2)}$ standard deviations of a token's score. Accuracy is their
    product, and where attention fails one answer in V is right by luck.

    It assumes that embeddings stay as drawn and are independent, that training ends (near the
    largest load that takes many steps), without weight decay, and that attention is hard and finds
    the trigger; few, long sequences a model can fit without it, in some draws and not in others. What
    this costs is an expected error, fitted to training for 800 steps (``book/error_model.py``) at V from 16 to 512,
    L to 256 and d to 2 V; beyond these sizes nothing was trained, and nothing warns. Rates and
    schedules do not enter. Seconds at V of thousands, less where all facts fit.

    Parameters
    ----------
    setting : Setting
        Attention-only with equal facts and independent or orthogonal embeddings, V at most 65,536.
    warn : bool
        Whether to warn where accuracy or recall is typically off by more than 0.08, with the reason.

    Raises
    ------
    ValueError
        Names the field, its value and what is allowed.
    """
    if not isinstance(setting, Setting):
        raise not_allowed("setting", setting, "a recallbook.Setting")
    warn = check_flag("warn", warn)
    setting.require_equal("trained to the end is derived for equal facts")
    if setting.width is not None:
        raise not_allowed("width", setting.width, "None: derived without the MLP")
    if setting.law.geometry is None:
        raise not_allowed("embeddings", setting.embeddings, "an isotropic law")
    vocab, dim, samples = setting.vocab, setting.dim, setting.samples
    if vocab > LARGEST_VOCAB:
        raise not_allowed("vocab", vocab, f"at most {LARGEST_VOCAB}")
    shown = seen(setting)
    recall = shown * share_held(vocab, dim, shown * vocab, samples)
    locked = lock_on(vocab, dim, setting.seq_len)
    accuracy = locked * recall + (1 - locked) / vocab
    outcomes = {"accuracy": accuracy, "recall": recall, "lock_on": locked}
    given = variables(load(vocab, dim, shown * vocab))
    errors = expected_errors(setting, outcomes, TABLE, **given)
    size = max(errors["accuracy"], errors["recall"])
    if warn and size > LARGE:
        near = given["near"] > 0.5  # 0.55 to 1.8
        reason = "load near 1" if near else "few, long sequences are cheaper than facts"
        warnings.warn(f"in doubt: accuracy or recall off by {size:.2f}, {reason}", stacklevel=2)
    errors = {name: round(min(error, MOST), 3) for name, error in errors.items()}
    return TrainedPrediction(**outcomes, expected_error=Outcome(**errors))


def variables(share: float) -> dict[str, float]:
    """What expected errors depend on more here: the logarithm of the load, in the range of the map
    of errors, and how near 0 it is."""
    log = math.log(np.clip(share, 0.02, 20))
    return {"load": log, "near": math.exp(-2 * log**2)}


def seen(setting: Setting) -> float:
    """Expected share of the facts that N sequences show."""
    return -math.expm1(setting.samples * math.log1p(-1 / setting.vocab))


def load(vocab: int, dim: int, facts: float) -> float:
    r"""$K\,\mathbb E\delta/d^2$: K facts in units of the largest number that some matrix holds."""
    return facts * float(distance(sample(vocab)[0]).mean()) / dim**2


def lock_on(vocab: int, dim: int, seq_len: int) -> float:
    r"""$\mathbb E\,\Phi(\rho+x)^{L-1}$ over standard normal x."""
    if seq_len == 1 or dim + 2 >= vocab:
        return 1.0
    points, weights = np.polynomial.hermite_e.hermegauss(64)
    chance = ndtr(points + math.sqrt(dim * vocab / (vocab - dim - 2))) ** (seq_len - 1)
    return float(np.average(chance, weights=weights))


def share_held(vocab: int, dim: int, facts: float, samples: int | None = None) -> float:
    r"""Share of K facts among V labels that the minimiser of their cross-entropy recalls.

    With $\mu=K\mathbb E\delta$ and $\sigma^2=K(\mathrm{Var}\,\delta-2\mathbb E\delta)$ a matrix that
    answers all exists with probability $\Phi((d^2-\mu)/\sigma)$, the kinematics of cones; of draws
    without one the load is what it is on average. It takes facts to be independent; that they share
    the labels' vectors lets slightly more fit (chapter 12). It needs $2\ln V\ll d$.

    ``samples``: how many sequences show the facts, in the counts of a fair draw; without it all
    are shown equally often."""
    lacks = distance(sample(vocab)[0])
    mean, sd = facts * lacks.mean(), math.sqrt(facts * max(lacks.var() - 2 * lacks.mean(), 1e-9))
    room = (dim**2 - mean) / sd
    fits = float(ndtr(room))
    if fits > 1 - 1e-3:
        return 1.0
    beyond = mean + sd * math.exp(-(room**2) / 2) / math.sqrt(2 * math.pi) / (1 - fits)
    return fits + (1 - fits) * share_beyond(vocab, max(beyond / dim**2, 1.01), samples)


def share_beyond(vocab: int, load: float, samples: int | None = None) -> float:
    """Share of the facts that the minimiser recalls where no matrix answers all, at this load in
    units of the largest; ``samples`` as :func:`share_held` takes them."""
    logits, places = sample(vocab)
    load /= distance(logits).mean()
    counts = np.ones(len(logits))
    if samples is not None:
        never = (1 - 1 / vocab) ** samples
        counts = binom.ppf(never + (1 - never) * places, samples, 1 / vocab)

    def excess(logs: Float64[np.ndarray, " 2"]) -> list[float]:
        squares, responses, _ = moved(logits, counts, *np.exp(logs))
        return [math.log(load * squares.mean()), math.log(load * responses.mean())]

    start = [math.log(load) / 2, -math.log(load) / 2]
    ends = root(excess, start, options={"xtol": 1e-3, "eps": 1e-3}).x
    return float(moved(logits, counts, *np.exp(ends))[2].mean())


def sample(vocab: int) -> tuple[Logits, PerFact]:
    """Standard normal logits of a sample of facts, the right label's first and the largest wrong
    one second, and a place in (0, 1) for each: a lattice in these three, the rest at random."""
    count = max(32, min(4096, NUMBERS // vocab))
    index = np.arange(count) + 0.5
    top = (index * GOLDEN % 1) ** (1 / (vocab - 1))
    rest = np.random.default_rng(0).random((count, vocab - 2)) * top[:, None]
    uniform = np.column_stack([index / count, top, rest])
    return ndtri(uniform), index * PLASTIC % 1


def distance(logits: Logits) -> PerFact:
    r"""$\delta=\min_t(\xi_1-t)^2+\sum_{k>1}(\xi_k-t)_+^2$: squared distance to the nearest point
    at which the first logit is the largest."""
    largest = -np.sort(-logits[:, 1:], axis=1)
    means = (logits[:, :1] + largest.cumsum(axis=1)) / np.arange(2, logits.shape[1] + 1)
    level = np.maximum(logits[:, 0], means.max(axis=1))[:, None]
    short = np.maximum(logits[:, 1:] - level, 0)
    return np.asarray((short**2).sum(axis=1) + (level[:, 0] - logits[:, 0]) ** 2)


def moved(
    logits: Logits, counts: PerFact, temperature: float, step: float
) -> tuple[PerFact, PerFact, np.ndarray]:
    r"""Where the loss moves a fact's logits: $|\xi'-\xi|^2$, $\mathrm{tr}(I-\partial\xi'/\partial
    \xi)$, and whether the first is then the largest.

    With $a=Ac/T$ the move of wrong label k is $-Tw_k$, of the right one $T(a-w_1)$, where
    $w=a\,\mathrm{softmax}(\xi'/T)$ is $\omega(b_k-s)$ for Wright's $\omega$, $b=\xi/T+\log a$ (the
    right one more by a), and s such that $\sum w=a$: by Newton's method from below, where it cannot
    overshoot."""
    pull = (step / temperature * counts)[:, None]
    start = logits / temperature + np.log(pull)
    start[:, :1] += pull
    shift = start.max(axis=1, keepdims=True) - np.log(pull) - pull
    for _ in range(60):
        weights = wrightomega(start - shift)
        slopes = weights / (1 + weights)
        total = slopes.sum(axis=1, keepdims=True)
        change = (weights.sum(axis=1, keepdims=True) - pull) / total
        shift += change
        if change.max() < 1e-6:
            break
    response = total[:, 0] - (slopes**2).sum(axis=1) / total[:, 0]
    weights[:, :1] -= pull
    ends = logits - temperature * weights
    right = ends[:, 0] > ends[:, 1:].max(axis=1)
    return temperature**2 * (weights**2).sum(axis=1), response, right
