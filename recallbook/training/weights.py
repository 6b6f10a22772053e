"""What the three steps leave behind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jaxtyping import Float
from torch import Tensor


def require_finite(*weights: Any) -> None:
    """Say at once that training has left what floating numbers can hold.

    Raises
    ------
    ArithmeticError
        If a weight is infinite, or none.
    """
    if not all(bool(matrix.isfinite().all()) for matrix in weights):
        raise ArithmeticError("weights are not finite: smaller rates are needed")


@dataclass(frozen=True, eq=False)
class Weights:
    r"""The matrices of the three gradient steps.

    Attributes
    ----------
    value1 : Tensor ``(d, d)`` or ``(d, m)``
        $W_V^{(1)}$; in the early-phase limit $W_V^{(1)}/\eta$.
    key_query : Tensor ``(d, d)``
        $W_{KQ}^{(1)}$; in the limit $W_{KQ}^{(1)}/(\gamma\eta)$. Of rank one: a vector times $z_{\rm EOS}^\top$.
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
