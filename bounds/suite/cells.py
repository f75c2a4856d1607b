"""T12, by enumeration: how many vectors of answers the rows of one or two real coordinates can have, counted exactly.

A model of N answers and R relations is a set of random whole numbers: W units with pre-activations <v_j, e> + s_rj, and
logits Σ_j w_ja·ReLU(..) + <p_a, e> + q_ra. Every cell of its arrangement of lines is visited at a point of fractions:

* one coordinate: between two neighbours of all kinks and of all crossings of two logits lies one cell;
* two coordinates: the lines on which a unit is 0, and those on which two logits of one linear piece are equal, are
  drawn through the whole plane, which makes the arrangement finer; between two neighbouring crossings, ordered by their
  first coordinate, no two lines cross, so that one vertical line visits every cell there.

At each point all logits are computed from the definition, and a tie is no answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise, product

import numpy as np
from numpy.typing import NDArray

Point = tuple[Fraction, ...]
Line = tuple[Fraction, ...]  # coefficients of the coordinates, and the constant; 0 on the line


@dataclass(frozen=True)
class RowModel:
    """The answers to R relations as functions of a row e [d]: units [W, d], shifts [R, W], written [W, N], stream
    [d, N], biases [R, N].
    """

    units: NDArray[np.int64]
    shifts: NDArray[np.int64]
    written: NDArray[np.int64]
    stream: NDArray[np.int64]
    biases: NDArray[np.int64]

    def answers(self, row: Point) -> tuple[int, ...] | None:
        """The answer to each relation; None where one is a tie."""
        found = []
        for shifts, biases in zip(self.shifts.tolist(), self.biases.tolist(), strict=True):
            opened = [
                max(Fraction(0), _at((*unit, shift), row))
                for unit, shift in zip(self.units.tolist(), shifts, strict=True)
            ]
            logits = [
                sum((unit * weight for unit, weight in zip(opened, written, strict=True)), _at((*stream, bias), row))
                for written, stream, bias in zip(self.written.T.tolist(), self.stream.T.tolist(), biases, strict=True)
            ]
            best = max(logits)
            if logits.count(best) > 1:
                return None
            found.append(logits.index(best))
        return tuple(found)

    def lines(self) -> set[Line]:
        """The zeros of the units, and where two logits of any pattern of open units are equal."""
        found: set[Line] = set()
        for relation, shifts in enumerate(self.shifts):
            for unit, shift in zip(self.units.tolist(), shifts.tolist(), strict=True):
                found.add(_normal((*unit, shift)))
            for opened in product((0, 1), repeat=len(self.units)):
                weights = np.array(opened, np.int64)[:, None] * self.written
                slopes = self.units.T @ weights + self.stream
                constants = shifts @ weights + self.biases[relation]
                for one, other in combinations(range(self.written.shape[1]), 2):
                    slope = (slopes[:, one] - slopes[:, other]).tolist()
                    found.add(_normal((*slope, int(constants[one] - constants[other]))))
        return {line for line in found if any(line[:-1])}

    def vectors(self) -> set[tuple[int, ...]]:
        """All vectors of answers that rows of one or two coordinates have."""
        lines, dimension = self.lines(), self.units.shape[1]
        points = _points(lines) if dimension == 1 else _points_of_plane(lines)
        return {vector for point in points if (vector := self.answers(point)) is not None}


def random_row_model(entities: int, relations: int, width: int, dimension: int, seed: int) -> RowModel:
    """A model of random whole numbers from -9 to 9."""
    generator = np.random.default_rng([seed, entities, relations, width, dimension])

    def numbers(*shape: int) -> NDArray[np.int64]:
        """Random whole numbers."""
        return generator.integers(-9, 9, shape, endpoint=True)

    return RowModel(
        numbers(width, dimension),
        numbers(relations, width),
        numbers(width, entities),
        numbers(dimension, entities),
        numbers(relations, entities),
    )


def _at(line: tuple[int | Fraction, ...], point: Point) -> Fraction:
    return sum((c * x for c, x in zip(line, point, strict=False)), Fraction(line[-1]))


def _normal(line: tuple[int, ...]) -> Line:
    """The same line, its first coefficient that is not 0 being 1."""
    leading = next((c for c in line if c), 1)
    return tuple(Fraction(c, leading) for c in line)


def _between(values: set[Fraction]) -> Iterator[Fraction]:
    """A number below all, one between any two neighbours, and one above all."""
    ordered = sorted(values) or [Fraction(0)]
    yield ordered[0] - 1
    yield from ((low + high) / 2 for low, high in pairwise(ordered))
    yield ordered[-1] + 1


def _points(lines: set[Line]) -> Iterator[Point]:
    yield from ((x,) for x in _between({-constant / slope for slope, constant in lines}))


def _points_of_plane(lines: set[Line]) -> Iterator[Point]:
    crossings = {-c / a for a, b, c in lines if not b}  # lines that are vertical themselves
    for (a, b, c), (d, e, f) in combinations(lines, 2):
        determinant = a * e - b * d
        if determinant:
            crossings.add((b * f - c * e) / determinant)
    for x in _between(crossings):
        yield from ((x, y) for y in _between({-(a * x + c) / b for a, b, c in lines if b}))
