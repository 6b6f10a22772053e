"""One point of a sweep: a setting with its seed and what to measure; and keys, texts that say of what a
row is and stay the same when a setting gets a new field."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from recallbook.arguments import check_choice, check_seed, check_size, not_allowed
from recallbook.data.streams import SCHEME
from recallbook.setting import LATER, Setting

METHODS = ("three_steps", "argmax", "assignment")
SIZES = tuple(field.name for field in fields(Setting))
OWN = ("seed", "method", "test_samples")
NAMES = (*SIZES, *OWN)  # the fields of a point


@dataclass(frozen=True)
class Point:
    r"""One simulation of a sweep, in the early-phase limit. Frozen and hashable; validates itself.

    Parameters
    ----------
    setting : Setting
        Its activation must be a name: a function cannot be stored.
    seed : int
    method : str
        ``"three_steps"``: train and evaluate. ``"argmax"`` or ``"assignment"``: decode the facts
        from the gradient at initialisation alone (:func:`recallbook.decode`); only ``recall`` is
        measured.
    test_samples : int
        Fresh sequences of the evaluation.

    Raises
    ------
    ValueError
        Names the field, its value and what is allowed.

    Examples
    --------
    >>> Point(Setting(vocab=64, seq_len=8, dim=64, samples=4096), seed=0).values["test_samples"]
    20000
    """

    setting: Setting
    seed: int
    method: str = "three_steps"
    test_samples: int = 20000

    def __post_init__(self) -> None:
        if not isinstance(self.setting, Setting):
            raise not_allowed("setting", self.setting, "a recallbook.Setting")
        if not isinstance(self.setting.activation, str):
            raise not_allowed(
                "activation",
                self.setting.activation,
                "the name of an activation: a function cannot be stored",
            )
        check_choice("method", self.method, METHODS)
        if self.method == "assignment":
            self.setting.require_equal("method='assignment' whitens the gradient of equal facts")
        for name, check in (("seed", check_seed), ("test_samples", check_size)):
            # frozen: this is the one moment of writing
            object.__setattr__(self, name, check(name, getattr(self, name)))

    @property
    def values(self) -> dict[str, Any]:
        """All fields by name, those of the setting first."""
        return {**vars(self.setting), **{name: getattr(self, name) for name in OWN}}


def grid(
    *, seeds: int | Iterable[int] = 1, test_samples: int = 20000, **fields: Any
) -> list[Point]:
    """Make a point for each combination of a setting's fields, of which a list, range or array is varied, and
    each seed: of a number of ``seeds`` the first.

    Raises
    ------
    ValueError
        Names the field, its value and what is allowed.

    Examples
    --------
    >>> points = grid(vocab=[16, 32], seq_len=4, dim=[8, 16], samples=100, seeds=3)
    >>> len(points), points[-1].setting
    (12, Setting(vocab=32, seq_len=4, dim=16, samples=100))
    """
    chosen = seeds if isinstance(seeds, Iterable) else range(check_size("seeds", seeds))
    values = [
        value if isinstance(value, list | tuple | range | np.ndarray) else [value]
        for value in fields.values()
    ]
    settings = [
        Setting(**dict(zip(fields, one, strict=True))) for one in itertools.product(*values)
    ]
    seeds = list(chosen)
    return [
        Point(setting, seed, test_samples=test_samples) for setting in settings for seed in seeds
    ]


class Key(NamedTuple):
    """What a row of a table was asked for: fields by name, and their ``canonical`` text, under whose
    hash the row is stored."""

    canonical: str
    fields: dict[str, Any]


def canonical(fields: Mapping[str, Any], scheme: Any = SCHEME) -> str:
    """Write fields as JSON, names sorted, with the version of what makes a row, by default of the
    draws.

    ``None`` is left out, and so are ``LATER`` fields of a setting at their defaults: texts from
    before these fields stay what they were."""
    given = {
        name: value
        for name, value in fields.items()
        if value is not None and (name not in LATER or LATER[name] != value)
    }
    return json.dumps({"scheme": scheme, **given}, sort_keys=True, separators=(",", ":"))


def digest(text: str) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def from_values(values: dict[str, Any]) -> Point:
    """The point with these fields by name, as :attr:`Point.values` gives them."""
    own = {name: value for name, value in values.items() if name not in SIZES}
    return Point(Setting(**{name: values[name] for name in SIZES if name in values}), **own)


def plain(value: Any) -> Any:
    """Turn a field of a data frame into plain Python: missing is ``None``, NumPy's ``int64`` an
    ``int``."""
    if value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value)):
        return None
    return value.item() if hasattr(value, "item") else value
