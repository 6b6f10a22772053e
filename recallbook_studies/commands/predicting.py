"""The command ``predict``: what the theory says about a setting."""

from __future__ import annotations

import argparse
import json
import math
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, asdict, fields
from typing import Any

from recallbook.activations import ACTIVATIONS
from recallbook.arguments import check_share
from recallbook.embedding_laws import FORMS
from recallbook.result import OUTCOMES
from recallbook.setting import LOSS_WEIGHTS, OUTPUT_BIASES, Setting
from recallbook_theory.caveats import LARGEST, doubts, message
from recallbook_theory.critical import (
    capacity,
    critical_dim,
    critical_samples,
    critical_width,
)
from recallbook_theory.prediction import phase, predict, theory_of

PREDICT = """\
    Predict lock-on, recall and accuracy after three steps in the early-phase limit, as rb.predict does. Also
    printed: how far each is typically off; with --search, below what one draw of embeddings and data in ten is, and
    half of them are; what the prediction's doubts are; the ledger (each term's size in units of the squared
    signal); which term binds (rb.phase); for the accuracy asked for the predicted critical N (rb.critical_samples), and
    the most facts with that accuracy (rb.capacity). What is proved: rb.certify, rb.minimum_samples.

    --json prints one object with the keys setting, accuracy, lock_on, recall, quantiles (0.1, 0.5 and 0.9, each to
    the three outcomes that this share of draws stays below), expected_error, doubts, binds, ledger (name to size,
    outcome, formula and derived), wanted, critical_samples, critical_dim, critical_width (with
    --search), capacity, and why these are what they are.
    What does not exist is null: quantiles with an MLP,
    and where facts are equal without --search.

    Where facts are not equally frequent (--zipf, --other-zipf, --balanced, --loss-weights, --output-bias), or embeddings
    have a structure or are --centred, a prediction is an average over draws. What binds and the critical N, dozens of
    predictions, are then found only with --search (a minute or two at V = 256); capacity, which is for equal facts
    alone, is null."""
SLOW = "predicting by an average over draws: seconds at V = 200, minutes in the thousands"
STEP_TWO = "noises of step 2, variances in units of the squared score of the trigger:"
STEP_THREE = (
    "noises of step 3, mean squares in units of the squared right logit; coverage: never shown:"
)
SIZES = {
    "critical_samples": "N at this d",
    "critical_dim": "d at this N",
    "critical_width": "width at these N, d and L",
    "capacity": "facts at this N, d and L",
}
HOLDS = f"""\
This holds for three gradient steps from zero and one head of attention; it was compared with simulation up to
V = {LARGEST["vocab"]:,}, L = {LARGEST["seq_len"]:,}, d = {LARGEST["dim"]:,}. Of models that are trained to the end
rb.predict_trained speaks."""


def add_predict(commands: Any, shape: dict[str, Any]) -> None:
    """Add the command to the parser's."""
    text = textwrap.dedent(PREDICT)
    parser = commands.add_parser("predict", help="predict one setting", description=text, **shape)
    add_setting(parser)
    wanted = "for the critical N and the capacity (default: 0.9)"
    search = "what takes long: draws; where facts are not equal, what binds and the critical N"
    parser.add_argument("--accuracy", type=float, metavar="A", default=0.9, help=wanted)
    parser.add_argument("--search", action="store_true", help=search)
    parser.add_argument("--json", action="store_true", help=JSON)
    parser.set_defaults(run=_predict)


def predicted(setting: Setting, wanted: float, *, search: bool = True) -> dict[str, Any]:
    """Predict a setting, by the keys of the command; the slow parts, where they are slow, if
    ``search``, and else ``None``."""
    given, theory = asdict(setting), theory_of(setting)
    prediction, equal = predict(setting, warn=False), not theory.sampled
    error = prediction.expected_error
    expected = None if error is None else error.to_dict()
    asked = {**given, "accuracy": wanted, "warn": False}
    samples, vocab = asked.pop("samples"), asked.pop("vocab")
    of_dim = {name: value for name, value in asked.items() if name != "dim"}
    of_width = {name: value for name, value in asked.items() if name != "width"}
    wide = search and setting.width is not None
    sizes = {
        "critical_samples": critical_samples(vocab=vocab, **asked) if equal or search else None,
        "critical_dim": critical_dim(vocab=vocab, samples=samples, **of_dim) if equal else None,
        "critical_width": critical_width(vocab, samples=samples, **of_width) if wide else None,
        "capacity": capacity(samples, **asked) if equal else None,
    }
    quantiles = None
    if setting.width is None and (search or theory.sampled):
        from recallbook_theory.sampled.theory import LARGEST_VOCAB  # it loads torch

        if setting.vocab <= LARGEST_VOCAB:
            quantiles = {str(q): prediction.quantile(q).to_dict() for q in (0.1, 0.5, 0.9)}
    return {
        "setting": given,
        **{name: getattr(prediction, name) for name in OUTCOMES},
        "quantiles": quantiles,
        "expected_error": expected,
        "doubts": message(setting, doubts(theory.doubts, setting), expected=expected),
        "binds": phase(setting) if equal or search else None,
        "ledger": {name: {"size": term, **vars(term)} for name, term in prediction.ledger.items()},
        "wanted": wanted,
        **sizes,
        "why": {name: size.why for name, size in sizes.items() if size is not None},
    }


def _predict(chosen: argparse.Namespace) -> int:
    setting = Setting(**chosen_fields(chosen))
    wanted = check_share("accuracy", chosen.accuracy)
    theory = theory_of(setting)
    theory.needs(setting)  # refuses what it does not cover
    if theory.sampled:
        print(SLOW, file=sys.stderr, flush=True)
    says = predicted(setting, wanted, search=chosen.search)
    print(as_json(says) if chosen.json else "\n".join([*_lines(**says), HOLDS]))
    return 0


def outcome_text(values: Mapping[str, Any]) -> str:
    """Accuracy, lock-on and recall in words."""
    shown = {name: f"{values[name]:.2f}".replace("0.00", "< 0.005") for name in OUTCOMES}
    return ", ".join(f"{name.replace('_', '-')} {text}" for name, text in shown.items())


def _lines(
    quantiles: Any, expected_error: Any, doubts: Any, binds: Any, ledger: Any, **says: Any
) -> Iterator[str]:
    """Say what is known of a prediction in lines."""
    yield outcome_text(says)
    if expected_error:
        yield f"typically off by: {outcome_text(expected_error)}"
    if doubts:
        yield doubts
    if quantiles:
        yield f"one draw in ten below: {outcome_text(quantiles['0.1'])}"
        yield f"half of the draws below: {outcome_text(quantiles['0.5'])}"
    if binds:
        yield f"costs most accuracy: {binds}"
    terms = ((term["size"], name, term["outcome"]) for name, term in ledger.items())
    known = sorted((term for term in terms if not math.isnan(term[0])), reverse=True)
    for text, outcome in ((STEP_TWO, "lock_on"), (STEP_THREE, "recall")):
        yield text
        yield from (f"  {name:18} {size:.2g}" for size, name, of in known if of == outcome)
    for name, text in SIZES.items():
        if says[name] is not None:
            size, why = rounded(says[name] or math.inf), says["why"][name]
            yield f"{text} for accuracy {says['wanted']:g}: {size} predicted ({why})"


KINDS: dict[str, Any] = {"int": int, "float": float, "str": str}
TRIGGER = "the values carry the trigger (default: they do not)"
JSON = "print JSON instead of text"
FIELDS = {
    "vocab": "V, the vocabulary: tokens, labels and facts",
    "seq_len": "L, tokens in a sequence",
    "dim": "d, the embedding dimension",
    "samples": "N, training sequences",
    "width": "m, neurons of the fixed random MLP (default: no MLP)",
    "activation": "of the MLP: " + ", ".join(ACTIVATIONS),
    "embeddings": ", ".join(FORMS),
    "trigger_in_values": TRIGGER,
    "zipf": "frequencies of tokens fall as rank to the power of minus this (default: 0)",
    "other_zipf": "the same of tokens without the mark (default: as --zipf)",
    "balanced": "training batches show every fact equally often",
    "centred": "token embeddings lose their mean",
    "loss_weights": f"{', '.join(LOSS_WEIGHTS)} (default: the first)",
    "output_bias": f"{', '.join(OUTPUT_BIASES)} (default: the first)",
}


def add_setting(parser: Any, names: Iterable[str] = FIELDS, needed: bool = True) -> None:
    """Add an option for every field of a setting, or for some; those without a default are
    ``needed``."""
    for field in fields(Setting):
        if field.name in names:
            kind = KINDS.get(str(field.type).split()[0])
            given = {"type": kind, "required": needed and field.default is MISSING}
            flag = "--" + field.name.replace("_", "-")
            options = given if kind else {"action": "store_true"}
            parser.add_argument(flag, help=FIELDS[field.name], **options)


def chosen_fields(chosen: argparse.Namespace) -> dict[str, Any]:
    """Return the fields of a setting that were given, by name."""
    given = vars(chosen).items()
    return {name: value for name, value in given if name in FIELDS and value is not None}


def as_json(values: Any) -> str:
    """JSON; what is infinite or not a number becomes null."""
    finite = json.loads(json.dumps(values), parse_constant=lambda text: None)
    return json.dumps(finite, indent=2)


def rounded(size: float) -> str:
    """A size to three digits, with a comma between thousands; ``none`` where there is none."""
    if not math.isfinite(size):
        return "none"
    return f"{float(f'{size:.3g}'):,.0f}" if size >= 10 else f"{size:.3g}"
