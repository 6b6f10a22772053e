"""The command ``examine``: what a table of embeddings from a file looks like, and what would be
learned with it."""

from __future__ import annotations

import argparse
import math
import textwrap
from typing import Any

from recallbook.analysis.examination import examine
from recallbook.arguments import not_allowed
from recallbook.bounds.certificate import certify
from recallbook.bounds.lock_law import LARGEST_FORM
from recallbook.commands import options
from recallbook.data.own_tables import read_embeddings
from recallbook.data.task import draw
from recallbook.setting import Setting
from recallbook.theory.prediction import predict

TEXT = """\
    Examine one table of embeddings, a row for each token: lengths, mean, cosines beside those of random directions,
    spectrum, effective dimensions (rb.examine). FILE ends in .npy, .npz or .safetensors; no pickle is ever read.

    With --seq-len and --samples also: what rb.predict says of three steps with these input embeddings, scaled to a mean
    square length of 1, beside output embeddings, trigger and query drawn by the Gaussian law; and what rb.certify
    proves for one such draw, where the table is small enough for it."""


def add(commands: Any, shape: dict[str, Any]) -> None:
    """Add the command to the parser's."""
    parser = commands.add_parser(
        "examine", help="examine a table of embeddings", description=textwrap.dedent(TEXT), **shape
    )
    parser.add_argument("file", metavar="FILE", help=".npy, .npz or .safetensors")
    parser.add_argument(
        "--name", metavar="NAME", help="which array of the file (default: the only one)"
    )
    parser.add_argument("--rows", metavar="K", help="only the first K rows")
    parser.add_argument("--seq-len", metavar="L", help="tokens in a sequence, for a prediction")
    parser.add_argument("--samples", metavar="N", help="training sequences, for a prediction")
    parser.add_argument("--seed", metavar="SEED", default="0", help="of what is drawn (default: 0)")
    parser.add_argument(
        "--trigger-in-values",
        action="store_true",
        help="the values carry the trigger (default: they do not)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    parser.set_defaults(run=_examine)


def outcomes(table: Any, sizes: dict[str, Any], seed: int) -> dict[str, Any]:
    """What is predicted for these input embeddings, and what is proved for one draw beside them, if
    it is small."""
    setting = Setting(vocab=len(table), dim=table.shape[1], **sizes)
    given = {"input": table / math.sqrt((table**2).sum(axis=1).mean())}
    problem = draw(setting, seed, embeddings=given)  # refuses rows that are equal
    expected = predict(setting, warn=False, embeddings=given)
    small = setting.vocab**2 * min(setting.dim, setting.vocab + 1) <= LARGEST_FORM
    proved = certify(problem) if small else None
    names = ("accuracy", "lock_on", "recall")
    return {
        "predicted": {name: getattr(expected, name) for name in names},
        "certified": None if proved is None else {name: getattr(proved, name) for name in names},
    }


def _examine(chosen: argparse.Namespace) -> int:
    rows = None if chosen.rows is None else options.whole("rows", chosen.rows)
    seed = options.whole("seed", chosen.seed)
    sizes: dict[str, Any] = options.chosen_sizes(chosen, "seq_len", "samples")
    if len(sizes) == 1:
        missing = "samples" if "seq_len" in sizes else "seq_len"
        raise not_allowed(missing, None, "a size: --seq-len and --samples come together")
    table = read_embeddings(chosen.file, chosen.name, rows=rows)
    report = examine(table, seed=seed)
    kind = {"trigger_in_values": chosen.trigger_in_values}
    found = (
        outcomes(table, {**sizes, **kind}, seed)
        if sizes
        else {"predicted": None, "certified": None}
    )
    if chosen.json:
        print(options.as_json({**report.as_dict(), **found}))
        return 0
    print(report)
    if sizes:
        print(_shown(found, sizes))
    return 0


def _shown(found: dict[str, Any], sizes: dict[str, Any]) -> str:
    lines = [f"with L = {sizes['seq_len']:,} and N = {sizes['samples']:,}, as input embeddings"]
    for kind, values in found.items():
        if values is None:
            lines.append(f"  {kind}: the table is too large for it")
        else:
            said = ", ".join(
                f"{name.replace('_', '-')} {value:.2f}" for name, value in values.items()
            )
            lines.append(f"  {kind}{' at least' if kind == 'certified' else ''}: {said}")
    return "\n".join(lines)
