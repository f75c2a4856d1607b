"""The exponential function and softmax, enclosed by whole multiples of 2^-PRECISION.

For y >= 0 the Taylor series of exp(y) has positive terms t_i = y^i/i!. Cut off after t_n with n >= 2y, its rest is at
most t_n·(1/2 + 1/4 + ..) = t_n, since t_(i+1)/t_i = y/(i+1) < 1/2 from there on. Terms are rounded down for the lower
end and up for the upper one, and exp(-y) = 1/exp(y).
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

PRECISION = 256
ONE = 2**PRECISION
GUARD = 2**64


@lru_cache(maxsize=10**4)
def exponential(argument: Fraction) -> tuple[int, int]:
    """(low, high) with low <= exp(argument)·2^PRECISION <= high, for an argument <= 0; ValueError for another."""
    if argument > 0:
        raise ValueError(f"the argument must not be positive; it is {argument}")
    y = -argument
    if y >= PRECISION:
        return 0, 1  # as e > 2
    low = high = least = most = ONE * GUARD
    number = 0
    while number < 2 * y or high > 1:
        number += 1
        low = low * y.numerator // (y.denominator * number)
        high = -(-high * y.numerator // (y.denominator * number))
        least, most = least + low, most + high
    square = ONE * ONE * GUARD
    return square // (most + high), -(-square // least)


@lru_cache(maxsize=10**4)
def softmax(scores: tuple[tuple[Fraction, Fraction], ...]) -> list[tuple[int, int]]:
    """(low, high) for each t, with low <= 2^PRECISION·exp(s_t)/Σ_u exp(s_u) <= high, for two or more scores given by
    their ends.
    """
    top = max(high for _, high in scores)
    lows = [exponential(low - top)[0] for low, _ in scores]
    highs = [exponential(high - top)[1] for _, high in scores]
    low_total, high_total = sum(lows), sum(highs)
    return [
        (ONE * low // (low + high_total - high), -(-ONE * high // (high + low_total - low)))
        for low, high in zip(lows, highs, strict=True)
    ]
