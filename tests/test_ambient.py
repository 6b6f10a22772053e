"""No setting of the reader's session reaches in, and none leaks out: in each ambient state every
public call gives what it gives without, to the bit, and leaves the state as it was."""

import contextlib
import hashlib
import os
import subprocess
import sys
import warnings
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import sympy as sp
import torch
from sampling import by_night
from sized import sized

import recallbook as rb
from recallbook_studies import plotting

SETTINGS = sized(12, 4, 10, 60), sized(12, 4, 10, 60, width=16, activation="he3")
STYLE = {"lines.linewidth": 9, "font.family": "cursive", "text.usetex": True}
PROCESSES = (  # without assertions all is compiled again: by night
    "-u HOME LC_ALL=C PYTHONUTF8=0 PYTHONCOERCECLOCALE=0 MPLBACKEND=pdf PYTHONWARNINGS=error",
    "PYTHONOPTIMIZE=1 OMP_NUM_THREADS=3 MKL_NUM_THREADS=2 PYTHONHASHSEED=7 SCIPY_ARRAY_API=1",
)


@contextlib.contextmanager
def changed(read, write, value):
    """Something global set to a value, and back."""
    before = read()
    write(value)
    try:
        yield
    finally:
        write(before)


STATES = {
    "inference mode": torch.inference_mode,
    "no gradients": torch.no_grad,
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    "half precision": lambda: changed(
        torch.get_default_dtype, torch.set_default_dtype, torch.bfloat16
    ),
    "default device": lambda: torch.device("meta"),
    "deterministic algorithms": lambda: changed(
        torch.are_deterministic_algorithms_enabled, torch.use_deterministic_algorithms, True
    ),
    "threads": lambda: changed(torch.get_num_threads, torch.set_num_threads, 3),
    "NumPy raises": lambda: np.errstate(all="raise"),
    "NumPy prints": lambda: np.printoptions(precision=2, threshold=3, legacy="1.13"),
    "pandas prints": lambda: pd.option_context("display.precision", 1, "display.max_rows", 1),
    "matplotlib": lambda: mpl.rc_context(STYLE),
    "warnings are errors": lambda: warnings.catch_warnings(action="error"),
    "SymPy": lambda: changed(lambda: "latex", lambda how: sp.init_printing(use_latex=how), False),
    "another folder": lambda: changed(os.getcwd, os.chdir, "/"),
}


def steps(problem, *rates):
    weights = rb.three_steps(problem, *rates)
    return weights.value2.tolist(), weights.key_query.tolist()


def descended(problem):
    model = rb.RecallTransformer(problem)
    history = rb.descend(model, problem, steps=3, eta=0.1, gamma=0.1)
    return history.to_dict("list"), model.value.tolist()


def predicted(problem):
    found = rb.predict(problem.setting, warn=False)
    plain = problem.setting.width is None  # quantiles are refused with an MLP
    return found, found.quantile(0.1) if plain else None, rb.phase(problem.setting)


def figure():
    with mpl.rc_context():  # the book's style is there to stay
        plotting.use_style()
        shown, ax = plt.subplots()
        ax.plot([0, 1], [1, 2], label="line")
        ax.set_title("$N$ of a few")
        text = plotting.svg(shown)
        plt.close(shown)
    return text


CALLS = {
    "simulate": lambda problem: rb.simulate(problem.setting, seed=1),
    "three_steps": steps,
    "three_steps with rates": lambda problem: steps(problem, 0.3, 0.2),
    "descend": descended,
    "predict": predicted,
    "certify": rb.certify,
    "minimum": lambda problem: rb.minimum_samples(12, 4, 10, width=problem.setting.width),
    "examine": lambda problem: rb.examine(problem.output_embeddings).to_dict(),
    "a row": lambda problem: rb.run_sweep([rb.Point(problem.setting, 0)]).to_dict("list"),
    "a figure": lambda problem: figure(),
}


def answers():
    """What every call gives, by its name: a digest."""
    problems = [rb.draw(setting, seed=1) for setting in SETTINGS]
    return {
        name: hashlib.sha256(repr(list(map(call, problems))).encode()).hexdigest()
        for name, call in CALLS.items()
    }


def settings_of_the_session():
    return (
        (torch.get_default_dtype(), torch.get_default_device(), torch.get_num_threads()),
        (torch.is_grad_enabled(), torch.get_rng_state().tolist()),
        (np.geterr(), np.get_printoptions(), pd.get_option("display.precision")),
        (dict(mpl.rcParams), warnings.filters[:], os.getcwd(), dict(os.environ)),
    )


def unchanged_answers():
    """What every call gives, which leaves the session's settings as they were."""
    before = settings_of_the_session()
    found = answers()
    assert settings_of_the_session() == before
    return found


@pytest.fixture(scope="module")
def usual():
    return unchanged_answers()


@contextlib.contextmanager
def entered(states):
    """Some of the states, at once."""
    with contextlib.ExitStack() as stack:
        for state in states:
            stack.enter_context(STATES[state]())
        yield


@pytest.mark.parametrize(
    "states", by_night([tuple(STATES), *((state,) for state in STATES)], day=1), ids=" ".join
)
def test_nothing_reaches_in_and_nothing_leaks_out(states, usual):
    with entered(states):
        assert unchanged_answers() == usual


@pytest.mark.slow
@pytest.mark.parametrize("environment", by_night(PROCESSES, day=1))
def test_nothing_of_a_process_reaches_in(environment, usual, tmp_path):
    """In a folder with a matplotlibrc, new files being private, and in all states above at once,
    before anything was computed."""
    if "PYTHONUTF8=0" in environment and not str(Path(sys.executable)).isascii():
        pytest.skip("torch itself cannot be imported from such a folder in an ASCII locale")
    style = "".join(f"{name}: {value}\n" for name, value in STYLE.items())
    (tmp_path / "matplotlibrc").write_text(style)
    command = ["env", *environment.split(), sys.executable, __file__]
    done = subprocess.run(command, cwd=tmp_path, umask=0o077, capture_output=True, text=True)
    assert done.stdout == f"{usual}\n", done.stderr[-2000:]


if __name__ == "__main__":
    with entered(STATES):
        print(answers())
