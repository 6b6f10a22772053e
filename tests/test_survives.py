"""The ladder's sweep: what is committed, made again."""

import pytest
from sized import sized

import recallbook as rb
from recallbook_studies.ch12 import capacity, ladder
from recallbook_studies.ch12.rungs import RUNGS
from recallbook_studies.running.committed import again
from recallbook_studies.sweeps import ROW_TABLES
from recallbook_theory.prediction import theory_of

LEVEL_TOLERANCE = {"accuracy": 0.03, "recall": 0.03, "lock_on": 0.03}
CHEAP = [  # rung, L, d, N
    ("three steps", 8, 32, 256), ("AdamW", 8, 32, 64),
    pytest.param("tuned rates", 8, 16, 64, marks=pytest.mark.nightly),
    pytest.param("MLP", 8, 32, 64, marks=pytest.mark.nightly),
]  # fmt: skip


def test_facts_held_by_plain_calls():
    found = [
        rb.evaluate(p, rb.three_steps(p), 256).recall
        for p in (rb.draw(sized(64, 1, 8, 512), seed) for seed in ladder.SEEDS)
    ]
    assert capacity.held(64, rung="three steps", dim=8).tolist() == pytest.approx(found)


# What is committed


def test_the_search_ends_inside_its_grid():
    """At the pair that is kept; a longer search is as good at any rate."""
    search, base = ladder.at_base(rb.load_results("survives_tuning")), ladder.BASE["vocab"]
    for (name, *_, samples, steps), pair in ladder.choose(search).items():
        if steps == 400 and samples >= 2 * base:
            part = search[search["rung"] == name]
            part = part[(part["steps"] == steps) & (part["samples"] == samples)]
            assert part["rate"].min() < pair.rate < part["rate"].max(), name
            assert not pair.decay == part["decay"].max() > 0, name


def test_runs_are_made_at_the_pairs_that_were_chosen():
    """After the same steps at the base, else after 400; with Zipf's law at those of the coarse search."""
    kept, base = ladder.choose(rb.load_results("survives_tuning")), list(ladder.BASE.values())
    by = ["zipf", "rung", *ladder.BASE, "steps"]
    for (zipf, name, *sizes, steps), part in rb.load_results("survives").groupby(by):
        tuned_at = (4 if RUNGS[name].trigger == "marker" else 2) * sizes[0]
        search = (name, *sizes, tuned_at, steps if sizes == base else 400)
        pair = ladder.coarse(name) if zipf else kept.get(search, ladder.coarse(name))
        assert (part[["rate", "decay"]] == [*pair]).all(axis=None), (name, sizes)


@pytest.mark.slow
@pytest.mark.parametrize(("rung", "seq_len", "dim", "samples"), CHEAP)
def test_committed_runs_made_again(rung, seq_len, dim, samples):
    """Means over seeds, trained side by side."""
    frame = rb.load_results("survives").query(
        "rung == @rung and vocab == 64 and seq_len == @seq_len and dim == @dim"
        " and samples == @samples and steps == 400 and zipf == 0"
    )
    table = ROW_TABLES["survives"]
    kept, made = again(table, [table.key_of(row) for row in frame.to_dict("records")])
    for column, tolerance in LEVEL_TOLERANCE.items():
        old, new = kept[column].mean(), made[column].mean()
        assert len(made) >= 10 and new == pytest.approx(old, abs=tolerance, nan_ok=True), column


@pytest.mark.nightly
def test_long_sequences_made_again():
    frame = rb.load_results("survives_long").query("seq_len == 64 and samples == 512")
    table = ROW_TABLES["survives_long"]
    kept, made = again(table, [table.key_of(row) for row in frame.to_dict("records")])
    for column in ("accuracy", "lock_on"):
        assert len(made) == 10 and made[column].mean() == pytest.approx(
            kept[column].mean(), abs=0.03
        )


@pytest.mark.nightly
def test_a_search_made_again():
    """Seeds side by side at pairs of their own, on another machine."""
    pairs, table = ((0.03, 1), (0.001, 0)), ROW_TABLES["survives_tuning"]
    frame = ladder.at_base(rb.load_results("survives_tuning"))
    frame = frame.query("rung == 'learned embeddings' and steps == 400 and samples == 128")
    frame = frame[[pair in pairs for pair in zip(frame["rate"], frame["decay"], strict=True)]]
    kept, made = again(table, [table.key_of(row) for row in frame.to_dict("records")])
    by = [kept["rate"], kept["decay"]]
    old, new = kept["accuracy"].groupby(by).mean(), made["accuracy"].groupby(by).mean()
    assert len(made) == 20 and (old - new).abs().max() < 0.03


# Errors of several value steps


def told(row):
    """The typical error of accuracy that a prediction of this row of the map has."""
    setting = rb.Setting(**{name: row[name] for name in ("vocab", "seq_len", "dim", "samples")})
    theory = theory_of(setting, value_steps=row["value_steps"], rate=row["rate"])
    outcomes = {name: row[f"predicted_{name}"] for name in ("accuracy", "lock_on", "recall")}
    return theory.expected_errors(setting, outcomes)["accuracy"]


def test_typical_errors_are_those_of_the_map():
    """Beyond sampling, for each of the three reasons."""
    frame = rb.load_results("between_map").query("value_steps > 1")
    frame["told"] = [told(row) for row in frame.to_dict("records")]
    assert (frame["vocab"] < 64).sum() >= 30 and (frame["predicted_lock_on"] < 0.9).sum() >= 30
    square = (frame["predicted_accuracy"] - frame["accuracy"]) ** 2 - frame["accuracy_error"] ** 2
    found = square.groupby(frame["told"]).mean().clip(lower=0) ** 0.5
    assert len(found) == 3 and (found / found.index).between(0.7, 1.2).all(), found
