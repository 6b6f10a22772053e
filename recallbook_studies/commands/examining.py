"""The command ``examine``: what the theory says about a table of embeddings from a file."""

from __future__ import annotations

import argparse
import io
import math
import textwrap
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from recallbook.arguments import check_size
from recallbook.data.task import draw
from recallbook_bounds.certificate import certify
from recallbook_bounds.lock_law import LARGEST_FORM, form_size
from recallbook_studies.commands.predicting import (
    JSON,
    OUTCOMES,
    TRIGGER,
    as_json,
    chosen_fields,
    outcome_text,
)
from recallbook_studies.examining.examination import examine
from recallbook_studies.examining.rows import Places, sampled
from recallbook_studies.examining.table_files import TableRows, places_of, read_rows
from recallbook_studies.examining.verdict import judge, setting_of, tables

LARGE = 38  # a table's V^2 d, as a power of 2, from which on rows are drawn: a second or two

EXAMINE = """\
    Examine one table of embeddings, a row for each token: lengths, mean, cosines beside those of random directions,
    spectrum, effective dimensions; then a verdict: how well three steps learn with these rows as input embeddings,
    beside a random table of this size, which property costs most, and what taking it away gives (rb.examine; six
    predictions, in seconds or a minute).

    PATH ends in .npy, .npz, .safetensors, .txt or .vec (GloVe and word2vec), or is a model's folder, or the .json that
    lists its shards. No pickle is ever read: of .pt, .bin and .gguf it says how to convert them.

    A table is scaled to a mean square length of 1; trigger, query and, without --tied or --output, output embeddings are
    drawn by the Gaussian law. --certify adds what rb.certify proves for one such draw, if it is small enough."""


def rows(text: str) -> int | slice:
    """Rows of a file: K, A:B, A: or :B."""
    ends = [int(end) if end else None for end in text.split(":")]
    return slice(*ends) if ":" in text else int(text)


def add_examine(commands: Any, shape: dict[str, Any]) -> None:
    """Add the command to the parser's."""
    text = textwrap.dedent(EXAMINE)
    says = "examine a table of embeddings"
    parser = commands.add_parser("examine", help=says, description=text, **shape)
    parser.add_argument("path", metavar="PATH", help="a file or a model's folder")
    name = "which array (default: the only one, or token embeddings)"
    large = f"so many rows, drawn (default: so many that V^2 d is 2^{LARGE} at most)"
    output = "output embeddings of the same tokens: another file, or a name in PATH"
    bad = "leave out rows that are not finite, are zero, or repeat an earlier one"
    proved = "prove, too: for one draw, seconds at 500 rows and minutes at 2,000"
    vocab = "rows of the verdict, drawn (default: 512 or all)"
    parser.add_argument("--name", metavar="NAME", help=name)
    parser.add_argument("--rows", type=rows, metavar="A:B", help="rows from A up to B, or K")
    parser.add_argument("--sample", type=int, metavar="K", help=large)
    parser.add_argument("--drop-bad-rows", action="store_true", help=bad)
    parser.add_argument("--output", metavar="PATH", help=output)
    parser.add_argument("--tied", action="store_true", help="the table has the output embeddings")
    parser.add_argument("--vocab", type=int, metavar="V", help=vocab)
    parser.add_argument("--seq-len", type=int, metavar="L", help="tokens in a sequence (16)")
    parser.add_argument("--samples", type=int, metavar="N", help="training sequences (8 V)")
    parser.add_argument("--trigger-in-values", action="store_true", help=TRIGGER)
    parser.add_argument("--seed", type=int, metavar="S", default=0, help="of what is drawn (0)")
    parser.add_argument("--statistics", action="store_true", help="no verdict")
    parser.add_argument("--certify", action="store_true", help=proved)
    parser.add_argument("--json", action="store_true", help=JSON)
    parser.set_defaults(run=_examine)


def _tables(chosen: argparse.Namespace) -> tuple[TableRows, Any]:
    """Rows of the table, and output embeddings of the same tokens, if asked for."""

    def drawn(count: int, dim: int) -> Places:
        asked = places_of(chosen.rows, count)
        most = chosen.sample or min(len(asked), math.isqrt(2**LARGE // dim))
        check_size("sample", most, largest=len(asked))
        return np.asarray(asked[sampled(len(asked), most, chosen.seed, 1)])

    found = read_rows(chosen.path, chosen.name, drawn, chosen.drop_bad_rows)
    if chosen.output is None or chosen.tied:
        return found, found.table if chosen.tied else None
    named = not Path(chosen.output).exists()
    path, name = (chosen.path, chosen.output) if named else (chosen.output, None)
    return found, read_rows(path, name, lambda count, dim: found.places, drop=False).table


def _examine(chosen: argparse.Namespace) -> int:
    (table, places, lines), output = _tables(chosen)
    report = examine(table, seed=chosen.seed)
    first, second = report.most_alike
    report = replace(report, most_alike=(int(places[first]), int(places[second])))
    setting = setting_of(table, **chosen_fields(chosen))
    show = partial(print, file=io.StringIO() if chosen.json else None, flush=True)
    show("\n".join([*lines, str(report)]))
    if not chosen.statistics:
        report = replace(report, verdict=judge(report, table, setting, output, chosen.seed))
        show(report.verdict)
    found = {"read": lines, **report.as_dict(), "certified": None}
    if chosen.certify and form_size(setting) <= LARGEST_FORM:
        given = tables(table, output, setting, chosen.seed)
        proved = certify(draw(setting, chosen.seed, embeddings=given), from_above=False)
        found["certified"] = {name: getattr(proved, name) for name in OUTCOMES}
        show(f"certified as input embeddings at least: {outcome_text(found['certified'])}")
    elif chosen.certify:
        show("certified as input embeddings: the table is too large")
    if chosen.json:
        print(as_json(found))
    return 0
