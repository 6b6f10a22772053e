"""Numbers of sequences that are proved to suffice, from certificates over draws: a
computer-assisted theorem (thm-betting, appendix of chapter 6)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from tqdm import tqdm

from recallbook.arguments import check_seed, check_share, not_allowed
from recallbook.data.task import draw
from recallbook.setting import Setting
from recallbook_theory.bounds.certificate import certify
from recallbook_theory.bounds.closed_form import SMALLEST_VOCAB, sufficient_samples_closed_form
from recallbook_theory.bounds.lock_law import LARGEST_FORM, form_size
from recallbook_theory.critical import critical_samples, settings_with
from recallbook_theory.search import bracket

MARGIN = 0.1  # of certified over wanted accuracy that pilots ask for, or half of what is left to 1
PILOTS = 2  # draws that choose N; those that confirm it are others
TOLERANCE = 0.05  # of the search for N
MOST_TOKENS = 1 << 27  # of one training batch; beyond, no certificate is tried
FARTHEST = 64  # times the predicted N, the last that is tried; what was proved lies within 12
STEP = 1.2  # factor on N after an attempt that failed
ATTEMPTS = 4
PATIENCE = 4  # draws of one attempt, in units of what certificates of 1 would need
STRIDE = 10**4  # between the numbers of the draws of two attempts


class Sufficient(float):
    """A number of sequences, with ``by``: what proves it (``"certificates"``, ``"closed form"`` or
    ``"nothing"``), and ``confidence``: the chance, at least, that this call proves nothing
    false."""

    by: str
    confidence: float

    def __new__(cls, samples: float, by: str, confidence: float = 1.0) -> Sufficient:
        number = super().__new__(cls, samples)
        number.by, number.confidence = by, confidence
        return number


def sufficient_samples(
    vocab: int,
    seq_len: int,
    dim: int,
    accuracy: float = 0.9,
    *,
    confidence: float = 0.95,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
    **setting: Any,
) -> Sufficient:
    r"""Find a number $N$ of sequences that is proved, with this confidence, to suffice for an
    expected accuracy over everything that is drawn (thm-betting, appendix of chapter 6).

    The expectation is over data, embeddings, neurons and test sequences, in the early-phase limit.
    Certificates (:func:`recallbook.certify`) $X_1,X_2,\dots$ of independent draws are bounded below
    by what they certify, so $\mathbb E\,\text{accuracy}\ge\mathbb E X$. Were $\mathbb E
    X\le\alpha$, the capital $\prod_i\big(1+\lambda(X_i-\alpha)\big)$ of a fair or losing bet,
    $\lambda=0.98/\alpha$, would ever reach $c$ with chance at most $1/c$ (Ville). Draws go on until
    it does; $c$ is $2^k/(1-\text{confidence})$ in attempt $k$.

    Parameters
    ----------
    vocab, seq_len, dim : int
    accuracy : float
        Between 0 and 1.
    confidence : float
        Chance, over the draws that the proof uses, that this call proves nothing false. Several
        calls are not proved together, and the smallest of them over seeds has no confidence. The
        closed form needs none.
    seed : int
        Of those draws.
    progress : callable or None
        Told in a line what is done, as it happens. A terminal shows it, too.
    **setting
        Other fields of a :class:`Setting`.

    Returns
    -------
    Sufficient
        A float, with ``.by`` and ``.confidence``. Infinite where nothing is proved. By certificates it is the smallest
        $N$ that was tried with success, not the smallest that suffices, and nothing is said of
        larger $N$.

    Raises
    ------
    ValueError
        Names the argument, its value and what is allowed.

    Notes
    -----
    Takes :func:`recallbook.certify` about 80 times at accuracy 0.9: a minute or two at $V=256$;
    with unequal facts as long again for the predicted N that it starts from, beyond 64 times which
    nothing is tried. The theorem in closed form (thm-closed,
    :mod:`recallbook_theory.bounds.closed_form`) is asked too, for what it covers (no MLP, Gaussian, equal
    facts): it proves that every sequence locks and, without a union over facts, how many are
    recalled on average. It alone holds for every larger $N$, and at vocabularies beyond some
    thousand it alone is asked. Ours, not the paper's.

    Examples
    --------
    >>> found = sufficient_samples(32, 4, 48, accuracy=0.5, trigger_in_values=False)
    >>> found.by, found < 8 * critical_samples(32, 4, 48, accuracy=0.5, warn=False, trigger_in_values=False)
    ('certificates', True)
    """
    accuracy, confidence = check_share("accuracy", accuracy), check_share("confidence", confidence)
    seed = check_seed("seed", seed)
    fixed = {"vocab": vocab, "seq_len": seq_len, "dim": dim, **setting}
    if progress is not None and not callable(progress):
        raise not_allowed("progress", progress, "a function that is told a line, or None")
    sizes = settings_with("samples", fixed)(1)  # checks them
    start = certified = math.inf
    if form_size(sizes) <= LARGEST_FORM:
        start = critical_samples(**fixed, accuracy=accuracy, warn=False)
    if start < math.inf:
        with tqdm(desc="some 80 certificates", unit="", leave=False, disable=None) as bar:

            def tell(line: str) -> None:
                bar.update()
                bar.set_postfix_str(line)
                if progress:
                    progress(line)

            certified = _first_proved(
                _Proof(fixed, accuracy, seed, tell), int(start), 1 - confidence
            )
    closed = _closed_form(sizes, accuracy)
    if closed <= certified:
        return Sufficient(closed, "closed form" if closed < math.inf else "nothing")
    return Sufficient(certified, "certificates", confidence)


def _closed_form(sizes: Setting, accuracy: float) -> float:
    """Give what the theorem in closed form asks for; infinite outside its range."""
    covered = sizes.width is None and sizes.law.geometry == "normal" and sizes.equal_facts
    if not covered or sizes.vocab < SMALLEST_VOCAB or sizes.seq_len < 2:
        return math.inf
    known = sizes.vocab, sizes.seq_len, sizes.dim, accuracy, sizes.trigger_in_values
    return sufficient_samples_closed_form(*known)


class _Proof(NamedTuple):
    """What is to be proved: sizes and choices but for N, the accuracy, the seed of its draws, and
    who is told."""

    fixed: dict[str, Any]
    accuracy: float
    seed: int
    tell: Callable[[str], None]

    def certified(self, samples: int, number: int) -> float:
        """Certify the accuracy of one draw; ``number`` tells the draws of a proof apart, below 0
        for pilots."""
        setting = Setting(**self.fixed, samples=samples)
        problem = draw(setting, draw_seed(self.seed, number))
        return certify(problem, from_above=False).accuracy

    def promising(self, samples: int) -> bool:
        """Say whether a few pilots certify a little more than is wanted."""
        wanted = self.accuracy + min(MARGIN, (1 - self.accuracy) / 2)
        worst = min(self.certified(samples, -1 - pilot) for pilot in range(PILOTS))
        self.tell(f"N = {samples}: a pilot certifies {worst:.3f}, wanted {wanted:.3f}")
        return worst >= wanted

    def wins(self, samples: int, goal: float, attempt: int) -> bool:
        """Say whether the capital of a bet that draws certify more than the accuracy on average
        reaches the goal, $c$."""
        capital = 1.0
        for number in range(math.ceil(PATIENCE * math.log(goal) / -math.log(self.accuracy))):
            capital *= bet(self.certified(samples, STRIDE * attempt + number), self.accuracy)
            self.tell(
                f"N = {samples}: capital {capital:.2f} of {goal:.0f} after {number + 1} draws"
            )
            if capital >= goal or capital < 1 / goal:
                break
        return capital >= goal


def _first_proved(proof: _Proof, start: int, risk: float) -> float:
    """Find the first N whose certificates win the bet, from where pilots are promising."""
    largest = min(MOST_TOKENS // int(proof.fixed["seq_len"]), max(FARTHEST * start, FARTHEST))
    if start > largest:
        return math.inf
    samples = bracket(
        proof.promising, start, largest=largest, tolerance=TOLERANCE, logarithmic=True
    ).high
    for attempt in range(1, ATTEMPTS + 1):
        if samples > largest:
            break
        if proof.wins(int(samples), 2**attempt / risk, attempt):
            return float(int(samples))
        samples *= STEP
    return math.inf


def draw_seed(seed: int, number: int) -> int:
    """Give the seed of a draw of a proof: larger than any used elsewhere, another for pilots."""
    return 10**12 * (seed + 1) + STRIDE + number


def bet(proved: float, accuracy: float) -> float:
    r"""Give the factor on the capital, $1+\lambda(x-\alpha)$ with $\lambda=0.98/\alpha$; fair where
    $\mathbb Ex=\alpha$ (thm-betting)."""
    return 1 + 0.98 * (proved / accuracy - 1)
