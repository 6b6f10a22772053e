"""Reading one matrix from a file: what numpy and safetensors wrote comes back, the rows asked for
are those that come, and every file that is refused says why."""

import contextlib
import json
import os

import numpy as np
import pytest
import safetensors.torch
import torch

import recallbook as rb
from recallbook_studies.examining.read import read_rows

pytestmark = pytest.mark.essential

GENERATOR = np.random.default_rng(5)
TABLE = GENERATOR.standard_normal((9, 4))
OTHER = GENERATOR.standard_normal((3, 2))
KINDS = pytest.mark.parametrize("suffix", [".npy", ".safetensors", ".txt", ".vec"])


def written(folder, suffix, table=TABLE, **others):
    """A file with the table, named ``wte`` where there are names."""
    file = folder / f"table{suffix}"
    if suffix == ".npy":
        np.save(file, table)
    elif suffix == ".safetensors":
        save(file, wte=table, **others)
    else:
        text(file, table, suffix == ".vec")
    return file


def save(file, **arrays):
    safetensors.torch.save_file({k: torch.as_tensor(part) for k, part in arrays.items()}, file)
    return file


WORDS = ["the", ".", "a b", "new\u00a0york", '"', "#", "7", "\u4e2d", ",", "c"]


def text(file, table, header=False):
    """As GloVe and word2vec write it, with blank lines anywhere."""
    lines = [
        f"{WORDS[place % 10]} {' '.join(map(repr, map(float, row)))}\n"
        for place, row in enumerate(table)
    ]
    first = f"{len(table)} {table.shape[1]}\n" * header
    file.write_text("\n" + first + " \n\n".join(lines) + "\n\n", encoding="utf-8")
    return file


@KINDS
@pytest.mark.parametrize("kind", ["float16", "float32", "float64", "bfloat16"])
def test_round_trips(tmp_path, suffix, kind):
    tensor = torch.tensor(TABLE).to(getattr(torch, kind))
    expected = tensor.double().numpy()
    exact = kind != "bfloat16" or suffix == ".safetensors"
    file = written(tmp_path, suffix, tensor if exact else expected)
    found = rb.read_embeddings(file)
    assert found.dtype == np.float64 and np.array_equal(found, expected)
    found[:] = 0  # a copy: the file stays
    assert np.array_equal(rb.read_embeddings(str(file)), expected)
    for rows in (1, 9, np.int64(3), slice(2, 5), slice(7, None), slice(None, 4)):
        part = rows if isinstance(rows, slice) else slice(rows)
        assert np.array_equal(rb.read_embeddings(file, rows=rows), expected[part]), rows


@pytest.mark.parametrize("table", [np.asfortranarray(TABLE), TABLE.astype(">f4"), TABLE[::2, 1:]])
def test_layouts_of_arrays(tmp_path, table):
    assert np.array_equal(rb.read_embeddings(written(tmp_path, ".npy", table)), table.astype(float))


NUMBERED = np.concatenate([GENERATOR.standard_normal((7, 5)), np.full((3, 5), 0.25)])  # padded
BFLOAT16 = torch.tensor(NUMBERED).bfloat16()


def gpt2(folder):
    others = {"h.0.mlp.c_fc.weight": np.ones((5, 20)), "wpe.weight": np.ones((12, 5))}
    save(folder / "model.safetensors", **{"wte.weight": NUMBERED, "ln": np.ones(5)}, **others)
    return folder


def llama(folder):
    save(folder / "model-1.safetensors", **{"model.embed_tokens.weight": NUMBERED})
    save(folder / "model-2.safetensors", **{"lm_head.weight": np.ones((10, 5))})
    save(folder / "consolidated.safetensors", **{"tok_embeddings.weight": 0 * NUMBERED})
    (folder / "model.safetensors.index.json").write_text("{}", encoding="utf-8")
    return folder


def llama_by_its_index(folder):
    return llama(folder) / "model.safetensors.index.json"


def gemma(folder):
    tensors = {"model.embed_tokens.weight": BFLOAT16, "model.norm.weight": torch.ones(5)}
    return save(folder / "a.safetensors", **tensors)


def glove(folder):
    return text(folder / "table.txt", NUMBERED)


def word2vec(folder):
    return text(folder / "table.vec", NUMBERED, header=True)


@pytest.mark.parametrize("model", [gpt2, llama, llama_by_its_index, gemma, glove, word2vec])
def test_a_model_is_read_and_its_padding_left_out(tmp_path, model):
    path = model(tmp_path)
    expected = BFLOAT16.double().numpy() if model is gemma else NUMBERED
    with pytest.raises(ValueError, match=r"='with 2 bad rows \(8, 9\)' is not.*drop_bad_rows"):
        rb.read_embeddings(path)
    assert np.array_equal(rb.read_embeddings(path, rows=slice(2, 6)), expected[2:6])
    read = read_rows(path, None, slice(6, 10), drop=True)
    assert np.array_equal(read.table, expected[6:8])
    assert "(10, 5): 4 rows from 6 to 9" in read.lines[0]
    assert read.lines[1:] == ["left out: 2 bad rows (8, 9)"]


def test_every_kind_of_bad_row_is_left_out(tmp_path):
    table = np.concatenate([TABLE, np.zeros((5, 4)), TABLE[:1], TABLE[:1]])
    table[3, 1], table[4] = np.nan, np.inf
    for suffix in (".npy", ".vec"):
        file = written(tmp_path, suffix, table)
        assert np.array_equal(
            rb.read_embeddings(file, drop_bad_rows=True), TABLE[[0, 1, 2, 5, 6, 7, 8]]
        )


def test_an_array_is_chosen_by_its_name(tmp_path):
    file = written(tmp_path, ".safetensors", wpe=OTHER)
    assert np.array_equal(rb.read_embeddings(file, "wpe"), OTHER)
    assert np.array_equal(rb.read_embeddings(file), TABLE), "token embeddings, by their name"
    assert np.array_equal(rb.read_embeddings(written(tmp_path, ".npy"), "table.npy"), TABLE)
    coloured = save(tmp_path / "a.safetensors", **{"\x1b[31mred": TABLE})
    assert read_rows(coloured, None, None, drop=False).lines[0].startswith(r"'\x1b[31mred' (9, 4)")


class Trap:
    """Unpickled, it leaves a folder behind."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return os.mkdir, (str(self.mark),)


def test_a_pickle_is_refused_and_not_run(tmp_path):
    mark, table = tmp_path / "it ran", np.empty((2, 2), dtype=object)
    table[:] = Trap(mark)
    file = written(tmp_path, ".npy", table)
    with pytest.raises(ValueError, match=r"a whole .npy file|of object numbers"):
        rb.read_embeddings(file)
    assert not mark.exists()
    with (
        contextlib.suppress(FileExistsError),
        file.open("rb") as opened,
    ):  # four times the same folder
        np.load(opened, allow_pickle=True)
    assert mark.exists(), "the trap works"


@pytest.mark.parametrize("suffix", [".npy", ".safetensors"])
def test_files_that_are_not_whole(tmp_path, suffix):
    whole = written(tmp_path, suffix, GENERATOR.standard_normal((40, 30)), wpe=OTHER).read_bytes()
    file, lengths = tmp_path / f"part{suffix}", (0, 5, 60, 128, len(whole) // 2, len(whole) - 1)
    others = [b"not a table", b"\x80\x04\x95" + bytes(50), bytes(300)]
    for content in [whole[:length] for length in lengths] + others:
        file.write_bytes(content)
        with pytest.raises(ValueError, match=rf"path=.*a whole \{suffix} file"):
            rb.read_embeddings(file, None if suffix == ".npy" else "wte")


@pytest.mark.slow
def test_what_does_not_fit_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr("recallbook.memory_needs.free_memory", lambda: 0.0)
    file = tmp_path / "table.npy"
    table = np.lib.format.open_memmap(file, "w+", shape=(2**15, 2**10))
    table[:2] = 1 + np.arange(2**11).reshape(2, -1)
    with pytest.raises(ValueError, match="is not allowed: a size that fits: the "):
        rb.read_embeddings(file)
    assert np.array_equal(rb.read_embeddings(file, rows=2), table[:2])


def put(name, content):
    """Makes a file of these bytes, this text, or this object as JSON, in a folder."""

    def make(folder):
        file = folder / name
        given = content if isinstance(content, bytes | str) else json.dumps(content)
        file.write_bytes(given if isinstance(given, bytes) else given.encode())
        return file

    return make


def table_of(suffix, table):
    return lambda folder: written(folder, suffix, table)


def headed(header, length=None):
    """Makes a .safetensors file with this header."""
    content = header if isinstance(header, bytes) else json.dumps(header).encode()
    size = (len(content) if length is None else length).to_bytes(8, "little")
    return put("a.safetensors", size + content + bytes(8))


def two_shards(folder):
    for name in "ab":
        save(folder / f"{name}.safetensors", wte=TABLE)
    return folder


def itself(folder):
    os.symlink(".", folder / "x.safetensors")
    return folder


NO_PATH = "path=.*a file that ends in .npy.*no pickle ever"
INDEX = "path=.*an index with its shards, model-.*.safetensors, beside it"
NUMBERS = "=.of {} numbers. is not allowed: floating.*quantised.*save these as .npy"
HALF = {"wte": torch.ones(3, 4).to(torch.float8_e4m3fn)}
REFUSED = [  # what makes a path, and what is said
    *((lambda folder, value=value: value, NO_PATH) for value in (None, 3, b"table.npy")),
    *((put(name, "anything"), NO_PATH) for name in ("table", "table.npy.gz")),
    (lambda folder: folder / "none.npy", "path=.*a file that exists"),
    (lambda folder: folder, "path=.*a folder with .safetensors files"),
    (itself, "path=.*a folder with .safetensors files"),
    (lambda folder: folder / "model.gguf", "in Python: .*gguf.dequantize"),
    (lambda folder: folder / "it's.pt", r'in Python: .*torch.load\("it\'s.pt", weights_only=True'),
    (lambda folder: folder / '"\n\x1b.csv', r"in Python: .*pandas.read_csv\('\"\\n\\x1b.csv', ind"),
    (two_shards, "path=.*'a.safetensors' and 'b.safetensors' both hold 'wte'"),
    (put("model.safetensors.index.json", "{"), INDEX),
    *(
        (table_of(suffix, table), r"name=.*of shape \(.*a matrix|a whole .npy file")
        for suffix in (".npy", ".safetensors")
        for table in (np.ones(5), np.ones((2, 3, 4)), np.ones((0, 4)))
    ),
    *(
        (table_of(".npy", np.ones((3, 4), kind)), NUMBERS.format(kind))
        for kind in ("int8", "int64", "bool", "complex64")
    ),
    (table_of(".safetensors", np.ones((3, 4), "int8")), NUMBERS.format("I8")),
    (lambda folder: save(folder / "a.safetensors", **HALF), NUMBERS.format("F8_E4M3")),
    (table_of(".npy", np.full((3, 4), np.nan)), r"with 3 bad rows \(0, 1, 2\).*drop_bad_rows"),
    (lambda folder: folder / "a.npz", r"in Python: .*numpy.load\('a.npz'\)"),
    (headed({}, length=6 * 10**9), "a whole .safetensors file .*[hH]eader"),
    (headed(b'{"a":' + b"[" * 10**6 + b"]" * 10**6 + b"}"), "a whole .safetensors file"),
    (headed({"wte": {"dtype": "F64", "shape": [1] * 10**5, "data_offsets": [0, 8]}}), "a matrix"),
    (put("a.vec", "3 2\na 1 2\nb 1 2\n"), "2 rows where its first line says 3"),
    (put("a.vec", "a 1 2\nb 1\n"), "a whole .vec file .*invalid column index|could not convert"),
    (put("a.vec", "0.5 1 2\n0.5 1 2\n"), "a word and its numbers"),
    (put("a.vec", "\ufeff2 2\na 1 2\nb 1 2\n"), "a whole .vec file .invalid literal"),
    (put("a.vec", b"a 1 2\n\xa0\nb 1 2\n"), r"\(2, 2\) numbers where \(3, 2\) were counted"),
    (put("a.txt", ""), "no commas between"),
    (put("a.txt", "a,1,2\nb,3,4\n"), r"of shape \(2, 0\).*a matrix"),
    *(
        (put("a.txt", line), "could not convert string '1,")
        for line in ("a 1,5 2,5\n", "a, 1, 2\n")
    ),
    (put("a.vec", f"2 {10**15}\na 1 2\nb 1 2\n"), f"dim={10**15} is not allowed: a size that fits"),
]


@pytest.mark.parametrize(
    ("make", "said"),
    REFUSED,
    ids=[f"{place} {said[:40]}" for place, (_, said) in enumerate(REFUSED)],
)
def test_files_are_refused_in_one_line(tmp_path, make, said):
    with pytest.raises(ValueError, match=said) as refused:
        rb.read_embeddings(make(tmp_path))
    message = str(refused.value)
    assert " is not allowed: " in message and message.isprintable() and len(message) < 700


NAMES = r"one of 2 names in it, largest first: 'wte' \(9, 4\), 'wpe' \(3, 2\)"
ARGUMENTS = [
    *({"rows": rows} for rows in (0, 10, True, "3", [1], slice(2, 2), slice(-1), slice(3, 10))),
    {"rows": slice(0, 4, 2)},
    *({"name": name} for name in ("lm_head", "WTE", "", 3)),
    {"drop_bad_rows": 1},
]


@pytest.mark.parametrize("given", ARGUMENTS, ids=str)
def test_arguments_are_refused_by_name(tmp_path, given):
    said = f"{next(iter(given))}=.* is not allowed: {NAMES if 'name' in given else ''}"
    with pytest.raises(ValueError, match=said):
        rb.read_embeddings(written(tmp_path, ".safetensors", wpe=OTHER), **given)


def test_the_advice_runs_and_what_comes_out_is_read(tmp_path):
    torch.save({"wte.weight": BFLOAT16[:8]}, tmp_path / "pytorch_model.bin")
    commas = put("it's.csv", "word,x,y\na,1,2.5\nb,4,5.5\n")(tmp_path)
    np.savez(tmp_path / "a.npz", **{"wte.weight": TABLE})
    tables = {tmp_path: BFLOAT16[:8].double().numpy(), commas: [[1, 2.5], [4, 5.5]]}
    tables[tmp_path / "a.npz"] = TABLE
    for path, expected in tables.items():
        with pytest.raises(ValueError, match="is not allowed") as refused:
            rb.read_embeddings(path)
        advice = str(refused.value).split("in Python: ")[1].replace("NAME", "wte.weight")
        with contextlib.chdir(tmp_path):
            exec(advice, {})
        assert np.array_equal(rb.read_embeddings(tmp_path / "table.npy"), expected)
