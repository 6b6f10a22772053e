"""*Laws at a glance*, facts that are not equal: what is computed for that section of
book/laws.md.in."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import sympy as sp
from laws_text import predicted, table

import recallbook as rb
from recallbook.setting import fact_frequencies
from recallbook.theory.symbolic.expressions import d
from recallbook_studies.ch11 import rare_facts, real_tables, remedies, thresholds
from recallbook_studies.ch11.breaking import critical_zipf

UNEQUAL = rb.Setting(vocab=256, seq_len=16, dim=128, samples=4096, trigger_in_values=False, zipf=1)
MENDED = {
    "nothing": {},
    "trained output bias": {"output_bias": "trained"},
    "inverse loss weights": {"loss_weights": "inverse"},
    "balanced batches": {"balanced": True},
}


def unequal() -> dict[str, str]:
    """Facts that are not equal: where lock-on breaks, what mends it."""
    rows = []
    for name, choice in MENDED.items():
        here = replace(UNEQUAL, **choice)
        now, more = predicted(here), predicted(replace(here, samples=4 * here.samples))
        rows.append(
            (
                name,
                *(
                    f"{value:.2f}"
                    for value in (now.lock_on, now.accuracy, now.recall, more.accuracy)
                ),
            )
        )
    return {
        **rare(),
        **breaking(),
        **real(),
        "top load": f"{UNEQUAL.seq_len * fact_frequencies(UNEQUAL)[0]:.1f}",
        "mended": table(("Predicted", "lock-on", "accuracy", "recall", "accuracy, $4N$"), rows),
    }


def real() -> dict[str, str]:
    """What tables of trained models are worth, and how far predictions with them are off."""
    rows = real_tables.load().query("labels == 'equal'")
    shown = real_tables.centre(rows, side="input")
    found = {
        "real off": f"{real_tables.compared(rows[rows['change'] == 'none'])['nine in ten']:.2f}"
    }
    for name in real_tables.SOURCES:
        found[f"{name} d"] = f"{shown.loc[(name, 'none'), 'dim']:.0f}"
        found[f"{name} acts"] = str(real_tables.acts_like(name, rows))
        found[f"{name} whitened"] = f"{shown.loc[(name, 'whitened'), 'accuracy']:.2f}"
        found[f"{name} accuracy"] = f"{shown.loc[(name, 'none'), 'accuracy']:.2f}"
    return found


def breaking() -> dict[str, str]:
    """Where lock-on breaks: how far the committed sweeps are from the law, and draws that a remedy
    does not mend."""
    measured = pd.concat(
        [thresholds.critical(rb.load_results(name)) for name in ("zipf_threshold", "zipf_larger")]
    )
    measured = measured[2 * measured["seq_len"] <= measured["dim"]]
    held = measured["predicted"].between(measured["low"], measured["high"])
    exponents = [
        critical_zipf(vocab, UNEQUAL.seq_len, UNEQUAL.dim, 16 * vocab) for vocab in (256, 1024)
    ]
    many = rb.load_results("remedies_many").query("zipf == 1")
    weighted = remedies.labelled(many).query("remedy == 'inverse weights'")
    return {
        "breaking exponents": " and ".join(f"{exponent:.2f}" for exponent in exponents),
        "law off": f"{(measured['simulated'] - measured['predicted']).abs().max():.2f}",
        "law cases": str(len(measured)),
        "law held": "all" if held.all() else str(held.sum()),
        "failing": str((weighted["lock_on"] < remedies.KEPT).sum()),
        "failing seeds": str(len(weighted)),
    }


def rare() -> dict[str, str]:
    """Error against N and d under Zipf's law: formulas, and what the committed sweep measured of
    them."""
    frame = rb.load_results("zipf_error")
    few = frame.query("zipf == 1.5 and dim == 32 and loss_weights == 'inverse'")
    errors = 1 - few.groupby("samples")["accuracy"].mean()
    floor = rare_facts.floor_law()
    return {
        "uncovered": sp.latex(rare_facts.uncovered_law(), fold_short_frac=True),
        "floor": sp.latex(sp.simplify(floor / floor.subs(d, 1))),
        "crowded": f"{errors.iloc[0]:.2f} at $N={errors.index[0]}$, {errors.iloc[-1]:.2f} at {errors.index[-1]}",
    }
