"""What a worker does, called here in the test's own process: what it reports, when it ends, and how it is ended."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from empirical.execution import local_pool
from empirical.execution.local_pool import LocalPool, _Worker, available_cores, end_with_driver, serve
from empirical.execution.worker import Report, describe, find_trainer, perform
from empirical.models.runs import RunConfig
from tests.helpers.trainers import BROKEN, NO_MEMORY, Run, config, outcome_of
from theory.errors import InputError

TRAINERS = "tests.helpers.trainers:"


class OutOfMemoryError(Exception):
    """As PyTorch's and Ray's are called."""


def killed_for_want_of_memory(configs: Sequence[RunConfig], device: str) -> list[Run]:
    raise OutOfMemoryError("the device has 8 GB\nof which all are taken")


def reports(train: str, *seeds: int) -> list[Report]:
    return list(perform(7, [config(seed) for seed in seeds], train, "cpu"))


def test_each_outcome_is_reported_as_it_comes_and_then_the_end() -> None:
    *found, end = reports(f"{TRAINERS}steady", 10, 11)
    assert end == Report(7, ended=True)
    for seed, report in zip((10, 11), found, strict=True):
        result, weights = outcome_of(config(seed))
        assert report.outcome is not None
        assert report.outcome.result == result
        assert report.outcome.provenance["device"] == "cpu"
        assert report.outcome.weights is not None
        assert weights is not None
        assert all(np.array_equal(report.outcome.weights[name], weights[name]) for name in weights)
        assert (report.unit, report.ended) == (7, False)


def test_bad_input_is_refused_too_little_memory_is_tried_again_and_anything_else_is_a_failure() -> None:
    assert reports(f"{TRAINERS}no_such_device", 10) == [
        Report(7, ended=True, error="there is no device cpu", refused=True)
    ]
    assert reports(f"{TRAINERS}faulty", NO_MEMORY) == [Report(7, ended=True, error="out of memory", killed=True)]
    assert reports(f"{TRAINERS}faulty", BROKEN) == [Report(7, ended=True, error="RuntimeError: the loss is a banana")]
    (end,) = reports(f"{__name__}:killed_for_want_of_memory", 10)
    assert end == Report(7, ended=True, error="out of memory: the device has 8 GB", killed=True)


def test_a_trainer_that_is_not_there_is_refused() -> None:
    for name in ("tests.helpers.trainers:nobody", "no.such.module:train", "", ":train"):
        with pytest.raises(InputError, match="cannot load the trainer"):
            find_trainer(name)
        (end,) = reports(name, 10)
        assert (end.ended, end.refused) == (True, True)


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ValueError("  one\ntwo"), "ValueError: one"),
        (ValueError(), "ValueError"),
        (ValueError("\n \n"), "ValueError"),
        (MemoryError("4 GB"), "out of memory: 4 GB"),
        (OutOfMemoryError(), "out of memory"),
    ],
)
def test_an_error_is_told_in_one_line(error: Exception, line: str) -> None:
    assert describe(error) == line


@pytest.fixture
def _interrupts() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_interrupts")
def test_a_worker_serves_what_comes_until_the_pipe_ends_and_leaves_interrupts_to_the_driver() -> None:
    waiting, sent = [(1, [config(10)]), (2, [config(11)])], []

    def receive() -> Any:
        if not waiting:
            raise EOFError
        return waiting.pop(0)

    serve(SimpleNamespace(recv=receive, send=sent.append), f"{TRAINERS}steady", "cpu")
    assert [(report.unit, report.ended) for report in sent] == [(1, False), (1, True), (2, False), (2, True)]
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_a_worker_ends_when_its_driver_has(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[object] = []
    monkeypatch.setattr(os, "_exit", done.append)
    end_with_driver()  # This process has been started by nobody's worker.
    assert done == []
    driver = SimpleNamespace(join=lambda: done.append("joined"))
    monkeypatch.setattr(local_pool.multiprocessing, "parent_process", lambda: driver)
    end_with_driver()
    assert done == ["joined", 1]


def a_worker(exitcode: int, done: list[str]) -> _Worker:
    """A worker whose pipe and process only note what is done with them."""
    worker = object.__new__(_Worker)
    worker.pipe = SimpleNamespace(close=lambda: done.append("close"))  # type: ignore[assignment]
    worker.process = SimpleNamespace(  # type: ignore[assignment]
        exitcode=exitcode, join=lambda: done.append("join"), kill=lambda: done.append("kill")
    )
    return worker


@pytest.mark.parametrize(
    ("exitcode", "cause"),
    [
        (0, "the worker exited with status 0"),
        (3, "the worker exited with status 3"),
        (-signal.SIGKILL, "the worker was killed by SIGKILL (perhaps for lack of memory)"),
        (-signal.SIGSEGV, "the worker was killed by SIGSEGV"),
    ],
)
def test_the_cause_of_death_is_told_once_the_worker_is_gone(exitcode: int, cause: str) -> None:
    done: list[str] = []
    assert a_worker(exitcode, done).cause_of_death() == cause
    assert done == ["close", "join"]


def test_a_worker_is_killed_and_waited_for() -> None:
    done: list[str] = []
    a_worker(0, done).kill()
    assert done == ["close", "kill", "join"]


def test_no_worker_outlives_its_driver_or_its_pool() -> None:
    with LocalPool(f"{TRAINERS}steady", workers=1) as pool:
        pool.submit(0, [config(10)])
        (worker,) = pool._busy.values()
        assert worker.process.daemon
        while not any(report.ended for report in pool.wait()):
            pass
    assert worker.process.exitcode == -signal.SIGKILL


def test_the_cores_are_those_of_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", {0: {2, 3, 5}}.__getitem__, raising=False)
    assert available_cores() == 3
