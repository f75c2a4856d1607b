"""How long the run store takes: for 10,000 runs writing them, one by one and together, and reading them; for a million
runs the commands `runs list`, `runs export` and `compare`, with the memory that each needs.

Run alone on an idle machine: python benchmarks/store.py [RUNS]. Prints a line a figure. A run written by itself pays
for a flush to the disk, which is most of its time. The store of a million runs takes 4 GiB of the temporary directory;
with a smaller number in the place of RUNS the commands have a smaller one.

The million holds all runs that `compare --preset standard` asks for, made up, so that it resumes a comparison whose
searches have ended: it reads what they asked for, replays them, fits and judges, and is given no time to train.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from empirical.comparison.capacity import first_guess
from empirical.comparison.presets import preset
from empirical.execution.listing import export_json, list_lines
from empirical.execution.store import Outcome, Store, open_store
from empirical.models.runs import RunConfig, RunResult

RUNS, ALONE, CHECKS = 10_000, 200, 60  # 60 checks: 3000 steps, one every 50
MANY, TOGETHER = 1_000_000, 10_000
HISTORY = tuple((50 * check, 1 / (check + 1), check / CHECKS) for check in range(CHECKS))


def result(config: RunConfig, memorised: bool) -> RunResult:
    """A result of the usual size."""
    accuracy = 1.0 if memorised else 0.5
    return RunResult(config, "memorised" if memorised else "not memorised", accuracy, config.steps, 12.5, HISTORY)


def runs(number: int) -> Iterator[RunResult]:
    """So many runs over a grid of configurations."""
    for place in range(number):
        yield result(RunConfig(1024, 1 + place % 16, 1 + place // 16 % 64, 128, seed=place // 1024), memorised=False)


def searched(name: str) -> list[RunResult]:
    """All runs that the searches of a preset ask for, if every threshold is where E8 predicts it."""
    plan = preset(name).plan
    known: dict[RunConfig, RunResult] = {}
    while batch := {config: curve for curve in plan.curves for config in plan.trace(curve, known.get).missing}:
        known |= {config: result(config, config.dimension >= first_guess(curve)) for config, curve in batch.items()}
    return list(known.values())


def report(name: str, run: Callable[[], Any], goal: str = "") -> None:
    """Time a run and print it."""
    start = time.perf_counter()
    run()
    print(f"{name:64s} {time.perf_counter() - start:8.3f} s{goal}", flush=True)


def write_alone(store: Store, results: list[RunResult]) -> None:
    """Each run in a transaction of its own, with weights of d = 64, N = 1024."""
    weights = {"W_E": np.zeros((1024, 64), np.float32), "W_U": np.zeros((64, 1024), np.float32)}
    for each in results:
        store.add(each, weights, {"device": "cpu"})


def write_many(path: Path, number: int) -> None:
    """A store of so many runs, those of the preset standard among them."""
    wanted = searched("standard")
    rest = runs(number - len(wanted))
    with open_store(path) as store:
        store._connection.execute("PRAGMA cache_size = -262144")  # 256 MiB, for the keys come in no order
        while some := [*wanted, *islice(rest, TOGETHER)]:
            store.add_all(Outcome(each, None, {"device": "cpu"}) for each in some)
            wanted = []


# A process begins with the memory of the one that started it as its peak, so a small one stands between.
MEASURED = """
import resource, subprocess, sys
status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(status)
"""


def command(goal: str, expected: int, *arguments: str | Path) -> None:
    """Run `georecall` with these arguments in a process of its own; print its time and the most memory that it held."""
    asked = [sys.executable, "-c", MEASURED, sys.executable, "-m", "georecall", *map(str, arguments)]
    start = time.perf_counter()
    ended = subprocess.run(asked, capture_output=True, text=True)
    seconds = time.perf_counter() - start
    if ended.returncode != expected:
        raise RuntimeError(f"exit status {ended.returncode}: {ended.stderr}")
    name = " ".join(each for each in map(str, arguments) if "/" not in each and each not in ("--store", "--out"))
    print(f"{name:64s} {seconds:8.3f} s  {int(ended.stdout) / 1024:6.0f} MiB{goal}", flush=True)


def main() -> None:
    """Print every figure."""
    results = list(runs(RUNS))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "runs.sqlite"
        with open_store(path) as store:
            outcomes = [Outcome(each, None, {"device": "cpu"}) for each in results[ALONE:]]
            report(f"{ALONE} runs with weights of 512 KiB, one by one", lambda: write_alone(store, results[:ALONE]))
            report(f"{len(outcomes):,} runs in one transaction", lambda: store.add_all(outcomes))
        print(f"the store: {path.stat().st_size / 2**20:.1f} MiB")
        report("opening and checking it", lambda: open_store(path, read_only=True).close())
        with open_store(path, read_only=True) as store:
            report(f"listing {RUNS:,} runs", lambda: list(list_lines(store.summaries())), goal=" (goal 1 s)")
            report("listing those of one (N, R, d)", lambda: list(store.summaries(relations=4, dimension=8)))
            report("reading all with their histories", lambda: list(store.all_runs()))
            report("exporting all", lambda: export_json(store, Path(folder) / "runs.json"))

        number, large = int(sys.argv[1]) if len(sys.argv) > 1 else MANY, Path(folder) / "large.sqlite"
        report(f"{number:,} runs, {TOGETHER:,} in a transaction", lambda: write_many(large, number))
        print(f"the store: {large.stat().st_size / 2**20:.1f} MiB")
        page, resumed = (" (goal 2 s, 200 MiB)", " (goal 30 s, 1024 MiB)")
        command(page, 0, "runs", "list", "--limit", "1000", "--store", large)
        command(page, 0, "runs", "list", "--limit", "1000", "--offset", str(number // 2), "--store", large)
        command("", 0, "runs", "list", "--store", large)
        command("", 0, "runs", "export", "--store", large, "--out", Path(folder) / "large.json")
        command(resumed, 1, "compare", "--preset", "standard", "--time-budget", "0", "--store", large)


if __name__ == "__main__":
    main()
