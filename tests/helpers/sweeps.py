"""A sweep in processes of this machine, in one call."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from empirical.execution.engine import Sweep, run_on
from empirical.execution.local_pool import LocalPool
from empirical.execution.store import Store
from empirical.models.runs import RunConfig


def run_all(
    configs: Iterable[RunConfig], train: str, store: Store, workers: int = 1, device: str = "cpu", **how: Any
) -> Sweep:
    """Run what the store lacks; see `run_on` for the rest, and `LocalPool` for workers and device."""
    with LocalPool(train, workers=workers, device=device) as pool:
        return run_on(pool, configs, store, **how)
