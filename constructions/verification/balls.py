"""Real numbers as an exact fraction plus a ball: what is rational is never rounded, and only the rest is enclosed.

A softmax weight is 1/m or 0 plus a correction of about exp(-β·gap). Beside the 1/m a correction of exp(-10^9) would be
lost at any precision that can be paid for; kept apart from it, it has an exponent of its own (python-flint's `arb`
holds those of any size), and its sign survives where the rational parts cancel. So rational ties are seen to be ties,
and margins of about exp(-β) are decided as easily as large ones.

All balls are computed at python-flint's precision in force.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from typing import Any, NamedTuple

import flint
import numpy as np
from numpy.typing import NDArray

# Bounds are handed out with this many significant bits, and as multiples of 2^-FINEST; above 2^LARGEST there are none.
SIGNIFICANT, FINEST, LARGEST = 128, 2**14, 2**20

Ball = Any  # flint.arb
Rational = Any  # flint.fmpq
Bounds = tuple[Fraction | None, Fraction | None]

_ZERO = flint.arb(0)


class Undecided(Exception):
    """The balls are too wide to decide a comparison."""


def rational(value: Any) -> Rational:
    """An integer, float or fraction as the fraction that it is."""
    return flint.fmpq(*value.as_integer_ratio())


class Real(NamedTuple):
    """The number exact + δ, for some δ in the ball `rest`."""

    exact: Rational
    rest: Ball

    def __sub__(self, other: Real) -> Real:
        return Real(self.exact - other.exact, self.rest - other.rest)

    @property
    def ball(self) -> Ball:
        """A ball that contains the number. It has the sign of a rational, for rounding changes no sign."""
        return self.rest if self.exact == 0 else self.rest + self.exact

    def positive_part(self) -> Real:
        """ReLU."""
        ball = self.ball
        if ball >= 0:
            return self
        return NOTHING if ball <= 0 else Real(NOTHING.exact, ball.max(_ZERO))


NOTHING = Real(flint.fmpq(), _ZERO)


@dataclass(frozen=True)
class RealMatrix:
    """A matrix of such numbers; `rest` is None where all of them are rational."""

    exact: Any
    rest: Any = None

    @staticmethod
    def of_numbers(rows: int, columns: int, numbers: Sequence[Real]) -> RealMatrix:
        """The matrix with these entries, row by row."""
        exact = flint.fmpq_mat(rows, columns, [number.exact for number in numbers])
        if all(number.rest.is_zero() for number in numbers):
            return RealMatrix(exact)
        return RealMatrix(exact, flint.arb_mat(rows, columns, [number.rest for number in numbers]))

    @staticmethod
    def of_weights(array: NDArray[Any], errors: NDArray[np.float64] | None = None) -> RealMatrix:
        """An array [rows, columns] as the fractions that its entries are, give or take `errors` of the same shape."""
        rows, columns = array.shape
        exact = flint.fmpq_mat(rows, columns, [rational(value) for value in array.ravel().tolist()])
        if errors is None:
            return RealMatrix(exact)
        rest = [flint.arb(0, error) for error in errors.ravel().tolist()]
        return RealMatrix(exact, flint.arb_mat(rows, columns, rest))

    @cached_property
    def _exact_balls(self) -> Any:
        return flint.arb_mat(self.exact)

    def __add__(self, other: RealMatrix) -> RealMatrix:
        return RealMatrix(self.exact + other.exact, _sum([self.rest, other.rest]))

    def __sub__(self, other: RealMatrix) -> RealMatrix:
        return RealMatrix(self.exact - other.exact, _sum([self.rest, None if other.rest is None else -other.rest]))

    def __mul__(self, other: RealMatrix) -> RealMatrix:
        parts = [
            None if other.rest is None else self._exact_balls * other.rest,
            None if self.rest is None else self.rest * other._exact_balls,
            None if self.rest is None or other.rest is None else self.rest * other.rest,
        ]
        return RealMatrix(self.exact * other.exact, _sum(parts))

    def transpose(self) -> RealMatrix:
        """The transpose."""
        return RealMatrix(self.exact.transpose(), None if self.rest is None else self.rest.transpose())

    def numbers(self) -> list[Real]:
        """The entries, row by row."""
        exact = self.exact.entries()
        rest = [_ZERO] * len(exact) if self.rest is None else self.rest.entries()
        return [Real(*pair) for pair in zip(exact, rest, strict=True)]

    def row(self, row: int) -> list[Real]:
        """The entries of one row."""
        columns = range(self.exact.ncols())
        return [Real(self.exact[row, c], _ZERO if self.rest is None else self.rest[row, c]) for c in columns]

    def last(self) -> RealMatrix:
        """The last row, as a matrix."""
        return RealMatrix.of_numbers(1, self.exact.ncols(), self.row(self.exact.nrows() - 1))

    def column(self, column: int) -> RealMatrix:
        """One column, as a matrix."""
        rows = range(self.exact.nrows())
        numbers = [Real(self.exact[r, column], _ZERO if self.rest is None else self.rest[r, column]) for r in rows]
        return RealMatrix.of_numbers(len(rows), 1, numbers)

    def positive_part(self) -> RealMatrix:
        """ReLU of every entry."""
        return RealMatrix.of_numbers(
            self.exact.nrows(), self.exact.ncols(), [number.positive_part() for number in self.numbers()]
        )


def _sum(parts: list[Any]) -> Any:
    """The sum of the parts that are not zero, None when all of them are."""
    return reduce(lambda total, part: part if total is None else total if part is None else total + part, parts)


def ones(rows: int, columns: int) -> RealMatrix:
    """A matrix of ones."""
    return RealMatrix(flint.fmpq_mat(rows, columns, [1] * (rows * columns)))


def index_of_largest(numbers: Sequence[Real]) -> int:
    """The first of the largest numbers if that is certain, else one that may be it."""
    best = 0
    for index, number in enumerate(numbers):
        if (number - numbers[best]).ball.mid() > 0:
            best = index
    return best


def hardmax(scores: Sequence[Real]) -> list[Real]:
    """Equal weights on the largest scores, none on the others; Undecided when it is not certain which those are."""
    top = index_of_largest(scores)
    gaps = [(score - scores[top]).ball for place, score in enumerate(scores) if place != top]
    if not all(gap < 0 or gap.is_zero() for gap in gaps):
        raise Undecided("which positions a hardmax head reads")
    gaps.insert(top, _ZERO)
    share = Real(flint.fmpq(1, sum(gap.is_zero() for gap in gaps)), _ZERO)
    return [share if gap.is_zero() else NOTHING for gap in gaps]


def softmax(scores: Sequence[Real], beta: Rational) -> list[Real]:
    """exp(β·score) over their sum: with m scores certain to be the largest and p_i = exp(β·(score_i - largest)) for the
    others, S = Σ p_i, these are 1/m - S/(m·(m + S)) and p_i/(m + S).
    """
    top = index_of_largest(scores)
    gaps = [NOTHING if place == top else score - scores[top] for place, score in enumerate(scores)]
    tied = [gap.exact == 0 and gap.rest.is_zero() for gap in gaps]
    powers = [(gap.rest * beta + gap.exact * beta).exp() for gap in gaps]
    others = sum((power for power, tie in zip(powers, tied, strict=True) if not tie), _ZERO)
    count = sum(tied)
    share = Real(flint.fmpq(1, count), -others / (count * (count + others)))
    return [share if tie else Real(NOTHING.exact, p / (count + others)) for p, tie in zip(powers, tied, strict=True)]


def bounds_of_least(numbers: Sequence[Real]) -> Bounds:
    """Bounds of the least of the numbers: itself if all are rational; None where nothing is known."""
    if all(number.rest.is_zero() for number in numbers):
        least = min(number.exact for number in numbers)
        return (Fraction(int(least.p), int(least.q)),) * 2
    balls = [number.ball for number in numbers]
    finite = [ball for ball in balls if ball.is_finite()]
    if not finite:
        return None, None
    low, high = bounds(reduce(lambda least, ball: least.min(ball), finite))
    return low if len(finite) == len(balls) else None, high


def bounds(ball: Ball) -> Bounds:
    """The end points of a ball, rounded outwards to fractions of moderate size (0 and 2^-FINEST for exp(-10^9))."""
    if not ball.is_finite():
        return None, None
    above = _rounded_up(-ball.lower())
    return None if above is None else -above, _rounded_up(ball.upper())


def _rounded_up(point: Ball) -> Fraction | None:
    mantissa, exponent = (int(part) for part in point.man_exp())
    if exponent > LARGEST:
        return None if mantissa > 0 else Fraction(-(2**LARGEST))
    length = mantissa.bit_length()
    dropped = max(length - SIGNIFICANT, -FINEST - exponent, 0)
    # Shifts by more than the length give the same, and the exponents of balls know no limit.
    kept = -(-mantissa >> min(dropped, length))
    return kept * Fraction(2) ** (exponent + dropped) if kept else Fraction(0)
