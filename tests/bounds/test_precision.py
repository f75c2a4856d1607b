"""T12 and T13: what precision is worth, against mpmath, against every cell, and against the constructions."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import floor, log2

import mpmath
import numpy as np
import pytest

from bounds.lower.precision import (
    least_noisy_dimension,
    least_real_dimension,
    least_width,
    levels,
    most_vectors,
)
from bounds.suite import checks
from bounds.suite.cells import RowModel, random_row_model
from bounds.tables.dimensions import bound_rows, settings
from bounds.tables.rows import BoundSetting
from theory import InputError
from theory.statements.assumptions import NOISE, ONE_BLOCK, ONE_COORDINATE, REALS
from theory.statements.registry import evaluate

# T12.


@pytest.mark.parametrize(("entities", "relations", "least"), [(2, 2, 1), (2, 3, 2), (3, 2, 1), (16, 1, 0), (16, 2, 8)])
def test_the_least_width_of_one_coordinate(entities: int, relations: int, least: int) -> None:
    assert least_width(entities, relations) == least
    assert relations * (least + 1) * (entities - 1) + 1 >= entities**relations
    if least:
        assert relations * least * (entities - 1) + 1 < entities**relations


def test_the_look_up_is_within_a_factor_of_its_least_width() -> None:
    for entities, relations in product((2, 3, 10, 100), (2, 3, 4)):
        built = evaluate("T1d", "width", entities=entities, relations=relations)
        assert least_width(entities, relations) <= built < 6 * relations * (least_width(entities, relations) + 1)


REAL = [(4096, 8, 16), (10, 3, 1), (10**6, 100, 200), (2, 1, 1), *product((5, 17, 90, 1234), (1, 2, 7, 30), (1, 3, 20))]


@pytest.mark.parametrize(("entities", "relations", "width"), REAL)
def test_the_least_number_of_real_coordinates(entities: int, relations: int, width: int) -> None:
    def enough(dimension: int) -> bool:
        """(e²R²WN²/2d²)^d >= N^R, with R·W at least d."""
        units = max(relations * width, dimension)
        cells = mpmath.e**2 * relations * units * mpmath.mpf(entities) ** 2 / (2 * mpmath.mpf(dimension) ** 2)
        return bool(dimension * mpmath.log(cells) >= relations * mpmath.log(entities))

    least = least_real_dimension(entities, relations, width)
    assert enough(least)
    one_is_excluded = width < least_width(entities, relations)
    assert least == 1 + one_is_excluded or not enough(least - 1)
    assert least > one_is_excluded
    assert least <= 2 * relations  # the circle's


def test_one_coordinate_is_no_answer_where_it_needs_more_units() -> None:
    """Cells alone would allow it at 4 units, where 2048 are needed."""
    assert least_width(4096, 2) == 2048
    assert [least_real_dimension(4096, 2, width) for width in (4, 2047, 2048)] == [2, 2, 1]


def test_a_circle_is_optimal_up_to_a_constant() -> None:
    """At its own width, 2R, the circle has at most seven times the least number of coordinates."""
    for entities, relations in product((64, 4096, 10**9), (1, 8, 100, 1000)):
        if relations <= entities:
            assert 2 * relations <= 7 * least_real_dimension(entities, relations, 2 * relations)


@pytest.mark.parametrize(("entities", "relations", "width", "dimension"), [(2, 2, 2, 1), (3, 2, 1, 1), (2, 2, 1, 2)])
def test_every_cell_is_visited(entities: int, relations: int, width: int, dimension: int) -> None:
    """No row drawn at random has a vector of answers that the enumeration does not list."""
    generator = np.random.default_rng(5)
    for seed in range(4):
        model = random_row_model(entities, relations, width, dimension, seed)
        found = model.vectors()
        assert len(found) <= most_vectors(entities, relations, width, dimension)
        for _ in range(200):
            row = tuple(Fraction(int(x), 997) for x in generator.integers(-20_000, 20_000, dimension))
            vector = model.answers(row)
            assert vector is None or vector in found


def test_lines_along_an_axis_count_too() -> None:
    """One unit of the first coordinate alone, whose answers change where that coordinate is 1: a vertical line."""
    zero = np.zeros((2, 2), np.int64)
    model = RowModel(np.array([[1, 0]]), np.array([[-1]]), np.array([[0, 1]]), zero, np.array([[1, 0]]))
    assert model.vectors() == {(0,), (1,)}


def test_a_tie_is_no_answer() -> None:
    same = np.zeros((1, 2), np.int64)
    model = RowModel(np.ones((1, 1), np.int64), np.zeros((1, 1), np.int64), same, same, same)
    assert model.answers((Fraction(3),)) is None
    assert model.vectors() == set()


@pytest.mark.parametrize(("entities", "relations"), list(checks.ATTAINING))
def test_the_least_width_is_attained(entities: int, relations: int) -> None:
    """And with one unit less no model has all vectors, by the count."""
    width = least_width(entities, relations)
    model = random_row_model(entities, relations, width, 1, checks.ATTAINING[entities, relations])
    assert len(model.vectors()) == entities**relations
    assert most_vectors(entities, relations, width - 1, 1) < entities**relations


def test_two_blocks_or_two_coordinates_do_with_fewer_units() -> None:
    """One coordinate is needed: T1b has R·q of them and as few units, where one coordinate would need N^{R-1}/R."""
    assert evaluate("T1b", "width", entities=1024, relations=3, bits=10) == 3 < least_width(1024, 3) == 349866
    rows = {row.label: row for row in bound_rows(settings([1024], [3], [1], [10]))}
    assert {ONE_BLOCK, ONE_COORDINATE, REALS} <= set(rows["width, d = 1"].assumptions)
    assert ONE_COORDINATE not in rows["reals"].assumptions


def test_the_checks_of_t12_find_a_count_that_is_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    run = {check.construction: check.run for check in checks.checks_of_preset(["T12"], "quick")}
    assert run["cells"]().status == "holds"
    assert run["attained"]().status == "holds"
    monkeypatch.setattr(checks, "most_vectors", lambda n, r, w, d: most_vectors(n, r, w, d) // 3)
    assert "vectors of answers" in run["cells"]().detail
    monkeypatch.setattr(checks, "least_width", lambda n, r: least_width(n, r) - 1)
    assert run["attained"]().status == "fails"


# T13.


def test_levels_are_the_pieces_of_a_range() -> None:
    assert levels(Fraction(7), Fraction(1, 2)) == 8
    assert levels(Fraction(7), Fraction(51, 100)) == 7
    assert levels(Fraction(1), Fraction(1)) == 1
    assert levels(Fraction(0), Fraction(1)) == 1
    for extent, noise in ((1, 0), (1, -1), (-1, 1)):
        with pytest.raises(InputError, match="a range is not negative, and noise is above 0"):
            levels(Fraction(extent), Fraction(noise))


@pytest.mark.parametrize("noise", [Fraction(1, 2), Fraction(1, 3), Fraction(1, 10), Fraction(7, 100)])
@pytest.mark.parametrize(("entities", "relations"), [(1000, 3), (16, 2), (7, 5)])
def test_the_least_dimension_under_noise(entities: int, relations: int, noise: Fraction) -> None:
    least = least_noisy_dimension(entities, relations, 1, Fraction(1), noise)
    apart = 1 + floor(1 / (2 * noise))
    assert least * log2(apart) > relations * log2(entities) - 1e-9
    assert (least - 1) * log2(apart) < relations * log2(entities) - 1e-9


def test_pieces_that_just_suffice() -> None:
    """Three values a coordinate, and N^R = 3² vectors: two coordinates, exactly."""
    assert least_noisy_dimension(3, 2, 1, Fraction(2), Fraction(1, 2)) == 2
    assert least_noisy_dimension(3, 1, 1, Fraction(2), Fraction(1, 2)) == 1


def test_noise_as_large_as_the_range_leaves_nothing() -> None:
    with pytest.raises(InputError, match="noise 1 leaves nothing of a range of 1"):
        least_noisy_dimension(8, 2, 1, Fraction(1), Fraction(1))


def test_the_check_of_t13_finds_a_formula_that_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    (check,) = checks.checks_of_preset(["T13"], "quick")
    assert check.run().status == "holds"
    monkeypatch.setattr(checks, "least_noisy_dimension", lambda *sizes: least_noisy_dimension(*sizes) + 1)
    assert "is the least" in check.run().detail or "T1c" in check.run().detail


# The tables.


def test_rows_of_one_hop() -> None:
    rows = {row.label: row for row in bound_rows(settings([4096], [8], [1], [4]))}
    assert rows["width, d = 1"].width == least_width(4096, 8)
    assert (rows["reals"].dimension, rows["reals"].width) == (least_real_dimension(4096, 8, 16), 16)
    assert (rows["T1b circle"].dimension, rows["T1b circle"].width, rows["T1b circle"].total_bits) == (16, 16, None)
    assert rows["noise below 1/2"].dimension == rows["universal"].dimension == rows["T13"].dimension == 24
    assert rows["T13"].ratio == 1
    assert rows["T13"].total_bits == 4096 * 24 * 4
    assert rows["T13"].width == 24
    assert rows["width, d = 1"].statement == "W >= (N^R - 1)/(R·(N-1)) - 1"
    assert rows["reals"].statement == "d·log (e²R²WN²/2d²) >= R·log N"
    assert rows["noise below 1/2"].statement == "d·log(1 + ⌊A/2δ⌋) >= log T_k"
    assert BoundSetting(4096, 8, 1, 4).shared_bits == 0
    assert NOISE in rows["noise below 1/2"].assumptions


def test_rows_of_several_hops_errors_and_maps() -> None:
    several = {row.label: row for row in bound_rows(settings([4096], [2], [3], [1]))}
    assert several["noise below 1/2"].dimension == several["universal"].dimension
    assert not {"reals", "width, d = 1", "T1b circle", "T13"} & several.keys()
    for more in ({"error": Fraction(1, 10)}, {"maps": True}):
        labels = {row.label for row in bound_rows(settings([64], [2], [1], [1], **more))}  # type: ignore[arg-type]
        assert not {"reals", "width, d = 1", "noise below 1/2"} & labels
