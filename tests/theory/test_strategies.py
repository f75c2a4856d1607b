"""The strategies draw valid values only, reach the corner cases, and shrink to the smallest failing one."""

import doctest
from functools import partial
from operator import eq

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import find, given, settings

import theory.definitions.strategies
from theory import FactSystem, InputError, Task, all_systems, all_words
from theory.definitions.strategies import fact_systems, queries, tasks, words

# A search that is certain to meet what has a fair chance in each draw.
SEARCH = settings(max_examples=2000, derandomize=True, database=None)


@given(fact_systems())
def test_fact_systems_are_valid(system: FactSystem) -> None:
    assert 2 <= system.entities <= 9
    assert 1 <= system.relations <= 4
    assert (np.sort(system.answers, axis=1) == np.arange(system.entities)).all()


@given(fact_systems(entities=5, relations=st.integers(2, 3)))
def test_sizes_are_numbers_or_strategies(system: FactSystem) -> None:
    assert system.entities == 5
    assert system.relations in (2, 3)


@given(st.data())
def test_words_and_queries_are_those_of_the_system(data: st.DataObject) -> None:
    system = data.draw(fact_systems())
    word = data.draw(words(system.relations))
    subject, other = data.draw(queries(system, hops=2))
    assert 1 <= len(word) <= 4
    assert set(word) <= set(range(system.relations))
    assert 0 <= subject < system.entities
    assert len(other) == 2
    assert set(other) <= set(range(system.relations))


@given(tasks())
def test_tasks_are_valid(task: Task) -> None:
    assert 1 <= task.stride <= task.hops <= 4
    assert not task.disjoint_attributes


@pytest.mark.parametrize("entities", [2, 3, 7, 9])
@pytest.mark.parametrize("relations", [1, 2, 4])
def test_the_corners_of_the_sizes_are_drawn(entities: int, relations: int) -> None:
    found = find(fact_systems(), lambda g: (g.entities, g.relations) == (entities, relations), settings=SEARCH)
    assert found == FactSystem(np.tile(np.arange(entities), (relations, 1)))


def test_every_system_of_a_size_is_drawn() -> None:
    for system in all_systems(3, 1):
        assert find(fact_systems(3, 1), partial(eq, system), settings=SEARCH) == system


def test_every_word_and_query_is_drawn() -> None:
    system = FactSystem.random(3, 2)
    for word in map(tuple, all_words(2, 2).tolist()):
        assert find(words(2, 2), partial(eq, word), settings=SEARCH) == word
        query = (2, word)
        assert find(queries(system, 2), partial(eq, query), settings=SEARCH) == query


def test_every_task_is_drawn() -> None:
    for hops in range(1, 5):
        for stride in range(1, hops + 1):
            task = Task(hops, stride)
            assert find(tasks(), partial(eq, task), settings=SEARCH) == task


def test_failing_systems_shrink_to_the_smallest() -> None:
    """Few entities, few relations, and permutations as close to the identity as the failure lets them be."""
    assert find(fact_systems(), lambda g: True, settings=SEARCH) == FactSystem(np.array([[0, 1]]))
    moves = find(fact_systems(), lambda g: g.answers[-1][0] != 0, settings=SEARCH)
    assert moves == FactSystem(np.array([[1, 0]]))
    no_involution = find(fact_systems(), lambda g: (g.follow([0, 0]) != np.arange(g.entities)).any(), settings=SEARCH)
    assert no_involution == FactSystem(np.array([[1, 2, 0]]))
    not_commuting = find(
        fact_systems(), lambda g: g.relations > 1 and (g.follow([0, 1]) != g.follow([1, 0])).any(), settings=SEARCH
    )
    assert (not_commuting.entities, not_commuting.relations) == (3, 2)


def test_words_queries_and_tasks_shrink_to_the_smallest() -> None:
    system = FactSystem.random(5, 3)
    assert find(words(3), lambda w: True, settings=SEARCH) == (0,)
    assert find(words(3), lambda w: len(w) > 1 and w[-1] == 2, settings=SEARCH) == (0, 2)
    assert find(queries(system), lambda q: q[0] > 1, settings=SEARCH) == (2, (0,))
    assert find(tasks(), lambda t: True, settings=SEARCH) == Task(1, 1)
    assert find(tasks(), lambda t: t.first_step < t.stride, settings=SEARCH) == Task(3, 2)


def test_bad_sizes() -> None:
    with pytest.raises(InputError, match="entities must be a whole number of at least 2, not 1"):
        fact_systems(entities=1)
    with pytest.raises(InputError, match="relations must be a whole number of at least 1, not 0"):
        fact_systems(relations=0)
    with pytest.raises(InputError, match="hops must be a whole number of at least 1, not 0"):
        words(2, hops=0)
    with pytest.raises(InputError, match="relations must be a whole number of at least 1, not 0"):
        words(0)
    with pytest.raises(InputError, match="entities must be a whole number of at least 2, not 1"):
        find(fact_systems(entities=st.just(1)), lambda g: True, settings=SEARCH)


def test_the_examples_in_the_docstring() -> None:
    result = doctest.testmod(theory.definitions.strategies)
    assert result.attempted > 0
    assert result.failed == 0
