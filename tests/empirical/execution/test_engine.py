"""Sweeps in processes of this machine: resumed they end as if uninterrupted, and one run's death is its own."""

import dataclasses
import math
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from empirical.execution.engine import MACHINES_LOST, Sweep, run_on
from empirical.execution.local_pool import LocalPool, available_cores
from empirical.execution.store import Outcome, Store, open_store
from empirical.execution.worker import Report
from empirical.models.runs import RunConfig, RunResult
from tests.helpers import trainers
from tests.helpers.places import ROOT
from tests.helpers.sweeps import run_all
from tests.helpers.trainers import BROKEN, EXITED, KILLED, NO_MEMORY, SILENT, config, digest, outcome_of
from theory import InputError

CAUSES = {
    KILLED: "killed twice, alone: the worker was killed by SIGKILL (perhaps for lack of memory)",
    EXITED: "killed twice, alone: the worker exited with status 3",
    NO_MEMORY: "killed twice, alone: out of memory",
    BROKEN: "RuntimeError: the loss is a banana",
    SILENT: "the trainer gave no result",
}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "runs.sqlite") as store:
        yield store


def configs(number: int, milliseconds: int = 1) -> list[RunConfig]:
    return [config(seed, milliseconds=milliseconds) for seed in range(number)]


def content(store: Store) -> dict[str, tuple[RunResult, str]]:
    """Everything that a deterministic trainer determines: each result, and the hash of its weights."""
    return {
        run.result.config.key: (run.result, digest(store.load_weights(run.result.config.key)))
        for run in store.all_runs()
    }


def expected(wanted: list[RunConfig]) -> dict[str, tuple[RunResult, str]]:
    found = {}
    for each in wanted:
        result, weights = outcome_of(each)
        assert weights is not None
        found[each.key] = (result, digest(weights))
    return found


@pytest.mark.parametrize("train", ["steady", "at_once"])
@pytest.mark.parametrize("unit_size", [1, 3])
def test_a_sweep_runs_everything_once(store: Store, train: str, unit_size: int) -> None:
    wanted = configs(7)
    seen: list[tuple[int, int, int]] = []
    with LocalPool(f"tests.helpers.trainers:{train}", workers=2, unit_size=unit_size) as pool:
        sweep = run_on(
            pool,
            [*wanted, *wanted],
            store,
            progress=lambda done, total, run: seen.append((done, total, run.config.seed)),
        )
        assert sweep == Sweep(tuple(outcome_of(each)[0] for each in wanted), 0)
        assert [done for done, _, _ in seen] == list(range(1, 8))
        assert {total for _, total, _ in seen} == {7}
        assert {seed for _, _, seed in seen} == set(range(7))
        assert content(store) == expected(wanted)
        assert all(run.provenance["device"] == "cpu" for run in store.all_runs())
        # The same pool serves the next sweep.
        more = config(seed=7)
        assert run_on(pool, [*wanted, more], store).results[-1] == outcome_of(more)[0]


def test_what_the_store_has_is_not_run_again(store: Store) -> None:
    wanted = configs(3)
    for each in wanted:
        store.add(*outcome_of(each))
    sweep = run_all(wanted, "tests.helpers.trainers:never", store, workers=1)
    assert sweep == Sweep(tuple(outcome_of(each)[0] for each in wanted), 0)
    assert run_all([], "tests.helpers.trainers:never", store, workers=1) == Sweep((), 0)


def test_a_run_fails_by_itself_and_says_why(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = configs(8)
    sweep = run_all(wanted, "tests.helpers.trainers:faulty", store, workers=2)
    for result in sweep.results:
        cause = CAUSES.get(result.config.seed)
        if cause is None:
            assert result == outcome_of(result.config)[0]
        else:
            assert (result.status, result.accuracy, result.steps_taken) == ("failed", None, 0)
            assert cause in result.error
        assert store.get(result.config.key).result == result

    # Failed runs are run again only when asked; the others never.
    monkeypatch.setenv("MENDED", "yes")
    assert run_all(wanted, "tests.helpers.trainers:never", store, workers=1) == sweep
    again = run_all(wanted, "tests.helpers.trainers:faulty", store, workers=1, retry_failed=True)
    assert again.results == tuple(outcome_of(each)[0] for each in wanted)
    assert content(store) == expected(wanted)


def test_in_a_work_unit_of_many_the_blame_falls_on_the_guilty(store: Store) -> None:
    wanted = configs(8)
    with LocalPool("tests.helpers.trainers:faulty", workers=1, unit_size=8) as pool:
        sweep = run_on(pool, wanted, store)
    assert sweep.missing == 0
    for result in sweep.results:
        assert (result.status == "failed") == (result.config.seed in CAUSES)
        if result.status == "failed":
            assert CAUSES[result.config.seed] in result.error


def test_a_time_budget_must_be_a_number_of_seconds(store: Store) -> None:
    for seconds in (math.nan, -1, -math.inf):
        with pytest.raises(InputError, match=f"the time budget is {seconds} seconds"):
            run_all(configs(1), "tests.helpers.trainers:never", store, time_budget=seconds)
    assert run_all(configs(1), "tests.helpers.trainers:steady", store, workers=1, time_budget=math.inf).missing == 0


def test_the_time_budget_starts_nothing_new_and_finishes_what_runs(store: Store) -> None:
    wanted = configs(6, milliseconds=400)
    sweep = run_all(wanted, "tests.helpers.trainers:steady", store, workers=1, time_budget=0.3)
    assert (len(sweep.results), sweep.missing) == (1, 5)
    assert content(store) == expected(wanted[:1])
    assert run_all(wanted, "tests.helpers.trainers:never", store, workers=1, time_budget=0) == sweep
    assert run_all(wanted, "tests.helpers.trainers:steady", store, workers=2).missing == 0
    assert content(store) == expected(wanted)


def test_bad_input_ends_the_sweep_and_is_no_failure(store: Store) -> None:
    for train, words in {
        "tests.helpers.trainers:no_such_device": "there is no device cpu",
        "tests.helpers.trainers:absent": "cannot load the trainer 'tests.helpers.trainers:absent'",
        "tests.absent:train": "cannot load the trainer",
        "": "cannot load the trainer",
    }.items():
        with pytest.raises(InputError, match=words):
            run_all(configs(2), train, store, workers=1)
    for workers in (0, -1):
        with pytest.raises(InputError, match="workers must be"):
            run_all(configs(2), "tests.helpers.trainers:steady", store, workers=workers)
    with pytest.raises(InputError, match="2 workers cannot"):
        run_all(configs(2), "tests.helpers.trainers:steady", store, workers=2, device="cuda")
    with pytest.raises(InputError, match="unit_size must be"):
        LocalPool("tests.helpers.trainers:steady", unit_size=0)
    assert content(store) == {}


def test_a_result_that_was_not_asked_for_is_an_error(store: Store) -> None:
    with pytest.raises(RuntimeError, match="not asked for"):
        run_all(configs(2), "tests.helpers.trainers:wrong", store, workers=1)
    assert content(store) == {}


def test_threads_do_not_fight(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    sweep = run_all(configs(2), "tests.helpers.trainers:threads", store, workers=2)
    assert [result.trained_scalars for result in sweep.results] == [1, 1]
    assert os.environ["OMP_NUM_THREADS"] == "5"
    assert LocalPool("tests.helpers.trainers:steady").capacity == available_cores()
    stacked = LocalPool("tests.helpers.trainers:steady", device="cuda")
    assert (stacked.capacity, stacked.unit_size) == (1, None)


def test_a_stack_ends_in_time_for_a_budget(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    assert config(0).logits == 128
    assert dataclasses.replace(config(0), hops=3).logits == 512
    assert dataclasses.replace(config(0), hops=3, chain=True).logits == 128
    monkeypatch.setattr("empirical.execution.engine.UNIT_LOGITS", 2 * 128)
    sizes: list[int] = []

    class Counting(Sinking):
        unit_size = None  # type: ignore[assignment]

        def submit(self, unit: int, configs: Sequence[RunConfig]) -> None:
            sizes.append(len(configs))
            self.reports = [*(Report(unit, Outcome(*outcome_of(each))) for each in configs), Report(unit, ended=True)]

    larger = dataclasses.replace(config(5), entities=64)  # more than a stack holds: it gets a unit of its own
    assert run_on(Counting(0), [*configs(5), larger], store).missing == 0
    assert sizes == [2, 2, 1, 1]


SWEEP = """
import sys
from tests.helpers.sweeps import run_all
from empirical.execution.store import open_store
from tests.empirical.execution.test_engine import configs
with open_store(sys.argv[1]) as store:
    run_all(configs(60, 40), "tests.helpers.trainers:steady", store, workers=2,
            progress=lambda done, total, run: print(done, flush=True))
"""


def interrupted(path: Path, number: signal.Signals, seconds: float) -> int:
    """Start the sweep in a process, send it the signal so long after its first result; its exit status."""
    command = [sys.executable, "-c", SWEEP, str(path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        time.sleep(seconds)
        process.send_signal(number)
        process.communicate()
        return process.returncode


def test_a_sweep_that_is_killed_again_and_again_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    draw, rows = random.Random(0), [0]
    for number in (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
        status = interrupted(path, number, draw.uniform(0, 0.1))
        assert status != 0
        if number == signal.SIGTERM:
            assert status == 128 + signal.SIGTERM
        with open_store(path) as store:
            assert store._connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            rows.append(len(content(store)))
            assert rows[-2] < rows[-1] < 60
    wanted = configs(60, 40)
    with open_store(path) as store, open_store(tmp_path / "uninterrupted.sqlite") as other:
        ran: list[RunResult] = []
        assert run_all(
            wanted, "tests.helpers.trainers:steady", store, workers=2, progress=lambda done, total, run: ran.append(run)
        ) == run_all(wanted, "tests.helpers.trainers:steady", other, workers=2)
        assert len(ran) == 60 - rows[-1]
        assert content(store) == content(other) == expected(wanted)
        for each in (store, other):
            each.prune()
            assert len(list(each.weights_directory.iterdir())) == 60


def test_workers_end_with_their_driver(tmp_path: Path) -> None:
    """A driver that is killed leaves no worker behind, not even one in the middle of a long run."""
    script = (
        "import sys\n"
        "from empirical.execution.local_pool import LocalPool\n"
        "from tests.helpers.trainers import config\n"
        "pool = LocalPool('tests.helpers.trainers:steady', workers=1, unit_size=2)\n"
        "pool.submit(0, [config(0), config(1, milliseconds=60_000)])\n"
        "pool.wait()\n"
        "print(pool._busy[0].process.pid, flush=True)\n"
        "input()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as driver:
        assert driver.stdout is not None
        worker = int(driver.stdout.readline())
        os.kill(worker, 0)
        driver.kill()
    for _ in range(200):
        if not is_running(worker):
            return
        time.sleep(0.05)
    os.kill(worker, signal.SIGKILL)
    pytest.fail("the worker outlived its driver by ten seconds")


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
        # A container without an init process may leave it a zombie.
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


def test_a_pool_that_was_interrupted_can_be_used_again(store: Store) -> None:
    """What was under way is not taken for the next sweep's."""

    def stop(done: int, total: int, run: RunResult) -> None:
        raise KeyboardInterrupt

    with LocalPool("tests.helpers.trainers:steady", workers=2) as pool:
        with pytest.raises(KeyboardInterrupt):
            run_on(pool, [config(0), config(1, milliseconds=300)], store, progress=stop)
        other = config(0, dimension=5, milliseconds=600)
        assert run_on(pool, [other], store).results == (outcome_of(other)[0],)


class Sinking:
    """A pool whose machines are lost, so many times before it works."""

    capacity, unit_size = 1, 1

    def __init__(self, losses: int) -> None:
        self.losses, self.reports = losses, list[Report]()

    def submit(self, unit: int, configs: Sequence[RunConfig]) -> None:
        self.losses -= 1
        if self.losses >= 0:
            self.reports = [Report(unit, ended=True, lost=True, error="its machine was lost")]
        else:
            self.reports = [Report(unit, Outcome(*outcome_of(configs[0]))), Report(unit, ended=True)]

    def wait(self) -> list[Report]:
        return self.reports

    def close(self) -> None:
        self.reports = []


def test_a_lost_machine_is_no_failure_unless_it_is_lost_again_and_again(store: Store) -> None:
    for seed, losses in enumerate((MACHINES_LOST - 1, MACHINES_LOST, 2 * MACHINES_LOST - 1)):
        (result,) = run_on(Sinking(losses), [config(seed)], store).results
        assert result == outcome_of(config(seed))[0]
    (result,) = run_on(Sinking(2 * MACHINES_LOST), [config(9)], store).results
    assert (result.status, result.error) == ("failed", "lost again and again, alone: its machine was lost")


def test_the_fake_trainer_is_deterministic() -> None:
    first, second = (list(trainers.steady(configs(3), "cpu")) for _ in range(2))
    assert [run[0] for run in first] == [run[0] for run in second]
    assert np.array_equal(first[0][1]["W_E"], second[0][1]["W_E"])  # type: ignore[index]
    assert first[0][0] != first[1][0]
