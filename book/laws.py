"""The page *Laws at a glance*: ``python book/laws.py`` writes book/laws.md and its picture.

The words are in book/laws.md.in, where ``<<name>>`` stands for what is computed here: formulas from
the package's expressions, numbers from its functions. A test says that the page is what this script
gives."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import laws_picture
import numpy as np
import sympy as sp
from laws_text import RUNNING, latex, predicted, rounded, table
from laws_unequal import unequal

import recallbook as rb
from recallbook.theory.symbolic import lock_terms as of_lock_on, recall_terms as of_recall
from recallbook.theory.symbolic.expressions import L, V, d, m, numeric
from recallbook.theory.values import sizes
from recallbook_bounds import closed_form
from recallbook_bounds.coverage import mean_bias_samples
from recallbook_studies import error_map, laws
from recallbook_studies.ch06 import product_form, sandwich
from recallbook_studies.ch07 import features
from recallbook_studies.ch09 import capacities, fresh_map
from recallbook_studies.laws import least_dim, lock_on_at, ratio_for

HERE = Path(__file__).parent
PAGES = (HERE / "laws.md", HERE / "further_laws.md")  # each from its .md.in
PICTURE, IDEA, CAPACITY = (HERE / "images" / f"{name}.svg" for name in ("laws", "idea", "capacity"))

LENGTHS, SHARES = (16, 64, 256), (0.5, 0.9, 0.99)
VOCABS = (256, 4096, 65536)
WIDTHS, WIDTH_DIM = (
    {"vocab": 256, "seq_len": 16, "samples": 2048, "trigger_in_values": False},
    64,
)  # a case of the MLP
CLOSED = {"vocab": 10**5, "seq_len": 10**3, "dim": 10**4, "trigger_in_values": False}
LABELS = rb.Setting(
    vocab=256, seq_len=16, dim=512, samples=4096, trigger_in_values=True
)  # for finite rates, too
SMALL = ("fact interference", "bias noise", "unequal lengths", "uneven facts")  # of step 2
TRIGGER_OUT = r"$\tau=0$"
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


def formulas() -> dict[str, str]:
    """Every formula of the page, from the expressions."""
    scatter, wrong = laws.lock_on_noises(), laws.recall_noises(False)
    marked = laws.recall_noises(True)["label frequencies"]
    found = {f"s {name}": latex(noise) for name, noise in {**scatter, **wrong}.items()}
    largest = f"\\sqrt{{{latex(laws.PRICE**2)}}}\\;"
    found |= {
        f"N {name}": largest + latex(law / laws.PRICE) for name, law in laws.lock_on().items()
    }
    found |= {
        "s label frequencies": latex(marked),
        "N label frequencies": latex(laws.label_frequencies()),
    }
    found |= {
        "d2 half": latex(laws.superposition(False) ** 2),
        "d2 half marked": latex(laws.superposition(True) ** 2),
    }
    closed = [latex(law).replace(r"\dfrac", r"\frac") for law in product_form.laws(False).values()]
    total, square = features.superposition(), features.square - features.phi0**2
    price = 2 * V * sp.log(V) / (d * square**2)
    noise = sp.collect(sp.expand(sp.simplify(total / price)), 1 / m, sp.factor)
    whole = f"{latex(price)}\\Big({latex(noise)}\\Big)"
    return {**found, "mlp": whole, "closed": ",\\ ".join(closed)}


def thresholds() -> dict[str, str]:
    """What the ratio of mark to scatter must be."""
    rows = [
        (
            f"$L={n}$",
            *(f"{ratio_for(share, n - 1):.1f}" for share in SHARES),
            f"{math.sqrt(2 * math.log(n)):.1f}",
        )
        for n in LENGTHS
    ]
    overlap = rounded(ratio_for(0.99, LENGTHS[-1] - 1) ** 2)
    bought = [lock_on_at(math.sqrt(2 * math.log(n)), n - 1) for n in LENGTHS]
    law = {f"{share:.1f}" for share in bought}
    assert len(law) == 1, "one number for every length"
    return {
        "lock at law": law.pop(),
        "overlap dims": f"$d\\ge{overlap}$",
        "thresholds": table(("$r$ for lock-on", "half", "0.9", "0.99", r"$\sqrt{2\ln L}$"), rows),
    }


def ceilings() -> dict[str, str]:
    """The constants of the superposition law and of label frequencies."""
    vocabs = np.array(VOCABS)
    size = vocabs * np.log(vocabs)

    def to(found: np.ndarray, digits: int = 1) -> str:
        return " to ".join(sorted({f"{found.min():.{digits}f}", f"{found.max():.{digits}f}"}))

    def dims(share: float, marked: bool) -> np.ndarray:
        return np.array([least_dim(vocab, share, trigger_in_values=marked) for vocab in VOCABS])

    half, most = (dims(share, False) for share in SHARES[:2])
    marked = np.array([dims(share, True) for share in SHARES[:2]]) / (half, most)
    factors = [
        rb.critical_samples(vocab, 16, 2 * vocab, warn=False, trigger_in_values=True)
        / numeric(laws.label_frequencies())({V: vocab, d: 2 * vocab})
        for vocab in VOCABS
    ]
    rows = [
        (name, *(f"{c:.1f}" for c in least**2 / size))
        for name, least in (("half", half), ("0.9", most))
    ]
    return {
        "ceilings": table(("$c$ for", *(f"$V={v}$" for v in VOCABS)), rows),
        "load half": to(2 * size * (1 / half**2 + 2 / (vocabs * half)), 2),  # N unlimited
        "load 0.9": to(2 * size * (1 / most**2 + 2 / (vocabs * most))),
        "c": to(most**2 / size),
        "marked over plain": to(marked**2),
        "label factors": ", ".join(f"{factor:.1f}" for factor in factors),
    }


def mlp() -> dict[str, str]:
    """Caps of the activations, and a critical width."""
    names = ("tanh", "relu", "gelu", "he2", "he3")
    known = {name: features.coefficients(name)["cap"] for name in names}
    relu = features.coefficients("relu")
    finite = [f"{cap:.1f} for {name}" for name, cap in known.items() if math.isfinite(cap)]
    free = " and ".join(name for name, cap in known.items() if math.isinf(cap))
    width = rb.critical_width(dim=WIDTH_DIM, activation="he3", warn=False, **WIDTHS)
    case = f"$V={WIDTHS['vocab']}$, $L={WIDTHS['seq_len']}$, $N={WIDTHS['samples']}$, $d={WIDTH_DIM}$, $\\tau=0$"
    text = f"{rounded(width)} neurons for accuracy 0.9 with he3 at {case}"
    return {
        "relu cap": f"{known['relu']:.1f}",
        "relu kept": f"{known['relu'] ** -0.5:.2f}",
        "relu spread": f"{relu['H'] / (relu['H'] - relu['phi_0'] ** 2):.1f}",
        "caps": ", ".join(finite) + f"; no cap for {free}",
        "width case": text,
    }


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


def proved() -> dict[str, str]:
    """How far what suffices is from what is predicted."""
    cases = sandwich.load().query("by == 'certificates'")
    gaps = cases["sufficient"] / cases["critical"]
    found = rb.sufficient_samples(**CLOSED)
    assert found.by == "closed form"
    # V = 10^18, L = 10^16, d = 10^10: L^2 V^(1/2) / d^(3/2) is 10^26
    many = mean_bias_samples(10**18, 10**16, 10**10, accuracy=0.9)
    powers = {
        "closed number": closed_form.sufficient_samples_closed_form(**CLOSED),
        "closed fraction": found,
        "closed predicted": rb.critical_samples(**CLOSED),
    }
    return {
        "certified median": f"{gaps.median():.1f}",
        "certified largest": f"{gaps.max():.0f}",
        "certified cases": str(len(cases)),
        "many tokens": f"{many / (math.sqrt(0.4) * 10**26):.1f}",
        "rounding nats": f"{math.log(2 * math.pi * math.e / 12) / 2:.2f}",
        "least dim": str(product_form.DIM_OVER_LOG),
        "events": str(closed_form.EVENTS),
        **{f"C1{tau * ' marked'}": str(least) for tau, least in product_form.DIM_SQUARE.items()},
        **{f"C2{tau * ' marked'}": str(least) for tau, least in product_form.SAMPLES.items()},
        **{name: "$" + sp.latex(sp.Float(f"{size:.1e}", 2)) + "$" for name, size in powers.items()},
    }


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
    """What one can buy: twice of a size, half the length, the trigger out, or neurons."""
    wider = (
        {"width": 2 * setting.width}
        if setting.width
        else {"width": 8 * setting.dim, "activation": "he3"}
    )
    return {
        "$2N$": replace(setting, samples=2 * setting.samples),
        "$2d$": replace(setting, dim=2 * setting.dim),
        "$L/2$": replace(setting, seq_len=setting.seq_len // 2),
        TRIGGER_OUT: replace(setting, trigger_in_values=False),
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
        after.pop(TRIGGER_OUT)
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
    header = ("Binds", "now", *(change for change in changes(HELPED[0]) if change != TRIGGER_OUT))
    return {"helps": table(header, rows), "settings": "\n".join(listed)}


def checked() -> dict[str, str]:
    """How often the fresh map finds the prediction off, with a warning and without one."""
    found = fresh_map.load()
    warned = found[found["warns"]]
    return {
        "map cases": f"{error_map.COUNT:,}",
        "map off": f"{error_map.OFF:g}",
        "fresh cases": str(len(found)),
        "fresh off": str(found["off"].sum()),
        "fresh warned": str(len(warned)),
        "fresh caught": str(warned["off"].sum()),
    }


def values() -> dict[str, str]:
    """Everything that stands on the page in place of ``<<name>>``."""
    found = {
        **formulas(),
        **thresholds(),
        **ceilings(),
        **mlp(),
        **rates(),
        **proved(),
        **checked(),
        **worked(),
        **helps(),
        **unequal(),
    }
    found |= {"over the law": over_the_law(), "near the wall": near_the_wall(), **stored()}
    return {**found, "coverage 0.9": f"{float(laws.coverage() / V):.1f}"}


def template(page: Path) -> str:
    """The words of a page, with the names of what is computed in double angle brackets."""
    return page.with_suffix(".md.in").read_text(encoding="utf-8")


def written() -> dict[Path, str]:
    """The pages as they should be."""
    found = values()
    return {
        page: re.sub(r"<<([^<>]+)>>", lambda match: found[match[1]], template(page))
        for page in PAGES
    }


def over_the_law() -> str:
    """Predicted N for accuracy 0.9 over the largest law, from twice the dimension of the wall
    on."""
    ratios = []
    for vocab, seq_len in ((256, 16), (256, 256), (4096, 1024)):
        for marked in (False, True):
            wall = least_dim(vocab, 0.9, trigger_in_values=marked)
            for dim in (2 * wall, 8 * wall):
                at = {V: vocab, L: seq_len, d: dim}
                law = max(float(numeric(law)(at)) for law in laws.samples(marked).values())
                ratios.append(
                    rb.critical_samples(vocab, seq_len, dim, trigger_in_values=marked, warn=False)
                    / law
                )
    return f"{min(ratios):.1f} to {max(ratios):.1f}"


def stored() -> dict[str, str]:
    """Predicted capacity over the smaller of its two ceilings, and one case, from the committed
    table."""
    known = capacities.predicted().query("width == 0 and capacity > 0")
    fits = known.query("seq_len == 1").set_index("dim")["capacity"]
    known = known.query("seq_len == 8 and dim > 32").assign(fits=known["dim"].map(fits))
    known["shown"] = known["samples"] / math.log(10)
    share = known["capacity"] / known[["fits", "shown"]].min(axis=1)
    (case,) = known.query("samples == 16000 and dim == 256").to_dict("records")
    return {
        "capacity share": f"{share.min():.2f} to {share.max():.2f}",
        **{f"capacity {name}": f"{case[name]:,.0f}" for name in ("capacity", "fits", "shown")},
    }


def near_the_wall() -> str:
    """Predicted N for half of the facts over the law of label frequencies, at twice the wall's
    dimension."""
    ratios = []
    for vocab in (256, 4096):
        dim = round(2 * least_dim(vocab, 0.5, trigger_in_values=True))
        law = float(numeric(laws.label_frequencies())({V: vocab, d: dim}))
        critical = rb.critical_samples(vocab, 2, dim, 0.5, trigger_in_values=True, warn=False)
        ratios.append(critical / law)
    return f"{min(ratios):.1f} to {max(ratios):.1f}"


if __name__ == "__main__":
    for page, text in written().items():
        page.write_text(text, encoding="utf-8")
    laws_picture.draw(PICTURE, (False, True))
    laws_picture.draw(IDEA, (False,))
    laws_picture.draw_capacity(CAPACITY)
