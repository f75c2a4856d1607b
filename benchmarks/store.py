"""How long the run store takes for 10,000 runs: writing them, one by one and together, and listing them.

Run alone on an idle machine: python benchmarks/store.py. Prints a line a figure. A run written by itself pays for a
flush to the disk, which is most of its time.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from empirical.listing import export_json, list_text
from empirical.runs import RunConfig, RunResult
from empirical.store import Outcome, Store, open_store

RUNS, ALONE, CHECKS = 10_000, 200, 60  # 60 checks: 3000 steps, one every 50


def runs() -> list[RunResult]:
    """Results of the usual size, over a grid of configurations."""
    history = tuple((50 * check, 1 / (check + 1), check / CHECKS) for check in range(CHECKS))
    return [
        RunResult(
            RunConfig(1024, 1 + number % 16, 1 + number // 16 % 64, 128, seed=number // 1024),
            "not memorised",
            0.5,
            3000,
            12.5,
            history,
        )
        for number in range(RUNS)
    ]


def report(name: str, run: Callable[[], Any], goal: str = "") -> None:
    """Time a run and print it."""
    start = time.perf_counter()
    run()
    print(f"{name:64s} {time.perf_counter() - start:8.3f} s{goal}", flush=True)


def write_alone(store: Store, results: list[RunResult]) -> None:
    """Each run in a transaction of its own, with weights of d = 64, N = 1024."""
    weights = {"W_E": np.zeros((1024, 64), np.float32), "W_U": np.zeros((64, 1024), np.float32)}
    for result in results:
        store.add(result, weights, {"device": "cpu"})


def main() -> None:
    """Print every figure."""
    results = runs()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "runs.sqlite"
        with open_store(path) as store:
            outcomes = [Outcome(result, None, {"device": "cpu"}) for result in results[ALONE:]]
            report(f"{ALONE} runs with weights of 512 KiB, one by one", lambda: write_alone(store, results[:ALONE]))
            report(f"{len(outcomes):,} runs in one transaction", lambda: store.add_all(outcomes))
        print(f"the store: {path.stat().st_size / 2**20:.1f} MiB")
        report("opening and checking it", lambda: open_store(path, read_only=True).close())
        with open_store(path, read_only=True) as store:
            report(f"listing {RUNS:,} runs", lambda: list_text(store.summaries()), goal=" (goal 1 s)")
            report("listing those of one (N, R, d)", lambda: store.summaries(relations=4, dimension=8))
            report("reading all with their histories", lambda: list(store.all_runs()))
            report("exporting all", lambda: export_json(store, Path(folder) / "runs.json"))


if __name__ == "__main__":
    main()
