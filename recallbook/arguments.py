"""The checks that every public argument goes through, and the one form of their complaints."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import torch

Device = str | torch.device
Checked = TypeVar("Checked")
LARGEST_SIZE = 2**31 - 1
LONGEST_REPR = 120


def not_allowed(field: str, value: object, allowed: str) -> ValueError:
    """The one form of every complaint: which field, which value, what is allowed."""
    try:
        shown = " ".join(repr(value).split())
    except ValueError:  # Python writes no integer of more than some thousand digits
        shown = (
            f"an integer of {int(value).bit_length()} bits"
            if isinstance(value, int)
            else type(value).__name__
        )
    if len(shown) > LONGEST_REPR:
        shown = shown[:LONGEST_REPR] + "..."
    return ValueError(f"{field}={shown} is not allowed: {allowed}")


def _integer(field: str, value: Any, allowed: str, smallest: int, largest: float) -> int:
    """Return ``value`` as an ``int`` in the range; NumPy integers pass, booleans do not."""
    if isinstance(value, bool | np.bool_):
        raise not_allowed(field, value, allowed)
    try:
        number = operator.index(value)
    except TypeError:
        raise not_allowed(field, value, allowed) from None
    if not smallest <= number <= largest:
        raise not_allowed(field, value, allowed)
    return number


def check_size(field: str, value: Any, smallest: int = 1) -> int:
    """Return ``value`` as an ``int`` of at least ``smallest``."""
    return _integer(
        field, value, f"an integer from {smallest} to {LARGEST_SIZE}", smallest, LARGEST_SIZE
    )


def check_optional(check: Callable[[str, Any], Checked], field: str, value: Any) -> Checked | None:
    """Return ``None``, or what passes the check."""
    return None if value is None else check(field, value)


def check_flag(field: str, value: object) -> bool:
    """Return ``value`` as a ``bool``; only booleans pass."""
    if not isinstance(value, bool | np.bool_):
        raise not_allowed(field, value, "True or False")
    return bool(value)


def check_choice(field: str, value: object, choices: tuple[str, ...]) -> str:
    """Return ``value`` if it is one of ``choices``."""
    if not isinstance(value, str) or value not in choices:
        raise not_allowed(field, value, "one of " + ", ".join(map(repr, choices)))
    return value


def check_seed(field: str, value: Any) -> int:
    """Return ``value`` as a non-negative ``int`` of any size."""
    return _integer(field, value, "a non-negative integer", 0, math.inf)


def check_number(field: str, value: Any, allowed: str) -> float:
    """Return ``value`` as a ``float``; neither texts nor booleans pass."""
    if isinstance(value, bool | np.bool_ | str):
        raise not_allowed(field, value, allowed)
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise not_allowed(field, value, allowed) from None


def check_rate(field: str, value: Any, allowed: str = "a finite number above 0") -> float:
    """Return ``value`` as a finite, positive ``float``."""
    rate = check_number(field, value, allowed)
    if not (math.isfinite(rate) and rate > 0):
        raise not_allowed(field, value, allowed)
    return rate


def check_share(field: str, value: Any) -> float:
    """Return ``value`` as a ``float`` strictly between 0 and 1."""
    allowed = "a number between 0 and 1"
    if (share := check_rate(field, value, allowed)) >= 1:
        raise not_allowed(field, value, allowed)
    return share


def check_rates(eta: Any, gamma: Any) -> tuple[float, float] | tuple[None, None]:
    """Both rates ``None`` (the early-phase limit), or both finite and positive."""
    if eta is None and gamma is None:
        return None, None
    allowed = (
        "a finite number above 0, or None together with the other rate (the early-phase limit)"
    )
    return check_rate("eta", eta, allowed), check_rate("gamma", gamma, allowed)


def check_dtype(field: str, value: object) -> torch.dtype:
    """Return ``value`` if it is ``torch.float32`` or ``torch.float64``."""
    if not isinstance(value, torch.dtype) or value not in (torch.float32, torch.float64):
        raise not_allowed(field, value, "torch.float32 or torch.float64")
    return value


def check_device(field: str, value: Any) -> torch.device:
    """Return ``value`` as a device that this machine has."""
    allowed = "'cpu', 'cuda' or 'cuda:INDEX', on a machine that has it"
    try:
        device = torch.device(value)
    except (RuntimeError, TypeError):
        raise not_allowed(field, value, allowed) from None
    present = device.type == "cpu" or (
        device.type == "cuda" and (device.index or 0) < torch.cuda.device_count()
    )
    if not present and device.type == "cuda" and torch.cuda.device_count() == 0:
        raise not_allowed(field, value, "'cpu': this machine has no CUDA device that torch can use")
    if not present:
        raise not_allowed(field, value, allowed)
    return device


def check_finite(field: str, tensor: torch.Tensor) -> torch.Tensor:
    """Return ``tensor`` if all its numbers are finite."""
    if not bool(tensor.isfinite().all()):
        count = int((~tensor.isfinite()).sum())
        raise not_allowed(
            field, f"with {count} numbers that are infinite or none", "finite numbers"
        )
    return tensor
