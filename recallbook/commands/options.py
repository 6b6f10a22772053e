"""What the commands share: options that describe a setting, and output that is valid JSON."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from recallbook.activations import ACTIVATIONS
from recallbook.setting import EMBEDDINGS, LATER, LOSS_WEIGHTS, OUTPUT_BIASES, STRUCTURES, Setting


class Parser(argparse.ArgumentParser):
    """Complains in one line, as everything else of the package does."""

    def error(self, message: str) -> Any:
        self.exit(2, f"recallbook: {message}; see {self.prog} --help\n")


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
        parser.add_argument(
            flag, type=int, metavar=letters[name], required=required, help=says[name]
        )
    parser.add_argument(
        "--activation", metavar="NAME", help="of the MLP: " + ", ".join(ACTIVATIONS)
    )
    parser.add_argument(
        "--embeddings",
        metavar="LAW",
        default="gaussian",
        help=", ".join((*EMBEDDINGS, *STRUCTURES)),
    )
    add_kind(parser)


def add_kind(parser: argparse.ArgumentParser) -> None:
    """Options that every command of this kind has."""
    says = "the values carry the trigger (default: they do not)"
    parser.add_argument("--trigger-in-values", action="store_true", help=says)
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def chosen_fields(chosen: argparse.Namespace) -> dict[str, Any]:
    """The fields of a setting that were given, or have a default, by name."""
    given = {field.name: getattr(chosen, field.name, None) for field in fields(Setting)}
    return {name: value for name, value in given.items() if value is not None}


def add_facts(parser: argparse.ArgumentParser) -> None:
    """Options for how frequent facts are, and for what the steps do about it."""
    zipf = "frequencies of tokens fall as rank to the power -A (default: 0, all equal)"
    parser.add_argument("--zipf", type=float, metavar="A", help=zipf)
    parser.add_argument(
        "--other-zipf",
        type=float,
        metavar="A",
        help="the same of tokens without the mark (default: as --zipf)",
    )
    parser.add_argument(
        "--balanced", action="store_true", help="training batches show every fact equally often"
    )
    for name, choices in {"loss_weights": LOSS_WEIGHTS, "output_bias": OUTPUT_BIASES}.items():
        says = f"{', '.join(choices)} (default: {LATER[name]})"
        parser.add_argument(
            "--" + name.replace("_", "-"), metavar="NAME", default=LATER[name], help=says
        )


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
