"""Models whose mechanism is known, whole and damaged, for the tests of the mechanism analyses."""

import os
import signal
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from constructions.weights.catalogue import Setting
from empirical.mechanism.presets import TrainedModel
from empirical.mechanism.subject import Studied, of_construction, of_run
from empirical.mechanism.sweep import study_models
from empirical.models.runs import RunConfig
from theory import FactSystem

SYSTEM = FactSystem.random(60, 3, seed=5)
PAIR = FactSystem.random(96, 2, seed=6)

# The superpositions (T7), all of them universal (T5): theorem, name, setting, system.
SUPERPOSITIONS = (
    ("T1", "plain", Setting(), SYSTEM),
    ("T1", "residual", Setting(), SYSTEM),
    ("T1b", "digits", Setting(bits=3), SYSTEM),
    ("T1b", "circle", Setting(), SYSTEM),
    ("T2", "direct", Setting(hops=2), PAIR),
    ("T3", "parabola", Setting(hops=2), SYSTEM),
)


def plain(system: FactSystem = SYSTEM) -> Studied:
    return of_construction("T1", system)


def table() -> Studied:
    """T2b, which holds its facts in the MLP."""
    return of_construction("T2b", SYSTEM)


def wrong_facts() -> Studied:
    """T1, said to hold facts that it does not hold."""
    return replace(plain(), system=FactSystem.random(60, 3, seed=7))


def with_subjects(studied: Studied, rows: NDArray[Any], system: FactSystem | None = None) -> Studied:
    """The same model with other subject rows [N, d], and other facts to recall; nothing else changes, nor does W_U."""
    own = studied.transformer
    W_E = np.concatenate([rows, own.W_E[own.entities :]])
    return replace(studied, transformer=replace(own, W_E=W_E), system=system or studied.system)


def quarter_damaged() -> Studied:
    """T1 with the rows of every fourth subject handed round among them."""
    rows = plain().rows.copy()
    rows[::4] = np.roll(rows[::4], 1, axis=0)
    return with_subjects(plain(), rows)


def scrambled_mlp() -> Studied:
    """T1 with the columns of W_out permuted: the gates are right, what they let through is not."""
    own = plain().transformer
    order = np.random.default_rng(0).permutation(own.dimension)
    block = replace(own.blocks[0], W_out=own.blocks[0].W_out[order])
    return replace(plain(), transformer=replace(own, blocks=(block,)))


def dead_mlp() -> Studied:
    """T1 whose MLP emits 0 whatever it is given."""
    own = plain().transformer
    block = own.blocks[0]
    silent = replace(block, W_out=np.zeros_like(block.W_out), b_out=np.zeros_like(block.b_out))
    return replace(plain(), transformer=replace(own, blocks=(silent,)))


def alike() -> Studied:
    """T1 with one row for all subjects."""
    return with_subjects(plain(), np.ones_like(plain().rows))


def raising_at_seed_1(jobs: Sequence[Any], device: str) -> Iterator[tuple[Any, None]]:
    """What the workers of a sweep do, except for trained models of seed 1."""
    for job in jobs:
        if isinstance(job[0], TrainedModel) and job[0].config.seed == 1:
            raise RuntimeError("a bug\nand what is known of it")
        yield from study_models([job], device)


def dying_at_seed_1(jobs: Sequence[Any], device: str) -> Iterator[tuple[Any, None]]:
    """The same, and seed 1 is the end of its process."""
    for job in jobs:
        if isinstance(job[0], TrainedModel) and job[0].config.seed == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        yield from study_models([job], device)


def dying_once_at_seed_1(jobs: Sequence[Any], device: str) -> Iterator[tuple[Any, None]]:
    """The same, unless it has happened before: then there is the file that the environment names."""
    died = Path(os.environ["DIED"])
    for job in jobs:
        if isinstance(job[0], TrainedModel) and job[0].config.seed == 1 and not died.exists():
            died.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        yield from study_models([job], device)


@cache
def trained(**change: object) -> tuple[RunConfig, Studied]:
    """A small trained model that recalls all its facts."""
    from empirical.models.training import train

    config = RunConfig(**{"entities": 48, "relations": 2, "dimension": 16, "width": 32, "steps": 300, **change})  # type: ignore[arg-type]
    run = train([config])[0]
    assert run.result.perfect
    return config, of_run(run.parameters, config)
