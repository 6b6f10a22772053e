r"""Step 3 alone, with perfect attention: logits by origin, and what counts alone recall."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from recallbook.data.embeddings import draw_embeddings
from recallbook.setting import Setting
from recallbook_theory.symbolic import recall_terms as symbolic
from recallbook_theory.symbolic.expressions import Array, numeric
from recallbook_theory.values import sizes

SEEDS = range(8)


def fact_counts(setting: Setting, seed: int) -> NDArray[np.int64]:
    """How often each fact occurs in a batch: multinomial with equal chances."""
    setting.require_equal("counts are drawn with equal chances")
    chances = np.full(setting.vocab, 1 / setting.vocab)
    return np.random.default_rng([seed, setting.vocab]).multinomial(setting.samples, chances)


def logits_by_origin(setting: Setting, seed: int) -> dict[str, Array]:
    r"""Logits of $W=\sum_vf_v\tilde u_v(z_v+\tau t)^\top$ asked for every token, by origin; rows
    ask, columns answer.

    The batch enters through the counts $Nf_v$ alone, multinomial with equal chances; relabelled so
    that $\pi$ is the identity. The entries ``right`` (on the diagonal) and the four origins of a
    wrong logit (off it) sum to the logits."""
    vocab, tau = setting.vocab, float(setting.trigger_in_values)
    tables = draw_embeddings(setting, seed)
    trigger = tables.trigger.reshape(-1)
    frequency = fact_counts(setting, seed) / setting.samples
    excess = frequency - 1 / vocab
    asked = tables.input + tau * trigger  # (V, d), one row for each question
    overlap = asked @ tables.input.T  # h_v . z_j
    shared = tau * asked @ trigger  # theta_v
    labels = tables.output @ (tables.output - tables.output.mean(axis=0)).T  # u_k . (u_j - mean)
    weight = frequency * overlap  # (V, V): of fact j when v is asked
    other = weight * (1 - np.eye(vocab))
    own_fact = other * np.diag(labels)
    own_label = (np.diag(weight) + shared * excess)[:, None] * labels.T
    common = np.outer(shared, labels @ excess) - (shared * excess)[:, None] * labels.T
    return {
        "right": own_label * np.eye(vocab),
        "label frequencies": common,
        "interference": other @ labels.T - own_fact,
        "label overlap": own_label * (1 - np.eye(vocab)),
        "own fact": own_fact,
    }


def predicted_squares(setting: Setting) -> dict[str, float]:
    r"""Mean square of a wrong logit by origin, over $1/V^2$, from
    :func:`recallbook_theory.symbolic.recall_terms.mean_squares`; origins that add nothing left out."""
    found = {
        name: float(numeric(term)(sizes(setting))) for name, term in symbolic.mean_squares().items()
    }
    return {name: size for name, size in found.items() if size > 0}


def squares(settings: Iterable[Setting]) -> pd.DataFrame:
    r"""The same measured, one row for each setting, seed and origin.

    The unit $1/V^2$ is the squared right logit at equal frequencies; that of ``label overlap`` is
    the measured mean square of the right logit, since it is proportional to it."""
    rows = []
    for setting, seed in product(settings, SEEDS):
        parts, wrong = logits_by_origin(setting, seed), ~np.eye(setting.vocab, dtype=bool)
        right = np.mean(np.diag(parts.pop("right")) ** 2)
        for name, part in parts.items():
            unit = right if name == "label overlap" else setting.vocab**-2.0
            row = {"samples": setting.samples, "dim": setting.dim, "seed": seed, "origin": name}
            rows.append({**row, "square": np.mean(part[wrong] ** 2) / unit})
    return pd.DataFrame(rows)
