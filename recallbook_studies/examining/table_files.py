"""A table of embeddings from a file or a model's folder."""

from __future__ import annotations

import json
import math
import os
import re
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float64

from recallbook.arguments import (
    check_flag,
    check_size,
    not_allowed,
    real_table,
)
from recallbook.memory_needs import require_memory
from recallbook_studies.examining.examination import examine_needs
from recallbook_studies.examining.rows import NOT_FINITE, Places, bad_rows, named

NAMES_SHOWN = 6
# what token embeddings are called, before ".weight": GPT-2, Llama and Gemma (twice), BERT and
# BLOOM, GPT-NeoX, T5, Mamba
USUAL = "wte embed_tokens tok_embeddings word_embeddings embed_in shared embeddings".split()
PICKLED = 'import numpy, torch; numpy.save("table.npy", torch.load("{}", weights_only=True)["NAME"].float().numpy())'
PACKED = (
    'import gguf, numpy; tensor = next(t for t in gguf.GGUFReader("{}").tensors if t.name == "token_embd.weight"); '
    'numpy.save("table.npy", gguf.dequantize(tensor.data, tensor.tensor_type))'
)
CONVERSIONS = {**dict.fromkeys((".pt", ".pth", ".bin", ".ckpt"), PICKLED), ".gguf": PACKED}


class Stored(NamedTuple):
    """An array of a file, not read yet: its shape, and what reads rows at a slice or at places."""

    file: Path
    shape: tuple[int, ...]
    read: Callable[[Any], Any]


class TableRows(NamedTuple):
    """Rows of a matrix, where they stand in it, and what was found, taken and left out, in
    lines."""

    table: Float64[np.ndarray, "rows d"]
    places: Places
    lines: list[str]


def read_embeddings(
    path: str | os.PathLike[str],
    name: str | None = None,
    *,
    rows: int | slice | None = None,
    drop_bad_rows: bool = False,
) -> Float64[np.ndarray, "rows d"]:
    """One matrix of real floating numbers from a file, in float64: rows are tokens.

    Parameters
    ----------
    path : str or path
        ``.npy`` and ``.safetensors`` (read through memory maps), ``.npz`` (of which the whole array
        is read), ``.txt`` or ``.vec`` as GloVe and word2vec write them (a word and its numbers in
        each line, before them perhaps a line with both sizes), a model's folder, or the index of
        its shards. Never a pickle: files that hold one are refused, not run.
    name : str or None
        Which array; ``None`` takes the only one, or the only matrix that is called as token
        embeddings are, such as ``wte.weight`` or ``model.embed_tokens.weight``.
    rows : int, slice or None
        The first so many rows, or those from one place to another; ``None`` is all.
    drop_bad_rows : bool
        Leave out rows that are not finite, are zero, or repeat an earlier one.

    Returns
    -------
    array ``(rows, d)`` float64

    Raises
    ------
    ValueError
        Names what is wrong: no such file or suffix, a file that is not whole, objects, an unknown
        name (and which names there are), no matrix, whole or complex numbers, more rows than there
        are, more than fit into memory, rows that are not finite.

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
    return read_rows(path, name, lambda count, dim: places_of(rows, count), drop).table


def read_rows(
    path: Any, name: str | None, choose: Callable[[int, int], Places], drop: bool
) -> TableRows:
    """Read as :func:`read_embeddings` does the rows that ``choose`` makes of both sizes."""
    arrays = {name: found for file in _files(path) for name, found in _stored(file)}
    taken, why = _chosen(name, arrays)
    file, shape, read = arrays[taken]
    if len(shape) != 2 or 0 in shape:
        allowed = "a matrix: rows and columns, at least one of each"
        raise not_allowed("name", f"of an array of shape {shape}", allowed)
    places = choose(*shape)
    held = shape[0] if file.suffix == ".npz" else len(places)
    require_memory(examine_needs((held, shape[1])), "the table")
    first, last = places[[0, -1]]
    together = last - first < len(places)
    with _whole(file):
        found = read(slice(first, last + 1) if together else places)
    field = f"table in {file.name}"
    real_table(field, found[:0])  # refuses other numbers
    numbers = found if isinstance(found, np.ndarray) else found.double().numpy()
    bad = {kind: places[rows] for kind, rows in bad_rows(numbers).items()}
    if NOT_FINITE in bad and not drop:
        allowed = "finite rows: drop_bad_rows (--drop-bad-rows) leaves out what is bad"
        raise not_allowed(field, f"with bad rows: {named(bad)}", allowed)
    part = f"{'' if together else 'a sample of '}{len(places):,} rows from {first:,} to {last:,}"
    lines = [f"{taken or file.name} {shape}, {why}: {part}"]
    if len(arrays) > 1:
        lines.append(f"matrices, largest first: {_listed(arrays)}")
    if bad:
        lines.append(f"bad rows{', left out' * drop}: {named(bad)}")
    if drop:
        good = ~np.isin(places, [*chain(*bad.values())])
        places, numbers = places[good], numbers[good]
    return TableRows(real_table(field, numbers), places, lines)


def places_of(rows: int | slice | None, count: int) -> Places:
    """Places of the rows asked for, of so many."""
    ends = rows if isinstance(rows, slice) and rows.step is None else slice(rows)
    stop = check_size("rows", count if ends.stop is None else ends.stop, largest=count)
    return np.arange(check_size("rows", ends.start or 0, 0, stop - 1), stop)


# Files


def _files(path: Any) -> list[Path]:
    """The file itself, the shards of an index, or a model's in a folder."""
    ends = ", ".join(READERS)
    allowed = f"a file that ends in {ends}, a model's folder or its index; no pickle ever"
    if not isinstance(path, str | os.PathLike):
        raise not_allowed("path", path, allowed)
    file = Path(path)
    if file.is_dir():
        for kind in (".safetensors.index.json", ".safetensors", *CONVERSIONS):
            if held := sorted(file.glob(f"*{kind}")):
                return [shard for one in held for shard in _files(one)]
        raise not_allowed("path", str(path), "a folder with .safetensors files")
    if file.suffix in CONVERSIONS:
        said = f"no pickle ever, nor packed numbers; once, in Python: {CONVERSIONS[file.suffix]}"
        raise not_allowed("path", str(path), said.format(file.name))
    if file.suffix not in READERS and file.suffix != ".json":
        raise not_allowed("path", str(path), allowed)
    if not file.is_file():
        raise not_allowed("path", str(path), "a file that exists")
    if file.suffix in READERS:
        return [file]
    with _whole(file):
        shards = sorted({*json.loads(file.read_bytes())["weight_map"].values()})
    return [one for shard in shards for one in _files(file.parent / shard)]


def _stored(file: Path) -> Iterator[tuple[str, Stored]]:
    """Arrays of a file by name."""
    with _whole(file):
        yield from READERS[file.suffix](file)


def _npy(file: Path) -> Iterator[tuple[str, Stored]]:
    table = np.load(file, mmap_mode="r")
    yield "", Stored(file, table.shape, table.__getitem__)


def _npz(file: Path) -> Iterator[tuple[str, Stored]]:
    with zipfile.ZipFile(file) as archive:
        for member in archive.namelist():
            with archive.open(member) as opened:
                version = np.lib.format.read_magic(opened)[0]
                shape = getattr(np.lib.format, f"read_array_header_{version}_0")(opened)[0]
            yield member.removesuffix(".npy"), Stored(file, shape, partial(_member, file, member))


def _member(file: Path, member: str, rows: Any) -> Any:
    with zipfile.ZipFile(file) as archive, archive.open(member) as opened:
        return np.lib.format.read_array(opened)[rows]


def _safetensors(file: Path) -> Iterator[tuple[str, Stored]]:
    from safetensors import safe_open  # few readers of the book have such a file

    with file.open("rb") as opened:  # the library takes the last of two
        size = int.from_bytes(opened.read(8), "little")
        header = json.loads(opened.read(size), object_pairs_hook=list)
    if len(header) > len(dict(header)):
        raise ValueError("a name twice in its header")
    arrays: Any = safe_open(file, "pt")
    for name in arrays.keys():
        shape = tuple(arrays.get_slice(name).get_shape())
        yield name, Stored(file, shape, partial(_tensor, arrays, name))


def _tensor(arrays: Any, name: str, rows: Any) -> Any:
    return arrays.get_tensor(name)[rows]


def _text(file: Path) -> Iterator[tuple[str, Stored]]:
    """A word and its numbers in each line, before them perhaps a line with both sizes."""
    lines = partial(file.open, encoding="utf-8", errors="replace", newline="\n")
    with lines() as opened:
        first = opened.readline().split()
        headed = len(first) == 2
        count = sum(not line.isspace() for line in opened) + (not headed)
    dim = int(first[1]) if headed else len(first) - 1
    if headed and int(first[0]) != count:
        raise ValueError(f"{count} rows where its first line says {first[0]}")
    if not headed and re.match(r"-?\d*\.\d", first[0]):
        raise ValueError("its first line starts with a number, and not with a word")

    def read(rows: Any) -> Any:
        wanted = set(np.arange(count)[rows].tolist())
        with lines() as opened:
            every = enumerate(islice(opened, headed, None))
            kept = (line for place, line in every if place in wanted)
            return np.loadtxt(kept, usecols=range(-dim, 0), comments=None, ndmin=2)

    yield "", Stored(file, (count, dim), read)


READERS = {".npy": _npy, ".npz": _npz, ".safetensors": _safetensors, ".txt": _text, ".vec": _text}


@contextmanager
def _whole(file: Path) -> Iterator[None]:
    """Turn an error of a library, of which there are a dozen kinds, into one that names the
    file."""
    try:
        yield
    except Exception as cause:
        allowed, said = f"a whole {file.suffix} file without objects", " ".join(str(cause).split())
        if "pickle" not in said:  # which NumPy advises to run
            allowed += f" ({said})"
        raise not_allowed("path", str(file), allowed) from cause


# Which array and rows


def _chosen(name: str | None, arrays: dict[str, Stored]) -> tuple[str, str]:
    """The name asked for, the only one, or the only one that token embeddings usually have; and
    why."""
    if name is not None and list(arrays) == [""]:
        raise not_allowed("name", name, "None: such a file holds one array, without a name")
    matrices = [one for one, stored in arrays.items() if len(stored.shape) == 2]
    usual = [one for one in matrices if one.removesuffix(".weight").split(".")[-1] in USUAL]
    reasons = {
        "the only array": [*arrays],
        "called as token embeddings are": usual,
        "the only matrix": matrices,
    }
    if name is not None:
        reasons = {"as asked for": [name] if name in arrays else []}
    for why, found in reasons.items():
        if len(found) == 1:
            return found[0], why
    raise not_allowed("name", name, f"one of the names in it, largest first: {_listed(arrays)}")


def _listed(arrays: dict[str, Stored]) -> str:
    """Names and shapes, matrices before others, the largest first."""
    shapes = {name: stored.shape for name, stored in arrays.items()}
    by_size = sorted(shapes, key=lambda name: (len(shapes[name]) != 2, -math.prod(shapes[name])))
    shown = ", ".join(f"{name!r} {shapes[name]}" for name in by_size[:NAMES_SHOWN]) or "none"
    return shown + f" and {len(arrays) - NAMES_SHOWN} more" * (len(arrays) > NAMES_SHOWN)
