"""The command line: ``python -m recallbook`` and what it can do, one module of ``commands`` for each kind."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from recallbook.commands import examining, planning, predicting, sweeps
from recallbook.commands.options import Parser


def main(arguments: list[str] | None = None) -> int:
    """Parse, run, and say what happened; 2 after a bad argument or file, 130 after an interrupt."""
    chosen = command_parser().parse_args(arguments)
    try:
        return int(chosen.run(chosen))
    except (ValueError, RuntimeError) as problem:
        print(f"recallbook: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nrecallbook: interrupted; what finished is stored, and the same command goes on", file=sys.stderr)
        return 130


def command_parser() -> argparse.ArgumentParser:
    shape: dict[str, Any] = {"formatter_class": argparse.RawDescriptionHelpFormatter}
    text = (
        "Predict and plan a training run, examine a table of embeddings, or run the book's large experiments and export"
        " their results."
    )
    parser = Parser(prog="python -m recallbook", description=text, epilog=sweeps.listed(), **shape)
    commands = parser.add_subparsers(required=True, metavar="{predict,plan,examine,sweep,export,recompute}")
    predicting.add(commands, shape)
    planning.add(commands, shape)
    examining.add(commands, shape)
    sweeps.add(commands, {**shape, "epilog": sweeps.listed()})
    return parser


if __name__ == "__main__":
    sys.exit(main())
