"""The one-layer transformer, written plainly: every formula can be checked against it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from recallbook.arguments import Device, not_allowed
from recallbook.data.residuals import output_bias
from recallbook.data.task import EMBEDDED, Problem, check_problem
from recallbook.result import Result

BUFFERS = (*EMBEDDED.values(), "mlp_weights")
HARD = 1e12  # length of an attention vector whose softmax is hard, but for ties up to rounding


class RecallTransformer(nn.Module):
    r"""Single-layer attention, with or without a fixed random MLP, at zero or at given weights
    (eq-model, chapter 3).

    $$a_j=\mathrm{softmax}_j(e_j^\top W_{KQ}z_{\rm EOS}),\qquad h=\sum_j a_j e'_j,\qquad
    \text{logits}=U W_V\,g(h)+b,$$ with $e_j=z_{x_j}+\mathbf 1\{j=\ell\}t$, $e'_j=e_j$ or $z_{x_j}$,
    and $g(h)=h$ or $\phi(W_{\rm in}h)/\sqrt m$. The bias $b$ is fixed, and zero unless the setting
    has one (``output_bias`` of :mod:`recallbook.data.residuals`).

    Parameters
    ----------
    problem : Problem
        Gives the embeddings, $W_{\rm in}$ and $b$ (buffers), the floating type and the device.
    weights : Weights or None
        What three steps ended with; numbers to look at, without gradients. Those of the early-phase limit
        are scaled until attention is hard.
    dtype, device
        Override the problem's.

    Attributes
    ----------
    value : Parameter ``(d, d)`` or ``(d, m)``
        $W_V$, zero without weights.
    key_query : Parameter ``(d, d)``
        $W_{KQ}$, zero without weights.
    input_embeddings, output_embeddings : Tensor ``(V, d)``
        $Z$ and $U$: the problem's, unless others are put in their place.
    """

    input_embeddings: Float[Tensor, "V d"]
    output_embeddings: Float[Tensor, "V d"]
    trigger: Float[Tensor, " d"]
    query: Float[Tensor, " d"]
    mlp_weights: Float[Tensor, "m d"] | None
    output_bias: Float[Tensor, " V"]

    def __init__(
        self,
        problem: Problem,
        weights: Weights | None = None,
        *,
        dtype: torch.dtype | None = None,
        device: Device | None = None,
    ) -> None:
        super().__init__()
        problem = check_problem(problem, dtype, device)
        self.setting = problem.setting
        for name in BUFFERS:
            self.register_buffer(name, getattr(problem, name))
        self.register_buffer("output_bias", output_bias(problem))
        like = problem.input_embeddings
        self.value = nn.Parameter(like.new_zeros(self.setting.dim, self.setting.feature_dim))
        self.key_query = nn.Parameter(like.new_zeros(self.setting.dim, self.setting.dim))
        if weights is not None:
            self._take(weights)

    def extra_repr(self) -> str:
        """Sizes."""
        return repr(self.setting)

    def _take(self, weights: Weights) -> None:
        if not isinstance(weights, Weights) or weights.value2.shape != self.value.shape:
            raise not_allowed("weights", weights, "what three_steps gives for this problem")
        self.requires_grad_(False)
        self.value.copy_(weights.value2)
        self.key_query.copy_(weights.key_query)
        length = self.attention_vector.norm()
        if weights.limit and length > 0:
            self.key_query.mul_(HARD / length)

    @property
    def attention_vector(self) -> Float[Tensor, " d"]:
        r"""$w=W_{KQ}z_{\rm EOS}$, all that attention has learned: a score is $e_j^\top w$."""
        return self.key_query @ self.query

    def forward(self, tokens: Tensor, positions: Tensor) -> Float[Tensor, "B V"]:
        """Logits ``(B, V)`` for tokens ``(B, L)`` and informative positions ``(B,)``."""
        keys = self._keys(tokens, positions)  # (B, L, d)
        # (B, L, d)
        values = keys if self.setting.trigger_in_values else self.input_embeddings[tokens]
        weights = self._weights(keys)  # (B, L)
        located = (weights[:, None, :] @ values)[:, 0]  # (B, d)
        return self.features(located) @ self.value.T @ self.output_embeddings.T + self.output_bias

    def attention(self, tokens: Tensor, positions: Tensor) -> Float[Tensor, "B L"]:
        """Attention weights ``(B, L)``, for the same arguments."""
        return self._weights(self._keys(tokens, positions))

    def features(self, located: Float[Tensor, "B d"]) -> Float[Tensor, "B m"]:
        r"""$g(h)$: ``(B, d)`` itself, or $\phi(W_{\rm in}h)/\sqrt m$ of shape ``(B, m)``."""
        if self.mlp_weights is None:
            return located
        return self.setting.phi(located @ self.mlp_weights.T).div(self.mlp_weights.shape[0] ** 0.5)

    def problem_as_held(self, problem: Problem) -> Problem:
        """The problem with the embeddings that this model holds, in the problem's floating type and
        on its device.

        Those that are not the problem's are the caller's own (:attr:`recallbook.Problem.own`): no
        law drew them."""
        held = {name: getattr(self, name) for name in BUFFERS}
        if all(table is getattr(problem, name) for name, table in held.items()):
            return problem
        like = problem.input_embeddings
        moved: dict[str, Any] = {
            name: table.to(like) for name, table in held.items() if table is not None
        }
        own = tuple(
            side
            for side, name in EMBEDDED.items()
            if side in problem.own or not torch.equal(moved[name], getattr(problem, name))
        )
        return replace(problem, **moved, own=own)

    def _keys(self, tokens: Tensor, positions: Tensor) -> Float[Tensor, "B L d"]:
        check_sequences(tokens, positions, self.setting.vocab)
        marked = torch.arange(tokens.shape[1], device=tokens.device) == positions[:, None]  # (B, L)
        return self.input_embeddings[tokens] + marked[..., None] * self.trigger

    def _weights(self, keys: Float[Tensor, "B L d"]) -> Float[Tensor, "B L"]:
        return torch.softmax(keys @ self.attention_vector, dim=1)


@dataclass(frozen=True, eq=False, repr=False)
class Weights(Result):
    r"""The matrices of the three gradient steps (alg-three-steps and def-limit, chapter 3).

    Attributes
    ----------
    value1 : Tensor ``(d, d)`` or ``(d, m)``
        $W_V^{(1)}$; in the early-phase limit $W_V^{(1)}/\eta$.
    key_query : Tensor ``(d, d)``
        $W_{KQ}^{(1)}$; in the limit $W_{KQ}^{(1)}/(\gamma\eta)$. Of rank one: a vector times
        $z_{\rm EOS}^\top$.
    value2 : Tensor like ``value1``
        $W_V^{(2)}$; in the limit $W_V^{(2)}/\gamma$.
    eta, gamma : float or None
        The rates; both ``None`` in the early-phase limit.
    """

    value1: Float[Tensor, "d m"]
    key_query: Float[Tensor, "d d"]
    value2: Float[Tensor, "d m"]
    eta: float | None
    gamma: float | None

    @property
    def limit(self) -> bool:
        """Whether these are the weights of the early-phase limit, per unit rate."""
        return self.eta is None


def check_sequences(tokens: Tensor, positions: Tensor, vocab: int) -> None:
    """Refuse unless tokens are integers ``(B, L)`` below V, and positions ``(B,)`` below L."""
    _check_integers("tokens", tokens, 2, (torch.int32, torch.int64), vocab)
    _check_integers("positions", positions, 1, (torch.int64,), tokens.shape[1])
    if positions.shape[0] != tokens.shape[0]:
        allowed = f"one position for each of {tokens.shape[0]} sequences"
        raise not_allowed("positions", (tuple(positions.shape), positions.dtype), allowed)


def _check_integers(
    name: str, tensor: Tensor, axes: int, types: tuple[torch.dtype, ...], high: int
) -> None:
    if not isinstance(tensor, Tensor) or tensor.dtype not in types or tensor.ndim != axes:
        given = isinstance(tensor, Tensor)
        allowed = " or ".join(str(kind).removeprefix("torch.") for kind in types)
        found = (tuple(tensor.shape), tensor.dtype) if given else tensor
        raise not_allowed(name, found, f"an {allowed} tensor with {axes} axes")
    if tensor.numel() and not (0 <= int(tensor.min()) and int(tensor.max()) < high):
        ends = [int(tensor.min()), int(tensor.max())]
        raise not_allowed(name, ends, f"entries from 0 to {high - 1}")
