r"""What the heads beside the one that locks on add, in one layer without a residual stream (chapter
12).

The layer's output is a sum over heads. *Best alone*: every other head's part is replaced by its
mean over fresh sequences; *others alone*: the best head's is. Accuracy is measured before and
after, on fresh sequences and on those of the training. ``python -m recallbook table survives_heads
STORE`` makes the runs, ``--export`` writes the table."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from recallbook.sweeps.archive import load_results
from recallbook_studies.ch12 import sizes, tuning
from recallbook_studies.ch12.measures import best, heads, share_right
from recallbook_studies.ch12.models import LadderModel, Layer
from recallbook_studies.ch12.rungs import RUNGS
from recallbook_studies.ch12.training import TEST, problem_for, train
from recallbook_studies.ch12.writing import Written, write

load = partial(load_results, "survives_heads")  # the committed rows
RUNG = RUNGS["four heads"]
KEPT = ("all", "best alone", "others alone")


def keys() -> list[str]:
    """Every run, "decay N seed": at the tuned decay, and at the smallest that was tried."""
    counts = sizes.samples(RUNG, sizes.VOCAB)
    return [
        f"{decay:g} {count} {seed}"
        for decay in chosen_decays()
        for count in counts
        for seed in sizes.SEEDS
    ]


def chosen_decays() -> list[float]:
    """The tuned decay, and the smallest that was tried."""
    return [tuning.pair_of(RUNG)["decay"], min(tuning.DECAYS)]


def parts(model: LadderModel, written: Written) -> tuple[Float[Tensor, "n H d"], list[Tensor]]:
    """What each head adds to the last position's output, without the shared bias; and the attention
    weights."""
    layer, trigger = model.layers[0], model.trigger
    assert isinstance(layer, Layer) and trigger is not None
    attention, stream = layer.self_attn, model.embedding(written.tokens)
    if model.positions is not None:
        stream = stream + model.positions
    here = torch.arange(stream.shape[1]) == written.marked[:, None]
    stream = stream + here[..., None] * trigger
    _, seen = model(written.tokens, written.marked)
    dim, heads_of = stream.shape[-1], (attention.num_heads, attention.head_dim)
    values = stream @ attention.in_proj_weight[2 * dim :].T + attention.in_proj_bias[2 * dim :]
    read = torch.einsum("nhat,nthe->nhe", seen[0], values.unflatten(-1, heads_of))
    out = attention.out_proj.weight.view(dim, *heads_of)
    return torch.einsum("nhe,dhe->nhd", read, out), seen


def accuracies(model: LadderModel, written: Written) -> dict[str, float]:
    """Accuracy with all heads, with the best alone, and with the others alone: a head that is taken
    out is replaced by its mean over these sequences."""
    layer = model.layers[0]
    assert isinstance(layer, Layer)
    bias = layer.self_attn.out_proj.bias
    with torch.no_grad():
        added, seen = parts(model, written)
        means = added.mean(dim=0)
        first = best(heads(seen, written.informative)).head
        found = {}
        for kept in KEPT:
            out = [
                h
                for h in range(added.shape[1])
                if kept != "all" and (h == first) == (kept == "others alone")
            ]
            changed = added.clone()
            changed[:, out] = means[out]
            total = changed.sum(dim=1) + bias
            found[kept] = share_right(model.output(total), written.labels)
    return found


@lru_cache(maxsize=1)
def trained(decay: float, count: int) -> list[LadderModel]:
    """The models of all seeds."""
    rate = tuning.pair_of(RUNG)["rate"]
    return train(
        RUNG, sizes.setting(sizes.BASE, count), sizes.SEEDS, rate=rate, decay=decay, looks=1
    ).models


def row(key: str) -> dict[str, Any]:
    """One run: accuracy on fresh and on trained sequences, with heads taken out. All seeds are
    trained together."""
    decay, count, seed = key.split()
    model = trained(float(decay), int(count))[sizes.SEEDS.index(int(seed))]
    problem = problem_for(
        RUNG, sizes.setting(sizes.BASE, int(count)), int(seed), dtype=torch.float32
    )
    fresh = accuracies(model, write(problem.fresh(TEST), RUNG.trigger, sizes.VOCAB))
    shown = accuracies(model, write(problem.sequences, RUNG.trigger, sizes.VOCAB))
    row = {"key": key, "decay": float(decay), "samples": int(count), "seed": int(seed)}
    row |= {f"fresh, {kept}": fresh[kept] for kept in KEPT}
    return row | {f"trained, {kept}": shown[kept] for kept in KEPT}
