"""The command line: ``python -m recallbook``, with the commands that installed packages add."""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys
from importlib.metadata import entry_points
from typing import Any

from recallbook.arguments import check_choices

# of entry points: functions that add commands to the parser's, and return what is listed at the end
# of its help
GROUP = "recallbook.commands"
STATUS = """\
exit status:
  0    all is well
  1    what was asked for does not hold (points failed, rows differ), or workers or memory were lost
  2    what you can mend: an argument, a file, a full or read-only disk, a store that another process holds
  130  interrupted: what finished is stored, and the same command goes on
  141  whoever read what is printed, such as `head`, wanted no more of it"""


class Parser(argparse.ArgumentParser):
    """Complains in one line, as everything else of the package does."""

    def error(self, message: str) -> Any:
        self.exit(2, f"recallbook: {message}; see {self.prog} --help\n")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Name an option that does not exist before one that is missing."""
        flags = [word.split("=")[0] for word in args if re.match("--?[a-z]", word)]
        if not self._subparsers:
            check_choices("option", flags, tuple(self._option_string_actions))
        return super().parse_known_args(args, namespace)


def main(arguments: list[str] | None = None) -> int:
    """Parse, run, and say in one line what went wrong; the exit status is what :data:`STATUS`
    says."""
    words = sys.argv[1:] if arguments is None else arguments
    # an interrupt ends an import at once, whatever the library would make of it
    interrupt = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        try:
            chosen = command_parser(*words[:1]).parse_args(words)
            signal.signal(signal.SIGINT, interrupt)
            return int(chosen.run(chosen))
        finally:
            signal.signal(signal.SIGINT, interrupt)
            print(end="", flush=True)
    except BrokenPipeError:
        os._exit(141)  # what is left in the streams has nowhere to go
    except (ValueError, OSError) as problem:
        print(f"recallbook: {problem}", file=sys.stderr)
        return 2
    except (RuntimeError, ArithmeticError, MemoryError) as problem:
        said = " ".join(str(problem).split()) or "memory is used up"
        print(f"recallbook: {said}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        said = "interrupted; what finished is stored, and the same command goes on"
        print(f"\nrecallbook: {said}", file=sys.stderr)
        return 130


def command_parser(chosen: str = "") -> argparse.ArgumentParser:
    """The parser of all commands, or of some with the chosen one, each with its exit status at the
    end of its help."""
    shape: dict[str, Any] = {"formatter_class": argparse.RawDescriptionHelpFormatter}
    text = (
        "Predict a training run, examine a table of embeddings, or run the book's large experiments and export"
        " their results."
    )
    parser = Parser(prog="python -m recallbook", description=text, **shape)
    commands = parser.add_subparsers(required=True)
    shape["epilog"] = STATUS
    listed = [entry.load()(commands, shape, chosen) for entry in entry_points(group=GROUP)]
    parser.epilog = "\n".join([*listed, STATUS])
    return parser


if __name__ == "__main__":
    sys.exit(main())
