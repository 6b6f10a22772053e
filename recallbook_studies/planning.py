"""The command ``plan``: the cheapest sizes that are predicted to reach an accuracy."""

from __future__ import annotations

import argparse
import textwrap
from dataclasses import asdict
from typing import Any

from recallbook.arguments import not_allowed
from recallbook.commands.predicting import add_setting, as_json, chosen_fields
from recallbook_studies.plan import Cost, Plan, plan

PLAN = """\
    Find the cheapest number of sequences N and dimension d with this predicted accuracy after three steps; with
    --activation alone also the width m of the MLP (a minute or two), with --width at that width. Cost is counted in
    multiplications of the three steps, N (3 d d + 3 L d) or N (7 d m + 3 L d), plus, if you say so, a price for each
    sequence and each trained weight in the same unit. The dimension is found to a few percent, the width to a fifth.
    Seconds. Unequal facts and embeddings of a structure, where each prediction is an average over draws, are refused.

    --json prints one object with the keys wanted, best (dim, width, samples, cost), predicted, one_in_ten (the accuracy
    that one draw in ten stays below there), frontier (a list of such places: the smallest N at each d), doubled
    (accuracy with twice of samples, dim or width, half of seq_len, or trigger_out) and remedies (where no N suffices:
    the smallest dim or width, the longest seq_len, the samples, or the N with trigger_out, that would). What does not
    exist is null. The exit status is 1 where nothing suffices."""
CHANGES = {
    "samples": "twice the sequences",
    "dim": "twice the dimension",
    "width": "twice the neurons",
    "seq_len": "half the length",
    "trigger_out": "the trigger out of the values",
}


def add_plan(commands: Any, shape: dict[str, Any]) -> None:
    """Add the command to the parser's."""
    text = textwrap.dedent(PLAN)
    parser = commands.add_parser("plan", help="plan a training run", description=text, **shape)
    add_setting(parser, ("vocab", "seq_len"), ("dim", "samples", "width"))
    price = "price of one {}, in multiplications (default: 0)"
    parser.options(
        {
            "accuracy": (float, "A", 0.9, "what to reach (default: 0.9)"),
            "per_sequence": (float, "C", 0.0, price.format("training sequence")),
            "per_weight": (float, "C", 0.0, price.format("trained weight")),
        }
    )
    parser.set_defaults(run=_plan)


def _plan(chosen: argparse.Namespace) -> int:
    vary = chosen.activation is not None and chosen.width is None
    if chosen.width is not None and chosen.activation is None:
        raise not_allowed("activation", None, "named where there is a width")
    found = plan(
        **chosen_fields(chosen),
        accuracy=chosen.accuracy,
        vary_width=vary,
        cost=Cost(chosen.per_sequence, chosen.per_weight),
    )
    print(as_json(asdict(found)) if chosen.json else _planned(found))
    return 0 if found.best else 1


def _planned(found: Plan) -> str:
    if found.best is None:
        return _nothing(found)
    best, lines = found.best, []
    width = "" if best.width is None else f", m = {best.width}"
    sizes = f"N = {best.samples}, d = {best.dim}{width}"
    lines.append(f"cheapest for accuracy {found.wanted:g}: {sizes}, cost {best.cost:.2g}")
    lines.append(
        f"predicted there: accuracy {found.predicted:.3f}; one draw in ten below {found.one_in_ten:.2f}"
    )
    lines.append("smallest N at each d:")
    lines.append("       d         N" + ("" if best.width is None else "         m") + "      cost")
    for place in found.frontier:
        neurons = "" if place.width is None else f"{place.width:>10}"
        mark = "  <- cheapest" if place == best else ""
        lines.append(f"{place.dim:>8}{place.samples:>10}{neurons}{place.cost:>10.2g}{mark}")
    lines.append("accuracy there with")
    lines += [f"  {CHANGES[name]}: {accuracy:.3f}" for name, accuracy in found.doubled.items()]
    return "\n".join(lines)


def _nothing(found: Plan) -> str:
    says = {
        "dim": "d of {} or more",
        "seq_len": "L of {}",
        "width": "an MLP (he3, or the activation given) of {} neurons or more",
        "samples": "N = {}",
        "trigger_out": "the trigger out of the values, with N = {}",
    }
    lines = [
        f"nothing suffices for accuracy {found.wanted:g}: no N (or not the one given) at these sizes"
    ]
    lines += ["what would, one change at a time, at unlimited N where N is not given:"]
    lines += [
        f"  {says[name].format(size)}" for name, size in found.remedies.items() if size is not None
    ]
    lines += [f"  not {name}" for name, size in found.remedies.items() if size is None]
    return "\n".join(lines)
