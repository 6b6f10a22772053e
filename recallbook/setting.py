"""The sizes and choices that define one experiment, and the checks that every public argument goes through."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from recallbook.activations import ACTIVATIONS, Activation

EMBEDDINGS = ("gaussian", "sphere", "orthogonal")
LARGEST_SIZE = 2**31 - 1
LONGEST_REPR = 120


def bad(field: str, value: object, allowed: str) -> ValueError:
    """The one form of every complaint: which field, which value, what is allowed."""
    shown = " ".join(repr(value).split())
    if len(shown) > LONGEST_REPR:
        shown = shown[:LONGEST_REPR] + "..."
    return ValueError(f"{field}={shown} is not allowed: {allowed}")


def _integer(field: str, value: Any, allowed: str, smallest: int, largest: float) -> int:
    """Return ``value`` as an ``int`` in the range; NumPy integers pass, booleans do not."""
    if isinstance(value, bool | np.bool_):
        raise bad(field, value, allowed)
    try:
        number = operator.index(value)
    except TypeError:
        raise bad(field, value, allowed) from None
    if not smallest <= number <= largest:
        raise bad(field, value, allowed)
    return number


def check_size(field: str, value: Any, smallest: int = 1) -> int:
    """Return ``value`` as an ``int`` of at least ``smallest``."""
    return _integer(field, value, f"an integer from {smallest} to {LARGEST_SIZE}", smallest, LARGEST_SIZE)


def check_flag(field: str, value: Any) -> bool:
    """Return ``value`` as a ``bool``; only booleans pass."""
    if not isinstance(value, bool | np.bool_):
        raise bad(field, value, "True or False")
    return bool(value)


def check_choice(field: str, value: Any, choices: tuple[str, ...]) -> str:
    """Return ``value`` if it is one of ``choices``."""
    if not isinstance(value, str) or value not in choices:
        raise bad(field, value, "one of " + ", ".join(map(repr, choices)))
    return value


def check_seed(field: str, value: Any) -> int:
    """Return ``value`` as a non-negative ``int`` of any size."""
    return _integer(field, value, "a non-negative integer", 0, math.inf)


def check_rate(field: str, value: Any, allowed: str = "a finite number above 0") -> float:
    """Return ``value`` as a finite, positive ``float``."""
    if isinstance(value, bool | np.bool_ | str):
        raise bad(field, value, allowed)
    try:
        rate = float(value)
    except (TypeError, ValueError):
        raise bad(field, value, allowed) from None
    if not (math.isfinite(rate) and rate > 0):
        raise bad(field, value, allowed)
    return rate


def check_rates(eta: Any, gamma: Any) -> tuple[float, float] | tuple[None, None]:
    """Both rates ``None`` (the early-phase limit), or both finite and positive."""
    if eta is None and gamma is None:
        return None, None
    allowed = "a finite number above 0, or None together with the other rate (the early-phase limit)"
    return check_rate("eta", eta, allowed), check_rate("gamma", gamma, allowed)


def check_dtype(field: str, value: Any) -> torch.dtype:
    """Return ``value`` if it is ``torch.float32`` or ``torch.float64``."""
    if value not in (torch.float32, torch.float64):
        raise bad(field, value, "torch.float32 or torch.float64")
    return value


def check_device(field: str, value: Any) -> torch.device:
    """Return ``value`` as a device that this machine has."""
    allowed = "'cpu', 'cuda' or 'cuda:INDEX', on a machine that has it"
    try:
        device = torch.device(value)
    except (RuntimeError, TypeError):
        raise bad(field, value, allowed) from None
    present = device.type == "cpu" or (device.type == "cuda" and (device.index or 0) < torch.cuda.device_count())
    if not present:
        raise bad(field, value, allowed)
    return device


def check_activation(field: str, value: Any) -> str | Activation:
    """Return ``value`` if it names an activation or is an elementwise map on tensors."""
    allowed = "one of " + ", ".join(map(repr, ACTIVATIONS)) + ", or a callable on tensors that keeps the shape"
    if isinstance(value, str):
        if value not in ACTIVATIONS:
            raise bad(field, value, allowed)
        return value
    if not callable(value):
        raise bad(field, value, allowed)
    probe = torch.zeros(2, 3, dtype=torch.float64)
    try:
        image = value(probe)
    except Exception as error:  # a user's function may fail in any way; the cause is chained
        raise bad(field, value, allowed) from error
    if not isinstance(image, torch.Tensor) or image.shape != probe.shape:
        raise bad(field, value, allowed)
    return value


@dataclass(frozen=True)
class Setting:
    r"""Sizes and choices of one experiment. Frozen and hashable; validates itself.

    The model is $U W_V\,g(h)$ with $h=\sum_j a_j e'_j$ and $a=\mathrm{softmax}_j(e_j^\top W_{KQ} z_{\rm EOS})$,
    where $g(h)=h$ (Attention-only) or $g(h)=\phi(W_{\rm in}h)/\sqrt m$ (Attention-MLP).

    Parameters
    ----------
    vocab : int
        Vocabulary size $V\ge2$; also the number of facts and of labels.
    seq_len : int
        Sequence length $L\ge1$.
    dim : int
        Embedding dimension $d\ge1$; at least ``vocab + 2`` with orthogonal embeddings.
    samples : int
        Number $N\ge1$ of training sequences.
    width : int or None
        Width $m$ of the fixed random MLP; ``None`` is the Attention-only model.
    activation : str or callable
        $\phi$: ``"relu"``, ``"gelu"`` (exact), ``"tanh"``, ``"linear"``, ``"he2"`` $=(x^2-1)/\sqrt2$,
        ``"he3"`` $=(x^3-3x)/\sqrt6$, or a differentiable elementwise map on tensors. Used only with ``width``.
    embeddings : str
        ``"gaussian"`` $N(0,I_d/d)$, ``"sphere"`` (the same, normalised) or ``"orthogonal"``.
    trigger_in_values : bool
        Whether the values $e'_j$ carry the trigger ($\tau=1$, the plain residual stream) or not ($\tau=0$).

    Raises
    ------
    ValueError
        Names the field, its value and what is allowed.

    Notes
    -----
    The task and the model are those of the public summaries of arXiv 2603.15923; ``trigger_in_values=False``,
    the embedding laws and the scale of the MLP are ours.

    Examples
    --------
    >>> Setting(vocab=256, seq_len=32, dim=128, samples=8192).mlp_input_scale
    2.0
    """

    vocab: int
    seq_len: int
    dim: int
    samples: int
    width: int | None = None
    activation: str | Activation = "relu"
    embeddings: str = "gaussian"
    trigger_in_values: bool = True

    def __post_init__(self) -> None:
        checked: dict[str, object] = {
            "vocab": check_size("vocab", self.vocab, smallest=2),
            "seq_len": check_size("seq_len", self.seq_len),
            "dim": check_size("dim", self.dim),
            "samples": check_size("samples", self.samples),
            "width": None if self.width is None else check_size("width", self.width),
            "activation": check_activation("activation", self.activation),
            "embeddings": check_choice("embeddings", self.embeddings, EMBEDDINGS),
            "trigger_in_values": check_flag("trigger_in_values", self.trigger_in_values),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)  # frozen: this is the one moment of writing
        if self.embeddings == "orthogonal" and self.dim < self.vocab + 2:
            raise bad("dim", self.dim, f"at least vocab + 2 = {self.vocab + 2} with orthogonal embeddings")

    @property
    def mlp_input_scale(self) -> float:
        r"""Mean squared length $s^2$ of a located token, 2 with the trigger in the values and 1 without."""
        return 2.0 if self.trigger_in_values else 1.0

    @property
    def feature_dim(self) -> int:
        """Number of features that the value matrix reads, ``width`` with the MLP and ``dim`` without."""
        return self.dim if self.width is None else self.width

    @property
    def phi(self) -> Activation | Callable[[torch.Tensor], torch.Tensor]:
        r"""The activation $\phi$ as a function on tensors."""
        return ACTIVATIONS[self.activation] if isinstance(self.activation, str) else self.activation
