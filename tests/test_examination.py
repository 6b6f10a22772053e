"""What `rb.examine` finds: by hand, against closed forms of the laws, and what it refuses."""

import dataclasses
import itertools
import json
import re

import numpy as np
import pytest
import torch
from budgets import ROOT
from sampling import by_night
from scipy import stats
from sized import sized

import recallbook as rb
from recallbook.__main__ import main
from recallbook.data.embeddings import draw_embeddings
from recallbook_studies.examining import examination, replacing, verdict
from recallbook_studies.examining.examination import (
    coherence_quantile,
    cosine_quantile,
    dim_of_coherence,
)

GENERATOR = np.random.default_rng(11)
SMALL = GENERATOR.standard_normal((12, 5)) * np.array([3, 2, 1, 1, 0.5]) + 0.3


def test_every_number_by_hand():
    found, pairs = rb.examine(SMALL), list(itertools.combinations(range(12), 2))
    products, covariance = np.inner(SMALL, SMALL), np.cov(SMALL.T, bias=True)
    squares = products.diagonal()
    scale = squares.mean()
    cosines = {(a, b): products[a, b] / (squares[a] * squares[b]) ** 0.5 for a, b in pairs}
    exact = {"rows": 12, "dim": 5, "repeated_rows": 0, "zero_rows": 0, "sampled_rows": 12}
    exact["most_alike"] = max(cosines, key=lambda pair: abs(cosines[pair]))
    assert {name: getattr(found, name) for name in exact} == exact
    near = {
        "mean_square_length": scale,
        "length_variance": sum((square - scale) ** 2 for square in squares) / 12 / scale**2,
        "mean_share": products.sum() / 144 / scale,
        "coherence": max(map(abs, cosines.values())),
        "spectrum": np.linalg.eigvalsh(covariance)[::-1],
        "centred_dim": np.trace(covariance) ** 2 / np.trace(covariance @ covariance),
        "uncentred_dim": scale**2 / (products**2).mean(),
        "pair_dim": scale**2 / np.mean([products[pair] ** 2 for pair in pairs]),
        "cosine_dim": 1 / np.mean([value**2 for value in cosines.values()]),
        "cosines": np.quantile(np.abs(list(cosines.values())), found.levels),
    }
    for name, value in near.items():
        assert getattr(found, name) == pytest.approx(value, rel=1e-10), name


def test_directions_are_those_of_any_length():
    stretched = SMALL * np.geomspace(9, 1e-250, 12)[:, None]  # squares of some vanish
    ours, other = rb.examine(SMALL), rb.examine(stretched)
    for name in ("coherence", "cosine_dim", "coherence_dim", "cosines", "most_alike"):
        assert getattr(ours, name) == pytest.approx(getattr(other, name), rel=1e-10)
    assert abs(ours.pair_dim - other.pair_dim) > 0.1
    turned = SMALL @ np.linalg.qr(GENERATOR.standard_normal((5, 5)))[0] * 7
    for name in (
        "centred_dim",
        "uncentred_dim",
        "pair_dim",
        "length_variance",
        "mean_share",
        "coherence",
    ):
        assert getattr(rb.examine(turned), name) == pytest.approx(getattr(ours, name), rel=1e-10)


def test_random_directions_are_called_random():
    """Half of all sets are more coherent than their own dimension says; the law of cosines is that
    of the table."""
    setting = sized(150, 1, 20, 1, embeddings="sphere")
    reports = [rb.examine(draw_embeddings(setting, seed).input) for seed in range(200)]
    above = np.mean([report.coherence_dim > 20 for report in reports])
    assert abs(above - 0.5) < 4 * 0.5 / 200**0.5
    assert np.mean([report.cosine_dim for report in reports]) == pytest.approx(20, rel=0.01)
    expected = reports[0].random_cosines
    assert np.mean([report.cosines for report in reports], axis=0) == pytest.approx(
        expected, abs=0.01
    )
    squared = stats.beta(0.5, 19 / 2)
    assert squared.cdf(np.square(expected)) == pytest.approx(examination.LEVELS, rel=1e-9)
    assert max(report.length_variance for report in reports) < 1e-25


def test_quantiles_are_inverses():
    for dim in (2, 3, 17, 400):
        assert dim_of_coherence(50, coherence_quantile(50, dim, 0.5)) == pytest.approx(
            dim, rel=1e-6
        )
    assert dim_of_coherence(50, 0.0) == np.inf and np.isnan(dim_of_coherence(50, 1.0))
    assert cosine_quantile(2, 0.5) == pytest.approx(
        np.cos(np.pi / 4)
    )  # in the plane angles are uniform


def test_orthogonal_and_equal_directions():
    found = rb.examine(np.eye(6)[:4])
    assert found.coherence == 0 and found.cosine_dim == np.inf and found.coherence_dim == np.inf
    assert found.most_alike == (0, 1) and found.centred_dim == pytest.approx(3)
    found = rb.examine(np.array([[1.0, 1], [0, 0], [2, 2], [1, 1], [0, 1], [0, 0]]))
    assert (found.repeated_rows, found.zero_rows) == (2, 2)
    assert found.coherence == pytest.approx(1)
    assert found.most_alike == (0, 2)
    assert np.isnan(found.coherence_dim)


@pytest.mark.parametrize("block", [1, 7, 50])
def test_blocks_do_not_matter(monkeypatch, block):
    expected = rb.examine(SMALL)
    monkeypatch.setattr(examination, "BLOCK", block)
    found = rb.examine(SMALL)
    assert found.most_alike == expected.most_alike and found.coherence == pytest.approx(
        expected.coherence, rel=1e-14
    )


def test_a_sample_gives_the_quantiles_of_many_rows(monkeypatch):
    table = GENERATOR.standard_normal((400, 8))
    whole = rb.examine(table)
    monkeypatch.setattr(examination, "SAMPLED", 150)
    parts = [rb.examine(table, seed=seed) for seed in (0, 0, 1)]
    assert [part.sampled_rows for part in parts] == [150] * 3
    assert parts[0].cosines == parts[1].cosines != parts[2].cosines
    assert parts[0].cosines == pytest.approx(whole.cosines, abs=0.04)
    for name in ("coherence", "cosine_dim", "pair_dim", "centred_dim"):
        assert getattr(parts[0], name) == getattr(whole, name)


def test_tensors_and_text():
    tensor = torch.tensor(SMALL).bfloat16()
    report = rb.examine(tensor)
    assert str(report) == str(rb.examine(tensor.double().numpy()))
    assert json.loads(json.dumps(report.as_dict())).keys() == {
        field.name for field in dataclasses.fields(report)
    }
    for value in (report.coherence, report.mean_share, report.length_variance):
        assert f"{value:.3g}" in str(report) or f"{value:.3f}" in str(report)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (SMALL.tolist(), "table=.*real floating"),
        (np.ones(4), r"table='of shape \(4,\)'.*2 rows"),
        (np.ones((4, 1)), r"table='of shape \(4, 1\)'.*2 columns"),
        (np.eye(4)[[0, 0]] * [[1.0], [0.0]], "table='of one direction at most'.*not zero"),
        (np.array([[1.0, np.inf], [0, 1]]), "table='with 1 numbers that are infinite or none'"),
    ],
    ids=["list", "vector", "one column", "one row not zero", "infinite"],
)
def test_tables_that_say_nothing_are_refused(table, message):
    with pytest.raises(ValueError, match=message):
        rb.examine(table)
    with pytest.raises(ValueError, match="seed="):
        rb.examine(SMALL, seed=-1)


@pytest.fixture
def examined(tmp_path, capsys):
    """What the command prints of a table with these options."""

    def examined(options, table=SMALL, status=0):
        np.save(tmp_path / "table.npy", table)
        assert main(["examine", str(tmp_path / "table.npy"), *options.split()]) == status
        shown = capsys.readouterr()
        return shown.err if status else shown.out

    return examined


def test_the_command_prints_the_report(examined, tmp_path):
    taken = "table.npy (12, 5), the only array: 12 rows from 0 to 11\n"
    assert examined("--statistics") == f"{taken}{rb.examine(SMALL)}\n"
    found = json.loads(examined("--rows 3:10 --json --statistics"))
    assert found["rows"] == 7 and found["coherence"] == rb.examine(SMALL[3:10]).coherence
    assert [place - 3 for place in found["most_alike"]] == [*rb.examine(SMALL[3:10]).most_alike]
    assert found["verdict"] is None and found["certified"] is None and len(found["spectrum"]) == 5
    for options, message in {
        "--rows 13": "rows=13 is not allowed",
        "--sample 13": "sample=13 is not allowed",
        "--vocab 13": "vocab=13 is not allowed",
        "--output lm_head": "name='lm_head' is not allowed: None: such a file holds one array",
    }.items():
        said = examined(options, status=2)
        assert said.startswith(f"recallbook: {message}") and said.count("\n") == 1, options
    drawn = examined("--sample 5 --seed 3 --statistics").splitlines()
    assert "a sample of 5 rows" in drawn[0] and drawn[1].startswith("5 rows in 5 dimensions")
    assert drawn != examined("--sample 5 --seed 4 --statistics").splitlines()
    np.save(tmp_path / "other.npy", np.ones((12, 4)))
    assert "embeddings['output']" in examined(f"--output {tmp_path / 'other.npy'}", status=2)
    wide = examined("--statistics", SMALL[:4])
    assert "fewer rows than columns" in wide and "transposed" not in examined("--statistics")


def test_padded_rows_are_named_and_left_out(few_draws, examined):
    padded = np.concatenate([SMALL, np.zeros((1, 5)), SMALL[:2]])
    named = "1 zero (12); 2 repeating an earlier one (13, 14)"
    assert f"bad rows: {named}\n15 rows in 5 dimensions" in examined("--statistics", padded)
    refused = examined("", padded, status=2)
    assert "1 zero (12)" in refused and "--drop-bad-rows" in refused
    kept = examined("--drop-bad-rows --vocab 6 --samples 40", padded)
    assert f"bad rows, left out: {named}\n12 rows in" in kept and "verdict, with V = 6" in kept


@pytest.mark.slow
def test_the_command_says_what_would_be_learned(examined):
    """The prediction and the certificate are those of the table at mean square length 1."""
    setting = sized(40, 2, 48, 2000)
    table = draw_embeddings(setting, 0).input
    table /= ((table**2).sum(axis=1).mean()) ** 0.5
    options = "--seq-len 2 --samples 2000 --certify"
    found = json.loads(examined(f"{options} --json", 3 * table))
    certified = rb.certify(rb.draw(setting, 0, embeddings={"input": table})).accuracy
    predicted = rb.predict(setting, embeddings={"input": table}).accuracy
    assert found["certified"]["accuracy"] == pytest.approx(certified, abs=1e-6)
    assert found["verdict"]["accuracy"]["the table"] == pytest.approx(predicted, abs=1e-6)
    assert found["verdict"]["setting"] == dataclasses.asdict(setting)
    assert certified > 0.5
    said = examined(options, 3 * table)
    assert f"certified as input embeddings at least: accuracy {certified:.2f}" in said
    tied = json.loads(examined("--seq-len 2 --samples 2000 --tied --json", table))["verdict"]
    both = rb.predict(setting, embeddings={"input": table, "output": table}).accuracy
    assert tied["accuracy"]["the table"] == pytest.approx(both, abs=1e-6)
    for output, same in ((table, True), (table.copy(), False)):
        drawn = verdict.tables(table, output, setting, 0, replacing.random_table)
        assert np.array_equal(drawn["input"], drawn["output"]) is same


NORMAL = np.random.default_rng(3).standard_normal((80, 24))
PLANTED = {
    None: NORMAL,
    "mean": NORMAL + 0.7,
    "lengths": NORMAL * np.exp(0.7 * GENERATOR.standard_normal((80, 1))),
    "spectrum": NORMAL * np.arange(1, 25) ** -0.8,
}


@pytest.mark.slow
@pytest.mark.parametrize("cause", by_night(PLANTED, day=2))
def test_the_verdict_finds_what_was_planted(cause):
    """And taking it away gives a random table's accuracy back."""
    report = rb.examine(5 * PLANTED[cause], verdict=True)
    found = report.verdict
    here, random = found.accuracy["the table"], found.accuracy["a random table"]
    assert found.costs_most == cause and len(found.accuracy) == 6
    assert (found.setting.vocab, found.setting.samples) == (80, 640)
    if cause is None:
        assert abs(here - random) < found.noticed and "as good as a random" in str(report)
        return
    without = found.accuracy[f"without {cause}"]
    assert here < random - 0.1 and without > random - 0.03
    assert f"worse by {random - here:.2f} than a random table" in str(report)
    assert f"act like {found.acts_like} random ones" in str(report)
    alike = rb.predict(dataclasses.replace(found.setting, dim=found.acts_like), warn=False)
    fewer = dataclasses.replace(found.setting, dim=found.acts_like - 1)
    assert rb.predict(fewer, warn=False).accuracy < here <= alike.accuracy
    assert f": accuracy {here:.2f} -> {without:.2f}" in str(report)


def test_verdicts_that_are_refused():
    with pytest.raises(ValueError, match="verdict=3"):
        rb.examine(SMALL, verdict=3)
    with pytest.raises(ValueError, match="bad rows: 1 repeating an earlier one"):
        rb.examine(np.concatenate([SMALL, SMALL[:1]]), verdict=True)


@pytest.mark.slow
def test_the_page_shows_what_its_lines_print(capsys):
    page = (ROOT / "book" / "your_table.md").read_text(encoding="utf-8")
    code, shown = (re.search(f"(?s)```{kind}\n(.*?)```", page)[1] for kind in ("python", "text"))
    exec(code, {})
    printed = capsys.readouterr().out
    number = r"\d[\d,]*\.?\d*"
    assert re.sub(number, "0", printed) == re.sub(number, "0", shown)
    values = [[float(x.replace(",", "")) for x in re.findall(number, t)] for t in (printed, shown)]
    assert values[0] == pytest.approx(values[1], rel=0.01, abs=0.011)
