"""Rungs 0 and 2: a construction checked on many fact systems: every one of a size, one of each class, or drawn at
random.

All (N!)^R systems, or one of each class under relabelling of the entities (as many as Burnside's lemma counts). Or
systems drawn by hypothesis, which shrinks a failure to the smallest system it can find: fewest relations and entities
first.

*Stacked systems.* Models that differ in the rows of their subjects alone are run together in one pass: a model with all
those rows as its subjects, S·N of them, answers each prompt as the model does that the row comes from, as long as no
token is fed back; and the S systems side by side are one of S·N entities. Where the stack does not hold, its systems
are checked one by one, so that what is reported is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, replace
from fractions import Fraction
from random import Random
from typing import Any

import hypothesis
import numpy as np
from hypothesis.errors import NoSuchExample

from constructions.verification.exact import ExactModel
from constructions.verification.exhaustive import (
    all_queries,
    check_every_query,
    expected_answers,
    require_fit,
    run_queries,
)
from constructions.verification.integers import whole
from constructions.verification.result import Result, exact
from theory import Block, FactSystem, InputError, Task, Transformer, all_systems, relabelling_classes
from theory.definitions.strategies import fact_systems
from theory.records.ledger import Counterexample

Construction = Callable[[FactSystem], Transformer]
Asked = Callable[[FactSystem], FactSystem]
Built = tuple[Transformer, FactSystem]

STACK = 1024  # systems run together at most


def these(system: FactSystem) -> FactSystem:
    """The facts asked for are those that the model is built for."""
    return system


def check_systems(
    construct: Construction,
    systems: Iterable[FactSystem],
    task: Task,
    claimed_margin: int = 0,
    asked: Asked = these,
) -> Result:
    """Every query of what is `asked` of every system given; stops at the first counterexample. InputError when none is
    given.
    """
    found: list[Result] = []
    for built in _stacks((construct(system), asked(system)) for system in systems):
        found.extend(_check_stack(built, task, claimed_margin))
        if not found[-1].holds:
            break
    if not found:
        raise InputError("there is no system to check")
    return _together(found, found[-1].counterexample)


def _together(found: Sequence[Result], counterexample: Counterexample | None) -> Result:
    """What was found of systems, one or several a result."""
    least = min(result.low for result in found if result.low is not None)
    systems = sum(result.systems for result in found)
    return exact(sum(result.queries for result in found), least, counterexample, systems)


def _stacks(built: Iterable[Built]) -> Iterator[list[Built]]:
    """The models and their systems, in order; together those that differ in the rows of their subjects alone."""
    stack: list[Built] = []
    for each in built:
        if stack and (len(stack) == STACK or not _same_but_subjects(stack[0][0], each[0])):
            yield stack
            stack = []
        stack.append(each)
    if stack:
        yield stack


def _same_but_subjects(one: Transformer, other: Transformer) -> bool:
    """True iff the models are the same, types and all, but for the rows of the subjects."""
    for field in fields(Transformer):
        mine, its = getattr(one, field.name), getattr(other, field.name)
        if field.name == "W_E":
            mine, its = mine[one.entities :], its[other.entities :]
        if field.name == "blocks":
            if len(mine) != len(its) or not all(map(_same_block, mine, its)):
                return False
        elif not _same(mine, its):
            return False
    return True


def _same_block(one: Block, other: Block) -> bool:
    return all(_same(getattr(one, name), getattr(other, name)) for name in Block.AXES)


def _same(mine: Any, its: Any) -> bool:
    if isinstance(mine, np.ndarray):
        return mine is its or (mine.dtype == its.dtype and np.array_equal(mine, its))
    return bool(mine == its)


def _check_stack(stack: Sequence[Built], task: Task, claimed_margin: int) -> Iterator[Result]:
    """The result of the whole stack if it holds, and else those of its models one by one, as far as the first that
    fails."""
    if len(stack) > 1 and task.steps == 1 and not task.disjoint_attributes:
        result = _check_together(stack, task, claimed_margin)
        if result is not None:
            yield result
            return
    for transformer, system in stack:
        result = check_every_query(transformer, system, task, claimed_margin)
        yield result
        if not result.holds:
            return


def _check_together(stack: Sequence[Built], task: Task, claimed_margin: int) -> Result | None:
    """The result of all models in one pass, or None where one of them does not hold."""
    (first, system), number = stack[0], len(stack)
    for transformer, its in stack:
        require_fit(transformer, its, task)
    size = system.entities
    rows = [transformer.W_E[:size] for transformer, _ in stack]
    together = replace(first, entities=number * size, W_E=np.concatenate([*rows, first.W_E[size:]]))
    union = FactSystem(np.concatenate([its.answers + place * size for place, (_, its) in enumerate(stack)], axis=1))
    model, queries, least = ExactModel(together), 0, None
    for subjects, words in all_queries(together, union, task):
        answers = expected_answers(union, task, subjects, words) % size
        [(margin, scale)], _ = run_queries(model, task, subjects, words, answers)
        smallest = Fraction(whole(margin.min()), scale)
        least = smallest if least is None else min(least, smallest)
        queries += len(subjects)
    if least is None or least <= 0 or least < claimed_margin:
        return None
    return exact(queries, least, None, number)


def check_all_systems(
    construct: Construction,
    entities: int,
    relations: int,
    task: Task,
    claimed_margin: int = 0,
    asked: Asked = these,
) -> Result:
    """Rung 2: all (N!)^R fact systems, every query."""
    return check_systems(construct, all_systems(entities, relations), task, claimed_margin, asked)


def check_all_classes(
    construct: Construction,
    entities: int,
    relations: int,
    task: Task,
    claimed_margin: int = 0,
    asked: Asked = these,
) -> Result:
    """Rung 2, one system of each class under relabelling, every query."""
    return check_systems(construct, relabelling_classes(entities, relations), task, claimed_margin, asked)


def search_systems(
    construct: Construction,
    task: Task,
    claimed_margin: int = 0,
    *,
    examples: int = 40,
    seed: int = 0,
    asked: Asked = these,
) -> Result:
    """Rung 0: systems drawn by hypothesis from `seed`, every query of each; the smallest failure found is the
    counterexample."""
    verdicts: list[Result] = []

    def fails(system: FactSystem) -> bool:
        """Whether some query of the system fails; its verdict is appended to `verdicts` either way."""
        verdicts.append(check_every_query(construct(system), asked(system), task, claimed_margin))
        return not verdicts[-1].holds

    # All that decides what is found is said here: what is not said is taken from the profile that happens to be loaded.
    phases = (hypothesis.Phase.generate, hypothesis.Phase.shrink)
    options = hypothesis.settings(max_examples=examples, database=None, deadline=None, phases=phases)
    try:
        smallest = hypothesis.find(fact_systems(), fails, settings=options, random=Random(seed))
    except NoSuchExample:
        smallest = None
    found = None
    if smallest is not None:
        found = check_every_query(construct(smallest), asked(smallest), task, claimed_margin).counterexample
    return _together(verdicts, found)
