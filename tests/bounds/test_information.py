"""The lower bounds T1c, T1e, T2c, T2d, T2e, T3c, T8, T9: against big integers, mpmath, and all small systems."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from itertools import islice, pairwise, product
from math import factorial, log, perm

import mpmath
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bounds.counting.answer_vectors import answer_vectors
from bounds.enclosure import Interval, Logarithm, constant, log2, sign
from bounds.lower.beyond import long_words, universal_hops_with_errors
from bounds.lower.bound import Bound, check_sizes
from bounds.lower.chains import any_chain, chain_bound, evenly_spaced, honest_chain
from bounds.lower.dichotomy import fixed_readout, loop_bound, most_expanded, most_tree_roots, nodes, tree_bound
from bounds.lower.frontier import (
    BoundFamily,
    smallest_dimension,
    strongest_for_dimension,
    strongest_for_shared_bits,
)
from bounds.lower.guessing import arbitrary_guessing, check_guessing, universal_guessing
from bounds.lower.information import (
    total_information,
    total_information_with_errors,
    universal_single_hop,
    universal_with_errors,
)
from bounds.lower.involutions import involution_bound, involutions, most_roots, pruned_bound
from bounds.lower.learned_readout import even_loop_bound, full_bound, learned_readout, most_full_roots, odd_loop_bound
from bounds.lower.universal import _few_systems, universal_hops, universal_width
from bounds.suite.families import answers_of_all_matchings, answers_of_all_systems
from theory.errors import InputError

sizes = {"entities": st.integers(2, 40), "relations": st.integers(1, 5), "hops": st.integers(1, 6)}


def least(accepts: Callable[[int], bool]) -> int:
    """The smallest integer >= 0 that is accepted, by trying them in turn."""
    value = 0
    while not accepts(value):
        value += 1
    return value


def assert_needs(bound: Bound, count: int, rows: int, shared: int, bits: int, shared_bits: int) -> None:
    """The bound is rows·d·b + shared·B >= log2(count), and takes its ceilings as the integers do."""
    assert (bound.rows, bound.shared) == (rows, shared)
    assert sign(bound.information - log2(count)) == 0
    expected = least(lambda d: 2 ** (rows * d * bits + shared * shared_bits) >= count)
    assert bound.smallest_dimension(bits, shared_bits) == expected
    if shared:
        dimension = max(0, expected - 1)
        needed = max(0, (count - 1).bit_length() - rows * dimension * bits)
        assert bound.smallest_shared_bits(bits, dimension) == needed


@given(**sizes, bits=st.integers(1, 5), shared_bits=st.integers(0, 60))
def test_t1c_is_the_count_of_systems(entities: int, relations: int, hops: int, bits: int, shared_bits: int) -> None:
    assert_needs(universal_single_hop(entities, relations), entities**relations, 1, 0, bits, shared_bits)
    systems = factorial(entities) ** relations
    for readout, rows in (("fixed", entities), ("learned", 2 * entities), ("tied", entities)):
        assert_needs(total_information(entities, relations, readout), systems, rows, 1, bits, shared_bits)


@given(**sizes, bits=st.integers(1, 4), shared_bits=st.integers(0, 60), data=st.data())
def test_t2c_trees_are_the_count(
    entities: int, relations: int, hops: int, bits: int, shared_bits: int, data: st.DataObject
) -> None:
    most = most_tree_roots(entities, relations, hops)
    assume(most)
    m = data.draw(st.integers(1, most))
    inner, last = m * sum(relations**i for i in range(hops - 1)), m * relations ** (hops - 1)
    assert inner + last <= entities
    count = perm(entities - inner, last) ** relations
    assert_needs(tree_bound(entities, relations, hops, m), count, m, 1, bits, shared_bits)


@given(**sizes, bits=st.integers(1, 4), shared_bits=st.integers(0, 60), data=st.data())
def test_t2c_loops_are_the_count(
    entities: int, relations: int, hops: int, bits: int, shared_bits: int, data: st.DataObject
) -> None:
    assume(relations >= 2)
    d = data.draw(st.integers(1, relations if hops >= 2 else 1))
    e = data.draw(st.integers(1, d ** (hops - 2) if d > 1 else 1))
    assume(d * e <= entities)
    m = data.draw(st.sampled_from([1, entities // (d * e)]))
    count = perm(entities - m, m * (d * e - 1))  # the trees
    count *= perm(entities - m * e, m * (d - 1) * e) ** d  # the D relations of the trees at their leaves
    count *= perm(entities, m * d * e) ** (relations - d)  # and the others at all their nodes
    assert_needs(loop_bound(entities, relations, hops, m, d, e), count, m, 1, bits, shared_bits)


@pytest.mark.parametrize(
    ("sizes", "trees", "loops"),
    [
        # Of full trees N // (1 + … + R^(k-1)) fit, of loops N; N // R^(k-1) with full trees, which have R^(k-2) nodes
        # with edges, and one tree with that many, or with the N // R for which there is room.
        ((40, 3, 1), 40, [40]),
        ((40, 3, 2), 10, [40, 13, 1]),
        ((40, 3, 3), 3, [40, 4, 3]),
        ((40, 3, 4), 1, [40, 1, 9]),
        ((40, 3, 5), 0, [40, 0, 13]),
        ((2, 3, 2), 0, [2, 1, 1]),
        ((40, 1, 4), 10, []),
    ],
)
def test_t2c_takes_all_the_trees_and_loops_that_fit(sizes: tuple[int, int, int], trees: int, loops: list[int]) -> None:
    ranges = fixed_readout(*sizes).ranges
    assert [each.last for each in ranges] == [trees, *loops]
    for each in ranges:
        with pytest.raises(InputError, match=r"do not fit|E <= D"):
            each.at(each.last + 1)
    shapes = [["D = 1, E = 1"], [f"D = {min(sizes[:2])}, E = {sizes[1] ** (sizes[2] - 2)}"] if sizes[2] > 1 else [], []]
    for each, inside in zip(ranges[1:], shapes, strict=False):
        assert all(shape in each.at(1).argument for shape in inside if each.last)


@given(**sizes, bits=st.integers(1, 4), shared_bits=st.integers(0, 60), data=st.data())
def test_t2e_full_trees_are_the_count(
    entities: int, relations: int, hops: int, bits: int, shared_bits: int, data: st.DataObject
) -> None:
    most = most_full_roots(entities, relations, hops)
    assume(most)
    m, tied = data.draw(st.integers(1, most)), data.draw(st.booleans())
    answers = m if hops % 2 else relations * m
    rows = answers if tied else m + answers
    count = factorial(answers) ** (relations ** ((hops + 1) // 2))
    assert_needs(full_bound(entities, relations, hops, m, tied=tied), count, rows, 1, bits, shared_bits)


def nodes_above(relations: int, leaves: int, depth: int, letters: Iterable[int]) -> int:
    """The nodes, without the root, of the first `leaves` words of this length that begin with one of these letters."""
    words = islice(product(letters, *[range(relations)] * (depth - 1)), leaves)
    return len({word[:length] for word in words for length in range(1, depth + 1)})


def odd_nodes(relations: int, leaves: int) -> int:
    """T2e's loops, words of odd length: two pruned trees without loops at their roots, which are one entity."""
    depth = least(lambda i: i >= 1 and leaves <= (relations - 1) * relations ** (i - 1))
    return 1 + 2 * nodes_above(relations, leaves, depth, range(1, relations))


def even_nodes(relations: int, leaves: int) -> int:
    """T2e's loops, words of even length: a forward tree, and a backward one for each of its R-1 answers."""
    depth = least(lambda i: leaves <= relations**i)
    forward = nodes_above(relations, (relations - 1) * leaves, depth + 1, range(1, relations))
    backward = nodes_above(relations, leaves, depth, range(relations)) if depth else 0
    return 1 + forward + (relations - 1) * (1 + backward)


@pytest.mark.parametrize("hops", range(1, 8))
@pytest.mark.parametrize("tied", [False, True])
def test_t2e_loops_are_the_count(hops: int, tied: bool) -> None:
    for entities, relations, roots in product((5, 31, 100), (2, 3, 4), (1, 2, 5)):
        half = (hops - 1) // 2
        most = (relations - 1) * relations ** (half - 1) if half else 0
        leaves = max(n for n in range(most + 1) if not n or roots * odd_nodes(relations, n) <= entities)
        bound = odd_loop_bound(entities, relations, hops, roots, tied=tied)
        free = relations * leaves if leaves else relations - 1
        assert bound.rows == (roots if tied else 2 * roots)
        assert sign(bound.information - log2(factorial(roots) ** free)) == 0
        if hops == 1 or roots * even_nodes(relations, 1) > entities:
            continue
        leaves = max(
            n for n in range(1, relations ** (hops // 2 - 1) + 1) if roots * even_nodes(relations, n) <= entities
        )
        bound = even_loop_bound(entities, relations, hops, roots, tied=tied)
        answers = (relations - 1) * roots
        assert bound.rows == roots + answers
        assert sign(bound.information - log2(factorial(answers) ** (relations * leaves))) == 0


def test_t2e_tries_full_trees_and_loops_of_both_parities() -> None:
    found = Counter(bound.formula for bound in learned_readout(100, 3, 4).members)
    # Loops of odd length have 1..100 roots, of which 64 are tried; of even length 1..100/(2·3 - 1) = 20.
    assert found["R^(j+1)·log2 M!"] == 1
    assert 0 < found["(R-1)·log2 M!"] < 64
    assert sum(found.values()) == 1 + 1 + 64 + 20


def test_t2e_counts_at_least_the_roots_of_two_separate_trees() -> None:
    for entities, relations, hops in product((20, 333), (1, 2, 3), range(1, 7)):
        half = hops // 2
        tree = sum(relations**i for i in range(half + 1))
        backward = tree if hops % 2 else relations * (tree - relations**half)
        separate = entities // (tree + backward)
        assert most_full_roots(entities, relations, hops) >= separate


@given(**sizes, bits=st.integers(1, 4), shared_bits=st.integers(0, 60), data=st.data())
def test_t3c_trees_are_the_count(
    entities: int, relations: int, hops: int, bits: int, shared_bits: int, data: st.DataObject
) -> None:
    prefixes = sorted(data.draw(st.sets(st.integers(1, hops), min_size=1)))
    step = data.draw(st.integers(0, len(prefixes) - 1))
    most = most_tree_roots(entities, relations, prefixes[step])
    assume(most)
    m = data.draw(st.integers(1, most))
    rows = m * sum(relations**length for length in [0, *prefixes[:step]])
    inner = m * nodes(relations, prefixes[step] - 2)
    count = perm(entities - inner, m * relations ** (prefixes[step] - 1)) ** relations
    assert_needs(chain_bound(entities, relations, prefixes, step, m), count, rows, 1, bits, shared_bits)


@given(entities=st.integers(1, 20).map(lambda half: 2 * half), relations=st.integers(1, 5), hops=st.integers(1, 5))
def test_t9_counts_reduced_words(entities: int, relations: int, hops: int) -> None:
    every = [word for length in range(hops + 1) for word in product(range(relations), repeat=length)]
    words = [word for word in every if all(a != b for a, b in pairwise(word))]
    tree = sum(len(word) < hops for word in words)
    per_relation = [sum(len(word) == hops and word[-1] == r for word in words) for r in range(relations)]
    if not any(per_relation):
        assert most_roots(entities, relations, hops) == 0
        return
    most = entities // (tree + per_relation[0])
    assert most_roots(entities, relations, hops) == most
    for m in range(1, min(most, 3) + 1):
        count = 1
        for asked in per_relation:
            count *= perm(entities - m * tree, m * asked)
        assert_needs(involution_bound(entities, relations, hops, m), count, m, 1, 2, 3)


def members(family: BoundFamily) -> list[Bound]:
    return [*family.members, *(each.at(m) for each in family.ranges for m in range(1, each.last + 1))]


SYSTEMS = [
    (2, 1, 2), (3, 1, 5), (2, 3, 2), (2, 5, 3), (3, 2, 1), (3, 2, 2), (3, 2, 4), (4, 2, 2),
    (4, 2, 3), (4, 2, 5), (3, 3, 2), (3, 4, 2), (4, 3, 2), (5, 2, 2), (5, 2, 3), (5, 2, 5),
    (5, 2, 6),
]  # fmt: skip


@pytest.mark.parametrize(("entities", "relations", "hops"), SYSTEMS)
def test_no_bound_exceeds_what_all_systems_answer(entities: int, relations: int, hops: int) -> None:
    true = {m: answers_of_all_systems(entities, relations, hops, m) for m in range(1, entities + 1)}
    for bound in members(fixed_readout(entities, relations, hops)):
        assert sign(log2(true[bound.rows]) - bound.information) >= 0, bound
    for bound in (universal_hops(entities, relations, hops), long_words(entities, relations, hops)):
        assert sign(log2(true[1]) - bound.information) >= 0, bound


MATCHINGS = [
    (2, 1, 1), (4, 1, 3), (4, 2, 1), (4, 2, 2), (4, 3, 2), (4, 3, 3), (6, 2, 2), (6, 2, 4),
    (6, 3, 2), (6, 3, 3), (8, 2, 3),
]  # fmt: skip


@pytest.mark.parametrize(("entities", "relations", "hops"), MATCHINGS)
def test_no_bound_exceeds_what_all_matchings_answer(entities: int, relations: int, hops: int) -> None:
    true = {m: answers_of_all_matchings(entities, relations, hops, m) for m in range(1, entities + 1)}
    for bound in members(involutions(entities, relations, hops)):
        assert sign(log2(true[bound.rows]) - bound.information) >= 0, bound
    pruned = pruned_bound(entities, relations, hops)
    assert sign(log2(true[1]) - pruned.information) >= 0, pruned


def test_that_comparison_can_fail() -> None:
    true = answers_of_all_systems(4, 2, 2, 1)
    exact = universal_hops(4, 2, 2)
    assert sign(log2(true) - exact.information) == 0
    assert sign(log2(true) - exact.information - log2(2)) < 0


@pytest.mark.parametrize("error", [Fraction(1, 100), Fraction(1, 7), Fraction(1, 2), Fraction(99, 100)])
@pytest.mark.parametrize(("entities", "relations"), [(2, 1), (3, 2), (37, 4), (10**6, 16), (10**12, 1000)])
def test_t8_is_fanos_inequality(entities: int, relations: int, error: Fraction) -> None:
    with mpmath.workdps(60):
        e = mpmath.mpf(error.numerator) / error.denominator
        entropy = -(e * mpmath.log(e, 2) + (1 - e) * mpmath.log(1 - e, 2))
        left_open = entropy + e * mpmath.log(entities - 1, 2)
        universal = relations * (mpmath.log(entities, 2) - left_open)
        every = relations * (mpmath.loggamma(entities + 1) / mpmath.log(2) - entities * left_open)
        if error >= 1 - Fraction(1, entities):
            universal = every = mpmath.mpf(0)
        for bound, expected in (
            (universal_with_errors(entities, relations, error), universal),
            (total_information_with_errors(entities, relations, error), max(every, 0)),
        ):
            ball = bound.information.interval()
            middle = mpmath.mpf(ball.low.numerator) / ball.low.denominator
            assert abs(middle - expected) < mpmath.mpf(10) ** -20
            assert ball.low >= -Fraction(1, 2**60)


@given(**sizes)
def test_t8_without_errors_is_t1c(entities: int, relations: int, hops: int) -> None:
    zero = Fraction(0)
    assert universal_with_errors(entities, relations, zero).information == log2(entities, relations)
    whole = total_information_with_errors(entities, relations, zero).information
    assert whole == total_information(entities, relations).information
    one_hop = universal_hops_with_errors(entities, relations, 1, Fraction(1, 9)).information
    assert sign(one_hop - universal_with_errors(entities, relations, Fraction(1, 9)).information) == 0


def test_t8_holds_for_the_best_code() -> None:
    found = list(check_guessing(codes=351))
    assert all(each.holds for each in found)
    # At most five messages, 81 vectors and C(27, 2) codes. Vectors: 2, 4, 8, 16 (2 + 4 + 5 + 2 codes), 3, 9, 27, 81
    # (3 + 5 + 2 + 1) and 4, 16, 64 (4 + 2 + 1); tables: 4, 16, 64 (4 + 2 + 1) and 27 (2).
    assert Counter(each.bound.shared for each in found) == {0: 31, 1: 9}
    exact = universal_guessing(2, 2, 4)
    assert exact.error == 0
    assert not replace(exact, bound=universal_with_errors(3, 2, Fraction(0))).holds
    assert universal_guessing(2, 3, 2).error == arbitrary_guessing(2, 3, 2).error == Fraction(1, 4)


@pytest.mark.parametrize(("entities", "relations", "value"), [(3, 3, 1), (5, 5, 6), (9, 3, 7), (9, 12, 28)])
def test_t8_recognises_an_exact_integer(entities: int, relations: int, value: int) -> None:
    bound = universal_with_errors(entities, relations, Fraction(1, entities))
    assert bound.value == value
    assert bound.smallest_dimension(1) == value


@given(
    entities=st.integers(2, 60), relations=st.integers(1, 4), hops=st.integers(1, 3), steps=st.lists(st.fractions(0, 1))
)
def test_t8_falls_with_the_error_rate(entities: int, relations: int, hops: int, steps: list[Fraction]) -> None:
    rates = sorted({step for step in steps if step < 1})
    for make in (
        lambda e: universal_with_errors(entities, relations, e),
        lambda e: total_information_with_errors(entities, relations, e),
        lambda e: universal_hops_with_errors(entities, relations, hops, e),
    ):
        values = [make(rate).information for rate in rates]
        assert all(sign(low - high) >= 0 for low, high in pairwise(values))
        assert all(sign(value) >= 0 for value in values)


@given(entities=st.integers(2, 10**6), relations=st.integers(2, 6), hops=st.integers(1, 5))
def test_t2d_lies_between_its_limits(entities: int, relations: int, hops: int) -> None:
    bound = universal_hops(entities, relations, hops)
    assert sign(log2(entities, relations**hops) - bound.information) >= 0
    if nodes(relations, hops) <= entities:
        lower = log2(entities, relations**hops) - constant(relations**hops)
        assert sign(bound.information - lower) >= 0
    assert sign(bound.information - strongest_for_dimension(fixed_readout(entities, relations, hops)).information) >= 0
    width = universal_width(entities, relations, hops)
    assert (width.rows, width.shared, width.units) == (0, 0, 1)
    assert width.smallest_width(3) == bound.smallest_dimension(3)


EXACT = [
    (5, 2, 2), (7, 3, 2), (11, 2, 3), (50, 2, 4), (3, 2, 2), (2, 3, 2),
]  # fmt: skip


@pytest.mark.parametrize(("entities", "relations", "hops"), EXACT)
def test_t2d_is_the_exact_count_and_says_so(entities: int, relations: int, hops: int) -> None:
    bound = universal_hops(entities, relations, hops)
    count = answer_vectors(entities, relations, hops)
    assert count.kind == "exact"
    assert bound.information == log2(count.value)
    assert "exactly" in bound.argument


@pytest.mark.parametrize(("entities", "relations", "hops"), [(4096, 16, 4), (10**12, 1000, 2), (20, 3, 4), (6, 2, 9)])
def test_t2d_from_below_says_so(entities: int, relations: int, hops: int) -> None:
    assert universal_hops(entities, relations, hops).argument.startswith("T_k from below")


@pytest.mark.parametrize("relations", [2, 3])
def test_t2_meets_t2d_as_entities_grow(relations: int) -> None:
    ratios = [
        universal_hops(2**power, relations, 3).information.times(Fraction(1, power * relations**3)).interval().low
        for power in (8, 16, 32)
    ]
    assert ratios == sorted(ratios)
    assert 1 - ratios[-1] < Fraction(1, 10**6)


@given(power=st.integers(1, 40), relations=st.integers(1, 50), data=st.data())
def test_t1b_has_no_gap_where_bits_divide(power: int, relations: int, data: st.DataObject) -> None:
    bits = data.draw(st.sampled_from([b for b in range(1, power + 1) if power % b == 0]))
    assert universal_single_hop(2**power, relations).smallest_dimension(bits) == relations * (power // bits)


def test_any_chain_is_the_dichotomy_of_its_longest_step() -> None:
    for step in (2, 3):
        for readout, one_pass in (("fixed", fixed_readout), ("learned", learned_readout)):
            chain = smallest_dimension(any_chain(4096, 4, step, readout), 1)
            direct = smallest_dimension(one_pass(4096, 4, step), 1)
            assert Fraction(9, 10) * direct <= chain <= direct or (readout == "learned" and 2 * chain >= direct)
    assert smallest_dimension(honest_chain(4096, 4, [1, 2, 3]), 1) == 48
    assert smallest_dimension(honest_chain(4096, 4, [64]), 1) >= smallest_dimension(any_chain(4096, 4, 5), 1)


HUGE = (10**12, 1000, 64)


@pytest.mark.parametrize(
    "family",
    [fixed_readout(*HUGE), learned_readout(*HUGE), learned_readout(*HUGE, tied=True), involutions(*HUGE)]
    + [honest_chain(HUGE[0], HUGE[1], evenly_spaced(64, 3), readout) for readout in ("fixed", "tied")],
)
def test_the_largest_sizes_are_enclosed(family: BoundFamily) -> None:
    for bound in (strongest_for_dimension(family), strongest_for_shared_bits(family, 10**6)):
        value = bound.value
        assert isinstance(value, Interval)
        assert 0 < value.low < value.high < value.low + Fraction(1, 2**40)
        with mpmath.workdps(60):
            low = mpmath.mpf(value.low.numerator) / value.low.denominator
            assert abs(mpmath_value(bound.information) - low) < mpmath.mpf(10) ** -9


def mpmath_value(number: Logarithm) -> mpmath.mpf:
    """The number by log-gamma, at the precision in force."""
    total = mpmath.mpf(0)
    for c, top, length in number.terms:
        factor = mpmath.mpf(c.numerator) / c.denominator
        total += factor * (mpmath.loggamma(top + 1) - mpmath.loggamma(top - length + 1))
    return total / mpmath.log(2)


def test_the_largest_trees_agree_with_mpmath() -> None:
    bound = tree_bound(10**12, 1000, 4, 900)
    inner, last = 900 * (1 + 1000 + 1000**2), 900 * 1000**3
    with mpmath.workdps(60):
        top = 10**12 - inner
        expected = 1000 * (mpmath.loggamma(top + 1) - mpmath.loggamma(top - last + 1)) / mpmath.log(2)
        assert abs(mpmath_value(bound.information) - expected) < mpmath.mpf(10) ** -30
    assert bound.smallest_dimension(7) == int(mpmath.ceil(expected / (900 * 7)))


def test_the_first_step_of_a_chain_has_the_trees_of_that_many_hops() -> None:
    chain, first = honest_chain(100, 3, [2, 5], "learned"), full_bound(100, 3, 2, most_full_roots(100, 3, 2))
    assert "the first step takes 2 hops" in chain.members[-1].argument
    assert (chain.members[-1].information, chain.members[-1].rows) == (first.information, first.rows)


@pytest.mark.parametrize(
    ("hops", "stride", "prefixes"),
    [(7, 3, (1, 4, 7)), (6, 3, (3, 6)), (3, 1, (1, 2, 3)), (2, 5, (2,)), (5, 2, (1, 3, 5))],
)
def test_evenly_spaced_tokens_take_what_is_left_over_first(hops: int, stride: int, prefixes: tuple[int, ...]) -> None:
    assert evenly_spaced(hops, stride) == prefixes


def test_sizes_are_accepted_up_to_their_limits() -> None:
    check_sizes(10**15, 10**4, 1000)
    check_sizes(2, 1, 1)
    for sizes in ((10**15 + 1, 1, 1), (2, 10**4 + 1, 1), (2, 1, 1001)):
        with pytest.raises(InputError, match="must be at most"):
            check_sizes(*sizes)


def test_t2d_of_one_hop_is_t1c() -> None:
    for entities, relations in ((7, 2), (10**12, 1000)):
        bound = universal_hops(entities, relations, 1)
        assert bound.argument == "T_1 = N^R"
        assert bound.information == universal_single_hop(entities, relations).information


def test_t2d_is_exact_where_that_takes_no_longer_than_a_moment() -> None:
    # k·R^(2k-2) = 7·2^12 terms are evaluated, 8·2^14 are not; there the last of them, all of one sign, are kept.
    assert "exactly" in universal_hops(1000, 2, 7).argument
    bound = universal_hops(10**6, 2, 8)
    assert bound.argument.endswith("the last term of the formula of T2d")
    assert sign(bound.information - log2(perm(10**6, 2**7), 2)) == 0
    # Of few systems all are searched: 7! and 5!^2, and not 8! or 6!^2.
    sizes = [(7, 1), (8, 1), (5, 2), (6, 2), (3, 5), (3, 6), (2, 14), (2, 15)]
    assert [_few_systems(*each) for each in sizes] == [True, False, True, False, True, False, True, False]


def test_t9_of_one_relation_and_of_trees_that_do_not_fit() -> None:
    # One matching pairs 10 entities: 5 roots fit, words of one letter are all that are reduced.
    assert [each.last for each in involutions(10, 1, 3).ranges if each.last] == [5]
    assert strongest_for_dimension(involutions(10, 1, 3)).information == log2(9)
    assert not any(each.last for each in involutions(10, 1, 2).ranges)
    for hops in (1, 2, 3):
        assert pruned_bound(4, 1, hops).information == Logarithm()
    assert pruned_bound(2, 3, 2).information == Logarithm()
    # Reduced words of two relations: trees of 5 hops have 9 + 1 nodes, those of 3 hops 5 + 1.
    assert involutions(6, 2, 5).members[1] == pruned_bound(6, 2, 5)
    assert involutions(8, 2, 5).members[1] == pruned_bound(8, 2, 5)
    assert len(involutions(10, 2, 5).members) == 1


def test_t9_with_a_pruned_tree_by_hand() -> None:
    """R = 3, k = 3: the tree has 1 + 3 + 6 nodes, and pruned to four leaves 1 + 2 + 4, of N = 12 with four answers."""
    assert sign(pruned_bound(100, 3, 3).information - log2(perm(90, 6), 2)) == 0
    assert sign(pruned_bound(12, 3, 3).information - log2(perm(5, 4), 2)) == 0
    assert pruned_bound(12, 3, 3).argument == "a tree of 3 hops with ℓ = 4 leaves"
    # R = 4, k = 3: 1 + 4 + 12 nodes.
    assert sign(pruned_bound(100, 4, 3).information - log2(perm(83, 12), 3)) == 0


def test_no_more_trees_are_taken_than_fit() -> None:
    # R = 3, k = 2: 1 + 3 nodes and 2 answers a root.
    assert most_roots(20, 3, 2) == 3
    involution_bound(20, 3, 2, 3)
    with pytest.raises(InputError, match="4 trees of reduced words of 2 hops do not fit 20 entities; at most 3 do"):
        involution_bound(20, 3, 2, 4)


def test_long_words_and_hops_with_errors_are_their_formulas() -> None:
    bound = long_words(12, 3, 12)
    assert (bound.rows, bound.shared) == (1, 1)
    assert sign(bound.information - log2(factorial(12) ** 3 * 8) + log2(12**2)) == 0
    # N = 20, R = 2, k = 2: π = (19)_2 / 20^2, and four queries are answered from each row.
    bound, error = universal_hops_with_errors(20, 2, 2, Fraction(1, 100)), 0.01
    entropy = -error * log(error, 2) - (1 - error) * log(1 - error, 2)
    expected = (19 * 18 / 400) * 2 * log(19 * 18, 2) - 4 * (entropy + error * log(19, 2))
    assert (bound.rows, bound.shared) == (1, 0)
    assert float(bound.information.interval().low) == pytest.approx(expected, abs=1e-9)


def test_long_words_leave_nothing_but_log_n() -> None:
    for entities, relations in ((5, 2), (12, 3), (200, 2)):
        gap = log2(factorial(entities), relations) - long_words(entities, relations, entities).information
        assert sign(gap) > 0
        assert sign(gap - log2(entities, 1) - constant(3)) <= 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: universal_single_hop(1, 2), "entities must be a whole number of at least 2"),
        (lambda: universal_single_hop(4, 0), "relations must be a whole number of at least 1"),
        (lambda: universal_hops(4, 2, 0), "hops must be a whole number of at least 1"),
        (lambda: fixed_readout(4, 2.5, 1), "relations must be a whole number"),
        (lambda: fixed_readout(10**20, 2, 1), "entities must be at most"),
        (lambda: universal_single_hop(4, 10**400), "relations must be at most"),
        (lambda: learned_readout(4, 2, 10**6), "hops must be at most"),
        (lambda: tree_bound(6, 2, 3, 1), "do not fit 6 entities"),
        (lambda: tree_bound(1, 2, 1, 1), "entities must be"),
        (lambda: tree_bound(6, 2, 2, 0), "roots must be"),
        (lambda: tree_bound(6, 2, 2, 3), "at most 2 do"),
        (lambda: loop_bound(1, 2, 2, 1, 1, 1), "entities must be"),
        (lambda: loop_bound(6, 2, 3, 0, 1, 1), "roots must be"),
        (lambda: loop_bound(6, 2, 3, 1, 0, 1), "branching must be"),
        (lambda: loop_bound(6, 2, 3, 1, 1, 0), "expanded must be"),
        (lambda: loop_bound(6, 1, 3, 1, 1, 1), "loops need R >= 2"),
        (lambda: loop_bound(6, 2, 3, 1, 3, 1), "loops need R >= 2, D <= R"),
        (lambda: full_bound(9, 2, 3, 0), "roots must be"),
        (lambda: odd_loop_bound(6, 1, 3, 1), "loops need R >= 2"),
        (lambda: odd_loop_bound(6, 2, 3, 0), "roots must be"),
        (lambda: odd_loop_bound(6, 2, 3, 7), "at most 6 roots"),
        (lambda: even_loop_bound(6, 2, 2, 3), "at most 2 roots"),
        (lambda: even_loop_bound(6, 2, 1, 1), "at most 0 roots"),
        (lambda: loop_bound(6, 2, 3, 1, 2, 3), r"E <= D\^\(k-2\)"),
        (lambda: loop_bound(6, 2, 3, 3, 2, 2), "do not fit 6 entities"),
        (lambda: full_bound(4, 2, 3, 1), "do not fit 4 entities"),
        (lambda: involutions(5, 2, 1), "even number of entities"),
        (lambda: honest_chain(8, 2, []), "prefix lengths"),
        (lambda: honest_chain(8, 2, [2, 2]), "prefix lengths"),
        (lambda: honest_chain(8, 2, [0, 2]), "prefix lengths"),
        (lambda: universal_hops(1, 2, 1), "entities must be"),
        (lambda: universal_hops_with_errors(4, 2, 0, Fraction(1, 9)), "hops must be"),
        (lambda: universal_with_errors(1, 2, Fraction(1, 9)), "entities must be"),
        (lambda: universal_with_errors(4, 0, Fraction(1, 9)), "relations must be"),
        (lambda: total_information_with_errors(4, 0, Fraction(1, 9)), "relations must be"),
        (lambda: total_information(4, 2).smallest_shared_bits(0, 1), "bits must be"),
        (lambda: chain_bound(8, 2, [1, 2], 2, 1), "step 2"),
        (lambda: total_information(4, 2, "frozen"), "read-out must be one of fixed, learned, tied"),
        (lambda: universal_with_errors(4, 2, Fraction(1)), "error rate"),
        (lambda: universal_with_errors(4, 2, 0.01), "error rate"),
        (lambda: universal_single_hop(4, 2).smallest_shared_bits(1, 1), "which B is no part of"),
        (lambda: universal_single_hop(4, 2).smallest_width(1), "which W·b_h is no part of"),
        (lambda: universal_single_hop(4, 2).smallest_dimension(0), "bits must be"),
        (lambda: total_information(4, 2).smallest_dimension(1, -1), "shared bits must be"),
    ],
)
def test_bad_input_gets_one_clear_line(call: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        call()
    assert "\n" not in str(error.value)


def test_left_sides_are_spelt_out() -> None:
    assert total_information(7, 2).left_side == "B + 7·d·b"
    assert universal_single_hop(7, 2).left_side == "d·b"
    assert universal_width(7, 2, 1).left_side == "W·b_h"
    assert most_expanded(1, 2) == 0


@pytest.mark.parametrize(("entities", "hops"), [(10, 20), (10, 10), (3, 1000), (999, 1000), (2, 3)])
def test_one_relation_leaves_every_entity_possible_unless_all_cycles_close(entities: int, hops: int) -> None:
    assert universal_hops(entities, 1, hops).information == log2(entities)


def test_one_relation_says_nothing_where_every_cycle_closes() -> None:
    assert universal_hops(3, 1, 6).value == universal_hops(2, 1, 2).value == 0
