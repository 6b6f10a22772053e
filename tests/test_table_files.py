"""Reading one matrix from a file: round trips, rows, and every file that is refused."""

import contextlib
import io
import os
import struct
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


def written(folder, suffix, table=TABLE, **others):
    """A file with the table, named ``wte`` where there are names."""
    file = folder / f"table{suffix}"
    if suffix == ".npy":
        np.save(file, table)
    elif suffix == ".npz":
        np.savez_compressed(file, wte=table, **others)
    else:
        arrays = {"wte": table, **others}
        tensors = {
            name: part if isinstance(part, torch.Tensor) else torch.tensor(part) for name, part in arrays.items()
        }
        safetensors.torch.save_file(tensors, file)
    return file


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".safetensors"])
@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_round_trips(tmp_path, suffix, kind):
    file = written(tmp_path, suffix, TABLE.astype(kind))
    found = rb.read_embeddings(file)
    assert found.dtype == np.float64 and np.array_equal(found, TABLE.astype(kind).astype(float))
    assert np.array_equal(rb.read_embeddings(str(file)), found)
    found[:] = 0  # a copy: the file stays
    assert rb.read_embeddings(file).any()


def test_bfloat16_comes_back_exactly(tmp_path):
    table = torch.tensor(TABLE).bfloat16()
    file = written(tmp_path, ".safetensors", table)
    for rows in (None, 4, [8, 1]):
        expected = table if rows is None else table[:4] if rows == 4 else table[[8, 1]]
        assert np.array_equal(rb.read_embeddings(file, rows=rows), expected.double().numpy())


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".safetensors"])
@pytest.mark.parametrize(
    "rows", [1, 9, np.int64(3), range(2, 7), range(8, 0, -3), [5], [7, 0, 3], np.array([2, 8]), (1, 4)], ids=str
)
def test_rows(tmp_path, suffix, rows):
    whole = range(int(rows)) if isinstance(rows, int | np.integer) else rows
    found = rb.read_embeddings(written(tmp_path, suffix), rows=rows)
    assert np.array_equal(found, TABLE[list(whole)])


@pytest.mark.parametrize("table", [np.asfortranarray(TABLE), TABLE.astype(">f4"), TABLE[::2, 1:]])
def test_layouts_of_arrays(tmp_path, table):
    assert np.array_equal(rb.read_embeddings(written(tmp_path, ".npy", table)), table.astype(float))


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
def test_names(tmp_path, suffix):
    file = written(tmp_path, suffix, wpe=OTHER)
    assert np.array_equal(rb.read_embeddings(file, "wpe"), OTHER)
    assert np.array_equal(rb.read_embeddings(file, "wte", rows=2), TABLE[:2])
    for name in (None, "lm_head", "WTE", ""):
        with pytest.raises(ValueError, match=r"name=.*one of the file's names: 'wpe', 'wte'$"):
            rb.read_embeddings(file, name)
    with pytest.raises(ValueError, match=r"name=3"):
        rb.read_embeddings(file, 3)


def test_a_npy_file_has_no_names(tmp_path):
    with pytest.raises(ValueError, match=r"name='wte'.*without a name"):
        rb.read_embeddings(written(tmp_path, ".npy"), "wte")


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".safetensors"])
@pytest.mark.parametrize(
    "rows", [0, 10, True, "3", [], [9], [1, 1], [0.0, 1.0], range(5, 12), [[1, 2]], np.ones(9, bool)], ids=str
)
def test_rows_that_are_not_there(tmp_path, suffix, rows):
    with pytest.raises(ValueError, match=r"rows=.*None, an integer from 1 to 9, or a sequence of different integers"):
        rb.read_embeddings(written(tmp_path, suffix), rows=rows)


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".safetensors"])
@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.ones(5), "array of shape.*a matrix"),
        (np.ones((2, 3, 4)), "array of shape.*a matrix"),
        (np.ones((0, 4)), "a matrix: rows and columns, at least one of each|a whole .npy file"),
        (np.arange(12).reshape(3, 4), "of .*int64'.*real floating"),
        (np.ones((3, 4), bool), "real floating"),
        (np.ones((3, 4)) * 1j, "real floating"),
        (np.array([[1.0, np.nan], [np.inf, 2.0]]), "with 2 numbers that are infinite or none"),
    ],
    ids=["vector", "cube", "empty", "whole numbers", "booleans", "complex", "not finite"],
)
def test_tables_that_are_none(tmp_path, suffix, table, message):
    if suffix == ".safetensors" and np.iscomplexobj(table):
        table = table.astype(np.complex64)  # the only complex type that such a file may hold
    with pytest.raises(ValueError, match=message):
        rb.read_embeddings(written(tmp_path, suffix, table))


class Trap:
    """Unpickled, it leaves a folder behind."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return os.mkdir, (str(self.mark),)


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_a_pickle_is_refused_and_not_run(tmp_path, suffix):
    mark = tmp_path / "it ran"
    table = np.empty((2, 2), dtype=object)
    table[:] = Trap(mark)
    file = tmp_path / f"table{suffix}"
    (np.save if suffix == ".npy" else np.savez)(file, table)
    with pytest.raises(ValueError, match=r"a whole .*file without objects"):
        rb.read_embeddings(file)
    assert not mark.exists()
    with contextlib.suppress(FileExistsError):  # four times the same folder
        loaded = np.load(file, allow_pickle=True)
        loaded["arr_0"] if suffix == ".npz" else None
    assert mark.exists(), "the trap works"


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".safetensors"])
def test_files_that_are_not_whole(tmp_path, suffix):
    whole = written(tmp_path, suffix, GENERATOR.standard_normal((40, 30)), wpe=OTHER).read_bytes()
    file = tmp_path / f"part{suffix}"
    for length in (0, 5, 60, 128, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=rf"path=.*a whole \{suffix} file"):
            rb.read_embeddings(file, None if suffix == ".npy" else "wte")
    for text in (b"not a table", b"\x80\x04\x95" + bytes(50), bytes(300)):
        file.write_bytes(text)
        with pytest.raises(ValueError, match=rf"path=.*a whole \{suffix} file"):
            rb.read_embeddings(file)


def test_a_member_that_was_changed(tmp_path):
    file = tmp_path / "table.npz"
    np.savez(file, wte=TABLE)
    data = bytearray(file.read_bytes())
    place = data.index(TABLE.tobytes()[:16])
    data[place] ^= 1
    file.write_bytes(bytes(data))
    with pytest.raises(ValueError, match=r"a whole .npz file"):
        rb.read_embeddings(file)


def test_members_and_headers_that_lie(tmp_path):
    file = tmp_path / "table.npz"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("notes.txt", "no array")
    with pytest.raises(ValueError, match=r"name='notes.txt'.*the name of an array"):
        rb.read_embeddings(file)
    buffer = io.BytesIO()
    np.save(buffer, TABLE)
    huge = buffer.getvalue().replace(b"(9, 4)", b"(9999999999999, 4)")
    huge = huge[:8] + struct.pack("<H", struct.unpack("<H", huge[8:10])[0] + 12) + huge[10:]
    (tmp_path / "huge.npy").write_bytes(huge)
    with pytest.raises(ValueError, match=r"a whole .npy file"):
        rb.read_embeddings(tmp_path / "huge.npy")
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("wte.npy", huge)
    with pytest.raises(ValueError, match=r"a whole .npz file"):
        rb.read_embeddings(file)
    (tmp_path / "array.npz").write_bytes(buffer.getvalue())
    with pytest.raises(ValueError, match=r"a whole \.npz file, which this is not"):
        rb.read_embeddings(tmp_path / "array.npz")


@pytest.mark.parametrize("name", ["table.pt", "table", "table.npy.gz"])
def test_other_files_are_refused_by_name(tmp_path, name):
    (tmp_path / name).write_bytes(b"anything")
    with pytest.raises(ValueError, match=r"path=.*no pickle ever"):
        rb.read_embeddings(tmp_path / name)


def test_paths(tmp_path):
    (tmp_path / "folder.npy").mkdir()
    for path in (tmp_path / "none.npy", tmp_path / "folder.npy"):
        with pytest.raises(ValueError, match=r"path=.*a file that exists"):
            rb.read_embeddings(path)
    for path in (None, 3, b"table.npy"):
        with pytest.raises(ValueError, match=r"path=.*a file that ends in"):
            rb.read_embeddings(path)
