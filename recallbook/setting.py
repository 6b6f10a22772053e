"""The sizes and choices that define one experiment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from recallbook.activations import ACTIVATIONS, Activation
from recallbook.arguments import check_choice, check_flag, check_size, not_allowed

EMBEDDINGS = ("gaussian", "sphere", "orthogonal")


def check_activation(field: str, value: Any) -> str | Activation:
    """Return ``value`` if it names an activation or is an elementwise map on tensors."""
    allowed = "one of " + ", ".join(map(repr, ACTIVATIONS)) + ", or a callable on tensors that keeps the shape"
    if isinstance(value, str):
        if value not in ACTIVATIONS:
            raise not_allowed(field, value, allowed)
        return value
    if not callable(value):
        raise not_allowed(field, value, allowed)
    probe = torch.zeros(2, 3, dtype=torch.float64)
    try:
        image = value(probe)
    except Exception as error:  # a user's function may fail in any way; the cause is chained
        raise not_allowed(field, value, allowed) from error
    if not isinstance(image, torch.Tensor) or image.shape != probe.shape:
        raise not_allowed(field, value, allowed)
    checked: Activation = value
    return checked


@dataclass(frozen=True, kw_only=True)
class Setting:
    r"""Sizes and choices of one experiment, by keyword. Frozen and hashable; validates itself.

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
    TypeError
        If a field is given without its name.

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

    def __new__(cls, *positional: object, **fields: object) -> Setting:
        if positional:  # four integers in a row are easily exchanged
            raise TypeError(
                f"Setting takes keywords only, such as Setting(vocab=64, ...); got {positional} without names"
            )
        return super().__new__(cls)

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
            raise not_allowed("dim", self.dim, f"at least vocab + 2 = {self.vocab + 2} with orthogonal embeddings")

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
