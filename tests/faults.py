"""Faults in single weights: whether they do harm, and whether the verifiers notice.

The truth is found by the plain float64 forward pass (`theory.transformer.run_with_cache`), which shares no code with
the exact one, and, wherever its rounding could matter, by the fractions of `tests.reference`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from constructions.campaign.evaluator import evaluate
from constructions.certificate import certify
from constructions.exhaustive import check_every_query
from constructions.interval import check_every_query_by_intervals
from tests.edits import put, tensor
from tests.models import REAL, SOFTMAX, Model
from theory import FactSystem, Task, Transformer, all_words
from theory.transformer import run_with_cache

Array = NDArray[Any]

# Margins in float64 are decided by fractions if they differ by less than this from what they are compared with.
TOO_CLOSE = 1e-6

CHANGES: dict[str, Callable[[Any], Any]] = {
    "+1": lambda value: value + 1,
    "-1": lambda value: value - 1,
    "sign": lambda value: -value,
    "zero": lambda value: 0 * value,
    "large": lambda value: value + 1000,
}


@dataclass(frozen=True)
class Fault:
    """One entry of one tensor, and how it is changed."""

    tensor: str
    place: tuple[int, ...]
    change: str

    def apply(self, transformer: Transformer) -> Transformer:
        """The transformer with the fault."""
        value = tensor(transformer, self.tensor)[self.place]
        return put(transformer, self.tensor, self.place, CHANGES[self.change](value))


def single_entry_faults(transformer: Transformer, generator: np.random.Generator, most: int) -> Iterator[Fault]:
    """Faults that change an entry, for every tensor: all there are, or `most` of them drawn at random."""
    for name, array in transformer.tensors():
        total = array.size * len(CHANGES)
        drawn = range(total) if total <= most else generator.choice(total, size=most, replace=False).tolist()
        for number in drawn:
            place = tuple(int(i) for i in np.unravel_index(number // len(CHANGES), array.shape))
            change = list(CHANGES)[number % len(CHANGES)]
            if array[place] != 0 or change not in ("sign", "zero"):
                yield Fault(name, place, change)


@dataclass(frozen=True)
class Injection:
    """What became of the faults in one model: how many did harm, and which of these a verifier missed.

    `alarms` are harmless faults that checking every query rejects all the same; `undecided` counts those in softmax
    models whose harm is too small for float64 to tell.
    """

    faults: int
    harmful: int
    missed_by_checking: tuple[Fault, ...]
    missed_by_certificate: tuple[Fault, ...]
    alarms: tuple[Fault, ...]
    undecided: int


def inject(model: Model, system: FactSystem, hops: int, bits: int, *, seed: int = 0, most: int = 20) -> Injection:
    """Break a construction entry by entry, up to `most` faults a tensor, and show it to the verifiers.

    The claim that a fault must not break is the model's margin, for real weights the exact one of the sound model.
    """
    generator = np.random.default_rng(seed)
    sound, task = model.build(system, hops, bits), model.task(hops)
    rational = model in REAL
    claimed = check_every_query(sound, system, task, rational=True).margin if rational else model.margin
    faults = list(single_entry_faults(sound, generator, most))
    harmful = undecided = 0
    missed_by_checking, missed_by_certificate, alarms = [], [], []
    for fault in faults:
        broken = fault.apply(sound)
        harm = is_harmful(broken, system, task, claimed)
        if harm is None:
            undecided += 1
            continue
        if model in SOFTMAX:
            holds = check_every_query_by_intervals(broken, system, task).status == "holds" if harm else True
        else:
            holds = check_every_query(broken, system, task, claimed, rational=rational).holds
        if not harm:
            alarms += [] if holds else [fault]
            continue
        harmful += 1
        missed_by_checking += [fault] if holds else []
        if not rational and certify(broken, system, task, claimed).accepted:
            missed_by_certificate.append(fault)
    return Injection(
        len(faults), harmful, tuple(missed_by_checking), tuple(missed_by_certificate), tuple(alarms), undecided
    )


def is_harmful(transformer: Transformer, system: FactSystem, task: Task, claimed: Fraction | int) -> bool | None:
    """True iff some query's margin is not positive, or below the claim; None when softmax is too close to tell."""
    right = evaluate(transformer, system, task).is_right(claimed)
    return None if right is None else not right


def _all_queries(system: FactSystem, task: Task) -> tuple[Array, Array]:
    """Subjects [queries] and words [queries, k]."""
    words = all_words(system.relations, task.hops)
    return np.repeat(np.arange(system.entities), len(words)), np.tile(words, (system.entities, 1))


def float_margins(transformer: Transformer, system: FactSystem, task: Task) -> tuple[Array, bool]:
    """The least margin over the steps of each query in float64, and whether nothing was rounded.

    A chain stops where it is too close to call, for what it would do next means nothing.
    """
    subjects, words = _all_queries(system, task)
    answers = subjects
    for hop in range(task.hops):
        answers = system.answers[words[:, hop], answers]
    answers = answers + system.entities * words[:, 0] if task.disjoint_attributes else answers
    prompts = np.concatenate([subjects[:, None], system.entities + words], axis=1)
    least, exact = np.full(len(subjects), np.inf), _are_small_integers(transformer)
    for step in range(task.steps):
        logits, cache = run_with_cache(transformer, prompts)
        exact = exact and all(_is_exact(name, value) for name, value in _values_that_matter(transformer, cache))
        tokens = answers if step == task.steps - 1 else logits.argmax(axis=1)
        own = np.take_along_axis(logits, tokens[:, None], axis=1)[:, 0]
        np.put_along_axis(logits, tokens[:, None], -np.inf, axis=1)
        least = np.where(least < TOO_CLOSE, least, np.minimum(least, own - logits.max(axis=1)))
        prompts = np.concatenate([prompts, tokens[:, None]], axis=1)
    return least, exact


def _are_small_integers(transformer: Transformer) -> bool:
    return all(
        (array == np.rint(array)).all() and np.abs(array).max(initial=0) < 2**14 for _, array in transformer.tensors()
    )


def _values_that_matter(transformer: Transformer, cache: dict[str, Array]) -> Iterator[tuple[str, Array]]:
    """The intermediate values that the prediction depends on: of the last block, only those at the last position."""
    final = f"blocks.{len(transformer.blocks) - 1}."
    for name, value in cache.items():
        if not name.startswith(final) or name.endswith("resid_pre"):
            yield name, value
        else:
            yield name, value[:, :, -1] if name.endswith("pattern") else value[:, -1]


def _is_exact(name: str, value: Array) -> bool:
    """Attention weights 0, 1/4, 1/2, 1 and values below 2^20: no sum here needs more than float64's 53 bits."""
    if name.endswith("pattern"):
        return bool(np.isin(value, (0, 0.25, 0.5, 1)).all())
    return bool(np.abs(value).max(initial=0) < 2**20)
