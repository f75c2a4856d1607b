"""What a probe needs of a model: its subject states, its objects' directions and its answers, patched or not.

A pretrained language model provides it (`empirical.probing.language_models.pretrained`). So do, in the tests,
transformers of this project, where the right answers of a probe are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True)
class Relation:
    """A relation of subjects to objects, as facts and as prompts.

    `templates` ask for the object: each holds "{}" once, where the subject goes, and ends where the object follows.
    `samples` are pairs (subject, object), each subject once: maps are fitted to these objects. `others` are further
    pairs of these subjects that are as right. `source` says in one line where the facts come from.
    """

    name: str
    templates: tuple[str, ...]
    samples: tuple[tuple[str, str], ...]
    source: str
    others: tuple[tuple[str, str], ...] = ()

    @property
    def subjects(self) -> tuple[str, ...]:
        """The subjects, in order."""
        return tuple(subject for subject, _ in self.samples)

    @property
    def objects(self) -> tuple[str, ...]:
        """The different objects, sorted: the candidates among which an answer is chosen."""
        return tuple(sorted({found for _, found in (*self.samples, *self.others)}))


@dataclass(frozen=True)
class Patch:
    """Add `change[i]`, shape [subjects, d], to the residual stream after `layer` at the last token of subject i.

    Layer 0 is the input embeddings, layer l ≥ 1 the output of block l - 1.
    """

    layer: int
    change: Array


class Probed(Protocol):
    """A model that can be probed. Layer 0 is the input embeddings, layer l ≥ 1 the output of block l - 1."""

    @property
    def name(self) -> str:
        """What the model is called."""
        ...

    @property
    def layers(self) -> int:
        """The number of blocks."""
        ...

    def states(self, subjects: Sequence[str]) -> NDArray[np.float32]:
        """The residual stream at each subject's last token, shape [layers + 1, subjects, d]."""
        ...

    def directions(self, objects: Sequence[str]) -> NDArray[np.float32]:
        """The read-out direction of each object's first token, shape [objects, d]: the first after those that all of
        these objects begin with. Objects that share it have the same direction."""
        ...

    def scores(self, relation: Relation, subjects: Sequence[str], patch: Patch | None = None) -> NDArray[np.float32]:
        """The model's score of each candidate `relation.objects` when asked, shape [subjects, objects]; the largest is
        the answer. Candidates that begin with the same token are told apart by the tokens that follow."""
        ...

    def randomised(self, seed: int) -> Probed:
        """The same architecture and tokeniser with freshly initialised weights: a control."""
        ...
