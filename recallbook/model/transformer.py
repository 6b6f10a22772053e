"""The one-layer transformer, written plainly: every formula of the book can be checked against it."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from recallbook.arguments import Device, not_allowed
from recallbook.data.task import Problem, check_problem


class RecallTransformer(nn.Module):
    r"""Single-layer attention, with or without a fixed random MLP, starting from zero.

    $$a_j=\mathrm{softmax}_j(e_j^\top W_{KQ}z_{\rm EOS}),\qquad h=\sum_j a_j e'_j,\qquad
    \text{logits}=U W_V\,g(h),$$
    with $e_j=z_{x_j}+\mathbf 1\{j=\ell\}t$, $e'_j=e_j$ or $z_{x_j}$, and $g(h)=h$ or $\phi(W_{\rm in}h)/\sqrt m$.

    Parameters
    ----------
    problem : Problem
        Gives the embeddings and $W_{\rm in}$ (buffers), the floating type and the device.
    dtype, device
        Override the problem's.

    Attributes
    ----------
    value : Parameter ``(d, d)`` or ``(d, m)``
        $W_V$, zero at the start.
    key_query : Parameter ``(d, d)``
        $W_{KQ}$, zero at the start.
    """

    input_embeddings: Float[Tensor, "V d"]
    output_embeddings: Float[Tensor, "V d"]
    trigger: Float[Tensor, " d"]
    query: Float[Tensor, " d"]
    mlp_weights: Float[Tensor, "m d"] | None

    def __init__(self, problem: Problem, *, dtype: torch.dtype | None = None, device: Device | None = None) -> None:
        super().__init__()
        problem = check_problem(problem, dtype, device)
        self.setting = problem.setting
        for name in ("input_embeddings", "output_embeddings", "trigger", "query", "mlp_weights"):
            self.register_buffer(name, getattr(problem, name))
        like = problem.input_embeddings
        self.value = nn.Parameter(like.new_zeros(self.setting.dim, self.setting.feature_dim))
        self.key_query = nn.Parameter(like.new_zeros(self.setting.dim, self.setting.dim))

    def forward(self, tokens: Tensor, positions: Tensor) -> Float[Tensor, "B V"]:
        """Logits ``(B, V)`` for tokens ``(B, L)`` and informative positions ``(B,)``."""
        keys = self._keys(tokens, positions)  # (B, L, d)
        values = keys if self.setting.trigger_in_values else self.input_embeddings[tokens]  # (B, L, d)
        weights = self._weights(keys)  # (B, L)
        located = (weights[:, None, :] @ values)[:, 0]  # (B, d)
        return self.features(located) @ self.value.T @ self.output_embeddings.T

    def attention(self, tokens: Tensor, positions: Tensor) -> Float[Tensor, "B L"]:
        """Attention weights ``(B, L)``, for the same arguments."""
        return self._weights(self._keys(tokens, positions))

    def features(self, located: Float[Tensor, "B d"]) -> Float[Tensor, "B m"]:
        r"""$g(h)$: ``(B, d)`` itself, or $\phi(W_{\rm in}h)/\sqrt m$ of shape ``(B, m)``."""
        if self.mlp_weights is None:
            return located
        return self.setting.phi(located @ self.mlp_weights.T).div(self.mlp_weights.shape[0] ** 0.5)

    def _keys(self, tokens: Tensor, positions: Tensor) -> Float[Tensor, "B L d"]:
        check_sequences(tokens, positions, self.setting.vocab)
        marked = torch.arange(tokens.shape[1], device=tokens.device) == positions[:, None]  # (B, L)
        return self.input_embeddings[tokens] + marked[..., None] * self.trigger

    def _weights(self, keys: Float[Tensor, "B L d"]) -> Float[Tensor, "B L"]:
        return torch.softmax(keys @ (self.key_query @ self.query), dim=1)


def check_sequences(tokens: Tensor, positions: Tensor, vocab: int) -> None:
    """Refuse unless tokens are integers ``(B, L)`` below ``vocab``, and positions ``(B,)`` below ``L``."""
    for name, tensor, axes, types in (
        ("tokens", tokens, 2, (torch.int32, torch.int64)),
        ("positions", positions, 1, (torch.int64,)),
    ):
        if not isinstance(tensor, torch.Tensor) or tensor.dtype not in types or tensor.ndim != axes:
            allowed = " or ".join(str(kind).removeprefix("torch.") for kind in types)
            raise not_allowed(name, _shape(tensor), f"an {allowed} tensor with {axes} axes")
    if positions.shape[0] != tokens.shape[0]:
        raise not_allowed("positions", _shape(positions), f"one position for each of {tokens.shape[0]} sequences")
    for name, tensor, high in (("tokens", tokens, vocab), ("positions", positions, tokens.shape[1])):
        if tensor.numel() and not (0 <= int(tensor.min()) and int(tensor.max()) < high):
            raise not_allowed(name, [int(tensor.min()), int(tensor.max())], f"entries from 0 to {high - 1}")


def _shape(tensor: object) -> object:
    return (tuple(tensor.shape), tensor.dtype) if isinstance(tensor, Tensor) else tensor
