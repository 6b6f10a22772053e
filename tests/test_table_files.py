"""Reading one matrix from a file: round trips, rows, and every file that is refused."""

import contextlib
import json
import os
import zipfile

import numpy as np
import pytest
import safetensors.torch
import torch

import recallbook as rb
from recallbook_studies.examining.table_files import read_rows

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
    assert np.array_equal(rb.read_embeddings(file), TABLE), "token embeddings, by their name"
    listed = r"one of the names in it, largest first: 'wte' \(9, 4\), 'wpe' \(3, 2\)"
    for name in ("lm_head", "WTE", ""):
        refuses(rf"name=.*{listed}", file, name)
    refuses("name=3", file, 3)


@KINDS
@pytest.mark.parametrize(
    "rows", [0, 10, True, "3", [1], slice(2, 2), slice(-1), slice(3, 10), slice(0, 4, 2)], ids=str
)
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
        "with bad rows: 2 not finite.*drop_bad_rows",
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
    refuses("a whole .npz file", file)
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
    for name in ("table", "table.npy.gz"):
        (tmp_path / name).write_bytes(b"anything")
        refuses(r"path=.*no pickle ever", tmp_path / name)
    refuses(r"path=.*a file that exists", tmp_path / "none.npy")
    refuses(r"path=.*a folder with .safetensors files", tmp_path / "folder.npy")
    for path in (None, 3, b"table.npy"):
        refuses(r"path=.*a file that ends in", path)


# Models and text

NUMBERED = np.concatenate([GENERATOR.standard_normal((7, 5)), np.full((3, 5), 0.25)])  # padded
BFLOAT16 = torch.tensor(NUMBERED).bfloat16().double().numpy()
WORDS = ["the", ".", "a b", "new\u00a0york", '"', "#", "7", "\u4e2d", "b", "c"]


def save(file, **arrays):
    safetensors.torch.save_file({name: torch.tensor(part) for name, part in arrays.items()}, file)


def gpt2(folder):
    parts = {"h.0.mlp.c_fc.weight": np.ones((5, 20)), "wpe.weight": np.ones((12, 5))}
    save(
        folder / "model.safetensors",
        **{"wte.weight": NUMBERED, "h.0.ln_1.bias": np.ones(5)},
        **parts,
    )
    return folder, "'h.0.mlp.c_fc.weight' (5, 20), 'wpe.weight' (12, 5), 'wte.weight' (10, 5), "


def llama(folder):
    head, table = {"lm_head.weight": np.ones((10, 5))}, {"model.embed_tokens.weight": NUMBERED}
    shards = {"model-1.safetensors": table, "model-2.safetensors": head}
    for file, held in {
        **shards,
        "consolidated.safetensors": {"tok_embeddings.weight": 0 * NUMBERED},
    }.items():
        save(folder / file, **held)
    weights = {name: file for file, held in shards.items() for name in held}
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {}, "weight_map": weights}), encoding="utf-8")
    return folder, "'model.embed_tokens.weight' (10, 5), 'lm_head.weight' (10, 5)"


def gemma(folder):
    named = {"model.embed_tokens.weight": torch.tensor(NUMBERED).bfloat16()}
    safetensors.torch.save_file(
        {**named, "model.norm.weight": torch.ones(5)}, folder / "a.safetensors"
    )
    return folder / "a.safetensors", "(10, 5), called as token embeddings are: 10 rows from 0 to 9"


def glove(folder, header="", end=""):
    lines = (
        f"{word} {' '.join(map(repr, row.tolist()))}{end}\n"
        for word, row in zip(WORDS, NUMBERED, strict=True)
    )
    (folder / "table.txt").write_text(header + "".join(lines), encoding="utf-8")
    return folder / "table.txt", "table.txt (10, 5), the only array: 10 rows"


def word2vec(folder):
    return glove(folder, "10 5\n", " ")


@pytest.mark.parametrize("model", [gpt2, llama, gemma, glove, word2vec])
def test_a_model_is_read_and_its_padding_named(tmp_path, model):
    path, says = model(tmp_path)
    expected = BFLOAT16 if model is gemma else NUMBERED
    assert np.array_equal(rb.read_embeddings(path), expected)
    assert np.array_equal(rb.read_embeddings(path, rows=slice(2, 5)), expected[2:5])
    assert np.array_equal(rb.read_embeddings(path, drop_bad_rows=True), expected[:8])
    found = read_rows(path, None, lambda count, dim: np.array([1, 7, 8, 9]), drop=True)
    assert np.array_equal(found.table, expected[[1, 7]]) and found.places.tolist() == [1, 7]
    assert found.lines[-1] == "bad rows, left out: 2 repeating an earlier one (8, 9)"
    assert "a sample of 4 rows from 1 to 9" in found.lines[0]
    assert says in "\n".join(
        read_rows(path, None, lambda count, dim: np.arange(count), drop=False).lines
    )


def test_bad_rows_are_told_apart(tmp_path):
    table = np.concatenate([TABLE, np.zeros((5, 4)), TABLE[:1], TABLE[:1]])
    table[3, 1], table[4] = np.nan, np.inf
    refuses(
        "bad rows: 2 not finite .3, 4.; 5 zero .9, 10, 11, ....; 2 repeating",
        written(tmp_path, ".npz", table),
    )
    found = rb.read_embeddings(written(tmp_path, ".npz", table), drop_bad_rows=True)
    assert np.array_equal(found, TABLE[[0, 1, 2, 5, 6, 7, 8]])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("3 2\na 1 2\nb 1 2\n", "2 rows where its first line says 3"),
        ("a 1 2\nb 1\n", "could not convert string 'b'"),
        ("0.5 1 2\n0.5 1 2\n", "starts with a number"),
        ("", "a whole .vec file|a matrix"),
    ],
)
def test_text_that_is_no_table(tmp_path, content, message):
    (tmp_path / "table.vec").write_text(content, encoding="utf-8")
    refuses(message, tmp_path / "table.vec")


def test_what_is_not_read_says_what_to_do(tmp_path):
    """The advice runs, and what comes out is read."""
    file = tmp_path / "pytorch_model.bin"
    torch.save({"wte.weight": torch.tensor(NUMBERED).bfloat16()}, file)
    with pytest.raises(ValueError, match="no pickle ever") as refused:
        rb.read_embeddings(tmp_path)
    advice = str(refused.value).split("in Python: ")[1].replace("NAME", "wte.weight")
    with contextlib.chdir(tmp_path):
        exec(advice, {})
    assert np.array_equal(rb.read_embeddings(tmp_path / "table.npy"), BFLOAT16)
    refuses("in Python: .*gguf.dequantize", tmp_path / "model.gguf")
    llama(tmp_path)[0].joinpath("model-2.safetensors").unlink()
    refuses("model-2.safetensors.*a file that exists", tmp_path)
