"""The largest size that must run on a laptop: V=32768, L=256, d=512, N=10^6 in the early-phase
limit, by stage."""

from __future__ import annotations

import resource
import time

import torch

import recallbook as rb
from recallbook.training import early_phase

SETTING = rb.Setting(vocab=32768, seq_len=256, dim=512, samples=1_000_000, trigger_in_values=False)


def stage(name: str, work):
    start = time.perf_counter()
    result = work()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{name:32}{time.perf_counter() - start:8.1f} s   peak so far {peak:5.1f} GiB", flush=True
    )
    return result


if __name__ == "__main__":
    print(f"{SETTING}, float32, {torch.get_num_threads()} threads")
    problem = stage("draw", lambda: rb.draw(SETTING, 0, dtype=torch.float32))
    value = stage("step 1, values", lambda: early_phase.value_step(problem))
    direction = stage("step 2, attention", lambda: early_phase.key_query_step(problem, value))
    value2 = stage("step 3, values", lambda: early_phase.located_value_step(problem, direction))
    weights = rb.Weights(value, torch.outer(direction, problem.query), value2, None, None)
    print(stage("evaluate, 20000 sequences", lambda: rb.evaluate(problem, weights)))
