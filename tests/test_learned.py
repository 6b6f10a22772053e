"""Learned embeddings against kept ones: the committed rows, and what is read off them."""

import pandas as pd
import pytest
import torch

import recallbook as rb
from recallbook.sweeps.catalogue import RowTable
from recallbook.sweeps.point import OUTCOMES
from recallbook_studies.ch11 import learned

TABLES = ("input_embeddings", "output_embeddings")


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Few steps on one small size, and a table of its own."""
    few = {
        "STEPS": 3,
        "LONGER": 5,
        "MULTIPLES": {(8, 4): (2, 20)},
        "SEEDS": range(2),
    }
    for name, value in few.items():
        monkeypatch.setattr(learned, name, value)
    return tmp_path


def test_rows_are_made_one_by_one_and_read_back(small):
    keys = [case.key for case in learned.cases()]
    assert keys == ["8 4 16 0", "8 4 16 1", "8 4 160 0", "8 4 160 1"]
    table = RowTable("", lambda: keys, learned.row)
    table.fill(small / "store.csv")
    table.export([small / "store.csv"], small / "table.csv")
    frame = pd.read_csv(small / "table.csv")
    assert list(frame["key"]) == keys
    ways = learned.by_way(frame)
    assert len(ways) == 4 * len(learned.WAYS) and ways[list(OUTCOMES)].notna().all(axis=None)
    changes = learned.shape_changes(frame)
    assert list(changes["tables"]) == ["drawn", "learned"] * 2
    drawn = frame.loc[frame["samples"] == 16, "drawn: output ratio"].mean()
    assert changes.loc[0, "output ratio"] == pytest.approx(drawn)


def test_every_way_by_plain_calls(small):
    found = learned.row("8 4 160 1")
    problem = rb.draw(rb.Setting(vocab=8, seq_len=16, dim=4, samples=160), 1)
    rates, all_four = {"eta": 16 * 8 / 200, "gamma": 16 / 20}, ("value", "key_query", *TABLES)
    models = {}
    for way, steps, more in (
        ("learned", 3, {"embedding_rate": 0.08, "learn": all_four}), ("kept", 3, {}), ("kept longer", 5, {}),
    ):  # fmt: skip
        models[way] = rb.RecallTransformer(problem)
        rb.descend(models[way], problem, steps, **rates, **more)
    ends = {way: rb.evaluate(problem, model, 2000) for way, model in models.items()}
    inputs, table = (getattr(models["learned"], name) for name in TABLES)
    anew = rb.draw(
        problem.setting, 1, embeddings={"input": inputs.numpy(), "output": table.numpy()}
    )
    for way, given in (("limit", problem), ("limit, learned", anew)):
        ends[way] = rb.evaluate(given, rb.three_steps(given), 2000)
    for way, outcome in ends.items():
        assert {name: found[f"{way}: {name}"] for name in OUTCOMES} == vars(outcome), way
    directions, second = table / table.norm(dim=1, keepdim=True), table.T @ table / 8
    shapes = {
        "learned: output length": table.square().sum(dim=1).mean(),
        "learned: output coherence": (directions @ directions.T - torch.eye(8).double())
        .abs()
        .max(),
        "learned: output ratio": second.trace() ** 2 / (second @ second).trace(),
        "drawn: input length": problem.input_embeddings.square().sum(dim=1).mean(),
    }
    for name, value in shapes.items():
        assert found[name] == pytest.approx(float(value)), name


def test_critical_sizes_of_every_way():
    """A made-up table in which learned tables need half as many sequences as kept ones."""
    rows = [
        {
            "vocab": 64, "dim": 16, "samples": samples, "seed": seed,
            **{
                f"{way}: {name}": min(1.0, samples * (2 if way == "learned" else 1) / 400) + 0.01 * seed
                for way in learned.WAYS for name in OUTCOMES
            },
        }
        for samples in (64, 128, 256, 512) for seed in range(3)
    ]  # fmt: skip
    found = learned.critical(pd.DataFrame(rows)).set_index("way")
    assert found.loc["kept", "critical"] / found.loc["learned", "critical"] == pytest.approx(
        2, rel=0.1
    )
    assert (found["low"] <= found["critical"]).all() and (found["critical"] <= found["high"]).all()
