"""Mutants: number i of a seed is a construction of some size after some mutations, a function of (seed, i) alone.

Half of them are one mutation away from the construction; others a few, or a walk of many. Some walks keep to what is
right: a step that would make the model wrong is not taken, so that models come up that look like no construction and
answer every query all the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from constructions.campaign.evaluator import evaluate
from constructions.campaign.mutations import Model, mutate
from constructions.catalogue import CATALOGUE, Entry, Setting
from theory import FactSystem, Task, Transformer
from theory.registry import theorem

MOST_ENTITIES, MOST_RELATIONS, MOST_HOPS, MOST_BITS = 6, 3, 3, 3
MOST_QUERIES = 54
# Enclosing every logit by intervals takes longest: small exact models only, and not all of them.
MOST_QUERIES_BY_INTERVALS = 12
SHARE_BY_INTERVALS = 0.3


@dataclass(frozen=True)
class Mutant:
    """A model, its facts and its task; `claimed` is the margin asked for.

    `construction` and `size` say what it was made from, `changes` how, in words; `enclosed` whether intervals are to
    be asked too.
    """

    seed: int
    number: int
    construction: str
    size: str
    changes: tuple[str, ...]
    transformer: Transformer
    system: FactSystem
    task: Task
    claimed: int
    enclosed: bool


@dataclass(frozen=True)
class Size:
    """N, R and what else a construction is built for."""

    entities: int
    relations: int
    setting: Setting

    def __str__(self) -> str:
        setting = self.setting
        return (
            f"N = {self.entities}, R = {self.relations}, k = {setting.hops}, b = {setting.bits}, j = {setting.stride}"
        )


def mutant(seed: int, number: int) -> Mutant:
    """Mutant `number` of a seed."""
    generator = np.random.default_rng([seed, number])
    entry = CATALOGUE[generator.integers(len(CATALOGUE))]
    size = _size(entry, generator)
    system = FactSystem.random(size.entities, size.relations, int(generator.integers(2**31)))
    task = entry.task(size.setting)
    sound = Model(entry.build(system, size.setting), system)
    claimed = claim(entry) if generator.random() < 0.3 else 0
    model, changes = _walk(sound, task, claimed, generator)
    few = system.entities * system.relations**task.hops <= MOST_QUERIES_BY_INTERVALS
    by_intervals = few and generator.random() < SHARE_BY_INTERVALS
    return Mutant(
        seed,
        number,
        f"{entry.theorem} {entry.name}",
        str(size),
        tuple(changes),
        model.transformer,
        model.system,
        task,
        claimed,
        by_intervals or model.transformer.attention == "softmax",
    )


def claim(entry: Entry) -> int:
    """The margin that the theorem claims; 0, that is a positive one, for softmax and for the circle."""
    return theorem(entry.theorem).construction(entry.name).margin if entry.exact else 0


def _size(entry: Entry, generator: np.random.Generator) -> Size:
    """Sizes with few queries."""
    while True:
        setting = Setting(*(int(generator.integers(1, most + 1)) for most in (MOST_HOPS, MOST_BITS, MOST_HOPS)))
        size = Size(
            int(generator.integers(2, MOST_ENTITIES + 1)), int(generator.integers(1, MOST_RELATIONS + 1)), setting
        )
        if size.entities * size.relations ** entry.task(setting).hops <= MOST_QUERIES:
            return size


def _walk(model: Model, task: Task, claimed: int, generator: np.random.Generator) -> tuple[Model, list[str]]:
    """The model after some mutations, and what they were."""
    style = generator.random()
    if style < 0.5:
        steps, guided = 1, False
    elif style < 0.7:
        steps, guided = int(generator.integers(2, 5)), False
    elif style < 0.85:
        steps, guided = int(generator.integers(5, 31)), False
    else:
        steps, guided = int(generator.integers(2, 9)), True
    changes: list[str] = []
    for _ in range(steps):
        found, said = mutate(model, generator)
        if not guided or evaluate(*found, task).is_right(claimed):
            model = found
            changes.append(said)
    return model, changes
