"""Fact systems: R relations, each a map of the same N entities to themselves, and in most theorems a bijection.

A fact system is g = (g_0 .. g_{R-1}): the edge-coloured digraph with an edge x -> g_r(x) of colour r, which is
R-regular when each g_r is a permutation of 0..N-1. Theorem T10 is about arbitrary maps. A *word* w = (r_1 .. r_k) is
followed from left to right, g_w(x) = g_{r_k}(.. g_{r_1}(x)), and a *query* is a pair (x, w).

The idea of relations as random bijections onto one shared attribute set is that of "Geometric Factual Recall in
Transformers" (arXiv 2605.12426); the definitions are stated here in full.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from theory.errors import InputError

if TYPE_CHECKING:
    import networkx

Words = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class FactSystem:
    """R maps of N entities to themselves; `bijective` when each of them is a permutation.

    `answers` has shape [R, N] and `answers[r, x] = g_r(x)`; it is copied and made read-only. Two systems are equal when
    their answers are. Raises InputError, naming the row, unless R >= 1, N >= 2 and every answer is one of 0..N-1.
    """

    answers: NDArray[np.int64]

    def __post_init__(self) -> None:
        object.__setattr__(self, "answers", _validated_answers(self.answers))

    @property
    def entities(self) -> int:
        """N, the number of entities."""
        return int(self.answers.shape[1])

    @property
    def relations(self) -> int:
        """R, the number of relations."""
        return int(self.answers.shape[0])

    @property
    def bijective(self) -> bool:
        """Whether every relation is a permutation of the entities."""
        return bool((np.sort(self.answers, axis=1) == np.arange(self.entities)).all())

    def require_bijections(self, what: str) -> None:
        """InputError, saying that `what` needs them and naming the first relation that is no permutation."""
        for relation, row in enumerate(self.answers):
            counts = np.bincount(row, minlength=self.entities)
            if counts.max() > 1:
                answer = int(counts.argmax())
                first, second = np.flatnonzero(row == answer)[:2]
                raise InputError(
                    f"{what} needs bijections, and relation {relation} is not a permutation: entities {first} and "
                    f"{second} both have the answer {answer}"
                )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FactSystem) and np.array_equal(self.answers, other.answers)

    def __hash__(self) -> int:
        return hash((self.answers.shape, self.answers.tobytes()))

    def __repr__(self) -> str:
        if self.answers.size <= 64:
            return f"FactSystem({self.answers.tolist()})"
        return f"FactSystem(entities={self.entities}, relations={self.relations})"

    @classmethod
    def random(cls, entities: int, relations: int, seed: int = 0, *, maps: bool = False) -> FactSystem:
        """R independent uniform permutations, or with `maps` any maps, a function of these alone (numpy's PCG64)."""
        check_count("entities", entities, at_least=2)
        check_count("relations", relations)
        check_count("seed", seed, at_least=0)
        generator = np.random.default_rng([seed, entities, relations])
        if maps:
            return cls(generator.integers(entities, size=(relations, entities)))
        return cls(np.stack([generator.permutation(entities) for _ in range(relations)]))

    def follow(self, word: Sequence[int]) -> NDArray[np.int64]:
        """g_w(x) for all x, shape [N]; the empty word is the identity. InputError for an unknown relation."""
        here = np.arange(self.entities)
        for relation in check_word(word, self.relations):
            here = self.answers[relation][here]
        return here

    def follow_all(self, words: Words) -> NDArray[np.int64]:
        """g_w(x) for all words (one a row, shape [W, k]) and all x, shape [W, N].

        InputError for an unknown relation.
        """
        for word in words[((words < 0) | (words >= self.relations)).any(axis=1)][:1].tolist():
            check_word(word, self.relations)
        here = np.broadcast_to(np.arange(self.entities), (len(words), self.entities))
        for hop in range(words.shape[1]):
            here = self.answers[words[:, hop, None], here]
        return np.array(here)

    def inverse(self) -> FactSystem:
        """The system of the inverse permutations (every edge reversed). InputError when there are none."""
        self.require_bijections("an inverse")
        return FactSystem(np.argsort(self.answers, axis=1))

    def with_inverses(self) -> FactSystem:
        """The system of 2R relations of which relation R + r is the inverse of relation r. InputError when there is
        none."""
        return FactSystem(np.concatenate([self.answers, self.inverse().answers]))

    def compositions(self) -> FactSystem:
        """The system of the R² relations g_v∘g_u, number R·u + v. InputError for more than 10^8 of them."""
        return FactSystem(self.follow_all(all_words(self.relations, 2)))

    def relabelled(self, names: Sequence[int] | NDArray[np.int64]) -> FactSystem:
        """The isomorphic system in which entity x is called names[x]: relation r becomes names∘g_r∘names⁻¹.

        InputError unless names, shape [N], is a permutation of 0..N-1.
        """
        new = np.asarray(names)
        integers = new.dtype.kind in "iu"
        if not integers or new.shape != (self.entities,) or (np.sort(new) != np.arange(self.entities)).any():
            raise InputError(f"names must hold each of the entities 0..{self.entities - 1} once")
        return FactSystem(new[self.answers[:, np.argsort(new)]])

    def to_networkx(self) -> networkx.MultiDiGraph[int]:
        """The edge-coloured digraph: nodes 0..N-1, an edge x -> g_r(x) with key r for every fact."""
        import networkx

        graph: networkx.MultiDiGraph[int] = networkx.MultiDiGraph()
        graph.add_nodes_from(range(self.entities))
        for relation, row in enumerate(self.answers.tolist()):
            for x, answer in enumerate(row):
                graph.add_edge(x, answer, key=relation)
        return graph

    @classmethod
    def from_networkx(cls, graph: networkx.MultiDiGraph[int]) -> FactSystem:
        """The inverse of `to_networkx`: nodes are 0..N-1, edge keys are the relations 0..R-1.

        Raises InputError when a node or key is out of range or some node lacks exactly one outgoing edge of a relation.
        """
        if not (graph.is_multigraph() and graph.is_directed()):
            raise InputError(f"the graph is a {type(graph).__name__}; it must be a networkx.MultiDiGraph")
        nodes, edges = graph.number_of_nodes(), graph.number_of_edges()
        if set(graph.nodes) != set(range(nodes)):
            raise InputError(f"the graph's nodes must be the integers 0..{nodes - 1}")
        answers = np.full((-(-edges // max(nodes, 1)), nodes), -1, dtype=np.int64)
        for node, answer, key in graph.edges(keys=True):
            subject = int(node)  # the graph may call 0 by an equal name, 0.0 or False
            if isinstance(key, bool) or not isinstance(key, int | np.integer) or not 0 <= key < len(answers):
                raise InputError(
                    f"edge {subject} -> {answer} has key {key!r}; with {edges} edges on {nodes} nodes "
                    f"a key must be a relation 0..{len(answers) - 1}"
                )
            if answers[key, subject] >= 0:
                raise InputError(f"node {subject} has two outgoing edges of relation {key}; it must have one")
            answers[key, subject] = answer
        for relation, subject in np.argwhere(answers < 0)[:1].tolist():
            raise InputError(f"node {subject} has no outgoing edge of relation {relation}; it must have one")
        return cls(answers)


def _validated_answers(answers: object) -> NDArray[np.int64]:
    """The answers as a read-only int64 array [R, N], or an InputError that names the first faulty row."""
    try:
        array = np.asarray(answers)
    except ValueError:
        raise InputError("answers has rows of different lengths; it must be a table [relations, entities]") from None
    if array.ndim != 2 or array.shape[0] == 0:
        raise InputError(f"answers has shape {list(array.shape)}; it must be [relations >= 1, entities >= 2]")
    if array.shape[1] < 2:
        raise InputError(f"a fact system needs at least 2 entities, not {array.shape[1]}")
    if array.dtype.kind not in "iu":
        raise InputError(f"answers holds {array.dtype} values; they must be integers (entity numbers)")
    entities = array.shape[1]
    for relation, row in enumerate(array):
        outside = np.flatnonzero((row < 0) | (row >= entities))
        if outside.size:
            x = int(outside[0])
            raise InputError(f"relation {relation}: the answer for entity {x} is {row[x]}, not in 0..{entities - 1}")
    result = array.astype(np.int64)
    result.setflags(write=False)
    return result


def check_count(name: str, value: object, *, at_least: int = 1) -> int:
    """The value as an int, or an InputError saying that `name` must be a whole number >= at_least."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < at_least:
        raise InputError(f"{name} must be a whole number of at least {at_least}, not {value!r}")
    return int(value)


def check_word(word: Iterable[int], relations: int) -> tuple[int, ...]:
    """The word as a tuple of relations, or an InputError naming the first relation outside 0..R-1."""
    letters = tuple(word)
    for place, relation in enumerate(letters):
        if isinstance(relation, bool) or not isinstance(relation, int | np.integer) or not 0 <= relation < relations:
            raise InputError(
                f"word {list(letters)}: relation {relation!r} at place {place} is not in 0..{relations - 1}"
            )
    return tuple(int(relation) for relation in letters)


def number_of_words(relations: int, hops: int) -> int:
    """R^k. InputError for R < 1, k < 0, and above 10^8 words, which are too many to list."""
    check_count("relations", relations)
    check_count("hops", hops, at_least=0)
    number: int = relations**hops
    if number > 10**8:
        raise InputError(f"{relations}^{hops} words are too many to list; at most 10^8 are")
    return number


def all_words(relations: int, hops: int) -> Words:
    """All R^k words of k relations in lexicographic order, shape [R^k, k]; one empty word for k = 0.

    InputError as `number_of_words`.
    """
    return words_of(np.arange(number_of_words(relations, hops)), relations, hops)


def words_of(numbers: NDArray[np.int64], relations: int, hops: int) -> Words:
    """The words of k relations with these numbers 0..R^k - 1 in lexicographic order, shape [numbers, k]."""
    words = np.empty((len(numbers), hops), np.int64)
    for place in reversed(range(hops)):
        numbers, words[:, place] = np.divmod(numbers, relations)
    return words


def all_systems(entities: int, relations: int) -> Iterator[FactSystem]:
    """All (N!)^R fact systems, in lexicographic order. InputError for N < 2 or R < 1, when the first is asked for."""
    check_count("entities", entities, at_least=2)
    check_count("relations", relations)
    permutations = [np.array(p) for p in itertools.permutations(range(entities))]
    for rows in itertools.product(permutations, repeat=relations):
        yield FactSystem(np.stack(rows))


def all_map_systems(entities: int, relations: int) -> Iterator[FactSystem]:
    """All N^(N·R) systems of maps, in lexicographic order. InputError for N < 2 or R < 1, at the first."""
    check_count("entities", entities, at_least=2)
    check_count("relations", relations)
    for answers in itertools.product(range(entities), repeat=entities * relations):
        yield FactSystem(np.array(answers).reshape(relations, entities))


def relabelling_classes(entities: int, relations: int) -> Iterator[FactSystem]:
    """One fact system of each class under relabelling of the entities.

    R-tuples of permutations up to simultaneous conjugation, one relation at a time: after g_0 .. g_{r-1} are chosen,
    two choices of g_r are equivalent iff an element of the common centraliser of g_0 .. g_{r-1} conjugates one to the
    other. The number of classes is Burnside's (A160449). InputError, when the first is asked for, for N < 2, R < 1, and
    above 7 entities, where the table of conjugations is too large.
    """
    check_count("relations", relations)
    if check_count("entities", entities, at_least=2) > 7:
        raise InputError(f"relabelling classes are listed for at most 7 entities, not {entities}")
    permutations = np.array(list(itertools.permutations(range(entities))))
    weights = entities ** np.arange(entities)[::-1]
    order = permutations @ weights
    inverses = np.argsort(permutations, axis=1)

    def conjugates(element: int) -> NDArray[np.int64]:
        """Indices of the conjugates of one permutation by every permutation, shape [N!]."""
        moved = np.take_along_axis(permutations, permutations[element][inverses], axis=1)
        return np.searchsorted(order, moved @ weights)

    table = np.stack([conjugates(element) for element in range(math.factorial(entities))])

    def extend(chosen: list[int], centraliser: NDArray[np.int64]) -> Iterator[FactSystem]:
        """The representatives that begin with `chosen`; `centraliser` indexes all that commute with each of these."""
        if len(chosen) == relations:
            yield FactSystem(permutations[chosen])
            return
        orbits = table[:, centraliser]
        for element in np.flatnonzero(orbits.min(axis=1) == np.arange(len(table))):
            yield from extend([*chosen, int(element)], centraliser[orbits[element] == element])

    yield from extend([], np.arange(len(permutations)))
