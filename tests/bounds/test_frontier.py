"""`bounds.lower.frontier`: the strongest member of a family, and the envelope of all of them, against all members."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bounds.enclosure import Logarithm, ceiling, constant, sign
from bounds.lower.bound import Bound
from bounds.lower.chains import evenly_spaced, honest_chain
from bounds.lower.dichotomy import fixed_readout, most_tree_roots, tree_bound
from bounds.lower.frontier import (
    BoundFamily,
    Corner,
    frontier,
    smallest_dimension,
    smallest_shared_bits,
    spaced,
    strongest_for_dimension,
)
from bounds.lower.information import universal_single_hop
from bounds.lower.involutions import involutions
from bounds.lower.learned_readout import learned_readout
from theory.errors import InputError
from theory.records.work import largest

sizes = {"entities": st.integers(2, 40), "relations": st.integers(1, 5), "hops": st.integers(1, 6)}


def members(family: BoundFamily) -> list[Bound]:
    return [*family.members, *(each.at(m) for each in family.ranges for m in range(1, each.last + 1))]


def test_one_root_is_the_best_for_the_dimension_alone() -> None:
    for entities, relations, hops in ((40, 2, 2), (60, 3, 2), (50, 2, 4), (30, 1, 3)):
        per_root = [
            tree_bound(entities, relations, hops, m).information.times(Fraction(1, m))
            for m in range(1, most_tree_roots(entities, relations, hops) + 1)
        ]
        assert all(sign(a - b) >= 0 for a, b in pairwise(per_root))


@given(**sizes, shared_bits=st.integers(0, 400), bits=st.integers(1, 4))
def test_families_are_optimised_over_all_their_members(
    entities: int, relations: int, hops: int, shared_bits: int, bits: int
) -> None:
    dimension = shared_bits % 30
    for family in (
        fixed_readout(entities, relations, hops),
        learned_readout(entities, relations, hops),
        honest_chain(entities, relations, evenly_spaced(hops, min(hops, 2))),
        honest_chain(entities, relations, evenly_spaced(hops, min(hops, 2)), "learned"),
        involutions(2 * entities, relations, hops),
    ):
        every = members(family)
        assert smallest_dimension(family, bits, shared_bits) == max(
            b.smallest_dimension(bits, shared_bits) for b in every
        )
        best = max(b.smallest_shared_bits(bits, dimension) for b in every)
        assert smallest_shared_bits(family, bits, dimension) == best


@given(**sizes)
def test_more_bits_never_need_more_dimension(entities: int, relations: int, hops: int) -> None:
    for family in (fixed_readout(entities, relations, hops), learned_readout(entities, relations, hops, tied=True)):
        by_bits = [smallest_dimension(family, bits) for bits in range(1, 6)]
        by_shared = [smallest_dimension(family, 1, shared) for shared in (0, 3, 50, 10**6)]
        assert by_bits == sorted(by_bits, reverse=True)
        assert by_shared == sorted(by_shared, reverse=True)
        assert by_shared[-1] == 0


@given(**sizes)
def test_a_learned_readout_never_needs_more_than_a_fixed_one_and_tied_rows_count_once(
    entities: int, relations: int, hops: int
) -> None:
    learned = strongest_for_dimension(learned_readout(entities, relations, hops))
    tied = strongest_for_dimension(learned_readout(entities, relations, hops, tied=True))
    assert (
        sign(tied.information.times(Fraction(1, tied.rows)) - learned.information.times(Fraction(1, learned.rows))) >= 0
    )


FAMILIES = [
    fixed_readout(24, 2, 2),
    fixed_readout(40, 1, 3),
    fixed_readout(20, 3, 4),
    learned_readout(30, 2, 3),
    learned_readout(25, 3, 2, tied=True),
    honest_chain(40, 2, (1, 3)),
    involutions(30, 3, 2),
]


@pytest.mark.parametrize("family", FAMILIES)
def test_corners_satisfy_every_bound_and_lie_on_two(family: BoundFamily) -> None:
    corners = frontier(family)
    for corner in corners:
        for bound in members(family):
            assert sign(slack(corner, bound)) >= 0
        for bound in (corner.before, corner.after):
            assert bound is None or sign(slack(corner, bound)) == 0
    assert corners[0].before is None
    assert corners[-1].after is None
    for left, right in pairwise(corners):
        assert left.after == right.before
        assert sign(right.dimension_bits - left.dimension_bits) > 0
        assert sign(right.shared_bits - left.shared_bits) < 0


@pytest.mark.parametrize("family", FAMILIES)
def test_the_envelope_is_the_smallest_b_at_every_d(family: BoundFamily) -> None:
    corners = frontier(family)
    last = ceiling(corners[-1].dimension_bits)
    for dimension in range(last + 2):
        assert ceiling(envelope(corners, dimension)) == smallest_shared_bits(family, 1, dimension)
    assert smallest_dimension(family, 1) == last


@pytest.mark.parametrize("family", FAMILIES)
def test_a_sparse_frontier_is_a_lower_bound(family: BoundFamily) -> None:
    full, sparse = frontier(family), frontier(family, points=3)
    assert len(sparse) <= len(full)
    for dimension in range(ceiling(full[-1].dimension_bits) + 1):
        assert sign(envelope(full, dimension) - envelope(sparse, dimension)) >= 0


def test_a_line_that_only_touches_the_envelope_is_no_part_of_it() -> None:
    lines = [Bound("", rows, 1, constant(rows + 1), "", ()) for rows in (1, 2, 3)]  # all meet at y = 1, B = 1
    corners = frontier(BoundFamily(tuple(lines)))
    assert [each.before and each.before.rows for each in corners] == [None, 3, 1]


def test_a_range_of_64_is_used_whole() -> None:
    assert frontier(fixed_readout(64, 1, 1)) == frontier(fixed_readout(64, 1, 1), points=1000)


def test_a_missing_member_is_noticed() -> None:
    family = fixed_readout(24, 2, 2)
    corners = frontier(family)
    binding = corners[1].before
    assert binding is not None
    rest = BoundFamily(tuple(bound for bound in members(family) if bound.rows != binding.rows))
    assert sign(envelope(corners, 0) - envelope(frontier(rest), 0)) > 0
    false = replace(binding, information=binding.information + constant(1))
    assert sign(slack(corners[1], false)) < 0


def test_the_largest_sizes_have_a_frontier() -> None:
    corners = frontier(fixed_readout(10**12, 1000, 2))
    assert len(corners) > 50
    for left, right in pairwise(corners):
        assert sign(right.dimension_bits - left.dimension_bits) > 0
        assert sign(right.shared_bits - left.shared_bits) < 0


def slack(corner: Corner, bound: Bound) -> Logarithm:
    return corner.shared_bits + corner.dimension_bits.times(bound.rows) - bound.information


def envelope(corners: tuple[Corner, ...], dimension: int) -> Logarithm:
    """B at d·b = dimension on the piecewise linear curve through the corners, 0 beyond the last."""
    for corner in corners:
        if corner.before is not None and sign(corner.dimension_bits - constant(dimension)) >= 0:
            return corner.before.information - constant(corner.before.rows * dimension)
    return Logarithm()


@given(last=st.integers(0, 10**13), points=st.integers(2, 90))
def test_spaced_numbers_increase_and_hold_both_ends(last: int, points: int) -> None:
    numbers = spaced(last, points)
    assert len(numbers) <= points
    assert all(after > before for before, after in pairwise(numbers))
    if last:
        assert (numbers[0], numbers[-1]) == (1, last)
    if last <= points:
        assert numbers == list(range(1, last + 1))


@given(limit=st.integers(0, 100), fits=st.integers(0, 100))
def test_largest_is_found_by_bisection(limit: int, fits: int) -> None:
    assert largest(limit, lambda value: value <= fits) == min(limit, fits)


def test_a_frontier_needs_shared_bits_and_points() -> None:
    with pytest.raises(InputError, match="needs B on the left side"):
        frontier(BoundFamily((universal_single_hop(4, 2),)))
    with pytest.raises(InputError, match="points must be"):
        frontier(fixed_readout(4, 2, 1), points=1)
