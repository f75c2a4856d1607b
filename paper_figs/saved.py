"""Saved results, read into records, and refused in one line where they are not what their command writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from empirical.comparison.beside_theory import Comparison
from empirical.comparison.curves import Curve
from empirical.comparison.laws import Measured
from empirical.comparison.presets import ComparisonPreset, preset
from empirical.models.runs import MEMORISED_AT
from empirical.statistics.threshold import Threshold
from theory.errors import InputError
from theory.records.reading import read_json

Record = TypeVar("Record")


def read(path: Path) -> Any:
    """The JSON in a file. InputError where there is none."""
    if not path.exists():
        raise InputError(f"there is no {path}")
    return read_json(path)


@contextmanager
def as_results() -> Iterator[None]:
    """Whatever goes wrong inside, where saved results are used, is an InputError: they are not what their command
    writes."""
    try:
        yield
    except (InputError, MemoryError):
        raise
    except Exception as error:  # any number or text may stand where another is expected
        raise InputError(f"its entries do not fit together ({type(error).__name__}: {error})") from error


def part(values: Any, name: str, kind: type[Record]) -> Record:
    """The entry of that name, which is of that type. InputError otherwise."""
    if not isinstance(values, dict) or not isinstance(values.get(name), kind):
        raise InputError(f"it has no {name!r} that is a {kind.__name__}")
    found: Record = values[name]
    return found


def number(values: Any, name: str) -> float:
    """The entry of that name, a number. InputError otherwise."""
    if not isinstance(values, dict) or type(values.get(name)) not in (int, float):
        raise InputError(f"it has no {name!r} that is a number")
    return float(values[name])


def record(kind: Callable[..., Record], values: Any) -> Record:
    """The dataclass whose fields are these values. InputError for other names, or values of another type; a list may
    stand for a tuple."""
    hints = get_type_hints(kind)
    names = {each.name for each in fields(kind)}  # type: ignore[arg-type]
    if not isinstance(values, dict) or set(values) != names:
        raise InputError(f"one of its entries is no {getattr(kind, '__name__', kind)}")
    made = {}
    for name, given in values.items():
        hint = hints[name]
        if get_origin(hint) is tuple:
            made[name] = _tuple(name, given, get_args(hint))
            continue
        made[name] = value = given
        allowed = get_args(hint) if isinstance(hint, UnionType) else (hint,)
        if float in allowed and isinstance(value, int) and not isinstance(value, bool):
            continue
        if type(value) not in allowed and value not in [each for one in allowed for each in get_args(one)]:
            raise InputError(f"{name} is {value!r} in one of its entries")
    return kind(**made)


def _tuple(name: str, given: Any, kinds: tuple[Any, ...]) -> tuple[Any, ...]:
    """The list of JSON as the tuple that it stands for. InputError for other entries."""
    numbers = {int, float} if float in kinds else set(kinds)
    if not isinstance(given, list) or len(given) != len(kinds) or not {type(each) for each in given} <= numbers:
        raise InputError(f"{name} is {given!r} in one of its entries")
    return tuple(given)


@dataclass(frozen=True)
class Point:
    """A curve of a comparison with its threshold d* at accuracy 0.99 and the interval of that."""

    curve: Curve
    dimension: float
    low: float
    high: float


def preset_of(report: Any, *, unfinished: bool = False) -> ComparisonPreset:
    """The preset of a comparison's report. InputError for a comparison that is not complete, unless it may be."""
    if not part(report, "complete", bool) and not unfinished:
        raise InputError("the comparison is not complete")
    return preset(part(report, "preset", str))


def thresholds_of(report: Any) -> dict[Curve, Comparison]:
    """The thresholds at accuracy 0.99 of all curves of the preset, in its order. InputError if one is missing."""
    chosen = preset_of(report)
    found = (record(Comparison, values) for values in part(report, "thresholds", list))
    known = {each.curve: each for each in found if each.accuracy == MEMORISED_AT}
    if missing := [curve.name for curve in chosen.plan.curves if curve.name not in known]:
        raise InputError(f"it lacks the curve {missing[0]!r} of the preset {chosen.name}")
    return {curve: known[curve.name] for curve in chosen.plan.curves}


def points(report: Any, experiment: str) -> list[Point]:
    """The thresholds of one experiment, in the order of the preset; those bounded on one side only are left out.

    None if the preset has no such experiment. InputError as in `thresholds_of`.
    """
    known = thresholds_of(report)
    curves = dict(preset_of(report).experiments).get(experiment, ())
    return [
        Point(curve, found.dimension, found.low, found.high)
        for curve, found in ((curve, known[curve]) for curve in curves)
        if found.dimension is not None and found.low > 0 and found.high is not None
    ]


def measured_of(report: Any) -> dict[Curve, Measured]:
    """The thresholds as the laws take them; those of curves whose success is not monotone in d are left out."""
    return {
        curve: Measured(
            curve,
            Threshold(
                found.accuracy, found.dimension, found.low, found.high, None, False, 0.95, (), found.left_out, ()
            ),
        )
        for curve, found in thresholds_of(report).items()
        if found.monotone
    }


@dataclass(frozen=True)
class Trial:
    """Runs of a curve at one dimension: how many memorised, of how many, and the scalars that each trained."""

    dimension: int
    memorised: int
    runs: int
    trained_scalars: int


def trials_of(tally: Any, report: Any) -> dict[Curve, list[Trial]]:
    """The trials of each curve of a report, from what `paper_figs.trials` writes.

    InputError if they are of another preset, or lack a curve.
    """
    chosen = preset_of(report)
    if part(tally, "preset", str) != chosen.name:
        raise InputError(f"the trials are of the preset {tally['preset']!r}, the report of {chosen.name!r}")
    found = {}
    for each in part(tally, "curves", list):
        rows = part(each, "trials", list)
        if any(not isinstance(row, list) or [type(value) for value in row] != [int] * 4 for row in rows):
            raise InputError("a trial is [dimension, runs that memorised, runs, trained scalars], whole numbers")
        found[part(each, "curve", str)] = [Trial(*row) for row in rows]
    if missing := [curve.name for curve in chosen.plan.curves if curve.name not in found]:
        raise InputError(f"there are no trials of the curve {missing[0]!r}")
    return {curve: found[curve.name] for curve in chosen.plan.curves}
