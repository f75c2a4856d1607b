"""The strongest of many bounds, and the whole region of (d, B) that they leave.

A theorem that holds for every number m of roots gives one inequality f(m) <= B + rows(m)·y for each, y = d·b. All are
sound; together they leave the region above their upper envelope, a convex, decreasing, piecewise linear curve.

*One m by bisection.* Let f be concave and rows(m) = c·m, or constant. For given y, m ↦ f(m) - rows(m)·y is concave.
For given B >= 0, (f(m) - B)/(c·m) rises and then falls, since with h(m) = (m+1)·f(m) - m·f(m+1) the step from m to m+1
improves iff h(m) < B, and h(m) - h(m-1) = m·(2f(m) - f(m-1) - f(m+1)) >= 0. So the best m of 1..largest is found by
bisection on the sign of one step, exactly; no m is worse than sound.

*Concavity.* Every f used here is a sum, with coefficients >= 0, of log2 (N-am)_{lm} = log2 Γ(N-am+1) - log2 Γ(N-cm+1),
c = a + l >= a >= 0. Its second derivative is, up to the factor ln 2, a²ψ'(N-am+1) - c²ψ'(N-cm+1) <= 0, because ψ' is
positive and decreasing. ∎
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from bounds.enclosure import Logarithm, constant, exceeds, sign
from bounds.lower.bound import Bound
from theory.definitions.fact_system import check_count
from theory.errors import InputError


@dataclass(frozen=True)
class Range:
    """Bounds at(1) … at(last), concave in their number as the module's head demands; none if last is 0."""

    at: Callable[[int], Bound]
    last: int


@dataclass(frozen=True)
class BoundFamily:
    """Bounds that all hold: single ones, and ranges too long to list. Never empty."""

    members: tuple[Bound, ...] = ()
    ranges: tuple[Range, ...] = ()


@dataclass(frozen=True)
class Corner:
    """A corner of the frontier, d·b = dimension_bits and B = shared_bits: `before` binds left of it, `after` right.

    The frontier begins on the axis y = 0 (before is None) and ends on B = 0 (after is None).
    """

    dimension_bits: Logarithm
    shared_bits: Logarithm
    before: Bound | None
    after: Bound | None


def strongest_for_dimension(family: BoundFamily, shared_bits: int = 0) -> Bound:
    """The member that asks for the largest d·b when B = shared_bits."""
    return _strongest(family, lambda bound: _dimension_bits(bound, shared_bits))


def strongest_for_shared_bits(family: BoundFamily, dimension_bits: int) -> Bound:
    """The member that asks for the largest B when d·b = dimension_bits."""
    return _strongest(family, lambda bound: bound.information - constant(bound.rows * dimension_bits))


def smallest_dimension(family: BoundFamily, bits: int, shared_bits: int = 0) -> int:
    """The smallest integer d >= 0 that every member admits with b-bit entries and B = shared_bits."""
    check_count("shared bits", shared_bits, at_least=0)
    return strongest_for_dimension(family, shared_bits).smallest_dimension(bits, shared_bits)


def smallest_shared_bits(family: BoundFamily, bits: int, dimension: int) -> int:
    """The smallest integer B >= 0 that every member admits at dimension d with b-bit entries."""
    check_count("bits", bits)
    check_count("dimension", dimension, at_least=0)
    return strongest_for_shared_bits(family, bits * dimension).smallest_shared_bits(bits, dimension)


def frontier(family: BoundFamily, points: int = 64) -> tuple[Corner, ...]:
    """The corners of the envelope from y = 0 to B = 0, y = d·b increasing.

    A range of at most `points` bounds is used whole, and the result is exact. Of a longer one, geometrically spaced
    members with both ends are: the curve is then a sound lower bound that touches the true one along the members used.
    """
    check_count("points", points, at_least=2)
    lines = _steepest_first([*family.members, *(r.at(m) for r in family.ranges for m in spaced(r.last, points))])
    hull: list[Bound] = []
    for line in lines:
        # The last line of the hull is hidden when the new one meets its predecessor no later than it does.
        while len(hull) > 1 and _later(_meeting(hull[-2], hull[-1]), _meeting(hull[-1], line)):
            hull.pop()
        hull.append(line)
    while len(hull) > 1 and sign(_meeting(hull[0], hull[1])) <= 0:
        del hull[0]
    while len(hull) > 1 and sign(_shared_bits(hull[-2], _meeting(hull[-2], hull[-1]))) <= 0:
        hull.pop()
    corners = [Corner(Logarithm(), hull[0].information, None, hull[0])]
    for before, after in pairwise(hull):
        meeting = _meeting(before, after)
        corners.append(Corner(meeting, _shared_bits(before, meeting), before, after))
    return (*corners, Corner(_dimension_bits(hull[-1], 0), Logarithm(), hull[-1], None))


def spaced(largest: int, points: int) -> list[int]:
    """1..largest if these are at most `points` numbers, else at most so many, geometrically spaced, with both ends."""
    if largest <= points:
        return list(range(1, largest + 1))
    chosen = [1]
    for left in range(points - 1, 0, -1):
        # The ratio that would take the last number to `largest` in the steps left; at least one step up.
        step = round(chosen[-1] * (largest / chosen[-1]) ** (1 / left))
        chosen.append(min(largest, max(chosen[-1] + 1, step)))
    return chosen


def _strongest(family: BoundFamily, objective: Callable[[Bound], Logarithm]) -> Bound:
    candidates = list(family.members)
    candidates += [_peak(members, objective) for members in family.ranges if members.last]
    best, best_value = candidates[0], objective(candidates[0])
    for bound in candidates[1:]:
        value = objective(bound)
        if exceeds(value, best_value):
            best, best_value = bound, value
    return best


def _peak(members: Range, objective: Callable[[Bound], Logarithm]) -> Bound:
    """The member at which the objective stops rising, by bisection on the sign of one step."""
    low, high = 1, members.last
    while low < high:
        middle = (low + high) // 2
        if exceeds(objective(members.at(middle + 1)), objective(members.at(middle))):
            low = middle + 1
        else:
            high = middle
    return members.at(low)


def _dimension_bits(bound: Bound, shared_bits: int) -> Logarithm:
    return (bound.information - constant(bound.shared * shared_bits)).times(Fraction(1, bound.rows))


def _shared_bits(bound: Bound, dimension_bits: Logarithm) -> Logarithm:
    return bound.information - dimension_bits.times(bound.rows)


def _steepest_first(bounds: list[Bound]) -> list[Bound]:
    """One bound for each number of rows, the strongest, the largest number first."""
    strongest: dict[int, Bound] = {}
    for bound in bounds:
        if bound.shared != 1:
            raise InputError(f"{bound.theorem} bounds {bound.left_side}: a frontier in (d, B) needs B on the left side")
        known = strongest.get(bound.rows)
        if known is None or exceeds(bound.information, known.information):
            strongest[bound.rows] = bound
    return [strongest[rows] for rows in sorted(strongest, reverse=True)]


def _meeting(steep: Bound, flat: Bound) -> Logarithm:
    """The y = d·b at which the two lines B = information - rows·y meet."""
    return (steep.information - flat.information).times(Fraction(1, steep.rows - flat.rows))


def _later(first: Logarithm, second: Logarithm) -> bool:
    return sign(first - second) >= 0
