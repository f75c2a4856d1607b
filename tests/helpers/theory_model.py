"""A transformer of this project as a model that can be probed: subjects and objects are "entity 0", "entity 1", ..

The right answers of a probe are known here. T1's rows are superpositions of their answers' codes in disjoint blocks:
every relation is read, the blocks share no direction, and swapping one changes one relation's answers and no other's.
In T2b's associative memory the rows say nothing of the answers, which are all in the MLP: the same questions must be
answered no, though the model knows every fact. So must they of random weights.

A patched stream is handed on as the tokens of a second transformer, made of the blocks that are left.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from empirical.probing.facts.probed import Patch, Relation
from theory import FactSystem, InputError, Transformer
from theory.definitions.transformer import run_with_cache


def relations_of(system: FactSystem) -> tuple[Relation, ...]:
    """The relations of a fact system, one a Relation, with all N facts."""
    return tuple(
        Relation(
            f"relation {number}",
            (f"relation {number} of {{}}",),
            tuple((f"entity {subject}", f"entity {answer}") for subject, answer in enumerate(row)),
            "a fact system",
        )
        for number, row in enumerate(system.answers.tolist())
    )


@dataclass(frozen=True, eq=False)
class TheoryModel:
    """A transformer that answers one-hop queries (x, r), as a `Probed`."""

    name: str
    transformer: Transformer

    @property
    def layers(self) -> int:
        """L, the number of blocks."""
        return len(self.transformer.blocks)

    def states(self, subjects: Sequence[str]) -> NDArray[np.float32]:
        """The residual stream at each subject, before any relation is named, shape [layers + 1, subjects, d]."""
        prompts = self._entities(subjects)[:, None]
        return np.stack([_stream(self.transformer, prompts, layer)[:, -1] for layer in range(self.layers + 1)])

    def directions(self, objects: Sequence[str]) -> NDArray[np.float32]:
        """The read-out's column of each object, shape [objects, d]."""
        return self.transformer.W_U.T[self._entities(objects)].astype(np.float32)

    def scores(self, relation: Relation, subjects: Sequence[str], patch: Patch | None = None) -> NDArray[np.float32]:
        """The logits of the relation's objects when (x, r) is asked, shape [subjects, objects]."""
        found = re.fullmatch(r"relation (\d+)", relation.name)
        if not found or int(found[1]) >= self.transformer.relations:
            raise InputError(
                f"relation {relation.name!r} is unknown to {self.name}; its relations are called "
                f"relation 0 .. relation {self.transformer.relations - 1}"
            )
        entities = self._entities(subjects)
        prompts = np.stack([entities, np.full(len(entities), self.transformer.entities + int(found[1]))], axis=1)
        if patch is None:
            logits, _ = run_with_cache(self.transformer, prompts)
        else:
            stream = _stream(self.transformer, prompts, patch.layer)
            stream[:, 0] += patch.change
            logits = _logits_from(self.transformer, stream, patch.layer)
        return logits[:, self._entities(relation.objects)].astype(np.float32)

    def randomised(self, seed: int) -> TheoryModel:
        """Every tensor redrawn: normal, with the root mean square that it has."""
        generator = np.random.default_rng(seed)

        def drawn(array: NDArray[Any]) -> NDArray[np.float64]:
            """A normal array of the same shape, with mean 0 and the root mean square of the given one."""
            size = np.sqrt((array.astype(float) ** 2).mean()) if array.size else 0.0
            return generator.normal(size=array.shape) * size

        blocks = tuple(
            dataclasses.replace(block, **{name: drawn(getattr(block, name)) for name in block.AXES})
            for block in self.transformer.blocks
        )
        outer: dict[str, Any] = {
            name: drawn(getattr(self.transformer, name)) for name in ("W_E", "W_pos", "W_U", "b_U")
        }
        return TheoryModel(f"{self.name}, randomised", dataclasses.replace(self.transformer, blocks=blocks, **outer))

    def _entities(self, names: Sequence[str]) -> NDArray[np.int64]:
        numbers = []
        for name in names:
            found = re.fullmatch(r"entity (\d+)", name)
            if not found or int(found[1]) >= self.transformer.entities:
                raise InputError(
                    f"{name!r} is unknown to {self.name}; its entities are called entity 0 .. entity "
                    f"{self.transformer.entities - 1}"
                )
            numbers.append(int(found[1]))
        return np.array(numbers, np.int64)


def _stream(transformer: Transformer, prompts: NDArray[np.int64], layer: int) -> NDArray[Any]:
    """The residual stream after so many blocks, shape [batch, length, d]."""
    if layer == 0:
        return np.asarray(transformer.W_E[prompts] + transformer.W_pos[: prompts.shape[1]], float)
    _, cache = run_with_cache(transformer, prompts)
    return np.array(cache[f"blocks.{layer - 1}.hook_resid_post"])


def _logits_from(transformer: Transformer, stream: NDArray[Any], layer: int) -> NDArray[Any]:
    """The logits that the blocks from `layer` on make of a stream [batch, length, d]."""
    batch, length, dimension = stream.shape
    tokens = np.concatenate([stream.reshape(-1, dimension), np.zeros((3, dimension))])  # never too few for a model
    rest = dataclasses.replace(
        transformer,
        entities=len(tokens) - 1,
        W_E=tokens,
        W_pos=np.zeros((length, dimension)),
        blocks=transformer.blocks[layer:],
    )
    return run_with_cache(rest, np.arange(batch * length).reshape(batch, length))[0]
