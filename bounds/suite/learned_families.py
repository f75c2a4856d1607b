"""The family behind T2e, built: forward trees, backward trees and a free permutation for each middle edge and word.

A `Template` holds everything but the permutations: the fixed edges, and *slots*. A slot is a relation that must send
its sources (forward leaves) to its targets (backward leaves of one word) in some order, with the queries that ask for
it. For each choice of the orders the relations are completed to permutations of the entities, every query is asked of
the completed system by following its word, and the table of answers is recorded. T2e claims M!^slots different tables,
all of whose answers are among the M answers, on as few entities as its condition says.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations, product
from math import factorial

from bounds.enclosure import log2, sign
from bounds.lower.bound import Bound
from bounds.lower.learned_readout import (
    even_loop_bound,
    even_loop_leaves,
    full_bound,
    most_even_loop_roots,
    most_full_roots,
    odd_loop_bound,
    odd_loop_leaves,
)
from theory.definitions.fact_system import all_words

Word = tuple[int, ...]
Query = tuple[int, Word]  # the root, and the word asked of it


@dataclass(frozen=True)
class Slot:
    """Relation `relation` sends the sources to the targets in some order; query number s leads to source s and on."""

    relation: int
    sources: tuple[int, ...]
    targets: tuple[int, ...]
    queries: tuple[Query, ...]


@dataclass(frozen=True)
class Template:
    """T2e's family without its permutations: edges as (relation, entity) -> entity, slots, the answers a_1..a_M."""

    relations: int
    entities: int
    edges: dict[tuple[int, int], int]
    slots: tuple[Slot, ...]
    answers: tuple[int, ...]


@dataclass(frozen=True)
class LearnedEvidence:
    """What was counted: how many different tables of answers, over how many entities; are they what T2e says?"""

    entities: int
    relations: int
    hops: int
    bound: Bound
    entities_needed: int
    tables: int
    expected_tables: int
    answers_as_chosen: bool

    @property
    def holds(self) -> bool:
        """M!^slots tables on at most N entities, each answer the chosen a_i, and at least 2^information tables."""
        enough = sign(log2(self.tables) - self.bound.information) >= 0
        as_expected = self.tables == self.expected_tables and self.answers_as_chosen
        return as_expected and self.entities_needed <= self.entities and enough


def check_learned_families(tables: int = 1_500) -> Iterator[LearnedEvidence]:
    """Evidence for T2e, odd and even, full trees and loops, wherever at most `tables` tables are to be built."""
    for relations, hops, entities in product(range(1, 5), range(1, 8), range(2, 17)):
        cases = [(roots, full_template) for roots in range(1, most_full_roots(entities, relations, hops) + 1)]
        if relations > 1:
            cases += [(roots, odd_loop_template) for roots in range(2, entities + 1)]
            most = most_even_loop_roots(entities, relations, hops)
            cases += [(roots, even_loop_template) for roots in range(1, most + 1)]
        for roots, build in cases:
            template, bound = build(entities, relations, hops, roots)
            if factorial(len(template.answers)) ** len(template.slots) <= tables:
                yield evidence(template, bound, entities, hops)


def full_template(entities: int, relations: int, hops: int, roots: int) -> tuple[Template, Bound]:
    """Full trees: words u r v with |v| = j and |u| = j or j + 1; the roots are answers."""
    backward = _words(relations, (hops - 1) // 2)
    if hops % 2:
        groups = [([v], v) for v in backward]
    else:
        groups = [([(first, *v) for first in range(relations)], v) for v in backward]
    template = _template(relations, hops, roots, groups, range(relations), merged=True)
    return template, full_bound(entities, relations, hops, roots)


def odd_loop_template(entities: int, relations: int, hops: int, roots: int) -> tuple[Template, Bound]:
    """Loops, words 0…0 u r v with |u| = |v|: u does not begin with 0, v is u backwards; roots are answers."""
    bound = odd_loop_bound(entities, relations, hops, roots)
    leaves = odd_loop_leaves(entities, relations, hops, roots)
    if leaves == 0:
        return _template(relations, hops, roots, [([()], ())], range(1, relations), merged=True, loops=True), bound
    length = next(i for i in range(1, hops) if (relations - 1) * relations ** (i - 1) >= leaves)
    forward = [word for word in _words(relations, length) if word[0]][:leaves]
    groups = [([word], word[::-1]) for word in forward]
    return _template(relations, hops, roots, groups, range(relations), merged=True, loops=True), bound


def even_loop_template(entities: int, relations: int, hops: int, roots: int) -> tuple[Template, Bound]:
    """Loops, words 0…0 u r v with |u| = |v| + 1: R - 1 words u for each v; roots and answers apart."""
    bound = even_loop_bound(entities, relations, hops, roots)
    leaves = even_loop_leaves(entities, relations, hops, roots)
    length = next(i for i in range(hops) if relations**i >= leaves)
    backward = [word[::-1] for word in _words(relations, length)[:leaves]]
    forward = [word for word in _words(relations, length + 1) if word[0]]
    share = relations - 1
    groups = [(forward[share * place : share * (place + 1)], word) for place, word in enumerate(backward)]
    return _template(relations, hops, roots, groups, range(relations), merged=False, loops=True), bound


def evidence(template: Template, bound: Bound, entities: int, hops: int) -> LearnedEvidence:
    """Builds every system of the family and asks every query of it."""
    size = len(template.answers)
    tables, as_chosen = set(), True
    for orders in product(permutations(range(size)), repeat=len(template.slots)):
        system = complete(template, orders)
        table = tuple(_follow(system, query) for slot in template.slots for query in slot.queries)
        as_chosen &= table == tuple(template.answers[place] for order in orders for place in order)
        tables.add(table)
    expected = factorial(size) ** len(template.slots)
    return LearnedEvidence(
        entities, template.relations, hops, bound, template.entities, len(tables), expected, as_chosen
    )


def complete(template: Template, orders: Sequence[Sequence[int]]) -> list[list[int]]:
    """The fact system, R permutations as lists, with the slots filled in these orders and the rest filled up.

    ValueError if the edges of some relation are not a partial injection.
    """
    edges = dict(template.edges)
    for slot, order in zip(template.slots, orders, strict=True):
        for source, place in zip(slot.sources, order, strict=True):
            if (slot.relation, source) in edges:
                raise ValueError(f"relation {slot.relation} has two edges out of {source}")
            edges[slot.relation, source] = slot.targets[place]
    system = []
    for relation in range(template.relations):
        known = {start: end for (r, start), end in edges.items() if r == relation}
        if len(set(known.values())) < len(known):
            raise ValueError(f"relation {relation} has two edges into one entity")
        rest = iter(sorted(set(range(template.entities)) - set(known.values())))
        system.append([known[start] if start in known else next(rest) for start in range(template.entities)])
    return system


def _template(
    relations: int,
    hops: int,
    roots: int,
    groups: Sequence[tuple[Sequence[Word], Word]],
    middle: Sequence[int],
    *,
    merged: bool,
    loops: bool = False,
) -> Template:
    """The trees of the words in `groups`, (words u of a slot, its word v); `merged` if the roots are answers too."""
    names: dict[tuple[str, int, Word], int] = {}

    def node(side: str, tree: int, word: Word) -> int:
        """The number of a tree's node, the next free one when new; merged roots have one for both sides."""
        if merged and not word:
            side = "both"
        return names.setdefault((side, tree, word), len(names))

    edges = {(0, node("forward", root, ())): node("forward", root, ()) for root in range(roots) if loops}
    answers = range(roots * len(groups[0][0]))
    for forward, backward in groups:
        for root, word in product(range(roots), forward):
            for end in range(len(word)):
                edges[word[end], node("forward", root, word[:end])] = node("forward", root, word[: end + 1])
        for answer, end in product(answers, range(len(backward))):
            edges[backward[end], node("backward", answer, backward[end:])] = node(
                "backward", answer, backward[end + 1 :]
            )
    slots = []
    for relation, (forward, backward) in product(middle, groups):
        asked = [(root, word) for root in range(roots) for word in forward]
        pad = (0,) * (hops - len(forward[0]) - 1 - len(backward))
        slots.append(
            Slot(
                relation,
                tuple(node("forward", root, word) for root, word in asked),
                tuple(node("backward", answer, backward) for answer in answers),
                tuple((node("forward", root, ()), (*pad, *word, relation, *backward)) for root, word in asked),
            )
        )
    return Template(relations, len(names), edges, tuple(slots), tuple(node("backward", a, ()) for a in answers))


def _words(relations: int, length: int) -> list[Word]:
    return [tuple(int(letter) for letter in word) for word in all_words(relations, length)]


def _follow(system: Sequence[Sequence[int]], query: Query) -> int:
    entity, word = query
    for relation in word:
        entity = system[relation][entity]
    return entity
