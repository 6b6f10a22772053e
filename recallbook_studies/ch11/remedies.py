r"""Remedies for unequal facts, compared on equal draws: bias, weights, balance, finite rates, more
and other steps.

Everything that is no step in the early-phase limit has the smaller N. Rates are those of
:mod:`recallbook_studies.ch11.remedies_rates`, the same at every setting, and hence tuned at one of them.
"""

from __future__ import annotations

from itertools import product, starmap
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from recallbook.analysis.intervals import seed_interval
from recallbook.setting import Setting
from recallbook.sweeps.point import OUTCOMES, Point
from recallbook_studies import grids, plotting
from recallbook_studies.ch11.remedies_rates import BOTH, TEST_SAMPLES, THREE_STEPS, Rates, point

SEEDS, MANY = range(10), range(200)
VOCAB, SEQ_LEN, DIMS = 256, 16, {"gaussian": 128, "orthogonal": 258}
SAMPLES, ZIPFS = (2048, 16384), (0.0, 1.0, 1.5)
LONGER = 100  # steps of the plain gradient, beside the STEPS of all
REMEDIES: dict[str, dict[str, Any]] = {
    "nothing": {},
    "calibrated bias": {"output_bias": "calibrated"},
    "trained bias": {"output_bias": "trained"},
    "inverse weights": {"loss_weights": "inverse"},
    "inverse weights, trained bias": {"loss_weights": "inverse", "output_bias": "trained"},
    "balanced batches": {"balanced": True},
}
WITH_STEPS = ("nothing", "trained bias")
NAMES = {"gd": "gradient", "sign": "sign", "adam": "Adam", "muon": "Muon"}
RATES = {  # what the rule takes from the committed tuning
    THREE_STEPS: Rates(1024.0, 1024.0),
    "gd": Rates(1024.0, 1.0),
    "sign": Rates(0.064, 0.004),
    "adam": Rates(0.64, 0.01),
    "muon": Rates(2.0, 0.4),
}
ETAS = tuple(
    BOTH * 4.0**k for k in (-2, -1, 0)
)  # of three steps: the tuned one, a smaller and a larger
CAREFUL = Rates(
    RATES["gd"].eta / 4, RATES["gd"].gamma
)  # no part of the rule: to tell a bad rate from a bad way
LIMIT = "limit"
SETTINGS = ["zipf", "embeddings", "trigger_in_values", "samples"]
RESTORED, KEPT = 0.95, 0.9


def setting(
    remedy: str, samples: int, zipf: float, embeddings: str = "gaussian", trigger: bool = False
) -> Setting:
    """The setting of a remedy of :data:`REMEDIES`."""
    return Setting(
        vocab=VOCAB,
        seq_len=SEQ_LEN,
        dim=DIMS[embeddings],
        samples=samples,
        embeddings=embeddings,
        trigger_in_values=trigger,
        zipf=zipf,
        **REMEDIES[remedy],
    )


def points() -> list[Point]:
    """Remedies in the limit at every size; three steps at finite rates and longer descents at the
    smaller N."""
    return [*limit_points(), *finite_points(), *descent_points()]


def limit_points() -> list[Point]:
    """Every remedy, with three steps in the early-phase limit."""
    sizes = product(REMEDIES, SAMPLES, ZIPFS, DIMS, (False, True))
    return grids.points(starmap(setting, sizes), SEEDS, TEST_SAMPLES)


def many_points() -> list[Point]:
    """Every remedy in the limit with :data:`MANY` seeds: the smaller N, Gaussian, no trigger in the
    values."""
    sizes = product(REMEDIES, SAMPLES[:1], ZIPFS[1:])
    return grids.points(starmap(setting, sizes), MANY, 2000)


def finite_points() -> list[Point]:
    r"""Three steps at ``zipf=1`` and every $\eta$ of :data:`ETAS`, with $\gamma$ as tuned."""
    sizes = product(WITH_STEPS, SAMPLES[:1], ZIPFS[1:2], DIMS, (False, True))
    gamma = RATES[THREE_STEPS].gamma
    return [
        point(setting(*size), seed, THREE_STEPS, Rates(eta, gamma))
        for size in sizes
        for eta in ETAS
        for seed in SEEDS
    ]


def descent_points() -> list[Point]:
    """Every optimiser for :data:`STEPS` at ``zipf=1``; the plain gradient for :data:`LONGER`, with
    a bias, and at 0.

    The three last with Gaussian embeddings alone. There the gradient has a quarter of its rate too:
    with the trigger in the values, where no rate was tuned, the tuned one was seen to diverge."""
    found = []
    for seed, trigger in product(SEEDS, (False, True)):
        plain, orthogonal = (
            setting("nothing", SAMPLES[0], 1.0, embeddings, trigger) for embeddings in DIMS
        )
        biased = setting("trained bias", SAMPLES[0], 1.0, trigger=trigger)
        equal = setting("nothing", SAMPLES[0], 0.0, trigger=trigger)
        found += [
            point(where, seed, way, RATES[way]) for where in (plain, orthogonal) for way in NAMES
        ]
        found += [point(where, seed, "gd", RATES["gd"]) for where in (biased, equal)]
        found += [point(where, seed, "gd", CAREFUL) for where in (plain, equal)]
        found.append(point(plain, seed, "gd", RATES["gd"], LONGER))
    return found


def labelled(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with ``way``, how the weights were found, and ``remedy``, one of
    :data:`REMEDIES`."""
    names = {_choices(REMEDIES[name]): name for name in REMEDIES}
    chosen = frame[["loss_weights", "output_bias", "balanced"]].to_dict("records")
    remedies = [names[_choices(choice)] for choice in chosen]
    return frame.assign(way=[_way(row) for row in frame.to_dict("records")], remedy=remedies)


def _choices(given: dict[str, Any]) -> tuple[Any, ...]:
    plain = {"loss_weights": "equal", "output_bias": "none", "balanced": False}
    return tuple({**plain, **given}.values())


def _way(row: dict[str, Any]) -> str:
    if row["method"] == "descend":
        careful = ", eta / 4" if row["optimizer"] == "gd" and row["eta"] == CAREFUL.eta else ""
        return f"{NAMES[row['optimizer']]}, {row['steps']:.0f} steps{careful}"
    return LIMIT if pd.isna(row["eta"]) else f"three steps, eta = {row['eta'] / BOTH:g} LV"


def compared(frame: pd.DataFrame) -> pd.DataFrame:
    """One row for each setting, way and remedy: mean and 95 % interval over seeds of every outcome.

    Columns are ``accuracy``, ``accuracy low``, ``accuracy high``, ``accuracy lowest`` and so on,
    ``seeds``, and ``failed``: runs whose weights overflowed, which have no outcome and count as 0.
    Intervals are cut at 0 and 1."""
    rows = []
    groups = labelled(frame).groupby([*SETTINGS, "way", "remedy"], sort=False)
    for key, group in groups:
        row = dict(zip([*SETTINGS, "way", "remedy"], key, strict=True))
        for outcome in OUTCOMES:
            values = group[outcome].fillna(0.0)
            found = seed_interval(values)
            row |= {outcome: found.mean, f"{outcome} lowest": values.min()}
            row |= {f"{outcome} low": max(found.low, 0.0), f"{outcome} high": min(found.high, 1.0)}
        rows.append({**row, "seeds": len(group), "failed": int(group["error"].notna().sum())})
    return pd.DataFrame(rows)


def failing(frame: pd.DataFrame) -> pd.DataFrame:
    """By ``zipf`` and ``remedy``: mean, median and lowest tenth over seeds of lock-on and accuracy;
    share that fails.

    A draw fails if its lock-on is below :data:`KEPT`.
    """
    frame = labelled(frame)
    groups = frame.assign(fails=frame["lock_on"] < KEPT).groupby(["zipf", "remedy"], sort=False)
    columns = {"fails": groups["fails"].mean()}
    for name in ("lock_on", "recall", "accuracy"):
        values = groups[name]
        columns |= {name: values.mean(), f"{name} median": values.median()}
        columns[f"{name} tenth"] = values.quantile(0.1)
    return pd.DataFrame(columns).reset_index()


def at(
    table: pd.DataFrame,
    samples: int,
    zipf: float,
    embeddings: str = "gaussian",
    trigger: bool = False,
) -> Any:
    """The rows of :func:`compared` at one setting, by way and remedy."""
    where = {"zipf": zipf, "embeddings": embeddings, "trigger_in_values": trigger}
    return grids.at(table, samples=samples, **where).set_index(["way", "remedy"])


def step_rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    """A row for every way at the smaller N and an exponent of 1; the last two columns are its
    accuracy elsewhere."""
    place = (table, SAMPLES[0], ZIPFS[1])
    here = at(*place)
    here["±"] = (here["accuracy high"] - here["accuracy low"]) / 2
    here["orthogonal"] = at(*place, "orthogonal")["accuracy"]
    here["τ = 1"] = at(*place, trigger=True)["accuracy"]
    here = here.rename(columns={"lock_on": "lock-on", "accuracy lowest": "lowest"})
    lines = [
        (way, remedy)
        for family in (LIMIT, "three steps", *NAMES.values())
        for way, remedy in here.index
        if way.startswith(family) and (way != LIMIT or remedy in WITH_STEPS)
    ]
    columns = ["lock-on", "recall", "accuracy", "±", "lowest", "orthogonal", "τ = 1"]
    rows = here.loc[lines, columns].to_dict("records")
    names = [way + f", {remedy}" * (remedy != "nothing") for way, remedy in lines]
    return [{"way": name, **row} for name, row in zip(names, rows, strict=True)]


def verdicts(table: pd.DataFrame) -> pd.Series:
    """Whether each row of :func:`compared` has lock-on restored: ``"yes"`` if its interval lies
    above :data:`RESTORED`.

    ``"no"`` if the interval lies below, ``"open"`` if the level is inside.
    """
    ends = [table["lock_on low"] >= RESTORED, table["lock_on high"] < RESTORED]
    return pd.Series(np.select(ends, ["yes", "no"], "open"), index=table.index, name="restored")


def draw_comparison(ax: Axes, parts: dict[str, pd.DataFrame]) -> None:
    """Accuracy, one line for each way and remedy, a colour for each part (rows of :func:`at` under
    a name)."""
    lines = list(dict.fromkeys(line for rows in parts.values() for line in rows.index))
    for index, (name, rows) in enumerate(parts.items()):
        shift = 0.18 * (index - (len(parts) - 1) / 2)
        heights = np.array([lines.index(line) for line in rows.index]) + shift
        ends = rows[["accuracy", "accuracy low", "accuracy high"]]
        plotting.plot_lying(ax, ends, heights, index, name)
    ax.set_yticks(range(len(lines)), [_spoken(*line) for line in lines], fontsize=8)
    ax.invert_yaxis()
    ax.set(xlim=(-0.03, 1.03), xlabel="accuracy")


def _spoken(way: str, remedy: str) -> str:
    """A way and a remedy as the name of a line."""
    if way == LIMIT:
        return remedy
    return way if remedy == "nothing" else f"{way}, {remedy}"
