"""The MLP in theory: kernels against features, the attention vector, and the target on random
settings."""

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from sampling import OUTCOMES, standard_error
from sized import sized

import recallbook as rb
from recallbook_theory import hermite, lock_on, recall
from recallbook_theory.symbolic import lock_terms as lock_symbols, recall_terms as recall_symbols

pytestmark = pytest.mark.essential

NAMED = ("relu", "gelu", "tanh", "he2", "he3")
LAWS = ("gaussian", "sphere", "orthogonal")


@pytest.mark.parametrize("activation", NAMED)
@pytest.mark.parametrize("rho", [0.0, 0.5, -0.6])
def test_mehler_against_monte_carlo(activation, rho):
    rng = np.random.default_rng(3)
    x, other = rng.normal(size=(2, 400_000))
    y = rho * x + math.sqrt(1 - rho**2) * other
    product = hermite.values(activation, x) * hermite.values(activation, 0.8 * y)
    left, right = (hermite.hermite_coefficients(activation, a, 30) for a in (1.0, 0.64))
    exact = np.sum(left * right * rho ** np.arange(31.0))
    assert abs(product.mean() - exact) < 4 * standard_error(product) + 1e-4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("activation", "trigger_in_values", "law"),
    [(name, bool(place % 2), LAWS[place % 3]) for place, name in enumerate(NAMED)],
)
def test_overlaps_in_feature_space(activation, trigger_in_values, law):
    """What the prediction draws, against problems drawn as they are simulated: their own code,
    their own seeds."""
    vocab = 58 if law == "orthogonal" else 200
    fields = {"trigger_in_values": trigger_in_values, "embeddings": law}
    setting = sized(vocab, 1, 60, 10, width=240, activation=activation, **fields)
    rows = []
    for seed in range(48):
        problem = rb.draw(setting, seed)
        h = problem.input_embeddings + setting.trigger_in_values * problem.trigger
        images = setting.phi(h @ problem.mlp_weights.T) / setting.width**0.5
        gram = (images @ images.T).numpy()
        off = gram[~np.eye(vocab, dtype=bool)].reshape(vocab, vocab - 1)
        rows.append((np.diag(gram).mean(), off.mean(), off.var(axis=1, ddof=1).mean()))
    found = recall.overlaps(setting).overlaps
    drawn = (recall_symbols.H, recall_symbols.theta), (recall_symbols.J, recall_symbols.F)
    predicted = [*(found[symbol] for symbol in drawn[0]), found[drawn[1][0]] + found[drawn[1][1]]]
    for k, values in enumerate(predicted):
        measured = np.array(rows)[:, k]
        # points of one draw share its neurons: 32 draws, as spread as those measured
        error = measured.std(ddof=1) * (1 / 48 + 1 / 32) ** 0.5
        assert abs(measured.mean() - values.mean()) < 3.5 * error + 1e-3, k


@pytest.mark.slow
def test_overlaps_do_not_care_how_they_are_drawn():
    """Infinite width is Mehler's; a width beyond those drawn divides what is left."""
    # at unit length he3 is one power of the overlap
    wide, wider = (
        recall.overlaps(
            sized(100, 1, 40, 10, width=m, activation="he3", embeddings="sphere")
        ).overlaps
        for m in (2048, 2048 * 64)
    )
    assert wider[recall_symbols.F] == pytest.approx(wide[recall_symbols.F] / 64)
    assert wider[recall_symbols.J] == pytest.approx(wide[recall_symbols.J])
    assert wide[recall_symbols.J].mean() == pytest.approx(
        15 / (40 * 42 * 44), rel=0.2
    )  # mean of rho^6


@pytest.mark.slow
@pytest.mark.parametrize("flag", [pytest.param(False, marks=pytest.mark.nightly), True])
def test_a_linear_activation_of_infinite_width_is_no_mlp(flag):
    """The kernel is then the plain overlap, and so is everything downstream."""
    without = sized(300, 40, 40, 3000, trigger_in_values=flag)
    linear = partial(replace, without, activation="linear")
    plain, wide = rb.predict(without), rb.predict(linear(width=2**24))
    for name in OUTCOMES:
        assert getattr(wide, name) == pytest.approx(getattr(plain, name), abs=0.01), name
    near = lock_on.values(linear(width=8))
    symbols = [symbol for symbol, value in lock_symbols.LINEAR.items() if value == 1]
    assert len(symbols) == 5 and [near[symbol] for symbol in symbols] == pytest.approx(
        [1] * 5, abs=1e-9
    )


def test_the_plain_model_is_the_linear_case_of_the_expressions():
    linear = lock_symbols.LINEAR
    for name, term in lock_symbols.lock_terms().items():
        general = lock_symbols.lock_terms(mlp=True)[name]
        assert (general.token.subs(linear) - term.token).equals(0), name
        assert (general.trigger.subs(linear) - term.trigger).equals(0), name
    for name in ("neuron bias", "neuron noise"):
        assert lock_symbols.lock_terms(mlp=True)[name].token.subs(lock_symbols.epsilon, 0) == 0
        assert lock_symbols.lock_terms(mlp=True)[name].token.subs(linear) == 0
    assert lock_symbols.trigger_score(mlp=True).subs(linear).equals(lock_symbols.trigger_score())
    general = recall_symbols.mean_squares(mlp=True)
    for name, term in recall_symbols.mean_squares().items():
        assert general[name].subs(recall_symbols.LINEAR).equals(term), name
    assert general["MLP noise"].subs(recall_symbols.F, 0) == 0
