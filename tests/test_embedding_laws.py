"""Every law of embeddings and every activation, by walking the registries: draws against what the
record states, predictions against simulation, proofs, warnings. Then what structures are."""

import ast
from dataclasses import replace

import numpy as np
import pytest
import torch
from budgets import PACKAGES, files
from sampling import apart, standard_error
from settings import as_words
from sized import sized
from test_certificate import excess

import recallbook as rb
from recallbook.__main__ import Parser
from recallbook.activations import ACTIVATIONS
from recallbook.data.embeddings import draw_embeddings
from recallbook.data.streams import gaussian_table
from recallbook.embedding_laws import LAWS as REGISTRY, Law, parse_law
from recallbook_studies.commands import predicting
from recallbook_theory import hermite
from recallbook_theory.caveats import doubts, message
from recallbook_theory.prediction import theory_of

pytestmark = pytest.mark.essential

NUMBERS = {"power_law": "(0.5)", "low_rank": "(4)", "clustered": "(3, 0.4)"}
EVERY = [name + (NUMBERS.get(name, "") if law.takes else "") for name, law in REGISTRY.items()]
every_law = pytest.mark.parametrize("law", EVERY)

LAWS = ["power_law(0.5)", "power_law(1.5)", "low_rank(4)", "clustered(3, 0.4)", "gaussian"]
VOCAB, DIM, SEEDS = 24, 10, 400


def setting_of(law: str, dim: int = DIM, **sizes) -> rb.Setting:
    sizes = {"vocab": VOCAB, "seq_len": 1, "samples": 1, "trigger_in_values": True, **sizes}
    least = parse_law(law, sizes["vocab"], dim).least_dim(sizes["vocab"])
    return rb.Setting(dim=max(dim, least), embeddings=law, **sizes)


def stated(question):
    """The law's answer, or None where it says in the house's form that it has none."""
    try:
        return question()
    except ValueError as lack:
        assert str(lack).startswith("embeddings='") and "a law that has" in str(lack)
        return None


def close(values, expected, errors=5):
    """Whether means over draws are this, up to standard errors."""
    values = np.asarray(values)
    return np.abs(values.mean(axis=0) - expected) <= errors * standard_error(values) + 1e-12


@every_law
def test_draws_are_as_stated(law):
    setting = setting_of(law)
    kind, dim = setting.law, setting.dim
    drawn = [draw_embeddings(setting, seed) for seed in range(SEEDS)]
    for part, shape in zip(drawn[0], [(VOCAB, dim), (VOCAB, dim), (dim,), (dim,)], strict=True):
        assert part.shape == shape and part.dtype == np.float64
    # of the first token, whose rows are independent from draw to draw
    for rows in (np.array([getattr(one, name).reshape(-1, dim)[0] for one in drawn])
                 for name in drawn[0]._fields):  # fmt: skip
        squares = (rows**2).sum(axis=1)
        assert close(squares, 1), f"mean square length {squares.mean():.3f}, which should be 1"
        said, variance = kind.length_variance(dim), ((squares - 1) ** 2).mean()
        assert close((squares - 1) ** 2, said), f"length_variance {said:.3f}, drawn {variance:.3f}"
        assert kind.length_variance(dim) == 0 or np.var(squares) > kind.length_variance(dim) / 2
        spectrum = stated(lambda: kind.eigenvalues(dim))
        if spectrum is not None:
            outer = rows[:, :, None] * rows[:, None, :]
            assert close(outer, np.diag(spectrum)).all()
            assert abs(spectrum.sum() - 1) < 1e-12
            if kind.geometry != "orthonormal":
                assert kind.trace(2, dim) == pytest.approx((spectrum**2).sum(), rel=1e-12)
    assert (kind.takes == ()) == (str(kind) == kind.name)


@pytest.mark.slow
@every_law
def test_the_geometry_is_as_stated(law):
    setting = setting_of(law, vocab=4)
    kind, dim = setting.law, setting.dim
    rng = np.random.default_rng(3)
    drawn = [draw_embeddings(setting, seed) for seed in range(4 * SEEDS)]
    towards = rng.standard_normal((len(drawn), dim, 32))
    towards /= np.linalg.norm(towards, axis=1, keepdims=True)
    products = np.array([one.input for one in drawn]) @ towards
    fourth = {"normal": 3 / dim**2, "spherical": 3 / (dim * (dim + 2))}
    if kind.geometry in fourth:
        drawn_fourth = (products**4).mean(axis=(1, 2))
        said = f"{kind.geometry}: fourth moment {fourth[kind.geometry]:.5f}, drawn {drawn_fourth.mean():.5f}"
        assert close(drawn_fourth, fourth[kind.geometry]), said
    if kind.geometry == "orthonormal":
        tables = np.array([np.vstack([one.input, one.trigger, one.query]) for one in drawn[:3]])
        assert np.allclose(tables @ tables.transpose(0, 2, 1), np.eye(6), atol=1e-12)
        assert np.allclose(drawn[0].output @ drawn[0].output.T, np.eye(4), atol=1e-12)


@every_law
def test_a_law_is_measured_if_a_map_of_errors_has_met_it(law):
    maps = [rb.load_results(name)["embeddings"] for name in ("error_map", "unequal_error_map")]
    met = {text.split("(")[0] for table in maps for text in table}
    name = law.split("(")[0]
    assert REGISTRY[name].measured == (name in met), f"{name}: `measured` is whether a map has it"


def uncertain(law: str) -> rb.Setting:
    """A setting with this law where some outcome is neither 0 nor 1."""
    kind = REGISTRY[law.split("(")[0]]
    samples = 150 if kind.geometry == "orthonormal" else 900  # there only coverage is wanting
    sizes = {"vocab": 72, "seq_len": 8, "samples": samples, "trigger_in_values": False}
    return setting_of(law if kind.geometry else law.replace("(4)", "(32)"), 48, **sizes)


@pytest.mark.slow
@pytest.mark.parametrize(
    "setting", [*map(uncertain, EVERY), sized(3, 1, 1, 60), sized(512, 4, 64, 2000)], ids=str
)
def test_predictions_meet_simulation(setting):
    """Within 0.03 and twice the standard error of simulation."""
    found = rb.predict(setting, warn=False)
    assert 0.1 < found.accuracy < 0.99
    assert apart(found, [rb.simulate(setting, seed) for seed in range(16)], 0.03, 2) == {}


@every_law
@pytest.mark.parametrize(
    ("sizes", "draws"),
    [
        ((3, 1, 2, 300), 40),
        pytest.param((3, 1, 2, 300), 500, marks=pytest.mark.nightly),
        pytest.param((12, 3, 16, 300), 60, marks=pytest.mark.nightly),
    ],
)
def test_proofs_hold_or_are_refused(law, sizes, draws):
    vocab, seq_len, dim, samples = sizes
    law = law.replace("(4)", "(2)")
    sizes = {"vocab": vocab, "seq_len": seq_len, "samples": samples}
    setting = setting_of(law, dim, **sizes, trigger_in_values=False)
    problem = rb.draw(setting, seed=0)
    if not setting.law.proved:
        with pytest.raises(ValueError, match=r"problem\.setting\.embeddings=.*that proofs cover"):
            rb.certify(problem)
        return
    above = excess(rb.certify(problem), problem, draws, 2000)
    assert max(above.values()) <= 0.02, "of tests"


@every_law
def test_what_was_never_measured_is_warned_of(law):
    setting = setting_of(law, 64, vocab=128, seq_len=8, samples=2000)
    found = doubts(theory_of(setting).doubts, setting)
    expected = [] if setting.law.measured else ["law never measured"]
    assert [doubt.name for doubt in found] == expected
    if found:
        with pytest.warns(UserWarning, match=f"embeddings='{law}' never measured"):
            rb.predict(setting)
        assert setting.law.caveat in message(setting, found)


@every_law
def test_a_law_survives_a_setting_and_the_command_line(law):
    setting = setting_of(law)
    assert setting.embeddings == law == str(setting.law)
    assert rb.Setting(**vars(setting)) == setting and replace(setting, samples=2).law == setting.law
    parser = Parser()
    predicting.add_setting(parser)
    assert predicting.chosen_fields(parser.parse_args(as_words(setting)))["embeddings"] == law
    assert setting.law.name in parser.format_help()


def test_what_a_law_lacks_is_an_error(monkeypatch):
    class Dummy(Law):
        """Draws rows, and states nothing."""

        name = "dummy"

        def rows(self, normal):
            return normal / normal.shape[1] ** 0.5

    class Nothing(Law):
        """Does not even draw."""

        name = "nothing"

    monkeypatch.setitem(REGISTRY, "dummy", Dummy)
    monkeypatch.setitem(REGISTRY, "nothing", Nothing)
    setting = setting_of("dummy", 16, vocab=70, seq_len=4, samples=300)
    problem = rb.draw(setting, seed=0)
    refused = {
        "variance of squared lengths": lambda: setting.law.length_variance(16),
        "covariance": lambda: setting.law.trace(2, 16),
        "that proofs cover": lambda: rb.certify(problem),
        "independent rows": lambda: rb.draw(replace(setting, embeddings="nothing"), seed=0),
        "no theory yet": lambda: rb.predict(replace(setting, width=8)),
    }
    for question, ask in refused.items():
        with pytest.raises(ValueError, match=question):
            ask()
    # the theory that draws tables has all that it needs
    assert 0 <= rb.predict(setting, warn=False).lock_on <= 1
    assert "law never measured" in [doubt.name for doubt in doubts((), setting)]


def test_no_module_below_the_chapters_compares_with_a_name():
    """A comparison with the name of a law or an activation is a property that its record lacks.

    Chapters and the explorer choose which of them they show."""
    names, asked = {*REGISTRY, *ACTIVATIONS}, []
    for path in files(*PACKAGES):
        if "explorer" in path.parts or (path.parent.name.startswith("ch")):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Compare):
                constants = [part for part in ast.walk(node) if isinstance(part, ast.Constant)]
                asked += [(path.name, c.lineno, c.value) for c in constants if c.value in names]
    assert asked == []


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_everything_of_an_activation(name):
    """Elementwise, finite, its derivative that of finite differences, its Hermite coefficients and
    kernel exact, a setting and the command line know it, and its overlaps are found."""
    x = np.linspace(-3, 3, 41) + 0.01  # no kink on the grid
    assert np.allclose(
        hermite.slopes(name, x),
        (hermite.values(name, x + 1e-6) - hermite.values(name, x - 1e-6)) / 2e-6,
        atol=1e-7,
    )
    table = torch.linspace(-2, 2, 6, dtype=torch.float64).reshape(2, 3)
    assert ACTIVATIONS[name](table).shape == table.shape
    assert torch.equal(ACTIVATIONS[name](table)[1], ACTIVATIONS[name](table[1]))
    coefficients = hermite.hermite_coefficients(name, 1.0, 60)
    square = hermite.moment_table(name, np.ones(1)).square[0]
    assert (coefficients**2).sum() == pytest.approx(square, rel=0.01)
    setting = sized(64, 2, 32, 640, width=64, activation=name)
    assert setting.phi is ACTIVATIONS[name] and rb.Setting(**vars(setting)) == setting
    parser = Parser()
    predicting.add_setting(parser)
    assert name in parser.format_help()
    assert predicting.chosen_fields(parser.parse_args(as_words(setting)))["activation"] == name


def eigenvalues(setting: rb.Setting) -> np.ndarray:
    known = stated(lambda: setting.law.eigenvalues(setting.dim))
    return np.full(setting.dim, 1 / setting.dim) if known is None else known


def test_eigenvalues_are_those_of_the_law():
    assert np.allclose(
        eigenvalues(setting_of("power_law(1)")) * np.arange(1, DIM + 1),
        1 / (7381 / 2520),
        rtol=1e-15,
    )
    assert np.array_equal(eigenvalues(setting_of("low_rank(4)")), [0.25] * 4 + [0.0] * 6)
    assert np.allclose(eigenvalues(setting_of("gaussian")), 1 / DIM, rtol=1e-15)


def test_clusters_are_written_out():
    setting = setting_of("clustered(3, 0.4)")
    drawn, token, label = draw_embeddings(setting, 5), 7, 11
    for table, kind, row in ((drawn.input, "input", token), (drawn.output, "output", label)):
        centres = gaussian_table(5, f"{kind}_centres", 3, DIM)
        own = gaussian_table(5, f"{kind}_embeddings", VOCAB, DIM)
        expected = [
            (0.4**0.5 * centres[row % 3, i] + 0.6**0.5 * own[row, i]) / DIM**0.5  # by hand
            for i in range(DIM)
        ]
        assert np.allclose(table[row], expected, rtol=1e-14)


@pytest.mark.parametrize("law", LAWS)
def test_a_smaller_dimension_is_the_first_columns(law):
    large, small = (draw_embeddings(setting_of(law, dim), 3) for dim in (DIM, 6))
    scale = np.sqrt(eigenvalues(setting_of(law))[:6]), np.sqrt(eigenvalues(setting_of(law, 6)))
    columns = scale[0] > 0
    for mine, other in zip(large, small, strict=True):
        ratio = (scale[1] / np.where(columns, scale[0], 1))[columns]
        assert np.allclose(mine[..., :6][..., columns] * ratio, other[..., columns], rtol=1e-13)
        assert not other[..., ~columns].any()


def test_structures_without_one_are_gaussian():
    plain = draw_embeddings(setting_of("gaussian"), 2)
    for law in ("power_law(0)", f"low_rank({DIM})", "clustered(5,0)"):
        for mine, other in zip(draw_embeddings(setting_of(law), 2), plain, strict=True):
            assert np.allclose(mine, other, rtol=1e-14)
