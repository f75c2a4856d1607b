"""`bounds.enclosure`: exact sums of logarithms, their enclosures, and the decisions about them."""

from fractions import Fraction
from math import comb, gcd, perm

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bounds import enclosure
from bounds.enclosure import (
    Interval,
    Logarithm,
    ceiling,
    constant,
    coprime_base,
    log2,
    log2_falling,
    power_of_two_below,
    rational,
    sign,
)

positive = st.integers(min_value=1, max_value=200)


def reference(number: Logarithm) -> mpmath.mpf:
    """The number at 80 decimal digits, by mpmath's log-gamma."""
    with mpmath.workdps(80):
        total = mpmath.mpf(0)
        for c, top, length in number.terms:
            factor = mpmath.mpf(c.numerator) / c.denominator
            total += factor * (mpmath.loggamma(top + 1) - mpmath.loggamma(top - length + 1))
        return total / mpmath.log(2)


@given(st.lists(st.tuples(st.fractions(-5, 5, max_denominator=7), positive, st.integers(0, 200)), max_size=4))
def test_the_enclosure_contains_the_number_and_is_narrow(terms: list[tuple[Fraction, int, int]]) -> None:
    number = sum((log2_falling(top, min(length, top), c) for c, top, length in terms), Logarithm())
    interval = number.interval()
    exact = reference(number)
    with mpmath.workdps(80):
        low = mpmath.mpf(interval.low.numerator) / interval.low.denominator
        high = mpmath.mpf(interval.high.numerator) / interval.high.denominator
        assert low - mpmath.mpf(10) ** -60 <= exact <= high + mpmath.mpf(10) ** -60
    assert interval.high - interval.low < Fraction(1, 2**90)


@given(positive, st.integers(0, 200), st.integers(1, 6))
def test_ceiling_is_that_of_the_integer_count(top: int, length: int, times: int) -> None:
    count = perm(top, min(length, top)) ** times
    assert ceiling(log2_falling(top, min(length, top), times)) == (count - 1).bit_length()


@pytest.mark.parametrize("exponent", [0, 1, 12, 40, 400])
def test_powers_of_two_are_exact_integers(exponent: int) -> None:
    assert log2(2**exponent, 7).value() == 7 * exponent
    assert ceiling(log2(2**exponent, 7)) == 7 * exponent
    assert ceiling(log2(2**exponent, Fraction(7, 3))) == -(-7 * exponent // 3)
    assert ceiling(log2(2**exponent + 1, 7)) == ((2**exponent + 1) ** 7 - 1).bit_length()


def test_numbers_closer_to_an_integer_than_the_first_precision_are_decided() -> None:
    huge = 2**300
    assert ceiling(log2(huge + 1)) == 301
    assert ceiling(log2(huge - 1)) == 300
    assert ceiling(log2(huge)) == 300
    assert sign(log2(huge + 1) - log2(huge)) == 1
    assert sign(log2(huge - 1) - constant(300)) == -1


@pytest.mark.parametrize("digits", [10, 60, 1000])
def test_a_tiny_rational_that_is_left_when_logarithms_cancel_has_its_sign(digits: int) -> None:
    nothing, tiny = log2(6) - log2(3) - constant(1), constant(Fraction(1, 10**digits))
    assert sign(nothing + tiny) == 1
    assert sign(nothing - tiny) == -1
    assert sign(nothing) == 0
    assert ceiling(nothing + tiny) == 1
    assert ceiling(nothing - tiny) == 0


@pytest.mark.parametrize("exponent", [0, -1, -2, -63, -64, -65, -200, -(10**6), -(10**30)])
def test_a_power_of_two_is_rounded_down_and_never_below_nothing(exponent: int) -> None:
    power = power_of_two_below(constant(exponent))
    exact = Fraction(2) ** max(exponent, -1000)
    assert 0 <= power <= exact
    assert exact - power < Fraction(1, 2**63)
    assert (power * 2**64).denominator == 1


@pytest.mark.parametrize("top", [5, 5000])
def test_a_factorial_down_to_two_lacks_one_bit(top: int) -> None:
    assert rational(log2_falling(top, top) - log2_falling(top, top - 2)) == 1
    assert rational(log2_falling(top, top) - log2_falling(top, top - 3)) is None  # log2 6


@pytest.mark.parametrize(
    ("number", "exact"),
    [
        (log2(6, 2) - log2(9), Fraction(2)),
        (log2(12, Fraction(1, 2)) - log2(3, Fraction(1, 2)), Fraction(1)),
        (log2_falling(10, 10) - log2_falling(9, 9) - log2(5), Fraction(1)),
        (log2_falling(10**6, 10**6) - log2_falling(10**6 - 1, 10**6 - 1) - log2(5**6), Fraction(6)),
        (log2_falling(8, 3) - log2(8 * 7 * 6), Fraction(0)),
        (log2(3), None),
        (log2_falling(10**6, 10**5), None),
        (log2_falling(10**12, 10**12, 1000), None),
        (log2(6, 2) - log2(9, Fraction(1, 2)), None),
        (constant(Fraction(3, 7)), Fraction(3, 7)),
        (Logarithm(), Fraction(0)),
    ],
)
def test_rational_numbers_are_recognised(number: Logarithm, exact: Fraction | None) -> None:
    assert rational(number) == exact


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(1, 60)), max_size=5))
def test_sign_agrees_with_a_product_of_integers(terms: list[tuple[int, int]]) -> None:
    number = sum((log2(n, c) for c, n in terms), Logarithm())
    above, below = 1, 1
    for c, n in terms:
        above, below = above * n ** max(c, 0), below * n ** max(-c, 0)
    assert sign(number) == (above > below) - (above < below)
    assert (rational(number) == 0) == (above == below)


@given(st.lists(st.integers(1, 10**6), max_size=6))
def test_coprime_base_spans_its_numbers(numbers: list[int]) -> None:
    base = coprime_base(numbers)
    assert all(member > 1 for member in base)
    assert all(gcd(a, b) == 1 for i, a in enumerate(base) for b in base[:i])
    for number in numbers:
        for member in base:
            while number % member == 0:
                number //= member
        assert number == 1


def test_factorials_too_long_to_multiply_out_cancel_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(enclosure, "MULTIPLY_OUT", 3)
    binomial = log2_falling(20, 10) - log2_falling(10, 10) - log2(comb(20, 10))
    assert rational(binomial) == 0
    assert rational(binomial + log2(2**5)) == 5
    assert rational(binomial + log2(3)) is None
    assert rational(log2_falling(20, 10)) is None


def test_equal_numbers_have_equal_terms() -> None:
    assert log2_falling(7, 7) == log2_falling(7, 6)
    assert log2_falling(7, 7) - log2_falling(7, 6) == Logarithm()
    assert log2_falling(5, 0) == Logarithm() == log2(1)


def test_decimals_round_outwards() -> None:
    assert Interval(Fraction(1, 3), Fraction(2, 3)).decimals(2) == ("0.33", "0.67")
    assert Interval(Fraction(-1, 3), Fraction(-1, 3)).decimals(1) == ("-0.4", "-0.3")
    assert str(Interval(Fraction(5), Fraction(5))) == "[5.000, 5.000]"


@pytest.mark.parametrize(("top", "length"), [(3, 4), (3, -1)])
def test_a_falling_factorial_needs_its_length(top: int, length: int) -> None:
    with pytest.raises(ValueError, match="needs 0 <= l <= n"):
        log2_falling(top, length)
