r"""Judge how well facts are learned with a table of embeddings, beside a random one of its size, and
which property of the table costs most, and what can be done.

A row is the mean plus a deviation; the deviations have lengths, a spectrum, and which way each
points (clusters). ``PROPERTIES`` gives each of the four what a Gaussian table of this size has, and
keeps the others as far as they do not follow from it. ``REMEDIES`` are what a table can be put
through. Ours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float64
from tqdm import tqdm

from recallbook.data.streams import stream
from recallbook.result import Result
from recallbook.setting import Setting
from recallbook_studies.examining.report import TableReport
from recallbook_studies.laws import random_accuracy, random_dim
from recallbook_theory.prediction import theory_of

Table = Float64[np.ndarray, "V d"]
Change = Callable[[Table, np.random.Generator], Table]
ROUNDING = 1e-12  # of the largest singular value: smaller ones are directions without a table
FAINT = (
    1e-9  # of the largest number: noise that says what such directions become, as rounding must not
)
HUGE = 10  # times the median length: rows that do not count for the mean about which lengths are
MOST_ROWS, SEQ_LEN, PER_FACT = 512, 16, 8  # of the setting where none is given
NOTICED = 0.02  # of accuracy: predictions are right to half of it


# Changes of a table


def unit_scale(table: Table) -> Table:
    """Scale the table to a mean square length of 1, as laws have it."""
    return np.asarray(table / np.sqrt(np.mean(np.sum(table**2, axis=1))))


def lengths(table: Table) -> Float64[np.ndarray, "V 1"]:
    """Compute the lengths of rows, as a column."""
    return np.asarray(np.linalg.norm(table, axis=1, keepdims=True))


def centred(table: Table, rng: np.random.Generator) -> Table:
    """Subtract the mean, of which random rows have next to nothing."""
    return np.asarray(table - table.mean(axis=0))


def random_spectrum(table: Table, rng: np.random.Generator) -> Table:
    """Replace the singular values of deviations by those of a Gaussian table; keep the mean and
    singular vectors."""
    mean = table.mean(axis=0)
    drawn = np.linalg.svd(centred(rng.standard_normal(table.shape), rng), compute_uv=False)
    faint = FAINT * np.abs(table).max() * centred(rng.standard_normal(table.shape), rng)
    left, values, right = np.linalg.svd(table - mean + faint, full_matrices=False)
    drawn *= np.linalg.norm(values) / np.linalg.norm(drawn)
    return np.asarray(mean + centred((left * drawn) @ right, rng))


def random_directions(table: Table, rng: np.random.Generator) -> Table:
    """Replace left singular vectors by those of Gaussian rows: no clusters; keep mean, spectrum and,
    by scaling, lengths of deviations."""
    mean = table.mean(axis=0)
    deviations = table - mean
    _, values, right = np.linalg.svd(deviations, full_matrices=False)
    left = np.linalg.qr(centred(rng.standard_normal((len(table), len(values))), rng)).Q
    drawn = (left * values) @ right
    return np.asarray(mean + drawn * lengths(deviations) / lengths(drawn))


def random_lengths(table: Table, rng: np.random.Generator) -> Table:
    """Replace lengths of deviations by those of Gaussian rows in as many columns; keep their
    directions and the mean, which is of all rows but huge ones."""
    sizes = lengths(table)[:, 0]
    mean = table[sizes <= HUGE * np.median(sizes)].mean(axis=0)
    deviations = table - mean
    size = np.maximum(lengths(deviations), np.finfo(float).tiny)
    drawn = lengths(rng.standard_normal(table.shape)) * np.sqrt(np.mean(size**2) / table.shape[1])
    return np.asarray(mean + deviations / size * drawn)


def random_table(table: Table, rng: np.random.Generator) -> Table:
    """Draw Gaussian rows: all four replaced."""
    return rng.standard_normal(table.shape)


def white(table: Table, rng: np.random.Generator) -> Table:
    """Make singular values equal where there are any; the mean is one direction of many."""
    left, values, right = np.linalg.svd(table, full_matrices=False)
    present = values > ROUNDING * values[0]
    return np.asarray(left[:, present] @ right[present])


def whitened(table: Table, rng: np.random.Generator) -> Table:
    """Subtract the mean, and make singular values equal where there are any."""
    return white(centred(table, rng), rng)


def unit_rows(table: Table, rng: np.random.Generator) -> Table:
    """Scale every row to length 1."""
    return np.asarray(table / lengths(table))


PROPERTIES: dict[str, Change] = {
    "mean": centred,
    "spectrum": random_spectrum,
    "clusters": random_directions,
    "lengths": random_lengths,
}
REMEDIES: dict[str, Change] = {  # beside centring
    "whitened": whitened,
    "white with its mean": white,
    "unit rows": unit_rows,
}
# what is said of the property that costs most
COSTS = {
    "mean": "the mean costs most: it holds {mean_share:.2f} of the squared length",
    "spectrum": "the spectrum costs most: the covariance has {centred_dim:.3g} effective dimensions",
    "clusters": "clusters cost most: rows are alike where mean, spectrum and lengths do not say so",
    "lengths": "the lengths cost most: their squares have a relative variance of {length_variance:.2g}",
}
# what to do, by the accuracy that it gives
ADVICE = {
    "without mean": "subtract the mean",
    "whitened": "subtract the mean, then make singular values equal",
    "white with its mean": "keep the mean, and make singular values equal",
    "unit rows": "scale rows to length 1",
}


@dataclass(frozen=True, repr=False)
class Verdict(Result):
    """What is predicted with a table's rows as input embeddings, and with what they could be.

    Attributes
    ----------
    setting : Setting
        Whose predictions these are; its ``vocab`` rows are drawn, at mean square length 1.
    accuracy : dict
        Of ``"the table"``, ``"a random table"`` (Gaussian, of this size), and of the table
        ``"without mean"``, ``"without spectrum"``, ``"without clusters"`` and ``"without lengths"``,
        each replaced by what random rows have (:mod:`recallbook_studies.examining.judge`); and of
        the table ``"whitened"``, without its mean, ``"white with its mean"``, and with
        ``"unit rows"``.
    acts_like : int or None
        The dimension in which Gaussian embeddings of tokens and labels are predicted to do as well:
        the table's own if it is as good as a random one; ``None`` if they do in none, or in any.
    costs_most : str or None
        The one of these four without which accuracy is highest; ``None`` if none gains more than
        ``noticed``.
    remedy : str or None
        The highest accuracy, by name, among those without the mean and of the last three; ``None``
        if none gains more than ``noticed``.
    noticed : float
        The least difference that is called one: 0.02, or three standard errors of a prediction.
    words : str
        All this in sentences.
    """

    setting: Setting
    accuracy: Mapping[str, float]
    acts_like: int | None
    costs_most: str | None
    remedy: str | None
    noticed: float
    words: str

    def __str__(self) -> str:
        return self.words


def setting_of(table: Table, **sizes: Any) -> Setting:
    """Make the setting of a verdict: sizes that are missing are V = 512 or all rows, L = 16,
    N = 8 V."""
    given = {"vocab": min(len(table), MOST_ROWS), "seq_len": SEQ_LEN, **sizes}
    return Setting(**{"samples": PER_FACT * given["vocab"], "dim": table.shape[1], **given})


def tables(
    table: Table, output: Table | None, setting: Setting, seed: int, change: Change
) -> dict[str, Table]:
    """Draw as many rows as the setting has tokens, change them, and scale them to mean square length
    1; without output embeddings the law's, and with the same as input tied."""
    chosen = stream(seed, "examined_rows", 2).choice(len(table), setting.vocab, replace=False)
    places, rng = np.sort(chosen), np.random.default_rng(seed)

    def drawn(rows: Table) -> Table:
        return unit_scale(change(rows[places], rng))

    made = {"input": drawn(table)}
    if output is not None:
        made["output"] = made["input"] if output is table else drawn(output)
    return made


def judge(
    report: TableReport, table: Table, setting: Setting, output: Table | None, seed: int
) -> Verdict:
    """Predict with the table, with a random one, without each property, and with each remedy.

    ``output`` has the output embeddings of the same tokens, and is changed alike."""
    cases: dict[str, Change] = {
        "the table": lambda rows, _: rows,
        "a random table": random_table,
        **{f"without {name}": change for name, change in PROPERTIES.items()},
        **REMEDIES,
    }
    accuracy, noticed = {}, NOTICED
    for name, change in tqdm(cases.items(), unit="prediction", leave=False, disable=None):
        given = tables(table, output, setting, seed, change)
        averages = theory_of(setting, given).averages(setting)
        accuracy[name], noticed = averages.accuracy, max(noticed, 3 * averages.error)
    here, random = accuracy["the table"], accuracy["a random table"]

    def best(names: Iterable[str]) -> str | None:
        most = max(names, key=accuracy.__getitem__)
        return most if accuracy[most] > here + noticed else None

    cause, remedy = best(f"without {name}" for name in COSTS), best(ADVICE)
    costs = f"neither mean, spectrum, clusters nor lengths alone cost more than {noticed:.2f}"
    if cause:
        cause = cause.removeprefix("without ")
        costs = COSTS[cause].format(**vars(report))
    helps = f"nothing that was tried helps by more than {noticed:.2f}"
    if remedy:
        helps = f"what helps most: {ADVICE[remedy]}: accuracy {here:.2f} -> {accuracy[remedy]:.2f}"
    lead = here - random
    equal = abs(lead) <= noticed
    differs = f"{'better' if lead > 0 else 'worse'} by {abs(lead):.2f} than"
    if equal and random_accuracy(setting, 2) > here - noticed:
        acts_like, like = None, "random rows of any dimension do as well"
    else:
        acts_like = report.dim if equal else random_dim(setting, here)
        like = "no random rows of any dimension do as well"
    if acts_like is not None:
        like = f"your {report.dim:,} dimensions act like {acts_like:,} random ones"
    tried = [f"{name} {accuracy[name]:.2f}" for name in cases]
    words = (
        f"{like} (V = {setting.vocab:,} of the rows, L = {setting.seq_len:,}, N = {setting.samples:,})\n"
        f"  {'as good as' if equal else differs} a random table of this size: predicted accuracy"
        f" {here:.2f} and {random:.2f}\n"
        f"  {costs}\n  {', '.join(tried[2:6])}\n  {helps}\n  {', '.join(tried[6:])}"
    )
    return Verdict(setting, accuracy, acts_like, cause, remedy, noticed, words)
