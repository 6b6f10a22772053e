"""Laws of embeddings with a structure: their moments against closed forms, their pairing, what
refuses them."""

import numpy as np
import pytest

import recallbook as rb
from recallbook.data.embeddings import draw_embeddings, eigenvalues
from recallbook.data.streams import gaussian_table

LAWS = ["power_law(0.5)", "power_law(1.5)", "low_rank(4)", "clustered(3,0.4)", "gaussian"]
VOCAB, DIM, SEEDS = 24, 10, 400


def setting_of(law: str, dim: int = DIM) -> rb.Setting:
    return rb.Setting(
        vocab=VOCAB, seq_len=1, dim=dim, samples=1, embeddings=law, trigger_in_values=True
    )


def mean_square_products(law: str) -> tuple[float, float]:
    """E (z_a . z_b)^2 of two tokens of one cluster, and of two of different ones, in closed form.

    Centred Gaussian vectors of covariances S: tr S^2 where independent. With S = I/d and
    correlation s between the two, E (x.y)^2 = s^2 (d^2 + 2 d)/d^2 + 2 s (1 - s) d/d^2 + (1 - s)^2
    d/d^2."""
    setting = setting_of(law)
    if setting.law.name != "clustered":
        spread = float((eigenvalues(setting) ** 2).sum())
        return spread, spread
    share = setting.law.numbers[1]
    return share**2 * (1 + 2 / DIM) + (1 - share**2) / DIM, 1 / DIM


def test_eigenvalues_are_those_of_the_law():
    assert np.allclose(
        eigenvalues(setting_of("power_law(1)")) * np.arange(1, DIM + 1),
        1 / (7381 / 2520),
        rtol=1e-15,
    )
    assert np.array_equal(eigenvalues(setting_of("low_rank(4)")), [0.25] * 4 + [0.0] * 6)
    assert np.allclose(eigenvalues(setting_of("gaussian")), 1 / DIM, rtol=1e-15)


@pytest.mark.parametrize("law", LAWS)
def test_moments_of_every_law(law):
    clusters = int(setting_of(law).law.numbers[0]) if law.startswith("clustered") else 1
    near, far = mean_square_products(law)
    together = np.subtract.outer(np.arange(VOCAB), np.arange(VOCAB)) % clusters == 0
    same = together & ~np.eye(VOCAB, dtype=bool)
    seen = []
    for seed in range(SEEDS):
        drawn = draw_embeddings(setting_of(law), seed)
        products = np.stack([table @ table.T for table in (drawn.input, drawn.output)])
        seen.append({
            "length": np.trace(products, axis1=1, axis2=2).mean() / VOCAB,
            "near": (products[:, same] ** 2).mean(),
            "far": (products[:, ~together] ** 2).mean() if clusters > 1 else far,
            "cross": ((drawn.input @ drawn.output.T) ** 2).mean(),
            "marked": ((drawn.input @ drawn.trigger) ** 2).mean(),
            "trigger": drawn.trigger @ drawn.trigger,
        })  # fmt: skip
    wanted = {"length": 1, "near": near, "far": far, "cross": far, "marked": far, "trigger": 1}
    for name, expected in wanted.items():
        values = [one[name] for one in seen]
        error = np.std(values, ddof=1) / np.sqrt(SEEDS)
        assert abs(np.mean(values) - expected) <= 4 * error + 1e-12, name
        assert error < 0.1 * expected  # else any law would pass


def test_clusters_are_written_out():
    setting = setting_of("clustered(3,0.4)")
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


@pytest.mark.parametrize("law", ["power_law(0.5)", "low_rank(4)", "clustered(3,0.4)"])
def test_proofs_refuse_a_structure(law):
    with pytest.raises(
        ValueError,
        match=r"problem\.setting\.embeddings=.*laws of output embeddings that proofs cover",
    ):
        rb.certify(rb.draw(setting_of(law), seed=0))
