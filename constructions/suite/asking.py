"""A question by names to a model that knows them: one query, run in exact arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from constructions.verification.exact import ExactModel
from constructions.verification.exhaustive import run_queries
from constructions.verification.integers import whole
from theory import InputError, Task
from theory.records.console import short
from theory.records.facts import load_names, names_of
from theory.records.loading import load_model_as_said
from theory.records.reading import read_tensors, within


@dataclass(frozen=True)
class Answer:
    """What a model says, by name, and the least margin of its steps: by how much the logit exceeds every other, but
    for those of the answers that are `right_too`.
    """

    name: str
    margin: Fraction
    right_too: tuple[str, ...] = ()

    def __str__(self) -> str:
        too = f" (right too: {', '.join(self.right_too)})" if self.right_too else ""
        return f"{self.name}, margin {short(self.margin)}{too}"


def ask(path: Path, subject: str, relations: Sequence[str]) -> Answer:
    """The answer of the model in a file to a subject and its relations. InputError for a file without names, a name
    that is not among them, another number of relations than the model was built for, a question that the facts do not
    answer, softmax attention, and a tie.
    """
    with within(path):
        metadata = read_tensors(path).metadata
        if "entity_names" not in metadata:
            raise InputError("it has no names; georecall construct --facts writes them into a model")
        named = load_names(path)
        assert named is not None
        transformer, task, _ = load_model_as_said(path, len(named.entities))
        names = names_of(metadata, task)
        assert names is not None
        if transformer.attention == "softmax":
            raise InputError("its attention is softmax, whose logits are no fractions; ask a hardmax or uniform model")
        if task.disjoint_attributes:
            raise InputError("its answers are attributes without names of their own")
        if (transformer.entities, transformer.relations) != (len(names.entities), len(names.relations)):
            raise InputError(f"it has {len(names.relations)} names for {transformer.relations} relations")
    if len(relations) != task.hops:
        raise InputError(
            f"{path} answers {task.hops} relations at a time, and these are {len(relations)}; "
            "georecall construct with T2 or T3 and --hops builds a model for more"
        )
    x = names.entity(subject)
    word = [names.relation(relation) for relation in relations]
    query = number_of(word, len(names.relations)), x
    if names.answered is not None and not names.answered[query]:
        raise InputError(f"the facts do not say: {subject}, {', '.join(relations)}")
    right = names.several.get(query, ())
    found, margin = _run(ExactModel(transformer, rational=True), task, x, word, right)
    if margin <= 0:
        raise InputError(f"{path} is undecided on {subject}, {', '.join(relations)}: two answers have the same logit")
    return Answer(
        names.entities[found], margin, tuple(names.entities[y] for y in right if y != found) if found in right else ()
    )


def number_of(word: Sequence[int], relations: int) -> int:
    """The place of a word in the order of `all_words`."""
    number = 0
    for relation in word:
        number = number * relations + relation
    return number


def _run(
    model: ExactModel, task: Task, subject: int, word: Sequence[int], right: Sequence[int]
) -> tuple[int, Fraction]:
    """The answer with the largest logit, and the least margin of the steps: of the largest logit over every other, or
    of the best of the `right` answers over those that are none, if one of them has the largest.
    """
    guess = np.array([right]) if right else np.zeros(1, np.int64)
    margins, emitted = run_queries(model, task, np.array([subject]), np.array([list(word)]), guess)
    if margins[-1][0][0] <= 0 and emitted[-1][0] not in guess:
        guess = emitted[-1]
        margins, _ = run_queries(model, task, np.array([subject]), np.array([list(word)]), guess)
    return whole(emitted[-1][0]), min(Fraction(whole(margin[0]), scale) for margin, scale in margins)
