"""Work units as tasks of a Ray cluster (extra `cluster`): one machine, or many, without a changed line in a sweep.

The driver hands out the units and writes the results; the tasks only compute. Ray's own retries are off: a node that
dies is reported as lost, a worker that dies alone as killed, and the driver tries their units again. A result reaches
the driver once, so nothing is there twice. The project must be importable on every node.

Ray ends a process that is connected to a cluster, with lines of its own and without an exception, a minute after the
cluster's head is gone. So it is not the driver that is connected, but a process beside it, which does what the driver
asks through a pipe: when that ends, the driver says so in one line, and what it had stored stays stored.
"""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from empirical.execution.local_pool import CONTEXT, end_with_driver
from empirical.execution.worker import Report, describe, perform
from empirical.models.runs import RunConfig
from theory.definitions.fact_system import check_count
from theory.errors import InputError

SECONDS_BETWEEN_LOOKS = 5.0  # at whether the node that Ray was reached through is still there
SECONDS_TO_LEAVE = 20  # what the process beside the driver may take to cancel its tasks and end a local cluster


class RayPool:
    """A pool on the Ray cluster at `address` ("auto": the one around; None: a new one on this machine).

    A work unit takes one core, and on CUDA the fraction `gpus` of a GPU besides (0.25: four units share one).
    `unit_size` is the number of runs in a unit (default: one). A script that makes a pool needs the guard
    `if __name__ == "__main__"`: the process beside it imports it. Raises InputError when Ray is not installed, or the
    cluster cannot be reached, has no GPU, or is lost later.
    """

    def __init__(
        self, train: str, *, address: str | None = None, device: str = "cpu", gpus: float = 1.0, unit_size: int = 1
    ) -> None:
        if not _is_installed():
            raise InputError("Ray is not installed: pip install 'geometric-recall[cluster]'")
        stacked = device.startswith("cuda")
        if stacked and not 0 < gpus <= 1:
            raise InputError(f"the fraction of a GPU for a work unit must be above 0 and at most 1, not {gpus}")
        self.unit_size = check_count("unit_size", unit_size)
        _check_reachable(address)
        self._where = "on this machine" if address is None else f"at {address}"
        self._pipe, theirs = CONTEXT.Pipe()
        share = {"CPU": 1.0, **({"GPU": gpus} if stacked else {})}
        self._process = CONTEXT.Process(
            target=serve, args=(theirs, train, address, device, share), name="ray driver", daemon=True
        )
        self._process.start()
        theirs.close()  # the pipe then ends when the process does
        try:
            self._answer()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> RayPool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def capacity(self) -> int:
        """How many work units the nodes that are up can run at once; 1 while there is none, and Ray waits for one."""
        return max(1, self._ask("slots"))

    def submit(self, unit: int, configs: Sequence[RunConfig]) -> None:
        """Start a work unit."""
        self._ask("submit", unit, list(configs))

    def wait(self) -> list[Report]:
        """What has come from the tasks; blocks until there is something."""
        return self._ask("wait")

    def close(self) -> None:
        """Cancel what is running, and disconnect."""
        self._pipe.close()
        self._process.terminate()  # it may be waiting for a task, and not for the pipe
        self._process.join(SECONDS_TO_LEAVE)
        self._process.kill()
        self._process.join()

    def _ask(self, name: str, *arguments: Any) -> Any:
        with contextlib.suppress(OSError):  # that the process has ended shows itself in the answer
            self._pipe.send((name, arguments))
        return self._answer()

    def _answer(self) -> Any:
        try:
            found = self._pipe.recv()
        except (EOFError, OSError):
            raise InputError(
                f"the Ray cluster {self._where} is lost: its head has ended, or cannot be reached any more; what was "
                "finished is stored, and the same command goes on"
            ) from None
        if isinstance(found, InputError):
            raise found
        return found


def _is_installed() -> bool:
    try:
        return importlib.util.find_spec("ray") is not None
    except ValueError:  # a module set to None, as the tests do
        return False


def _check_reachable(address: str | None) -> None:
    """InputError if nothing answers at "host:port"; Ray itself would try for minutes."""
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        try:
            socket.create_connection((host, int(port)), timeout=10).close()
        except (OSError, OverflowError) as error:
            raise InputError(f"cannot reach the Ray cluster {address}: {error}") from None


# The process beside the driver


def serve(pipe: Any, train: str, address: str | None, device: str, share: dict[str, float]) -> None:
    """Its life: connect, then answer one question after the other, until the driver closes the pipe or is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt from the keyboard is the driver's to act on
    threading.Thread(target=end_with_driver, daemon=True).start()
    for stream in (1, 2):  # what Ray has to say of its end, the driver says in its own words
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    try:
        connection = _Connection(train, address, device, share)
    except InputError as error:
        pipe.send(error)
        return
    pipe.send(None)
    try:
        while True:
            name, arguments = pipe.recv()
            pipe.send(getattr(connection, name)(*arguments))
    except (EOFError, OSError):
        connection.close()


class _Connection:
    """The tasks under way on a cluster. `share` is what each takes of the resources that Ray counts."""

    def __init__(self, train: str, address: str | None, device: str, share: dict[str, float]) -> None:
        import ray

        self._ray, self._share = ray, share
        self._running: dict[Any, int] = {}
        try:
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise InputError(f"cannot reach the Ray cluster {address or 'here'}: {describe(error)}") from None
        threading.Thread(target=self._end_with_node, daemon=True).start()
        if self.slots() < 1:
            self.close()
            raise InputError(f"the Ray cluster has no {'GPU' if 'GPU' in share else 'CPU'} for a work unit")
        task: Any = ray.remote(num_cpus=1, num_gpus=share.get("GPU", 0), max_retries=0)(_task)
        self._start = lambda unit, configs: task.remote(unit, configs, train, device)

    def _end_with_node(self) -> None:
        """End the process when the node that it reached the cluster through is lost: Ray itself would wait for ever."""
        own = self._ray.get_runtime_context().get_node_id()
        while any(node["NodeID"] == own and node["Alive"] for node in self._ray.nodes()):
            time.sleep(SECONDS_BETWEEN_LOOKS)
        os._exit(1)

    def slots(self) -> int:
        """How many work units the nodes that are up can run at once."""
        resources = self._ray.cluster_resources()
        return int(min(resources.get(name, 0) / amount for name, amount in self._share.items()))

    def submit(self, unit: int, configs: list[RunConfig]) -> None:
        """Start a task."""
        self._running[self._start(unit, configs)] = unit

    def wait(self) -> list[Report]:
        """The reports of the tasks that have ended; blocks until one has."""
        ready, _ = self._ray.wait(list(self._running), num_returns=1)
        return [report for reference in ready for report in self._collect(reference)]

    def _collect(self, reference: Any) -> list[Report]:
        unit = self._running.pop(reference)
        errors = self._ray.exceptions
        try:
            return self._ray.get(reference)
        except errors.OutOfMemoryError:
            return [Report(unit, ended=True, killed=True, error="out of memory: Ray ended the worker")]
        except errors.WorkerCrashedError:
            reason = "the worker died: killed (perhaps for lack of memory), or crashed"
            return [Report(unit, ended=True, killed=True, error=reason)]
        except errors.RayTaskError as error:  # `perform` lets nothing out, so it was never reached
            reason = str(error).strip().splitlines()[-1]
            return [Report(unit, ended=True, refused=True, error=f"a node cannot run this project: {reason}")]
        except errors.RayError as error:  # NodeDiedError, LocalRayletDiedError, ObjectLostError, and their like
            return [Report(unit, ended=True, lost=True, error=f"its machine was lost: {describe(error)}")]

    def close(self) -> None:
        """Cancel the tasks, disconnect, and end a cluster that was started here."""
        for reference in self._running:
            self._ray.cancel(reference, force=True)
        self._ray.shutdown()


def _task(unit: int, configs: list[RunConfig], train: str, device: str) -> list[Report]:
    """What runs on a node; Ray holds the numerical libraries there to as many threads as the task has cores."""
    return list(perform(unit, configs, train, device))
