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

from empirical.statistics.verdict import STATUS
from paper_figs.catalogue import MECHANISM, PROBING, STANDARD, Source
from paper_figs.saved import as_results, part, read
from theory.errors import InputError
from theory.records.ledger import Row, Status


def saved_rows(results: Path) -> list[Row]:
    """The rows of every file of results that is in the folder. InputError where one is not what its command writes."""
    found = []
    for source in (STANDARD, MECHANISM, PROBING):
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
    verdicts = [_verdict(each) for each in part(read(path), "verdicts", list)]
    return [_row(each, source) for each in verdicts] if source is not MECHANISM else _by_condition(verdicts)


def _verdict(values: Any) -> dict[str, Any]:
    for name in ("claim", "status"):
        part(values, name, str)
    if values["status"] not in STATUS:
        raise InputError(f"it has a verdict with the status {values['status']!r}")
    return dict(values)


def _row(verdict: dict[str, Any], source: Source) -> Row:
    numbers = ", ".join(f"{name} = {value:.3g}" for name, value in part(verdict, "numbers", dict).items())
    coverage = f"{part(verdict, 'statement', str)}: {verdict['status']} ({numbers})"
    detail = verdict.get("reason") or ""
    return Row(
        verdict["claim"], f"saved: {source.file}", "measured", STATUS[verdict["status"]], coverage, detail=detail
    )


def _by_condition(verdicts: Sequence[dict[str, Any]]) -> list[Row]:
    """A row a claim over the trained models, and one a claim over the constructions, whose verdicts are known."""
    found = []
    for claim in dict.fromkeys(each["claim"] for each in verdicts):
        own = [each for each in verdicts if each["claim"] == claim]
        if any(not isinstance(each.get("as known"), bool | None) for each in own):
            raise InputError("'as known' of a verdict is neither true, false nor null")
        trained = [each for each in own if each["as known"] is None]
        built = [each for each in own if each["as known"] is not None]
        counts = Counter(each["status"] for each in trained)
        where = [part(each, "condition", str) for each in trained if each["status"] == "supported"]
        coverage = ", ".join(f"{counts[status]} {status}" for status in STATUS) + f" of {len(trained)} conditions"
        coverage += f"; supported: {'; '.join(where)}" if where else ""
        status: Status = "undecided"
        if trained and len(counts) == 1:
            status = STATUS[trained[0]["status"]]
        detail = "it depends on the condition" if len(counts) > 1 else ""
        found.append(Row(claim, f"saved: {MECHANISM.file}", "measured", status, coverage, detail=detail))
        right = sum(each["as known"] for each in built)
        known: Status = "holds" if right == len(built) else "fails"
        text = f"{right} of {len(built)} constructions are judged as is known"
        found.append(Row(claim, f"saved: {MECHANISM.file}, constructions", "measured", known, text))
    return found
