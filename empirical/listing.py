"""The run store as text, and as JSON that can be committed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from empirical.database import SCHEMA_VERSION
from empirical.store import RESULT_COLUMNS, Store, StoredRun, json_number
from theory.writing import write_atomically

COLUMNS = (
    "key",
    "N",
    "R",
    "k",
    "d",
    "width",
    "subjects",
    "read-out",
    "attention",
    "precision",
    "seed",
    "status",
    "accuracy",
    "steps",
    "seconds",
)
WORDS = {"key", "k", "subjects", "read-out", "attention", "precision", "status"}  # the other columns are numbers


def list_text(summaries: Iterable[Mapping[str, Any]]) -> str:
    """A line for each of `Store.summaries`, aligned under a heading: N entities, R relations, k hops (CoT: by chain of
    thought), embedding dimension d, MLP width, condition, outcome. The key is its first 12 digits.
    """
    rows = [COLUMNS, *(_cells(run) for run in summaries)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    aligned = [
        "  ".join(
            cell.ljust(width) if name in WORDS else cell.rjust(width)
            for name, cell, width in zip(COLUMNS, row, widths, strict=True)
        )
        for row in rows
    ]
    return "\n".join(line.rstrip() for line in aligned)


def _cells(run: Mapping[str, Any]) -> list[str]:
    return [
        run["key"][:12],
        str(run["entities"]),
        str(run["relations"]),
        f"{run['hops']}{' CoT' if run['chain'] else ''}",
        str(run["dimension"]),
        str(run["width"]),
        run["subjects"],
        run["readout"],
        run["attention"],
        run["precision"],
        str(run["seed"]),
        run["status"],
        "" if run["accuracy"] is None else f"{run['accuracy']:.4f}",
        str(run["steps_taken"]),
        f"{run['seconds']:.1f}",
    ]


def show_text(run: StoredRun) -> str:
    """Everything that the store knows of a run: configuration, outcome, provenance, and the measurements over time."""
    result = run.result
    outcome = {name: getattr(result, name) for name in RESULT_COLUMNS if name != "error"}
    if result.error:
        outcome["error"] = result.error
    blocks = [
        f"run {result.config.key}",
        _block("configuration", result.config.as_dict()),
        _block("outcome", {**outcome, "ended": run.ended, "weights": run.weights or "not kept"}),
        _block("provenance", run.provenance),
    ]
    if result.history:
        lines = [f"{step:8d}  {loss:12.6g}  {accuracy:8.4f}" for step, loss, accuracy in result.history]
        blocks.append("\n".join([f"{'step':>8}  {'loss':>12}  {'accuracy':>8}", *lines]))
    return "\n\n".join(blocks)


def _block(title: str, values: Mapping[str, Any]) -> str:
    width = max(map(len, values), default=0)
    return "\n".join(
        [title, *(f"  {name.replace('_', ' '):{width}s}  {_plain(value)}" for name, value in values.items())]
    )


def _plain(value: Any) -> str:
    if value is None:
        return "-"
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def export_json(store: Store, path: Path, **where: object) -> int:
    """Write the runs (see `Store.all_runs`) as JSON, a line a run in the order of their configurations; how many.

    The same store gives the same bytes. Provenance is listed once and named by its index. NaN and infinities, which
    JSON lacks, are strings.
    """
    provenances: list[dict[str, str]] = []
    lines = []
    for run in store.all_runs(**where):
        if run.provenance not in provenances:
            provenances.append(run.provenance)
        lines.append(json.dumps(_as_json(run, provenances.index(run.provenance)), allow_nan=False))
    heading = f'"format": "geometric-recall runs", "schema": {SCHEMA_VERSION}'
    runs = _json_list(lines)
    known = _json_list([json.dumps(entry, sort_keys=True) for entry in provenances])
    text = f'{{{heading},\n"provenance": {known},\n"runs": {runs}}}\n'
    write_atomically(path, lambda file: file.write_text(text, encoding="utf-8"))
    return len(lines)


def _json_list(lines: Sequence[str]) -> str:
    return "[\n" + ",\n".join(lines) + "\n]" if lines else "[]"


def _as_json(run: StoredRun, provenance: int) -> dict[str, Any]:
    result = run.result
    return {
        "key": result.config.key,
        "config": result.config.as_dict(),
        **{name: getattr(result, name) for name in RESULT_COLUMNS},
        "ended": run.ended,
        "provenance": provenance,
        "weights_sha256": run.weights_sha256,
        "history": [[step, json_number(loss), json_number(accuracy)] for step, loss, accuracy in result.history],
    }
