"""Fractions plus balls: rational parts stay exact, the rest is enclosed, and bounds are handed out rounded outwards."""

from __future__ import annotations

from fractions import Fraction

import flint
import mpmath
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from constructions.verification.balls import (
    FINEST,
    LARGEST,
    NOTHING,
    SIGNIFICANT,
    Real,
    RealMatrix,
    Undecided,
    bounds,
    bounds_of_least,
    hardmax,
    index_of_largest,
    ones,
    rational,
    softmax,
)

fractions = st.fractions(-(10**6), 10**6, max_denominator=10**6)
ZERO = flint.arb(0)
AT_MOST_0 = flint.arb(-1, 1) - flint.arb(-1, 1).upper()  # A ball whose upper end is 0: it may be 0.


def exactly(value: Fraction | int) -> Real:
    return Real(rational(Fraction(value)), ZERO)


def about(value: float, radius: float) -> Real:
    """A number known up to a radius, with a rational part of its own."""
    return Real(rational(Fraction(1, 3)), flint.arb(value, radius) - flint.fmpq(1, 3))


def as_fraction(number: Real) -> Fraction:
    assert number.rest.is_zero()
    return Fraction(int(number.exact.p), int(number.exact.q))


@given(fractions, fractions)
def test_rational_numbers_are_never_rounded(a: Fraction, b: Fraction) -> None:
    assert as_fraction(exactly(a) - exactly(b)) == a - b
    assert as_fraction(exactly(a).positive_part()) == max(a, 0)
    assert bounds_of_least([exactly(a), exactly(b)]) == (min(a, b), min(a, b))
    for ball, value in ((exactly(a).ball, a), ((exactly(a) - exactly(b)).ball, a - b)):
        assert (ball > 0, ball < 0, ball.is_zero()) == (value > 0, value < 0, value == 0)


@pytest.mark.parametrize(
    "value", [3, True, 0.1, np.float64(0.1), np.longdouble(1) / 3, Fraction(1, 3), 10**400, 5e-324]
)
def test_weights_are_the_fractions_that_they_are(value: object) -> None:
    p, q = value.as_integer_ratio()  # type: ignore[attr-defined]
    assert rational(value) == flint.fmpq(p, q)


def test_the_rest_survives_beside_the_rational_part() -> None:
    tiny = flint.arb(-(10**9)).exp()
    one = Real(rational(1), tiny)
    assert (one - exactly(1)).ball > 0
    assert (exactly(1) - one).ball < 0
    assert (exactly(1) - one).positive_part() == NOTHING
    assert (one - exactly(1)).positive_part().ball > 0
    assert bounds(one.ball)[0] < 1 <= bounds(one.ball)[1]  # type: ignore[operator]


def test_relu_of_what_may_be_either_lies_between_zero_and_the_upper_end() -> None:
    part = about(0.25, 0.5).positive_part()
    low, high = bounds(part.ball)
    assert low is not None
    assert high is not None
    assert low <= 0
    assert Fraction(3, 4) <= high < Fraction(4, 5)
    above = about(0.75, 0.5)
    assert above.positive_part() is above
    assert about(-0.75, 0.5).positive_part() == NOTHING


numbers = st.tuples(fractions, fractions, st.sampled_from([Fraction(0), Fraction(1, 3), Fraction(2)]))


@given(st.lists(numbers, min_size=4, max_size=4), st.lists(numbers, min_size=4, max_size=4))
def test_matrices_contain_what_their_entries_can_be(
    left: list[tuple[Fraction, ...]], right: list[tuple[Fraction, ...]]
) -> None:
    """Whatever is chosen within the balls, sums, differences and products contain the result for it."""

    def matrix(entries: list[tuple[Fraction, ...]]) -> RealMatrix:
        parts = [Real(rational(e), flint.arb(rational(m), rational(r))) for e, m, r in entries]
        return RealMatrix.of_numbers(2, 2, parts)

    a, b = matrix(left), matrix(right)
    for end in (-1, 0, 1):
        x, y = ([e + m + end * r for e, m, r in entries] for entries in (left, right))
        product = [
            x[0] * y[0] + x[1] * y[2],
            x[0] * y[1] + x[1] * y[3],
            x[2] * y[0] + x[3] * y[2],
            x[2] * y[1] + x[3] * y[3],
        ]
        for found, wanted in (
            (a + b, [p + q for p, q in zip(x, y, strict=True)]),
            (a - b, [p - q for p, q in zip(x, y, strict=True)]),
            (a * b, product),
            (a.transpose(), [x[0], x[2], x[1], x[3]]),
            (a.positive_part(), [max(p, Fraction(0)) for p in x]),
            (a.column(1) * ones(1, 2), [x[1], x[1], x[3], x[3]]),
            (a.last(), x[2:]),
        ):
            for number, value in zip(found.numbers(), wanted, strict=True):
                assert (number.ball - rational(value)).contains(0)
        for number, value in zip(a.row(1), x[2:], strict=True):
            assert (number.ball - rational(value)).contains(0)


def test_matrices_of_rational_numbers_have_no_balls() -> None:
    a = RealMatrix.of_weights(np.array([[0.5, 3], [1, -2]]))
    assert (a * a + a - ones(2, 2)).rest is None
    assert [as_fraction(number) for number in (a * a).numbers()] == [
        Fraction(13, 4),
        Fraction(-9, 2),
        Fraction(-3, 2),
        7,
    ]
    widened = RealMatrix.of_weights(np.array([[0.5]]), np.array([[0.25]]))
    assert widened.numbers()[0].ball.contains(flint.arb(0.75))
    assert not widened.numbers()[0].ball.contains(flint.arb(0.76))


def test_the_largest_is_the_first_of_them() -> None:
    values = [3, 5, 10**400, 10**400 + 1, 10**400 + 1, 7]
    assert index_of_largest([exactly(value) for value in values]) == 3
    assert index_of_largest([exactly(0)]) == 0
    assert index_of_largest([about(1, 0.5), about(2, 0.5), about(1.5, 0.5)]) == 1


def test_hardmax_shares_equally_and_gives_up_when_it_is_not_certain() -> None:
    scores = [exactly(v) for v in (1, Fraction(7, 3), -5, Fraction(7, 3))]
    assert [as_fraction(weight) for weight in hardmax(scores)] == [0, Fraction(1, 2), 0, Fraction(1, 2)]
    assert [as_fraction(weight) for weight in hardmax([exactly(4)])] == [1]
    assert [as_fraction(weight) for weight in hardmax([about(2, 0.4), about(1, 0.4)])] == [1, 0]
    assert [as_fraction(weight) for weight in hardmax([about(1, 0.4), about(2, 0.4)])] == [0, 1]
    for scores in (
        [about(1, 0.6), about(2, 0.6)],
        [exactly(1), exactly(3), about(2, 2)],
        [about(1, 0), about(1, 0)],
        [Real(rational(3), AT_MOST_0), exactly(3)],
    ):
        with pytest.raises(Undecided, match="hardmax"):
            hardmax(scores)


@given(
    st.lists(st.fractions(-8, 8, max_denominator=8), min_size=1, max_size=5), st.sampled_from([0.001, 0.3, 1, 20, 1e5])
)
@example([Fraction(0), Fraction(0), Fraction(-8)], 1e5)
def test_softmax_contains_the_weights(values: list[Fraction], beta: float) -> None:
    """Relative to their size, however small: mpmath has exponents of any size too."""
    with mpmath.workdps(60), flint.ctx.workprec(128):
        found = softmax([exactly(value) for value in values], rational(beta))
        powers = [mpmath.exp(mpmath.mpf(beta) * mpmath.mpf(v.numerator) / v.denominator) for v in values]
        weights = [power / mpmath.fsum(powers) for power in powers]
        for value, number, weight in zip(values, found, weights, strict=True):
            meant = value == max(values)
            assert as_fraction(Real(number.exact, ZERO)) == (Fraction(1, values.count(value)) if meant else 0)
            low, high = (_decimal(number.ball.lower()), _decimal(number.ball.upper()))
            slack = weight * mpmath.mpf(10) ** -50
            assert low - slack <= weight <= high + slack
            assert high - low <= weight * mpmath.mpf(10) ** -30
    if values.count(max(values)) == len(values):
        assert all(number.rest.is_zero() for number in found)


def _decimal(point: flint.arb) -> mpmath.mpf:
    mantissa, exponent = point.man_exp()
    return mpmath.ldexp(mpmath.mpf(int(mantissa)), int(exponent))


def test_softmax_of_balls_contains_the_weights_of_what_is_in_them() -> None:
    found = softmax([about(1, 0.25), about(1.5, 0.25), exactly(-9)], rational(2))
    for a in (0.75, 1, 1.25):
        for b in (1.25, 1.5, 1.75):
            powers = [np.exp(2 * a), np.exp(2 * b), np.exp(-18)]
            for number, power in zip(found, powers, strict=True):
                assert number.ball.lower() <= power / sum(powers) <= number.ball.upper()


@given(st.integers(-(2**300), 2**300), st.integers(-40000, 3000), st.sampled_from([0.0, 1e-3, 1.0, 1e20]))
@example(1, -(10**80), 0.0)
@example(-1, -(10**80), 0.0)
@example(-(2**299) - 1, 0, 0.0)
@example(2**300 - 1, -FINEST - 300, 0.0)
def test_bounds_are_rounded_outwards_to_numbers_of_moderate_size(mantissa: int, exponent: int, radius: float) -> None:
    with flint.ctx.workprec(400):
        ball = flint.arb((mantissa, exponent)) + flint.arb(0, radius)
        low, high = bounds(ball)
        assert low is not None
        assert high is not None
        assert flint.arb(rational(low)) <= ball.lower()
        assert ball.upper() <= flint.arb(rational(high))
    for end in (low, high):
        assert end.denominator <= 2**FINEST
        odd = end.numerator
        while odd and odd % 2 == 0:
            odd //= 2
        assert abs(odd) <= 2**SIGNIFICANT
    if radius == 0 and exponent >= -FINEST:
        value = Fraction(mantissa) * Fraction(2) ** exponent
        assert low <= value <= high
        assert high - low <= abs(value) / 2 ** (SIGNIFICANT - 2) + Fraction(1, 2 ** (FINEST - 1))
        if abs(mantissa) < 2**SIGNIFICANT:
            assert low == value == high


def test_bounds_of_what_is_tiny_huge_or_no_number() -> None:
    tiny = flint.arb(-(10**9)).exp()
    assert bounds(tiny) == (0, Fraction(1, 2**FINEST))
    assert bounds(-tiny) == (-Fraction(1, 2**FINEST), 0)
    huge = flint.arb(10**9).exp()
    assert bounds(huge) == (2**LARGEST, None)
    assert bounds(-huge) == (None, -(2**LARGEST))
    assert bounds(flint.arb((1, LARGEST))) == (2**LARGEST, 2**LARGEST)
    for exponent in (-16384, 10**6):
        assert bounds(flint.arb((1, exponent))) == (Fraction(2) ** exponent, Fraction(2) ** exponent)
    assert bounds(flint.arb((1, -16385))) == (0, Fraction(1, 2**16384))
    assert bounds(flint.arb((1, LARGEST + 1))) == (2**LARGEST, None)
    assert bounds(flint.arb("nan")) == (None, None)
    assert bounds(flint.arb(0, float("inf"))) == (None, None)


def test_the_least_of_balls_and_of_what_is_no_number() -> None:
    low, high = bounds_of_least([about(2, 0.5), about(1, 0.25), about(1.5, 0.25)])
    assert low is not None
    assert high is not None
    assert Fraction(7, 10) < low <= Fraction(3, 4)
    assert Fraction(5, 4) <= high < Fraction(13, 10)
    low, high = bounds_of_least([exactly(5), about(2, 0.5), about(1, 0.25)])
    assert low is not None
    assert high is not None
    assert Fraction(7, 10) < low <= Fraction(3, 4) <= Fraction(5, 4) <= high < Fraction(13, 10)
    unknown = Real(rational(0), flint.arb("nan"))
    low, high = bounds_of_least([about(2, 0.5), unknown])
    assert low is None
    assert high is not None
    assert Fraction(5, 2) <= high < Fraction(13, 5)
    assert bounds_of_least([unknown]) == (None, None)
