"""What a worker does with a work unit, whatever machine it sits on, and what it reports to the driver.

A *work unit* is a list of configurations that are trained together: one on a CPU, a stacked batch on a GPU. A *trainer*
is a function `train(configs, device=..)`, known by the name "module:function", that returns or yields for each
configuration a pair (RunResult, weights), the weights being NumPy arrays by name, or None to keep none. One that yields
has each run in the store as it ends.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from empirical.execution.provenance import provenance
from empirical.execution.store import Outcome
from empirical.models.runs import RunConfig, RunResult
from theory.errors import InputError

Trainer = Callable[..., Iterable[tuple[RunResult, Mapping[str, NDArray[Any]] | None]]]


@dataclass(frozen=True)
class Report:
    """What came from a work unit: an outcome, or that it has ended. If it ended with an `error` (the reason), its runs
    without an outcome have failed; `refused`: it was bad input, no failure; `lost`: its machine is gone, try again;
    `killed`: its worker is gone, or had too little memory, which may be another's doing: try again alone.
    """

    unit: int
    outcome: Outcome | None = None
    ended: bool = False
    error: str = ""
    refused: bool = False
    lost: bool = False
    killed: bool = False


def find_trainer(name: str) -> Trainer:
    """The trainer called "module:function"; InputError when there is none."""
    module, _, function = name.partition(":")
    try:
        return getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(f"cannot load the trainer {name!r}: {error}") from None


def perform(unit: int, configs: Sequence[RunConfig], train: str, device: str) -> Iterator[Report]:
    """Train a work unit; each outcome as the trainer gives it, then the end. Exceptions become reports."""
    try:
        for result, weights in find_trainer(train)(list(configs), device=device):
            yield Report(unit, Outcome(result, weights, provenance(device)))
    except InputError as error:
        yield Report(unit, ended=True, error=str(error), refused=True)
    except Exception as error:
        yield Report(unit, ended=True, error=describe(error), killed=_is_out_of_memory(error))
    else:
        yield Report(unit, ended=True)


def describe(error: Exception) -> str:
    """The exception in one line: out of memory in plain words, anything else by its type and first line."""
    first = (str(error).strip().splitlines() or [""])[0]
    if _is_out_of_memory(error):
        return f"out of memory: {first}" if first else "out of memory"
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


def _is_out_of_memory(error: Exception) -> bool:
    """True of Python's error, and of PyTorch's and Ray's, which need not be installed."""
    return isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
