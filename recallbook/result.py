"""What every result does: print itself in a few lines, and become a dictionary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, is_dataclass
from typing import Any

OUTCOMES = ("accuracy", "lock_on", "recall")


class Result:
    """Printed to three digits, the three outcomes with their errors, tables by their shapes."""

    def to_dict(self) -> dict[str, Any]:
        """Return public fields by name as numbers, texts, lists and dictionaries."""
        return {name: _plain(value) for name, value in vars(self).items() if name[0] != "_"}

    def __repr__(self) -> str:
        shown = {name: value for name, value in vars(self).items() if name[0] != "_"}
        errors = shown.pop("expected_error", None)
        if errors is None and isinstance(shown.get("error"), Result):
            errors = shown.pop("error")
        parts = []
        for name, value in shown.items():
            text = (
                f"{value:.3f}" if name in OUTCOMES and isinstance(value, float) else _short(value)
            )
            off = f" ± {getattr(errors, name):.3f}" if errors and name in OUTCOMES else ""
            parts.append(f"{name}={text}{off}")
        return f"{type(self).__name__}({', '.join(parts)})"


@dataclass(frozen=True, repr=False)
class Outcome(Result):
    r"""Three fractions between 0 and 1, or how far each is off. A tie among k for the largest counts as
    1/k (:mod:`recallbook.model.ties`).

    Attributes
    ----------
    accuracy : float
        Fresh test sequences whose arg max logit is $\pi(x_{\ell})$: facts count as often as they
        occur.
    lock_on : float
        Fresh test sequences whose largest attention weight is at $\ell$.
    recall : float
        Tokens $v$ whose label is the arg max when attention sits exactly on $v$ as the informative
        token ($h=z_v+t$, or $z_v$ when the values do not carry the trigger): every fact counts
        once.
    """

    accuracy: float
    lock_on: float
    recall: float


@dataclass(frozen=True, repr=False)
class MeanOutcome(Outcome):
    """Means over ``seeds`` many draws, with their standard errors ``error``."""

    error: Outcome
    seeds: int


def _plain(value: Any) -> Any:
    if isinstance(value, Result):
        return value.to_dict()
    if is_dataclass(value):
        value = vars(value)
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    return value.tolist() if hasattr(value, "tolist") else value


def _short(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{name}: {_short(part)}' for name, part in value.items())}}}"
    if hasattr(value, "shape"):
        return f"{tuple(value.shape)}"
    return f"{value:.3g}" if isinstance(value, float) else repr(value)
