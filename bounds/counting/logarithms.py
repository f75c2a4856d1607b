"""Logarithms of counts too long to read, enclosed in decimals and never rounded silently.

The logarithm of a whole number in base 2 or 10 is a whole number if the number is a power of the base, and irrational
otherwise: log_b n = p/q gives n^q = b^p, and as 2 divides b once so b^{p/q} is whole only if q divides p. A power
gives its exponent alone. For all others the enclosure by ball arithmetic is rounded outwards to the wanted decimals, so
that it is one unit of the last place wide, or two where the logarithm lies within about 2^-64 of a decimal that is not
whole: near a whole number k the comparison with base^k decides.
"""

from fractions import Fraction

from flint import arb, ctx, fmpq, fmpz

from bounds.counting.sizes import check_countable
from bounds.enclosure import Interval, log2_falling
from theory.definitions.fact_system import check_count
from theory.errors import InputError

MOST_DIGITS = 10_000


def decimal_logarithm(count: int, base: int, digits: int) -> Interval:
    """log_base(count) for base 2 or 10, enclosed by two multiples of 10^-digits; equal ones for a power of the base.

    `.decimals(digits)` writes both ends. InputError unless count >= 1, the base is 2 or 10 and 0 <= digits <= 10^4.
    """
    number = check_count("the count", count)
    _check_decimals(base, digits)
    with ctx.workprec(_precision(number.bit_length(), digits)):
        logarithm = arb(fmpz(number)).log() / arb(base).log()
        enclosure = _outwards(logarithm, digits)
        nearest = int((logarithm + arb(fmpq(1, 2))).mid().floor().fmpz())
    power = fmpz(base) ** nearest
    low = max(enclosure.low, Fraction(nearest)) if power <= number else enclosure.low
    high = min(enclosure.high, Fraction(nearest)) if power >= number else enclosure.high
    return Interval(low, high)


def log2_labelled(entities: int, relations: int, precision: int = 128) -> arb:
    """A ball around R·log2 N!, the bits of one fact system, computed with `precision` bits; N and R up to 10^100."""
    n, r = _check_sizes(entities, relations)
    return log2_falling(n, n, r).enclose(precision)


def decimal_logarithm_labelled(entities: int, relations: int, base: int, digits: int) -> Interval:
    """`decimal_logarithm` of (N!)^R, which is not computed: N and R up to 10^100."""
    n, r = _check_sizes(entities, relations)
    _check_decimals(base, digits)
    if n == 1 or (n == 2 and base == 2):
        exponent = Fraction(r * (n - 1))
        return Interval(exponent, exponent)
    precision = _precision(n * r, digits)
    with ctx.workprec(precision):
        return _outwards(log2_labelled(n, r, precision) * arb(2).log() / arb(base).log(), digits)


def _check_sizes(entities: object, relations: object) -> tuple[int, int]:
    return check_countable("log2_labelled", entities, relations, lambda n, r: max(n, r), limit=10**100)


def _check_decimals(base: object, digits: object) -> None:
    if base not in (2, 10):
        raise InputError(f"the base of a logarithm must be 2 or 10, not {base!r}")
    if check_count("digits", digits, at_least=0) > MOST_DIGITS:
        raise InputError(f"digits must be at most {MOST_DIGITS}")


def _precision(size: int, digits: int) -> int:
    """Bits for a number of about size·log2 size, to `digits` decimals and 64 bits more."""
    return 2 * size.bit_length() + 4 * digits + 64


def _outwards(ball: arb, digits: int) -> Interval:
    """The smallest interval between multiples of 10^-digits that contains the ball."""
    scale = 10**digits
    low, high = (ball * scale).lower().floor(), (ball * scale).upper().ceil()
    return Interval(Fraction(int(low.fmpz()), scale), Fraction(int(high.fmpz()), scale))
