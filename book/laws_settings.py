"""*Laws at a glance* and the landing page, settings in numbers: the running one, what would help where
another law binds, finite rates, and points of the landing page's picture."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from laws_text import RUNNING, predicted, rounded, table

import recallbook as rb
from recallbook.theory.symbolic import lock_terms as of_lock_on, recall_terms as of_recall
from recallbook.theory.symbolic.expressions import numeric
from recallbook.theory.values import sizes
from recallbook_studies import laws
from recallbook_studies.ch11 import real_tables
from recallbook_studies.laws import least_dim, lock_on_at, ratio_for

LABELS = rb.Setting(
    vocab=256, seq_len=16, dim=512, samples=4096, trigger_in_values=True
)  # for finite rates, too
SMALL = ("fact interference", "bias noise", "unequal lengths", "uneven facts")  # of step 2
RATES, RATE_SEEDS = (0.1, 0.3, 1.0), range(4)
HELPED = (
    rb.Setting(vocab=1024, seq_len=32, dim=128, samples=16384, trigger_in_values=False),
    rb.Setting(vocab=1024, seq_len=256, dim=256, samples=2048, trigger_in_values=False),
    rb.Setting(vocab=256, seq_len=16, dim=768, samples=384, trigger_in_values=False),
    LABELS,
    rb.Setting(
        vocab=1024,
        seq_len=16,
        dim=64,
        samples=16384,
        width=256,
        activation="he3",
        trigger_in_values=False,
    ),
    rb.Setting(
        vocab=256,
        seq_len=16,
        dim=128,
        samples=4096,
        width=512,
        activation="relu",
        trigger_in_values=False,
    ),
)


def worked() -> dict[str, str]:
    """The running setting: its noises from the ledger, which the formulas of the page must meet."""
    at, found = sizes(RUNNING), predicted(RUNNING)
    size = {name: noise.size for name, noise in found.ledger.items()}
    steps = {2: of_lock_on.lock_terms(), 3: of_recall.mean_squares()}
    by_formula = {**laws.lock_on_noises(), **laws.recall_noises(False)}
    rows, off = [], []
    for step, names in steps.items():
        for name in sorted(names, key=size.__getitem__, reverse=True):
            if size[name] and name not in SMALL:
                rows.append((f"{step}: {name}", f"{size[name]:.2g}"))
                off.append(abs(numeric(by_formula[name])(at) / size[name] - 1))
        if step == 2:
            rows.append((f"{step}: four small ones", f"{sum(size[name] for name in SMALL):.2g}"))
    scatter, wrong = (sum(size[name] for name in names) for names in steps.values())
    ratio, others = scatter**-0.5, RUNNING.vocab * -math.expm1(127 * math.log1p(-1 / RUNNING.vocab))
    choices = {
        "sphere": {"embeddings": "sphere"},
        "he3": {"activation": "he3", "width": 768},
        "relu": {"activation": "relu", "width": 768},
    }
    binds = rb.phase(RUNNING)
    return {
        "worked": table(("Step and noise", "$s$"), rows),
        "formulas off": f"{100 * max(off):.0f} %",
        **{
            f"with {name}": f"{predicted(replace(RUNNING, **choice)).accuracy:.2f}"
            for name, choice in choices.items()
        },
        "sum": f"{scatter:.3f}",
        "ratio": f"{ratio:.1f}",
        "half": f"{ratio_for(0.5, others):.1f}",
        "most": f"{ratio_for(0.99, others):.1f}",
        "distinct": f"{others:.0f}",
        "normal lock": f"{lock_on_at(ratio, others):.2f}",
        "lock": f"{found.lock_on:.2f}",
        "recall": f"{found.recall:.2f}",
        "accuracy": f"{found.accuracy:.2f}",
        "recall sum": f"{wrong:.3f}",
        "recall load": f"{2 * math.log(RUNNING.vocab) * wrong:.2f}",
        "normal recall": f"{lock_on_at(wrong**-0.5, RUNNING.vocab - 1):.2f}",
        "binds": binds,
        "without": f"{rb.predict(RUNNING, without=(binds,), warn=False).accuracy:.2f}",
        "critical": rounded(rb.critical_samples(256, 128, 96, trigger_in_values=False, warn=False)),
        "wall": str(least_dim(256, 0.9, trigger_in_values=False)),
    }


def changes(setting: rb.Setting) -> dict[str, rb.Setting]:
    """What one can buy: twice of a size, half the length, or neurons."""
    wider = (
        {"width": 2 * setting.width}
        if setting.width
        else {"width": 8 * setting.dim, "activation": "he3"}
    )
    return {
        "$2N$": replace(setting, samples=2 * setting.samples),
        "$2d$": replace(setting, dim=2 * setting.dim),
        "$L/2$": replace(setting, seq_len=setting.seq_len // 2),
        "MLP": replace(setting, **wider),
    }


def helps() -> dict[str, str]:
    """Accuracy now and after each change, where different laws bind."""
    rows, listed = [], []
    for setting in HELPED:
        name = rb.phase(setting) + (f", {setting.activation}" if setting.width else "")
        after = {
            change: f"{predicted(other).accuracy:.2f}" for change, other in changes(setting).items()
        }
        rows.append(
            (f"{len(rows) + 1}. {name}", f"{predicted(setting).accuracy:.2f}", *after.values())
        )
        known = {
            "V": setting.vocab,
            "L": setting.seq_len,
            "d": setting.dim,
            "N": setting.samples,
            "m": setting.width,
        }
        parts = [f"${letter}={size}$" for letter, size in known.items() if size]
        listed.append(f"{len(rows)}. {', '.join(parts)}, $\\tau={int(setting.trigger_in_values)}$")
    header = ("Binds", "now", *changes(HELPED[0]))
    return {"helps": table(header, rows), "settings": "\n".join(listed)}


def rates() -> dict[str, str]:
    """Simulated accuracy at finite rates, on the draws of the limit."""
    problems = [rb.draw(LABELS, seed) for seed in RATE_SEEDS]
    limit = np.mean(
        [rb.evaluate(problem, rb.three_steps(problem)).accuracy for problem in problems]
    )
    parts = [f"{limit:.2f} in the limit"]
    scale = LABELS.seq_len * LABELS.vocab
    for share in RATES:
        eta = share * scale
        gamma = 1000 * LABELS.vocab * LABELS.seq_len**2 / eta  # saturated attention
        runs = [
            rb.evaluate(problem, rb.three_steps(problem, eta, gamma)).accuracy
            for problem in problems
        ]
        parts.append(f"{np.mean(runs):.2f} at $\\eta={share:g}\\,LV$")
    return {"rates": ", ".join(parts), "rate seeds": str(len(problems))}


def landing() -> dict[str, str]:
    """N in units of V on shoulder, slope and floor of the landing page's picture, where length
    begins to matter, and accuracy with tables of language models."""
    vocab = 4096
    critical = {
        name: rb.critical_samples(vocab, seq_len, dim, warn=False)
        for name, seq_len, dim in (
            ("shoulder", 64, 480),
            ("slope", vocab, 1000),
            ("floor", 64, vocab),
        )
    }
    (length,) = rb.load_results("lengths").query("vocab == @vocab and ratio == 2")["length"]
    real = real_tables.centre(real_tables.load(), side="input").loc[("language models", "none")]
    accuracy = f"{real['accuracy']:.2f}"
    assert accuracy == f"{real['accuracy_predicted']:.2f}", "predicted, and are"
    return {
        "shoulder": f"{critical['shoulder'] / vocab:.1f}",
        "slope": f"{critical['slope'] / vocab:.0f}",
        "floor V": f"{critical['floor'] / vocab:.1f}",
        "floor N": f"{round(critical['floor'], -2):,.0f}",
        "length": f"{round(length, -1):.0f}",
        "real": accuracy,
    }
