"""The sizes and choices that define one experiment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
from jaxtyping import Float64

from recallbook.activations import ACTIVATIONS, Activation
from recallbook.arguments import (
    check_choice,
    check_exponent,
    check_flag,
    check_optional,
    check_size,
    not_allowed,
)
from recallbook.embedding_laws import Law, parse_law

if TYPE_CHECKING:
    import torch

LOSS_WEIGHTS = ("equal", "inverse")
OUTPUT_BIASES = ("none", "calibrated", "trained")
# fields that came later: at these values all is as it was without them, names of points included
LATER = {
    "zipf": 0.0,
    "other_zipf": None,
    "balanced": False,
    "loss_weights": "equal",
    "output_bias": "none",
    "centred": False,
}


def check_activation(field: str, value: Any) -> str | Activation:
    """Return ``value`` if it names an activation or is a deterministic, differentiable, elementwise
    map on tensors, as far as a few numbers tell."""
    if isinstance(value, str):
        return check_choice(field, value, tuple(ACTIVATIONS))
    allowed = "a name, or a function on tensors that keeps shape and floating type"
    if not callable(value):
        raise not_allowed(field, value, allowed)
    import torch

    probe = torch.linspace(-1, 1, 6, dtype=torch.float64, device="cpu").reshape(2, 3)
    before = probe.clone()
    try:
        image = value(probe)
        kept = (image.shape, image.dtype) == (before.shape, before.dtype)
    except Exception as error:  # a user's function may fail in any way; the cause is chained
        raise not_allowed(field, value, allowed) from error
    if not kept:
        raise not_allowed(field, value, allowed)
    if not torch.equal(probe, before):
        raise not_allowed(field, value, "a function that leaves its argument as it is")
    if not bool(image.isfinite().all()):
        raise not_allowed(field, value, "a function that is finite between -1 and 1")
    # each number by itself, and again: nothing but its own value may matter
    alone = torch.stack([value(x.reshape(1, 1)).reshape(()) for x in probe.flatten()])
    if not torch.allclose(image.flatten(), alone, rtol=1e-9, atol=1e-12):
        raise not_allowed(field, value, "a deterministic function of each number by itself")
    with torch.inference_mode(False), torch.enable_grad():
        given = before.clone().requires_grad_()
        try:
            (slopes,) = torch.autograd.grad(value(given).sum(), given)
        except Exception as error:
            allowed = "a function that autograd can differentiate"
            raise not_allowed(field, value, allowed) from error
    if not slopes.any() and bool((image != image[0, 0]).any()):
        raise not_allowed(
            field, value, "a function whose slope autograd knows: it gives 0 everywhere"
        )
    checked: Activation = value
    return checked


def applied(activation: str | Activation) -> Activation:
    """An activation as a function on tensors; ``ValueError`` where a caller's own fails."""
    if isinstance(activation, str):
        return ACTIVATIONS[activation]

    def checked(x: torch.Tensor) -> torch.Tensor:
        try:
            image = activation(x)
            if image.shape != x.shape:
                raise TypeError(f"of {(*x.shape,)} it makes {(*image.shape,)}")
        except Exception as error:  # a user's function may fail in any way; the cause is chained
            allowed = f"a function that no numbers make fail: {error!r}"
            raise not_allowed("activation", activation, allowed) from error
        return image

    return checked


CHECKS: dict[str, Callable[[str, Any], object]] = {
    "vocab": partial(check_size, smallest=2),
    **dict.fromkeys(("seq_len", "dim", "samples"), check_size),
    "width": partial(check_optional, check_size),
    "activation": check_activation,
    **dict.fromkeys(("trigger_in_values", "balanced", "centred"), check_flag),
    "zipf": check_exponent,
    "other_zipf": partial(check_optional, check_exponent),
    "loss_weights": partial(check_choice, choices=LOSS_WEIGHTS),
    "output_bias": partial(check_choice, choices=OUTPUT_BIASES),
}


class Choices(TypedDict, total=False):
    """The fields of a setting with a default, for type checkers."""

    width: int | None
    activation: str | Activation
    embeddings: str
    trigger_in_values: bool
    zipf: float
    other_zipf: float | None
    balanced: bool
    loss_weights: str
    output_bias: str
    centred: bool


@dataclass(frozen=True, kw_only=True)
class Setting:
    r"""Sizes and choices of one experiment, by keyword. Frozen, hashable; ``ValueError`` if not allowed.

    The model is $U W_V\,g(h)$ with $h=\sum_j a_j e'_j$ and $a=\mathrm{softmax}_j(e_j^\top W_{KQ}
    z_{\rm EOS})$, where $g(h)=h$ (Attention-only) or $g(h)=\phi(W_{\rm in}h)/\sqrt m$
    (Attention-MLP).

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
        $\phi$: ``"relu"``, ``"gelu"`` (exact), ``"tanh"``, ``"linear"``, ``"he2"``
        $=(x^2-1)/\sqrt2$, ``"he3"`` $=(x^3-3x)/\sqrt6$, or a differentiable elementwise map on
        tensors. Used only with ``width``.
    embeddings : str
        ``"gaussian"`` $N(0,I_d/d)$, ``"sphere"`` (the same, normalised), ``"orthogonal"`` or
        ``"signs"`` (coordinates $\pm1/\sqrt d$); or a structure, of mean square length 1:
        ``"power_law(0.5)"``, Gaussian with eigenvalues $\propto i^{-1/2}$; ``"low_rank(32)"``,
        Gaussian in the first 32 coordinates; ``"clustered(16, 0.5)"``, 16 Gaussian
        centres that make up half of the square length, token $v$ in cluster $v$ mod 16.
    trigger_in_values : bool
        Whether the values $e'_j$ carry the trigger ($\tau=1$, the plain residual stream) or not
        ($\tau=0$).
    zipf : float
        Tokens have frequencies $p_v\propto(v+1)^{-\alpha}$ with this $\alpha$, from 0 (all equal)
        to 4.
    other_zipf : float or None
        Another exponent for the tokens that carry no mark; ``None`` is ``zipf``.
    balanced : bool
        Whether training batches show every fact equally often (up to one, if $V$ does not divide
        $N$), whatever ``zipf`` says. Test sequences do not.
    loss_weights : str
        ``"equal"``, or ``"inverse"``: each training sequence weighs $N/(Vn_y)$, with $n_y$ the
        count of its label in the batch.
    output_bias : str
        $b$ in logits $U W_V\,g(h)+b$, fixed before the first step. ``"none"``: zero.
        ``"calibrated"``: $b_k=\log p_k$, the frequency of label $k$ in what is trained on: equal
        ones, so no bias, if batches are ``balanced`` or the loss is weighted. ``"trained"``: what
        training $b$ alone ends in, the log of label $k$'s share of the batch (of its weight, with
        ``loss_weights="inverse"``); $-\infty$ for a label that the batch lacks.
    centred : bool
        Whether token embeddings lose their mean, weighted as unmarked tokens occur; the caller's
        own tokens, too. The trigger and the outputs stay as they are.

    Notes
    -----
    The task and the model are those of the public summaries of arXiv 2603.15923; ``trigger_in_values=False``,
    the embedding laws and the scale of the MLP are ours.

    Examples
    --------
    >>> Setting(vocab=256, seq_len=32, dim=128, samples=8192).mlp_input_scale
    1.0
    """

    vocab: int
    seq_len: int
    dim: int
    samples: int
    width: int | None = None
    activation: str | Activation = "relu"
    embeddings: str = "gaussian"
    trigger_in_values: bool = False
    zipf: float = 0.0
    other_zipf: float | None = None
    balanced: bool = False
    loss_weights: str = "equal"
    output_bias: str = "none"
    centred: bool = False

    def __post_init__(self) -> None:
        for name, check in CHECKS.items():
            # frozen: this is the one moment of writing
            object.__setattr__(self, name, check(name, getattr(self, name)))
        if self.other_zipf == self.zipf:
            object.__setattr__(self, "other_zipf", None)  # one way to say it
        law = self.law
        object.__setattr__(self, "embeddings", str(law))
        if self.dim < (least := law.least_dim(self.vocab)):
            allowed = f"at least {least} with {law.name} embeddings of {self.vocab} tokens"
            raise not_allowed("dim", self.dim, allowed)

    def __repr__(self) -> str:
        """Sizes, and what differs from the defaults."""
        given = ((field, getattr(self, field.name)) for field in fields(self))
        shown = [f"{field.name}={value!r}" for field, value in given if value != field.default]
        return f"Setting({', '.join(shown)})"

    @property
    def law(self) -> Law:
        """The law of the embeddings."""
        return parse_law(self.embeddings, self.vocab, self.dim)

    @property
    def equal_facts(self) -> bool:
        """Whether tokens are equally frequent and steps plain: the world of chapters 1 to 10."""
        return all(getattr(self, name) == value for name, value in LATER.items())

    @property
    def plain_steps(self) -> bool:
        """Whether the loss has no weights and the logits no bias, however frequent tokens are."""
        return self.loss_weights == "equal" and self.output_bias == "none"

    def require_equal(self, reason: str) -> None:
        """Refuse unless facts are equal and steps plain; ``reason`` ends the sentence."""
        for name, value in LATER.items():
            if getattr(self, name) != value:
                raise not_allowed(name, getattr(self, name), f"{value!r}: {reason}")

    @property
    def mlp_input_scale(self) -> float:
        r"""Mean squared length $s^2$ of a located token: 2 with the trigger in the values, else 1."""
        return 2.0 if self.trigger_in_values else 1.0

    @property
    def feature_dim(self) -> int:
        """Number of features that the value matrix reads: ``width``, or ``dim`` without the MLP."""
        return self.dim if self.width is None else self.width

    @property
    def phi(self) -> Activation:
        r"""The activation $\phi$ as a function on tensors."""
        return applied(self.activation)


def zipf_law(vocab: int, exponent: float) -> Float64[np.ndarray, " V"]:
    r"""$p_v\propto(v+1)^{-\alpha}$, shape ``(V,)``, most frequent first."""
    weights = np.arange(1, vocab + 1, dtype=float) ** -exponent
    return np.asarray(weights / weights.sum())


def fact_frequencies(setting: Setting) -> Float64[np.ndarray, " V"]:
    """How often each token is the informative one of a test sequence."""
    return zipf_law(setting.vocab, setting.zipf)


def other_frequencies(setting: Setting) -> Float64[np.ndarray, " V"]:
    """How often each token stands where the mark does not."""
    exponent = setting.zipf if setting.other_zipf is None else setting.other_zipf
    return zipf_law(setting.vocab, exponent)
