"""Work units as tasks of a Ray cluster (extra `cluster`): one machine, or many, without a changed line in a sweep.

The driver hands out the units and writes the results; the tasks only compute. Ray's own retries are off: a node that
dies is reported as lost, and the driver tries its units again; a worker that dies alone is the run's failure. A result
reaches the driver once, so nothing is there twice. The project must be importable on every node.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from empirical.runs import RunConfig
from empirical.worker import Report, describe, perform
from theory.errors import InputError
from theory.fact_system import check_count


class RayPool:
    """A pool on the Ray cluster at `address` ("auto": the one around; None: a new one on this machine).

    A work unit takes one core, and on CUDA the fraction `gpus` of a GPU besides (0.25: four units share one).
    `unit_size` is the number of runs in a unit (default: one). A Ray that is already connected is used, and left as
    it is. Raises InputError when Ray is not installed, or the cluster cannot be reached or has no GPU.
    """

    def __init__(
        self, train: str, *, address: str | None = None, device: str = "cpu", gpus: float = 1.0, unit_size: int = 1
    ) -> None:
        try:
            import ray
        except ImportError:
            raise InputError("Ray is not installed: pip install 'geometric-recall[cluster]'") from None
        stacked = device.startswith("cuda")
        if stacked and not 0 < gpus <= 1:
            raise InputError(f"the fraction of a GPU for a work unit must be above 0 and at most 1, not {gpus}")
        self._ray = ray
        self._running: dict[Any, int] = {}
        self.unit_size = check_count("unit_size", unit_size)
        self._connected_here = not ray.is_initialized()
        if self._connected_here:
            _check_reachable(address)
            try:
                ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
            except (ConnectionError, RuntimeError, ValueError) as error:
                raise InputError(f"cannot reach the Ray cluster {address or 'here'}: {describe(error)}") from None
        self._share = {"CPU": 1.0, **({"GPU": gpus} if stacked else {})}
        if self._slots() < 1:
            self.close()
            raise InputError(f"the Ray cluster has no {'GPU' if stacked else 'CPU'} for a work unit")
        task: Any = ray.remote(num_cpus=1, num_gpus=self._share.get("GPU", 0), max_retries=0)(_task)
        self._start = lambda unit, configs: task.remote(unit, configs, train, device)

    def __enter__(self) -> RayPool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def capacity(self) -> int:
        """How many work units the nodes that are up can run at once; 1 while there is none, and Ray waits for one."""
        return max(1, self._slots())

    def _slots(self) -> int:
        resources = self._ray.cluster_resources()
        return int(min(resources.get(name, 0) / amount for name, amount in self._share.items()))

    def submit(self, unit: int, configs: Sequence[RunConfig]) -> None:
        """Start a work unit."""
        self._running[self._start(unit, list(configs))] = unit

    def wait(self) -> list[Report]:
        """What has come from the tasks; blocks until there is something."""
        ready, _ = self._ray.wait(list(self._running), num_returns=1)
        return [report for reference in ready for report in self._collect(reference)]

    def _collect(self, reference: Any) -> list[Report]:
        unit = self._running.pop(reference)
        errors = self._ray.exceptions
        try:
            return self._ray.get(reference)
        except (errors.NodeDiedError, errors.ObjectLostError) as error:
            return [Report(unit, ended=True, lost=True, error=f"its machine was lost: {describe(error)}")]
        except errors.OutOfMemoryError:
            return [Report(unit, ended=True, error="out of memory: Ray ended the worker")]
        except errors.WorkerCrashedError:
            return [Report(unit, ended=True, error="the worker died: killed (perhaps for lack of memory), or crashed")]
        except errors.RayTaskError as error:  # `perform` lets nothing out, so it was never reached
            reason = str(error).strip().splitlines()[-1]
            return [Report(unit, ended=True, refused=True, error=f"a node cannot run this project: {reason}")]

    def close(self) -> None:
        """Cancel what is running, and disconnect if this pool connected."""
        for reference in self._running:
            self._ray.cancel(reference, force=True)
        self._running.clear()
        if self._connected_here:
            self._ray.shutdown()


def _check_reachable(address: str | None) -> None:
    """InputError if nothing answers at "host:port"; Ray itself would try for minutes."""
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        try:
            socket.create_connection((host, int(port)), timeout=10).close()
        except (OSError, OverflowError) as error:
            raise InputError(f"cannot reach the Ray cluster {address}: {error}") from None


def _task(unit: int, configs: list[RunConfig], train: str, device: str) -> list[Report]:
    """What runs on a node; Ray holds the numerical libraries there to as many threads as the task has cores."""
    return list(perform(unit, configs, train, device))
