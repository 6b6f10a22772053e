"""What `rb.examine` finds: by hand, against closed forms of the laws, and what it refuses."""

import dataclasses
import itertools
import json

import numpy as np
import pytest
import torch

import recallbook as rb
from recallbook.__main__ import main
from recallbook.analysis import examination
from recallbook.analysis.examination import beyond, coherence_quantile, cosine_quantile, dim_of_coherence
from recallbook.data.embeddings import draw_embeddings, eigenvalues

GENERATOR = np.random.default_rng(11)
SMALL = GENERATOR.standard_normal((12, 5)) * np.array([3, 2, 1, 1, 0.5]) + 0.3


def close(first: float, second: float) -> bool:
    return abs(first - second) <= 1e-10 * max(1.0, abs(second))


def test_every_number_by_hand():
    found = rb.examine(SMALL)
    rows = [list(map(float, row)) for row in SMALL]
    squares = [sum(x * x for x in row) for row in rows]
    scale = sum(squares) / 12
    mean = [sum(row[i] for row in rows) / 12 for i in range(5)]
    products = {(a, b): sum(x * y for x, y in zip(rows[a], rows[b], strict=True)) for a in range(12) for b in range(12)}
    pairs = list(itertools.combinations(range(12), 2))
    cosines = {(a, b): products[a, b] / (squares[a] * squares[b]) ** 0.5 for a, b in pairs}
    assert (found.rows, found.dim, found.repeated_rows, found.zero_rows, found.sampled_rows) == (12, 5, 0, 0, 12)
    assert close(found.mean_square_length, scale)
    assert close(found.length_variance, sum((square - scale) ** 2 for square in squares) / 12 / scale**2)
    assert close(found.mean_share, sum(x * x for x in mean) / scale)
    assert found.most_alike == max(cosines, key=lambda pair: abs(cosines[pair]))
    assert close(found.coherence, max(map(abs, cosines.values())))
    covariance = np.cov(SMALL.T, bias=True)
    assert np.allclose(found.spectrum, np.linalg.eigvalsh(covariance)[::-1], rtol=1e-10)
    assert close(found.centred_dim, np.trace(covariance) ** 2 / np.trace(covariance @ covariance))
    assert close(found.uncentred_dim, scale**2 / (sum(value**2 for value in products.values()) / 144))
    assert close(found.pair_dim, scale**2 / np.mean([products[pair] ** 2 for pair in pairs]))
    assert close(found.cosine_dim, 1 / np.mean([value**2 for value in cosines.values()]))
    assert np.allclose(found.cosines, np.quantile(np.abs(list(cosines.values())), found.levels), rtol=1e-12)


@pytest.mark.parametrize(
    ("law", "vocab"), [("gaussian", 90), ("gaussian", 20), ("power_law(1)", 60), ("low_rank(6)", 60)]
)
def test_dimensions_of_the_laws(law, vocab):
    """With n = V - 1 degrees of freedom E tr S = n/V and E tr S^2 = ((n^2 + n) tr L^2 + n)/V^2: Wishart's moments."""
    setting = rb.Setting(vocab=vocab, seq_len=1, dim=24, samples=1, embeddings=law, trigger_in_values=True)
    reports = [rb.examine(draw_embeddings(setting, seed).input) for seed in range(150)]
    n, spread = vocab - 1, float((eigenvalues(setting) ** 2).sum())
    wanted = {
        "centred": (n * (n + 1) * spread + n) / vocab**2,
        "uncentred": (1 - 1 / vocab) * spread + (1 + 2 * spread) / vocab,
        "pairs": spread,
    }
    seen = {
        "centred": [(report.spectrum**2).sum() for report in reports],
        "uncentred": [report.mean_square_length**2 / report.uncentred_dim for report in reports],
        "pairs": [report.mean_square_length**2 / report.pair_dim for report in reports],
    }
    for name, expected in wanted.items():
        error = np.std(seen[name], ddof=1) / len(reports) ** 0.5
        assert abs(np.mean(seen[name]) - expected) < 4 * error and error < 0.05 * expected, name
    traces = [report.spectrum.sum() for report in reports]
    assert abs(np.mean(traces) - n / vocab) < 4 * np.std(traces, ddof=1) / len(reports) ** 0.5
    # and the dimensions themselves, whose bias is of second order
    assert np.mean([report.pair_dim for report in reports]) == pytest.approx(1 / spread, rel=0.03)


def test_directions_are_those_of_any_length():
    stretched = SMALL * GENERATOR.uniform(0.1, 9, size=(12, 1))
    ours, other = rb.examine(SMALL), rb.examine(stretched)
    for name in ("coherence", "cosine_dim", "coherence_dim", "cosines", "most_alike"):
        assert getattr(ours, name) == pytest.approx(getattr(other, name), rel=1e-10)
    assert abs(ours.pair_dim - other.pair_dim) > 0.1
    turned = SMALL @ np.linalg.qr(GENERATOR.standard_normal((5, 5)))[0] * 7
    for name in ("centred_dim", "uncentred_dim", "pair_dim", "length_variance", "mean_share", "coherence"):
        assert getattr(rb.examine(turned), name) == pytest.approx(getattr(ours, name), rel=1e-10)


def test_random_directions_are_called_random():
    """Half of all sets are more coherent than their own dimension says; the law of cosines is that of the table."""
    setting = rb.Setting(vocab=150, seq_len=1, dim=20, samples=1, embeddings="sphere", trigger_in_values=True)
    reports = [rb.examine(draw_embeddings(setting, seed).input) for seed in range(200)]
    above = np.mean([report.coherence_dim > 20 for report in reports])
    assert abs(above - 0.5) < 4 * 0.5 / 200**0.5
    assert np.mean([report.cosine_dim for report in reports]) == pytest.approx(20, rel=0.01)
    for place, level in enumerate(examination.LEVELS):
        seen = np.mean([report.cosines[place] for report in reports])
        assert seen == pytest.approx(reports[0].random_cosines[place], abs=0.01)
        assert float(beyond(reports[0].random_cosines[place], 20)) == pytest.approx(1 - level, rel=1e-9)
    assert max(report.length_variance for report in reports) < 1e-25


def test_quantiles_are_inverses():
    for dim in (2, 3, 17, 400):
        assert dim_of_coherence(50, coherence_quantile(50, dim, 0.5)) == pytest.approx(dim, rel=1e-6)
    assert dim_of_coherence(50, 0.0) == np.inf and np.isnan(dim_of_coherence(50, 1.0))
    assert cosine_quantile(2, 0.5) == pytest.approx(np.cos(np.pi / 4))  # in the plane angles are uniform


def test_orthogonal_and_equal_directions():
    found = rb.examine(np.eye(6)[:4])
    assert found.coherence == 0 and found.cosine_dim == np.inf and found.coherence_dim == np.inf
    assert found.most_alike == (0, 1) and found.centred_dim == pytest.approx(3)
    found = rb.examine(np.array([[1.0, 1], [0, 0], [2, 2], [1, 1], [0, 1], [0, 0]]))
    assert (found.repeated_rows, found.zero_rows) == (2, 2)
    assert found.coherence == pytest.approx(1) and found.most_alike == (0, 2) and np.isnan(found.coherence_dim)


@pytest.mark.parametrize("block", [1, 7, 50])
def test_blocks_do_not_matter(monkeypatch, block):
    expected = rb.examine(SMALL)
    monkeypatch.setattr(examination, "BLOCK", block)
    found = rb.examine(SMALL)
    assert found.most_alike == expected.most_alike and found.coherence == pytest.approx(expected.coherence, rel=1e-14)


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
    report, same = rb.examine(tensor), rb.examine(tensor.double().numpy())
    assert str(report) == str(same)
    assert json.loads(json.dumps(report.as_dict())).keys() == {field.name for field in dataclasses.fields(report)}
    for value in (report.coherence, report.mean_share, report.length_variance):
        assert f"{value:.3g}" in str(report) or f"{value:.3f}" in str(report)
    with pytest.raises(dataclasses.FrozenInstanceError):
        report.rows = 3


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


def saved(folder, table) -> str:
    np.save(folder / "table.npy", table)
    return str(folder / "table.npy")


def test_the_command_prints_the_report(tmp_path, capsys):
    file = saved(tmp_path, SMALL)
    assert main(["examine", file]) == 0
    assert capsys.readouterr().out == f"{rb.examine(SMALL)}\n"
    assert main(["examine", file, "--rows", "7", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rows"] == 7 and found["coherence"] == rb.examine(SMALL[:7]).coherence
    assert found["predicted"] is None and found["certified"] is None and len(found["spectrum"]) == 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rows", "13"], "rows=13 is not allowed"),
        (["--rows", "x"], "rows='x' is not allowed: a whole number"),
        (["--seq-len", "4"], "samples=None is not allowed: a size: --seq-len and --samples come together"),
    ],
)
def test_the_command_complains_in_one_line(tmp_path, capsys, arguments, message):
    assert main(["examine", saved(tmp_path, SMALL), *arguments]) == 2
    shown = capsys.readouterr()
    assert shown.err.startswith(f"recallbook: {message}") and shown.err.count("\n") == 1 and not shown.out


def test_one_position_is_allowed(tmp_path, capsys):
    assert main(["examine", saved(tmp_path, SMALL), *"--seq-len 1 --samples 9 --rows 4 --json".split()]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["predicted"]["lock_on"] == found["certified"]["lock_on"] == 1 >= found["predicted"]["accuracy"] > 0


def test_the_command_says_what_would_be_learned(tmp_path, capsys):
    """The prediction and the certificate are those of the table at mean square length 1."""
    setting = rb.Setting(vocab=40, seq_len=2, dim=48, samples=2000)
    table = draw_embeddings(setting, 0).input
    table /= ((table**2).sum(axis=1).mean()) ** 0.5
    arguments = ["examine", saved(tmp_path, 3 * table), "--seq-len", "2", "--samples", "2000"]
    assert main([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    expected = rb.certify(rb.draw(setting, 0, embeddings={"input": table}))
    assert found["certified"]["accuracy"] == pytest.approx(expected.accuracy, abs=1e-6) and expected.accuracy > 0.5
    predicted = rb.predict(setting, embeddings={"input": table})
    assert found["predicted"]["accuracy"] == pytest.approx(predicted.accuracy, abs=1e-6)
    assert main(arguments) == 0
    assert f"certified at least: accuracy {expected.accuracy:.2f}" in capsys.readouterr().out
