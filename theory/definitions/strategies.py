"""Hypothesis strategies for fact systems, words, queries and tasks: property-based tests of constructions, yours too.

Everything drawn is valid. A failing example shrinks towards few entities, few relations, few hops, the identity
permutation, entity 0 and relation 0, so that what hypothesis reports is the smallest failing system it can find.

A test of a construction of your own, `FactSystem -> Transformer`, on every query of every system drawn:

    >>> from hypothesis import given
    >>> from constructions.verification.exhaustive import check_every_query
    >>> from constructions.weights.t1 import construct as my_construction
    >>> from theory import Task
    >>> @given(fact_systems())
    ... def test_mine(system):
    ...     verdict = check_every_query(my_construction(system), system, Task(), claimed_margin=2)
    ...     assert verdict.holds, str(verdict.counterexample)
    >>> test_mine()

Sizes are numbers or strategies of numbers: `fact_systems(entities=5)`, `fact_systems(relations=st.integers(2, 3))`. A
query belongs to a system; draw both at once with

    >>> systems_and_queries = fact_systems().flatmap(lambda system: st.tuples(st.just(system), queries(system)))

Permutations are drawn entity by entity: keep N to some hundreds, and beyond draw a seed for `FactSystem.random`.
"""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
from hypothesis.strategies import DrawFn, SearchStrategy

from theory.definitions.fact_system import FactSystem, check_count
from theory.definitions.families import FAMILIES, check_family, draw_family
from theory.definitions.task import Task
from theory.errors import InputError

Size = int | SearchStrategy[int]

ENTITIES = st.integers(2, 9)
RELATIONS = st.integers(1, 4)
HOPS = st.integers(1, 4)


def fact_systems(entities: Size = ENTITIES, relations: Size = RELATIONS) -> SearchStrategy[FactSystem]:
    """Fact systems of any permutations, N = 2..9 and R = 1..4 unless told otherwise.

    Raises InputError for a number of entities below 2 or of relations below 1 (at the draw if a strategy gives it).
    """
    return _fact_systems(_sizes("entities", entities, 2), _sizes("relations", relations, 1))


@st.composite
def _fact_systems(draw: DrawFn, entities: SearchStrategy[int], relations: SearchStrategy[int]) -> FactSystem:
    permutations = st.permutations(range(draw(entities)))
    return FactSystem(np.array([draw(permutations) for _ in range(draw(relations))]))


def map_systems(entities: Size = ENTITIES, relations: Size = RELATIONS) -> SearchStrategy[FactSystem]:
    """Fact systems of any maps (T10), of the sizes of `fact_systems`; they shrink towards constant maps to entity 0."""
    return _map_systems(_sizes("entities", entities, 2), _sizes("relations", relations, 1))


@st.composite
def _map_systems(draw: DrawFn, entities: SearchStrategy[int], relations: SearchStrategy[int]) -> FactSystem:
    size = draw(entities)
    row = st.lists(st.integers(0, size - 1), min_size=size, max_size=size)
    return FactSystem(np.array([draw(row) for _ in range(draw(relations))]))


def family_systems() -> SearchStrategy[tuple[str, FactSystem]]:
    """A structured family's name and a system of it, of a size that the family has, N = 2..9 and R = 1..4.

    They shrink towards the first family of `FAMILIES`, small sizes and seed 0.
    """
    sizes = [(family, n, r) for family in FAMILIES for n in range(2, 10) for r in range(1, 5)]
    there = st.sampled_from([size for size in sizes if _has(*size)])
    return st.builds(_drawn, there, st.integers(0, 2**32 - 1))


def _drawn(size: tuple[str, int, int], seed: int) -> tuple[str, FactSystem]:
    family, entities, relations = size
    return family, draw_family(family, entities, relations, seed)


def _has(family: str, entities: int, relations: int) -> bool:
    """Whether the family has systems of this size."""
    try:
        check_family(family, entities, relations)
    except InputError:
        return False
    return True


def words(relations: int, hops: Size = HOPS) -> SearchStrategy[tuple[int, ...]]:
    """Words of k relations out of 0..R-1, k = 1..4 unless told otherwise. InputError for R or k below 1."""
    letters = st.integers(0, check_count("relations", relations) - 1)
    return _sizes("hops", hops, 1).flatmap(lambda length: st.tuples(*[letters] * length))


def queries(system: FactSystem, hops: Size = HOPS) -> SearchStrategy[tuple[int, tuple[int, ...]]]:
    """Queries (subject, word) of a system, words as in `words`."""
    return st.tuples(st.integers(0, system.entities - 1), words(system.relations, hops))


def tasks(hops: Size = HOPS) -> SearchStrategy[Task]:
    """Tasks over the shared attribute set: k hops, and every stride 1..k. They shrink towards one hop and stride 1."""
    return _sizes("hops", hops, 1).flatmap(lambda number: st.builds(Task, st.just(number), st.integers(1, number)))


def _sizes(name: str, size: Size, least: int) -> SearchStrategy[int]:
    """The size as a strategy of valid numbers."""
    if isinstance(size, SearchStrategy):
        return size.map(lambda number: check_count(name, number, at_least=least))
    return st.just(check_count(name, size, at_least=least))
