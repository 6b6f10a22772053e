"""One point of a sweep: a setting with its seed, its rates and what to measure, under a name that
never changes."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

import pandas as pd

from recallbook.arguments import (
    LARGEST_SIZE,
    check_choice,
    check_optional,
    check_rates,
    check_seed,
    check_size,
    not_allowed,
)
from recallbook.data.streams import SCHEME
from recallbook.setting import LATER, Setting
from recallbook.training.optimizers import (
    MATRICES,
    OPTIMIZERS,
    TABLES,
    check_embedding_rate,
    check_learn,
)

METHODS = ("three_steps", "argmax", "assignment", "descend")
OUTCOMES = ("accuracy", "lock_on", "recall")
WEIGHTS = "+".join(MATRICES)
# fields that came later, of points and of settings: at these values a point has the name that it
# had without them
LATER_FIELDS = {**LATER, "optimizer": "gd", "learn": WEIGHTS, "embedding_rate": None}
SIZES = tuple(field.name for field in fields(Setting))
SECONDS_A_TOKEN, SECONDS_A_NUMBER, FLOPS = 3e-8, 3e-8, 2e10  # of one core, for estimates of cost


@dataclass(frozen=True)
class Point:
    r"""One simulation of a sweep. Frozen and hashable; validates itself.

    Parameters
    ----------
    setting : Setting
        Its activation must be a name: a function cannot be stored.
    seed : int
    eta, gamma : float or None
        Learning rates; both ``None`` is the early-phase limit.
    method : str
        ``"three_steps"``: train and evaluate. ``"argmax"`` or ``"assignment"``: decode the facts
        from the gradient at initialisation alone (:func:`recallbook.decode`); only ``recall`` is
        measured. ``"descend"``: gradient descent from zero, then evaluate
        (:func:`recallbook.descend`).
    steps, batch : int or None
        Of ``"descend"``: number of steps, and fresh sequences in each (``None``: the fixed batch).
    test_samples : int
        Fresh sequences of the evaluation.
    optimizer : str
    learn : str
    embedding_rate : float or None
        Of ``"descend"``, as there; names of what is learned are joined, as in
        ``"value+key_query"``.

    Raises
    ------
    ValueError
        Names the field, its value and what is allowed.

    Examples
    --------
    >>> Point(Setting(vocab=64, seq_len=8, dim=64, samples=4096), seed=0).key[:12]
    '201ce5b03a91'
    """

    setting: Setting
    seed: int
    eta: float | None = None
    gamma: float | None = None
    method: str = "three_steps"
    steps: int | None = None
    batch: int | None = None
    test_samples: int = 20000
    optimizer: str = "gd"
    learn: str = WEIGHTS
    embedding_rate: float | None = None

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
        eta, gamma = check_rates(self.eta, self.gamma)
        descends = self.method == "descend"
        if self.method in ("argmax", "assignment") and eta is not None:
            raise not_allowed("eta", eta, f"None with method={self.method!r}, which takes no step")
        if descends and eta is None:
            raise not_allowed("eta", eta, "a finite number above 0 with method='descend'")
        for name in ("steps", "batch", "optimizer", "learn", "embedding_rate"):
            value, default = getattr(self, name), getattr(Point, name)
            if not descends and value != default:
                raise not_allowed(name, value, f"{default!r} with method={self.method!r}")
        if descends and self.steps is None:
            allowed = f"an integer from 1 to {LARGEST_SIZE} with method='descend'"
            raise not_allowed("steps", None, allowed)
        learned = check_learn(self.learn.split("+") if isinstance(self.learn, str) else None)
        checked = {
            "seed": check_seed("seed", self.seed),
            "eta": eta,
            "gamma": gamma,
            "steps": check_optional(check_size, "steps", self.steps),
            "batch": check_optional(check_size, "batch", self.batch),
            "test_samples": check_size("test_samples", self.test_samples),
            "optimizer": check_choice("optimizer", self.optimizer, tuple(OPTIMIZERS)),
            "learn": "+".join(learned),
            "embedding_rate": check_embedding_rate(self.embedding_rate, learned),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)  # frozen: this is the one moment of writing

    @property
    def values(self) -> dict[str, Any]:
        """All fields by name, those of the setting first."""
        return {
            name: getattr(self.setting if name in SIZES else self, name) for name in self.names()
        }

    @staticmethod
    def names() -> list[str]:
        """Names of all fields, those of the setting first."""
        return [*SIZES, *(field.name for field in fields(Point) if field.name != "setting")]

    @property
    def canonical(self) -> str:
        """JSON with sorted names and the version of the draws, without what is ``None`` or a later
        field's default."""
        given = {name: value for name, value in self.values.items() if value is not None}
        given = {
            name: value for name, value in given.items() if LATER_FIELDS.get(name, self) != value
        }
        return json.dumps({"scheme": SCHEME, **given}, sort_keys=True, separators=(",", ":"))

    @property
    def key(self) -> str:
        """SHA-256 of :attr:`canonical` in hexadecimal: the same in every process, on every
        machine."""
        return hashlib.sha256(self.canonical.encode()).hexdigest()

    @property
    def cost(self) -> float:
        """Rough seconds on one core, to cut a sweep into tasks; not a promise."""
        s = self.setting
        vocab, tokens = s.vocab, s.samples * s.seq_len
        answers = vocab + min(self.test_samples, 2 * vocab)
        steps = self.steps or 1
        tested = 0 if self.method in ("argmax", "assignment") else self.test_samples * s.seq_len
        seconds = 5e-3 + SECONDS_A_TOKEN * (tokens + tested) + SECONDS_A_NUMBER * vocab * s.dim
        if self.method == "descend":
            sequences = steps * (self.batch or s.samples)
            work = 10 * sequences * (s.dim * (vocab + (s.width or s.dim)) + s.seq_len * s.dim)
            work *= 2 if set(TABLES) & set(self.learn.split("+")) else 1
        elif s.width is not None:
            work = (
                24 * s.samples * s.dim * s.width
                + 6 * tokens * s.dim
                + 4 * answers * s.dim * (s.width + vocab)
            )
        else:
            work = 2 * vocab * s.dim * (2 * min(vocab, 32 * tokens // vocab) + answers)
        return seconds + work / FLOPS + (1e-9 * vocab**3 if self.method == "assignment" else 0.0)


def from_values(values: dict[str, Any]) -> Point:
    """The point with these fields by name, as :attr:`Point.values` gives them."""
    own = {name: value for name, value in values.items() if name not in SIZES}
    return Point(Setting(**{name: values[name] for name in SIZES if name in values}), **own)


def from_frame(frame: pd.DataFrame) -> list[Point]:
    """The point of every row of results, such as :func:`recallbook.load_results` gives, to simulate
    it again."""
    names = Point.names()
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise not_allowed(
            "frame", list(frame.columns), "the columns of results; missing: " + ", ".join(missing)
        )
    return [
        from_values({n: _plain(v) for n, v in row.items()})
        for row in frame[names].to_dict("records")
    ]


def _plain(value: Any) -> Any:
    """A field as Python has it: missing is ``None``, whole numbers of NumPy are ``int``."""
    if value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value)):
        return None
    return value.item() if hasattr(value, "item") else value


def unique(points: Iterable[Point]) -> list[Point]:
    """The points without repetition, in order; ``ValueError`` if something else is among them."""
    found = {}
    for point in points:
        if not isinstance(point, Point):
            raise not_allowed("points", point, "recallbook.Point only")
        found[point.key] = point
    return list(found.values())
