"""Tables that nobody drew at random: what is replaced is replaced, the committed rows say what the
page says, and a row is made from a table as any package may have one."""

import numpy as np
import pytest
from sampling import by_night

import recallbook as rb
from recallbook.result import OUTCOMES
from recallbook_studies.ch11 import embedding_tables
from recallbook_studies.ch11.embedding_tables import TableCase
from recallbook_studies.examining import judge
from recallbook_studies.laws import random_dim
from recallbook_studies.running.committed import again
from recallbook_studies.sweeps import ROW_TABLES


def odd_table(rows=96, columns=24, seed=3):
    """With a mean, unequal directions, clusters and unequal lengths."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((6, columns))[np.arange(rows) % 6]
    spread = (centres + 0.5 * rng.standard_normal((rows, columns))) / np.arange(
        1, columns + 1
    ) ** 0.4
    return (spread + 0.1) * rng.uniform(0.6, 1.5, (rows, 1))


def described(table):
    """Mean, spectrum and lengths of deviations, and their largest products with each other."""
    deviations = table - table.mean(axis=0)
    size = judge.lengths(deviations)[:, 0]
    directions = deviations / size[:, None]
    alike = np.sort((directions @ directions.T)[np.triu_indices(len(table), 1)])[-len(table) :]
    spectrum = np.linalg.svd(deviations, compute_uv=False)
    return {
        "mean": np.linalg.norm(table.mean(axis=0)),
        "spectrum": spectrum / np.linalg.norm(spectrum),
        "lengths": size / size.mean(),
        "clusters": alike.mean(),
    }


def test_a_replaced_property_is_that_of_a_random_table():
    table, rng = odd_table(), np.random.default_rng(0)
    before = described(table)
    drawn = described(judge.random_table(table, rng))
    after = {name: described(f(table, rng)) for name, f in judge.PROPERTIES.items()}
    assert after["mean"]["mean"] < 1e-12 < before["mean"]
    for other in ("spectrum", "lengths", "clusters"):
        assert after["mean"][other] == pytest.approx(before[other]), other
    assert after["spectrum"]["spectrum"][0] == pytest.approx(drawn["spectrum"][0], abs=0.03)
    assert after["spectrum"]["mean"] == pytest.approx(before["mean"])
    assert np.std(after["lengths"]["lengths"]) == pytest.approx(np.std(drawn["lengths"]), rel=0.2)
    assert np.std(before["lengths"]) > 2 * np.std(drawn["lengths"])
    assert after["clusters"]["clusters"] < before["clusters"] - 0.02
    assert after["clusters"]["spectrum"] == pytest.approx(before["spectrum"], abs=0.1)


def test_remedies_do_what_they_are_called():
    table, rng = odd_table(), np.random.default_rng(0)
    white = judge.whitened(table, rng)
    assert white.T @ white == pytest.approx(np.eye(24), abs=1e-10)
    assert judge.lengths(judge.unit_rows(table, rng)) == pytest.approx(np.ones((96, 1)))
    assert np.sum(judge.unit_scale(table) ** 2) == pytest.approx(96)
    flat = table @ np.diag(np.arange(24) < 5)
    assert np.linalg.matrix_rank(judge.random_spectrum(flat, rng)) == 24, "no direction is missing"
    assert np.linalg.matrix_rank(judge.whitened(flat, rng)) == 5


@pytest.mark.parametrize("side", by_night(("output", "input", "tied"), day=1))
def test_a_row_is_predicted_as_it_is_simulated(monkeypatch, side):
    monkeypatch.setattr(embedding_tables, "whole", lambda name: odd_table(200, 96))
    monkeypatch.setattr(embedding_tables, "SEEDS", 40)  # lock-on differs much from draw to draw
    case = TableCase("ions", 0, side=side, vocab=96)
    made = embedding_tables.real_row(**case._asdict())
    for name in OUTCOMES:
        near = made[f"{name}_half"] + 0.03
        assert made[name] == pytest.approx(made[f"{name}_predicted"], abs=near), name
    assert 0.02 < made["accuracy"] < 0.98


def test_rows_are_those_of_the_place(monkeypatch):
    numbered = np.arange(1.0, 30_001)[:, None] * np.ones((1, 2)) + [0, 0.5]
    monkeypatch.setattr(embedding_tables, "whole", lambda name: numbered)
    monkeypatch.setattr(judge, "unit_scale", lambda table: table)
    starts = {0: 0, 1: 11_000, 2: 22_000}
    for subset, start in starts.items():
        rows = embedding_tables.rows_of(TableCase("words", subset))[:, 0] - 1
        assert len(set(rows)) == 400 and start <= rows.min() and rows.max() < start + 8000


def test_a_package_that_was_not_fetched_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("RECALLBOOK_TABLES", str(tmp_path))
    embedding_tables.whole.cache_clear()
    with pytest.raises(ValueError, match="holds elementembeddings"):
        embedding_tables.whole("ions")


@pytest.mark.parametrize("key", ROW_TABLES["real_tables"].keys()[::500], ids=str)
def test_a_committed_row_is_made_again(key):
    try:
        embedding_tables.whole.cache_clear()
        embedding_tables.whole(key.fields["table"])
    except ValueError as missing:
        pytest.skip(str(missing))
    _, new = again(ROW_TABLES["real_tables"], [key])
    assert new["same"].all()


def test_the_page_says_what_the_rows_say():
    """Which property costs most in each table, as input embeddings at the centre."""
    rows = rb.load_results("real_tables")
    middle = embedding_tables.centre(rows, side="input")["accuracy"]
    costs = {
        name: (middle[name][[*judge.PROPERTIES]] - middle[name]["none"]).round(2)
        for name in embedding_tables.SOURCES
    }
    assert costs["language models"].idxmax() == "lengths"
    assert {*costs["words"].nlargest(2).index} == {"mean", "spectrum"}
    assert costs["ions"].idxmax() == "spectrum"
    marked = embedding_tables.centre(rows, side="input", trigger_in_values=True).loc[
        ("language models", "none")
    ]
    sizes = embedding_tables.setting_of(TableCase("", 0, trigger_in_values=True), 256)
    like = (
        random_dim(sizes, marked["accuracy"]),
        embedding_tables.acts_like("language models", rows),
    )
    assert like[0] > 1.5 * like[1], "what a table acts like hangs on tau"
    for name in embedding_tables.SOURCES:
        assert middle[name]["whitened"] > max(middle[name][one] for one in judge.PROPERTIES)
