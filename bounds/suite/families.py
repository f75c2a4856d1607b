"""The families behind T2c, T2e and T9, listed system by system: how many there are, and how many answers they give.

A dichotomy rests on a count: so many systems have a certain shape, and at most so many of them share their answers.
Here both are counted without the formulas, by looking at *all* systems (trees, loops, matchings), or by building the
family of T2e for every choice of its permutations and asking every query (`learned_evidence`). `check_families` runs
through all small sizes. The formulas are restated here in plain integers; what is compared in the end is also the
bound itself, that is log2 (answers) >= information, by `enclosure.sign`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations, product
from math import factorial, perm, prod

import numpy as np
from numpy.typing import NDArray

from bounds.enclosure import log2, sign
from bounds.lower.bound import Bound
from bounds.lower.dichotomy import loop_bound, most_expanded, most_tree_roots, nodes, tree_bound
from bounds.lower.involutions import involution_bound, most_roots, reduced_nodes

CHUNK = 2**16  # systems looked at together

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Evidence:
    """What was counted of one family, beside what the theorem says about it.

    systems, largest_class, answers: how many systems are in the family, the most that share one answer vector, the
    number of answer vectors. expected_systems and class_limit are the theorem's; `bound` rests on them.
    """

    entities: int
    relations: int
    hops: int
    bound: Bound
    systems: int
    largest_class: int
    answers: int
    expected_systems: int
    class_limit: int

    @property
    def holds(self) -> bool:
        """Whether the counts are as the theorem says and the answers need at least the bits that it claims."""
        enough = self.answers > 0 and sign(log2(self.answers) - self.bound.information) >= 0
        return self.systems == self.expected_systems and self.largest_class <= self.class_limit and enough


def check_families(systems: int = 600_000) -> Iterator[Evidence]:
    """Evidence for trees, loops and matchings at every size with at most `systems` systems."""
    for entities in range(2, 10):
        for relations in range(1, 7):
            if factorial(entities) ** relations <= systems:
                yield from _permutation_evidence(entities, relations)
            if entities % 2 == 0 and perfect_matchings(entities) ** relations <= systems:
                for hops in range(1, entities):
                    for roots in range(1, most_roots(entities, relations, hops) + 1):
                        yield matching_evidence(entities, relations, hops, roots)


def _permutation_evidence(entities: int, relations: int) -> Iterator[Evidence]:
    for hops in range(1, entities + 1):
        for roots in range(1, most_tree_roots(entities, relations, hops) + 1):
            yield tree_evidence(entities, relations, hops, roots)
    if relations == 1:
        return
    for hops in range(1, 4):
        for branching in range(1, min(relations, entities) + 1):
            for expanded in range(1, most_expanded(hops, branching) + 1):
                for roots in range(1, entities // (branching * expanded) + 1):
                    yield loop_evidence(entities, relations, hops, roots, branching, expanded)


def tree_evidence(entities: int, relations: int, hops: int, roots: int) -> Evidence:
    """T2c by trees: the systems in which words of length < k lead from the roots to distinct nodes."""
    inner, last = roots * nodes(relations, hops - 2), roots * relations ** (hops - 1)
    trees = perm(entities - roots, roots * (nodes(relations, hops - 1) - 1))
    classes = _Classes()
    for images in all_systems(entities, relations):
        levels = _levels(images, roots, hops)
        kept = _distinct(np.concatenate(levels[:-1], axis=1))
        classes.add(levels[-1][kept])
    return Evidence(
        entities,
        relations,
        hops,
        tree_bound(entities, relations, hops, roots),
        *classes.counts(),
        expected_systems=trees * factorial(entities - inner) ** relations,
        class_limit=trees * factorial(entities - inner - last) ** relations,
    )


def loop_evidence(entities: int, relations: int, hops: int, roots: int, branching: int, expanded: int) -> Evidence:
    """T2c by loops: relation 0 fixes the roots, the nodes of the trees are distinct; asked are words of k letters."""
    size = branching * expanded
    classes = _Classes()
    for images in all_systems(entities, relations):
        fixed = (images[:, 0, :roots] == np.arange(roots)).all(axis=1)
        nodes_of_trees = _loop_trees(images, roots, branching, expanded)
        kept = fixed & _distinct(nodes_of_trees)
        classes.add(_levels(images[kept], roots, hops)[-1])
    free = factorial(entities - roots * expanded) ** branching * factorial(entities) ** (relations - branching)
    return Evidence(
        entities,
        relations,
        hops,
        loop_bound(entities, relations, hops, roots, branching, expanded),
        *classes.counts(),
        expected_systems=perm(entities - roots, roots * (size - 1)) * free,
        class_limit=factorial(entities - roots * size) ** relations,
    )


def matching_evidence(entities: int, relations: int, hops: int, roots: int) -> Evidence:
    """T9: R perfect matchings, nodes of reduced words of length < k distinct, their continuations outside the trees."""
    size = roots * reduced_nodes(relations, hops - 1)
    asked = roots * (relations - 1) ** (hops - 1)
    classes = _Classes()
    for images in all_matchings(entities, relations):
        tree, answers = _reduced_levels(images, roots, hops)
        outside = (answers[:, :, None] != tree[:, None, :]).all(axis=(1, 2))
        classes.add(answers[_distinct(tree) & outside])
    trees = perm(entities - roots, size - roots)
    rest = perfect_matchings(entities - size - asked)
    return Evidence(
        entities,
        relations,
        hops,
        involution_bound(entities, relations, hops, roots),
        *classes.counts(),
        expected_systems=trees * (perm(entities - size, asked) * rest) ** relations,
        class_limit=trees * rest**relations,
    )


def answers_of_all_systems(entities: int, relations: int, hops: int, roots: int) -> int:
    """How many vectors of answers of the roots 0..m-1 to all words of k letters occur, over all systems."""
    classes = _Classes()
    for images in all_systems(entities, relations):
        classes.add(_levels(images, roots, hops)[-1])
    return classes.counts()[2]


def answers_with_inverses(entities: int, relations: int) -> int:
    """How many vectors of answers of entity 0 to all relations and their inverses occur, over all systems."""
    classes = _Classes()
    for images in all_systems(entities, relations):
        sources = (images == 0).argmax(axis=2).astype(np.int8)
        classes.add(np.concatenate([images[:, :, 0], sources], axis=1))
    return classes.counts()[2]


def answers_of_all_matchings(entities: int, relations: int, hops: int, roots: int) -> int:
    """The same over all systems of R perfect matchings."""
    classes = _Classes()
    for images in all_matchings(entities, relations):
        classes.add(_levels(images, roots, hops)[-1])
    return classes.counts()[2]


def all_systems(entities: int, relations: int) -> Iterator[NDArray[np.int8]]:
    """All (N!)^R systems in chunks, each of shape [systems, R, N]."""
    return _all_tuples(np.array(list(permutations(range(entities))), np.int8), relations)


def all_matchings(entities: int, relations: int) -> Iterator[NDArray[np.int8]]:
    """All R-tuples of perfect matchings in chunks, each of shape [systems, R, N], as involutions."""
    return _all_tuples(np.array(list(_matchings(tuple(range(entities)))), np.int8), relations)


def all_maps(entities: int, relations: int) -> Iterator[NDArray[np.int8]]:
    """All N^(N·R) systems of maps in chunks, each of shape [systems, R, N]."""
    return _all_tuples(np.array(list(product(range(entities), repeat=entities)), np.int8), relations)


def answers_of_all_maps(entities: int, relations: int, hops: int, roots: int, answers: int) -> int:
    """How many vectors of answers of the roots 0..m-1 to all words of k letters occur, over all systems of maps, in
    which no answer is other than 0 .. `answers` - 1.
    """
    classes = _Classes()
    for images in all_maps(entities, relations):
        found = _levels(images, roots, hops)[-1]
        classes.add(found[(found < answers).all(axis=1)])
    return classes.counts()[2]


def perfect_matchings(entities: int) -> int:
    """(N-1)!! = (N-1)(N-3)…1, the number of perfect matchings; 0 for odd N."""
    if entities % 2:
        return 0
    return prod(range(1, entities, 2))


class _Classes:
    """Counts how many rows are equal, over chunks of rows."""

    def __init__(self) -> None:
        self.sizes: dict[bytes, int] = {}

    def add(self, rows: NDArray[np.int8]) -> None:
        """Count each row of a chunk of shape [rows, places] under its bytes; an empty chunk changes nothing."""
        if not rows.size:
            return
        keys = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.shape[1]))).reshape(-1)
        for key, size in zip(*np.unique(keys, return_counts=True), strict=True):
            name = key.tobytes()
            self.sizes[name] = self.sizes.get(name, 0) + int(size)

    def counts(self) -> tuple[int, int, int]:
        """Rows in all, the largest class, the number of classes."""
        return sum(self.sizes.values()), max(self.sizes.values(), default=0), len(self.sizes)


def _all_tuples(rows: NDArray[np.int8], relations: int) -> Iterator[NDArray[np.int8]]:
    number = len(rows) ** relations
    for start in range(0, number, CHUNK):
        indices = np.arange(start, min(start + CHUNK, number))
        digits = np.stack([indices // len(rows) ** place % len(rows) for place in range(relations)], axis=1)
        yield rows[digits]


def _matchings(free: tuple[int, ...], images: tuple[tuple[int, int], ...] = ()) -> Iterator[list[int]]:
    if not free:
        yield [partner for _, partner in sorted(images)]
        return
    first, *others = free
    for partner in others:
        rest = tuple(entity for entity in others if entity != partner)
        yield from _matchings(rest, (*images, (first, partner), (partner, first)))


def _step(images: NDArray[np.int8], relation: int, at: NDArray[np.int8]) -> NDArray[np.int8]:
    """g_r of the entities `at`, shape [systems, places], in each system."""
    return np.take_along_axis(images[:, relation, :], at.astype(np.intp), axis=1)


def _roots(images: NDArray[np.int8], roots: int) -> NDArray[np.int8]:
    return np.tile(np.arange(roots, dtype=np.int8), (len(images), 1))


def _levels(images: NDArray[np.int8], roots: int, hops: int) -> list[NDArray[np.int8]]:
    """For each length 0..k the nodes that the words of that length lead to from the roots 0..m-1."""
    levels = [_roots(images, roots)]
    for _ in range(hops):
        steps = [_step(images, relation, levels[-1]) for relation in range(images.shape[1])]
        levels.append(np.concatenate(steps, axis=1))
    return levels


def _loop_trees(images: NDArray[np.int8], roots: int, branching: int, expanded: int) -> NDArray[np.int8]:
    """The m·D·E nodes of the trees of T2c's loops: breadth first, each root without its child of relation 0."""
    queue, place = [_roots(images, roots)], 0
    while place < expanded:
        first = 1 if place == 0 else 0
        queue += [_step(images, relation, queue[place]) for relation in range(first, branching)]
        place += 1
    return np.concatenate(queue, axis=1)


def _reduced_levels(images: NDArray[np.int8], roots: int, hops: int) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """The nodes of reduced words of length < k, and those of length k."""
    level = [(-1, _roots(images, roots))]
    tree: list[NDArray[np.int8]] = []
    for _ in range(hops):
        tree += [at for _, at in level]
        level = [(r, _step(images, r, at)) for last, at in level for r in range(images.shape[1]) if r != last]
    return np.concatenate(tree, axis=1), np.concatenate([at for _, at in level], axis=1)


def _distinct(at: NDArray[np.int8]) -> NDArray[np.bool_]:
    """Which rows have no entry twice."""
    ordered = np.sort(at, axis=1)
    different: NDArray[np.bool_] = (ordered[:, 1:] != ordered[:, :-1]).all(axis=1)
    return different
