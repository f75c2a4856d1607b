"""T1b on a circle: the errors of its weights are bounded entry by entry, and its margin is enclosed."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

from constructions.suite.checks import Sizes, check_queries
from constructions.verification.exhaustive import check_every_query
from constructions.verification.interval import check_every_query_by_intervals, circle_margin
from constructions.verification.result import Result
from constructions.weights import t1b
from constructions.weights.catalogue import Setting, entry
from tests.helpers.softmax_reference import decimal
from theory import FactSystem, Task


@pytest.mark.parametrize("entities", [2, 3, 4, 7, 16, 24, 60])
def test_circle_has_the_margin_of_the_theorem(entities: int) -> None:
    system = FactSystem.random(entities, 2)
    model = t1b.construct_circle(system)
    found = check_every_query_by_intervals(model, system, Task(), weight_errors=t1b.circle_errors(system))
    low, high = circle_margin(entities)
    assert found.status == "holds"
    assert found.low is not None
    assert found.high is not None
    assert found.low <= low <= high <= found.high
    assert 0 <= high - low < Fraction(1, 2**120)
    with mpmath.workdps(50):
        assert decimal(low) <= 1 - mpmath.cos(2 * mpmath.pi / entities) + mpmath.mpf(10) ** -45
        assert decimal(high) >= 1 - mpmath.cos(2 * mpmath.pi / entities) - mpmath.mpf(10) ** -45
    # The weights as they are, rounded, taken as fractions: the margin is exact and within rounding of the real one.
    rounded = check_every_query(model, system, Task(), rational=True)
    assert rounded.holds
    assert found.low <= rounded.margin <= found.high
    assert abs(rounded.margin - low) < Fraction(1, 10**14)


def real_circle(system: FactSystem) -> dict[str, list[list[Any]]]:
    """T1b's W_E and W_U on a circle, from the definition, in mpmath's decimals."""
    points = [
        (mpmath.cos(2 * mpmath.pi * a / system.entities), mpmath.sin(2 * mpmath.pi * a / system.entities))
        for a in range(system.entities)
    ]
    subjects = [[c for a in system.answers[:, x].tolist() for c in points[a]] for x in range(system.entities)]
    gates = [[1 if c // 2 == r else -1 for c in range(2 * system.relations)] for r in range(system.relations)]
    rows = [[point[axis] for point in points] for axis in (0, 1)]
    return {"W_E": subjects + gates, "W_U": rows + [[0] * system.entities] * (2 * system.relations - 2)}


def distances(system: FactSystem) -> dict[str, NDArray[Any]]:
    """How far each weight of the circle is from the real one."""
    model, real = t1b.construct_circle(system), real_circle(system)
    tensors = dict(model.tensors())
    return {
        name: np.array(
            [
                [abs(mpmath.mpf(a) - b) for a, b in zip(*rows, strict=True)]
                for rows in zip(tensors[name].tolist(), wanted, strict=True)
            ]
        )
        for name, wanted in real.items()
    }


@pytest.mark.parametrize("entities", [*range(2, 40), 64, 100, 200, 360, 997])
def test_the_circle_is_enclosed_entry_by_entry(entities: int) -> None:
    """Every entry, and by no more than it needs; the tensors that have no errors hold integers."""
    system = FactSystem.random(entities, 2)
    errors = t1b.circle_errors(system)
    assert list(errors) == ["W_E", "W_U"]
    with mpmath.workdps(50):
        for name, distance in distances(system).items():
            assert errors[name].shape == distance.shape
            assert (distance <= errors[name] + mpmath.mpf(10) ** -40).all()
            assert (errors[name] <= distance * (1 + mpmath.mpf(2) ** -50) + mpmath.mpf(10) ** -40).all()
            assert errors[name].max() < 2.0**-49
    for name, array in t1b.construct_circle(system).tensors():
        assert name in errors or (array == np.rint(array)).all()


@pytest.mark.parametrize("entities", [24, 200])
def test_the_real_circle_is_further_away_than_one_rounding(entities: int) -> None:
    """Why the errors are computed: 2^-52 for all would not reach the real weights."""
    with mpmath.workdps(50):
        furthest = max(distance.max() for distance in distances(FactSystem.random(entities, 2)).values())
    assert furthest > 2.0**-52


def test_the_ledger_names_what_was_not_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row has the bounds that are known and the reason; the circle fails when its margin is another one."""
    circle, sizes = entry("T1b", "circle"), Sizes(5, 2, Setting())
    row = check_queries(circle, sizes)
    assert (row.status, row.detail) == ("holds", "")
    for margin in ((Fraction(3), Fraction(4)), (Fraction(0), Fraction(1, 10))):
        monkeypatch.setattr("constructions.suite.checks.circle_margin", lambda _, margin=margin: margin)
        row = check_queries(circle, sizes)
        assert (row.status, row.detail) == ("fails", "the margin is not 1 - cos(2π/N)")
    unknown = Result("undecided", 10, None, None, reason="a query is not decided")
    monkeypatch.setattr("constructions.suite.checks.check_every_query_by_intervals", lambda *_, **__: unknown)
    row = check_queries(circle, sizes)
    assert (row.status, row.detail, row.margin) == ("undecided", "a query is not decided", None)
