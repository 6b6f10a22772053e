"""Reductions of the chapter on product laws: on known answers, and against a second way to compute
them."""

import numpy as np
import pandas as pd
import pytest
from sampling import standard_error
from sized import sized

import recallbook as rb
from recallbook_studies.ch09 import envelope, geometry, lock_on_sizes, one_step


def sizes(**columns):
    return pd.DataFrame({name: np.atleast_1d(values) for name, values in columns.items()})


def test_law_of_the_arg_max_is_where_its_noise_costs_half():
    law = one_step.law()
    numbers = {"V": 256, "L": 16, "d": 128}
    found = float(law.subs({symbol: numbers[symbol.name] for symbol in law.free_symbols}))
    by_hand = 2 * np.log(256) * 16 * 3**2 / (1 - 2 * np.log(256) * 256 / 128**2)
    assert found == pytest.approx(by_hand)
    frame = sizes(vocab=256, seq_len=16, dim=128, samples=found)
    assert one_step.with_margin(frame)["margin"].item() == pytest.approx(1)
    # a small dimension loses half to interference, whatever N is
    endless = sizes(vocab=256, seq_len=16, dim=32, samples=1e12)
    assert one_step.with_margin(endless)["margin"].item() < 0.5


def test_noise_of_the_arg_max_is_that_of_a_simulated_gradient():
    setting = sized(256, 16, 64, 4096)
    ratios = []
    for seed in range(20):
        problem = rb.draw(setting, seed)
        scores = (
            problem.output_embeddings @ rb.initial_gradient(problem) @ problem.input_embeddings.T
        )
        scores = (scores - scores.mean(dim=1, keepdim=True))[problem.permutation].numpy()
        right = np.diag(scores)
        wrong = scores[~np.eye(len(scores), dtype=bool)]
        ratios.append(np.mean(wrong**2) / np.mean(right) ** 2)
    law = one_step.with_margin(sizes(vocab=256, seq_len=16, dim=64, samples=4096))["margin"].item()
    # the mean of 20 draws is known to 1.5 %; the law leaves out label overlap and own fact, 1/d
    # each: a fifth here
    assert standard_error(ratios) < 0.015 * np.mean(ratios)
    assert np.mean(ratios) == pytest.approx(1 / law / (2 * np.log(256)) + 2 / 64, rel=0.05)


def test_leading_laws_are_the_slopes_of_the_ledger_at_huge_sizes():
    laws = lock_on_sizes.leading_laws().set_index("term")
    assert laws.loc["mean bias"].tolist() == [0.5, 2, -1.5]
    assert laws.loc["gradient noise"].tolist() == [1, 1, -1.5]
    assert laws.loc["frequency noise"].tolist() == [1, 1.5, -2]
    assert "trigger overlap" not in laws.index
    base = dict(vocab=10**8, seq_len=10**5, dim=10**6, samples=10**9)

    def sizes_at(**changes):
        return rb.predict(rb.Setting(**{**base, **changes})).ledger

    start, more = sizes_at(), sizes_at(samples=2 * base["samples"])
    for name in ("mean bias", "gradient noise"):
        in_samples = np.log2(more[name].size / start[name].size)
        for size, column in (("seq_len", "L"), ("dim", "d"), ("vocab", "V")):
            slope = np.log2(sizes_at(**{size: 2 * base[size]})[name].size / start[name].size)
            assert slope / -in_samples == pytest.approx(laws.loc[name, column], abs=0.05)


def test_interactions_are_zero_for_a_product_and_found_where_put():
    table = pd.DataFrame(
        [(length, dim) for length in (2, 4, 8) for dim in (3, 9)], columns=["seq_len", "dim"]
    )
    table["predicted"] = table["seq_len"] ** 2.0 / np.log(table["dim"])
    assert np.abs(lock_on_sizes.interactions(table)).max(axis=None) < 1e-12
    table.loc[0, "predicted"] *= np.e
    assert lock_on_sizes.interactions(table).loc[2, 3] == pytest.approx(1 - 1 / 3 - 1 / 2 + 1 / 6)


def test_ratio_of_critical_sizes_on_a_known_answer():
    rows = []
    for law, centre in (("orthogonal", 100), ("gaussian", 700)):
        for seed in range(10):
            for samples in 2 ** np.arange(3, 14):
                value = 1 / (1 + (centre * (1 + 0.02 * seed) / samples) ** 2)
                rows.append((law, 258, 16, False, int(samples), seed, value))
    columns = ["embeddings", "dim", "seq_len", "trigger_in_values", "samples", "seed", "lock_on"]
    found = geometry.ratios(pd.DataFrame(rows, columns=columns), False, "lock_on").iloc[0]
    # seeds are paired, so their common spread drops out of the ratio
    assert found["ratio"] == pytest.approx(7, rel=0.01)
    assert found["low"] <= found["ratio"] <= found["high"] and found["high"] / found["low"] < 1.05


def test_ratios_agree_with_optimism():
    frame = rb.load_results("geometry")
    found = geometry.ratios(frame, False, "lock_on").set_index("seq_len")["ratio"]
    table = geometry.optimism(frame, False, "lock_on")
    other = table[table["law"] == "gaussian, d = 258"].set_index("seq_len")["ratio"]
    assert list(found.index) == [64, 256]  # at L = 16 all lock on below the grid
    assert found.to_numpy() == pytest.approx(other[found.index].to_numpy())


def test_orthogonal_embeddings_do_not_see_the_dimension():
    for tau in (False, True):
        found = {
            rb.simulate(
                sized(32, 8, dim, 100, embeddings="orthogonal", trigger_in_values=tau),
                3,
                test_samples=500,
            )
            for dim in (34, 50, 90)
        }
        assert len(found) == 1


def test_laws_of_the_envelope_meet_where_they_are_equal():
    # by hand, at V = 256, L = 128: sqrt(2 log 128) 128^2 16 / d^1.5, and half of 256 facts seen
    law = envelope.alone(np.array([128.0, 128.0]), np.array([96.0, 278.7]))
    assert law.lock_on[0] == pytest.approx(868, abs=0.5)
    assert law.lock_on[1] == pytest.approx(law.coverage, rel=0.02)
    assert law.coverage == pytest.approx(256 * np.log(2))
    below, above = (
        rb.predict(sized(256, 1, d, 2**31 - 1), warn=False) for d in (law.wall - 1, law.wall)
    )
    assert below.recall < 0.5 <= above.recall
