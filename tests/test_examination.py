"""What `rb.examine` finds: by hand, against closed forms of the laws, and what it refuses."""

import dataclasses
import itertools
import json
import re

import numpy as np
import pytest
import torch
from budgets import ROOT
from sampling import by_day, by_night, standard_error
from sized import sized

import recallbook as rb
from recallbook.__main__ import main
from recallbook.data.embeddings import draw_embeddings
from recallbook_studies.examining import judge, report
from recallbook_studies.laws import random_accuracy, random_dim

GENERATOR = np.random.default_rng(11)
SMALL = GENERATOR.standard_normal((12, 5)) * np.array([3, 2, 1, 1, 0.5]) + 0.3


@pytest.mark.essential
def test_what_is_not_replaced_is_kept():
    mean, rng = SMALL.mean(axis=0), np.random.default_rng(0)
    left, values, right = np.linalg.svd(deviations := SMALL - mean, full_matrices=False)
    found = {name: change(SMALL, rng) - mean for name, change in judge.PROPERTIES.items()}
    for name, rows in found.items():
        assert not np.allclose(rows, deviations), name
    assert found["mean"] + mean == pytest.approx(deviations)
    assert judge.lengths(found["clusters"]) == pytest.approx(judge.lengths(deviations))
    drawn = left.T @ found["spectrum"] @ right.T
    assert drawn == pytest.approx(np.diag(drawn.diagonal()), abs=1e-6)
    assert np.linalg.norm(drawn) == pytest.approx(np.linalg.norm(values))
    directions = [judge.unit_rows(rows, rng) for rows in (found["lengths"], deviations)]
    assert directions[0] == pytest.approx(directions[1])


@pytest.mark.essential
def test_every_number_by_hand():
    found, pairs = rb.examine(SMALL), list(itertools.combinations(range(12), 2))
    products, covariance = np.inner(SMALL, SMALL), np.cov(SMALL.T, bias=True)
    squares = products.diagonal()
    scale = squares.mean()
    near = {
        "rows": 12,
        "dim": 5,
        "mean_square_length": scale,
        "length_variance": sum((square - scale) ** 2 for square in squares) / 12 / scale**2,
        "mean_share": products.sum() / 144 / scale,
        "spectrum": np.linalg.eigvalsh(covariance)[::-1],
        "centred_dim": np.trace(covariance) ** 2 / np.trace(covariance @ covariance),
        "pair_dim": scale**2 / np.mean([products[pair] ** 2 for pair in pairs]),
    }
    for name, value in near.items():
        assert getattr(found, name) == pytest.approx(value, rel=1e-10), name
    turned = SMALL @ np.linalg.qr(GENERATOR.standard_normal((5, 5)))[0] * 7
    for name in ("centred_dim", "pair_dim", "length_variance", "mean_share"):
        assert getattr(rb.examine(turned), name) == pytest.approx(getattr(found, name), rel=1e-10)
    assert rb.examine(np.eye(6)[:4]).pair_dim == np.inf


def test_tensors_and_text():
    tensor = torch.tensor(SMALL).bfloat16()
    report = rb.examine(tensor)
    assert str(report) == str(rb.examine(tensor.double().numpy()))
    assert json.loads(json.dumps(report.to_dict())).keys() == {
        field.name for field in dataclasses.fields(report)
    }
    for value in (report.pair_dim, report.mean_share, report.length_variance):
        assert f"{value:.3g}" in str(report) or f"{value:.4g}" in str(report)


SETTING = rb.Setting(vocab=12, seq_len=2, dim=5, samples=24)
PADDED = np.concatenate([SMALL, np.zeros((1, 5)), SMALL[:2]])
REFUSED = [
    (r"table='of shape \(4,\)'.*2 rows", np.ones(4), {}),
    (r"table='of shape \(4, 1\)'.*2 columns", np.ones((4, 1)), {}),
    (r"table='with 3 bad rows \(12, 13, 14\)'.*drop_bad_rows", PADDED, {}),
    ("vocab=13", SMALL, {"verdict": dataclasses.replace(SETTING, vocab=13)}),
    ("dim=6", SMALL, {"verdict": dataclasses.replace(SETTING, dim=6)}),
    ("output='of shape", SMALL, {"verdict": True, "output": SMALL[:, :4]}),
    ("output='with 1 bad rows", SMALL, {"verdict": True, "output": SMALL[[*range(11), 0]]}),
]


@pytest.mark.parametrize(("said", "table", "given"), REFUSED, ids=[said for said, *_ in REFUSED])
def test_what_is_no_table_or_does_not_fit_is_refused_first(monkeypatch, said, table, given):
    monkeypatch.setattr(report, "_report", lambda table: pytest.fail("worked before it checked"))
    with pytest.raises(ValueError, match=f"^{said}"):
        rb.examine(table, **given)


@pytest.fixture
def examined(tmp_path, capsys):
    """What the command prints of a table with these options."""

    def examined(options, table=SMALL, status=0):
        np.save(tmp_path / "table.npy", table)
        assert main(["examine", str(tmp_path / "table.npy"), *options.split()]) == status
        shown = capsys.readouterr()
        return shown.err if status else shown.out

    return examined


def test_the_command_prints_the_report(examined):
    taken = "'table.npy' (12, 5): 12 rows from 0 to 11\n"
    assert examined("--statistics") == f"{taken}{rb.examine(SMALL)}\n"
    printed = json.loads(examined("--rows 3:10 --json --statistics"))
    assert printed["rows"] == 7 and printed["pair_dim"] == rb.examine(SMALL[3:10]).pair_dim
    assert printed["verdict"] is None and len(printed["spectrum"]) == 5
    for options, message in {
        "--rows 13": "rows=13 is not allowed",
        "--vocab 13": "vocab=13 is not allowed",
        "--vocab 9 --statistics": "vocab=9 is not allowed: left out with --statistics",
    }.items():
        said = examined(options, status=2)
        assert said.startswith(f"recallbook: {message}") and said.count("\n") == 1, options
    wide = examined("--statistics", SMALL[:4])
    assert "fewer rows than columns" in wide and "transposed" not in examined("--statistics")
    assert "3 bad rows (12, 13, 14)" in examined("", PADDED, status=2)
    kept = examined("--drop-bad-rows --statistics", PADDED)
    assert "\nleft out: 3 bad rows (12, 13, 14)\n12 rows in" in kept


@pytest.mark.slow
def test_the_command_says_what_would_be_learned(examined):
    """The prediction is that of the table at mean square length 1."""
    setting = sized(40, 2, 48, 2000)
    table = draw_embeddings(setting, 0).input
    table /= ((table**2).sum(axis=1).mean()) ** 0.5
    options = "--seq-len 2 --samples 2000 --json"
    found = json.loads(examined(options, 3 * table))["verdict"]
    predicted = rb.predict(setting, embeddings={"input": table}).accuracy
    assert found["accuracy"]["the table"] == pytest.approx(predicted, abs=1e-6)
    assert found["setting"] == dataclasses.asdict(setting)
    tied = json.loads(examined(f"{options} --tied", table))["verdict"]
    both = rb.predict(setting, embeddings={"input": table, "output": table}).accuracy
    assert tied["accuracy"]["the table"] == pytest.approx(both, abs=1e-6)
    for output, same in ((table, True), (table.copy(), False)):
        drawn = judge.tables(table, output, setting, 0, judge.random_table)
        assert np.array_equal(drawn["input"], drawn["output"]) is same


NORMAL = np.random.default_rng(3).standard_normal((80, 24))
ROWS, COLUMNS = np.arange(80)[:, None], np.arange(24)
FRAMES = np.eye(24)[ROWS[:, 0] // 4] + 0.03 * NORMAL
PLANTED = {  # what is planted: what is named
    "nothing": (NORMAL, None),
    "the mean": (NORMAL + 0.7, "mean"),
    "one row 50 times as long": (NORMAL * np.where(ROWS == 7, 50, 1), "lengths"),
    "rank 6": (NORMAL * (COLUMNS < 6) @ np.linalg.qr(NORMAL[:24]).Q, "spectrum"),
    "rows four times, nearly": (FRAMES, "clusters"),
    "as word vectors": (NORMAL * (COLUMNS + 1.0) ** -0.5 + (COLUMNS == 3), "spectrum"),
    "the mean of one column": (NORMAL + 4 * (COLUMNS == 3), "mean"),
    "no negative number": (np.abs(NORMAL), "mean"),
    "lengths": (NORMAL * np.exp(0.7 * GENERATOR.standard_normal((80, 1))), "lengths"),
    "a power law": (NORMAL * (COLUMNS + 1.0) ** -0.6, "spectrum"),
    "12 zero columns": (NORMAL * (COLUMNS < 12), "spectrum"),
    "one long column": (NORMAL * np.where(COLUMNS == 3, 4, 1), "spectrum"),
}


@pytest.mark.slow
@pytest.mark.parametrize("planted", by_night(PLANTED, day=1))
def test_the_verdict_finds_what_was_planted_and_what_helps(planted):
    """Taking the cause away gives a random table's accuracy back, or most of it; the remedy helps as
    much in simulations as is predicted."""
    (table, cause), sizes = PLANTED[planted], sized(80, 8, 24, 640)
    report = rb.examine(5 * table, verdict=sizes)
    found = report.verdict
    here, random = found.accuracy["the table"], found.accuracy["a random table"]
    assert found.costs_most == cause and len(found.accuracy) == 9
    if cause is None:
        assert abs(here - random) < found.noticed and "as good as a random" in str(report)
        assert found.acts_like == 24
    else:
        without = found.accuracy[f"without {cause}"]
        assert here < random - 0.07 and without > random - (0.11 if cause == "spectrum" else 0.03)
        assert f"worse by {random - here:.2f} than a random table" in str(report)
        assert f"act like {found.acts_like} random ones" in str(report)
        dims = (found.acts_like - 1, found.acts_like)
        fewer, alike = (random_accuracy(sizes, dim) for dim in dims)
        assert fewer < here <= alike
    best = max(judge.ADVICE, key=found.accuracy.__getitem__)
    assert found.remedy == (None if planted == "rank 6" else best)
    assert planted != "as word vectors" or best == "whitened"
    gain = np.zeros(24)
    for name, change in (("the table", None), (best, judge.REMEDIES[best])):
        given = judge.tables(table, None, sizes, 0, change or (lambda rows, _: rows))
        runs = [rb.simulate(sizes, s, test_samples=2000, embeddings=given) for s in range(24)]
        values = np.array([run.accuracy for run in runs])
        near = 4 * standard_error(values) + found.noticed
        assert found.accuracy[name] == pytest.approx(values.mean(), abs=near), name
        gain = values - gain
    if found.remedy:
        assert gain.mean() > 3 * standard_error(gain)
        assert f": accuracy {here:.2f} -> {found.accuracy[best]:.2f}" in str(report)
    else:
        assert gain.mean() < found.noticed + 3 * standard_error(gain)


def test_what_a_flat_direction_becomes_is_not_left_to_rounding():
    flat = PLANTED["rank 6"][0]
    one, three = (judge.random_spectrum(k * flat, np.random.default_rng(0)) / k for k in (1, 3))
    assert one == pytest.approx(three, abs=1e-3) and np.linalg.matrix_rank(one) == 24


# table, setting, how many random dimensions it acts like, and what is said
ANY = [
    (
        np.eye(40, 60),
        sized(40, 16, 60, 320),
        None,
        "no random rows of any dimension do as well",
    ),
    (NORMAL[:20], sized(20, 2000, 24, 40), None, "random rows of any dimension do as well"),
    (NORMAL.T[:20], sized(20, 2, 80, 160), 80, "act like 80 random ones"),
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("table", "sizes", "dim", "said"), by_day(ANY, quick=1))
def test_a_table_may_act_like_random_rows_of_no_dimension_or_any(table, sizes, dim, said):
    found = rb.examine(table, verdict=sizes).verdict
    assert found.acts_like == dim and said in str(found)
    if "no " in said:
        assert random_accuracy(sizes, 10**6) < found.accuracy["the table"]


@pytest.mark.parametrize("law", ["orthogonal", "low_rank(20)"])
def test_dimensions_that_a_law_does_not_have_are_compared(law):
    assert random_dim(sized(20, 2, 48, 160, embeddings=law), 0.5) < 20


@pytest.mark.nightly
def test_the_page_shows_what_its_lines_print(capsys):
    page = (ROOT / "book" / "your_table.md").read_text(encoding="utf-8")
    code, shown = (re.search(f"(?s)```{kind}\n(.*?)```", page)[1] for kind in ("python", "text"))
    exec(code, {})
    printed = capsys.readouterr().out
    number = r"\d[\d,]*\.?\d*"
    assert re.sub(number, "0", printed) == re.sub(number, "0", shown)
    values = [[float(x.replace(",", "")) for x in re.findall(number, t)] for t in (printed, shown)]
    assert values[0] == pytest.approx(values[1], rel=0.01, abs=0.011)
