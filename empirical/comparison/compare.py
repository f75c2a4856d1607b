"""The comparison: train every curve of a preset to its threshold, and hold the thresholds against the theory.

The search asks for runs in batches (`search.Plan`), the engine runs what the store lacks, and both are deterministic:
the same call after an interruption goes on where it stopped and ends with the same rows and the same report.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

from numpy.typing import NDArray

from empirical.comparison.beside_theory import Comparison, beside_theory
from empirical.comparison.capacity_fit import Residual
from empirical.comparison.laws import measure
from empirical.comparison.middle import MiddleOutcome
from empirical.comparison.middle import middle as train_from_middle
from empirical.comparison.middle import rows as middle_rows
from empirical.comparison.presets import ComparisonPreset
from empirical.comparison.search import Trace
from empirical.comparison.structure import Cost, costs
from empirical.comparison.structure import verdicts as structure_verdicts
from empirical.comparison.verdicts import of_preset
from empirical.execution.engine import Pool, deadline_after, run_on
from empirical.execution.provenance import provenance
from empirical.execution.store import Store
from empirical.models.runs import MEMORISED_AT, RunConfig, RunResult
from empirical.statistics.verdict import Verdict, measured_row
from theory.records.ledger import Row
from theory.records.writing import write_atomically

TRAINER = "empirical.comparison.compare:train_and_check"
UNFINISHED = "not finished"

Progress = Callable[[int, RunResult], None]


@dataclass(frozen=True)
class ComparisonReport:
    """What a comparison found. `complete` is False when the time was over before the searches had stopped.

    `thresholds` are at accuracy 0.99 and at 1.0; `stopped` says of each curve why its search ended; `exact` counts the
    runs that memorised and pass the exact check, of those that were put to it. `middle` is what training from T2e came
    to, for presets that ask for it; `runs` does not count it. `structure` is what each system of E9 costs in each
    setting, as far as is known; thresholds beside the theory are those of independent systems only, which it is about.
    """

    preset: str
    complete: bool
    runs: int
    failed: int
    exact: tuple[int, int]
    stopped: tuple[tuple[str, str], ...]
    thresholds: tuple[Comparison, ...]
    verdicts: tuple[Verdict, ...]
    residuals: tuple[tuple[str, Residual], ...]
    middle: tuple[MiddleOutcome, ...] = ()
    structure: tuple[Cost, ...] = ()
    device: str = "cpu"

    def as_json(self) -> str:
        """The report as JSON, with the versions that made it."""
        values: dict[str, Any] = {
            "preset": self.preset,
            "complete": self.complete,
            "runs": self.runs,
            "failed": self.failed,
            "exact": {"checked": self.exact[1], "passed": self.exact[0]},
            "provenance": provenance(self.device),
            "stopped": dict(self.stopped),
            "thresholds": [each.as_json() for each in self.thresholds],
            "verdicts": [each.as_dict() for each in self.verdicts],
            "capacity_law": [{"group": group, **row.as_json()} for group, row in self.residuals],
            "middle": [each.as_json() for each in self.middle],
            "structure": [each.as_json() for each in self.structure],
        }
        return json.dumps(values, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def train_and_check(configs: Sequence[RunConfig], device: str) -> Iterator[tuple[RunResult, dict[str, NDArray[Any]]]]:
    """The trainer of a work unit: train, and put what memorised every fact to the exact check where it is not too
    large. Raises MemoryError when the memory does not suffice for a run: others may have filled it.
    """
    from empirical.models.conversion import exact_check
    from empirical.models.training import OUT_OF_MEMORY, train_each

    for _, done in train_each(configs, device):
        result = done.result
        if result.error.startswith(OUT_OF_MEMORY):
            raise MemoryError(result.error.removeprefix(OUT_OF_MEMORY))
        if result.perfect:
            result = dataclasses.replace(result, exact=exact_check(done.parameters, result.config))
        yield result, {name: tensor.numpy() for name, tensor in done.parameters.items()}


def compare(
    preset: ComparisonPreset,
    store: Store,
    pool: Pool,
    *,
    time_budget: float | None = None,
    progress: Progress = lambda done, result: None,
) -> ComparisonReport:
    """Run the searches of a preset to their end, or until `time_budget` seconds are over, and judge what is known.

    Training from T2e comes last, in this process: it is short, and no threshold depends on it, so it is not stored, and
    is not begun once the time is over. InputError for a time budget that is negative or NaN.
    """
    deadline = deadline_after(time_budget)
    results: dict[RunConfig, RunResult] = {}

    def known(config: RunConfig) -> RunResult | None:
        """What the store has of the run. Only what the searches ask for is read, and once: it may hold far more."""
        if config not in results and (stored := store.find(config.key)) is not None:
            results[config] = stored.result
        return results.get(config)

    while batch := preset.plan.next_batch(known):
        left = max(0.0, deadline - monotonic())
        sweep = run_on(pool, batch, store, time_budget=left, progress=partial(_count_on, progress, len(results)))
        results |= {result.config: result for result in sweep.results}
        if sweep.missing:
            break
    report = judge(preset, preset.plan.traces(known))
    if not report.complete or not preset.middle_sizes:
        return report
    if monotonic() > deadline:
        return dataclasses.replace(report, complete=False)
    found = train_from_middle(preset.middle_sizes, progress=lambda done, run: progress(len(results) + done, run))
    return dataclasses.replace(report, middle=found)


def _count_on(progress: Progress, before: int, done: int, total: int, result: RunResult) -> None:
    """Tell how many runs there are in all, and not in the batch."""
    progress(before + done, result)


def judge(preset: ComparisonPreset, traces: Sequence[Trace]) -> ComparisonReport:
    """Thresholds and E8's table from the runs that the searches used, and verdicts once the searches are complete;
    those of E9 before that too, undecided where runs are missing."""
    complete = all(trace.stopped for trace in traces)
    runs = {run.config: run for trace in traces for run in trace.runs}
    thresholds = []
    for accuracy in (MEMORISED_AT, 1.0):
        measured = {trace.curve: measure(trace.curve, trace.runs, accuracy) for trace in traces}
        thresholds += [beside_theory(each) for curve, each in measured.items() if curve.independent]
        if accuracy == MEMORISED_AT and complete:
            verdicts, residuals = of_preset(preset, measured)
    by_curve = {trace.curve: trace for trace in traces}
    found = {setting.name: costs(setting, by_curve) for setting in preset.settings}
    checked = [run.exact for run in runs.values() if run.exact is not None]
    return ComparisonReport(
        preset=preset.name,
        complete=complete,
        runs=len(runs),
        failed=sum(run.status == "failed" for run in runs.values()),
        exact=(sum(checked), len(checked)),
        stopped=tuple((trace.curve.name, trace.stopped or UNFINISHED) for trace in traces),
        thresholds=tuple(thresholds),
        verdicts=(verdicts if complete else ()) + structure_verdicts(preset.settings, found),
        residuals=residuals if complete else (),
        structure=tuple(cost for each in found.values() for cost in each),
    )


def rows(report: ComparisonReport) -> list[Row]:
    """The verdicts, and whether T2e is stable under training, as rows of the ledger, at the rung `measured`."""
    found = []
    for verdict in report.verdicts:
        numbers = verdict.figures()
        told = f"{numbers}; {verdict.curves} curves" if numbers else f"{verdict.curves} curves"
        coverage = f"preset {report.preset}: {verdict.status} ({told})"
        found.append(measured_row(verdict.claim, verdict.statement, verdict.status, coverage, verdict.reason))
    return found + middle_rows(report.middle)


def write(report: ComparisonReport, path: Path) -> None:
    """Write the report as JSON, whole or not at all."""
    write_atomically(path, lambda file: file.write_text(report.as_json(), encoding="utf-8"))
