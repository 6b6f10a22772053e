"""The command ``examine``: what the theory says about a table of embeddings from a file."""

from __future__ import annotations

import argparse
import textwrap
from typing import Any

from recallbook.arguments import not_allowed
from recallbook_studies.commands.predicting import JSON, add_setting, as_json, chosen_fields
from recallbook_studies.examining.judge import setting_of
from recallbook_studies.examining.read import read_rows
from recallbook_studies.examining.report import examine

EXAMINE = """\
    Examine one table of embeddings, a row for each token: lengths, mean, spectrum, effective dimensions; then a verdict:
    how well three steps learn with these rows as input embeddings, beside a random table of this size, which property
    costs most, and what helps most (rb.examine; nine predictions, in seconds or a minute).

    PATH ends in .npy, .safetensors, .txt or .vec (GloVe and word2vec), or is a model's folder, or the .json that
    lists its shards. No pickle is ever read: of .npz, .pt, .bin, .gguf and .csv it says how to convert them. Of a large table
    give --rows: the statistics take memory for four copies of what is read.

    The verdict is for V = 512 of the rows or all of them, L = 16 and N = 8 V, where no others are given. A table is
    scaled to a mean square length of 1; trigger, query and, without --tied, output embeddings are drawn by the
    Gaussian law (rb.examine takes others)."""


def rows(text: str) -> int | slice:
    """Read rows of a file: K, A:B, A: or :B."""
    ends = [int(end) if end else None for end in text.split(":")]
    return slice(*ends) if ":" in text else int(text)


def add_examine(commands: Any, shape: dict[str, Any]) -> None:
    """Add the command to the parser's."""
    text, says = textwrap.dedent(EXAMINE), "examine a table of embeddings"
    parser = commands.add_parser("examine", help=says, description=text, **shape)
    name = "which array (default: the only one, or token embeddings)"
    part = "rows from A up to B, from 0; or K, the first K (default: all)"
    bad = "leave out rows that are not finite, are zero, or repeat an earlier one"
    parser.add_argument("path", metavar="PATH", help="a file or a model's folder")
    parser.add_argument("--name", metavar="NAME", help=name)
    parser.add_argument("--rows", type=rows, metavar="A:B", help=part)
    parser.add_argument("--drop-bad-rows", action="store_true", help=bad)
    parser.add_argument("--tied", action="store_true", help="the table has the output embeddings")
    add_setting(parser, ("vocab", "seq_len", "samples", "trigger_in_values"), needed=False)
    parser.add_argument("--seed", type=int, metavar="S", default=0, help="of what is drawn (0)")
    parser.add_argument("--statistics", action="store_true", help="no verdict")
    parser.add_argument("--json", action="store_true", help=JSON)
    parser.set_defaults(run=_examine)


def _examine(chosen: argparse.Namespace) -> int:
    fields = chosen_fields(chosen)
    for name, value in {**fields, "tied": chosen.tied}.items():
        if chosen.statistics and value:
            raise not_allowed(name, value, "left out with --statistics")
    read = read_rows(chosen.path, chosen.name, chosen.rows, chosen.drop_bad_rows)
    verdict = False if chosen.statistics else setting_of(read.table, **fields)
    output = read.table if chosen.tied else None
    report = examine(read.table, seed=chosen.seed, verdict=verdict, output=output)
    lines = "\n".join([*read.lines, str(report)])
    print(as_json({"read": read.lines, **report.to_dict()}) if chosen.json else lines)
    return 0
