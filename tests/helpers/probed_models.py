"""Models to probe whose states and answers are set by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from empirical.probing.facts.probed import Patch, Relation


def relation(objects: Sequence[int], name: str = "colour", subject: str = "subject") -> Relation:
    """The relation of subject 0, subject 1, .. to objects of the given numbers."""
    samples = tuple((f"{subject} {x}", f"object {y:03}") for x, y in enumerate(objects))
    return Relation(name, (f"the {name} of {{}} is",), samples, "made up")


def number(name: str) -> int:
    """The number of a subject or object."""
    return int(name.rsplit(" ", 1)[1])


@dataclass(frozen=True, eq=False)
class Stub:
    """A model with states [layers + 1, subjects, d] and directions [objects, d] as given.

    `answers` [relation's name] holds the object that it answers for each subject (the right one, unless given); a patch
    changes nothing. Its randomised copy has random states.
    """

    tables: NDArray[Any]
    rows: NDArray[Any]
    answers: dict[str, Sequence[int]]
    name: str = "stub"

    @property
    def layers(self) -> int:
        return len(self.tables) - 1

    def states(self, subjects: Sequence[str]) -> NDArray[np.float32]:
        return self.tables[:, [number(name) for name in subjects]].astype(np.float32)

    def directions(self, objects: Sequence[str]) -> NDArray[np.float32]:
        return self.rows[[number(name) for name in objects]].astype(np.float32)

    def scores(self, asked: Relation, subjects: Sequence[str], patch: Patch | None = None) -> NDArray[np.float32]:
        right = {x: number(y) for x, y in asked.samples}
        given = self.answers.get(asked.name)
        said = [right[name] if given is None else given[number(name)] for name in subjects]
        places = [[number(name) for name in asked.objects].index(each) for each in said]
        return np.eye(len(asked.objects), dtype=np.float32)[places]

    def randomised(self, seed: int) -> Stub:
        states = np.random.default_rng([seed, 7]).normal(size=self.tables.shape)
        return Stub(states, self.rows, self.answers, f"{self.name}, randomised")


def noise(*shape: int, seed: int = 0) -> NDArray[np.float64]:
    """Independent normal numbers."""
    return np.random.default_rng(seed).normal(size=shape)
