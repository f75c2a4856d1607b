"""The run store: every training run in one SQLite file, one row a run, known by the hash of its configuration.

A row holds the configuration (with its seed and precision), the outcome, the measurements over time and the provenance
(see `empirical.execution.provenance`), and names the run's weights, a .safetensors file in the directory
`<store>.weights` beside the store, whose metadata repeat the configuration.

What a kill at any moment, or a power cut, can leave behind:

* Rows are written in one transaction, so each is there whole or not at all. The journal is SQLite's rollback journal
  with full synchronisation, not the write-ahead log: a store is then one file that can be copied, read from a read-only
  directory, and shared over a network file system, none of which holds for the log. A commit costs some milliseconds,
  and runs take seconds.
* Weights are written to a temporary file, flushed to the disk and renamed before the row is committed, under a name
  that holds the hash of their content. So a row never names weights that are missing or another run's. A temporary file
  that was left is deleted when the store is next opened to write; another file that no row names is harmless, and
  `prune` deletes it.

Runs are read a few at a time, each few in a transaction of their own: a store may hold more runs than fit in memory,
and whoever looks through them keeps nobody from writing.

A run that is there stays: writing it again changes nothing, unless it had failed. Every fault (locked, read-only,
damaged, foreign or newer file, full disk) is an InputError of one line, and leaves the store as it was.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray

from empirical.execution.database import COLUMNS, ORDER, WEIGHTS, explained, field, fits, open_database, transaction
from empirical.models.runs import RunConfig, RunResult
from theory.errors import InputError
from theory.records.reading import parse_json, read_tensors
from theory.records.writing import write_atomically

RESULT_COLUMNS = ("status", "accuracy", "steps_taken", "seconds", "trained_scalars", "exact", "error")
SUMMARY_COLUMNS = ("key", "config", *RESULT_COLUMNS, "ended", "weights")

# A failed run that is replaced keeps its place in the table, so that those who read meanwhile find it.
INSERT = (
    f"INSERT INTO runs ({', '.join(COLUMNS)}) VALUES ({', '.join(':' + name for name in COLUMNS)}) "
    f"ON CONFLICT (key) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in COLUMNS)}"
)

ROWS_AT_ONCE = 250  # rows that are read in one go
LARGEST = 2**63 - 1  # SQLite's largest number

WEIGHTS_NAME = re.compile(r"[0-9a-f]{64}-[0-9a-f]{16}\.safetensors")
UNFINISHED_NAME = re.compile(rf"\.{WEIGHTS_NAME.pattern}\.\w+")  # see `theory.records.files.write_atomically`


class Outcome(NamedTuple):
    """A run that has ended: its result, its tensors by name (None: not kept), and where and with what it was run."""

    result: RunResult
    weights: Mapping[str, NDArray[Any]] | None = None
    provenance: Mapping[str, str] = {}


@dataclass(frozen=True)
class StoredRun:
    """A row: the result, its provenance, when it ended (UTC, ISO 8601), and its weights' file and SHA-256 (None where
    none were kept).
    """

    result: RunResult
    provenance: dict[str, str]
    ended: str
    weights: str | None
    weights_sha256: str | None


class Pruned(NamedTuple):
    """How many rows of failed runs, and how many files of weights that no row named, were deleted."""

    runs: int
    files: int


class Store:
    """An open run store. Close it, or use it as a context manager.

    Every method raises InputError when the file cannot be read or written, or is damaged.
    """

    def __init__(self, path: Path, read_only: bool, patience: float) -> None:
        self._connection = open_database(path, read_only, patience)  # first: a path like "." or "/" names no file
        self.path = path
        self.weights_directory = path.with_name(path.name + WEIGHTS)
        self._read_only = read_only
        try:
            self._clear_unfinished()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. What was written is already safe."""
        self._connection.close()

    def add(
        self,
        result: RunResult,
        weights: Mapping[str, NDArray[Any]] | None = None,
        provenance: Mapping[str, str] | None = None,
    ) -> bool:
        """Write one run in one transaction; False, and nothing is changed, if it was there and had not failed."""
        return self.add_all([Outcome(result, weights, provenance=provenance or {})]) == 1

    def add_all(self, outcomes: Iterable[Outcome]) -> int:
        """Write runs, all or none, in one transaction; how many were new, or replaced a failed run."""
        written = 0
        with self._writing():
            for outcome in outcomes:
                if self._status(outcome.result.config.key) in (None, "failed"):
                    file, digest = self._write_weights(outcome)
                    self._connection.execute(INSERT, _encode(outcome, file, digest))
                    written += 1
        return written

    def has(self, key: str) -> bool:
        """True iff the run is in the store, whatever came of it."""
        with explained(self.path):
            return self._status(key) is not None

    def find(self, key: str) -> StoredRun | None:
        """The run with this whole key; None when there is none."""
        with explained(self.path):
            row = self._connection.execute(f"SELECT {', '.join(COLUMNS)} FROM runs WHERE key = ?", (key,)).fetchone()
        return None if row is None else self._decode(dict(zip(COLUMNS, row, strict=True)))

    def get(self, key: str) -> StoredRun:
        """The run with this key, or with the only key that starts so; InputError when there is none, or several."""
        if re.fullmatch("[0-9a-f]{1,64}", key) is None:
            raise InputError(f"{key!r} is not a run's key, nor the start of one: those are hexadecimal digits")
        query = f"SELECT {', '.join(COLUMNS)} FROM runs WHERE key >= ? AND key < ? LIMIT 2"
        with explained(self.path):
            rows = self._connection.execute(query, (key, key + "g")).fetchall()
        if not rows:
            raise InputError(f"{self.path} holds no run with the key {key}")
        if len(rows) > 1:
            raise InputError(f"{self.path} holds several runs whose keys start with {key}: give more of it")
        return self._decode(dict(zip(COLUMNS, rows[0], strict=True)))

    def all_runs(self, **where: object) -> Iterator[StoredRun]:
        """The runs with the given values of fields of RunConfig, or `status`, in the order of their configurations."""
        return map(self._decode, self._select(tuple(COLUMNS), where, LARGEST, 0))

    def summaries(self, limit: int = LARGEST, offset: int = 0, **where: object) -> Iterator[dict[str, Any]]:
        """As `all_runs`, but quick: a dictionary a run, of the fields of its configuration and result except the
        history, and `key`, `ended` and `weights`. At most `limit` of them, after the first `offset`.
        """
        for values in self._select(SUMMARY_COLUMNS, where, limit, offset):
            config = self._config(values)
            del values["config"]
            yield {**values, "exact": None if values["exact"] is None else bool(values["exact"]), **config.as_dict()}

    def load_weights(self, key: str) -> dict[str, NDArray[Any]]:
        """The tensors of a run, by name; InputError when none were kept, or the file is missing or damaged."""
        run = self.get(key)
        if run.weights is None:
            raise InputError(f"the weights of the run {key} were not kept")
        if not WEIGHTS_NAME.fullmatch(run.weights):
            raise InputError(f"{self.path} is damaged: {run.weights!r} is no name of weights; restore the file")
        file = self.weights_directory / run.weights
        try:
            with file.open("rb") as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError as error:
            raise InputError(f"cannot read {file}: {error.strerror or error}") from None
        if digest != run.weights_sha256:
            raise InputError(f"{file} is damaged: its content is not what the run wrote")
        return read_tensors(file).arrays

    def prune(self, *, failed: bool = False) -> Pruned:
        """Delete the files of weights that no row names, and first, if asked, the failed runs."""
        runs = 0
        if failed:
            with self._writing():
                runs = self._connection.execute("DELETE FROM runs WHERE status = 'failed'").rowcount
        # The transaction keeps other writers from renaming weights into place whose row is not yet there.
        with self._writing():
            named = {name for (name,) in self._connection.execute("SELECT weights FROM runs WHERE weights IS NOT NULL")}
            orphans = [name for name in self._weights(WEIGHTS_NAME) if name not in named]
            files = self._delete([*orphans, *self._weights(UNFINISHED_NAME)])
        return Pruned(runs, files)

    def _clear_unfinished(self) -> None:
        """Delete what writers that were killed had not finished. Weights are written within a transaction, so what is
        still there once this one has begun is nobody's.
        """
        if not self._read_only and (names := list(self._weights(UNFINISHED_NAME))):
            with self._writing():
                self._delete(names)

    def _weights(self, pattern: re.Pattern[str]) -> Iterator[str]:
        """The names in the directory of weights that match."""
        try:
            with os.scandir(self.weights_directory) as entries:
                yield from (entry.name for entry in entries if pattern.fullmatch(entry.name))
        except FileNotFoundError:
            return
        except OSError as error:
            raise InputError(f"cannot read {self.weights_directory}: {error.strerror or error}") from None

    def _delete(self, names: Sequence[str]) -> int:
        """Delete files of the directory of weights; how many."""
        for name in names:
            try:
                (self.weights_directory / name).unlink(missing_ok=True)
            except OSError as error:
                raise InputError(f"cannot delete {self.weights_directory / name}: {error.strerror or error}") from None
        return len(names)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """A transaction: all or nothing, and no other writer meanwhile."""
        if self._read_only:
            raise InputError(f"cannot write {self.path}: it was opened read-only")
        with explained(self.path), transaction(self._connection):
            yield

    def _status(self, key: str) -> str | None:
        row = self._connection.execute("SELECT status FROM runs WHERE key = ?", (key,)).fetchone()
        return None if row is None else row[0]

    def _select(
        self, columns: tuple[str, ...], where: Mapping[str, object], limit: int, offset: int
    ) -> Iterator[dict[str, Any]]:
        """The values of the columns of the runs with these values, in the order of their configurations. A run that is
        deleted meanwhile is left out.
        """
        fields = set(RunConfig.__dataclass_fields__)
        for name in where:
            if name not in fields | {"status"}:
                raise InputError(f"runs have no field {name!r}; the fields are status, {', '.join(sorted(fields))}")
        wanted = " AND ".join(f"{name if name == 'status' else field(name)} IS ?" for name in where) or "TRUE"
        query = f"SELECT rowid FROM runs WHERE {wanted} ORDER BY {ORDER} LIMIT ? OFFSET ?"
        values = (*where.values(), min(limit, LARGEST), min(offset, LARGEST))
        with explained(self.path):
            places = array("q", (place for (place,) in self._connection.execute(query, values)))
        for begin in range(0, len(places), ROWS_AT_ONCE):
            some = places[begin : begin + ROWS_AT_ONCE]
            query = f"SELECT rowid, {', '.join(columns)} FROM runs WHERE rowid IN ({', '.join('?' * len(some))})"
            with explained(self.path):
                found = {place: row for place, *row in self._connection.execute(query, some)}
            for place in some:
                if place in found:
                    yield dict(zip(columns, found[place], strict=True))

    def _write_weights(self, outcome: Outcome) -> tuple[str | None, str | None]:
        """Write the weights, if any; their file's name and SHA-256."""
        if outcome.weights is None:
            return None, None
        tensors = {name: np.ascontiguousarray(array) for name, array in outcome.weights.items()}
        content = safetensors.numpy.save(tensors, {"config": json.dumps(outcome.result.config.as_dict())})
        digest = hashlib.sha256(content).hexdigest()
        name = f"{outcome.result.config.key}-{digest[:16]}.safetensors"
        try:
            self.weights_directory.mkdir(exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot write {self.weights_directory}: {error.strerror or error}") from None
        write_atomically(self.weights_directory / name, lambda file: _write_through(file, content))
        return name, digest

    def _decode(self, values: dict[str, Any]) -> StoredRun:
        config = self._config(values)
        with self._damaged_row(values["key"]):
            if config.key != values["key"]:
                raise ValueError
            history = tuple((int(step), float(loss), float(hit)) for step, loss, hit in parse_json(values["history"]))
            result = {name: values[name] for name in RESULT_COLUMNS}
            result["exact"] = None if result["exact"] is None else bool(result["exact"])
            provenance, weights = _provenance(values["provenance"]), values["weights"]
            if weights is not None and not WEIGHTS_NAME.fullmatch(weights):
                raise ValueError
            run = RunResult(config, history=history, **result)
            return StoredRun(run, provenance, values["ended"], weights, values["weights_sha256"])

    def _config(self, values: dict[str, Any]) -> RunConfig:
        with self._damaged_row(values["key"]):
            if not all(fits(column, value) for column, value in values.items()):
                raise ValueError
            return RunConfig(**parse_json(values["config"]))

    @contextlib.contextmanager
    def _damaged_row(self, key: object) -> Iterator[None]:
        try:
            yield
        except (ValueError, TypeError, OverflowError, RecursionError):
            raise InputError(
                f"{self.path} is damaged: the row of the run {key} does not say what its key says; restore the file"
            ) from None


def open_store(path: Path | str, read_only: bool = False, *, patience: float = 30.0) -> Store:
    """Open the run store, or make an empty one unless `read_only`; see `database.open_database` for what it raises.

    `patience` is how many seconds to wait, here and later, for another process's lock.
    """
    return Store(Path(path), read_only, patience)


def _provenance(text: str) -> dict[str, str]:
    found = parse_json(text)
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise ValueError
    return found


def _encode(outcome: Outcome, file: str | None, digest: str | None) -> dict[str, Any]:
    result = outcome.result
    history = [(int(step), json_number(loss), json_number(accuracy)) for step, loss, accuracy in result.history]
    return {
        "status": result.status,
        "error": result.error,
        # NumPy's numbers are not SQLite's.
        "steps_taken": int(result.steps_taken),
        "trained_scalars": int(result.trained_scalars),
        "seconds": float(result.seconds),
        "accuracy": None if result.accuracy is None else float(result.accuracy),
        "exact": None if result.exact is None else int(result.exact),
        "key": result.config.key,
        "config": json.dumps(result.config.as_dict()),
        "ended": datetime.now(UTC).isoformat(timespec="seconds"),
        "provenance": json.dumps(dict(outcome.provenance), sort_keys=True),
        "weights": file,
        "weights_sha256": digest,
        "history": json.dumps(history),
    }


def json_number(value: float) -> float | str:
    """A number as JSON can hold it: NaN and the infinities become the strings that Python's float() reads back."""
    value = float(value)
    return value if math.isfinite(value) else str(value)


def _write_through(file: Path, content: bytes) -> None:
    with file.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
