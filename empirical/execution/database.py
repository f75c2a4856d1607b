"""A SQLite file that is a run store: its schema, how it is opened and checked, transactions, faults in plain words."""

from __future__ import annotations

import contextlib
import math
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from empirical.models.runs import LATER, RunConfig
from theory.errors import InputError
from theory.records.reading import require_file

APPLICATION_ID = 0x67656F52  # "geoR": what says that a SQLite file is a run store
SCHEMA_VERSION = 1

# Bytes up to which a store is checked whole when it is opened, which takes a moment. A larger one would take many: what
# is damaged there is noticed when it is read.
CHECKED_WHOLE = 64 * 2**20

# What belongs to a store, by what follows its name: SQLite's own files, the weights of runs, and analyses of models.
OWN_FILES, WEIGHTS, ANALYSES = ("-journal", "-wal", "-shm"), ".weights", ".mechanism"


def belongings(path: Path) -> list[Path]:
    """The files and directories beside a store that belong to it, there or not."""
    return [path.parent / f"{path.name}{suffix}" for suffix in (*OWN_FILES, WEIGHTS, ANALYSES)]


# The history comes last: it is the longest column, and listing skips it without reading its pages.
COLUMNS = {
    "key": "TEXT PRIMARY KEY NOT NULL",
    "config": "TEXT NOT NULL",
    "status": "TEXT NOT NULL CHECK (status IN ('memorised', 'not memorised', 'failed'))",
    "accuracy": "REAL",
    "steps_taken": "INTEGER NOT NULL",
    "seconds": "REAL NOT NULL",
    "trained_scalars": "INTEGER NOT NULL",
    "exact": "INTEGER",
    "error": "TEXT NOT NULL",
    "ended": "TEXT NOT NULL",
    "provenance": "TEXT NOT NULL",
    "weights": "TEXT",
    "weights_sha256": "TEXT",
    "history": "TEXT NOT NULL",
}
SCHEMA = (
    f"CREATE TABLE runs ({', '.join(f'{name} {declared}' for name, declared in COLUMNS.items())}, "
    "CHECK ((status = 'failed') = (accuracy IS NULL)))"
)
TYPES = {"TEXT": str, "REAL": float, "INTEGER": int}


def fits(column: str, value: object) -> bool:
    """True iff the value is of the column's type, and no infinity: SQLite would also keep others there."""
    declared = COLUMNS[column]
    if isinstance(value, float) and not math.isfinite(value):
        return False
    return isinstance(value, TYPES[declared.split()[0]]) or (value is None and "NOT NULL" not in declared)


def field(name: str) -> str:
    """A field of the run's configuration as an SQL expression; NULL where the configuration is damaged."""
    value = f"json_extract(config, '$.{name}')"
    if name in LATER:  # a configuration leaves it out where it is the default
        value = f"COALESCE({value}, '{LATER[name]}')" if isinstance(LATER[name], str) else f"COALESCE({value}, 0)"
    return f"CASE WHEN json_valid(config) THEN {value} END"


# Runs are listed in the order of their configurations, a page at a time. Any version that knows the schema keeps the
# index up to date; a store that was made without one gets it when it is next opened to write.
ORDER = ", ".join(field(name) for name in RunConfig.__dataclass_fields__)
INDEX_NAME = "runs_by_configuration"
INDEX = f"CREATE INDEX IF NOT EXISTS {INDEX_NAME} ON runs ({ORDER})"


def open_database(path: Path, read_only: bool, patience: float) -> sqlite3.Connection:
    """Open the file, or make an empty store unless `read_only`; wait up to `patience` seconds, here and later, for
    another process's lock.

    Raises InputError: no such directory or file, a pipe or a device, not a run store, written by a newer version,
    damaged, locked, or (to write) read-only.
    """
    if not path.parent.is_dir():
        raise InputError(f"cannot open the run store {path}: there is no directory {path.parent}")
    if path.is_dir():
        raise InputError(f"cannot open the run store {path}: it is a directory")
    require_file(path)
    if read_only and not path.exists():
        raise InputError(f"there is no run store {path}")
    if not read_only and not os.access(path.parent, os.W_OK):
        raise InputError(f"cannot write {path}: its directory is read-only")
    if not read_only and path.exists() and not os.access(path, os.W_OK):
        raise InputError(f"cannot write {path}: it is read-only")
    with explained(path):
        try:
            return _open(path, "ro" if read_only else "rwc", patience)
        except sqlite3.OperationalError as error:
            if getattr(error, "sqlite_errorcode", None) != sqlite3.SQLITE_READONLY_ROLLBACK:  # Python's own have none
                raise
        # A writer was killed while it committed: opening to write undoes that transaction.
        _open(path, "rwc", patience).close()
        return _open(path, "ro", patience)


def _open(path: Path, mode: str, patience: float) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    connection = sqlite3.connect(uri, uri=True, timeout=patience, isolation_level=None)
    try:
        connection.execute("PRAGMA synchronous = FULL")
        if mode != "ro":
            with transaction(connection):
                if _is_empty(connection):
                    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
                    connection.execute(SCHEMA)
        with transaction(connection, "DEFERRED"):  # no writer changes the file while it is checked
            _check(path, connection)
            indexed = connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (INDEX_NAME,)).fetchone()
        if mode != "ro" and not indexed:
            with transaction(connection):
                connection.execute(INDEX)
    except BaseException:
        connection.close()
        raise
    return connection


def _is_empty(connection: sqlite3.Connection) -> bool:
    """True iff the file is new: no tables, and no mark of another program."""
    questions = ("SELECT count(*) FROM sqlite_master", "PRAGMA application_id", "PRAGMA user_version")
    return all(connection.execute(question).fetchone() == (0,) for question in questions)


def _check(path: Path, connection: sqlite3.Connection) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID:
        raise InputError(f"{path} is not a run store")
    if version > SCHEMA_VERSION:
        raise InputError(
            f"{path} was written by a newer version of this project (schema {version}; this one knows "
            f"{SCHEMA_VERSION}): update it, or choose another store"
        )
    if version != SCHEMA_VERSION:
        raise InputError(f"{path} is damaged: it says that its schema is {version}, which has never been")
    ((pages,), (page_size,)) = (connection.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "page_size"))
    if path.stat().st_size < pages * page_size:  # SQLite would take what the last page lacks for zeros
        raise InputError(f"{path} is damaged (it has been cut short): restore it, or choose another store")
    if pages * page_size <= CHECKED_WHOLE:
        (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            raise InputError(f"{path} is damaged ({' '.join(verdict.split())}): restore it, or choose another store")
    there = {name for _, name, *_ in connection.execute("PRAGMA table_info(runs)")}
    if missing := [name for name in COLUMNS if name not in there]:
        raise InputError(f"{path} is damaged (its runs lack {', '.join(missing)}): restore it, or choose another store")


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection, kind: str = "IMMEDIATE") -> Iterator[None]:
    """Write all or nothing; no other process writes meanwhile."""
    connection.execute(f"BEGIN {kind}")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


# What SQLite's primary result codes mean to a person. "{path}" is the store.
FAULTS = {
    sqlite3.SQLITE_BUSY: "{path} is locked by another process: wait until that ends, or choose another store",
    sqlite3.SQLITE_LOCKED: "{path} is locked by another process: wait until that ends, or choose another store",
    sqlite3.SQLITE_READONLY: "cannot write {path}: it is read-only",
    sqlite3.SQLITE_PERM: "cannot open {path}: permission denied",
    sqlite3.SQLITE_FULL: "cannot write {path}: the disk is full",
    sqlite3.SQLITE_CORRUPT: "{path} is damaged ({error}): restore it, or choose another store",
    sqlite3.SQLITE_NOTADB: "{path} is not a run store",
    sqlite3.SQLITE_CANTOPEN: "cannot open {path}, or make a file beside it: check the permissions",
    sqlite3.SQLITE_IOERR: "cannot read or write {path}: {error}",
}
NO_TEXT = "it holds text that is not UTF-8"


@contextlib.contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into an InputError of one line. An error that is not known means that the file is not what
    it says: a table or a column is missing, or holds what cannot be read."""
    try:
        yield
    except UnicodeDecodeError as error:  # SQLite quoted what cannot be read, in an error that cannot be read either
        raise InputError(FAULTS[sqlite3.SQLITE_CORRUPT].format(path=path, error=NO_TEXT)) from error
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", None)
        if code is None and isinstance(error, sqlite3.OperationalError) and "UTF-8" in str(error):
            # Python's own error, which has no code, and quotes the text.
            error, code = sqlite3.DatabaseError(NO_TEXT), sqlite3.SQLITE_CORRUPT
        if code is None or code & 0xFF in (sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISUSE):
            raise  # a fault of ours, not of the file
        fault = FAULTS.get(code & 0xFF, FAULTS[sqlite3.SQLITE_CORRUPT])
        raise InputError(fault.format(path=path, error=error)) from error
