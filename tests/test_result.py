"""What every result prints, and the dictionary that it becomes."""

import json
from fractions import Fraction

import pandas as pd
import pytest

import recallbook as rb

SETTING = rb.Setting(vocab=32, seq_len=4, dim=24, samples=256)
PROBLEM = rb.draw(SETTING, seed=0)
RESULTS = {
    "simulated": lambda: rb.simulate(SETTING, seed=0, test_samples=500),
    "means": lambda: rb.simulate(SETTING, seed=range(3), test_samples=500),
    "predicted": lambda: rb.predict(SETTING, warn=False),
    "without": lambda: rb.predict(SETTING, without=["coverage"], warn=False),
    "trained": lambda: rb.predict_trained(SETTING, warn=False),
    "proved": lambda: rb.certify(PROBLEM),
    "examined": lambda: rb.examine(PROBLEM.input_embeddings, verdict=True),
    "weights": lambda: rb.three_steps(PROBLEM),
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_prints_few_digits_and_is_a_dictionary(name):
    result = RESULTS[name]()
    shown, values = repr(result), result.to_dict()
    assert shown.count("\n") < 6 and len(shown) < 1500
    assert json.loads(json.dumps(values)) == values and not any(key[0] == "_" for key in values)
    error = getattr(result, "expected_error", None) or getattr(result, "error", None)
    if name in ("means", "predicted", "trained"):
        assert f"accuracy={result.accuracy:.3f} ± {error.accuracy:.3f}" in shown
        assert pd.DataFrame([values])["recall"][0] == result.recall


def test_what_is_proved_is_never_rounded_up():
    proved = rb.Certificate(0.99999999, 0.9016, 0.0, 1.0, 1.0, rb.Outcome(0.5001, 1.0, 0.9999))
    printed = "accuracy 0.000 to 0.501, lock_on 0.999 to 1.000, recall 0.901 to 1.000"
    assert printed in repr(proved)
    assert Fraction("0.901") <= Fraction(proved.recall)
