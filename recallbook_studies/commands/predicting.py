"""The command ``predict``: what the theory says about a setting."""

from __future__ import annotations

import argparse
import json
import math
import sys
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import asdict, fields
from typing import Any

from recallbook.activations import ACTIVATIONS
from recallbook.arguments import check_share
from recallbook.embedding_laws import FORMS
from recallbook.setting import LATER, LOSS_WEIGHTS, OUTPUT_BIASES, Setting
from recallbook.theory.caveats import LARGEST, doubts, message
from recallbook.theory.critical import capacity, critical_samples
from recallbook.theory.prediction import Quantiles, phase, predict, theory_of
from recallbook.theory.symbolic.recall_terms import mean_squares
from recallbook_bounds.coverage import coverage_samples, covered_accuracy, minimum_samples

OUTCOMES = Quantiles._fields
PREDICT = """\
    Predict lock-on, recall and accuracy after three steps in the early-phase limit, as rb.predict does. Also
    printed: how far each is typically off; below what one draw of embeddings and data in ten is, and half of them
    are; what the prediction's doubts are; the ledger (each term's size in units of the squared signal); which term
    binds (rb.phase); the share of facts that coverage allows; and for the accuracy asked for the predicted critical
    N (rb.critical_samples), the N without which nobody can be that good (coverage), and the N without which no
    reader of one gradient can (rb.minimum_samples; three steps look again, and may need less); and the most facts
    with that accuracy (rb.capacity).

    --json prints one object with the keys setting, accuracy, lock_on, recall, quantiles (0.1, 0.5 and 0.9, each to
    the three outcomes that this share of draws stays below), expected_error, doubts, binds, covered, ledger (name
    to size, formula and derived), wanted, critical_samples, covered_samples, one_gradient_samples and capacity.
    What does not exist is null.

    Where facts are not equally frequent (--zipf, --other-zipf, --balanced, --loss-weights, --output-bias) or embeddings
    have a structure, a prediction is an average over draws. What binds and the critical N, dozens of predictions, are
    then found only with --search (a minute or two at V = 256); what is proved for equal facts alone is null.

    With --value-steps only the three outcomes after so many value steps (step 3 is the first), and their rate; with
    --search the critical N and the most facts, too."""


# what is found later; what takes long with unequal facts; what is proved for equal ones alone
LATER_KEYS = """quantiles ledger binds critical_samples
covered covered_samples one_gradient_samples capacity""".split()
SLOW = "predicting by an average over draws: seconds at V = 200, minutes in the thousands"
STEP_TWO = "noises of step 2, variances in units of the squared score of the trigger:"
STEP_THREE = (
    "noises of step 3, mean squares in units of the squared right logit; coverage: never shown:"
)
HOLDS = f"""\
This holds for three gradient steps from zero and one head of attention; it was compared with simulation up to
V = {LARGEST["vocab"]:,}, L = {LARGEST["seq_len"]:,}, d = {LARGEST["dim"]:,}. Of models that are trained to the end
rb.predict_trained speaks."""


def add_predict(commands: Any, shape: dict[str, Any]) -> None:
    """Add the command to the parser's."""
    text = textwrap.dedent(PREDICT)
    parser = commands.add_parser("predict", help="predict one setting", description=text, **shape)
    add_setting(parser, ("vocab", "seq_len", "dim", "samples"), ("width",))
    add_facts(parser)
    says = "for the critical and the necessary N (default: 0.9)"
    parser.options(
        {
            "accuracy": (float, "A", 0.9, says),
            "value_steps": (int, "K", 1, "value steps in place of one (default: 1)"),
            "rate": (float, "G", None, "the logit that one of them writes (default: the best)"),
        }
    )
    parser.flags({"search": "where it takes long: also what binds and the critical N"})
    parser.set_defaults(run=_predict)


def predicted(setting: Setting, wanted: float, *, search: bool = True) -> Iterator[dict[str, Any]]:
    """What the command says about a setting, by its keys, again with each part that is found; the
    slow parts, where they are slow, if ``search``."""
    given, theory = asdict(setting), theory_of(setting)
    quick = not theory.sampled
    found = predict(setting, warn=False)
    expected = found.expected_error._asdict() if found.expected_error else None
    rest = {name: value for name, value in given.items() if name != "samples"}
    says: dict[str, Any] = {
        "setting": given,
        **{name: getattr(found, name) for name in OUTCOMES},
        "expected_error": expected,
        "doubts": message(setting, doubts(theory.doubts, setting), expected=expected),
        "wanted": wanted,
        **dict.fromkeys(LATER_KEYS),
    }
    yield says
    says["quantiles"] = {str(q): found.quantile(q)._asdict() for q in (0.1, 0.5, 0.9)}
    yield says
    if quick or search:
        says["binds"] = phase(setting)
    if quick:
        says["covered"] = covered_accuracy(setting.vocab, setting.samples)
    says["ledger"] = {name: term._asdict() for name, term in found.ledger.items()}
    yield says
    if quick or search:
        says["critical_samples"] = critical_samples(**rest, accuracy=wanted, warn=False)
    if quick:
        sizes = (setting.vocab, setting.seq_len, setting.dim)
        says["covered_samples"] = coverage_samples(setting.vocab, wanted)
        says["one_gradient_samples"] = minimum_samples(*sizes, wanted, width=setting.width)
        yield says
        facts = {name: value for name, value in given.items() if name != "vocab"}
        says["capacity"] = capacity(**facts, accuracy=wanted, warn=False)
    yield says


def _predict(chosen: argparse.Namespace) -> int:
    setting = Setting(**chosen_fields(chosen))
    wanted = check_share("accuracy", chosen.accuracy)
    if chosen.value_steps != 1:
        steps = {"value_steps": chosen.value_steps, "rate": chosen.rate}
        several = predict(setting, **steps)
        says = {name: getattr(several, name) for name in (*OUTCOMES, "rate")}
        line = f"{outcome_text(says)}, at rate {several.rate:.3g}"
        if chosen.search:
            rest = {**asdict(setting), **steps, "accuracy": wanted, "warn": False}
            samples, vocab = rest.pop("samples"), rest.pop("vocab")
            needed, facts = critical_samples(vocab, **rest), capacity(samples, **rest)
            says |= {"wanted": wanted, "critical_samples": needed, "capacity": facts}
            line += f"\naccuracy {wanted:g}: N = {rounded(needed)}, or {facts or 'no'} facts"
        print(as_json({"setting": asdict(setting), **steps, **says}) if chosen.json else line)
        return 0
    theory = theory_of(setting)
    theory.needs(setting)  # refuses what it does not cover
    if theory.sampled:
        print(SLOW, file=sys.stderr, flush=True)
    shown = 0
    for found in predicted(setting, wanted, search=chosen.search):
        lines = [] if chosen.json else _prediction(found)
        print(*(f"{line}\n" for line in lines[shown:]), sep="", end="", flush=True)
        shown = len(lines)
    print(as_json(found) if chosen.json else HOLDS)
    return 0


def outcome_text(values: dict[str, Any]) -> str:
    """Accuracy, lock-on and recall in words."""
    return ", ".join(f"{name.replace('_', '-')} {values[name]:.2f}" for name in OUTCOMES)


def _prediction(found: dict[str, Any]) -> list[str]:
    lines = [outcome_text(found)]
    if found["expected_error"]:
        lines.append(f"typically off by: {outcome_text(found['expected_error'])}")
    if found["doubts"]:
        lines.append(found["doubts"])
    says = {"0.1": "one draw in ten below", "0.5": "half of the draws below"}
    if found["quantiles"]:
        lines += [f"{text}: {outcome_text(found['quantiles'][q])}" for q, text in says.items()]
    if found["binds"]:
        lines.append(f"costs most accuracy: {found['binds']}")
    if found["covered"] is not None:
        lines.append(f"coverage allows {found['covered']:.3f} of the facts")
    if not found["ledger"]:
        return lines
    sizes = [(term["size"], name) for name, term in found["ledger"].items()]
    known = sorted((size for size in sizes if not math.isnan(size[0])), reverse=True)
    of_recall = {*mean_squares(mlp=True), "coverage"}
    for text, last in ((STEP_TWO, False), (STEP_THREE, True)):
        block = [(size, name) for size, name in known if (name in of_recall) is last]
        lines += [text, *(f"  {name:18} {size:.2g}" for size, name in block)]
    if found["critical_samples"] is not None:
        critical = rounded(found["critical_samples"])
        lines.append(f"N for accuracy {found['wanted']:g} at this d: {critical} predicted")
    if found["one_gradient_samples"] is not None:
        covered, one = (rounded(found[f"{name}_samples"]) for name in ("covered", "one_gradient"))
        more = found["one_gradient_samples"] > found["critical_samples"]
        lines.append(
            f"  proved to be necessary: {covered} for any method, {one} for readers of one gradient"
            + "; three steps look again, and may need less" * more
        )
    if found["capacity"] is not None:
        text = f"facts with accuracy {found['wanted']:g} at this N, d and L"
        lines.append(f"{text}: {found['capacity'] or 'none'} predicted")
    return lines


SIZES = {
    "vocab": (int, "V", "vocabulary size: tokens, labels and facts"),
    "seq_len": (int, "L", "tokens in a sequence"),
    "dim": (int, "d", "embedding dimension"),
    "samples": (int, "N", "training sequences"),
    "width": (int, "m", "neurons of the fixed random MLP (default: no MLP)"),
}


def add_setting(parser: Any, required: Iterable[str], optional: Iterable[str]) -> None:
    """Options for the fields of a setting, by name sizes that must be given, and others."""
    defaults = {**dict.fromkeys(required, ...), **dict.fromkeys(optional)}
    sizes = {name: (*SIZES[name][:2], defaults[name], SIZES[name][2]) for name in defaults}
    names = "of the MLP: " + ", ".join(ACTIVATIONS)
    parser.options({**sizes, "activation": (str, "NAME", None, names)})
    parser.options({"embeddings": (str, "LAW", "gaussian", ", ".join(FORMS))})
    add_kind(parser)


def add_kind(parser: Any) -> None:
    """Options that every command of this kind has."""
    says = "the values carry the trigger (default: they do not)"
    parser.flags({"trigger_in_values": says, "json": "print JSON instead of text"})


def chosen_fields(chosen: argparse.Namespace) -> dict[str, Any]:
    """The fields of a setting that were given, or have a default, by name."""
    given = {field.name: getattr(chosen, field.name, None) for field in fields(Setting)}
    return {name: value for name, value in given.items() if value is not None}


def add_facts(parser: Any) -> None:
    """Options for how frequent facts are, and for what the steps do about it."""
    zipf = "frequencies of tokens fall as rank to the power -A (default: 0, all equal)"
    others = "the same of tokens without the mark (default: as --zipf)"
    parser.options({"zipf": (float, "A", None, zipf), "other_zipf": (float, "A", None, others)})
    parser.flags({"balanced": "training batches show every fact equally often"})
    for name, choices in {"loss_weights": LOSS_WEIGHTS, "output_bias": OUTPUT_BIASES}.items():
        says = f"{', '.join(choices)} (default: {LATER[name]})"
        parser.options({name: (str, "NAME", LATER[name], says)})


def as_json(values: Any) -> str:
    """JSON; what is infinite or not a number becomes null."""
    finite = json.loads(json.dumps(values), parse_constant=lambda text: None)
    return json.dumps(finite, indent=2)


def rounded(size: float) -> str:
    """A size to three digits, with a comma between thousands; ``none`` where there is none."""
    if not math.isfinite(size):
        return "none"
    return f"{float(f'{size:.3g}'):,.0f}" if size >= 10 else f"{size:.3g}"
