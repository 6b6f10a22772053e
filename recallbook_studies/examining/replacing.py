r"""A table with one property replaced by that of a random table, and what is usually done to
tables.

A row is the mean plus a deviation; the deviations have lengths, a spectrum, and which way each
points (clusters). ``PROPERTIES`` gives each of the four what a Gaussian table of this size has, and
keeps the others as far as they do not follow from it. Ours."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Float64

Table = Float64[np.ndarray, "V d"]
ROUNDING = 1e-12  # of the largest singular value: smaller ones are directions without a table


def unit_scale(table: Table) -> Table:
    """The table with a mean square length of 1, as laws have it."""
    return np.asarray(table / np.sqrt(np.mean(np.sum(table**2, axis=1))))


def lengths(table: Table) -> Float64[np.ndarray, "V 1"]:
    """Of rows, as a column."""
    return np.asarray(np.linalg.norm(table, axis=1, keepdims=True))


def centred(table: Table, rng: np.random.Generator) -> Table:
    """Without the mean, of which random rows have next to nothing."""
    return np.asarray(table - table.mean(axis=0))


def random_spectrum(table: Table, rng: np.random.Generator) -> Table:
    """Mean and singular vectors kept; singular values of deviations those of a Gaussian table."""
    mean = table.mean(axis=0)
    left, values, right = np.linalg.svd(table - mean, full_matrices=False)
    drawn = np.linalg.svd(centred(rng.standard_normal(table.shape), rng), compute_uv=False)
    drawn[values <= ROUNDING * values[0]] = 0.0
    drawn *= np.linalg.norm(values) / np.linalg.norm(drawn)
    return np.asarray(mean + (left * drawn) @ right)


def random_directions(table: Table, rng: np.random.Generator) -> Table:
    """Mean, spectrum and lengths of deviations kept, the last by scaling; left singular vectors those
    of Gaussian rows: no clusters."""
    mean = table.mean(axis=0)
    deviations = table - mean
    _, values, right = np.linalg.svd(deviations, full_matrices=False)
    left = np.linalg.qr(centred(rng.standard_normal((len(table), len(values))), rng)).Q
    drawn = (left * values) @ right
    return np.asarray(mean + drawn * lengths(deviations) / lengths(drawn))


def random_lengths(table: Table, rng: np.random.Generator) -> Table:
    """Mean and directions of deviations kept; lengths those of Gaussian rows in as many columns."""
    mean = table.mean(axis=0)
    deviations = table - mean
    size = np.maximum(lengths(deviations), np.finfo(float).tiny)
    drawn = lengths(rng.standard_normal(table.shape)) * np.sqrt(np.mean(size**2) / table.shape[1])
    return np.asarray(mean + deviations / size * drawn)


def random_table(table: Table, rng: np.random.Generator) -> Table:
    """Gaussian rows: all four replaced."""
    return rng.standard_normal(table.shape)


def whitened(table: Table, rng: np.random.Generator) -> Table:
    """Without the mean, and with equal singular values where there are any."""
    left, values, right = np.linalg.svd(centred(table, rng), full_matrices=False)
    return np.asarray(left[:, values > ROUNDING * values[0]] @ right[values > ROUNDING * values[0]])


def unit_rows(table: Table, rng: np.random.Generator) -> Table:
    """Every row scaled to length 1."""
    return np.asarray(table / lengths(table))


Change = Callable[[Table, np.random.Generator], Table]
PROPERTIES: dict[str, Change] = {
    "mean": centred,
    "spectrum": random_spectrum,
    "clusters": random_directions,
    "lengths": random_lengths,
}
REMEDIES: dict[str, Change] = {"whitened": whitened, "unit rows": unit_rows}  # beside centring
