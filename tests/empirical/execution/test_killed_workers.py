"""Workers that are killed: no property of a run, unless one dies again when the run is alone."""

import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from empirical.execution.engine import Sweep, run_on
from empirical.execution.local_pool import LocalPool
from empirical.execution.store import Outcome, Store, open_store
from empirical.execution.worker import Report
from empirical.models.runs import RunConfig, RunResult
from tests.empirical.execution.test_engine import configs, content, expected
from tests.helpers.trainers import outcome_of


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "runs.sqlite") as store:
        yield store


class Watched(LocalPool):
    """Remembers how many workers were killed, and may kill one that is at work."""

    killed = 0

    def wait(self) -> list[Report]:
        reports = super().wait()
        self.killed += sum(report.killed for report in reports)
        return reports

    def kill_one(self, draw: random.Random) -> None:
        if workers := list(self._busy.values()):
            draw.choice(workers).process.kill()


@pytest.mark.parametrize("unit_size", [1, 3])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_sweep_whose_workers_are_killed_has_the_rows_of_one_whose_are_not(
    store: Store, unit_size: int, seed: int
) -> None:
    """The killing ends while there is much to do, so that no run is killed again when it is alone."""
    wanted, draw = configs(30, milliseconds=20), random.Random(seed)
    with Watched("tests.helpers.trainers:steady", workers=2, unit_size=unit_size) as pool:

        def progress(done: int, total: int, run: RunResult) -> None:
            if done <= 12 and done % 2:
                time.sleep(draw.uniform(0, 0.03))
                pool.kill_one(draw)

        sweep = run_on(pool, wanted, store, progress=progress)
    assert pool.killed  # how many of the kills hit a worker at its work depends on the machine
    assert sweep == Sweep(tuple(outcome_of(each)[0] for each in wanted), 0)
    assert content(store) == expected(wanted)


class Mortal:
    """A pool whose workers die under the runs of certain seeds, so many times each; it knows what was under way with
    each unit when it was started, and ends the unit that was started first.
    """

    capacity, unit_size = 3, 1

    def __init__(self, deaths: dict[int, int], **death: bool) -> None:
        self.deaths, self.death = deaths, death
        self.running: dict[int, RunConfig] = {}
        self.started: list[tuple[int, int]] = []

    def submit(self, unit: int, configs: Sequence[RunConfig]) -> None:
        self.started.append((configs[0].seed, len(self.running)))
        (self.running[unit],) = configs

    def wait(self) -> list[Report]:
        unit = next(iter(self.running))
        config = self.running.pop(unit)
        if self.deaths.get(config.seed, 0):
            self.deaths[config.seed] -= 1
            return [Report(unit, ended=True, error="it died", **self.death)]
        return [Report(unit, Outcome(*outcome_of(config))), Report(unit, ended=True)]

    def close(self) -> None:
        self.running.clear()


def test_what_was_killed_is_tried_again_last_and_alone_and_then_recorded(store: Store) -> None:
    pool, wanted = Mortal({1: 1, 2: 2, 4: 9}, killed=True), configs(6)
    sweep = run_on(pool, wanted, store)
    assert [seed for seed, _ in pool.started] == [0, 1, 2, 3, 4, 5, 1, 2, 4]
    assert [beside for _, beside in pool.started[-3:]] == [0, 0, 0]
    assert max(beside for _, beside in pool.started) == 2
    for result in sweep.results:
        if result.config.seed in (2, 4):
            assert (result.status, result.error) == ("failed", "killed twice, alone: it died")
        else:
            assert result == outcome_of(result.config)[0]


def test_nothing_is_recorded_of_a_run_that_was_killed_once_when_the_time_is_over(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = Mortal({1: 1}, killed=True)
    clock = SimpleNamespace(monotonic=lambda: 99.0 if len(pool.started) == 2 else 0.0)
    monkeypatch.setattr("empirical.execution.engine.time", clock)
    sweep = run_on(pool, configs(2), store, time_budget=9)
    assert (len(sweep.results), sweep.missing) == (1, 1)
    assert content(store) == expected(configs(1))
