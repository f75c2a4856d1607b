"""Rungs 0 and 2: a construction checked on many fact systems: every one of a size, one of each class, or drawn at
random.

All (N!)^R systems, or one of each class under relabelling of the entities (as many as Burnside's lemma counts). Or
systems drawn by hypothesis, which shrinks a failure to the smallest system it can find: fewest relations and entities
first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from random import Random

import hypothesis
from hypothesis.errors import NoSuchExample

from constructions.verification.exhaustive import check_every_query
from constructions.verification.result import Result, exact
from theory import FactSystem, InputError, Task, Transformer, all_systems, relabelling_classes
from theory.definitions.strategies import fact_systems
from theory.records.ledger import Counterexample

Construction = Callable[[FactSystem], Transformer]


def check_systems(
    construct: Construction, systems: Iterable[FactSystem], task: Task, claimed_margin: int = 0
) -> Result:
    """Every query of every system given; stops at the first counterexample. InputError when none is given."""
    found: list[Result] = []
    for system in systems:
        found.append(check_every_query(construct(system), system, task, claimed_margin))
        if not found[-1].holds:
            break
    if not found:
        raise InputError("there is no system to check")
    return _together(found, found[-1].counterexample)


def _together(found: Sequence[Result], counterexample: Counterexample | None) -> Result:
    """What was found of several systems, a result each."""
    least = min(result.low for result in found if result.low is not None)
    return exact(sum(result.queries for result in found), least, counterexample, len(found))


def check_all_systems(
    construct: Construction, entities: int, relations: int, task: Task, claimed_margin: int = 0
) -> Result:
    """Rung 2: all (N!)^R fact systems, every query."""
    return check_systems(construct, all_systems(entities, relations), task, claimed_margin)


def check_all_classes(
    construct: Construction, entities: int, relations: int, task: Task, claimed_margin: int = 0
) -> Result:
    """Rung 2, one system of each class under relabelling, every query."""
    return check_systems(construct, relabelling_classes(entities, relations), task, claimed_margin)


def search_systems(
    construct: Construction, task: Task, claimed_margin: int = 0, *, examples: int = 40, seed: int = 0
) -> Result:
    """Rung 0: systems drawn by hypothesis from `seed`, every query of each; the smallest failure found is the
    counterexample."""
    verdicts: list[Result] = []

    def fails(system: FactSystem) -> bool:
        """Whether some query of the system fails; its verdict is appended to `verdicts` either way."""
        verdicts.append(check_every_query(construct(system), system, task, claimed_margin))
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
        found = check_every_query(construct(smallest), smallest, task, claimed_margin).counterexample
    return _together(verdicts, found)
