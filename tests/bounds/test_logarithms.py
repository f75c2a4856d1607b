"""Enclosed logarithms: the ends are checked by exact comparison of powers, not by another floating-point logarithm."""

import math
from fractions import Fraction

import pytest
from flint import arb, ctx, fmpq
from hypothesis import example, given
from hypothesis import strategies as st

from bounds.counting.logarithms import decimal_logarithm, decimal_logarithm_labelled, log2_labelled
from bounds.enclosure import Interval
from theory.errors import InputError


def encloses(interval: Interval, count: int, base: int, digits: int) -> bool:
    """base^low <= count <= base^high, by whole powers: the ends are multiples of 10^-digits."""
    scale = 10**digits
    low, high = interval.low * scale, interval.high * scale
    assert low.denominator == high.denominator == 1
    return base ** int(low) <= count**scale <= base ** int(high)


@given(st.integers(1, 10**40), st.sampled_from([2, 10]), st.integers(0, 3))
@example(1, 2, 3)
@example(1000, 10, 2)
@example(1024, 2, 3)
@example(2**64 - 1, 2, 3)
@example(2**64 + 1, 2, 3)
@example(10**40 - 1, 10, 3)
def test_the_logarithm_is_enclosed(count: int, base: int, digits: int) -> None:
    interval = decimal_logarithm(count, base, digits)
    assert encloses(interval, count, base, digits)
    width = (interval.high - interval.low) * 10**digits
    exact = base ** round(math.log(count, base)) == count
    assert width == 0 if exact else 1 <= width <= 2
    below = Interval(interval.low - Fraction(1, 10**digits), interval.low - Fraction(1, 10**digits))
    if interval.low > 0 and not exact:
        assert not encloses(below, count, base, digits)


@pytest.mark.parametrize(("base", "exponent"), [(2, 0), (2, 1), (2, 100_003), (10, 0), (10, 1), (10, 20_001)])
def test_powers_of_the_base_are_exact(base: int, exponent: int) -> None:
    assert decimal_logarithm(base**exponent, base, 6) == Interval(Fraction(exponent), Fraction(exponent))


@pytest.mark.parametrize(("base", "exponent"), [(2, 40), (2, 100_003), (10, 20), (10, 20_001)])
def test_neighbours_of_powers_are_on_their_own_side(base: int, exponent: int) -> None:
    power, unit = base**exponent, Fraction(1, 10**6)
    assert decimal_logarithm(power + 1, base, 6) == Interval(Fraction(exponent), exponent + unit)
    assert decimal_logarithm(power - 1, base, 6) == Interval(exponent - unit, Fraction(exponent))


def test_ends_are_written_to_the_wanted_digits() -> None:
    assert decimal_logarithm(3, 2, 6).decimals(6) == ("1.584962", "1.584963")
    assert decimal_logarithm(10**30 + 1, 10, 2).decimals(2) == ("30.00", "30.01")
    assert decimal_logarithm(1024, 2, 3).decimals(3) == ("10.000", "10.000")
    assert decimal_logarithm(7, 10, 0).decimals(0) == ("0", "1")


@given(st.integers(1, 300), st.integers(1, 6), st.sampled_from([2, 10]), st.integers(0, 12))
@example(1, 3, 10, 4)
@example(2, 3, 2, 4)
@example(2, 3, 10, 4)
def test_labelled_without_the_integer(entities: int, relations: int, base: int, digits: int) -> None:
    count = math.factorial(entities) ** relations
    assert decimal_logarithm_labelled(entities, relations, base, digits) == decimal_logarithm(count, base, digits)
    with ctx.workprec(200):
        exact = arb(count).log() / arb(2).log()
    assert log2_labelled(entities, relations).overlaps(exact)


@pytest.mark.parametrize("entities", [10**6, 10**12, 10**100])
def test_huge_sizes_obey_stirlings_bounds(entities: int) -> None:
    """n ln n - n + ½ ln(2πn) < ln n! < that + 1/(12n) (Robbins 1955), here at n = N for three relations."""
    interval = decimal_logarithm_labelled(entities, 3, 2, 20)
    assert interval.high - interval.low == Fraction(1, 10**20)
    with ctx.workprec(1000):
        n = arb(entities)
        stirling = n * n.log() - n + (2 * arb.pi() * n).log() / 2
        low, high = 3 * stirling / arb(2).log(), 3 * (stirling + 1 / (12 * n)) / arb(2).log()
        assert arb(fmpq(interval.high.numerator, interval.high.denominator)) > low
        assert arb(fmpq(interval.low.numerator, interval.low.denominator)) < high


def test_more_precision_narrows_the_ball() -> None:
    coarse, fine = log2_labelled(10**12, 1000, precision=64), log2_labelled(10**12, 1000, precision=256)
    assert coarse.overlaps(fine)
    assert fine.rad() < coarse.rad()


@pytest.mark.parametrize("bad", [0, -1, 1.5, True])
def test_bad_counts_and_sizes(bad: object) -> None:
    for refused in (
        lambda: decimal_logarithm(bad, 2, 3),  # type: ignore[arg-type]
        lambda: log2_labelled(bad, 2),  # type: ignore[arg-type]
        lambda: decimal_logarithm_labelled(3, bad, 2, 3),  # type: ignore[arg-type]
    ):
        with pytest.raises(InputError, match="must be a whole number of at least 1, not"):
            refused()


def test_bad_bases_digits_and_absurd_sizes() -> None:
    with pytest.raises(InputError, match="base of a logarithm must be 2 or 10, not 3"):
        decimal_logarithm(5, 3, 2)
    with pytest.raises(InputError, match="digits must be a whole number of at least 0, not -1"):
        decimal_logarithm(5, 2, -1)
    with pytest.raises(InputError, match="digits must be at most 10000"):
        decimal_logarithm_labelled(5, 2, 2, 10_001)
    with pytest.raises(InputError, match="entities are too many to count exactly"):
        log2_labelled(10**101, 2)
