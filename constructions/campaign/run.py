"""Running a campaign: mutant after mutant of a seed, in one process or several, until the number or the time is up."""

from __future__ import annotations

import itertools
import multiprocessing
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from constructions.campaign.judge import judge
from constructions.campaign.mutants import mutant
from constructions.campaign.report import Report, of_one
from theory.definitions.fact_system import check_count

BATCH = 25


def reports(
    seed: int, *, mutants: int | None = None, seconds: float | None = None, workers: int = 1
) -> Iterator[Report]:
    """The report so far, after every batch: on mutants 0, 1, .. of the seed, up to that number or for so long.

    The same number of mutants of a seed gives the same report, whatever the number of workers (processes). InputError
    for a number below 1, when the first report is asked for.
    """
    check_count("seed", seed, at_least=0)
    check_count("workers", workers)
    last = None if mutants is None else check_count("mutants", mutants)
    deadline = None if seconds is None else time.monotonic() + seconds
    report = Report(seed)
    for found in _in_order(seed, _batches(last, deadline), workers):
        report += found
        yield report


def _batches(last: int | None, deadline: float | None) -> Iterator[range]:
    """Numbers of mutants, in order, as long as there are some and there is time; the first batch in any case."""
    for start in itertools.count(0, BATCH):
        if (last is not None and start >= last) or (start and deadline is not None and time.monotonic() >= deadline):
            return
        yield range(start, start + BATCH if last is None else min(start + BATCH, last))


def judge_batch(seed: int, numbers: range) -> Report:
    """The report on some mutants of a seed."""
    report = Report(seed)
    for number in numbers:
        each = mutant(seed, number)
        report += of_one(each, judge(each))
    return report


def _in_order(seed: int, batches: Iterator[range], workers: int) -> Iterator[Report]:
    """The reports on the batches, in order."""
    if workers == 1:
        yield from (judge_batch(seed, numbers) for numbers in batches)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_leave_interrupts_to_the_parent) as pool:
        try:
            pending: deque[Future[Report]] = deque()
            while True:
                # One batch more than there are workers, so that none waits for the next.
                for numbers in itertools.islice(batches, workers + 1 - len(pending)):
                    pending.append(pool.submit(judge_batch, seed, numbers))
                if not pending:
                    return
                yield pending.popleft().result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _leave_interrupts_to_the_parent() -> None:
    """Ctrl-C reaches every process of a terminal; the one that has the table ends the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def progress(mutants: int | None, seconds: float | None) -> Iterator[Callable[[Report], None]]:
    """A bar on stderr, towards the number of mutants, or of seconds; it moves when it is called with a report."""
    columns = (BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    start = time.monotonic()
    with Progress(*columns, console=Console(stderr=True)) as shown:
        bar = shown.add_task("0 mutants", total=mutants if mutants is not None else seconds)

        def show(report: Report) -> None:
            """Move the bar."""
            done = report.mutants if mutants is not None else time.monotonic() - start
            said = f"{report.mutants} mutants, {len(report.violations)} violations"
            shown.update(bar, completed=done, description=said)

        yield show
