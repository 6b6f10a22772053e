"""A table of embeddings from a file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float64

from recallbook.arguments import check_optional, check_size, not_allowed, real_table
from recallbook.memory_needs import Need, require_memory
from recallbook_studies.examining.examination import examine_needs

SUFFIXES = (".npy", ".npz", ".safetensors")
NAMES_SHOWN = 12


def read_embeddings(
    path: str | os.PathLike[str], name: str | None = None, *, rows: int | None = None
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
    rows : int or None
        The first so many rows; ``None`` is all.

    Returns
    -------
    array ``(rows, d)`` float64

    Raises
    ------
    ValueError
        Names what is wrong: no such file or suffix, a file that is not whole, objects, an unknown
        name (and which names there are), no matrix, whole or complex numbers, more rows than there
        are, more than fit into memory, numbers that are not finite.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "table.npy"
    >>> np.save(file, np.arange(12, dtype=np.float32).reshape(4, 3))
    >>> read_embeddings(file, rows=2)
    array([[0., 1., 2.],
           [3., 4., 5.]])
    """
    allowed = f"a file that ends in {', '.join(SUFFIXES)}; nothing else is read, and no pickle ever"
    if not isinstance(path, str | os.PathLike) or Path(path).suffix not in SUFFIXES:
        raise not_allowed("path", path if isinstance(path, str) else str(path), allowed)
    file = Path(path)
    if not file.is_file():
        raise not_allowed("path", str(path), "a file that exists")
    check_optional(check_size, "rows", rows)
    from safetensors import safe_open  # few readers of the book have such a file

    named = file.suffix == ".safetensors"
    with file.open("rb") as opened:
        with _whole(file):
            source = file if file.suffix == ".npy" else opened
            arrays: Any = safe_open(file, "pt") if named else np.load(source, mmap_mode="r")
            if named:  # whose library takes the last of two
                size = int.from_bytes(opened.read(8), "little")
                header = json.loads(opened.read(size), object_pairs_hook=list)
                if len(header) > len(dict(header)):
                    raise ValueError("a name twice in its header")
        if not isinstance(arrays, np.ndarray):
            chosen = _chosen(name, list(arrays.keys()))
            if not named:
                size = max(i.file_size for i in arrays.zip.infolist() if chosen in i.filename)
                require_memory([Need(size, {"bytes": size})], "the array")
            with _whole(file):
                table = arrays.get_slice(chosen) if named else arrays[chosen]
        elif name is None:
            table = arrays
        else:
            raise not_allowed("name", name, "None: a .npy file holds one array, without a name")
    shape = tuple(table.get_shape()) if named else np.shape(table)
    if len(shape) != 2 or 0 in shape:
        allowed = "a matrix: rows and columns, at least one of each"
        raise not_allowed("name", f"of an array of shape {shape}", allowed)
    check_optional(partial(check_size, largest=shape[0]), "rows", rows)
    require_memory(examine_needs((rows or shape[0], shape[1])), "the table")
    return real_table(f"table in {file.name}", table[:rows])


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


def _chosen(name: str | None, names: list[str]) -> str:
    """The name asked for, or the only one."""
    near = get_close_matches(str(name), names, NAMES_SHOWN, cutoff=0)
    shown = ", ".join(map(repr, sorted(near)))
    if len(names) > NAMES_SHOWN:
        shown += f" and {len(names) - NAMES_SHOWN} more"
    if name is None and len(names) == 1:
        return names[0]
    if name not in names:
        allowed = f"one of the names in it: {shown}" if names else "nothing: the file is empty"
        raise not_allowed("name", name, allowed)
    return name
