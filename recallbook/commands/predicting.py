"""The command ``predict``: everything that the theory says about one setting."""

from __future__ import annotations

import argparse
import math
import textwrap
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from recallbook.bounds.coverage import coverage_samples, covered_accuracy, minimum_samples
from recallbook.commands import options
from recallbook.setting import Setting
from recallbook.theory.caveats import doubts, message, plain
from recallbook.theory.prediction import critical_samples, phase, predict

TEXT = """\
    Predict lock-on, recall and accuracy after three steps in the early-phase limit, as rb.predict does. Also printed:
    below what one draw of embeddings and data in ten is, and half of them are; what the prediction's doubts are; the
    ledger (each term's size in units of the squared signal); which term binds (rb.phase); the share of facts that
    coverage allows; and for the accuracy asked for the predicted critical N (rb.critical_samples), the N without which
    nobody can be that good (coverage), and the N without which no reader of one gradient can (rb.minimum_samples; three
    steps look again, and may need less).

    --json prints one object with the keys setting, accuracy, lock_on, recall, quantiles (0.1, 0.5 and 0.9, each to the
    three outcomes that this share of draws stays below), doubts, binds, covered, ledger (name to size, formula and
    derived), wanted, critical_samples, covered_samples and one_gradient_samples. What does not exist is null.

    Where facts are not equally frequent (--zipf, --other-zipf, --balanced, --loss-weights, --output-bias) or embeddings
    have a structure, a prediction is an average over draws. What binds and the critical N, dozens of predictions, are
    then found only with --search (a minute or two at V = 256); what is proved for equal facts alone is null."""


def add(commands: Any, shape: dict[str, Any]) -> None:
    """Add the command to the parser's."""
    text = textwrap.dedent(TEXT)
    parser = commands.add_parser("predict", help="predict one setting", description=text, **shape)
    options.add_setting(
        parser, {"vocab": True, "seq_len": True, "dim": True, "samples": True, "width": False}
    )
    options.add_facts(parser)
    parser.add_argument(
        "--accuracy",
        default="0.9",
        metavar="A",
        help="for the critical and the necessary N (default: 0.9)",
    )
    parser.add_argument(
        "--search",
        action="store_true",
        help="with unequal facts: also what binds and the critical N",
    )
    parser.set_defaults(run=_predict)


def predicted(setting: Setting, wanted: float, *, search: bool = True) -> dict[str, Any]:
    """What the command says about a setting, by its keys; the slow parts, where they are slow, if
    ``search``."""
    given = asdict(setting)
    found = predict(setting, warn=False)
    doubted = doubts(setting, found.lock_on)
    rest = {name: value for name, value in given.items() if name != "samples"}
    quick = plain(setting)
    return {
        "setting": given,
        "accuracy": found.accuracy,
        "lock_on": found.lock_on,
        "recall": found.recall,
        "quantiles": {str(q): found.quantile(q)._asdict() for q in (0.1, 0.5, 0.9)},
        "doubts": message(setting, doubted) if doubted else None,
        "binds": phase(setting) if quick or search else None,
        "covered": covered_accuracy(setting.vocab, setting.samples) if quick else None,
        "ledger": {name: term._asdict() for name, term in found.ledger.items()},
        "wanted": wanted,
        "critical_samples": critical_samples(**rest, accuracy=wanted, warn=False)
        if quick or search
        else None,
        **_necessary(setting, wanted, quick),
    }


def _necessary(setting: Setting, wanted: float, proved: bool) -> dict[str, float | None]:
    """Sequences that are proved to be necessary, for equal facts and embeddings without a
    structure."""
    if not proved:
        return {"covered_samples": None, "one_gradient_samples": None}
    sizes = (setting.vocab, setting.seq_len, setting.dim)
    return {
        "covered_samples": coverage_samples(setting.vocab, wanted),
        "one_gradient_samples": minimum_samples(*sizes, wanted, width=setting.width),
    }


def _predict(chosen: argparse.Namespace) -> int:
    sizes: dict[str, Any] = options.chosen_sizes(
        chosen, "vocab", "seq_len", "dim", "samples", "width"
    )
    wanted = options.number("accuracy", chosen.accuracy, "a number between 0 and 1")
    setting = Setting(**sizes, **options.chosen_kind(chosen), **options.chosen_facts(chosen))
    found = predicted(setting, wanted, search=chosen.search)
    print(options.as_json(found) if chosen.json else _shown(found))
    return 0


def _outcomes(values: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name.replace('_', '-')} {values[name]:.2f}" for name in ("accuracy", "lock_on", "recall")
    )


def _shown(found: dict[str, Any]) -> str:
    lines = [_outcomes(found)]
    says = {"0.1": "one draw in ten below", "0.5": "half of the draws below"}
    lines += [f"{text}: {_outcomes(found['quantiles'][q])}" for q, text in says.items()]
    if found["doubts"]:
        lines.append(found["doubts"])
    if found["binds"]:
        lines.append(f"what binds: {found['binds']}")
    if found["covered"] is not None:
        lines.append(f"coverage allows {found['covered']:.3f} of the facts")
    sizes = {
        name: term["size"] for name, term in found["ledger"].items() if not math.isnan(term["size"])
    }
    lines.append("ledger:")
    lines += [
        f"  {name:18} {size:.2g}" for name, size in sorted(sizes.items(), key=lambda item: -item[1])
    ]
    if found["critical_samples"] is not None:
        critical = options.rounded(found["critical_samples"])
        lines.append(f"N for accuracy {found['wanted']:g} at this d: {critical} predicted")
    if found["one_gradient_samples"] is not None:
        covered, one = (
            options.rounded(found[f"{name}_samples"]) for name in ("covered", "one_gradient")
        )
        lines.append(
            f"  proved to be necessary: {covered} for any method, {one} for readers of one gradient"
        )
    return "\n".join(lines)
