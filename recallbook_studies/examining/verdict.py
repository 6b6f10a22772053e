r"""How well facts are learned with a table of embeddings, beside a random one of its size, and which
property of the table costs most."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from jaxtyping import Float64
from tqdm import tqdm

from recallbook.arguments import check_size, not_allowed
from recallbook.data.embeddings import draw_embeddings
from recallbook.data.streams import stream
from recallbook.setting import Setting
from recallbook.theory.prediction import theory_of
from recallbook_studies.examining.examination import TableReport
from recallbook_studies.examining.rows import bad_rows, named, sampled

MOST_ROWS, SEQ_LEN, PER_FACT = 512, 16, 8  # of the setting where none is given
NOTICED = 0.02  # of accuracy: predictions are right to half of it

Table = Float64[np.ndarray, "rows d"]
Change = Callable[[Table], Table]


def centred(table: Table) -> Table:
    """Subtract the mean row."""
    return np.asarray(table - table.mean(axis=0))


def equal_lengths(table: Table) -> Table:
    """Scale every row to length 1."""
    return np.asarray(table / np.linalg.norm(table, axis=1, keepdims=True))


@cache
def _random_variances(rows: int, dim: int) -> Float64[np.ndarray, " dim"]:
    normal = stream(0, "examined_rows", 3).standard_normal((rows, dim))
    return np.asarray(np.linalg.eigvalsh(np.cov(normal.T)))


def random_spectrum(table: Table) -> Table:
    """Give the directions of the covariance the variances that they have in a Gaussian table; mean
    and trace stay."""
    sizes, axes = np.linalg.eigh(np.cov(table.T))
    varies = sizes > 1e-9 * sizes[-1]
    wanted = _random_variances(*table.shape)[varies]
    wanted = wanted * sizes.sum() / wanted.sum()
    change = (axes[:, varies] * np.sqrt(wanted / sizes[varies])) @ axes[:, varies].T
    return np.asarray(table.mean(axis=0) + centred(table) @ change)


# what takes a property from a table; what is said where it costs most; what takes it, in words
REMEDIES: dict[str, tuple[Change, str, str]] = {
    "mean": (
        centred,
        "the mean costs most: it holds {mean_share:.2f} of the squared length",
        "subtract it",
    ),
    "lengths": (
        equal_lengths,
        "the lengths cost most: their squares have a relative variance of {length_variance:.2g}",
        "scale rows to length 1",
    ),
    "spectrum": (
        random_spectrum,
        "the spectrum costs most: the covariance has {centred_dim:.3g} effective dimensions",
        "whiten it, as far as random rows are white",
    ),
}


def all_three(table: Table) -> Table:
    """Centre, whiten, scale."""
    return equal_lengths(random_spectrum(centred(table)))


@dataclass(frozen=True)
class Verdict:
    """What is predicted with a table's rows as input embeddings, and with what they could be.

    Attributes
    ----------
    setting : Setting
        Whose predictions these are; its ``vocab`` rows are drawn, at mean square length 1.
    accuracy : dict
        Of ``"the table"``, ``"a random table"`` (Gaussian, of this size), and of the table
        ``"without mean"``, ``"without lengths"``, ``"without spectrum"`` and ``"without all three"``,
        each replaced in all its rows by what random rows have, or by none.
    costs_most : str or None
        ``"mean"``, ``"lengths"`` or ``"spectrum"``, without which accuracy is highest; ``None`` if
        none gains more than ``noticed``.
    noticed : float
        The least difference that is called one: 0.02, or three standard errors of a prediction.
    words : str
        All this in sentences.
    """

    setting: Setting
    accuracy: Mapping[str, float]
    costs_most: str | None
    noticed: float
    words: str

    def __str__(self) -> str:
        return self.words


def setting_of(table: Table, **sizes: Any) -> Setting:
    """The setting of a verdict: sizes that are missing are V = 512 or all rows, L = 16, N = 8 V."""
    given = {"vocab": min(len(table), MOST_ROWS), "seq_len": SEQ_LEN, **sizes}
    return Setting(**{"samples": PER_FACT * given["vocab"], "dim": table.shape[1], **given})


def tables(
    table: Table, output: Table | None, setting: Setting, seed: int, change: Change = np.asarray
) -> dict[str, Table]:
    """Changed tables at mean square length 1, of as many rows as the setting has tokens; without
    output embeddings the law's, and with the same as input tied."""

    def drawn(given: Table) -> Table:
        chosen = change(given)[sampled(len(given), setting.vocab, seed, 2)]
        return np.asarray(chosen / np.sqrt((chosen**2).sum(axis=1).mean()))

    found = {"input": drawn(table)}
    if output is not None:
        found["output"] = found["input"] if output is table else drawn(output)
    return found


def judge(
    report: TableReport, table: Table, setting: Setting, output: Table | None, seed: int
) -> Verdict:
    """Predict with the table, with a random one, and without each property: six predictions.

    ``output`` has the output embeddings of the same tokens, and loses the same properties.

    Raises
    ------
    ValueError
        If a row is zero or repeats an earlier one, or the sizes do not fit.
    """
    if bad := bad_rows(table):
        allowed = "rows that differ: drop_bad_rows (--drop-bad-rows) leaves out what is bad"
        raise not_allowed("table", f"with bad rows: {named(bad)}", allowed)
    check_size("vocab", setting.vocab, largest=len(table))
    normal = draw_embeddings(setting, seed).input
    cases: dict[str, Any] = {
        "the table": (table, output),
        "a random table": (normal, normal if output is table else None),
        **{f"without {name}": (table, output, change) for name, (change, *_) in REMEDIES.items()},
        "without all three": (table, output, all_three),
    }
    accuracy, noticed = {}, NOTICED
    with tqdm(cases.items(), unit="prediction", leave=False, disable=None) as bar:
        for name, (rows, labels, *change) in bar:
            bar.set_description(name)
            given = tables(rows, labels, setting, seed, *change)
            found = theory_of(setting, given).averages(setting)
            accuracy[name], noticed = found.accuracy, max(noticed, 3 * found.error)
    here, random = accuracy["the table"], accuracy["a random table"]
    most = max(REMEDIES, key=lambda name: accuracy[f"without {name}"])
    best, lead = accuracy[f"without {most}"], here - random
    cause = most if best > here + noticed else None
    differs = f"{'better' if lead > 0 else 'worse'} by {abs(lead):.2f} than"
    costs = f"neither mean, lengths nor spectrum alone costs more than {noticed:.2f}"
    if cause:
        _, costs, says = REMEDIES[cause]
        costs = f"{costs.format(**vars(report))}\n  {says}: accuracy {here:.2f} -> {best:.2f}"
    words = (
        f"verdict, with V = {setting.vocab:,} of its rows, L = {setting.seq_len:,}, N = {setting.samples:,}\n"
        f"  {differs if abs(lead) > noticed else 'as good as'} a random table of this size: predicted accuracy"
        f" {here:.2f} and {random:.2f}\n"
        f"  your {report.dim:,} dimensions act like {report.pair_dim:.3g}; {costs}\n  "
        + ", ".join(f"{name} {accuracy[name]:.2f}" for name in cases if "without" in name)
    )
    return Verdict(setting, accuracy, cause, noticed, words)
