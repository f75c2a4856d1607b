"""T10 and T11: what the bounds for maps and the total information say, against every system of a small size."""

from __future__ import annotations

from fractions import Fraction
from math import factorial, log2

import mpmath
import pytest

from bounds.enclosure import Interval, Logarithm, constant, sign
from bounds.enclosure import log2 as exact_log2
from bounds.lower import centralisers
from bounds.lower.bound import Bound
from bounds.lower.centralisers import LISTED, PARTITIONS, information_at_hops
from bounds.lower.frontier import strongest_for_dimension
from bounds.lower.information import total_information
from bounds.lower.learned_readout import learned_readout
from bounds.lower.maps import fixed_maps, learned_maps, most_map_roots, universal_maps
from bounds.suite.families import answers_of_all_maps, answers_of_all_systems
from bounds.tables.dimensions import bound_rows, settings
from bounds.tables.rows import BoundSetting
from constructions.verification.certificate import certify
from constructions.verification.exhaustive import check_every_query
from constructions.weights import t2, t2e, t3
from theory import FactSystem, InputError, Task, all_systems, all_words
from theory.definitions.fact_system import all_map_systems
from theory.statements.assumptions import MAPS, ONE_PASS
from theory.statements.registry import evaluate

WORDS = all_words(2, 2)


def test_answers_of_maps_are_free() -> None:
    """N = 3, R = 2, k = 2: all 3⁴ = 81 vectors of values occur, and all 2⁴ = 16 into two answers."""
    vectors = {tuple(s.follow_all(WORDS)[:, 0].tolist()) for s in all_map_systems(3, 2)}
    assert len(vectors) == 81 == answers_of_all_maps(3, 2, 2, 1, 3)
    assert sum(max(vector) < 2 for vector in vectors) == 16 == answers_of_all_maps(3, 2, 2, 1, 2)


def test_bijections_do_not_have_all_vectors() -> None:
    """The assumption is needed: among the bijections of N = 3 two edges of one relation have different ends."""
    vectors = {tuple(s.follow_all(WORDS)[:, 0].tolist()) for s in all_systems(3, 2)}
    assert len(vectors) < 81


SIZES = [(3, 1, 2, 2), (4, 2, 2, 3), (6, 3, 3, 2), (10, 5, 2, 4)]


@pytest.mark.parametrize(("power", "bits", "relations", "hops"), SIZES)
def test_t2_meets_the_bound_of_maps_without_a_gap(power: int, bits: int, relations: int, hops: int) -> None:
    entities = 2**power
    built = evaluate("T2", "dimension", entities=entities, relations=relations, hops=hops, bits=bits)
    assert universal_maps(entities, relations, hops).smallest_dimension(bits) == built
    system = FactSystem.random(min(entities, 64), relations, maps=True)
    assert certify(t2.construct(system, hops, bits), system, Task(hops), 1).holds


def test_nothing_is_said_where_no_tree_fits() -> None:
    assert most_map_roots(6, 2, 3) == 0
    assert most_map_roots(7, 2, 3) == 1
    for bound in (universal_maps(6, 2, 3), fixed_maps(6, 2, 3), strongest_for_dimension(learned_maps(6, 2, 3))):
        assert bound.smallest_dimension(1) == 0


def test_bounds_of_tables_are_below_what_all_maps_have() -> None:
    """The right sides are the logarithms of numbers of tables, counted at N = 3, R = 1."""
    for roots, answers, hops in ((1, 2, 1), (2, 2, 1), (3, 3, 1), (1, 3, 2)):
        if roots <= most_map_roots(3, 1, hops):
            assert answers_of_all_maps(3, 1, hops, roots, answers) == answers**roots
    assert fixed_maps(3, 1, 1).information == exact_log2(3, 3)


def test_bounds_of_maps_by_hand() -> None:
    """N = 12, R = 2, k = 2: trees of 3 nodes, of which 4 fit, with 4 free edges each; q or m of 2, and of 4."""
    found = universal_maps(12, 2, 2), fixed_maps(12, 2, 2)
    assert [(bound.rows, bound.shared, bound.information) for bound in found] == [
        (1, 0, exact_log2(12, 4)),
        (4, 1, exact_log2(12, 16)),
    ]
    learned = {bound.argument: bound for bound in learned_maps(12, 2, 2).members}
    tied = {bound.argument: bound for bound in learned_maps(12, 2, 2, tied=True).members}
    assert {"m = 4 roots and q = 2 answers", "m = 4 roots and q = 12 answers"} <= learned.keys()
    assert tied.keys() >= {"m = 2 roots", "m = 4 roots"}
    for bound, rows, information, readout in (
        (learned["m = 4 roots and q = 2 answers"], 6, exact_log2(2, 16), "learned read-out"),
        (tied["m = 2 roots"], 2, exact_log2(2, 8), "tied read-out"),
    ):
        assert (bound.rows, bound.shared) == (rows, 1)
        assert sign(bound.information - information) == 0
        assert readout in {each.name for each in bound.assumptions}


@pytest.mark.parametrize("readout", ["fixed", "learned", "tied"])
@pytest.mark.parametrize("entities", [8, 27, 100])
def test_tables_of_maps_have_the_strongest_bound_at_one_bit(entities: int, readout: str) -> None:
    """Which bound is the strongest depends on the bits of an entry, but for what is rounded up."""
    found, bijections = (
        {row.label: row.dimension for row in bound_rows([BoundSetting(entities, 2, 1, 1, readout=readout, maps=maps)])}
        for maps in (True, False)
    )
    members: tuple[Bound, ...] = (fixed_maps(entities, 2, 1),)
    if readout != "fixed":
        members = learned_maps(entities, 2, 1, tied=readout == "tied").members
    label = f"any model, {readout}"
    assert found[label] == max(bijections[label] or 0, *(bound.smallest_dimension(1) for bound in members))


def test_there_is_no_meeting_in_the_middle() -> None:
    """At N = 2^10, R = 4, k = 4 a learned read-out needs half of R^k·log m of maps; T2e has R²·p of bijections."""
    maps, bijections = (strongest_for_dimension(f(1024, 4, 4)) for f in (learned_maps, learned_readout))
    assert maps.smallest_dimension(1) > evaluate("T2e", "dimension", entities=1024, relations=4, hops=4)
    assert bijections.smallest_dimension(1) <= evaluate("T2e", "dimension", entities=1024, relations=4, hops=4)
    assert MAPS in maps.assumptions
    with pytest.raises(InputError, match=r"\(T2e\) needs bijections"):
        t2e.construct(FactSystem.random(9, 2, maps=True), 2)


def test_one_pass_is_needed() -> None:
    """A chain does better: T3 recalls the maps of N = 21, R = 4, k = 3, far below T10's dimension for one pass."""
    system = FactSystem.random(21, 4, maps=True)
    chain = t3.construct(system, 3, 1)
    bound = fixed_maps(21, 4, 3)
    assert ONE_PASS in bound.assumptions
    assert chain.dimension < bound.smallest_dimension(1)
    assert check_every_query(chain, system, Task(3, 1)).holds


@pytest.mark.parametrize(("entities", "relations", "hops"), [(64, 2, 2), (200, 3, 2), (4096, 4, 3)])
def test_more_roots_are_never_worse(entities: int, relations: int, hops: int) -> None:
    most = most_map_roots(entities, relations, hops)
    for shared in (0, 100, 10**5):
        best = fixed_maps(entities, relations, hops).smallest_dimension(1, shared)
        for roots in {1, most // 2 or 1, most}:
            information = roots * relations**hops * Fraction(log2(entities))
            assert best >= int((information - shared) / roots)


def test_tables_know_maps() -> None:
    rows = {row.label: row for row in bound_rows([BoundSetting(1024, 2, 3, 1, maps=True)])}
    assert (rows["universal"].dimension, rows["T2"].dimension, rows["T2"].ratio) == (80, 80, 1)
    assert MAPS in rows["universal"].assumptions
    assert MAPS in rows["width"].assumptions
    assert rows["width"].width == 80
    learned = {row.label for row in bound_rows([BoundSetting(1024, 2, 3, 1, readout="learned", maps=True)])}
    assert not {label for label in learned if label.startswith("T2e")}
    assert "T3b" not in learned
    with pytest.raises(InputError, match="arbitrary maps at an error rate"):
        settings([8], [2], [1], [1], error=Fraction(1, 10), maps=True)


# T11.


@pytest.mark.parametrize("relations", [2, 3, 4])
def test_total_information_is_met_at_two_entities(relations: int) -> None:
    tables = answers_of_all_systems(2, relations, 2, 2)
    assert sign(exact_log2(tables) - information_at_hops(2, relations).information) == 0


def test_tables_of_four_entities() -> None:
    """12 956 tables at N = 4, R = 3, k = 2; at least 7715.7 are claimed."""
    assert answers_of_all_systems(4, 3, 2, 4) == 12_956
    value = information_at_hops(4, 3).value
    assert isinstance(value, Interval)
    assert value.low <= log2(7715.7) + 0.001
    assert value.high >= log2(7715.6)


def test_one_hop_is_weaker_than_all_facts_and_two_relations_cost_the_partitions() -> None:
    for entities in (2, 5, 30):
        assert sign(total_information(entities, 3).information - information_at_hops(entities, 3).information) > 0
    partitions = {5: 7, 10: 42, 30: 5604}
    for entities, number in partitions.items():
        facts = exact_log2(factorial(entities), 2) - exact_log2(number)
        assert sign(facts - information_at_hops(entities, 2).information) == 0


@pytest.mark.parametrize("relations", [2, 3, 8])
def test_beyond_what_is_listed_the_bound_is_below_the_sum(relations: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound on the number of partitions gives away bits, and never too few."""
    sizes = range(2, LISTED + 1)
    exact = [information_at_hops(entities, relations).information for entities in sizes]
    monkeypatch.setattr(centralisers, "LISTED", 1)
    for entities, true in zip(sizes, exact, strict=True):
        assert sign(true - information_at_hops(entities, relations).information) > 0
    assert information_at_hops(10**12, relations).smallest_dimension(1) > 38 * relations


def test_one_relation_says_nothing() -> None:
    found = information_at_hops(9, 1)
    assert (found.smallest_dimension(1), found.information) == (0, Logarithm())
    assert found.argument == "one relation commutes with itself"


def test_the_number_of_partitions_is_bounded_from_above_and_hardly_more() -> None:
    with mpmath.workdps(30):
        exact = mpmath.pi * mpmath.sqrt(mpmath.mpf(2) / 3) / mpmath.log(2)
        assert 0 < mpmath.mpf(PARTITIONS.numerator) / PARTITIONS.denominator - exact < 0.001


@pytest.mark.parametrize(("entities", "root"), [(80, 9), (81, 9), (82, 10), (100, 10)])
def test_beyond_what_is_listed_the_bound_is_its_formula(entities: int, root: int) -> None:
    expected = exact_log2(factorial(entities), 3) - constant(PARTITIONS * root)
    assert sign(information_at_hops(entities, 3).information - expected) == 0


def test_the_left_side_of_t11_is_that_of_all_rows_and_shared_bits() -> None:
    for entities in (5, 100):
        found = {readout: information_at_hops(entities, 3, readout) for readout in ("fixed", "learned", "tied")}
        assert {readout: (bound.rows, bound.shared) for readout, bound in found.items()} == {
            "fixed": (entities, 1),
            "learned": (2 * entities, 1),
            "tied": (entities, 1),
        }
    with pytest.raises(InputError, match="entities must be"):
        information_at_hops(1, 2)
    with pytest.raises(InputError, match="relations must be"):
        information_at_hops(5, 0)
