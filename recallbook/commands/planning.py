"""The command ``plan``: the cheapest sizes that are predicted to reach an accuracy."""

from __future__ import annotations

import argparse
import math
import textwrap
from typing import Any

from recallbook.analysis.plan import Cost, Plan, plan
from recallbook.arguments import not_allowed
from recallbook.commands import options

TEXT = """\
    Find the cheapest number of sequences N and dimension d with this predicted accuracy after three steps; with
    --activation alone also the width m of the MLP (a minute or two), with --width at that width. Cost is counted in
    multiplications of the three steps, N (3 d d + 3 L d) or N (7 d m + 3 L d), plus, if you say so, a price for each
    sequence and each trained weight in the same unit. The dimension is found to a few percent, the width to a fifth.
    Seconds; with embeddings of a structure, where each of some hundred predictions is an average over draws, a minute
    or two at V = 16, an hour or more towards V = 1024, the largest allowed.

    --json prints one object with the keys wanted, best (dim, width, samples, cost), predicted, one_in_ten (the accuracy
    that one draw in ten stays below there), frontier (a list of such places: the smallest N at each d), doubled
    (accuracy with twice of samples, dim or width, half of seq_len, or trigger_out), saved (sequences that one more
    dimension saves) and remedies (where no N suffices: the smallest dim or width, the longest seq_len, the samples, or
    the N with trigger_out, that would). What does not exist is null. The exit status is 1 where nothing suffices."""
SAYS = {
    "samples": "twice the sequences",
    "dim": "twice the dimension",
    "width": "twice the neurons",
    "seq_len": "half the length",
    "trigger_out": "the trigger out of the values",
}


def add(commands: Any, shape: dict[str, Any]) -> None:
    """Add the command to the parser's."""
    parser = commands.add_parser(
        "plan", help="plan a training run", description=textwrap.dedent(TEXT), **shape
    )
    options.add_setting(
        parser, {"vocab": True, "seq_len": True, "dim": False, "samples": False, "width": False}
    )
    parser.add_argument(
        "--accuracy", default="0.9", metavar="A", help="what to reach (default: 0.9)"
    )
    price = "price of one {}, in multiplications (default: 0)"
    parser.add_argument(
        "--per-sequence", default="0", metavar="C", help=price.format("training sequence")
    )
    parser.add_argument(
        "--per-weight", default="0", metavar="C", help=price.format("trained weight")
    )
    parser.set_defaults(run=_plan)


def _plan(chosen: argparse.Namespace) -> int:
    sizes = options.chosen_sizes(chosen, "vocab", "seq_len", "dim", "samples", "width")
    prices = {
        name: options.number(name, getattr(chosen, name), "a number of at least 0")
        for name in PRICES
    }
    wanted = options.number("accuracy", chosen.accuracy, "a number between 0 and 1")
    vary = chosen.activation is not None and chosen.width is None
    if chosen.width is not None and chosen.activation is None:
        raise not_allowed("activation", None, "named where there is a width")
    found = plan(
        **sizes,
        **options.chosen_kind(chosen),
        accuracy=wanted,
        vary_width=vary,
        cost=Cost(**prices),
    )
    print(options.as_json(found.values()) if chosen.json else _shown(found))
    return 0 if found.best else 1


PRICES = ("per_sequence", "per_weight")


def _shown(found: Plan) -> str:
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
    lines += [f"  {SAYS[name]}: {accuracy:.3f}" for name, accuracy in found.doubled.items()]
    if not math.isnan(found.saved):
        lines.append(f"one more dimension saves {found.saved:.2g} sequences")
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
