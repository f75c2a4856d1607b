"""The run store as text, and as JSON that can be committed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from empirical.execution.database import SCHEMA_VERSION
from empirical.execution.store import RESULT_COLUMNS, Store, StoredRun, json_number
from theory.records.writing import write_atomically

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
TOGETHER = 1000  # lines that are aligned together
WORDS = {"key", "k", "subjects", "read-out", "attention", "precision", "status"}  # the other columns are numbers


def list_lines(summaries: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """A heading, and a line for each of `Store.summaries`: N entities, R relations, k hops (CoT: by chain of thought),
    embedding dimension d, MLP width, condition, outcome. The key is its first 12 digits.

    Lines are aligned `TOGETHER` at a time, so that the first come at once however many there are; from one lot to the
    next a column can only grow.
    """
    remaining = iter(summaries)
    rows = [COLUMNS, *map(_cells, islice(remaining, TOGETHER))]
    widths = (0,) * len(COLUMNS)
    while rows:
        columns = zip(*rows, strict=True)
        widths = tuple(max(width, *map(len, cells)) for width, cells in zip(widths, columns, strict=True))
        for row in rows:
            yield "  ".join(
                cell.ljust(width) if name in WORDS else cell.rjust(width)
                for name, cell, width in zip(COLUMNS, row, widths, strict=True)
            ).rstrip()
        rows = [*map(_cells, islice(remaining, TOGETHER))]


def _cells(run: Mapping[str, Any]) -> tuple[str, ...]:
    return (
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
    )


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

    The same store gives the same bytes. They are written as they come, so that memory does not grow with their number.
    Provenance is listed once, at the end, and named by its index. NaN and infinities, which JSON lacks, are strings.
    """
    provenances: dict[str, int] = {}
    count, separator = 0, ",\n"

    def write(file: Path) -> None:
        """The heading, the runs as they come, and what was found to have made them."""
        nonlocal count
        with file.open("w", encoding="utf-8") as stream:
            stream.write(f'{{"format": "geometric-recall runs", "schema": {SCHEMA_VERSION},\n"runs": [')
            for run in store.all_runs(**where):
                known = provenances.setdefault(json.dumps(run.provenance, sort_keys=True), len(provenances))
                stream.write(separator if count else "\n")
                stream.write(json.dumps(_as_json(run, known), allow_nan=False))
                count += 1
            stream.write(f'\n],\n"provenance": [\n{separator.join(provenances)}\n]}}\n')

    write_atomically(path, write)
    return count


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
