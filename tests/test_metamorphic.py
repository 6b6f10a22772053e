"""Outcomes depend on the problem, not on coordinates, order, names, chunks or threads; nor, then,
on rounding.

A rotation of the embeddings changes every rounding error of a run and nothing else, so it shows on
one machine what another processor would do."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace

import numpy as np
import pytest
import torch
from disguises import DISGUISES, outcomes, relabelled, renamed, rotated, shuffled
from randomised import random_setting
from sampling import by_night, generator
from unequal import random_unequal

import recallbook as rb
from recallbook.data.streams import stream
from recallbook_studies.running import archive, committed
from recallbook_studies.running.point import OUTCOMES, Point, from_frame
from recallbook_theory.bounds import decoding

RATES = ((None, None), (0.3, 2.0), (20.0, 300.0), (1e-4, 1e7))
SETTINGS = 40
ROWS = 2  # of each committed sweep
NEAR = 1e-9  # a sum of shares 1/k has these digits, whatever the order in which it was added
METHODS = (
    "argmax",
    "descent",
    "whitened",
    "assignment",
)  # "refined" is a path, whose end may depend on names


def edge_setting(seed: int) -> rb.Setting:
    """A random setting moved to where ties and null directions are: d at and around V, fewer
    sequences than V."""
    setting = random_setting(seed)
    if setting.embeddings != "orthogonal":
        dims = (
            setting.vocab,
            max(1, setting.vocab // 2),
            max(1, setting.vocab - 1),
            setting.dim,
            2 * setting.vocab,
        )
        setting = replace(setting, dim=dims[seed // 3 % 5])
    return replace(setting, samples=max(1, setting.vocab // 3)) if seed % 5 == 0 else setting


@contextmanager
def threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def numbers(outcome: rb.Outcome) -> np.ndarray:
    return np.array([asdict(outcome)[name] for name in OUTCOMES])


def same_choices(problem: rb.Problem, other: rb.Problem, methods, names=slice(None)) -> bool:
    return all(
        torch.equal(decoding.choices(other, method)[names], decoding.choices(problem, method))
        for method in methods
    )


def same_decoded(problem: rb.Problem, other: rb.Problem, name: str, seed: int) -> bool:
    """Whether all decoders find the same labels equally good, token by token.

    Readers that whiten features draw sequences of their own by the numbers of tokens: under new
    numbers, other ones."""
    # `renamed` draws the new numbers of tokens first
    names = torch.randperm(problem.setting.vocab, generator=generator(seed))
    names = names if name == "renamed" else torch.arange(problem.setting.vocab)
    drawn = name == "renamed" and problem.setting.width is not None and problem.setting.seq_len > 1
    methods = ("argmax", "descent") if drawn else METHODS
    return same_choices(problem, other, methods, names)


def failures(setting, seed, rates, disguises, decoded) -> list[str]:
    """The disguises under which something differs; ``decoded`` compares what is decoded."""
    problem = rb.draw(setting, seed)
    test = problem.fresh(200)
    with threads(1):
        plain = numbers(outcomes(problem, test, rates))
    wrong = []
    for name, (disguise, chunk, count) in disguises.items():
        with threads(count):
            other, again = disguise(problem, test, generator(seed))
            found = numbers(outcomes(other, again, rates, chunk))
            if np.abs(found - plain).max() > NEAR or not decoded(problem, other, name, seed):
                wrong.append(name)
    return wrong


@pytest.mark.parametrize("seed", by_night(range(SETTINGS), day=4))
def test_outcomes_are_those_of_the_disguised_problem(seed):
    setting, rates = edge_setting(seed), RATES[stream(seed, "tokens").integers(len(RATES))]
    assert failures(setting, seed, rates, DISGUISES, same_decoded) == [], setting


@pytest.mark.parametrize("seed", by_night(range(24), day=3))
def test_outcomes_with_unequal_facts_are_those_of_the_disguised_problem(seed):
    """A token's number says how frequent it is: where the bias asks for that, labels take other
    numbers instead."""
    setting, rates = random_unequal(seed), RATES[seed // 2 % len(RATES)]
    disguises = {**DISGUISES, "relabelled": (relabelled, None, 1)}
    if setting.output_bias == "calibrated":
        del disguises["renamed"]

    def decoded(problem, other, name, seed):
        return name not in ("rotated", "shuffled") or same_choices(
            problem, other, ("argmax", "descent")
        )

    assert failures(setting, seed, rates, disguises, decoded) == [], setting


# Committed rows


def measured(point: Point, problem: rb.Problem, test) -> dict[str, float | None]:
    if point.method != "three_steps":
        found = decoding.decoded(problem, method=point.method)
        return {**dict.fromkeys(OUTCOMES), "recall": found}
    return asdict(rb.evaluate(problem, rb.three_steps(problem), sequences=test))


@pytest.mark.slow
@pytest.mark.parametrize("name", by_night(sorted(archive.sweeps()), day=3))
def test_committed_rows_are_those_of_the_disguised_problem(name):
    """The same in the sense of :func:`recallbook_studies.running.committed.recomputed`, with another disguise
    for each row."""
    frame = rb.load_results(name)
    cheap = [index for index, point in enumerate(from_frame(frame)) if point.cost <= 0.1]
    chosen = np.random.default_rng(3).choice(cheap, ROWS, replace=False)
    stored = frame.iloc[chosen]
    rows = []
    for row, point in enumerate(from_frame(stored)):
        problem = rb.draw(point.setting, point.seed)
        allowed = [rotated, shuffled]
        # a token's number says how frequent it is: a calibrated bias asks for that
        allowed += [renamed] if point.setting.output_bias != "calibrated" else []
        disguise, test = allowed[row % len(allowed)], problem.fresh(point.test_samples)
        with threads(1 + row % 2):
            rows.append(measured(point, *disguise(problem, test, generator(row))))
    again = stored.assign(**{key: [row[key] for row in rows] for key in OUTCOMES})
    again = again[[*OUTCOMES]].astype(float)
    assert committed.agree(stored, again, NEAR).all(), again.compare(stored[[*OUTCOMES]])
