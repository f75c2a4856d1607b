"""Small comparisons, and what their tests ask of the command line."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import georecall
from empirical.comparison import compare
from empirical.comparison.curves import Curve, curve
from empirical.comparison.presets import ComparisonPreset
from empirical.comparison.search import Plan
from empirical.execution.store import Outcome, open_store
from empirical.execution.worker import Report
from empirical.models.runs import RunConfig, RunResult
from tests.helpers.simulated import result

needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None,
    reason="torch is not installed: pip install 'geometric-recall[empirical]'",
)


def preset_of(
    name: str, experiments: dict[str, tuple[Curve, ...]], fitted: tuple[Curve, ...], **search: Any
) -> ComparisonPreset:
    """A preset whose remaining curves of `capacity` are held out."""
    every = tuple(dict.fromkeys(each for curves in experiments.values() for each in curves))
    held_out = tuple(each for each in experiments["capacity"] if each not in fitted)
    return ComparisonPreset(
        name=name,
        experiments=tuple(experiments.items()),
        law_fitted=fitted,
        law_held_out=(("larger sizes", held_out),),
        plan=Plan(every, **search),
    )


TINY_CURVES = tuple(curve(16, relations, steps=100, check_every=25) for relations in (1, 2))
TINY = preset_of("tiny", {"capacity": TINY_CURVES}, TINY_CURVES[:1], seeds=2, budget=10, largest_dimension=8)

SIZES = [(entities, relations) for entities in (32, 128, 512, 2048) for relations in (2, 4)]
LEARNED = tuple(curve(*size) for size in SIZES)
MADE_UP = preset_of("made up", {"capacity": LEARNED}, LEARNED[:3], seeds=3)


def from_dimension_12_on(config: RunConfig) -> RunResult:
    """A threshold that grows with neither R nor N, of models that are not trained."""
    return result(config, config.dimension >= 12)


class InProcess:
    """A pool without processes, of runs that end as they are told."""

    capacity, unit_size = 1, None

    def __init__(self, outcome: Callable[[RunConfig], RunResult]) -> None:
        self._outcome = outcome
        self._reports: list[Report] = []

    def __enter__(self) -> InProcess:
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()

    def submit(self, unit: int, configs: Sequence[RunConfig]) -> None:
        self._reports += [Report(unit, Outcome(self._outcome(config))) for config in configs]
        self._reports.append(Report(unit, ended=True))

    def wait(self) -> list[Report]:
        reports, self._reports = self._reports, []
        return reports

    def close(self) -> None:
        self._reports.clear()


def made_up(
    preset: ComparisonPreset, outcome: Callable[[RunConfig], RunResult], path: Path
) -> compare.ComparisonReport:
    with open_store(path) as store:
        return compare.compare(preset, store, InProcess(outcome))


def run(*arguments: str | Path) -> Result:
    found = CliRunner().invoke(georecall.main, [str(argument) for argument in arguments])
    assert found.exception is None or isinstance(found.exception, SystemExit), found.exc_info
    return found


def refused(found: Result, message: str) -> None:
    """One line on stderr that says so, and exit status 2."""
    assert found.exit_code == 2, found.output
    assert found.stdout == ""
    [line] = found.stderr.splitlines()
    assert line.startswith("georecall: ")
    assert message in line
