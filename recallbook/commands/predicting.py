"""The command ``predict``: everything that the theory says about one setting."""

from __future__ import annotations

import argparse
import math
import textwrap
from typing import Any

from recallbook.bounds.coverage import coverage_samples, covered_accuracy, minimum_samples
from recallbook.commands import options
from recallbook.setting import Setting
from recallbook.theory.doubts import doubts, message
from recallbook.theory.prediction import critical_samples, phase, predict

TEXT = """\
    Predict lock-on, recall and accuracy after three steps in the early-phase limit, as rb.predict does. Also printed:
    what the prediction's doubts are; the ledger (each term's size in units of the squared signal); which term binds
    (rb.phase); the share of facts that coverage allows; and for the accuracy asked for the predicted critical N
    (rb.critical_samples), the N without which nobody can be that good (coverage), and the N without which no reader of
    one gradient can (rb.minimum_samples; three steps look again, and may need less).

    --json prints one object with the keys setting, accuracy, lock_on, recall, doubts, binds, covered, ledger (name to
    size, formula and derived), wanted, critical_samples, covered_samples and one_gradient_samples. What does not exist
    is null."""


def add(commands: Any, shape: dict[str, Any]) -> None:
    """Add the command to the parser's."""
    text = textwrap.dedent(TEXT)
    parser = commands.add_parser("predict", help="predict one setting", description=text, **shape)
    options.add_setting(parser, {"vocab": True, "seq_len": True, "dim": True, "samples": True, "width": False})
    parser.add_argument(
        "--accuracy", default="0.9", metavar="A", help="for the critical and the necessary N (default: 0.9)"
    )
    parser.set_defaults(run=_predict)


def predicted(setting: Setting, wanted: float) -> dict[str, Any]:
    """What the command says about a setting, by its keys."""
    fields = ("vocab", "seq_len", "dim", "samples", "width", "activation", "embeddings", "trigger_in_values")
    given = {name: getattr(setting, name) for name in fields}
    found = predict(setting, warn=False)
    doubted = doubts(setting, found.lock_on)
    least = {name: value for name, value in given.items() if name in ("vocab", "seq_len", "dim", "width")}
    rest = {name: value for name, value in given.items() if name != "samples"}
    return {
        "setting": given,
        "accuracy": found.accuracy,
        "lock_on": found.lock_on,
        "recall": found.recall,
        "doubts": message(setting, doubted) if doubted else None,
        "binds": phase(setting),
        "covered": covered_accuracy(setting.vocab, setting.samples),
        "ledger": {name: term._asdict() for name, term in found.ledger.items()},
        "wanted": wanted,
        "critical_samples": critical_samples(**rest, accuracy=wanted, warn=False),
        "covered_samples": coverage_samples(setting.vocab, wanted),
        "one_gradient_samples": minimum_samples(**least, accuracy=wanted),
    }


def _predict(chosen: argparse.Namespace) -> int:
    sizes: dict[str, Any] = options.chosen_sizes(chosen, "vocab", "seq_len", "dim", "samples", "width")
    wanted = options.number("accuracy", chosen.accuracy, "a number between 0 and 1")
    found = predicted(Setting(**sizes, **options.chosen_kind(chosen)), wanted)
    print(options.as_json(found) if chosen.json else _shown(found))
    return 0


def _shown(found: dict[str, Any]) -> str:
    lines = [", ".join(f"{name.replace('_', '-')} {found[name]:.2f}" for name in ("accuracy", "lock_on", "recall"))]
    if found["doubts"]:
        lines.append(found["doubts"])
    lines += [f"what binds: {found['binds']}", f"coverage allows {found['covered']:.3f} of the facts", "ledger:"]
    sizes = {name: term["size"] for name, term in found["ledger"].items() if not math.isnan(term["size"])}
    lines += [f"  {name:18} {size:.2g}" for name, size in sorted(sizes.items(), key=lambda item: -item[1])]
    critical, covered, one = (
        options.rounded(found[f"{name}_samples"]) for name in ("critical", "covered", "one_gradient")
    )
    lines.append(f"N for accuracy {found['wanted']:g} at this d: {critical} predicted")
    lines.append(f"  proved to be necessary: {covered} for any method, {one} for readers of one gradient")
    return "\n".join(lines)
