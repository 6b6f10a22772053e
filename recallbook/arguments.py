"""The checks that every public argument goes through, and the one form of their complaints."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from functools import partial
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
NO_NUMBER = r"bool|complex\d*|str|bytes|bytearray|.?[US]\d+"  # kinds


def not_allowed(field: str, value: object, allowed: str) -> ValueError:
    """The one form of every complaint: which field, which value, what is allowed, and of the names
    in quotes there the nearest."""
    try:
        shown = " ".join(repr(value).split())
    except ValueError:  # Python writes no integer of more than some thousand digits
        shown = f"{type(value).__name__} of too many digits"
    if len(shown) > LONGEST_REPR:
        shown = shown[:LONGEST_REPR] + "..."
    names = re.findall(r"'([\w-][^'(]*)", allowed)
    near = get_close_matches(shown.strip("'").lower(), names, 1)
    hint = f"; the nearest is {near[0]!r}" if near else ""
    return ValueError(f"{field}={shown} is not allowed: {allowed}{hint}")


def no_number(value: object) -> bool:
    """Whether Python would make a real number of a value, an array or a tensor that is none."""
    kind = str(getattr(value, "dtype", type(value).__name__)).removeprefix("torch.")
    return re.fullmatch(NO_NUMBER, kind) is not None


def check_size(
    field: str,
    value: Any,
    smallest: int = 1,
    largest: float = LARGEST_SIZE,
    allowed: str = "",
) -> int:
    """Return ``value`` as an ``int`` in the range; NumPy integers pass, booleans do not."""
    allowed = allowed or f"an integer from {smallest} to {largest}"
    if no_number(value):
        raise not_allowed(field, value, allowed)
    try:
        number = operator.index(value)
    except (TypeError, RuntimeError):  # a meta tensor's
        raise not_allowed(field, value, allowed) from None
    if not smallest <= number <= largest:
        raise not_allowed(field, value, allowed)
    return number


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


def check_choices(field: str, values: object, choices: tuple[str, ...]) -> tuple[str, ...]:
    """Return all of ``values`` if each is one of ``choices``."""
    array = getattr(values, "ndim", 1) == 1  # or whatever has no dimensions
    if isinstance(values, str) or not isinstance(values, Iterable) or not array:
        raise not_allowed(field, values, f"a tuple, a list or an array of some of {choices}")
    return tuple(check_choice(field, value, choices) for value in values)


# value to a non-negative integer of any size
check_seed = partial(check_size, smallest=0, largest=math.inf, allowed="a non-negative integer")


def check_number(field: str, value: Any, allowed: str, holds: Callable[[float], bool]) -> float:
    """Return ``value`` as a ``float`` of which it ``holds``; neither texts, bytes, booleans nor
    complex numbers pass."""
    if not no_number(value):
        try:
            if holds(number := float(value)):
                return number
        except (TypeError, ValueError, OverflowError, RuntimeError):
            pass
    raise not_allowed(field, value, allowed)


def check_rate(field: str, value: Any, allowed: str = "a finite number above 0") -> float:
    """Return ``value`` as a finite, positive ``float``."""
    return check_number(field, value, allowed, lambda rate: 0 < rate < math.inf)


# value to a float strictly between 0 and 1
check_share = partial(
    check_number, allowed="a number between 0 and 1", holds=lambda share: 0 < share < 1
)

# from 0 to 4
check_exponent = partial(
    check_number, allowed="a number from 0 to 4", holds=lambda exponent: 0 <= exponent <= 4
)


def check_rates(eta: Any, gamma: Any) -> tuple[float, float] | tuple[None, None]:
    """Both rates ``None`` (the early-phase limit), or both finite and positive."""
    if eta is None and gamma is None:
        return None, None
    allowed = (
        "a finite number above 0, or None together with the other rate (the early-phase limit)"
    )
    return check_rate("eta", eta, allowed), check_rate("gamma", gamma, allowed)


def check_schedule(field: str, value: Any, steps: int) -> tuple[float, ...]:
    """A rate for each of so many steps: a number is that of every step."""
    allowed = "a finite number above 0, the logit that one step writes, or one for each step"
    value = value.tolist() if isinstance(value, np.ndarray) else value
    if not isinstance(value, Sequence) or isinstance(value, str | bytes):
        return (check_rate(field, value, allowed),) * steps
    if len(value) != steps:
        raise not_allowed(
            field, f"of {len(value)} rates", f"one rate, or one for each of {steps} steps"
        )
    return tuple(check_rate(f"{field}[{i}]", rate) for i, rate in enumerate(value))


def check_value_steps(
    steps: Any, rate: Any, eta: float | None
) -> tuple[int, tuple[float, ...] | None]:
    """The number of value steps and their rates: more than one need them, finite rates refuse both."""
    steps = check_size("value_steps", steps)
    if eta is not None and (steps > 1 or rate is not None):
        field, value = ("value_steps", steps) if steps > 1 else ("rate", rate)
        raise not_allowed(field, value, "left out beside finite eta and gamma")
    if rate is None and steps > 1:
        allowed = "the logit that one of several steps writes, such as rb.predict(setting, value_steps=...).rate"
        raise not_allowed("rate", rate, allowed)
    return steps, None if rate is None else check_schedule("rate", rate, steps)


def check_dtype(field: str, value: object) -> torch.dtype:
    """Return ``value`` if it is ``torch.float32`` or ``torch.float64``."""
    import torch

    if not isinstance(value, torch.dtype) or value not in (torch.float32, torch.float64):
        raise not_allowed(field, value, "torch.float32 or torch.float64")
    return value


def check_device(field: str, value: Any) -> torch.device:
    """Return ``value`` as a device that this machine has."""
    import torch

    try:
        device = torch.device(value)
        count = {"cpu": 1, "cuda": torch.cuda.device_count()}.get(device.type, 0)
        if (device.index or 0) < count:
            return device
    except (RuntimeError, TypeError, ValueError):  # the last: a number beyond all devices
        pass
    allowed = "'cpu': this machine has no CUDA device that torch can use"
    if torch.cuda.device_count():
        allowed = "'cpu', 'cuda' or 'cuda:INDEX', on a machine that has it"
    raise not_allowed(field, value, allowed)


def check_drawn(seed: Any, dtype: object, device: Any) -> tuple[int, torch.dtype, torch.device]:
    """Return what every draw takes: its seed, the type of its numbers, and where they lie."""
    return check_seed("seed", seed), check_dtype("dtype", dtype), check_device("device", device)


def all_finite(tensor: torch.Tensor) -> bool:
    """Whether all numbers are finite: they are if their sum is, which one pass tells."""
    return bool(tensor.sum().isfinite()) or bool(tensor.isfinite().all())


def check_finite(field: str, tensor: torch.Tensor) -> torch.Tensor:
    """Return ``tensor`` if all its numbers are finite."""
    if not all_finite(tensor):
        count = int((~tensor.isfinite()).sum())
        raise not_allowed(
            field, f"with {count} numbers that are infinite or none", "finite numbers"
        )
    return tensor


# Tables

SMALLEST = 1e-30  # of a table's largest entry


def real_table(field: str, table: Any) -> Float64[np.ndarray, " ..."]:
    """A float64 copy on the host of a NumPy array or dense tensor of any floating type, all of it
    finite."""
    import torch

    if isinstance(table, np.ma.MaskedArray):
        allowed = "an array without a mask: what is masked would be taken as it is"
        raise not_allowed(field, "a masked array", allowed)
    if isinstance(table, torch.Tensor):
        if table.is_nested or table.is_meta or table.layout != torch.strided:
            kind = "nested" if table.is_nested else f"{table.layout} on {table.device}"
            raise not_allowed(field, f"a tensor, {kind}", "a dense tensor that holds its numbers")
        floating = table.is_floating_point()
    else:
        floating = isinstance(table, np.ndarray) and np.issubdtype(table.dtype, np.floating)
    if not floating:
        shown = f"{type(table).__name__} of {table.dtype}" if hasattr(table, "dtype") else table
        allowed = "a NumPy array or a tensor of real floating numbers"
        for name, call in {"weight": ".weight", "to_numpy": ".to_numpy()"}.items():
            if hasattr(table, name):
                allowed = f"its {call}, {allowed}"
        raise not_allowed(field, shown, allowed)
    # NumPy has no bfloat16, and no lazy minus: tensors are converted before they become arrays
    if isinstance(table, torch.Tensor):
        table = table.detach().to("cpu", torch.float64).resolve_neg().numpy()
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
