"""The families behind T2c, T2e and T9: counted by looking at all systems, and by building T2e's system by system."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from bounds.enclosure import constant, log2, sign
from bounds.lower.bound import Bound
from bounds.lower.frontier import smallest_dimension
from bounds.lower.learned_readout import (
    even_loop_leaves,
    even_loop_nodes,
    learned_readout,
    most_even_loop_roots,
    most_full_roots,
    odd_loop_leaves,
    odd_loop_nodes,
)
from bounds.suite.families import (
    Evidence,
    all_matchings,
    all_systems,
    answers_of_all_matchings,
    answers_of_all_systems,
    check_families,
    loop_evidence,
    matching_evidence,
    perfect_matchings,
    tree_evidence,
)
from bounds.suite.learned_families import (
    Slot,
    Template,
    check_learned_families,
    complete,
    even_loop_template,
    evidence,
    full_template,
    odd_loop_template,
)
from theory.definitions.fact_system import all_words
from theory.statements.registry import evaluate


@pytest.mark.parametrize(
    ("sizes", "systems", "largest_class", "bound"),
    [
        ((4, 2, 1, 2), 576, 4, 144),
        ((4, 2, 2, 1), 216, 3, 36),
        ((5, 2, 2, 1), 6912, 28, 144),
        ((4, 3, 2, 1), 1296, 1, 216),
        ((6, 1, 3, 2), 48, 24, 2),
        ((6, 2, 2, 1), 288000, 468, 400),
        ((3, 3, 1, 2), 216, 1, 216),
    ],
)
def test_trees_count_as_published(
    sizes: tuple[int, int, int, int], systems: int, largest_class: int, bound: int
) -> None:
    found = tree_evidence(*sizes)
    assert (found.systems, found.largest_class) == (systems, largest_class)
    assert sign(found.bound.information - log2(bound)) == 0
    assert found.holds


@pytest.mark.parametrize(
    ("sizes", "limit"),
    # The trees, (N-m)_(nodes below the roots), times ((N-I-n)!)^R.
    [((4, 2, 1, 2), 2**2), ((5, 2, 2, 1), 4 * 3 * 2**2), ((6, 2, 2, 1), 5 * 4 * 6**2), ((6, 1, 3, 2), 4 * 3 * 2 * 1)],
)
def test_systems_of_a_tree_that_share_their_answers_are_limited(sizes: tuple[int, int, int, int], limit: int) -> None:
    assert tree_evidence(*sizes).class_limit == limit


@pytest.mark.parametrize("hops", [1, 2, 3])
def test_answers_of_all_matchings_are_those_of_every_pair(hops: int) -> None:
    matchings = [(1, 0, 3, 2), (2, 3, 0, 1), (3, 2, 1, 0)]
    for roots in (1, 2, 4):
        found = set()
        for system in product(matchings, repeat=2):
            answers = []
            for root, word in product(range(roots), product(range(2), repeat=hops)):
                for relation in word:
                    root = system[relation][root]
                answers.append(root)
            found.add(tuple(answers))
        assert answers_of_all_matchings(4, 2, hops, roots) == len(found)


def test_every_small_family_is_as_the_theorems_say() -> None:
    found = list(check_families(systems=20_000))
    assert all(each.holds for each in found)
    shapes = {(each.bound.theorem, each.bound.formula) for each in found}
    assert len(shapes) == 3
    assert len(found) > 250


@pytest.mark.parametrize("sizes", [(5, 2, 3, 1, 2, 2), (4, 2, 2, 2, 2, 1), (4, 3, 2, 1, 3, 1), (3, 2, 2, 1, 2, 1)])
def test_full_loops_leave_exactly_as_many_answers_as_their_bound(sizes: tuple[int, int, int, int, int, int]) -> None:
    found = loop_evidence(*sizes)
    assert found.holds
    assert sign(log2(found.answers) - found.bound.information) == 0


def more(bound: Bound) -> Bound:
    return replace(bound, information=bound.information + constant(1))


@pytest.mark.parametrize(
    "found", [tree_evidence(3, 3, 1, 2), loop_evidence(4, 2, 2, 1, 2, 1), matching_evidence(6, 2, 2, 1)]
)
def test_a_false_count_or_bound_is_caught(found: Evidence) -> None:
    assert found.holds
    assert not replace(found, expected_systems=found.expected_systems + 1).holds
    assert not replace(found, class_limit=found.largest_class - 1).holds
    assert not replace(found, bound=more(more(found.bound))).holds
    assert not replace(found, answers=0).holds


def test_systems_and_matchings_are_all_listed_once() -> None:
    systems = np.concatenate(list(all_systems(3, 3))).reshape(-1, 9)
    assert systems.shape == (216, 9)
    assert len(np.unique(systems, axis=0)) == 216
    matchings = np.concatenate(list(all_matchings(6, 2)))
    assert matchings.shape == (perfect_matchings(6) ** 2, 2, 6)
    assert len(np.unique(matchings.reshape(-1, 12), axis=0)) == 225
    twice = np.take_along_axis(matchings, matchings.astype(np.intp), axis=2)
    assert (twice == np.arange(6)).all()
    assert (matchings != np.arange(6)).all()
    assert [perfect_matchings(n) for n in (2, 3, 4, 8)] == [1, 0, 3, 105]


def test_answers_of_all_systems_are_answer_vectors() -> None:
    published = {(1, 2, 3): 9, (2, 2, 3): 25, (2, 2, 4): 148, (2, 2, 5): 425, (3, 2, 4): 430, (3, 2, 5): 7861}
    published |= {(2, 3, 3): 185, (2, 3, 4): 7408}
    for (hops, relations, entities), count in published.items():
        assert answers_of_all_systems(entities, relations, hops, 1) == count


def test_every_small_learned_family_is_as_t2e_says() -> None:
    found = list(check_learned_families(tables=300))
    assert all(each.holds for each in found)
    assert {(each.hops % 2, each.bound.formula) for each in found} == {
        (parity, formula) for parity, formula in product((0, 1), ("R^(j+1)·log2 M!", "R·ℓ·log2 M!", "(R-1)·log2 M!"))
    }
    assert any(each.entities == each.entities_needed for each in found)


Build = Callable[[int, int, int, int], tuple[Template, Bound]]


@pytest.mark.parametrize(
    ("build", "sizes", "tables"),
    [
        (full_template, (15, 2, 3, 3), 6**4),
        (full_template, (8, 2, 2, 2), 24**2),
        (full_template, (6, 3, 2, 1), 6**3),
        (full_template, (12, 2, 4, 1), 2**4),
        (full_template, (14, 3, 3, 2), 2**9),
        (odd_loop_template, (6, 2, 3, 2), 2**2),
        (even_loop_template, (15, 3, 3, 3), 720**3),
    ],
)
def test_t2e_has_as_many_tables_as_stated(build: Build, sizes: tuple[int, int, int, int], tables: int) -> None:
    entities, _, hops, _ = sizes
    template, bound = build(*sizes)
    assert sign(bound.information - log2(tables)) == 0
    assert template.entities <= entities
    if tables < 2000:
        assert evidence(template, bound, entities, hops).tables == tables


def test_a_false_claim_about_t2e_is_caught() -> None:
    template, bound = full_template(10, 2, 3, 2)
    found = evidence(template, bound, 10, 3)
    assert found.holds
    assert not evidence(template, more(bound), 10, 3).holds
    assert not evidence(template, bound, found.entities_needed - 1, 3).holds
    first, *others = template.slots
    lazy = replace(first, queries=(others[0].queries[0], *first.queries[1:]))
    assert not evidence(replace(template, slots=(lazy, *others)), bound, 10, 3).holds
    fewer = replace(template, slots=(replace(first, queries=first.queries[:1]), *others))
    assert not evidence(fewer, bound, 10, 3).holds


def test_relations_that_are_no_partial_injections_are_refused() -> None:
    edges = {(0, 0): 1}
    template = Template(1, 4, edges, (Slot(0, (0,), (2,), ((0, (0,)),)),), (2,))
    with pytest.raises(ValueError, match="two edges out of 0"):
        complete(template, [(0,)])
    with pytest.raises(ValueError, match="two edges into one entity"):
        complete(replace(template, slots=(Slot(0, (3,), (1,), ((3, (0,)),)),)), [(0,)])
    assert complete(replace(template, slots=()), []) == [[1, 0, 2, 3]]


def test_the_trees_of_t2e_need_the_entities_that_its_conditions_name() -> None:
    for relations, hops, entities, roots in product(range(2, 5), range(1, 8), range(2, 160, 13), range(1, 5)):
        half = (hops - 1) // 2
        inner = sum(relations**i for i in range(1, half + 1))
        if roots <= most_full_roots(entities, relations, hops):
            needed = roots * (1 + 2 * inner) if hops % 2 else 2 * roots * (inner + relations ** (half + 1))
            assert full_template(entities, relations, hops, roots)[0].entities == needed
        if roots <= entities:
            leaves = odd_loop_leaves(entities, relations, hops, roots)
            needed = roots * odd_loop_nodes(relations, leaves) if leaves else roots
            assert odd_loop_template(entities, relations, hops, roots)[0].entities == needed
        if roots <= most_even_loop_roots(entities, relations, hops):
            needed = roots * even_loop_nodes(relations, even_loop_leaves(entities, relations, hops, roots))
            assert even_loop_template(entities, relations, hops, roots)[0].entities == needed


@pytest.mark.parametrize(
    ("entities", "relations", "hops"), [(7, 4, 1), (8, 5, 1), (6, 4, 3), (5, 5, 3), (9, 1, 3), (6, 2, 3)]
)
def test_the_middle_split_answers_every_query(entities: int, relations: int, hops: int) -> None:
    """Sign codes forward in e_x and backward in u_a; the logit of a is their inner product on the word's blocks."""
    rng = np.random.default_rng(5)
    system = np.stack([rng.permutation(entities) for _ in range(relations)])
    inverse = np.argsort(system, axis=1)
    bits = (entities - 1).bit_length()
    codes = 2 * (np.arange(entities)[:, None] >> np.arange(bits) & 1) - 1
    half = hops // 2
    split = -(-relations // 2)

    def follow(word: tuple[int, ...], maps: np.ndarray) -> np.ndarray:
        at = np.arange(entities)
        for relation in word:
            at = maps[relation][at]
        return at

    forward_blocks, backward_blocks = set(), set()
    for word in map(tuple, all_words(relations, hops).tolist()):
        ahead = word[: half + 1] if word[half] < split else word[:half]
        back = word[len(ahead) :]
        forward_blocks.add(ahead)
        backward_blocks.add(back)
        logits = codes[follow(ahead, system)] @ codes[follow(back[::-1], inverse)].T
        right = follow(word, system)
        assert (logits[np.arange(entities), right] == bits).all()
        logits[np.arange(entities), right] = -bits
        assert (logits <= bits - 2).all()
    blocks = max(len(forward_blocks), len(backward_blocks))
    assert min(blocks, relations ** (half + 1)) * bits == split_dimension(entities, relations, hops)


def split_dimension(entities: int, relations: int, hops: int) -> int:
    """The dimension of T2e's construction that splits the middle relation."""
    size = {"entities": entities, "relations": relations, "hops": hops}
    return evaluate("T2e", "dimension", **size, construction="split")


def test_splitting_the_middle_relation_halves_t2e() -> None:
    assert split_dimension(4096, 2, 3) == 2**2 * 12
    assert split_dimension(4096, 16, 3) == 16 * 9 * 12
    ratio = Fraction(split_dimension(2**40, 1000, 3), smallest_dimension(learned_readout(2**40, 1000, 3), 1))
    assert 1 <= ratio < Fraction(3, 2)
