"""Sums of logarithms, held exactly, and the only decisions that may be taken about them.

Every bound of this package is a number Σ c·log2 (n)_l with rational c and falling factorials (n)_l = n(n-1)…(n-l+1): a
logarithm of a count. `Logarithm` keeps the terms themselves, so sums, differences and rational multiples are exact,
and a number appears only as an enclosure by ball arithmetic (`arb` of python-flint, Johansson 2017), at whatever
precision the question needs. (n)_l is enclosed as Γ(n+1)/Γ(n-l+1), so l may be 10^12.

A sign or a ceiling is decided by an enclosure that excludes the other answer; where it does not, the precision
doubles. That ends for irrational numbers. A rational one, such as R·log2 N for N a power of two, would never be
decided, so `rational` finds it exactly.

*Lemma.* Let q_1, q_2, … be odd, pairwise coprime and above 1. Then Σ c_i·log2 q_i is rational only if every c_i is 0.
*Proof.* If it is s/t, clear denominators: Π q_i^{e_i} is a power of two with integers e_i proportional to c_i. A prime
factor of q_i divides no other q_j and is odd, so e_i = 0. ∎

Integers are refined to a pairwise coprime base by gcds alone (Bernstein 2005), without factoring. A factorial n! that
is too long to multiply out has a prime p with max(n', n/2) < p ≤ n, where n'! is the next smaller factorial: p divides
n! once and no smaller factorial, so unless p divides another of the integers its exponent proves irrationality.
"""

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from math import gcd, prod

from flint import arb, ctx, fmpq, fmpz

START_PRECISION = 128  # bits; enough for R·log N! at N = 10^12, R = 1000 with fifty bits behind the point
MULTIPLY_OUT = 2_000  # the longest run of consecutive integers that is multiplied out


@dataclass(frozen=True)
class Interval:
    """A closed interval [low, high] of exact rationals that contains the number."""

    low: Fraction
    high: Fraction

    def decimals(self, places: int = 3) -> tuple[str, str]:
        """Both ends with `places` digits behind the point, rounded outwards."""
        scale = 10**places
        floor = self.low.numerator * scale // self.low.denominator
        ceil = -(-self.high.numerator * scale // self.high.denominator)
        return _decimal(floor, places), _decimal(ceil, places)

    def __str__(self) -> str:
        low, high = self.decimals()
        return f"[{low}, {high}]"


def _decimal(scaled: int, places: int) -> str:
    sign, digits = "-" if scaled < 0 else "", str(abs(scaled)).rjust(places + 1, "0")
    return f"{sign}{digits[:-places]}.{digits[-places:]}" if places else sign + digits


@dataclass(frozen=True)
class Logarithm:
    """The exact number Σ c·log2 (n)_l over its terms (c, n, l); no term is zero and no (n, l) occurs twice."""

    terms: tuple[tuple[Fraction, int, int], ...] = ()

    def __add__(self, other: "Logarithm") -> "Logarithm":
        merged: defaultdict[tuple[int, int], Fraction] = defaultdict(Fraction)
        for coefficient, top, length in self.terms + other.terms:
            merged[top, length] += coefficient
        return Logarithm(tuple((c, top, length) for (top, length), c in merged.items() if c))

    def __sub__(self, other: "Logarithm") -> "Logarithm":
        return self + other.times(-1)

    def times(self, factor: int | Fraction) -> "Logarithm":
        """The number multiplied by an exact rational."""
        return Logarithm(tuple((c * factor, top, length) for c, top, length in self.terms if factor))

    def enclose(self, precision: int = START_PRECISION) -> arb:
        """A ball that contains the number, computed with `precision` bits."""
        return self._ball if precision == START_PRECISION else self._enclosed(precision)

    @cached_property
    def _ball(self) -> arb:
        return self._enclosed(START_PRECISION)

    def _enclosed(self, precision: int) -> arb:
        with ctx.workprec(precision):
            total = arb(0)
            for coefficient, top, length in self.terms:
                weight = arb(fmpq(coefficient.numerator, coefficient.denominator))
                total += weight * _natural_log(top, length, precision)
            return total / _natural_log(2, 1, precision)

    def interval(self, precision: int = START_PRECISION) -> Interval:
        """The enclosure's two ends as exact rationals."""
        ball = self.enclose(precision)
        with ctx.workprec(precision):
            return Interval(_exact(ball.lower()), _exact(ball.upper()))

    def value(self) -> int | Interval:
        """The number itself where it is an integer, else an interval around it."""
        interval = self.interval()
        if interval.low <= -(-interval.low // 1) <= interval.high:
            exact = rational(self)
            if exact is not None and exact.denominator == 1:
                return int(exact)
        return interval


def log2_falling(top: int, length: int, times: int | Fraction = 1) -> Logarithm:
    """times·log2 of (top)_length = top(top-1)…(top-length+1), for 0 ≤ length ≤ top."""
    if not 0 <= length <= top:
        raise ValueError(f"(n)_l needs 0 <= l <= n, not n = {top}, l = {length}")
    if length == 0 or top == 1 or times == 0:
        return Logarithm()
    # (n)_n = (n)_{n-1}: one name for one number, so that equal terms cancel.
    return Logarithm(((Fraction(times), top, min(length, top - 1)),))


def log2(number: int, times: int | Fraction = 1) -> Logarithm:
    """times·log2 of a positive integer."""
    return log2_falling(number, 1, times)


def constant(value: int | Fraction) -> Logarithm:
    """A rational number, as that multiple of log2 2."""
    return log2(2, value)


def sign(number: Logarithm) -> int:
    """-1, 0 or 1, decided and never guessed."""
    precision = START_PRECISION
    while True:
        ball = number.enclose(precision)
        if ball > 0:
            return 1
        if ball < 0:
            return -1
        if precision == START_PRECISION and (exact := rational(number)) is not None:
            return (exact > 0) - (exact < 0)
        precision *= 2


def exceeds(first: Logarithm, second: Logarithm) -> bool:
    """first > second, decided and never guessed."""
    one, other = first.enclose(), second.enclose()
    if one > other or one < other:
        return bool(one > other)
    return sign(first - second) > 0


def ceiling(number: Logarithm) -> int:
    """The smallest integer that is at least the number, decided and never guessed."""
    precision = START_PRECISION
    while True:
        interval = number.interval(precision)
        low, high = -(-interval.low // 1), -(-interval.high // 1)
        if low == high:
            return int(low)
        if precision == START_PRECISION and (exact := rational(number)) is not None:
            return int(-(-exact // 1))
        precision *= 2


def power_of_two_below(number: Logarithm) -> Fraction:
    """2^number, rounded down to a multiple of 2^-64, for a number of at most 0."""
    with ctx.workprec(START_PRECISION):
        exponent = number.enclose()
        if exponent < -64:
            return Fraction(0)  # and exactly 2^number may have more digits than there is memory
        power = _exact((exponent * arb(2).log()).exp().lower())
    return Fraction(power.numerator * 2**64 // power.denominator, 2**64)


def rational(number: Logarithm) -> Fraction | None:
    """The number as a fraction if it is rational, else None: by the lemma in the module's head."""
    integers: defaultdict[int, Fraction] = defaultdict(Fraction)
    factorials: defaultdict[int, Fraction] = defaultdict(Fraction)
    for coefficient, top, length in number.terms:
        if length <= MULTIPLY_OUT:
            integers[_falling(top, length)] += coefficient
        else:
            factorials[top] += coefficient
            factorials[top - length] -= coefficient
    while factorials:
        top = max(factorials)
        coefficient = factorials.pop(top)
        if coefficient == 0 or top < 2:
            continue
        following = max(factorials, default=1)
        length = min(top - following, MULTIPLY_OUT)
        if _prime_witness(top, top - length, integers, coefficient):
            return None
        integers[_falling(top, length)] += coefficient
        factorials[top - length] += coefficient
    return _rational_of_integers(integers)


def _prime_witness(top: int, above: int, integers: dict[int, Fraction], coefficient: Fraction) -> bool:
    """Whether some prime in (max(above, top/2), top] keeps a nonzero exponent in the whole product.

    Such a prime divides top! exactly once and, as every other factorial left is at most above!, none of those.
    """
    for candidate in range(top, max(above, top // 2), -1):
        if candidate > 2 and fmpz(candidate).is_prime():
            exponent = coefficient + sum((c * _valuation(n, candidate) for n, c in integers.items()), Fraction())
            if exponent:
                return True
    return False


def _rational_of_integers(integers: dict[int, Fraction]) -> Fraction | None:
    total, odd_parts = Fraction(), []
    for number, coefficient in integers.items():
        twos = _valuation(number, 2)
        total += coefficient * twos
        odd_parts.append((number >> twos, coefficient))
    for base in coprime_base([number for number, _ in odd_parts]):
        if sum((c * _valuation(number, base) for number, c in odd_parts), Fraction()):
            return None
    return total


def coprime_base(numbers: list[int]) -> list[int]:
    """Pairwise coprime integers above 1 of which every given positive integer is a product of powers."""
    base: list[int] = []
    waiting = [number for number in numbers if number > 1]
    while waiting:
        number = waiting.pop()
        for position, member in enumerate(base):
            common = gcd(number, member)
            if common > 1:
                del base[position]
                waiting += [part for part in (common, number // common, member // common) if part > 1]
                break
        else:
            base.append(number)
    return base


def _valuation(number: int, base: int) -> int:
    exponent = 0
    while number % base == 0:
        number //= base
        exponent += 1
    return exponent


def _falling(top: int, length: int) -> int:
    return prod(range(top - length + 1, top + 1))


@lru_cache(maxsize=4096)
def _natural_log(top: int, length: int, precision: int) -> arb:
    """ln (top)_length."""
    with ctx.workprec(precision):
        if length <= 8:
            return arb(_falling(top, length)).log()
        return arb(top + 1).lgamma() - arb(top - length + 1).lgamma()


def _exact(point: arb) -> Fraction:
    mantissa, exponent = point.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
