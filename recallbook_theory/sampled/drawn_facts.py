"""Fixed draws of what the theory of unequal facts does not integrate out: tables of embeddings and
label counts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float64

from recallbook.data.embeddings import OwnTables, draw_embeddings
from recallbook.data.streams import stream
from recallbook.embedding_laws import Table
from recallbook.setting import Setting, fact_frequencies, other_frequencies
from recallbook_theory.sampled.attention_vector import Facts

FIRST_SEED = 7 * 10**9  # seeds of the draws of predictions are used nowhere else


class DrawnFacts(NamedTuple):
    """One draw: ``facts``, how ``frequencies`` ``(V,)`` weigh them in tests, and the ``seed`` of
    what else is drawn."""

    facts: Facts
    frequencies: Float64[np.ndarray, " V"]
    seed: int

    def generator(self, role: int) -> np.random.Generator:
        """For the noise (1) or for what is located (2): the same numbers whatever else is drawn."""
        return np.random.default_rng([self.seed, role])


def drawn_facts(setting: Setting, draw: int, own: OwnTables) -> DrawnFacts:
    """Draw of this number, which fact has which label included; tables are the same for all
    ``samples``, or given."""
    seed = FIRST_SEED + draw
    tables = draw_embeddings(setting, seed, _table, own)
    rng = np.random.default_rng(seed)
    labels = tables.output[rng.permutation(setting.vocab)]
    frequencies = fact_frequencies(setting)
    *tokens, trigger = _fewest_columns(np.concatenate([tables.input, tables.trigger[None]]))
    counts = label_counts(setting, frequencies, rng)
    weights, prediction = first_residuals(setting, counts, frequencies)
    facts = Facts(
        tokens=np.asarray(tokens),
        labels=_fewest_columns(labels),
        trigger=trigger,
        others=other_frequencies(setting),
        counts=counts,
        weights=weights,
        prediction=prediction,
        length=setting.seq_len,
        tau=float(setting.trigger_in_values),
    )
    return DrawnFacts(facts, frequencies, seed)


def _table(seed: int, role: str, rows: int, columns: int) -> Table:
    return np.asarray(stream(seed, role).standard_normal((rows, columns)))


def _fewest_columns(table: Table) -> Table:
    """Rows with the same products in at most as many columns as there are rows."""
    rows, columns = table.shape
    if columns <= rows:
        return table
    triangle = np.linalg.qr(table.T, mode="r")
    # the signs are the routine's convention
    return np.asarray((triangle * np.sign(np.diag(triangle))[:, None]).T)


def label_counts(
    setting: Setting, frequencies: Float64[np.ndarray, " V"], rng: np.random.Generator
) -> Float64[np.ndarray, " V"]:
    """Training sequences of each label."""
    if setting.balanced:
        every, rest = divmod(setting.samples, setting.vocab)
        counts = np.full(setting.vocab, float(every))
        counts[rng.permutation(setting.vocab)[:rest]] += 1
        return counts
    return rng.multinomial(setting.samples, frequencies).astype(float)


def first_residuals(
    setting: Setting, counts: Float64[np.ndarray, " V"], frequencies: Float64[np.ndarray, " V"]
) -> tuple[Float64[np.ndarray, " V"], Float64[np.ndarray, " V"]]:
    r"""Loss weights $\omega$ and first predictions $c$, as :mod:`recallbook.data.residuals` defines
    them."""
    equal = np.full(setting.vocab, 1 / setting.vocab)
    weights = np.ones(setting.vocab)
    if setting.loss_weights == "inverse":
        weights = np.where(
            counts > 0, setting.samples / (setting.vocab * np.maximum(counts, 1)), 0.0
        )
    if setting.output_bias == "trained":
        return weights, weights * counts / (weights @ counts)
    if (
        setting.output_bias == "calibrated"
        and not setting.balanced
        and setting.loss_weights == "equal"
    ):
        return weights, frequencies
    return weights, equal
