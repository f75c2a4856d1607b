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
from constructions.suite.checks import Sizes, build, claimed_margin
from constructions.weights.catalogue import CATALOGUE, Entry, Setting
from theory import FactSystem, Task, Transformer

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


def mutant(seed: int, number: int) -> Mutant:
    """Mutant `number` of a seed."""
    generator = np.random.default_rng([seed, number])
    entry = CATALOGUE[generator.integers(len(CATALOGUE))]
    sizes = _sizes(entry, generator)
    system, sound = build(entry, sizes)
    task = entry.task(sizes.setting)
    claimed = claimed_margin(entry) if generator.random() < 0.3 else 0
    model, changes = _walk(Model(sound, system), task, claimed, generator)
    few = system.entities * system.relations**task.hops <= MOST_QUERIES_BY_INTERVALS
    by_intervals = few and generator.random() < SHARE_BY_INTERVALS
    return Mutant(
        seed,
        number,
        f"{entry.theorem} {entry.name}",
        _said(entry, sizes),
        tuple(changes),
        model.transformer,
        model.system,
        task,
        claimed,
        by_intervals or model.transformer.attention == "softmax",
    )


def _sizes(entry: Entry, generator: np.random.Generator) -> Sizes:
    """Sizes with few queries, and the seed of a system."""
    while True:
        setting = Setting(*(int(generator.integers(1, most + 1)) for most in (MOST_HOPS, MOST_BITS, MOST_HOPS)))
        entities = int(generator.integers(2, MOST_ENTITIES + 1))
        relations = int(generator.integers(1, MOST_RELATIONS + 1))
        if entities * relations ** entry.task(setting).hops <= MOST_QUERIES:
            return Sizes(entities, relations, setting, int(generator.integers(2**31)))


def _said(entry: Entry, sizes: Sizes) -> str:
    """The sizes that matter to the construction, in words."""
    setting = {"hops": "k", "bits": "b", "stride": "j"}
    own = [f"{letter} = {getattr(sizes.setting, name)}" for name, letter in setting.items() if name in entry.uses]
    return ", ".join([f"N = {sizes.entities}", f"R = {sizes.relations}", *own])


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
