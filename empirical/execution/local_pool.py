"""Work units in processes of this machine.

On a CPU there is a worker for each core, and each trains one run at a time with one thread: small products gain nothing
from more threads, lose much when the threads outnumber the cores, and round differently with their number. On CUDA one
worker trains one stacked batch after another; it is a process of its own too, because running out of memory, or a fault
on the device, can leave a process unusable.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from multiprocessing import connection
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Any

from empirical.execution.worker import Report, perform
from empirical.models.runs import RunConfig
from theory.definitions.fact_system import check_count
from theory.errors import InputError

THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
CONTEXT = multiprocessing.get_context("spawn")  # a fork would copy CUDA's state and the locks of other threads


class LocalPool:
    """Worker processes that live until the pool is closed, so that several sweeps pay for loading the trainer once.

    `train` names the trainer ("module:function"). `workers` is the number of processes (default: a CPU's cores; one on
    CUDA, and no other number is accepted there). `unit_size` is the number of runs in a work unit (default: one on a
    CPU; on CUDA as many as `engine.UNIT_LOGITS` allows). A script that makes a pool needs the guard
    `if __name__ == "__main__"`: its workers import it.
    """

    def __init__(
        self, train: str, *, workers: int | None = None, device: str = "cpu", unit_size: int | None = None
    ) -> None:
        stacked = device.startswith("cuda")
        if stacked and workers not in (None, 1):
            raise InputError(f"on CUDA one worker trains all runs in one stacked batch; {workers} workers cannot")
        self.capacity = 1 if stacked else check_count("workers", available_cores() if workers is None else workers)
        self.unit_size = (None if stacked else 1) if unit_size is None else check_count("unit_size", unit_size)
        self._train, self._device = train, device
        self._idle: list[_Worker] = []
        self._busy: dict[int, _Worker] = {}

    def __enter__(self) -> LocalPool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def submit(self, unit: int, configs: Sequence[RunConfig]) -> None:
        """Start a work unit; the caller keeps to `capacity` at once."""
        self._idle = [worker for worker in self._idle if worker.process.is_alive()]
        self._busy[unit] = worker = self._idle.pop() if self._idle else _Worker(self._train, self._device)
        # A worker that has died meanwhile shows itself in `wait`.
        with contextlib.suppress(OSError):
            worker.pipe.send((unit, list(configs)))

    def wait(self) -> list[Report]:
        """What has come from the busy workers; blocks until there is something."""
        ready = connection.wait([worker.pipe for worker in self._busy.values()])
        reports = []
        for unit, worker in [pair for pair in self._busy.items() if pair[1].pipe in ready]:
            try:
                report = worker.pipe.recv()
            except (EOFError, OSError):
                report = Report(unit, ended=True, error=worker.cause_of_death(), killed=True)
                del self._busy[unit]
            else:
                if report.ended:
                    self._idle.append(self._busy.pop(unit))
            reports.append(report)
        return reports

    def close(self) -> None:
        """End the workers at once, whatever they are doing."""
        for worker in [*self._idle, *self._busy.values()]:
            worker.kill()
        self._idle.clear()
        self._busy.clear()


class _Worker:
    """A worker process and the driver's end of the pipe to it."""

    def __init__(self, train: str, device: str) -> None:
        self.pipe, theirs = CONTEXT.Pipe()
        self.process: BaseProcess = CONTEXT.Process(
            target=serve, args=(theirs, train, device), name="trainer", daemon=True
        )
        with _one_thread() if device == "cpu" else contextlib.nullcontext():
            self.process.start()
        theirs.close()  # the pipe then ends when the worker does

    def cause_of_death(self) -> str:
        """Why the worker ended without saying so."""
        self.pipe.close()
        self.process.join()
        code = self.process.exitcode or 0
        if code >= 0:
            return f"the worker exited with status {code}"
        name = signal.Signals(-code).name
        hint = " (perhaps for lack of memory)" if name == "SIGKILL" else ""
        return f"the worker was killed by {name}{hint}"

    def kill(self) -> None:
        """End the process at once, and wait until it is gone."""
        self.pipe.close()
        self.process.kill()
        self.process.join()


def serve(pipe: Any, train: str, device: str) -> None:
    """A worker's life: train the work units that come through the pipe, until it or the driver is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt from the keyboard is the driver's to act on
    threading.Thread(target=end_with_driver, daemon=True).start()
    with contextlib.suppress(EOFError, OSError):
        while True:
            unit, configs = pipe.recv()
            for report in perform(unit, configs, train, device):
                pipe.send(report)


def end_with_driver() -> None:
    """Wait for the end of the process that started this one, and end too, whatever is under way."""
    driver = multiprocessing.parent_process()
    if driver is not None:
        driver.join()
        os._exit(1)


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Hold the numerical libraries to one thread in a process that starts meanwhile: they read this when it loads
    them, which is before any of its own lines could say so.
    """
    before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def available_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
