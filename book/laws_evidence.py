"""*Laws at a glance*, what stands behind the laws: what is proved, how far predictions are off, and
committed tables."""

from __future__ import annotations

import math

import sympy as sp

import recallbook as rb
from recallbook_bounds import closed_form
from recallbook_bounds.coverage import mean_bias_samples
from recallbook_studies import error_map
from recallbook_studies.ch06 import product_form, sandwich
from recallbook_studies.ch09 import capacities, fresh_map
from recallbook_studies.ch12 import trained_map

CLOSED = {"vocab": 10**5, "seq_len": 10**3, "dim": 10**4, "trigger_in_values": False}


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


def trained() -> dict[str, str]:
    """How far predictions for training to the end are off, with a warning and without."""
    found = trained_map.load()
    off = (found["predicted_accuracy"] - found["accuracy"]).abs()
    sure, doubted = off.groupby(found["doubted"]).quantile(0.9)
    return {
        "trained settings": str(len(found)),
        "trained sure": f"{sure:.2f}",
        "trained doubted": f"{doubted:.2f}",
    }


def stored() -> dict[str, str]:
    """Predicted capacity over the smaller of its two ceilings, and one case, from the committed
    table."""
    known = capacities.predicted().query(
        "width == 0 and capacity > 0 and not trigger_in_values and out_of == 0"
    )
    fits = known.query("seq_len == 1").set_index("dim")["capacity"]
    known = known.query("seq_len == 8 and dim > 32").assign(fits=known["dim"].map(fits))
    known["shown"] = known["samples"] / math.log(10)
    share = known["capacity"] / known[["fits", "shown"]].min(axis=1)
    (case,) = known.query("samples == 16000 and dim == 256").to_dict("records")
    return {
        "capacity share": f"{share.min():.2f} to {share.max():.2f}",
        **{f"capacity {name}": f"{case[name]:,.0f}" for name in ("capacity", "fits", "shown")},
    }
