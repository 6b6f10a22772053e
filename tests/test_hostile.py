"""Hostile inputs, made by the thousand: each is taken for what it means, or refused before any work
in one line that names the field, shows the value and says what is allowed."""

import inspect
import random
import re
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import fields
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sympy as sp
import torch
from safetensors.numpy import save_file

import recallbook as rb
from recallbook.arguments import LARGEST_SIZE
from recallbook_studies.answers import check
from recallbook_theory.bounds.coverage import LEARNERS
from recallbook_theory.bounds.information import available_information
from recallbook_theory.hermite import hermite_coefficients

SIZES = {"vocab": 6, "seq_len": 3, "dim": 5, "samples": 10}
NAN, INF = float("nan"), float("inf")
TABLE = np.random.default_rng(0).standard_normal((6, 5))
WORK = (  # what draws and predicts: none of it runs before a refusal
    "recallbook.data.task.stream",
    "recallbook_theory.equal.EqualFacts.averages",
    "recallbook_theory.sampled.theory.SampledTheory.averages",
    "recallbook_theory.steps.ManySteps.averages",
)


REFUSED, EITHER = object(), object()  # the second: what may be whole, or not


# a call, what it is given, which argument of these is hostile, and what that means: one of these
# two, a table, or arguments that give the same
Case = tuple[Callable[..., Any], dict[str, Any], str, Any]


# Values


def breaks(x):
    raise RuntimeError("\x1b[31mno\nmore")


def nested():
    """Made when it is asked for, because its first call loads as much as all of torch."""
    return torch.nested.nested_tensor([torch.ones(5)] * 6, layout=torch.jagged)


# neither a size, a number, a flag, a name, a table nor an object of the package
JUNK = [
    *(None, "", "x", "4", b"4", "\x1b[31m", [4], (4, 4), {4: 4}, NAN, -INF, 1j, object(), int),
    *(
        slice(2, 1),
        np.array([4, 5]),
        np.array("4"),
        np.array(None, object),
        np.ma.masked,
        Path("x"),
    ),
    *(np.datetime64("2026-01-01"), np.complex128(1), pd.NA, pd.Series([4]), pd.DataFrame({4: [5]})),
    *(torch.ones(2), torch.empty((), device="meta"), torch.tensor(1j), torch.eye(2).to_sparse()),
    *(nested, torch.nn.Embedding(6, 5), sp.Symbol("x"), sp.oo, Decimal("nan"), -(10**5000)),
]
BOOLS = [True, False, np.True_, torch.tensor(True), np.array(True)]
NO_SEED = [*BOOLS, -1, 1.5, 4.0, np.float64(4), torch.tensor(4.0), Decimal(4), Fraction(4), INF]
NO_SIZE = [*NO_SEED, 0, LARGEST_SIZE + 1, 2**70, 10**5000]
NO_NUMBER = [[0.5], *BOOLS, "0.5", b"1", 10**400, -0.1, np.float64(-1), INF]
NO_NAME = ["Inverse", True, 1.0, ["equal"], np.array("equal"), b"equal", "equal "]
NO_OBJECT = [SIZES, rb.Setting, TABLE]
NO_TABLE = [
    *(nested, TABLE.tolist(), TABLE * 1j, TABLE.astype(int), TABLE[0], TABLE * NAN, TABLE * 1e-200),
    *(np.ones((6, 5)), TABLE * 1e300, torch.ones(6, 5) * 1j, torch.empty(6, 5, device="meta")),
    *(torch.eye(6, 5).to_sparse(), np.ma.array(TABLE, mask=TABLE > 1), TABLE[[0, 0, 1]]),
]
NO_TABLES = [{"input": table} for table in (*NO_TABLE[1:], TABLE[:5], TABLE.T)]
NO_QUERY = [{"query": vector} for vector in (TABLE[0] * 0, TABLE[:1], 1.0, TABLE[0] * NAN)]
NO_LAW = (
    "power_law;power_law();power_law(5);power_law(nan);low_rank(0);low_rank(99);low_rank(2.5);low_rank(inf)"
    ";clustered(2);clustered(0, 0.5);clustered(2, 1);gaussian(1);Gaussian;low_rank(1,);clustered(2,0.5)x"
)
NO_ACTIVATION = [
    *("ReLU", torch.sum, breaks, lambda x: 1.0, lambda x: x[:1], lambda x: x.detach()),
    *(lambda x: x.softmax(-1), lambda x: x - x.mean(0), lambda x: x + torch.rand_like(x)),
    *(
        lambda x: (x > 0).to(x),
        lambda x: x.mul_(2),
        torch.log,
        torch.Tensor.long,
        torch.Tensor.float,
    ),
]
BAD = {
    "vocab seq_len dim samples width test_samples steps count chunk batch value_steps rows order": NO_SIZE,
    "seed": NO_SEED,
    "eta gamma variance reading_error": [*NO_NUMBER, 0.0],
    "rate": [*NO_NUMBER[1:], 0.0, [2.0, "x"], [[2.0]], [2.0, 2.0, 2.0], [2.0, -1.0]],
    "accuracy confidence q error": [*NO_NUMBER, 1.1],
    "zipf other_zipf": [*NO_NUMBER, 4.1],
    "warn from_above balanced centred drop_bad_rows retry trigger_in_values progress": [
        *(0, 1, 1.0, "True", torch.tensor(True), np.array(True))
    ],
    "loss_weights output_bias method learner role name": NO_NAME,
    "activation": NO_ACTIVATION,
    "law": NO_LAW.split(";"),
    "without": ["coverage", ("cover",), [3], [["coverage"]], np.array(["cover"])],
    "dtype": [torch.float16, torch.int64, "float64", float, np.float64, 64],
    "device": ["gpu", "cuda:99", "cpu:99", "meta", 3.5],
    "setting problem weights model verdict sequences second_batch": NO_OBJECT,
    "points executor": [3, [rb.Setting]],
    "table output": NO_TABLE,
    "embeddings": [TABLE, {"keys": TABLE}, {3: TABLE}, *NO_TABLES, *NO_QUERY],
    "label": ["ex-no", "ex-task-bits "],
    "answer": ["", "half", [6.6, 1684], [1684, 6.6, 1], "nan", [NAN, NAN], {}],
    "path": [b"a.npy", "none.npy", "a\0.npy", "x" * 5000, "~/x.gz"],
}
BAD = {name: values for names, values in BAD.items() for name in names.split()}
FORMS = [np.int64, np.uint8, np.array, torch.tensor, sp.Integer]  # of an integer
SHARES = [np.float32, Fraction, Decimal, np.array, torch.tensor, sp.Rational]  # of a half


def fine(field: str, value: Any, call: Callable[..., Any]) -> bool:
    """Whether what is junk elsewhere is no mistake here."""
    if value is None:
        argument = inspect.signature(call).parameters.get(field)
        return field in ("width", "other_zipf", "rate") or not argument or argument.default is None
    listed = field in ("without", "points", "rate") and np.iterable(value)
    mapped = field == "embeddings" and isinstance(value, dict)
    return listed or mapped or (field == "progress" and callable(value))


# Calls


@cache
def calls() -> list[tuple[Callable[..., Any], dict[str, Any]]]:
    """Every function with arguments that it takes."""
    setting, rates = rb.Setting(**SIZES), {"eta": 1.0, "gamma": 1.0}
    problem, quiet = rb.draw(setting, 0), {"setting": setting, "warn": False}
    drawn, given = {"setting": setting, "seed": 5}, {"problem": problem}
    sizes, test = {"vocab": 8, "seq_len": 3, "dim": 8}, {"test_samples": 20}
    half = {"samples": 9, "seq_len": 3, "dim": 4, "accuracy": 0.5, "warn": False}
    np.save(file := Path(tempfile.mkdtemp(), "table.npy"), TABLE)
    # no point is asked for before the rest is checked
    return [
        *((rb.Setting, {**SIZES, "width": 4}), (rb.draw, drawn), (rb.Point, drawn | test)),
        (rb.simulate, drawn | test | rates),
        (rb.simulate, drawn | test | {"value_steps": 2, "rate": 2.0}),
        *((call, given | rates) for call in (rb.three_steps, rb.reference.three_steps)),
        (rb.evaluate, given | test | {"weights": rb.three_steps(problem)}),
        (rb.descend, given | rates | {"model": rb.RecallTransformer(problem), "steps": 1}),
        *(
            (call, given)
            for call in (rb.initial_gradient, rb.RecallTransformer, rb.certify, rb.decode)
        ),
        *((problem.fresh, {"count": 5}), (rb.phase, {"setting": setting})),
        *((call, quiet) for call in (rb.predict, rb.predict_trained)),
        (rb.predict(**quiet).quantile, {"q": 0.5}),
        (rb.critical_samples, {**sizes, "accuracy": 0.5, "warn": False}),
        *((rb.critical_width, {**half, "vocab": 8}), (rb.capacity, half)),
        *((rb.minimum_samples, {**sizes, "accuracy": 0.5, "learner": way}) for way in LEARNERS),
        *((available_information, {**sizes, "samples": 9}), (rb.sufficient_samples, sizes)),
        *((rb.examine, {"table": TABLE, "verdict": way}) for way in (False, True)),
        *(
            (rb.load_results, {"name": "geometry"}),
            (rb.run_sweep, {"points": map(pytest.fail, "a")}),
        ),
        (hermite_coefficients, {"activation": "relu", "variance": 0.5, "order": 5}),
        (check, {"label": "ex-task-bits", "answer": None}),
        (rb.read_embeddings, {"path": file, "name": None, "rows": 5}),
    ]


def argument_cases(junk: bool) -> Iterator[Case]:
    """Every argument of every call with each value that is bad for it."""
    for call, given in calls():
        parameters = inspect.signature(call).parameters.values()
        names = [one.name for one in parameters if one.kind is not one.VAR_KEYWORD]
        law = call is rb.Setting or len(names) < len(parameters)
        if len(names) < len(parameters):
            names += [one.name for one in fields(rb.Setting)]
        alone = {"eta", "gamma"} - given.keys()  # the other is asked for first
        for field in filter((BAD.keys() - alone).__contains__, names):
            kind = "law" if law and field == "embeddings" else field
            for value in JUNK if junk else BAD[kind]:
                if not (junk and fine(field, value, call)):
                    means = EITHER if field == "answer" else REFUSED  # it says so, without an error
                    yield call, {**given, field: value}, field, means


def forms() -> Iterator[Case]:
    """Numbers of other types, which are what they mean."""
    for call, given in calls():
        for field, plain in given.items():
            for form in {0.5: SHARES}.get(plain, FORMS) if type(plain) in (int, float) else []:
                if call is not rb.descend:  # it changes its model
                    yield call, {**given, field: form(plain)}, field, given


def fault(call: Callable[..., Any], given: dict[str, Any], field: str, means: Any) -> str:
    """What is wrong with what a case ends in; empty where it is right."""
    given = {name: nested() if value is nested else value for name, value in given.items()}
    refused = means is REFUSED
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")
        for name in WORK * refused:
            patch.setattr(name, None)  # whoever calls it fails
        try:
            found = call(**given)
        except Exception as error:
            said = traceback.format_exception_only(error)[-1].removesuffix("\n")
            form = rf"ValueError: (\w+\.)*(?:{field})\b.*=.* is not allowed: .{{5,}}"
            clear = re.match(form, said) and said.isprintable() and len(said) < 700
            return "" if clear and (refused or means is EITHER) else f"unclear: {said:.200}"
    if isinstance(means, np.ndarray):
        right = np.array_equal(found, means)
    elif isinstance(means, dict):
        right = repr(found) == repr(call(**means))
    else:
        right = not refused
    return "" if right else f"accepted: {found!r:.60}"


# Table files

WORDS = ["the", "a b", "new\u00a0york", '"', "#", "7", "\u4e2d", ",", "c"]
# in place of a number
FAULTS = [[], ["0.5", "0.5"], *([x] for x in "x 1,5 1_0 0x1 \x1b[31m 1;5 --1".split())]


def text(rng: np.random.Generator, table: np.ndarray, broken: bool) -> str:
    """A table as GloVe and word2vec write it, blank lines anywhere; with one fault, or whole."""
    rows = [[WORDS[i % 9], *map(repr, map(float, row))] for i, row in enumerate(table)]
    wrong, sizes = int(rng.integers(len(FAULTS) + 2)), np.array(table.shape)
    headed = broken and wrong >= len(FAULTS)
    if headed:
        sizes[wrong - len(FAULTS)] += 1
    elif broken:
        place, column = rng.integers(sizes)
        rows[place][column + 1 : column + 2] = FAULTS[wrong]
    lines = [rng.choice([" ", "\t", "  "]).join(row) + rng.choice(["", " "]) for row in rows]
    lines[:0] = [" ".join(map(str, sizes))] * (headed or int(rng.integers(2)))
    blank = rng.choice(["", "\n", "\n \t\n\n", "\r\n"], size=len(lines))
    return "".join(f"{some}{line}\n" for some, line in zip(blank, lines, strict=True))


def file_cases(rng: np.random.Generator, folder: Path, count: int) -> Iterator[Case]:
    """Tables of any size in any format, whole or with one fault."""
    for number in range(count):
        table = rng.standard_normal(rng.integers(2, [9, 6]))
        kind = rng.choice(["whole", "whole", "cut", "flipped", "codes"])
        suffix, means = rng.choice([".npy", ".safetensors", ".txt", ".vec"]), REFUSED
        binary, file = suffix in (".npy", ".safetensors"), folder / f"{number}{suffix}"
        if kind == "whole":
            table[rng.integers(len(table))] *= rng.choice([1, 0, NAN, INF])
        numbers = "i1 u1 i4 ? c8" if kind == "codes" else "f2 >f4 f8"
        stored = table.astype(rng.choice(numbers.split())) if binary else table
        if suffix == ".npy":
            np.save(file, np.asarray(stored, order=rng.choice(["C", "F"])))
        elif binary:
            scales = {"wte.weight_scale": TABLE[:, :1]} if kind == "codes" else {}
            save_file({"wte.weight": stored, "wpe\x1b[31m": TABLE, **scales}, file)
        else:
            file.write_text(text(rng, table, kind != "whole"), "utf-8")
        content = bytearray(file.read_bytes())
        if binary and kind == "cut":
            del content[rng.integers(len(content)) :]
        if binary and kind == "flipped":
            content[rng.integers(100)], means = rng.integers(256), EITHER
        file.write_bytes(content)
        given = {"path": file}
        if kind == "whole":
            first, last = sorted(rng.choice(len(table) + 1, 2, replace=False))
            given |= {"rows": slice(int(first), last), "drop_bad_rows": bool(rng.integers(2))}
            part = stored[first:last].astype(float)
            good = np.isfinite(part).all(axis=1) & part.any(axis=1)
            if good.all() or (given["drop_bad_rows"] and good.any()):
                means = part[good]
        yield rb.read_embeddings, given, "path|name|table", means


@pytest.mark.parametrize("night", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_hostile_inputs_are_understood_or_refused(tmp_path, night):
    """None is accepted wrongly; of thousands a few may be refused in words that are not ours."""
    rng = random.Random(64)
    own, junk = [*argument_cases(False), *forms()], [*argument_cases(True)]
    cases = rng.sample(own, len(own) if night else 150) + rng.sample(junk, 1000 if night else 100)
    cases += file_cases(np.random.default_rng(64), tmp_path, 500 if night else 50)
    faults = [f"{said} ({one[2]} of {one[0]})" for one in cases if (said := fault(*one))]
    wrong = [said for said in faults if said.startswith("accepted")]
    listed = "\n".join([f"{len(faults)} of {len(cases)}", *sorted(faults)])
    assert not wrong and len(faults) <= 1 + len(cases) // 500, listed
