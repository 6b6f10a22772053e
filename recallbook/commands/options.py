"""What the commands share: numbers from text, options that describe a setting, and output that is
valid JSON."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping
from typing import Any

from recallbook.activations import ACTIVATIONS
from recallbook.arguments import not_allowed
from recallbook.embedding_laws import FORMS
from recallbook.setting import LATER, LOSS_WEIGHTS, OUTPUT_BIASES


class Parser(argparse.ArgumentParser):
    """Complains in one line, as everything else of the package does."""

    def error(self, message: str) -> Any:
        self.exit(2, f"recallbook: {message}; see {self.prog} --help\n")


def whole(field: str, text: str) -> int:
    """The whole number that a text says."""
    try:
        return int(text)
    except ValueError:
        raise not_allowed(field, text, "a whole number") from None


def number(field: str, text: str, allowed: str) -> float:
    """The finite number that a text says."""
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise not_allowed(field, text, allowed)
    return found


def add_setting(parser: argparse.ArgumentParser, sizes: Mapping[str, bool]) -> None:
    """Options for the fields of a setting; ``sizes`` maps each to whether it must be given."""
    letters = {"vocab": "V", "seq_len": "L", "dim": "d", "samples": "N", "width": "m"}
    says = {
        "vocab": "vocabulary size: tokens, labels and facts",
        "seq_len": "tokens in a sequence",
        "dim": "embedding dimension",
        "samples": "training sequences",
        "width": "neurons of the fixed random MLP (default: no MLP)",
    }
    for name, required in sizes.items():
        flag = "--" + name.replace("_", "-")
        parser.add_argument(flag, metavar=letters[name], required=required, help=says[name])
    parser.add_argument(
        "--activation", metavar="NAME", help="of the MLP: " + ", ".join(ACTIVATIONS)
    )
    parser.add_argument(
        "--embeddings",
        metavar="LAW",
        default="gaussian",
        help=", ".join(FORMS),
    )
    parser.add_argument(
        "--trigger-in-values",
        action="store_true",
        help="the values carry the trigger (default: they do not)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def chosen_sizes(chosen: argparse.Namespace, *names: str) -> dict[str, int]:
    """Those of the sizes that were given."""
    given = {name: getattr(chosen, name) for name in names}
    return {name: whole(name, text) for name, text in given.items() if text is not None}


def chosen_kind(chosen: argparse.Namespace) -> dict[str, Any]:
    """The other fields of a setting."""
    activation = {} if chosen.activation is None else {"activation": chosen.activation}
    return {
        **activation,
        "embeddings": chosen.embeddings,
        "trigger_in_values": chosen.trigger_in_values,
    }


def add_facts(parser: argparse.ArgumentParser) -> None:
    """Options for how frequent facts are, and for what the steps do about it."""
    zipf = "frequencies of tokens fall as rank to the power -A (default: 0, all equal)"
    parser.add_argument("--zipf", metavar="A", help=zipf)
    parser.add_argument(
        "--other-zipf", metavar="A", help="the same of tokens without the mark (default: as --zipf)"
    )
    parser.add_argument(
        "--balanced", action="store_true", help="training batches show every fact equally often"
    )
    for name, choices in {"loss_weights": LOSS_WEIGHTS, "output_bias": OUTPUT_BIASES}.items():
        says = f"{', '.join(choices)} (default: {LATER[name]})"
        parser.add_argument(
            "--" + name.replace("_", "-"), metavar="NAME", default=LATER[name], help=says
        )


def chosen_facts(chosen: argparse.Namespace) -> dict[str, Any]:
    """The fields of a setting that :func:`add_facts` asks for."""
    exponents = {name: getattr(chosen, name) for name in ("zipf", "other_zipf")}
    given = {
        name: number(name, text, "a number from 0 to 4")
        for name, text in exponents.items()
        if text is not None
    }
    return {
        **given,
        **{name: getattr(chosen, name) for name in ("balanced", "loss_weights", "output_bias")},
    }


def as_json(values: Any) -> str:
    """JSON; what is infinite or not a number becomes null."""
    return json.dumps(_finite(values), indent=2, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _finite(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def rounded(size: float, digits: int = 3) -> str:
    """A size to some digits, with a comma between thousands; ``none`` where there is none."""
    if not math.isfinite(size):
        return "none"
    return f"{float(f'{size:.{digits}g}'):,.0f}" if size >= 10 else f"{size:.{digits}g}"
