"""What the command `compare` does and says: from what a person types to the report and its text."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

from bounds.layout import Table, render
from empirical.compare import TRAINER, Report, write
from empirical.compare import compare as run_comparison
from empirical.comparison import Comparison
from empirical.local_pool import LocalPool
from empirical.presets import preset as find_preset
from empirical.runs import RunResult
from empirical.store import open_store
from theory.errors import InputError

__all__ = ["compare", "succeeded", "text", "write"]


def compare(
    preset: str,
    store: Path,
    device: str,
    workers: int | None,
    engine: str,
    address: str | None,
    time_budget: float | None,
    progress: Callable[[int, str], object],
) -> Report:
    """Run the comparison of a preset on the engine named. InputError without PyTorch, or for an unknown preset or
    device."""
    chosen = find_preset(preset)
    if importlib.util.find_spec("torch") is None:
        raise InputError("training needs PyTorch: pip install 'geometric-recall[empirical]'")

    def tell(done: int, result: RunResult) -> None:
        progress(done, f"N = {result.config.entities}, d = {result.config.dimension}: {result.status}")

    with open_store(store) as opened:
        if engine == "local":
            if address is not None:
                raise InputError("--address is for the ray engine; leave it out, or choose --engine ray")
            with LocalPool(TRAINER, workers=workers, device=device) as pool:
                return run_comparison(chosen, opened, pool, time_budget=time_budget, progress=tell)
        from empirical.ray_engine import RayPool

        with RayPool(TRAINER, address=address, device=device) as cluster:
            return run_comparison(chosen, opened, cluster, time_budget=time_budget, progress=tell)


def succeeded(report: Report) -> bool:
    """True iff the searches are complete and no claim is "not supported"."""
    return report.complete and all(verdict.status != "not supported" for verdict in report.verdicts)


def text(report: Report) -> str:
    """The thresholds beside the theory, and the verdicts, for a terminal."""
    parts = [render(_thresholds(report, accuracy), "table") for accuracy in (0.99, 1.0)]
    for verdict in report.verdicts:
        numbers = ", ".join(f"{name} = {value:.3g}" for name, value in verdict.numbers)
        reason = f" ({verdict.reason})" if verdict.reason else ""
        parts.append(f"{verdict.claim}: {verdict.statement}: {verdict.status}{reason}\n    {numbers}\n")
    passed, checked = report.exact
    state = "complete" if report.complete else "not complete: the same command goes on"
    parts.append(
        f"{report.runs} runs, {report.failed} failed; {passed} of {checked} trained models that were put to the exact "
        f"check pass it; {state}\n"
    )
    return "\n".join(parts)


def _thresholds(report: Report, accuracy: float) -> Table:
    heads = ("curve", "d*", "interval", "bits/coordinate", "bits/scalar", "lower bound", "T1b or T2", "T2e")
    chosen = [each for each in report.thresholds if each.accuracy == accuracy]
    notes = ("d*: half of the seeds memorise. Lower bound and T1b or T2: at that many bits a coordinate, rounded up.",)
    return Table(f"Thresholds at accuracy {accuracy}", heads, tuple(_line(each) for each in chosen), notes)


def _line(found: Comparison) -> tuple[str | int | None, ...]:
    interval = f"{found.low:.1f} .. {'' if found.high is None else f'{found.high:.1f}'}"
    figures = [found.dimension, found.bits_per_coordinate, found.bits_per_scalar]
    shown = [None if value is None else f"{value:.2f}" for value in figures]
    theory = (found.universal_bound, found.universal_construction, found.middle_construction)
    return (found.curve, shown[0], interval, shown[1], shown[2], *theory)
