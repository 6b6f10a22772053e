"""Reductions of the chapter on product laws: on known answers, and against a second way to compute
them."""

import numpy as np
import pandas as pd
import pytest
from sized import sized

import recallbook as rb
from recallbook_studies import grids, laws
from recallbook_theory.symbolic.expressions import L, V, d, numeric


def test_interactions_are_zero_for_a_product_and_found_where_put():
    table = pd.DataFrame(
        [(length, dim) for length in (2, 4, 8) for dim in (3, 9)], columns=["seq_len", "dim"]
    )
    table["critical"] = table["seq_len"] ** 2.0 / np.log(table["dim"])
    assert np.abs(grids.interactions(table)).max(axis=None) < 1e-12
    table.loc[0, "critical"] *= np.e
    assert grids.interactions(table).loc[2, 3] == pytest.approx(1 - 1 / 3 - 1 / 2 + 1 / 6)


def test_ratio_of_critical_sizes_on_a_known_answer():
    rows = []
    for law, centre in (("orthogonal", 100), ("gaussian", 700)):
        for seed in range(10):
            for samples in 2 ** np.arange(3, 14):
                value = 1 / (1 + (centre * (1 + 0.02 * seed) / samples) ** 2)
                rows.append((law, int(samples), seed, value))
    frame = pd.DataFrame(rows, columns=["embeddings", "samples", "seed", "lock_on"])
    found = grids.factors(frame, "lock_on", random=frame["embeddings"] == "gaussian")["random"]
    # seeds are paired, so their common spread drops out of the ratio
    assert found.mean == pytest.approx(7, rel=0.01)
    assert found.low <= found.mean <= found.high and found.high / found.low < 1.05


def test_orthogonal_embeddings_do_not_see_the_dimension():
    for tau in (False, True):
        settings = [
            sized(32, 8, dim, 100, embeddings="orthogonal", trigger_in_values=tau)
            for dim in (34, 50, 90)
        ]
        assert len({rb.simulate(setting, 3, test_samples=500) for setting in settings}) == 1
        assert len({rb.predict(setting, warn=False).accuracy for setting in settings}) == 1


def test_slope_and_wall_are_those_of_the_figure():
    # by hand, at V = 256, L = 128: sqrt(2 log 128) 128^2 16 / d^1.5, and half of 256 facts seen
    at = {V: 256, L: 128, d: np.array([96.0, 278.7])}
    lock = np.max([numeric(law)(at) for law in laws.lock_on().values()], axis=0)
    assert lock == pytest.approx([868, 256 * np.log(2)], rel=0.02)
    wall = laws.least_dim(256, 0.5)
    below, above = (
        rb.predict(sized(256, 1, dim, 2**31 - 1), warn=False) for dim in (wall - 1, wall)
    )
    assert below.recall < 0.5 <= above.recall


def test_trigger_overlap_is_most_of_why_the_power_of_d_moves_with_the_level():
    """Between a quarter and three quarters of lock-on; without it less than half is left."""
    dims = (16, 32, 64, 128)

    def moved(without):
        ask = {"outcome": "lock_on", "without": without, "warn": False}
        powers = [
            np.polyfit(
                np.log(dims), np.log([rb.critical_samples(256, 128, d, a, **ask) for d in dims]), 1
            )[0]
            for a in (0.25, 0.75)
        ]
        return powers[0] - powers[1]

    assert moved(()) > 0.3 and moved(("trigger overlap",)) < 0.5 * moved(())
