"""No setting of the reader's session reaches in, and none leaks out: under each ambient state every
public call gives what it gives without, to the bit, and leaves the state as it was."""

import contextlib
import os
import warnings

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import sympy as sp
import torch
from sized import sized

import recallbook as rb
from recallbook_studies import plotting

PLAIN, MLP = sized(12, 4, 10, 60), sized(12, 4, 10, 60, width=16, activation="he3")


@contextlib.contextmanager
def changed(read, write, value):
    """Something global set to a value, and back."""
    before = read()
    write(value)
    try:
        yield
    finally:
        write(before)


@contextlib.contextmanager
def in_folder(path):
    with changed(os.getcwd, os.chdir, path):
        yield


STATES = {
    "inference mode": torch.inference_mode,
    "no gradients": torch.no_grad,
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    "single precision": lambda: changed(
        torch.get_default_dtype, torch.set_default_dtype, torch.float32
    ),
    "half precision": lambda: changed(
        torch.get_default_dtype, torch.set_default_dtype, torch.bfloat16
    ),
    "default device": lambda: torch.device("meta"),
    "deterministic algorithms": lambda: changed(
        torch.are_deterministic_algorithms_enabled, torch.use_deterministic_algorithms, True
    ),
    "NumPy raises": lambda: np.errstate(all="raise"),
    "NumPy prints": lambda: np.printoptions(precision=2, threshold=3),
    "pandas prints": lambda: pd.option_context("display.precision", 1),
    "matplotlib": lambda: mpl.rc_context(
        {"lines.linewidth": 9, "font.size": 30, "axes.grid": True}
    ),
    "warnings are errors": warnings.catch_warnings,
    "SymPy": lambda: changed(lambda: "latex", lambda how: sp.init_printing(use_latex=how), False),
    "another folder": lambda: in_folder("/"),
}


def steps(setting):
    weights = rb.three_steps(rb.draw(setting, seed=1), eta=0.3, gamma=0.2)
    return weights.value2.tolist(), weights.key_query.tolist()


def descended(setting):
    problem = rb.draw(setting, seed=1)
    model = rb.RecallTransformer(problem)
    history = rb.descend(model, problem, steps=3, eta=0.1, gamma=0.1)
    return history.to_dict("list"), model.value.tolist()


def figure():
    plotting.use_style()
    shown, ax = plt.subplots()
    ax.plot([0, 1], [1, 2], label="line")
    text = plotting.svg(shown)
    plt.close(shown)
    return text


CALLS = {
    "simulate": lambda: (rb.simulate(PLAIN, seed=1), rb.simulate(MLP, seed=1)),
    "three_steps": lambda: (steps(PLAIN), steps(MLP)),
    "reference": lambda: [
        rb.reference.three_steps(rb.draw(s, seed=1), 0.3, 0.2).value2.tolist() for s in (PLAIN, MLP)
    ],
    "descend": lambda: (descended(PLAIN), descended(MLP)),
    "predict": lambda: [
        (p.accuracy, p.lock_on, p.recall, p.quantile(0.1), repr(p.ledger))
        for p in (rb.predict(s, warn=False) for s in (PLAIN, MLP))
    ],
    "certify": lambda: rb.certify(rb.draw(MLP, seed=1)),
    "minimum": lambda: rb.minimum_samples(12, 4, 10),
    "examine": lambda: rb.examine(rb.draw(PLAIN, seed=1).input_embeddings).as_dict(),
    "a row of a sweep": lambda: rb.run_sweep([rb.Point(s, 0) for s in (PLAIN, MLP)]).to_json(
        double_precision=15
    ),
    "a figure": figure,
}


@pytest.fixture(scope="module")
def usual():
    return {name: call() for name, call in CALLS.items()}


def settings_of_the_session():
    return (
        torch.get_default_dtype(),
        torch.is_grad_enabled(),
        torch.get_num_threads(),
        np.geterr(),
        np.get_printoptions(),
        warnings.filters[:2],
        os.getcwd(),
    )


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("state", STATES)
def test_nothing_reaches_in_and_nothing_leaks_out(state, call, usual):
    with STATES[state]():
        before = settings_of_the_session()
        found = CALLS[call]()
        assert settings_of_the_session() == before
    assert found == usual[call]
