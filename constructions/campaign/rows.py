"""Rows of rational numbers, known exactly or enclosed: the arithmetic of `constructions.campaign.evaluator`.

A row is integers over one denominator. Only softmax makes one inexact, and then each number has two ends; everything
else keeps exact rows exact and rounds nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

from numpy.typing import NDArray

Array = NDArray[Any]
Numbers = tuple[int, ...]


class Row(NamedTuple):
    """Number i lies in [low_i, high_i] / denominator; `low is high` where all are known exactly."""

    low: Numbers
    high: Numbers
    denominator: int

    def ends(self) -> list[tuple[Fraction, Fraction]]:
        """The two ends of each number."""
        return [
            (Fraction(low, self.denominator), Fraction(high, self.denominator))
            for low, high in zip(self.low, self.high, strict=True)
        ]

    def values(self) -> list[Fraction]:
        """The numbers of an exact row; ValueError for another."""
        if self.low != self.high:
            raise ValueError("the row is enclosed, not known exactly")
        return [Fraction(low, self.denominator) for low in self.low]


def exact(numbers: Sequence[int], denominator: int = 1) -> Row:
    """The row of numbers/denominator."""
    row = tuple(numbers)
    return Row(row, row, denominator)


def ratios(values: list[Any]) -> tuple[list[int], int]:
    """Integers or floats as integers over their least common denominator."""
    if all(type(value) is int for value in values):
        return values, 1
    pairs = [value.as_integer_ratio() for value in values]
    common = math.lcm(*{denominator for _, denominator in pairs})
    return [numerator * (common // denominator) for numerator, denominator in pairs], common


def _by_ends(row: Row, change: Callable[[Numbers], Numbers]) -> Row:
    """A row whose ends are changed in the same way, by a function that is monotone in each number."""
    low = change(row.low)
    return Row(low, low if row.high is row.low else change(row.high), row.denominator)


def relu(row: Row) -> Row:
    """max(·, 0) of every number."""
    return _by_ends(row, lambda ends: tuple([end if end > 0 else 0 for end in ends]))


def _over(row: Row, denominator: int) -> Row:
    """The same row over a multiple of its denominator."""
    factor = denominator // row.denominator
    if factor == 1:
        return row
    return _by_ends(row, lambda ends: tuple([factor * end for end in ends]))._replace(denominator=denominator)


def total(rows: Sequence[Row]) -> Row:
    """The sum of the rows, number by number."""
    if len(rows) == 1:
        return rows[0]
    common = math.lcm(*(row.denominator for row in rows))
    lows, highs, _ = zip(*(_over(row, common) for row in rows), strict=True)
    low = tuple(map(sum, zip(*lows, strict=True)))
    if all(row.low is row.high for row in rows):
        return Row(low, low, common)
    return Row(low, tuple(map(sum, zip(*highs, strict=True))), common)


def mean(rows: Sequence[Row]) -> Row:
    """The mean of the rows."""
    added = total(rows)
    return added._replace(denominator=added.denominator * len(rows))


def weighted(row: Row, least: int, most: int, unit: int) -> Row:
    """The row times a factor in [least, most] / unit, where 0 <= least."""
    low = tuple([(least if end >= 0 else most) * end for end in row.low])
    high = tuple([(most if end >= 0 else least) * end for end in row.high])
    return Row(low, high, row.denominator * unit)


def inner(left: Row, right: Row) -> tuple[Fraction, Fraction]:
    """The ends of the inner product of two rows."""
    common = left.denominator * right.denominator
    if left.low is left.high and right.low is right.high:
        product = Fraction(sum(map(int.__mul__, left.low, right.low)), common)
        return product, product
    low = high = 0
    for ends in zip(left.low, left.high, right.low, right.high, strict=True):
        products = [a * b for a in ends[:2] for b in ends[2:]]
        low, high = low + min(products), high + max(products)
    return Fraction(low, common), Fraction(high, common)


class Affine:
    """row -> row·W + bias for weights W [inputs, outputs], 0 being the bias when there is none.

    Zeros of the row and of the weights are passed over, and a row that has come before is looked up.
    """

    def __init__(self, weights: Array, bias: Array | None = None) -> None:
        inputs, outputs = weights.shape
        numbers, self._denominator = ratios(weights.ravel().tolist() + ([] if bias is None else bias.tolist()))
        self._bias = numbers[inputs * outputs :] or [0] * outputs
        self._weights = [
            [(column, weight) for column, weight in enumerate(numbers[row * outputs : (row + 1) * outputs]) if weight]
            for row in range(inputs)
        ]
        self._known: dict[Row, Row] = {}

    def __call__(self, row: Row) -> Row:
        """The row of the results."""
        found = self._known.get(row)
        if found is None:
            found = self._known[row] = self._apply(row)
        return found

    @cached_property
    def _absolute(self) -> list[list[tuple[int, int]]]:
        """The absolute values of the weights."""
        return [[(column, abs(weight)) for column, weight in weights] for weights in self._weights]

    def _apply(self, row: Row) -> Row:
        """The row of the results, worked out."""
        denominator = row.denominator * self._denominator
        if row.low is row.high:
            return exact(self._sum(row.low, self._weights, row.denominator), denominator)
        # Twice the middle of each number goes through the weights, and twice its radius through their absolute values.
        middle = [low + high for low, high in zip(row.low, row.high, strict=True)]
        radius = [high - low for low, high in zip(row.low, row.high, strict=True)]
        middles = self._sum(middle, self._weights, 2 * row.denominator)
        radii = self._sum(radius, self._absolute, 0)
        low = tuple([m - r for m, r in zip(middles, radii, strict=True)])
        high = tuple([m + r for m, r in zip(middles, radii, strict=True)])
        return Row(low, high, 2 * denominator)

    def _sum(self, numbers: Sequence[int], weights: list[list[tuple[int, int]]], unit: int) -> list[int]:
        """unit·bias + numbers·weights."""
        result = [unit * value for value in self._bias] if unit != 1 else list(self._bias)
        for number, row in zip(numbers, weights, strict=True):
            if number:
                for column, weight in row:
                    result[column] += number * weight
        return result
