"""The driver of a sweep: skip the runs that the store has, share out the rest, write each result as it comes.

Only the driver writes, so a sweep killed at any moment loses the runs under way and nothing else, and the same call
goes on where it stopped. A run fails by itself: an exception gives a result `failed` with the reason, and the others go
on. A work unit of several runs that ends so is halved and tried again, until the blame falls on one run, or a smaller
batch fits into memory. A unit whose machine is lost is tried again.

That memory did not suffice, or that a worker was killed, says nothing about the run: others may have filled the memory,
and whoever kills a process does not ask what it computes. Such a run is put aside, and tried again when nothing else is
under way. Only if that ends in the same way is it recorded as failed. So a sweep whose workers are killed ends with the
rows of one whose workers are not.
"""

from __future__ import annotations

import contextlib
import math
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Protocol

from empirical.execution.store import Outcome, Store
from empirical.execution.worker import Report
from empirical.models.runs import RunConfig, RunResult
from theory.errors import InputError

# A stack this large keeps a GPU busy, and ends in about a minute at the paper's sizes: a time budget must wait for it.
UNIT_LOGITS = 2**31
MACHINES_LOST = 5  # a work unit whose machine is lost this often may be the cause

Progress = Callable[[int, int, RunResult], None]


class Pool(Protocol):
    """What runs work units: `empirical.execution.local_pool` or `empirical.execution.ray_engine`. `capacity` is how
    many at once, and `unit_size` how many runs in each (None: as many as have `UNIT_LOGITS` logits a step in all, and
    at least one).
    """

    @property
    def capacity(self) -> int:
        """How many work units run at once, at least 1."""
        ...

    @property
    def unit_size(self) -> int | None:
        """How many runs make a work unit; None: as many as have `UNIT_LOGITS` logits a step in all."""
        ...

    def submit(self, unit: int, configs: Sequence[RunConfig]) -> None:
        """Start a work unit, known by its number; the caller keeps to `capacity`."""
        ...

    def wait(self) -> list[Report]:
        """What has come from the units under way; blocks until there is something."""
        ...

    def close(self) -> None:
        """End at once, whatever is under way."""
        ...


@dataclass(frozen=True)
class Sweep:
    """The results, in the order of the configurations, and how many runs are missing because the time was over."""

    results: tuple[RunResult, ...]
    missing: int


@dataclass
class _Unit:
    """A work unit: the configurations that have no outcome yet, by key. `alone`: a run that was put aside, and shares
    the machine with no other unit of this sweep.
    """

    configs: dict[str, RunConfig]
    machines_lost: int = 0
    alone: bool = False
    started: float = field(default_factory=time.monotonic)


def run_on(
    pool: Pool,
    configs: Iterable[RunConfig],
    store: Store,
    *,
    time_budget: float | None = None,
    retry_failed: bool = False,
    progress: Progress | None = None,
) -> Sweep:
    """Run what the store lacks (and, if asked, what failed) on the pool.

    After `time_budget` seconds no work unit is started; those under way are finished. `progress` is called with
    (runs done, runs in all, result) after each result is in the store. An interrupt or SIGTERM ends the call at once,
    with KeyboardInterrupt or SystemExit: the runs under way are lost, the store is whole. Raises InputError when the
    time budget is no number of seconds, the trainer refuses a configuration, the pool is lost, or the store cannot be
    written.
    """
    deadline = deadline_after(time_budget)
    wanted = {config.key: config for config in configs}
    done = {key: stored.result for key in wanted if (stored := store.find(key)) is not None}
    todo = [config for key, config in wanted.items() if key not in done or (retry_failed and _failed(done[key]))]
    for config in todo:
        done.pop(config.key, None)
    with _exit_on_sigterm():
        try:
            for result in _share_out(pool, todo, store, deadline):
                done[result.config.key] = result
                if progress is not None:
                    progress(len(done), len(wanted), result)
        except BaseException:
            pool.close()  # what is under way would be taken for another sweep's
            raise
    return Sweep(tuple(done[key] for key in wanted if key in done), len(wanted) - len(done))


def deadline_after(time_budget: float | None) -> float:
    """The moment of `time.monotonic` at which the budget is used up, never if there is none; InputError for a number of
    seconds that is negative or NaN.
    """
    if time_budget is None:
        return math.inf
    if not time_budget >= 0:
        raise InputError(f"the time budget is {time_budget} seconds; it must be a number that is not negative")
    return time.monotonic() + time_budget


def _failed(result: RunResult) -> bool:
    return result.status == "failed"


def _share_out(pool: Pool, todo: list[RunConfig], store: Store, deadline: float) -> Iterator[RunResult]:
    """The results of the runs to do, each once it is in the store."""
    waiting = deque(_Unit({config.key: config for config in unit}) for unit in _units(todo, pool.unit_size))
    aside: deque[_Unit] = deque()
    running: dict[int, _Unit] = {}
    number = 0
    while True:
        while time.monotonic() < deadline and (unit := _next(waiting, aside, running, pool)):
            unit.started = time.monotonic()
            running[number] = unit
            pool.submit(number, list(unit.configs.values()))
            number += 1
        if not running:
            return
        outcomes = [outcome for report in pool.wait() for outcome in _take(report, running, waiting, aside)]
        if outcomes:
            store.add_all(outcomes)
        yield from (outcome.result for outcome in outcomes)


def _next(waiting: deque[_Unit], aside: deque[_Unit], running: dict[int, _Unit], pool: Pool) -> _Unit | None:
    """The work unit to start now, if there is one; what was put aside comes last, and one at a time."""
    if waiting:
        return waiting.popleft() if len(running) < pool.capacity else None
    return aside.popleft() if aside and not running else None


def _units(todo: Sequence[RunConfig], size: int | None) -> Iterator[list[RunConfig]]:
    """The runs to do, in their order, cut into work units of `size` runs; see `Pool` for None."""
    unit: list[RunConfig] = []
    for config in todo:
        logits = sum(each.logits for each in unit) + config.logits
        if unit and (logits > UNIT_LOGITS if size is None else len(unit) == size):
            yield unit
            unit = []
        unit.append(config)
    if unit:
        yield unit


def _take(report: Report, running: dict[int, _Unit], waiting: deque[_Unit], aside: deque[_Unit]) -> list[Outcome]:
    """Book a report: the outcomes that it brings; a work unit that has ended leaves `running`, and what is left of it
    fails, or goes back to `waiting`, or is put aside.
    """
    unit = running[report.unit]
    if report.outcome is not None:
        # An outcome that was not asked for, or came before, is not the trainer's to give.
        if unit.configs.pop(report.outcome.result.config.key, None) is None:
            raise RuntimeError(f"the trainer gave a result that was not asked for: {report.outcome.result.config}")
        return [report.outcome]
    if not report.ended:
        return []
    del running[report.unit]
    if report.refused:
        raise InputError(report.error)
    if not unit.configs:
        return []
    if report.lost and unit.machines_lost + 1 < MACHINES_LOST:
        unit.machines_lost += 1
        (aside if unit.alone else waiting).appendleft(unit)
        return []
    left = list(unit.configs.items())
    if len(left) > 1:
        middle = len(left) // 2
        waiting.extendleft([_Unit(dict(left[middle:])), _Unit(dict(left[:middle]))])
        return []
    if not (report.lost or report.killed):
        reason = report.error or "the trainer gave no result"
    elif unit.alone:
        reason = f"{'lost again and again' if report.lost else 'killed twice'}, alone: {report.error}"
    else:
        aside.append(_Unit(unit.configs, alone=True))
        return []
    return [Outcome(RunResult(left[0][1], "failed", None, 0, time.monotonic() - unit.started, error=reason))]


@contextlib.contextmanager
def _exit_on_sigterm() -> Iterator[None]:
    """Let SIGTERM raise SystemExit, so that what is open is closed and the workers are ended."""

    def leave(number: int, frame: FrameType | None) -> None:
        """The handler: the exit status is the shell's for a signal."""
        raise SystemExit(128 + number)

    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may handle signals
        return
    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
