"""The checks that every public argument goes through, and the one form of their complaints."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, Union

import numpy as np
from jaxtyping import Float64

if TYPE_CHECKING:  # torch is loaded by whoever makes tensors
    import torch

Device = Union[str, "torch.device"]
Checked = TypeVar("Checked")
LARGEST_SIZE = 2**31 - 1
# NumPy's own error state, whatever the reader's is: @np.errstate(**NUMPY) at what computes
NUMPY = dict[str, Any](over="warn", under="ignore", divide="warn", invalid="warn")
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
    """Return ``value`` as a ``float``; neither texts, bytes, booleans nor complex numbers pass."""
    if isinstance(value, bool | np.bool_ | str | bytes | bytearray | np.complexfloating):
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
    import torch

    if not isinstance(value, torch.dtype) or value not in (torch.float32, torch.float64):
        raise not_allowed(field, value, "torch.float32 or torch.float64")
    return value


def check_device(field: str, value: Any) -> torch.device:
    """Return ``value`` as a device that this machine has."""
    import torch

    allowed = "'cpu', 'cuda' or 'cuda:INDEX', on a machine that has it"
    try:
        device = torch.device(value)
    except (RuntimeError, TypeError):
        raise not_allowed(field, value, allowed) from None
    present = (device.type == "cpu" and not device.index) or (
        device.type == "cuda" and (device.index or 0) < torch.cuda.device_count()
    )
    if not present and device.type == "cuda" and torch.cuda.device_count() == 0:
        raise not_allowed(field, value, "'cpu': this machine has no CUDA device that torch can use")
    if not present:
        raise not_allowed(field, value, allowed)
    return device


def check_drawn(seed: Any, dtype: object, device: Any) -> tuple[int, torch.dtype, torch.device]:
    """Return what every draw takes: its seed, the type of its numbers, and where they lie."""
    return check_seed("seed", seed), check_dtype("dtype", dtype), check_device("device", device)


def check_finite(field: str, tensor: torch.Tensor) -> torch.Tensor:
    """Return ``tensor`` if all its numbers are finite."""
    if not bool(tensor.isfinite().all()):
        count = int((~tensor.isfinite()).sum())
        raise not_allowed(
            field, f"with {count} numbers that are infinite or none", "finite numbers"
        )
    return tensor


# Tables

SMALLEST = 1e-30  # of a table's largest entry


def real_table(field: str, table: Any) -> Float64[np.ndarray, " ..."]:
    """A float64 copy on the host of a NumPy array or tensor of any floating type, all of it
    finite."""
    import torch

    if isinstance(table, np.ma.MaskedArray):
        allowed = "an array without a mask: what is masked would be taken as it is"
        raise not_allowed(field, "a masked array", allowed)
    if isinstance(table, torch.Tensor):
        floating = table.is_floating_point()
    else:
        floating = isinstance(table, np.ndarray) and np.issubdtype(table.dtype, np.floating)
    if not floating:
        shown = f"{type(table).__name__} of {table.dtype}" if hasattr(table, "dtype") else table
        raise not_allowed(field, shown, "a NumPy array or a tensor of real floating numbers")
    # NumPy has no bfloat16: tensors are converted before they become arrays
    if isinstance(table, torch.Tensor):
        table = table.detach().to("cpu", torch.float64).numpy()
    copied = np.array(table, dtype=np.float64, order="C")
    check_finite(field, torch.from_numpy(copied))
    return copied


def computable(field: str, table: Float64[np.ndarray, " ..."]) -> Float64[np.ndarray, " ..."]:
    """Return the table if products of a few of its entries can neither overflow nor vanish."""
    largest = float(np.abs(table).max(initial=0.0))
    if largest and not SMALLEST <= largest <= 1 / SMALLEST:
        allowed = f"a largest entry from {SMALLEST:g} to {1 / SMALLEST:g}: squares and products of them are taken"
        raise not_allowed(field, f"with a largest entry of {largest:g}", allowed)
    return table


def repeated_rows(table: Float64[np.ndarray, "rows d"]) -> int:
    """How many rows equal an earlier one."""
    # -0.0 + 0.0 is 0.0: equal numbers, equal bytes
    return len(table) - len({row.tobytes() for row in table + 0.0})
