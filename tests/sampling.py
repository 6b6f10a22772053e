"""How far a mean over draws may be from what is expected of it, and how many cases are tried."""

from collections.abc import Iterable
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
import torch

import recallbook as rb

OUTCOMES = [field.name for field in fields(rb.Outcome)]


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def by_night(cases: Iterable[Any], day: int) -> list[Any]:
    """Cases to parametrise a test with: so many in `make test`, the others in `make nightly`."""
    cases = list(cases)
    return cases[:day] + [pytest.param(case, marks=pytest.mark.nightly) for case in cases[day:]]


def by_day(cases: Iterable[tuple[Any, ...]], quick: int) -> list[Any]:
    """Cases of several values each: so many in `make quick`, the others in `make test`."""
    cases = list(cases)
    return cases[:quick] + [pytest.param(*case, marks=pytest.mark.slow) for case in cases[quick:]]


def standard_error(values) -> np.ndarray:
    """Of the mean over the first axis."""
    return np.std(values, axis=0, ddof=1) / len(values) ** 0.5


def apart(found, runs, slack: float, errors: float, own: float = 0.0) -> dict[str, float]:
    """Outcomes whose mean over runs is further from ``found`` than ``slack`` and so many standard
    errors: how far. ``own`` is the standard error of ``found``."""
    far = {}
    for name in OUTCOMES:
        values = [getattr(run, name) for run in runs]
        difference = abs(getattr(found, name) - np.mean(values))
        if not difference <= slack + errors * np.hypot(standard_error(values), own):
            far[name] = difference
    return far
