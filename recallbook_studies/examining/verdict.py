r"""How well facts are learned with a table of embeddings, beside a random one of its size, and which
property of the table costs most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from tqdm import tqdm

from recallbook.arguments import check_size, not_allowed
from recallbook.setting import Setting
from recallbook.theory.prediction import theory_of
from recallbook_studies.examining.examination import TableReport
from recallbook_studies.examining.replacing import (
    PROPERTIES,
    Change,
    Table,
    random_table,
    unit_scale,
)
from recallbook_studies.examining.rows import bad_rows, named, sampled
from recallbook_studies.laws import random_dim

MOST_ROWS, SEQ_LEN, PER_FACT = 512, 16, 8  # of the setting where none is given
NOTICED = 0.02  # of accuracy: predictions are right to half of it

# what is said of the property that costs most, and what takes it
REMEDIES = {
    "mean": ("the mean costs most: it holds {mean_share:.2f} of the squared length", "subtract it"),
    "spectrum": (
        "the spectrum costs most: the covariance has {centred_dim:.3g} effective dimensions",
        "whiten it, as far as random rows are white",
    ),
    "clusters": (
        "clusters cost most: rows are alike where mean, spectrum and lengths do not say so",
        "no scaling or turning takes them; with random directions",
    ),
    "lengths": (
        "the lengths cost most: their squares have a relative variance of {length_variance:.2g}",
        "give rows, less the mean, the lengths of random ones",
    ),
}


@dataclass(frozen=True)
class Verdict:
    """What is predicted with a table's rows as input embeddings, and with what they could be.

    Attributes
    ----------
    setting : Setting
        Whose predictions these are; its ``vocab`` rows are drawn, at mean square length 1.
    accuracy : dict
        Of ``"the table"``, ``"a random table"`` (Gaussian, of this size), and of the table
        ``"without mean"``, ``"without spectrum"``, ``"without clusters"`` and ``"without lengths"``,
        each replaced by what random rows have (:mod:`recallbook_studies.examining.replacing`).
    acts_like : int
        The dimension in which random embeddings of tokens and labels are predicted to do as well.
    costs_most : str or None
        The one of these four without which accuracy is highest; ``None`` if none gains more than
        ``noticed``.
    noticed : float
        The least difference that is called one: 0.02, or three standard errors of a prediction.
    words : str
        All this in sentences.
    """

    setting: Setting
    accuracy: Mapping[str, float]
    acts_like: int
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
    table: Table, output: Table | None, setting: Setting, seed: int, change: Change | None = None
) -> dict[str, Table]:
    """As many rows as the setting has tokens, drawn, changed and at mean square length 1; without
    output embeddings the law's, and with the same as input tied."""
    places = sampled(len(table), setting.vocab, seed, 2)
    rng = np.random.default_rng(seed)

    def drawn(rows: Table) -> Table:
        return unit_scale(change(rows[places], rng) if change else rows[places])

    found = {"input": drawn(table)}
    if output is not None:
        found["output"] = found["input"] if output is table else drawn(output)
    return found


def judge(
    report: TableReport, table: Table, setting: Setting, output: Table | None, seed: int
) -> Verdict:
    """Predict with the table, with a random one, and without each property: six predictions.

    ``output`` has the output embeddings of the same tokens, and is changed alike.

    Raises
    ------
    ValueError
        If a row is zero or repeats an earlier one, or the sizes do not fit.
    """
    if bad := bad_rows(table):
        allowed = "rows that differ: drop_bad_rows (--drop-bad-rows) leaves out what is bad"
        raise not_allowed("table", f"with bad rows: {named(bad)}", allowed)
    check_size("vocab", setting.vocab, largest=len(table))
    cases: dict[str, Change | None] = {
        "the table": None,
        "a random table": random_table,
        **{f"without {name}": change for name, change in PROPERTIES.items()},
    }
    accuracy, noticed = {}, NOTICED
    with tqdm(cases.items(), unit="prediction", leave=False, disable=None) as bar:
        for name, change in bar:
            bar.set_description(name)
            given = tables(table, output, setting, seed, change)
            found = theory_of(setting, given).averages(setting)
            accuracy[name], noticed = found.accuracy, max(noticed, 3 * found.error)
    here, random = accuracy["the table"], accuracy["a random table"]
    most = max(REMEDIES, key=lambda name: accuracy[f"without {name}"])
    best, lead = accuracy[f"without {most}"], here - random
    cause = most if best > here + noticed else None
    acts_like = random_dim(setting, here)
    differs = f"{'better' if lead > 0 else 'worse'} by {abs(lead):.2f} than"
    costs = f"neither mean, spectrum, clusters nor lengths alone cost more than {noticed:.2f}"
    if cause:
        costs, says = REMEDIES[cause]
        costs = f"{costs.format(**vars(report))}\n  {says}: accuracy {here:.2f} -> {best:.2f}"
    words = (
        f"verdict, with V = {setting.vocab:,} of its rows, L = {setting.seq_len:,}, N = {setting.samples:,}\n"
        f"  {differs if abs(lead) > noticed else 'as good as'} a random table of this size: predicted accuracy"
        f" {here:.2f} and {random:.2f}\n"
        f"  your {report.dim:,} dimensions act like {acts_like:,} random ones; {costs}\n  "
        + ", ".join(f"{name} {accuracy[name]:.2f}" for name in cases if "without" in name)
    )
    return Verdict(setting, accuracy, acts_like, cause, noticed, words)
