"""The pages of laws and the landing page: ``python book/laws.py`` writes them and their pictures.

The words are in book/*.md.in, where ``<<name>>`` stands for what is computed: formulas from the
package's expressions, here, numbers from its functions, here and in the modules beside this one. A test
says that the pages are what this script gives."""

from __future__ import annotations

import math
import re
from pathlib import Path

import laws_evidence as evidence
import laws_picture
import laws_settings as settings
import laws_steps as steps
import numpy as np
import sympy as sp
from laws_text import latex, rounded, table
from laws_unequal import unequal

import recallbook as rb
from recallbook.theory.symbolic.expressions import L, V, d, m, numeric
from recallbook_studies import laws
from recallbook_studies.ch06 import product_form
from recallbook_studies.ch07 import features
from recallbook_studies.laws import least_dim, lock_on_at, ratio_for

HERE = Path(__file__).parent
PAGES = tuple(HERE / f"{name}.md" for name in ("index", "laws", "further_laws"))  # from .md.in
PICTURE, IDEA, CAPACITY = (HERE / "images" / f"{name}.svg" for name in ("laws", "idea", "capacity"))

LENGTHS, SHARES = (16, 64, 256), (0.5, 0.9, 0.99)
VOCABS = (256, 4096, 65536)
WIDTHS, WIDTH_DIM = (
    {"vocab": 256, "seq_len": 16, "samples": 2048, "trigger_in_values": False},
    64,
)  # a case of the MLP


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


def values() -> dict[str, str]:
    """Everything that stands on the page in place of ``<<name>>``."""
    found = {
        **formulas(),
        **thresholds(),
        **ceilings(),
        **mlp(),
        **settings.rates(),
        **settings.worked(),
        **settings.helps(),
        **settings.landing(),
        **evidence.proved(),
        **evidence.checked(),
        **evidence.trained(),
        **evidence.stored(),
        **unequal(),
        **steps.several(),
    }
    vocab = laws_picture.CARTOON["vocab"]
    found |= {"over the law": over_the_law(), "near the wall": near_the_wall()}
    found |= {"wall 1": str(steps.wall(vocab)), "wall 16": str(steps.wall(vocab, steps.MANY))}
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


if __name__ == "__main__":
    for page, text in written().items():
        page.write_text(text, encoding="utf-8")
    laws_picture.draw_laws(PICTURE)
    laws_picture.draw_idea(IDEA)
    laws_picture.draw_capacity(CAPACITY)
