"""Fact systems: validation, composition, relabelling, networkx, and the lists of systems and of classes."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import networkx
import numpy as np
import pytest
from hypothesis import given

from constructions.weights import t2e, t3b
from theory import FactSystem, InputError, all_systems, all_words, relabelling_classes
from theory.definitions.fact_system import all_map_systems
from theory.definitions.strategies import fact_systems, map_systems, words

# g_0 = (0 1 2), a rotation; g_1 swaps 0 and 1.
ROTATE_AND_SWAP = FactSystem(np.array([[1, 2, 0], [1, 0, 2]]))


def systems(answers: Any) -> FactSystem:
    return FactSystem(answers)


def test_sizes_and_answers() -> None:
    system = ROTATE_AND_SWAP
    assert (system.entities, system.relations) == (3, 2)
    assert system.answers.dtype == np.int64
    assert system.answers.tolist() == [[1, 2, 0], [1, 0, 2]]


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int32, np.uint64])
def test_any_integer_type_is_taken(kind: type[np.integer[Any]]) -> None:
    assert systems(np.array([[1, 0, 2]], kind)) == systems([[1, 0, 2]])


def test_answers_are_copied_and_read_only() -> None:
    table = np.array([[0, 1], [1, 0]])
    system = FactSystem(table)
    table[0] = [1, 0]
    assert system.answers.tolist() == [[0, 1], [1, 0]]
    with pytest.raises(ValueError, match="read-only"):
        system.answers[0, 0] = 1


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([[0, 1], [1, 0], [0, 2]], "relation 2: the answer for entity 1 is 2, not in 0..1"),
        ([[0, 1], [-1, 0]], "relation 1: the answer for entity 0 is -1, not in 0..1"),
        (np.zeros((0, 3), int), "answers has shape [0, 3]; it must be [relations >= 1, entities >= 2]"),
        ([], "answers has shape [0]; it must be [relations >= 1, entities >= 2]"),
        ([0, 1], "answers has shape [2]; it must be [relations >= 1, entities >= 2]"),
        ([[[0, 1]]], "answers has shape [1, 1, 2]; it must be [relations >= 1, entities >= 2]"),
        (None, "answers has shape []; it must be [relations >= 1, entities >= 2]"),
        ([[0]], "a fact system needs at least 2 entities, not 1"),
        ([[]], "a fact system needs at least 2 entities, not 0"),
        ([[0, 1], [0]], "answers has rows of different lengths"),
        ([[0.0, 1.0]], "answers holds float64 values; they must be integers"),
        ([[math.nan, 1.0]], "answers holds float64 values; they must be integers"),
        ([[False, True]], "answers holds bool values; they must be integers"),
        ([["0", "1"]], "answers holds <U1 values; they must be integers"),
        ([[0, 10**30]], "answers holds object values; they must be integers"),
    ],
)
def test_bad_answers_are_named(answers: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        systems(answers)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_words_are_followed_from_left_to_right() -> None:
    system = ROTATE_AND_SWAP
    assert system.follow([0, 1]).tolist() == [0, 2, 1]  # 0 -> 1 -> 0, 1 -> 2 -> 2, 2 -> 0 -> 1
    assert system.follow([1, 0]).tolist() == [2, 1, 0]  # 0 -> 1 -> 2, 1 -> 0 -> 1, 2 -> 2 -> 0
    assert system.follow([]).tolist() == [0, 1, 2]
    assert system.follow((0, 0, 0)).tolist() == [0, 1, 2]


@given(fact_systems(), st.data())
def test_a_word_is_followed_letter_by_letter(system: FactSystem, data: st.DataObject) -> None:
    first, second = data.draw(words(system.relations)), data.draw(words(system.relations))
    then = system.follow(second)
    assert system.follow([*first, *second]).tolist() == [then[x] for x in system.follow(first)]


@given(fact_systems(), st.integers(0, 3))
def test_all_words_at_once_and_one_by_one_agree(system: FactSystem, hops: int) -> None:
    listed = all_words(system.relations, hops)
    assert list(map(tuple, listed.tolist())) == list(itertools.product(range(system.relations), repeat=hops))
    assert system.follow_all(listed).tolist() == [system.follow(word).tolist() for word in listed]


@given(fact_systems(), st.data())
def test_the_inverse_goes_back(system: FactSystem, data: st.DataObject) -> None:
    word = data.draw(words(system.relations))
    back = system.inverse().follow(word[::-1])
    assert back[system.follow(word)].tolist() == list(range(system.entities))
    assert system.inverse().inverse() == system


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda g: g.follow([0, 2]), "word [0, 2]: relation 2 at place 1 is not in 0..1"),
        (lambda g: g.follow([-1]), "word [-1]: relation -1 at place 0 is not in 0..1"),
        (lambda g: g.follow([0.0]), "word [0.0]: relation 0.0 at place 0 is not in 0..1"),
        (lambda g: g.follow([True]), "word [True]: relation True at place 0 is not in 0..1"),
        (lambda g: g.follow_all(np.array([[0, 1], [1, 2]])), "word [1, 2]: relation 2 at place 1 is not in 0..1"),
        (lambda g: g.follow_all(np.array([[0, -1]])), "word [0, -1]: relation -1 at place 1 is not in 0..1"),
        (lambda g: g.relabelled([0, 0, 1]), "names must hold each of the entities 0..2 once"),
        (lambda g: g.relabelled([0, 1]), "names must hold each of the entities 0..2 once"),
        (lambda g: g.relabelled([0, 1, 3]), "names must hold each of the entities 0..2 once"),
        (lambda g: g.relabelled([0.0, 1.0, 2.0]), "names must hold each of the entities 0..2 once"),
        (lambda g: g.relabelled([[0, 1, 2]]), "names must hold each of the entities 0..2 once"),
        (lambda g: g.relabelled(0), "names must hold each of the entities 0..2 once"),
        (lambda g: all_words(0, 1), "relations must be a whole number of at least 1, not 0"),
        (lambda g: all_words(2, -1), "hops must be a whole number of at least 0, not -1"),
        (lambda g: all_words(10, 9), "10^9 words are too many to list"),
        (lambda g: next(all_systems(1, 1)), "entities must be a whole number of at least 2, not 1"),
        (lambda g: next(all_systems(2, 0)), "relations must be a whole number of at least 1, not 0"),
        (lambda g: next(relabelling_classes(1, 1)), "entities must be a whole number of at least 2, not 1"),
        (lambda g: next(relabelling_classes(3, -1)), "relations must be a whole number of at least 1, not -1"),
        (lambda g: next(relabelling_classes(8, 1)), "relabelling classes are listed for at most 7 entities, not 8"),
        (lambda g: FactSystem.random(1, 1), "entities must be a whole number of at least 2, not 1"),
        (lambda g: FactSystem.random(2, 0), "relations must be a whole number of at least 1, not 0"),
        (lambda g: FactSystem.random(2, 1, -1), "seed must be a whole number of at least 0, not -1"),
    ],
)
def test_bad_arguments_are_named(call: Callable[[FactSystem], Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        call(ROTATE_AND_SWAP)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_relabelling_renames_subjects_and_answers() -> None:
    # Entities 0, 1, 2 become 2, 0, 1: the facts 0 -> 1 -> 2 -> 0 become 2 -> 0 -> 1 -> 2, and 0 <-> 1 becomes 2 <-> 0.
    assert ROTATE_AND_SWAP.relabelled([2, 0, 1]).answers.tolist() == [[1, 2, 0], [2, 1, 0]]


@given(fact_systems(), st.data())
def test_relabelling_commutes_with_following(system: FactSystem, data: st.DataObject) -> None:
    names = np.array(data.draw(st.permutations(range(system.entities))))
    word = data.draw(words(system.relations))
    assert system.relabelled(names).follow(word)[names].tolist() == names[system.follow(word)].tolist()
    assert system.relabelled(names).relabelled(np.argsort(names)) == system


def test_equality_hash_and_repr() -> None:
    again = FactSystem(ROTATE_AND_SWAP.answers.astype(np.int8))
    assert again == ROTATE_AND_SWAP
    assert len({again, ROTATE_AND_SWAP, ROTATE_AND_SWAP.inverse()}) == 2
    assert FactSystem(np.array([[0, 1]])) != FactSystem(np.array([[0, 1], [0, 1]]))
    assert FactSystem(np.array([[0, 1]])) != FactSystem(np.array([[1, 0]]))
    assert ROTATE_AND_SWAP != "a system"
    assert repr(ROTATE_AND_SWAP) == "FactSystem([[1, 2, 0], [1, 0, 2]])"
    assert repr(FactSystem.random(40, 2)) == "FactSystem(entities=40, relations=2)"


def test_random_systems_depend_on_the_seed_alone() -> None:
    assert FactSystem.random(20, 3, 7) == FactSystem.random(20, 3, 7)
    drawn = {FactSystem.random(3, 2, seed) for seed in range(500)}
    assert len(drawn) == 36


@given(fact_systems())
def test_networkx_round_trip(system: FactSystem) -> None:
    graph = system.to_networkx()
    assert set(graph.edges(keys=True)) == {
        (x, int(system.answers[r, x]), r) for r in range(system.relations) for x in range(system.entities)
    }
    assert graph.number_of_edges() == system.entities * system.relations
    assert all(degree == system.relations for _, degree in graph.in_degree())
    assert FactSystem.from_networkx(graph) == system


def test_the_order_of_nodes_and_edges_does_not_matter() -> None:
    graph = graph_of([(2, 0, 0), (1, 2, 0), (0, 1, np.int64(0))])
    assert FactSystem.from_networkx(graph).answers.tolist() == [[1, 2, 0]]
    assert FactSystem.from_networkx(graph_of([(1.0, 0, 0), (0.0, 1, 0)])).answers.tolist() == [[1, 0]]


def graph_of(edges: list[Any], nodes: list[Any] | None = None, kind: Any = networkx.MultiDiGraph) -> Any:
    graph = kind()
    graph.add_nodes_from(nodes or [])
    for subject, answer, key in edges:
        graph.add_edge(subject, answer, key=key)
    return graph


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (graph_of([(0, 1, 0)], [0, 1]), "node 1 has no outgoing edge of relation 0"),
        (graph_of([(0, 1, 0), (1, 0, 0), (0, 0, 1)]), "node 1 has no outgoing edge of relation 1"),
        (graph_of([(0, 1, 0), (0, 0, 0)]), "node 0 has two outgoing edges of relation 0"),
        (graph_of([(0, 0, 0), (0, 0, 1)]), "a fact system needs at least 2 entities, not 1"),
        (graph_of([(0, 1, "wife"), (1, 0, "wife")]), "edge 0 -> 1 has key 'wife'"),
        (graph_of([(0, 1, -1), (1, 0, -1)]), "edge 0 -> 1 has key -1"),
        (
            graph_of([(0, 1, 1), (1, 0, 1)]),
            "edge 0 -> 1 has key 1; with 2 edges on 2 nodes a key must be a relation 0..0",
        ),
        (graph_of([(0, 1, 10**12), (1, 0, 0)]), "edge 0 -> 1 has key 1000000000000"),
        (graph_of([(0, 1, True), (1, 0, True), (0, 0, 0), (1, 1, 0)]), "edge 0 -> 1 has key True"),
        (graph_of([("a", "b", 0), ("b", "a", 0)]), "the graph's nodes must be the integers 0..1"),
        (graph_of([(1, 2, 0), (2, 1, 0)]), "the graph's nodes must be the integers 0..1"),
        (graph_of([(0, 0, 0)]), "a fact system needs at least 2 entities, not 1"),
        (graph_of([], [0, 1]), "answers has shape [0, 2]"),
        (graph_of([]), "answers has shape [0, 0]"),
        (graph_of([(0, 0, 0), (1, 1, 0)], kind=networkx.MultiGraph), "the graph is a MultiGraph"),
        (networkx.DiGraph([(0, 1), (1, 0)]), "the graph is a DiGraph; it must be a networkx.MultiDiGraph"),
    ],
)
def test_graphs_that_are_no_fact_systems(graph: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        FactSystem.from_networkx(graph)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_all_systems() -> None:
    listed = list(all_systems(3, 2))
    assert len(listed) == len(set(listed)) == 36
    assert listed[0].answers.tolist() == [[0, 1, 2], [0, 1, 2]]
    assert [tuple(g.answers.ravel()) for g in listed] == sorted(tuple(g.answers.ravel()) for g in listed)


def canonical(system: FactSystem) -> bytes:
    """The least table of a system under all relabellings of its entities."""
    names = itertools.permutations(range(system.entities))
    return min(system.relabelled(order).answers.tobytes() for order in names)


@pytest.mark.parametrize(("entities", "relations"), [(2, 1), (2, 2), (2, 4), (3, 1), (3, 2), (4, 1), (4, 2), (3, 3)])
def test_classes_are_pairwise_different_and_cover_all_systems(entities: int, relations: int) -> None:
    representatives = [canonical(system) for system in relabelling_classes(entities, relations)]
    assert len(set(representatives)) == len(representatives)
    assert set(representatives) == {canonical(system) for system in all_systems(entities, relations)}


def test_classes_are_different_as_coloured_graphs() -> None:
    """networkx' own isomorphism test, which shares nothing with `relabelled`."""

    def same_colours(left: Any, right: Any) -> bool:
        return bool(left.keys() == right.keys())

    graphs = [system.to_networkx() for system in relabelling_classes(3, 2)]
    for left, right in itertools.combinations(graphs, 2):
        assert not networkx.is_isomorphic(left, right, edge_match=same_colours)
    twin = ROTATE_AND_SWAP.relabelled([2, 0, 1]).to_networkx()
    assert networkx.is_isomorphic(ROTATE_AND_SWAP.to_networkx(), twin, edge_match=same_colours)


# Σ_λ z_λ^{R-1}: OEIS A160449, with A110143 (R = 2), A152612 (R = 3) and A160446 (R = 4) among its columns.
CLASSES = {
    (3, 1): 3,
    (6, 1): 11,
    (2, 2): 4,
    (3, 2): 11,
    (4, 2): 43,
    (5, 2): 161,
    (6, 2): 901,
    (2, 3): 8,
    (3, 3): 49,
    (4, 3): 681,
    (2, 4): 16,
    (3, 4): 251,
}


@pytest.mark.parametrize(("entities", "relations"), CLASSES)
def test_as_many_classes_as_published(entities: int, relations: int) -> None:
    assert sum(1 for _ in relabelling_classes(entities, relations)) == CLASSES[entities, relations]


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([[0, 1, 2], [0, 1, 1]], "relation 1 is not a permutation: entities 1 and 2 both have the answer 1"),
        ([[0, 2, 2, 2]], "relation 0 is not a permutation: entities 1 and 2 both have the answer 2"),
        ([[1, 0, 0, 1]], "relation 0 is not a permutation: entities 1 and 2 both have the answer 0"),
    ],
)
def test_maps_are_systems_and_are_named_where_bijections_are_needed(answers: list[list[int]], message: str) -> None:
    system = FactSystem(answers)
    assert not system.bijective
    assert FactSystem.from_networkx(system.to_networkx()) == system
    for needs in (system.inverse, lambda: t2e.construct(system, 2), lambda: t3b.construct_learned(system, 3, 2)):
        with pytest.raises(InputError, match=message):
            needs()


def test_bijections_have_an_inverse() -> None:
    system = FactSystem.random(7, 3)
    assert system.bijective
    system.require_bijections("nothing")
    assert (np.take_along_axis(system.inverse().answers, system.answers, axis=1) == np.arange(7)).all()


def test_random_maps_are_functions_of_their_sizes_and_seed() -> None:
    system = FactSystem.random(50, 3, seed=2, maps=True)
    assert system == FactSystem.random(50, 3, seed=2, maps=True)
    assert system != FactSystem.random(50, 3, seed=3, maps=True)
    assert not system.bijective


def test_all_systems_of_maps() -> None:
    listed = list(all_map_systems(3, 2))
    assert len(set(listed)) == len(listed) == 3**6
    assert {system for system in listed if system.bijective} == set(all_systems(3, 2))


@given(map_systems())
def test_drawn_maps_are_systems(system: FactSystem) -> None:
    assert 2 <= system.entities <= 9
    assert 1 <= system.relations <= 4
    assert FactSystem(system.answers) == system
