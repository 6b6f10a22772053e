"""Sweeps: the same rows on every executor, failures as rows, nothing run twice, nothing finished
lost."""

import os
import warnings
from collections import Counter
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from itertools import product
from multiprocessing import get_context

import numpy as np
import pytest
from sized import sized

import recallbook as rb
from recallbook_studies.running import run as sweep
from recallbook_studies.running.point import from_values
from recallbook_studies.running.pool import executor_for, process_pool
from recallbook_studies.running.store import Store
from recallbook_studies.sweeps import ROW_TABLES, TRIAL

pytestmark = pytest.mark.essential

BASE = sized(16, 4, 8, 60)
CHANGES = [
    {},
    {"samples": 200},
    {"dim": 5, "width": 7, "activation": "tanh"},
    {"dim": 18, "embeddings": "orthogonal"},
]
SETTINGS = [replace(BASE, **change, trigger_in_values=bool(change)) for change in CHANGES]
POINTS = [
    *(rb.Point(setting, seed, test_samples=300) for setting in SETTINGS for seed in (0, 1)),
    rb.Point(SETTINGS[0], 1, method="assignment"),
    rb.Point(SETTINGS[1], 0, method="argmax"),
    rb.Point(SETTINGS[0], 2, test_samples=300),  # fails
]


@pytest.fixture(scope="module", autouse=True)
def one_fails():
    """No setting is known at which a point fails, so the last one is made to, in this process."""
    measure = sweep.measure

    def failing(point, device="cpu"):
        if point == POINTS[-1]:
            raise ArithmeticError("weights are not finite")
        return measure(point, device)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweep, "measure", failing)
        yield


@pytest.fixture
def measured(monkeypatch):
    """How often each point was simulated, in this process."""
    counts = Counter()
    measure = sweep.measure

    def counting(point, device="cpu"):
        counts[point] += 1
        return measure(point, device)

    monkeypatch.setattr(sweep, "measure", counting)
    return counts


@pytest.fixture(scope="module")
def expected():
    return rb.run_sweep(POINTS)


def test_rows_are_plain_simulations_and_failures_have_their_error(expected):
    for row, point in zip(expected.to_dict("records")[:8], POINTS, strict=False):
        outcome = vars(rb.simulate(point.setting, point.seed, test_samples=300))
        assert outcome.items() <= row.items()
    failed = expected[expected["error"].notna()]
    assert list(failed.index) == [len(POINTS) - 1]
    assert failed["error"].iloc[0].startswith("ArithmeticError: weights are not finite")
    assert failed[["accuracy", "lock_on", "recall"]].isna().all(axis=None)


ROWS = {name: ROW_TABLES[name].keys()[:4] for name in ("survives", "critical_sizes")}


def rows_of(executor=None):
    """Rows of two tables, one whose rows are made four at once."""
    made = []
    for name, keys in ROWS.items():
        with Store(None, name) as store:
            sweep.fill(ROW_TABLES[name], keys, store, executor)
            made.append(ROW_TABLES[name].frame(store.get(keys)))
    return made


def lacked(store):
    """The points that are not stored."""
    keys = [TRIAL.key_of(point.values) for point in POINTS]
    return [from_values(key.fields) for key in store.missing(keys)]


def same_rows(executor, expected, path):
    assert rb.run_sweep(POINTS[:-1], executor, path).equals(expected[:-1])
    with Store(path) as store:
        assert lacked(store) == POINTS[-1:]
    for here, there in zip(rows_of(), rows_of(executor), strict=True):
        assert here.equals(there) and len(here) == 4


@pytest.mark.slow
def test_pool_gives_identical_rows(expected, tmp_path):
    with process_pool(1) as pool:
        same_rows(pool, expected, tmp_path / "s.sqlite")


@pytest.mark.nightly
def test_dask_cluster_gives_identical_rows(expected, tmp_path):
    distributed = pytest.importorskip("distributed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a cluster says while it starts and stops is not ours
        with distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster:
            with executor_for(scheduler=cluster.scheduler_address) as executor:
                same_rows(executor, expected, tmp_path / "s.sqlite")


def test_what_is_stored_is_not_run_again(expected, tmp_path, measured):
    store = tmp_path / "s.sqlite"
    rb.run_sweep(POINTS[3:6], store=store)
    frame = rb.run_sweep([*POINTS, *POINTS[:2]], store=store)
    assert frame.equals(expected)
    assert set(measured.values()) == {1} and len(measured) == len(POINTS)
    assert rb.run_sweep(POINTS[::-1], store=store).equals(expected[::-1].reset_index(drop=True))
    assert set(measured.values()) == {1}


@pytest.mark.slow
def test_workers_that_never_came_up_are_none_that_were_lost():
    with ProcessPoolExecutor(1, get_context("spawn"), os._exit, (1,)) as pool:
        with pytest.raises(RuntimeError, match=r"^no worker came up, .*__main__"):
            rb.run_sweep(POINTS, pool)


class Interrupting(ThreadPoolExecutor):
    """Finishes its first two tasks, then the user presses Ctrl-C."""

    def __init__(self):
        super().__init__(1)
        self.futures = []

    def submit(self, function, *given):
        future = Future()
        if not given or len(self.futures) < 2:
            future.set_result(function(*given))
        self.futures += [future] * len(given)
        return future


def test_an_interrupt_loses_nothing_finished(tmp_path, monkeypatch):
    executor = Interrupting()
    monkeypatch.setattr(
        sweep, "as_completed", lambda futures: (_ for _ in ()).throw(KeyboardInterrupt)
    )
    with pytest.raises(KeyboardInterrupt):
        rb.run_sweep(POINTS, executor, tmp_path / "s.sqlite")
    with Store(tmp_path / "s.sqlite") as store:
        assert lacked(store) == POINTS[2:]
    assert [future for future in executor.futures[2:] if not future.cancelled()] == []


@pytest.mark.parametrize("cancelled", [False, True])
def test_tasks_lost_with_their_worker_are_reported_and_the_others_kept(
    cancelled, tmp_path, expected
):
    """One worker is killed, or a scheduler dies and cancels its task."""

    class Losing(ThreadPoolExecutor):
        count = 0

        def submit(self, function, *given):
            self.count += len(given)
            if self.count == 2:
                future = Future()
                if cancelled:
                    future.cancel()
                    future.set_running_or_notify_cancel()
                else:
                    future.set_exception(OSError("worker killed"))
                return future
            return super().submit(function, *given)

    with (
        Losing(1) as pool,
        pytest.raises(RuntimeError, match=r"1 of \d+ tasks were lost.*run it again"),
    ):
        rb.run_sweep(POINTS, pool, tmp_path / "s.sqlite")
    with Store(tmp_path / "s.sqlite") as store:
        assert lacked(store) == [POINTS[1]]
    assert rb.run_sweep(POINTS, store=tmp_path / "s.sqlite").equals(expected)


def test_a_grid_has_every_combination_and_predictions_beside_it():
    points = rb.grid(
        vocab=[16, 24], seq_len=4, dim=np.array([8]), samples=range(50, 52), seeds=[3, 5]
    )
    sizes = [(p.setting.vocab, p.setting.samples, p.seed) for p in points]
    assert sizes == [*product([16, 24], [50, 51], [3, 5])]
    frame = rb.run_sweep(points, predicted=True)
    for point, row in zip(points, frame.itertuples(), strict=True):
        guess = rb.predict(point.setting)
        assert (row.predicted_accuracy, row.predicted_lock_on) == (guess.accuracy, guess.lock_on)
    assert rb.run_sweep(points, workers=2).equals(frame[frame.columns[:-3]])
    with (
        pytest.raises(ValueError, match=r"^workers=2 .* beside an executor"),
        ThreadPoolExecutor() as pool,
    ):
        rb.run_sweep(points, pool, workers=2)
