"""Figures and tables of chapter 11: their numbers, computed another way from the committed
results."""

import pandas as pd
import pytest

from recallbook_studies.ch11 import pictures

pytestmark = pytest.mark.essential


def test_row_of_a_critical_exponent_has_how_often_the_most_frequent_token_stands_in_a_sequence():
    case = {"vocab": 4, "seq_len": 10, "dim": 8, "samples": 200, "trigger_in_values": True}
    found = {"simulated": 1.0, "low": 0.9, "high": 1.25, "means": 1.2, "predicted": 1.1}
    (row,) = pictures.critical_rows(
        pd.DataFrame([{**case, **found}, {**case, **found, "trigger_in_values": False}])
    )
    assert [row[name] for name in ("V", "L", "d")] == [4, 10, 8]
    for flag in (0, 1):
        assert row[f"L p₁, τ = {flag}"] == pytest.approx(10 / (1 + 1 / 2 + 1 / 3 + 1 / 4))
        values = [row[f"{name}, τ = {flag}"] for name in ("mean scores", "law", "measured")]
        assert values == [1.2, 1.1, "1.00 [0.90, 1.25]"]
