"""Verdicts on E3, E4 and E5 from made-up analyses: exactly at the bounds of the rules, and over seeds."""

from copy import deepcopy
from typing import Any

import pytest
from scipy.stats import t as student

from empirical.mechanism.readout import FOLDS
from empirical.mechanism.verdicts import ConditionVerdict, rows, verdicts

SIZES = {"entities": 96, "relations": 2, "hops": 1, "dimension": 14, "width": 15}


def interval(value: float, low: float | None = None, high: float | None = None) -> dict[str, float]:
    return {"value": value, "low": value if low is None else low, "high": value if high is None else high}


def analysis(**changes: Any) -> dict[str, Any]:
    """A trained model at which every number lies exactly at its bound."""
    none, most = interval(0.1), interval(0.9)
    control = {"decoded": none, "r_squared": none}
    fit = {"decoded": most, "r_squared": interval(0.5)}
    read_out = {
        "fit": fit,
        "shuffled answers": control,
        "random rows": control,
        "geometry": {"rank": [7, 7]},
        "subjects": 96,
    }
    ways = {"success": most, "leakage": none}
    made = {"maps": most, "inverse": None}
    return {
        "kind": "trained",
        "group": "dimension",
        "name": "N=96",
        "accuracy": 0.99,
        "sizes": SIZES,
        "read_out": read_out,
        "interventions": {"ways": {"maps": ways}, "controls": {"shuffled": ways}, "verdicts": {"maps": "supported"}},
        "hidden_units": {
            "ablated": {"own": none, "others": most},
            "as many random units ablated": {"own": most},
            "verdict": "supported",
        },
        "transfer": {"ways": made, "redrawn": {"maps": none, "inverse": None}},
    } | changes


def changed(number: dict[str, float], *path: str) -> dict[str, Any]:
    found = deepcopy(analysis())
    place = found
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = number
    return found


def judged(found: dict[str, Any], claim: str) -> ConditionVerdict:
    (verdict,) = (each for each in verdicts([found]) if each.claim == claim)
    return verdict


def test_what_lies_at_its_bound_is_supported() -> None:
    found = verdicts([analysis()])
    assert [(each.claim, each.status, each.models, each.left_out) for each in found] == [
        (claim, "supported", 1, 0) for claim in ("E3", "E4", "E4, units", "E5")
    ]
    assert all(each.as_known is None for each in found)


@pytest.mark.parametrize("path", [("decoded",), ("r_squared",)])
def test_e3_needs_both_numbers_and_fails_only_beyond_its_bound(path: tuple[str]) -> None:
    bound = {"decoded": 0.9, "r_squared": 0.5}[path[0]]
    for low, high, status in (
        (bound, 1.0, "supported"),
        (bound - 0.01, 1.0, "undecided"),
        (bound - 0.01, bound, "undecided"),
        (bound - 0.02, bound - 0.01, "not supported"),
    ):
        assert judged(changed(interval(low, high=high), "read_out", "fit", *path), "E3").status == status
    for control in ("shuffled answers", "random rows"):
        for low, high, status in ((0.0, 0.1, "supported"), (0.1, 0.11, "undecided"), (0.11, 0.2, "not supported")):
            assert judged(changed(interval(low, high=high), "read_out", control, *path), "E3").status == status


def test_e5_needs_rows_that_answer_and_a_redrawn_mlp_that_does_not() -> None:
    for low, high, status in ((0.89, 0.9, "undecided"), (0.8, 0.89, "not supported")):
        assert judged(changed(interval(low, high=high), "transfer", "ways", "maps"), "E5").status == status
    for low, high, status in ((0.1, 0.11, "undecided"), (0.11, 0.2, "not supported")):
        assert judged(changed(interval(low, high=high), "transfer", "redrawn", "maps"), "E5").status == status
    names = [name for name, *_ in judged(analysis(), "E5").numbers]
    assert names == ["maps", "maps, MLP redrawn"]


def test_as_many_directions_as_subjects_fitted_to_refuse_nothing() -> None:
    subjects = 4 * FOLDS  # of which FOLDS - 1 in FOLDS are fitted to
    for rank, status in (([2 * FOLDS, 2 * FOLDS - 4], "undecided"), ([2 * FOLDS, 2 * FOLDS - 5], "not supported")):
        short = changed(interval(0.3), "read_out", "fit", "decoded")
        short["read_out"] |= {"geometry": {"rank": rank}, "subjects": subjects}
        assert judged(short, "E3").status == status


def test_what_was_not_analysed_is_not_judged() -> None:
    assert [each.claim for each in verdicts([analysis(read_out=None, transfer=None)])] == ["E4", "E4, units"]


def test_seeds_of_a_condition_are_judged_together_and_conditions_apart() -> None:
    bad = changed(interval(0.3), "read_out", "fit", "decoded")
    found = [each for each in verdicts([analysis(), bad | {"name": "N=24"}, analysis()]) if each.claim == "E3"]
    assert [(each.condition, each.status, each.models) for each in found] == [
        ("N=96", "supported", 2),
        ("N=24", "not supported", 1),
    ]


def test_means_over_seeds_have_students_interval_within_the_range_of_a_share() -> None:
    def of(values: list[float], *path: str) -> tuple[float, float, float]:
        found = verdicts([changed(interval(value, 0.2, 0.8), "read_out", "fit", *path) for value in values])
        (numbers,) = (each.numbers for each in found if each.claim == "E3")
        return {name: tuple(rest) for name, *rest in numbers}["R²" if path == ("r_squared",) else "decoded"]

    half = student.ppf(0.975, 2) * 0.1 / 3**0.5
    assert of([0.5, 0.6, 0.7], "decoded") == pytest.approx((0.6, 0.6 - half, 0.6 + half))
    assert of([0.1, 0.2, 0.3], "decoded") == pytest.approx((0.2, 0.0, 0.2 + half))
    assert of([0.1, 0.2, 0.3], "r_squared") == pytest.approx((0.2, 0.2 - half, 0.2 + half))
    assert of([0.8, 0.9, 1.0], "r_squared") == pytest.approx((0.9, 0.9 - half, 1.0))
    assert of([0.6], "decoded") == (0.6, 0.2, 0.8)


def test_rows_say_what_each_seed_was_judged_by() -> None:
    (one, *_), (two, *_) = rows(verdicts([analysis()])), rows(verdicts([analysis(), analysis()]))
    assert "decoded 0.900 (0.900 .. 0.900)" in one.coverage
    assert one.coverage.endswith("; one model, 0 left out")
    assert "decoded 0.900," in two.coverage
    assert two.coverage.endswith("; means of 2 seeds, each judged by its own intervals, 0 left out")
    assert (one.claim, one.status, one.dimension, one.width, one.hops) == ("E3", "holds", 14, 15, 1)
    forgetful = rows(verdicts([analysis(accuracy=0.9899), analysis(accuracy=0.9)]))
    assert {row.detail for row in forgetful} == {"no model of it recalls its facts"}
    assert all(row.coverage.endswith("2 left out") and row.status == "undecided" for row in forgetful)


@pytest.mark.parametrize(("group", "known"), [("T1", True), ("T2b", False)])
def test_a_construction_is_held_against_what_is_known_of_it(group: str, known: bool) -> None:
    found = verdicts([analysis(kind="construction", group=group)])
    assert {each.as_known for each in found} == {known}
    assert {row.status for row in rows(found)} == {"holds" if known else "fails"}
    assert all(("; supported, as known" in row.coverage) is known for row in rows(found))
    assert {row.detail for row in rows(found)} == {"" if known else "the analysis does not say what is known"}
