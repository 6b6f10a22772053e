"""Random small settings for tests: both models, all embeddings and activations, trigger in or out
of the values."""

import numpy as np
import torch
from sampling import generator

import recallbook as rb

ACTIVATIONS = ("relu", "gelu", "tanh", "linear", "he2", "he3")  # fixed: seeds keep their settings
EMBEDDINGS = ("gaussian", "sphere", "orthogonal")


def random_setting(seed: int, **fixed) -> rb.Setting:
    """A setting with ``V*L*N`` small enough for the oracle; the seed also walks through all the
    choices."""
    rng = np.random.default_rng([2, seed])
    vocab = int(rng.integers(2, 24))
    embeddings = EMBEDDINGS[seed % len(EMBEDDINGS)]
    least = vocab + 2 if embeddings == "orthogonal" else 1
    values = {
        "vocab": vocab,
        "seq_len": int(rng.integers(1, 12)),
        "dim": least + int(rng.integers(0, 16)),
        "samples": int(rng.integers(1, 80)),
        "width": None if seed % 2 else int(rng.integers(1, 40)),
        "activation": ACTIVATIONS[seed // 2 % len(ACTIVATIONS)],
        "embeddings": embeddings,
        "trigger_in_values": bool(seed // 4 % 2),
    }
    return rb.Setting(**{**values, **fixed})


def largest_difference(ours, theirs, least=0.0) -> float:
    """Largest absolute difference relative to the largest entry of ``theirs`` (absolute where that
    is zero).

    What cancels to zero is rounding in both: entries below ``least`` are compared on that scale.
    """
    scale = max(float(theirs.abs().max()), least) or 1.0
    return float((ours - theirs).abs().max()) / scale


def at_random_weights(model, size: float, seed: int = 1):
    """The model, whose weights are normal numbers of this size."""
    random = generator(seed)
    for one in model.parameters():
        one.data = size * torch.randn(one.shape, generator=random, dtype=one.dtype)
    return model
