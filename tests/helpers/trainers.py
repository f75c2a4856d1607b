"""Trainers that train nothing, for the tests of the store and the engines: quick, deterministic, and faulty on demand.

A configuration's `steps` is how many milliseconds its run takes.
"""

import hashlib
import os
import signal
import time
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from empirical.models.runs import RunConfig, RunResult
from theory import InputError

Run = tuple[RunResult, dict[str, NDArray[np.float32]] | None]

KILLED, EXITED, NO_MEMORY, BROKEN, SILENT = range(1, 6)  # the seeds whose runs `faulty` makes fail


def config(seed: int = 0, *, milliseconds: int = 1, dimension: int = 4) -> RunConfig:
    return RunConfig(entities=8, relations=2, dimension=dimension, width=8, steps=milliseconds, seed=seed)


def outcome_of(config: RunConfig) -> Run:
    """The result and weights that the configuration has in every test."""
    draw = np.random.default_rng(int(config.key[:8], 16))
    accuracy = float(draw.integers(9)) / 8
    history = tuple((step, float(draw.random()), accuracy) for step in range(3))
    status = "memorised" if accuracy >= 0.99 else "not memorised"
    result = RunResult(config, status, accuracy, config.steps, 0.5, history, trained_scalars=12)
    return result, {"W_E": draw.random((8, config.dimension), np.float32), "b_U": draw.random(8, np.float32)}


def failure_of(config: RunConfig, error: str) -> RunResult:
    return RunResult(config, "failed", None, 0, 0.5, error=error)


def digest(arrays: dict[str, NDArray[np.float32]]) -> str:
    return hashlib.sha256(b"".join(name.encode() + arrays[name].tobytes() for name in sorted(arrays))).hexdigest()


def steady(configs: Sequence[RunConfig], device: str) -> Iterator[Run]:
    for each in configs:
        time.sleep(each.steps / 1000)
        yield outcome_of(each)


def unhurried(configs: Sequence[RunConfig], device: str) -> Iterator[Run]:
    """Half a second for any run, and nothing memorised."""
    for each in configs:
        time.sleep(0.5)
        yield RunResult(each, "not memorised", 0.5, each.steps, 0.5), None


def at_once(configs: Sequence[RunConfig], device: str) -> list[Run]:
    return list(steady(configs, device))


def suicidal(configs: Sequence[RunConfig], device: str) -> Iterator[Run]:
    os.kill(os.getpid(), signal.SIGKILL)
    yield from steady(configs, device)


def faulty(configs: Sequence[RunConfig], device: str) -> Iterator[Run]:
    """Fails by the seed, unless the environment says MENDED."""
    for each, run in zip(configs, steady(configs, device), strict=True):
        fault = 0 if "MENDED" in os.environ else each.seed
        if fault == KILLED:
            os.kill(os.getpid(), signal.SIGKILL)
        elif fault == EXITED:
            os._exit(3)
        elif fault == NO_MEMORY:
            raise MemoryError
        elif fault == BROKEN:
            raise RuntimeError("the loss is a banana\nand more lines")
        elif fault == SILENT:
            return
        yield run


def no_such_device(configs: Sequence[RunConfig], device: str) -> list[Run]:
    raise InputError(f"there is no device {device}")


def never(configs: Sequence[RunConfig], device: str) -> list[Run]:
    raise AssertionError("this trainer must not be called")


def wrong(configs: Sequence[RunConfig], device: str) -> list[Run]:
    return [outcome_of(config(seed=99))]


def threads(configs: Sequence[RunConfig], device: str) -> Iterator[Run]:
    """Says how many threads the numerical libraries were told to take, as the number of trained scalars."""
    for each in configs:
        number = int(os.environ.get("OMP_NUM_THREADS", "0"))
        yield RunResult(each, "memorised", 1.0, 1, 0.5, trained_scalars=number), None
