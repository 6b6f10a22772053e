"""Tables as tables: HTML with a caption for the page, plain text for a terminal, an export, and the
comparison."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class Table:
    """Rows under named columns with a caption; a notebook shows it as HTML that scrolls inside
    itself."""

    frame: pd.DataFrame
    caption: str

    def __str__(self) -> str:
        return f"{self.caption}\n{self.frame.to_string(index=False)}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        body = self.frame.to_html(index=False, border=0, classes="dataframe", justify="left")
        caption = html.escape(self.caption)
        body = body.replace(
            "<thead>", f'<caption style="caption-side: top">{caption}</caption>\n  <thead>', 1
        )
        label = html.escape(self.caption, quote=True)
        return f'<div style="overflow-x: auto" tabindex="0" role="region" aria-label="{label}">\n{body}\n</div>'


def table(
    rows: pd.DataFrame | Iterable[Mapping[str, Any]],
    caption: str,
    digits: int | Mapping[str, int] = 2,
) -> Table:
    """A table of rows: one mapping from column names to entries each, or a frame whose index is
    left out.

    Parameters
    ----------
    rows : DataFrame or iterable of mappings
        Numbers, texts, truth. Floats are written with ``digits`` decimals, and never as minus zero;
        what is not a number as –, infinity as ∞, in texts too a minus as −, 1e-06 as 10⁻⁶.
    caption : str
        One sentence that says what is listed.
    digits : int or mapping
        Decimals of all floats, or by column (2 where a column is not named).
    """
    frame = pd.DataFrame(rows) if isinstance(rows, pd.DataFrame) else pd.DataFrame(list(rows))
    decimals = digits if isinstance(digits, Mapping) else dict.fromkeys(frame.columns, digits)
    shown = {
        _typeset(str(name)): [_entry(x, decimals.get(name, 2)) for x in frame[name]]
        for name in frame
    }
    return Table(pd.DataFrame(shown, dtype=object), _typeset(caption))


def significant(number: float, digits: int = 2) -> str:
    """A positive number with this many significant digits, thousands set apart: for sizes over
    several decades."""
    return "∞" if number == math.inf else f"{float(f'{number:.{digits}g}'):,.0f}"


def _entry(entry: Any, digits: int) -> str:
    if entry is None or entry is pd.NA or entry != entry:
        return "–"
    if str(entry) in ("True", "False"):
        return "yes" if str(entry) == "True" else "no"
    if not isinstance(entry, float | np.floating):
        return _typeset(str(entry))
    text = f"{entry:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else _typeset(text)


def _typeset(text: str) -> str:
    """Signs of minus, and powers for what a computer writes with an e or a caret."""
    text = re.sub(r"(?:\b([\d.]+)e|\^)([+-]?\d+)\b", _power, text)
    return re.sub(r"(?<![\w.)\]])-(?=[\d.∞])", "−", re.sub(r"\binf\b", "∞", text))


def _power(match: re.Match[str]) -> str:
    if match[1] and 0 <= int(match[2]) < 4:
        return f"{float(match[0]):g}"
    power = str(int(match[2])).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return {None: power, "1": f"10{power}"}.get(match[1], f"{match[1]}·10{power}")
