"""Reading one matrix from a file: what numpy and safetensors wrote comes back, the rows asked for
are those that come, and every file that is refused says why."""

import contextlib
import json
import os
from functools import partial

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


def written(folder, suffix, table=TABLE, **others):
    """A file with the table, named ``wte`` where there are names."""
    file = folder / f"table{suffix}"
    if suffix == ".npy":
        np.save(file, table)
    else:
        save(file, wte=table, **others)
    return file


def save(file, **arrays):
    safetensors.torch.save_file({k: torch.as_tensor(part) for k, part in arrays.items()}, file)
    return file


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


@pytest.mark.parametrize("model", [gpt2, llama, llama_by_its_index, gemma])
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


def test_an_array_is_chosen_by_its_name(tmp_path):
    file = written(tmp_path, ".safetensors", wpe=OTHER)
    assert np.array_equal(rb.read_embeddings(file, "wpe"), OTHER)
    found = rb.read_embeddings(file)
    assert np.array_equal(found, TABLE), "token embeddings, by their name"
    found[:] = 0  # a copy: the file stays
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
    *((put(name, "anything"), NO_PATH) for name in ("table", "table.npy.gz")),
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
    (lambda folder: save(folder / "a.safetensors", **HALF), NUMBERS.format("F8_E4M3")),
    (table_of(".npy", np.full((3, 4), np.nan)), r"with 3 bad rows \(0, 1, 2\).*drop_bad_rows"),
    (lambda folder: folder / "a.npz", r"in Python: .*numpy.load\('a.npz'\)"),
    (headed({}, length=6 * 10**9), "a whole .safetensors file .*[hH]eader"),
    (headed(b'{"a":' + b"[" * 10**6 + b"]" * 10**6 + b"}"), "a whole .safetensors file"),
    (headed({"wte": {"dtype": "F64", "shape": [1] * 10**5, "data_offsets": [0, 8]}}), "a matrix"),
    (put("a.vec", "\ufeff2 2\na 1 2\nb 1 2\n"), "1 numbers in the first line, others after b'a"),
    (put("a.vec", b"a 1 2\n\xa0\nb 1 2\n"), "2 numbers in the first line, others after b"),
    (put("a.vec", b"a 1\n\xa0 \xa0\nb 1\n"), r"\(2, 1\) numbers where \(3, 1\) were counted"),
    *(
        (put("a.txt", text), "no commas between")
        for text in ("", "a,1,2\nb,3,4\n", "1 2\t3\n-4e1 5 6\n")
    ),
    *(
        (make(b" " * (2**23 + 1)), "has more than 8,388,608 b")
        for make in (headed, partial(put, "a.txt"))
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
