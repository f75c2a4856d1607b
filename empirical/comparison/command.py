"""What the command `compare` does and says: from what a person types to the report and its text."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bounds.tables.layout import Table, render
from empirical.comparison.beside_theory import Comparison
from empirical.comparison.compare import TRAINER, UNFINISHED, ComparisonReport, rows, write
from empirical.comparison.compare import compare as run_comparison
from empirical.comparison.cost import CPU_CORE, GPU, estimate
from empirical.comparison.middle import MiddleOutcome, described
from empirical.comparison.presets import preset as find_preset
from empirical.comparison.search import FOUND
from empirical.comparison.structure import Cost
from empirical.execution.engine import deadline_after
from empirical.execution.local_pool import LocalPool
from empirical.execution.store import open_store
from empirical.models.runs import RunResult
from theory.errors import InputError
from theory.records.work import Work, announce

if TYPE_CHECKING:
    from empirical.execution.ray_engine import RayPool

__all__ = ["can_train", "compare", "counting", "estimated", "rows", "succeeded", "text", "write"]

WITHOUT_TORCH = "training needs PyTorch: pip install 'geometric-recall[empirical]'"


def can_train() -> bool:
    """True iff PyTorch is installed."""
    return importlib.util.find_spec("torch") is not None


@contextmanager
def counting(things: str) -> Iterator[Callable[[int, str], None]]:
    """One line on stderr that counts runs or models, and ends before anything else is said."""
    shown = False

    def show(done: int, line: str) -> None:
        """Write the line over the one before."""
        nonlocal shown
        shown = True
        print(f"\r{done} {things}: {line:60.60}", end="", file=sys.stderr, flush=True)

    try:
        yield show
    finally:
        if shown:
            print(file=sys.stderr)


def compare(
    preset: str,
    store: Path,
    device: str = "cpu",
    workers: int | None = None,
    engine: str = "local",
    address: str | None = None,
    time_budget: float | None = None,
    *,
    progress: Callable[[int, str], object],
) -> ComparisonReport:
    """Run the comparison of a preset on the engine named. InputError without PyTorch, or for an unknown preset or
    device."""
    chosen = find_preset(preset)
    if not can_train():
        raise InputError(WITHOUT_TORCH)

    def tell(done: int, result: RunResult) -> None:
        """The run in a few words, to whoever shows the progress."""
        progress(done, f"N = {result.config.entities}, d = {result.config.dimension}: {result.status}")

    if device != "cpu" and engine == "local":  # the nodes of a cluster have devices of their own
        from empirical.models.training import device_of

        device_of(device)  # a store that is finished starts no worker that would ask
    # The pool and the time first: what they refuse must not leave an empty store behind.
    deadline_after(time_budget)
    with _pool(engine, address, workers, device) as pool, open_store(store) as opened:
        priced = CPU_CORE if device == "cpu" else GPU
        seconds = int(estimate(chosen.plan, priced).seconds)
        announce(f"the preset {preset}, with nothing in the store, on {priced.name}", Work(seconds * 10**9))
        found = run_comparison(chosen, opened, pool, time_budget=time_budget, progress=tell)
    return replace(found, device=device)


def estimated(preset: str) -> str:
    """What the searches of a preset would cost, in a line a device: nothing is trained, and PyTorch is not needed.

    InputError for an unknown preset.
    """
    plan = find_preset(preset).plan
    return "".join(
        f"{preset} on {device.name}: {found.runs} runs in {found.batches} batches, {found.seconds / 60:.0f} min\n"
        for device in (CPU_CORE, GPU)
        for found in [estimate(plan, device)]
    )


def _pool(engine: str, address: str | None, workers: int | None, device: str) -> LocalPool | RayPool:
    """The engine named, with its own options and no other's."""
    if engine == "local":
        if address is not None:
            raise InputError("--address is for the ray engine; leave it out, or choose --engine ray")
        return LocalPool(TRAINER, workers=workers, device=device)
    if workers is not None:
        raise InputError("--workers is for the local engine: a Ray cluster says itself how many cores it has")
    from empirical.execution.ray_engine import RayPool

    return RayPool(TRAINER, address=address, device=device)


def succeeded(report: ComparisonReport) -> bool:
    """True iff the searches are complete, some run did not fail, and no claim is "not supported"."""
    return (
        report.complete
        and report.failed < report.runs
        and all(verdict.status != "not supported" for verdict in report.verdicts)
    )


def text(report: ComparisonReport) -> str:
    """The thresholds beside the theory, why a search ended without one, and the verdicts, for a terminal."""
    parts = [render(_thresholds(report, accuracy), "table") for accuracy in (0.99, 1.0) if not report.structure]
    parts += [render(table, "table") for table in _structure(report.structure)]
    if hindered := [f"{name}: {why}\n" for name, why in report.stopped if why not in (FOUND, UNFINISHED)]:
        parts.append("".join(hindered))
    for verdict in report.verdicts:
        numbers = ", ".join(f"{name} = {value:.3g}" for name, value in verdict.numbers)
        reason = f" ({verdict.reason})" if verdict.reason else ""
        parts.append(f"{verdict.claim}: {verdict.statement}: {verdict.status}{reason}\n    {numbers}\n")
    if report.middle:
        parts.append(render(_middle(report.middle), "table"))
    passed, checked = report.exact
    state = "complete" if report.complete else "not complete: the same command goes on"
    parts.append(
        f"{report.runs} runs, {report.failed} failed; {passed} of {checked} trained models that were put to the exact "
        f"check pass it; {state}\n"
    )
    return "\n".join(parts)


def _thresholds(report: ComparisonReport, accuracy: float) -> Table:
    heads = ("curve", "d*", "interval", "bits/coordinate", "bits/scalar", "lower bound", "T1b or T2", "T2e")
    chosen = [each for each in report.thresholds if each.accuracy == accuracy]
    notes = ("d*: half of the seeds memorise. Lower bound and T1b or T2: at that many bits a coordinate, rounded up.",)
    return Table(f"Thresholds at accuracy {accuracy}", heads, tuple(_line(each) for each in chosen), notes)


def _structure(found: Sequence[Cost]) -> list[Table]:
    """A table a setting: what each system costs."""
    heads = ("system", "ι", "scalars", "ρ", "interval", "share saved", "outcome", "why not")
    notes = ("ι: information, ρ: learned scalars at the threshold, both over those of independent bijections.",)
    tables = []
    for setting in dict.fromkeys(each.setting for each in found):
        lines: list[tuple[str | int | None, ...]] = []
        for each in found:
            if each.setting == setting:
                figures = [_figure(each.information, ".3f"), _figure(each.scalars, ".0f"), _figure(each.rho, ".2f")]
                interval = "" if each.rho is None else f"{_figure(each.low, '.2f')} .. {_figure(each.high, '.2f')}"
                saved = _figure(each.share_saved, ".2f")
                lines.append((each.system, *figures, interval, saved, each.outcome, each.reason))
        tables.append(Table(f"What is compressed, {setting}", heads, tuple(lines), notes))
    return tables


def _middle(outcomes: Sequence[MiddleOutcome]) -> Table:
    heads = ("N", "R", "k", "d", "width", "rate", "start", "before", "lowest", "after", "perfect", "interval", "moved")
    notes = (
        "Before, lowest, after: mean accuracy at the start, at its lowest along the way, and at the end. Perfect: how",
        "many runs end with every query right. Moved: mean relative distance from T2e's weights, before and after.",
    )
    lines: list[tuple[str | int | None, ...]] = []
    for each in outcomes:
        accuracies = [_figure(value, ".3f") for value in (each.accuracy_before, each.lowest, each.accuracy_after)]
        lines.append(
            (
                *(each.entities, each.relations, each.hops, each.dimension, each.width),
                *(f"{each.learning_rate:g}", described(each.noise), *accuracies),
                f"{each.perfect} of {each.runs - each.failed}",
                f"{each.low:.2f} .. {each.high:.2f}",
                f"{_figure(each.distance_before, '.2f')} .. {_figure(each.distance_after, '.2f')}",
            )
        )
    return Table("Training started at T2e, exact and moved by noise", heads, tuple(lines), notes)


def _figure(value: float | None, layout: str) -> str:
    return "" if value is None else format(value, layout)


def _line(found: Comparison) -> tuple[str | int | None, ...]:
    interval = f"{found.low:.1f} .. {'' if found.high is None else f'{found.high:.1f}'}"
    figures = [found.dimension, found.bits_per_coordinate, found.bits_per_scalar]
    shown = [None if value is None else f"{value:.2f}" for value in figures]
    theory = (found.universal_bound, found.universal_construction, found.middle_construction)
    return (found.curve, shown[0], interval, shown[1], shown[2], *theory)
