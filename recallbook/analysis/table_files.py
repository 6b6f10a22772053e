"""A table of embeddings from a file."""

from __future__ import annotations

import os
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float64, Int64

from recallbook.arguments import not_allowed, real_table

SUFFIXES = (".npy", ".npz", ".safetensors")
NAMES_SHOWN = 12
# what NumPy raises at a file that is not what its name says, or ends too early
BROKEN = (
    *(ValueError, EOFError, OSError, MemoryError, RuntimeError, OverflowError),
    *(struct.error, zipfile.BadZipFile, zlib.error),
)


def read_embeddings(
    path: str | os.PathLike[str],
    name: str | None = None,
    *,
    rows: int | range | Iterable[int] | None = None,
) -> Float64[np.ndarray, "rows d"]:
    """One matrix of real floating numbers from a file, in float64: rows are tokens.

    Parameters
    ----------
    path : str or path
        ``.npy`` (read through a memory map), ``.npz`` (of which the whole array is read) or
        ``.safetensors`` (of which only the wanted rows are read). Never a pickle: files that hold
        one are refused, not run.
    name : str or None
        Which array of an ``.npz`` or ``.safetensors`` file; ``None`` takes the only one that there
        is.
    rows : int, range, integers or None
        The first so many rows; or those with these numbers, in this order; ``None`` is all.

    Returns
    -------
    array ``(rows, d)`` float64

    Raises
    ------
    ValueError
        Names what is wrong: no such file or suffix, a file that is not whole, objects, an unknown
        name (and which names there are), no matrix, whole or complex numbers, rows that are not
        there, numbers that are not finite.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "table.npy"
    >>> np.save(file, np.arange(12, dtype=np.float32).reshape(4, 3))
    >>> read_embeddings(file, rows=[3, 0])
    array([[ 9., 10., 11.],
           [ 0.,  1.,  2.]])
    """
    allowed = f"a file that ends in {', '.join(SUFFIXES)}; nothing else is read, and no pickle ever"
    if not isinstance(path, str | os.PathLike) or Path(path).suffix not in SUFFIXES:
        raise not_allowed("path", path if isinstance(path, str) else str(path), allowed)
    file = Path(path)
    if not file.is_file():
        raise not_allowed("path", str(path), "a file that exists")
    if name is not None and not isinstance(name, str):
        raise not_allowed("name", name, "a text, or None")
    read = {".npy": _from_npy, ".npz": _from_npz, ".safetensors": _from_safetensors}[file.suffix]
    return real_table(f"table in {file.name}", read(file, name, rows))


@contextmanager
def _whole(file: Path, *errors: type[Exception]) -> Iterator[None]:
    """Turn these errors of a library into the one that names the file."""
    try:
        yield
    except errors as cause:
        allowed = f"a whole {file.suffix} file without objects ({cause})"
        raise not_allowed("path", str(file), allowed) from cause


def _from_npy(file: Path, name: str | None, rows: Any) -> Any:
    if name is not None:
        raise not_allowed("name", name, "None: a .npy file holds one array, without a name")
    with _whole(file, *BROKEN):
        table = np.lib.format.open_memmap(file, mode="r")
    return table[_numbers(rows, table.shape)]


def _from_npz(file: Path, name: str | None, rows: Any) -> Any:
    with file.open("rb") as opened:
        with _whole(file, *BROKEN):
            arrays = np.lib.npyio.NpzFile(opened, allow_pickle=False)
        chosen = _chosen(name, arrays.files)
        with _whole(file, *BROKEN):
            table = arrays[chosen]  # bytes, if it is no array
    return table[_numbers(rows, np.shape(table))]


def _from_safetensors(file: Path, name: str | None, rows: Any) -> Any:
    from safetensors import SafetensorError, safe_open  # few readers of the book have such a file

    with _whole(file, SafetensorError, OSError), safe_open(file, framework="pt") as tensors:
        part = tensors.get_slice(_chosen(name, list(tensors.keys())))  # NumPy has no bfloat16
        numbers = _numbers(rows, tuple(part.get_shape()))
        if isinstance(numbers, slice):
            return part[numbers]
        first = int(numbers.min())
        return part[first : int(numbers.max()) + 1][torch.from_numpy(numbers - first)]


def _chosen(name: str | None, names: list[str]) -> str:
    """The name asked for, or the only one."""
    shown = ", ".join(map(repr, sorted(names)[:NAMES_SHOWN]))
    if len(names) > NAMES_SHOWN:
        shown += f" and {len(names) - NAMES_SHOWN} more"
    if name is None and len(names) == 1:
        return names[0]
    if name not in names:
        allowed = f"one of the file's names: {shown}" if names else "nothing: the file is empty"
        raise not_allowed("name", name, allowed)
    return name


def _numbers(rows: Any, shape: tuple[int, ...]) -> slice | Int64[np.ndarray, " rows"]:
    """Which rows of a matrix of this shape are asked for."""
    if len(shape) != 2 or 0 in shape:
        allowed = "a matrix: rows and columns, at least one of each"
        raise not_allowed("name", f"of an array of shape {shape}", allowed)
    if rows is None:
        return slice(None)
    count = shape[0]
    try:
        if isinstance(rows, int | np.integer) and not isinstance(rows, bool):
            wanted = np.arange(min(int(rows), count + 1))
        else:
            wanted = np.asarray(rows if isinstance(rows, np.ndarray) else list(rows))
        fits = wanted.ndim == 1 and len(wanted) > 0 and np.issubdtype(wanted.dtype, np.integer)
    except (TypeError, ValueError):
        fits = False
    if (
        not fits
        or not 0 <= wanted.min() <= wanted.max() < count
        or len(np.unique(wanted)) < len(wanted)
    ):
        allowed = f"None, an integer from 1 to {count}, or a sequence of different integers from 0 to {count - 1}"
        raise not_allowed("rows", rows, allowed)
    return wanted.astype(np.int64)
