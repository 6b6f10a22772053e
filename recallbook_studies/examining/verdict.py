r"""How well facts are learned with a table of embeddings, beside a random one of its size, and which
property of the table costs most."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float64
from tqdm import tqdm

from recallbook.arguments import check_size, not_allowed
from recallbook.data.embeddings import draw_embeddings
from recallbook.setting import Setting
from recallbook.theory.prediction import theory_of
from recallbook_studies.examining.examination import TableReport
from recallbook_studies.examining.rows import bad_rows, named, sampled

MOST_ROWS, SEQ_LEN, PER_FACT = 512, 16, 8  # of the setting where none is given
NOTICED = 0.01  # of accuracy: a smaller difference is none

Table = Float64[np.ndarray, "rows d"]
Change = Callable[[Table], Table]


def centred(table: Table) -> Table:
    """Subtract the mean row."""
    return np.asarray(table - table.mean(axis=0))


def equal_lengths(table: Table) -> Table:
    """Scale every row to length 1."""
    return np.asarray(table / np.linalg.norm(table, axis=1, keepdims=True))


def even_spectrum(table: Table) -> Table:
    """Give all directions that vary the same variance about the mean, which stays."""
    sizes, axes = np.linalg.eigh(np.cov(table.T, bias=True))
    varies = sizes > 1e-9 * sizes[-1]
    axes = axes[:, varies] * (sizes[varies].mean() / sizes[varies]) ** 0.25
    return np.asarray(table.mean(axis=0) + centred(table) @ axes @ axes.T)


def all_three(table: Table) -> Table:
    """Centre, even out, scale."""
    return equal_lengths(even_spectrum(centred(table)))


class Remedy(NamedTuple):
    """What removes a property from a table, in code and in words, and what is said where it costs
    most."""

    change: Change
    says: str
    costs: str = ""
    why: str = ""


REMEDIES = {
    "mean": Remedy(
        centred, "subtract it", "costs", "it holds {mean_share:.2f} of the squared length"
    ),
    "lengths": Remedy(
        equal_lengths,
        "scale rows to length 1",
        "cost",
        "the relative variance of squared lengths is {length_variance:.2g}",
    ),
    "spectrum": Remedy(
        even_spectrum,
        "give all directions about the mean the same variance",
        "costs",
        "the covariance has {centred_dim:.3g} effective dimensions",
    ),
    "all three": Remedy(all_three, "centre, then even out, then scale"),
}
PROPERTIES = tuple(name for name, remedy in REMEDIES.items() if remedy.why)


@dataclass(frozen=True)
class Verdict:
    """Predicted accuracy with a table's rows as input embeddings, and with what it could be.

    Attributes
    ----------
    setting : Setting
        Whose predictions these are; its ``vocab`` rows of the table are drawn.
    accuracy, lock_on, recall : float
        Of the table, at mean square length 1.
    random_accuracy : float
        Of Gaussian tables of this size in its place.
    accuracy_without : dict
        Of the table without its ``"mean"``, differences of ``"lengths"``, an uneven ``"spectrum"``,
        or ``"all three"``, each taken from all its rows.
    costs_most : str or None
        The one of the three without which accuracy is highest; None if that gains less than is
        noticed.
    noticed : float
        The least difference that is called one: 0.01, or three standard errors of a prediction.
    words : str
        All this in sentences.
    """

    setting: Setting
    accuracy: float
    lock_on: float
    recall: float
    random_accuracy: float
    accuracy_without: Mapping[str, float]
    costs_most: str | None
    noticed: float
    words: str = ""

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
        raise not_allowed("table", f"with rows {named(bad)}", allowed)
    check_size("vocab", setting.vocab, largest=len(table))
    normal = draw_embeddings(setting, seed)
    labels = output if output is None else normal.input if output is table else normal.output
    cases = {"the table": (table, output, np.asarray), "a random table": (*normal[:1], labels, np.asarray)}
    cases |= {f"without {name}": (table, output, remedy.change) for name, remedy in REMEDIES.items()}
    found = []
    with tqdm(cases.items(), unit="prediction", leave=False, disable=None) as bar:
        for name, (rows, labels, change) in bar:
            bar.set_description(name)
            given = tables(rows, labels, setting, seed, change)
            found.append(theory_of(setting, given).averages(setting))
    here, random, *changed = found
    accuracies = dict(zip(REMEDIES, (outcome.accuracy for outcome in changed), strict=True))
    noticed = max(NOTICED, 3 * max(outcome.error for outcome in found))
    most = max(PROPERTIES, key=accuracies.__getitem__)
    verdict = Verdict(
        setting=setting,
        accuracy=here.accuracy,
        lock_on=here.lock_on,
        recall=here.recall,
        random_accuracy=random.accuracy,
        accuracy_without=accuracies,
        costs_most=most if accuracies[most] > here.accuracy + noticed else None,
        noticed=noticed,
    )
    return replace(verdict, words=_words(report, verdict))


def _words(report: TableReport, verdict: Verdict) -> str:
    """A verdict in sentences."""
    setting, most, without = verdict.setting, verdict.costs_most, verdict.accuracy_without
    lead = verdict.accuracy - verdict.random_accuracy
    differs = f"{'better' if lead > 0 else 'worse'} by {abs(lead):.2f}"
    lines = [
        f"verdict, for {setting.vocab:,} of its rows, L = {setting.seq_len:,}, N = {setting.samples:,}:"
        f" {differs if abs(lead) > verdict.noticed else 'no better and no worse'} than a random table of this size,"
        f" accuracy {verdict.accuracy:.2f} and {verdict.random_accuracy:.2f} (predicted)",
        f"your {report.dim:,} dimensions act like {report.pair_dim:.3g}",
    ]
    if most:
        remedy = REMEDIES[most]
        lines[1] += f", and the {most} {remedy.costs} most: {remedy.why.format(**vars(report))}"
        lines.append(f"{remedy.says}: accuracy {verdict.accuracy:.2f} -> {without[most]:.2f}")
    else:
        lines[1] += f"; no single property costs more than {verdict.noticed:.2f}"
    others = (f"{name} {without[name]:.2f}" for name in REMEDIES if name != most)
    lines.append(f"accuracy without other properties: {', '.join(others)}")
    rest = verdict.random_accuracy - max(without.values())
    if rest > verdict.noticed:
        lines.append(f"none of them explains the last {rest:.2f}")
    return "\n".join(lines)
