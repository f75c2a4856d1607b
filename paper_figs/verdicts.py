"""Verdicts from saved results, as rows of the ledger at the rung `measured`: what larger runs have found before.

A comparison and a probe bring a row a verdict. The study of the mechanism has a verdict for each claim on each
condition of training; there a row is a claim, which holds where every condition supports it, fails where every one
refutes it, and is undecided else: it depends on the condition, and the row says which ones support it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from empirical.statistics.verdict import STATUS, Outcome, Verdict, measured_row
from paper_figs.catalogue import MECHANISM, PROBING, STANDARD, STRUCTURE, Source
from paper_figs.saved import as_results, number, part, read
from theory.errors import InputError
from theory.records.ledger import Row


def saved_rows(results: Path) -> list[Row]:
    """The rows of every file of results that is in the folder. InputError where one is not what its command writes."""
    found = []
    for source in (STANDARD, STRUCTURE, MECHANISM, PROBING):
        path = results / source.file
        if not path.exists():
            continue  # the figures that need it say so
        try:
            with as_results():
                found += _rows(path, source)
        except InputError as error:
            raise InputError(f"{path}: {error}; make it with: {source.command}") from None
    return found


def _rows(path: Path, source: Source) -> list[Row]:
    saved = part(read(path), "verdicts", list)
    return _by_condition(saved) if source is MECHANISM else [_row(each, source) for each in saved]


def _row(values: Any, source: Source) -> Row:
    status, numbers = _outcome(values), part(values, "numbers", dict)
    found = tuple((name, number(numbers, name)) for name in numbers)
    reason = values.get("reason") or ""
    verdict = Verdict(part(values, "claim", str), part(values, "statement", str), status, "", found, reason=reason)
    coverage = f"{verdict.statement}: {verdict.status} ({verdict.figures()})"
    return measured_row(verdict.claim, f"saved: {source.file}", verdict.status, coverage, verdict.reason)


def _by_condition(verdicts: Sequence[Any]) -> list[Row]:
    """A row a claim over the trained models, and one a claim over the constructions, whose verdicts are known."""
    found = []
    for claim in dict.fromkeys(part(each, "claim", str) for each in verdicts):
        own = [each for each in verdicts if each["claim"] == claim]
        if any(not isinstance(each.get("as known"), bool | None) for each in own):
            raise InputError("'as known' of a verdict is neither true, false nor null")
        trained = [each for each in own if each["as known"] is None]
        built = [each for each in own if each["as known"] is not None]
        counts = Counter(_outcome(each) for each in trained)
        where = [part(each, "condition", str) for each in trained if each["status"] == "supported"]
        coverage = ", ".join(f"{counts[status]} {status}" for status in STATUS) + f" of {len(trained)} conditions"
        coverage += f"; supported: {'; '.join(where)}" if where else ""
        agreed: Outcome = next(iter(counts)) if len(counts) == 1 else "undecided"
        detail = "it depends on the condition" if len(counts) > 1 else ""
        found.append(measured_row(claim, f"saved: {MECHANISM.file}", agreed, coverage, detail))
        right = sum(each["as known"] for each in built)
        known: Outcome = "supported" if right == len(built) else "not supported"
        text = f"{right} of {len(built)} constructions are judged as is known"
        detail = "" if right == len(built) else "the analyses do not say what is known"
        found.append(measured_row(claim, f"saved: {MECHANISM.file}, constructions", known, text, detail))
    return found


def _outcome(values: Any) -> Outcome:
    status = part(values, "status", str)
    for known in STATUS:
        if status == known:
            return known
    raise InputError(f"it has a verdict with the status {status!r}")
