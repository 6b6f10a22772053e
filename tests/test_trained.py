"""Trained to the end: each step of the prediction beside a plain solve, its mean beside least
losses found by descent, the curves by hand."""

import math
import warnings

import error_model
import numpy as np
import pandas as pd
import pytest
from scipy import optimize
from scipy.special import log_softmax, ndtr, softmax
from sized import sized

import recallbook as rb
from recallbook_studies import error_map
from recallbook_studies.ch12 import ladder, trained_map
from recallbook_theory import expected_errors, trained

RNG = np.random.default_rng(0)


@pytest.mark.essential
def test_the_nearest_point_where_the_right_logit_is_the_largest():
    logits, _ = trained.sample(30)
    logits = logits[::100]  # those that are right already among them
    found = trained.distance(logits)
    for one, expected in zip(logits, found, strict=True):
        level = optimize.minimize_scalar(
            lambda t, x=one: (t - x[0]) ** 2 + (np.maximum(x[1:] - t, 0) ** 2).sum(),
            bounds=(-6, 6),
            method="bounded",
            options={"xatol": 1e-9},
        )
        assert level.fun == pytest.approx(expected, abs=1e-9)


@pytest.mark.essential
@pytest.mark.parametrize("temperature, step, count", [(0.3, 2.5, 1), (0.05, 3.0, 4), (2.0, 0.4, 2)])
def test_where_a_fact_moves_its_logits(temperature, step, count):
    """Its loss, added to a quadratic form, is minimised by a library; the trace by differences."""
    start = RNG.standard_normal(7)

    def end(at):
        def loss(x):
            cross = np.log(np.exp(x / temperature).sum()) - x[0] / temperature
            return temperature * count * cross + ((x - at) ** 2).sum() / (2 * step)

        def slope(x):
            return count * (softmax(x / temperature) - np.eye(7)[0]) + (x - at) / step

        return optimize.minimize(loss, at, jac=slope, method="BFGS", options={"gtol": 1e-10}).x

    squares, response, right = trained.moved(start[None], np.array([count]), temperature, step)
    assert squares[0] == pytest.approx(((end(start) - start) ** 2).sum(), rel=1e-4)
    slopes = [(end(start + h) - end(start - h)) @ h / 2e-6 for h in 1e-3 * np.eye(7)]
    assert response[0] == pytest.approx(7 - sum(slopes), rel=1e-3)
    assert right[0] == (end(start).argmax() == 0)


def least(vocab, dim, facts, seed):
    """Recall of the matrix of least cross-entropy, by a library's descent."""
    inputs, outputs = np.random.default_rng(seed).standard_normal((2, vocab, dim)) / dim**0.5
    inputs, own = inputs[:facts], np.eye(vocab)[:facts]

    def logits(flat):
        return inputs @ flat.reshape(dim, dim).T @ outputs.T

    def loss(flat):
        logs = log_softmax(logits(flat), axis=1)
        return -(own * logs).sum(), (outputs.T @ (np.exp(logs) - own).T @ inputs).ravel()

    options = {"maxiter": 5000, "maxfun": 10000, "ftol": 0, "gtol": 1e-4}
    found = optimize.minimize(loss, np.zeros(dim**2), jac=True, method="L-BFGS-B", options=options)
    return (logits(found.x).argmax(axis=1) == np.arange(facts)).mean()


@pytest.mark.parametrize("vocab, dim, facts", [(64, 8, 64), (128, 16, 128), (128, 16, 36)])
def test_the_mean_of_least_losses(vocab, dim, facts):
    found = [least(vocab, dim, facts, seed) for seed in range(4)]
    assert trained.share_held(vocab, dim, facts) == pytest.approx(np.mean(found), abs=0.04)


def fits(vocab, dim, facts, own, seed):
    """Whether a matrix answers all facts, by Gordan's theorem: where none does, some mean of the
    constraints is zero. ``own``: label vectors of its own for each fact."""
    rng, rows = np.random.default_rng([81, seed]), []
    inputs, outputs = rng.standard_normal((facts, dim)), rng.standard_normal((vocab, dim))
    for v in range(facts):
        outputs = rng.standard_normal((vocab, dim)) if own else outputs
        rows.append(np.einsum("ki,j->kij", outputs[v] - np.delete(outputs, v, 0), inputs[v]))
    rows = np.concatenate(rows).reshape(-1, dim**2)
    sides = np.vstack([rows.T, np.ones(len(rows))])
    return optimize.nnls(sides, np.eye(dim**2 + 1)[-1])[1] > 1e-6


@pytest.mark.slow
@pytest.mark.parametrize(
    "vocab, dim, facts",
    [
        (16, 6, 14),
        *(pytest.param(*x, marks=pytest.mark.nightly) for x in ((32, 8, 19), (64, 11, 29))),
    ],
)
def test_more_draws_fit_than_predicted_because_facts_share_the_labels(vocab, dim, facts):
    lacks = trained.distance(trained.sample(vocab)[0])  # these facts make a load of about 1
    scatter = (facts * (lacks.var() - 2 * lacks.mean())) ** 0.5
    predicted = ndtr((dim**2 - facts * lacks.mean()) / scatter)
    own, shared = (
        np.mean([fits(vocab, dim, facts, own, seed) for seed in range(200)]) for own in (1, 0)
    )
    assert abs(own - predicted) < 0.1 and shared > max(own, predicted) + 0.05


def test_coverage_times_what_fits():
    found = rb.predict_trained(sized(64, 8, 64, 64))
    covered = 1 - (1 - 1 / 64) ** 64
    shares = found.accuracy, found.recall, found.lock_on
    assert shares == pytest.approx((covered, covered, 1), abs=1e-3)
    assert rb.predict_trained(sized(64, 1, 6, 900)).lock_on == 1
    often, once = (trained.share_held(64, 10, 50, n) for n in (10**6, None))
    assert often == pytest.approx(once, abs=0.01)  # all equally often
    many, few = (trained.lock_on(400, 16, length) for length in (32, 2))
    scores = RNG.standard_normal((20000, 2))
    signal = math.sqrt(16 * 400 / 382)
    assert few == pytest.approx((scores @ [1, -1] < signal).mean(), abs=0.002) and many < few


@pytest.mark.parametrize(
    "given, message",
    [
        ({"zipf": 1.0}, "zipf=1.0 is not allowed"),
        ({"width": 8}, "width=8 is not allowed: None"),
        ({"embeddings": "power_law(1)"}, "embeddings='power_law"),
        ({"vocab": 70000}, "vocab=70000 is not allowed: at most 65536"),
    ],
)
def test_what_is_not_predicted(given, message):
    sizes = {"vocab": 64, "seq_len": 4, "dim": 16, "samples": 99}
    with pytest.raises(ValueError, match=message):
        rb.predict_trained(rb.Setting(**sizes | given))


def test_curves_by_hand():
    row = {"rung": "MLP", "vocab": 16, "seq_len": 3, "samples": 20}
    frame = pd.DataFrame([row | {"seed": s, "accuracy": a} for s, a in ((0, 0.3), (1, 0.5))])
    found = ladder.curves(frame)
    shares = [len(set(rb.draw(sized(16, 3, 1, 20), seed).labels.tolist())) / 16 for seed in (0, 1)]
    assert found["share"].tolist() == shares
    assert found["short"].mean() == pytest.approx(np.mean(shares) - 0.4)


def test_numbers_are_the_maps():
    frame = rb.load_results("survives_map")
    again = trained_map.predicted(frame.iloc[::150])
    columns = [one for one in frame if one.startswith(("predicted_", "expected_", "load"))]
    assert again[columns].to_numpy() == pytest.approx(
        frame.iloc[::150][columns].to_numpy(), rel=0.05, abs=0.01
    )
    worse = frame[["expected_accuracy", "expected_recall"]].max(axis=1)
    assert (frame["warns"] == (worse > trained.LARGE)).all()
    assert frame.loc[frame["index"] < 528, "warns"].mean() < 1 / 3


@pytest.mark.slow
def test_expected_errors_are_fitted_on_the_map():
    """The committed weights, and what ten folds say of settings outside of those fitted."""
    frame = trained_map.rows(fresh=False)
    found, expected = error_model.fitted_trained(frame)
    committed = pd.read_csv(str(expected_errors.FOLDER / trained.TABLE))
    pd.testing.assert_frame_equal(found, committed, rtol=0.02, atol=0.02)
    calibrated(frame.assign(**expected.add_prefix("expected_")))


def test_where_the_load_is_named_a_smaller_load_halves_the_error():
    warned = trained_map.rows(fresh=False).query("warns and 0.6 < load < 1.6").iloc[::10]
    halved = []
    for row in warned.to_dict("records"):
        outcomes = {name: row[f"predicted_{name}"] for name in error_map.QUANTITIES}
        now, far = (
            expected_errors.expected_errors(
                error_map.as_setting(row), outcomes, trained.TABLE, **trained.variables(share)
            )["recall"]
            for share in (row["load"], 0.1)
        )
        halved.append(far < now / 2)
    assert len(halved) > 10 and np.mean(halved) > 0.75


def test_expected_errors_at_fresh_settings():
    frame = trained_map.rows(fresh=True)
    assert len(frame) >= 30
    calibrated(frame)


def calibrated(frame):
    """In fifths of expected errors misses are as large as expected, within what fifths of 30 settings
    can tell; below 0.02 they are small."""
    bins = error_map.by_expected(frame)
    print(bins.round(3))
    large = bins[bins["expected"] > 0.02]
    assert len(large) >= 3 and (large["missed"] / large["expected"]).between(0.5, 2).all()
    assert (bins["missed"] < 0.05)[bins["expected"] < 0.02].all()


@pytest.mark.parametrize(
    ("sizes", "reason"),
    [
        ((35, 33, 22, 94), "few, long sequences"),  # found: 0.07 too high
        ((85, 61, 34, 241), "few, long sequences"),
        ((34, 34, 19, 100), "few, long sequences"),
        ((256, 64, 42, 1024), "load near 1"),
    ],
)
def test_a_warning_names_the_reason_and_the_error(sizes, reason):
    with pytest.warns(UserWarning, match=reason) as said:
        found = rb.predict_trained(sized(*sizes))
    size = max(found.expected_error.accuracy, found.expected_error.recall)
    assert f"off by {size:.2f}" in str(said[0].message)


def test_no_warning_where_errors_are_small():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = rb.predict_trained(sized(64, 8, 32, 640))
    assert max(found.expected_error.to_dict().values()) < 0.05
    assert rb.predict_trained(sized(64, 1, 32, 640)).expected_error.lock_on < 0.001
