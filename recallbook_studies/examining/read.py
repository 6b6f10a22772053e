"""Read a table of embeddings from a file or a model's folder."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from jaxtyping import Float, Float64, Int64

from recallbook.arguments import LONGEST_REPR, check_flag, check_size, not_allowed
from recallbook.memory_needs import NUMBER, Need, require_memory

Places = Int64[np.ndarray, " rows"]
NAMES_SHOWN, ROWS_SHOWN = 6, 3  # in a message: arrays, and bad rows of a kind
LONGEST = 2**23  # bytes of a header, or of a line of text, which take some fifty times the memory
# what token embeddings are called, before ".weight": GPT-2, Llama and Gemma (twice), BERT and
# BLOOM, GPT-NeoX, T5, Mamba
USUAL = "wte embed_tokens tok_embeddings word_embeddings embed_in shared embeddings".split()
FLOATING = "float16 float32 float64 F16 BF16 F32 F64".split()  # as NumPy and safetensors say it
QUANTISED = (
    "floating numbers of 16, 32 or 64 bits without scales of their own; others may be codes of a"
    " quantised table: turn them into numbers with the library that made them, and save these as .npy"
)
NUMERAL = re.compile(rb"[-+]?\d*\.?\d+([eE][-+]?\d+)?")
# how names end of what belongs to codes of a quantised table, and turns them into numbers
SCALES = re.compile(r"[._](weight[._])?(scales?(_inv)?|SCB|absmax|q?zeros|zero_point|qweight)")
PICKLED = 'import numpy, torch; numpy.save("table.npy", torch.load({!r}, weights_only=True)["NAME"].float().numpy())'
PACKED = (
    'import gguf, numpy; tensor = next(t for t in gguf.GGUFReader({!r}).tensors if t.name == "token_embd.weight"); '
    'numpy.save("table.npy", gguf.dequantize(tensor.data, tensor.tensor_type))'
)
COMMAS = (
    'import numpy, pandas; numpy.save("table.npy", pandas.read_csv({!r}, index_col=0).to_numpy(float))'
    "  # without a line of names: header=None"
)
ZIPPED = 'import numpy; numpy.save("table.npy", numpy.load({!r})["NAME"])'
CONVERSIONS = {
    **dict.fromkeys((".pt", ".pth", ".bin", ".ckpt"), PICKLED),
    ".gguf": PACKED,
    ".csv": COMMAS,
    ".npz": ZIPPED,
}
INDEX = ".safetensors.index.json"  # of shards beside it, that start as it does
DROP = (
    "rows that are finite, not zero, and differ: drop_bad_rows (--drop-bad-rows) leaves out others"
)


class Stored(NamedTuple):
    """An array of a file, not read yet: the type of its numbers, its shape, and what reads rows."""

    file: Path
    kind: str
    shape: tuple[int, ...]
    read: Callable[[slice], Any]


class TableRows(NamedTuple):
    """Rows of a matrix, and in lines what was taken and left out."""

    table: Float64[np.ndarray, "rows d"]
    lines: list[str]


def read_embeddings(
    path: str | os.PathLike[str],
    name: str | None = None,
    *,
    rows: int | slice | None = None,
    drop_bad_rows: bool = False,
) -> Float64[np.ndarray, "rows d"]:
    """Read one matrix of real floating numbers from a file, in float64: rows are tokens.

    Parameters
    ----------
    path : str or path
        ``.npy`` and ``.safetensors`` (of which only the rows asked for are read), ``.txt`` or ``.vec``
        as GloVe and word2vec write them (a word and its numbers in each line that is not blank, before
        them perhaps a line with both sizes), a model's folder, or the index of its shards, which lie
        beside it and start as it does. Never a pickle:
        files that hold one are refused, not run.
    name : str or None
        Which array; ``None`` takes the only one, or the only one that is called as token embeddings
        are, such as ``wte.weight`` or ``model.embed_tokens.weight``.
    rows : int, slice or None
        The first so many rows, or those from one place to another; ``None`` is all.
    drop_bad_rows : bool
        Leave out rows that are not finite, are zero, or repeat an earlier one; else they are refused.

    Returns
    -------
    array ``(rows, d)`` float64

    Raises
    ------
    ValueError
        Names what is wrong: no such file or suffix, a file that is not whole, an unknown name (and
        which names there are), no matrix, no floating numbers, more rows than there are, more than
        fit into memory, bad rows.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "table.npy"
    >>> np.save(file, np.arange(12, dtype=np.float32).reshape(4, 3))
    >>> read_embeddings(file, rows=slice(1, 3))
    array([[3., 4., 5.],
           [6., 7., 8.]])
    """
    drop = check_flag("drop_bad_rows", drop_bad_rows)
    return read_rows(path, name, rows, drop).table


def read_rows(path: Any, name: str | None, rows: int | slice | None, drop: bool) -> TableRows:
    """Read as :func:`read_embeddings` does, and say what was read."""
    arrays = _arrays(path)
    chosen, (file, kind, shape, read) = _chosen(name, arrays)
    field = f"table in {file.name!r}"
    if len(shape) != 2 or min(shape) < 1:
        allowed = "a matrix: rows and columns, at least one of each"
        raise not_allowed("name", f"{chosen} of shape {shape}", allowed)
    stem = chosen.rpartition(".")[0] or chosen
    codes = any(one.startswith(stem) and SCALES.fullmatch(one, len(stem)) for one in arrays)
    if kind not in FLOATING or codes:
        raise not_allowed(field, f"of {kind} numbers", QUANTISED)
    part, dim = _part(rows, shape[0]), shape[1]
    wanted = (part.stop - part.start, dim)
    need = Need(3.0 * NUMBER * wanted[0] * dim, {"rows": wanted[0], "dim": dim})
    require_memory([need], "the table")
    with _whole(file):
        table = np.asarray(read(part), dtype=np.float64)
        if table.shape != wanted:
            raise ValueError(f"{table.shape} numbers where {wanted} were counted")
    lines = [f"{chosen!r} {shape}: {len(table):,} rows from {part.start:,} to {part.stop - 1:,}"]
    bad = bad_rows(table)
    if len(bad):
        said = named(bad + part.start)
        if not drop or len(bad) == len(table):
            raise not_allowed(field, f"with {said}", DROP)
        lines.append(f"left out: {said}")
    return TableRows(np.delete(table, bad, axis=0), lines)


def _part(rows: int | slice | None, count: int) -> slice:
    ends = rows if isinstance(rows, slice) and rows.step is None else slice(rows)
    allowed = f"an integer from 1 to {count}, or a slice of such places, without a step"
    stop = check_size("rows", count if ends.stop is None else ends.stop, 1, count, allowed)
    return slice(check_size("rows", 0 if ends.start is None else ends.start, 0, stop - 1), stop)


def bad_rows(table: Float[np.ndarray, "rows d"]) -> Places:
    """Find the places of rows that are not finite, are zero, or repeat an earlier one."""
    bad = ~np.isfinite(table).all(axis=1) | ~table.any(axis=1)
    first: dict[bytes, int] = {}
    for place, row in enumerate(table + 0.0):  # -0.0 + 0.0 is 0.0: equal numbers, equal bytes
        bad[place] |= first.setdefault(row.tobytes(), place) != place
    return np.flatnonzero(bad)


def named(places: Places) -> str:
    """Say how many rows are bad, and name the first few."""
    listed = ", ".join(map(str, places[:ROWS_SHOWN])) + ", ..." * (len(places) > ROWS_SHOWN)
    return f"{len(places):,} bad rows ({listed})"


# Files


def _arrays(path: Any) -> dict[str, Stored]:
    """List the arrays of all files of a path by name."""
    arrays: dict[str, Stored] = {}
    for file in _files(path):
        with _whole(file):
            stored = list(READERS[file.suffix](file))
        for name, array in stored:
            if name in arrays:
                both = f"{arrays[name].file.name!r} and {file.name!r} both hold {name!r:.99}"
                raise not_allowed("path", str(path), f"a path to one of its files: {both}")
            arrays[name] = array
    return arrays


def _files(path: Any) -> list[Path]:
    """List the file itself, the shards beside an index, or a model's files in a folder."""
    allowed = (
        f"a file that ends in {', '.join(READERS)}, a model's folder or its index; no pickle ever"
    )
    if not isinstance(path, str | os.PathLike):
        raise not_allowed("path", path, allowed)
    file = Path(path)
    there = os.path.isfile(file)  # false, not an error, for a path that no system takes
    if os.path.isdir(file):
        for kind in (INDEX, ".safetensors", *CONVERSIONS):
            held = sorted(one for one in file.glob(f"*{kind}") if one.is_file())
            if held:
                return [shard for one in held for shard in _files(one)]
        allowed = "a folder with .safetensors files"
    elif file.name.endswith(INDEX) and there:
        start = file.name.removesuffix(INDEX) + "-"
        shards = sorted(file.parent.glob("*.safetensors"))
        held = [shard for shard in shards if shard.name.startswith(start)]
        if held:
            return held
        allowed = f"an index with its shards, {start}....safetensors, beside it"
    elif file.suffix in CONVERSIONS:
        allowed += f"; once, in Python: {CONVERSIONS[file.suffix].format(file.name)}"
    elif file.suffix in READERS and there:
        return [file]
    elif not os.path.exists(file):
        allowed = "a file that exists"
    raise not_allowed("path", str(path), allowed)


@contextmanager
def _whole(file: Path) -> Iterator[None]:
    """Turn an error of a library, of which there are a dozen kinds, into one that names the
    file."""
    try:
        yield
    except Exception as cause:
        said = repr(" ".join(str(cause).split()))[1:-1][:LONGEST_REPR]  # it moves no cursor
        raise not_allowed("path", str(file), f"a whole {file.suffix} file ({said})") from cause


def _bounded(length: int) -> None:
    if length > LONGEST:
        raise ValueError(f"its header or a line has more than {LONGEST:,} bytes")


def _npy(file: Path) -> Iterator[tuple[str, Stored]]:
    table = np.lib.format.open_memmap(file, "r")
    yield file.name, Stored(file, table.dtype.name, table.shape, table.__getitem__)


def _safetensors(file: Path) -> Iterator[tuple[str, Stored]]:
    from safetensors import safe_open  # few readers of the book have such a file

    with file.open("rb") as opened:
        _bounded(int.from_bytes(opened.read(8), "little"))
    arrays: Any = safe_open(file, "pt")
    for name in arrays.keys():
        part = arrays.get_slice(name)

        def read(rows: slice, part: Any = part) -> Any:
            return part[rows].double().numpy()

        yield name, Stored(file, part.get_dtype(), tuple(part.get_shape()), read)


def _text(file: Path) -> Iterator[tuple[str, Stored]]:
    with file.open("rb") as opened:
        lines = _filled(opened)
        first = next(lines, b"").split()
        words = [line.split(None, 1)[0] for line in lines]
    dim, headed = len(first) - 1, len(first) == 2 and b"".join(first).isdigit()
    if headed:
        count, dim = map(int, first)
        if count != len(words):
            raise ValueError(f"{len(words)} rows where its first line says {count}")
    elif (
        dim < 1 or all(map(NUMERAL.fullmatch, [*first[:1], *words])) or b"," in b"".join(first[1:])
    ):
        raise ValueError("a line is a word and its numbers, with spaces and no commas between")

    def numbers(line: bytes) -> str:
        parts = line.rsplit(None, dim + 1)
        if len(parts) <= dim or NUMERAL.fullmatch(b"".join(parts[1:-dim])):
            raise ValueError(f"{dim} numbers in the first line, others after {parts[0]!r}")
        return line.decode("latin-1")

    def read(rows: slice) -> Any:
        with file.open("rb") as opened:  # and closed, where NumPy complains, too
            chosen = islice(_filled(opened), rows.start + headed, rows.stop + headed)
            return np.loadtxt(map(numbers, chosen), usecols=range(-dim, 0), comments=None, ndmin=2)

    yield file.name, Stored(file, "float64", (len(words) + (not headed), dim), read)


def _filled(opened: BinaryIO) -> Iterator[bytes]:
    """Go through the lines that are not blank: what is counted is what is read."""
    for line in iter(partial(opened.readline, LONGEST + 1), b""):
        _bounded(len(line))
        if not line.isspace():
            yield line


READERS = {".npy": _npy, ".safetensors": _safetensors, ".txt": _text, ".vec": _text}


def _chosen(name: str | None, arrays: dict[str, Stored]) -> tuple[str, Stored]:
    """Choose the array asked for, the only one, or the only one that is called as token embeddings
    are."""
    names = [name] if isinstance(name, str) and name in arrays else []
    if name is None:
        usual = [one for one in arrays if one.removesuffix(".weight").split(".")[-1] in USUAL]
        names = usual if len(arrays) > 1 else [*arrays]
    if len(names) == 1:
        return names[0], arrays[names[0]]
    largest = sorted(arrays, key=lambda one: -math.prod(arrays[one].shape))[:NAMES_SHOWN]
    listed = ", ".join(f"{one!r:.99} {arrays[one].shape}"[:LONGEST_REPR] for one in largest)
    raise not_allowed("name", name, f"one of {len(arrays)} names in it, largest first: {listed}")
