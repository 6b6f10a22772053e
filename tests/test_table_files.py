"""Reading one matrix from a file: round trips, rows, and every file that is refused."""

import contextlib
import os
import zipfile

import numpy as np
import pytest
import safetensors.torch
import torch

import recallbook as rb

pytestmark = pytest.mark.essential

GENERATOR = np.random.default_rng(5)
TABLE = GENERATOR.standard_normal((9, 4))
OTHER = GENERATOR.standard_normal((3, 2))
KINDS = pytest.mark.parametrize("suffix", [".npy", ".npz", ".safetensors"])
BFLOAT = torch.tensor(TABLE).bfloat16()


def written(folder, suffix, table=TABLE, **others):
    """A file with the table, named ``wte`` where there are names."""
    file = folder / f"table{suffix}"
    if suffix == ".npy":
        np.save(file, table)
    elif suffix == ".npz":
        np.savez_compressed(file, wte=table, **others)
    else:
        safetensors.torch.save_file(
            {name: torch.as_tensor(part) for name, part in {"wte": table, **others}.items()}, file
        )
    return file


def refuses(message, *given, **named):
    with pytest.raises(ValueError, match=message):
        rb.read_embeddings(*given, **named)


@KINDS
@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_round_trips(tmp_path, suffix, kind):
    file = written(tmp_path, suffix, TABLE.astype(kind))
    found = rb.read_embeddings(file)
    assert found.dtype == np.float64 and np.array_equal(found, TABLE.astype(kind).astype(float))
    found[:] = 0  # a copy: the file stays
    assert rb.read_embeddings(str(file)).any()


@KINDS
@pytest.mark.parametrize("rows", [1, 9, np.int64(3)], ids=str)
def test_rows(tmp_path, suffix, rows):
    assert np.array_equal(rb.read_embeddings(written(tmp_path, suffix), rows=rows), TABLE[:rows])
    if suffix == ".safetensors":
        found = rb.read_embeddings(written(tmp_path, suffix, BFLOAT), rows=rows)
        assert np.array_equal(found, BFLOAT[:rows].double().numpy())


@pytest.mark.parametrize("table", [np.asfortranarray(TABLE), TABLE.astype(">f4"), TABLE[::2, 1:]])
def test_layouts_of_arrays(tmp_path, table):
    assert np.array_equal(rb.read_embeddings(written(tmp_path, ".npy", table)), table.astype(float))


@KINDS
def test_names(tmp_path, suffix):
    file = written(tmp_path, suffix, wpe=OTHER)
    if suffix == ".npy":
        return refuses(r"name='wte'.*without a name", file, "wte")
    assert np.array_equal(rb.read_embeddings(file, "wpe"), OTHER)
    for name in (None, "lm_head", "WTE", ""):
        refuses(r"name=.*one of the names in it: 'wpe', 'wte'", file, name)
    refuses("name=3", file, 3)


@KINDS
@pytest.mark.parametrize("rows", [0, 10, True, "3", [1]], ids=str)
def test_rows_that_are_not_there(tmp_path, suffix, rows):
    refuses(r"rows=.* is not allowed: ", written(tmp_path, suffix), rows=rows)


NO_TABLES = {
    "vector": (np.ones(5), "array of shape.*a matrix"),
    "cube": (np.ones((2, 3, 4)), "array of shape.*a matrix"),
    "empty": (
        np.ones((0, 4)),
        "a matrix: rows and columns, at least one of each|a whole .npy file",
    ),
    "whole numbers": (np.arange(12).reshape(3, 4), "of .*int64'.*real floating"),
    "booleans": (np.ones((3, 4), bool), "real floating"),
    "complex": (np.ones((3, 4), np.complex64), "real floating"),
    "not finite": (
        np.array([[1.0, np.nan], [np.inf, 2.0]]),
        "with 2 numbers that are infinite or none",
    ),
}


@KINDS
@pytest.mark.parametrize("name", NO_TABLES)
def test_tables_that_are_none(tmp_path, suffix, name):
    table, message = NO_TABLES[name]
    refuses(message, written(tmp_path, suffix, table))


class Trap:
    """Unpickled, it leaves a folder behind."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return os.mkdir, (str(self.mark),)


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_a_pickle_is_refused_and_not_run(tmp_path, suffix):
    mark, table = tmp_path / "it ran", np.empty((2, 2), dtype=object)
    table[:] = Trap(mark)
    file = written(tmp_path, suffix, table)
    refuses(r"a whole .*file without objects", file)
    assert not mark.exists()
    with (
        contextlib.suppress(FileExistsError),
        file.open("rb") as opened,
    ):  # four times the same folder
        loaded = np.load(opened, allow_pickle=True)
        loaded["wte"] if suffix == ".npz" else None
    assert mark.exists(), "the trap works"


@KINDS
def test_files_that_are_not_whole(tmp_path, suffix):
    whole = written(tmp_path, suffix, GENERATOR.standard_normal((40, 30)), wpe=OTHER).read_bytes()
    file, lengths = tmp_path / f"part{suffix}", (0, 5, 60, 128, len(whole) // 2, len(whole) - 1)
    for content in [whole[:length] for length in lengths] + [
        b"not a table",
        b"\x80\x04\x95" + bytes(50),
        bytes(300),
    ]:
        file.write_bytes(content)
        refuses(rf"path=.*a whole \{suffix} file", file, None if suffix == ".npy" else "wte")


def test_members_and_headers_that_lie(tmp_path):
    file = tmp_path / "table.npz"
    np.savez(file, wte=TABLE)
    changed = bytearray(file.read_bytes())
    changed[changed.index(TABLE.tobytes()[:16])] ^= 1
    file.write_bytes(changed)
    refuses("a whole .npz file", file)
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("notes.txt", "no array")
    refuses(r"array of shape \(\).*a matrix", file)
    one = '"wte": {"dtype": "F64", "shape": [1, 1], "data_offsets": [0, 8]}'
    header = f"{{{one}, {one}}}".encode()
    file = tmp_path / "table.safetensors"
    file.write_bytes(len(header).to_bytes(8, "little") + header + bytes(8))
    refuses("a name twice in its header", file)


def test_what_does_not_fit_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr("recallbook.memory_needs.free_memory", lambda: 0.0)
    file, other = tmp_path / "table.npy", tmp_path / "table.npz"
    hole = np.lib.format.open_memmap(file, "w+", shape=(2**15, 2**10))
    np.savez_compressed(other, hole)
    for one in (file, other):
        refuses("is not allowed: a size that fits: the ", one)
    assert rb.read_embeddings(file, rows=2).shape == (2, 2**10)


def test_paths(tmp_path):
    (tmp_path / "folder.npy").mkdir()
    for name in ("table.pt", "table", "table.npy.gz"):
        (tmp_path / name).write_bytes(b"anything")
        refuses(r"path=.*no pickle ever", tmp_path / name)
    for path in (tmp_path / "none.npy", tmp_path / "folder.npy"):
        refuses(r"path=.*a file that exists", path)
    for path in (None, 3, b"table.npy"):
        refuses(r"path=.*a file that ends in", path)
