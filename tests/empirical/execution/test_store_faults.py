"""Faults of the run store: each is one clear line, and whole rows survive a kill at any moment."""

import contextlib
import errno
import math
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from empirical.execution.database import APPLICATION_ID
from empirical.execution.listing import list_lines
from empirical.execution.store import SUMMARY_COLUMNS, Outcome, open_store
from tests.helpers.places import ROOT
from tests.helpers.stores import every_store_is_closed, refused, small_store
from tests.helpers.trainers import config, failure_of, outcome_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return small_store(tmp_path)


@pytest.fixture(autouse=True)
def _closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    yield from every_store_is_closed(monkeypatch)


@contextlib.contextmanager
def nobody() -> Iterator[None]:
    """Someone for whom file permissions count: root is nobody here. Nothing new can be imported meanwhile."""
    root = os.geteuid() == 0
    if root:
        os.setresuid(65534, 65534, 0)
    try:
        yield
    finally:
        if root:
            os.setresuid(0, 0, 0)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A directory of nobody's, which the parents of `tmp_path` would not let them reach."""
    folder = Path(tempfile.mkdtemp())
    if os.geteuid() == 0:
        os.chown(folder, 65534, 65534)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


def test_a_missing_directory_or_file(tmp_path: Path) -> None:
    with refused("no directory"):
        open_store(tmp_path / "missing" / "runs.sqlite")
    with refused("is a directory"):
        open_store(tmp_path)
    with refused("no run store"):
        open_store(tmp_path / "runs.sqlite", read_only=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("read_only", [True, False])
def test_a_pipe_or_a_device(tmp_path: Path, read_only: bool) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/null")):
        with refused(f"cannot read {path}: it is a pipe or a device"):
            open_store(path, read_only=read_only)


def test_a_locked_store(path: Path) -> None:
    with open_store(path, patience=0.05) as store, contextlib.closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with refused("locked"):
            open_store(path, patience=0.05)
        with refused("locked"):
            store.add(*outcome_of(config(7)))
        with refused("locked"):
            list(store.summaries())
        other.rollback()
        assert store.add(*outcome_of(config(7)))
        assert store.prune() == (0, 0)  # nothing was written while it was locked


def test_a_read_only_store(path: Path) -> None:
    with open_store(path, read_only=True) as store:
        with refused("read-only"):
            store.add(*outcome_of(config(7)))
        with refused("read-only"):
            store.prune()
        assert len(list(store.summaries())) == 3


def test_read_only_files_and_directories(folder: Path) -> None:
    path, runs = folder / "runs.sqlite", [outcome_of(config(seed)) for seed in (0, 1)]
    with nobody():
        with open_store(path) as store:
            assert store.add(*runs[0])
            store.weights_directory.chmod(0o555)
            with refused("cannot write .*weights"):
                store.add(*runs[1])
            assert not store.has(config(1).key)
            store.weights_directory.chmod(0o755)
        path.chmod(0o444)
        with refused("read-only"):
            open_store(path)
        path.chmod(0o644)
        folder.chmod(0o555)
        with refused("read-only"):
            open_store(path)
        with refused("read-only"):
            open_store(folder / "other.sqlite")
        with open_store(path, read_only=True) as store:
            assert len(list(store.summaries())) == 1
        path.chmod(0)
        with refused("cannot open"):
            open_store(path, read_only=True)


@pytest.mark.parametrize("read_only", [False, True])
def test_a_foreign_file_is_left_alone(tmp_path: Path, read_only: bool) -> None:
    text, foreign = tmp_path / "notes.txt", tmp_path / "other.sqlite"
    text.write_text("not a database at all\n" * 100)
    with contextlib.closing(sqlite3.connect(foreign)) as other:
        other.execute("CREATE TABLE recipes (name TEXT)")
    for file in (text, foreign):
        before = file.read_bytes()
        with refused("is not a run store"):
            open_store(file, read_only)
        assert file.read_bytes() == before


def test_an_empty_file_becomes_a_store_only_to_write(tmp_path: Path) -> None:
    """What a kill while the store was made can leave."""
    path = tmp_path / "runs.sqlite"
    path.touch()
    with refused("is not a run store"):
        open_store(path, read_only=True)
    with open_store(path) as store:
        assert list(store.summaries()) == []


def test_the_mark_of_a_store_is_that_of_every_version(path: Path) -> None:
    """SQLite keeps what program a file is of at byte 68: older stores must be known, and newer ones to older code."""
    assert path.read_bytes()[68:72] == b"geoR"


def test_a_store_whose_weights_cannot_be_looked_through_is_not_left_open(path: Path) -> None:
    """That it is closed is what the fixture asks."""
    directory = path.with_name(f"{path.name}.weights")
    shutil.rmtree(directory)
    directory.write_text("no directory")
    with refused("cannot read .*weights: Not a directory"):
        open_store(path)


def test_a_newer_version(path: Path) -> None:
    for version, words in ((2, "newer version"), (0, "never been")):
        with contextlib.closing(sqlite3.connect(path)) as other:
            assert other.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
            other.execute(f"PRAGMA user_version = {version}")
        with refused(words):
            open_store(path)


@pytest.mark.parametrize("read_only", [False, True])
def test_a_truncated_store(path: Path, read_only: bool) -> None:
    content = path.read_bytes()
    for size in (50, 1000, 4096, len(content) - 4096, len(content) - 1):
        path.write_bytes(content[:size])
        with refused("damaged|not a run store"):
            open_store(path, read_only)


def test_a_corrupted_store(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[4096:4200] = b"\xff" * 104  # the head of the second page
    path.write_bytes(content)
    with refused("damaged"):
        open_store(path)


@pytest.mark.parametrize(
    ("column", "text"),
    [
        *((column, text) for column in ("config", "history") for text in ("{", "[[1, 2]]", '{"entities": 8}')),
        *(("provenance", text) for text in ("{", "[]")),
        ("history", "[" * 100_000),
        ("history", "[[Infinity, 0, 0]]"),
        *((column, b"\x00") for column in ("config", "status", "error", "ended", "history")),
        *((column, "many") for column in ("accuracy", "steps_taken", "seconds", "trained_scalars", "exact")),
        ("weights", "../../elsewhere"),
        ("steps_taken", 1e300),
        *((column, infinite) for column in ("accuracy", "seconds") for infinite in (math.inf, -math.inf)),
    ],
)
def test_a_damaged_row_is_named(path: Path, column: str, text: object) -> None:
    key = config(1).key
    with contextlib.closing(sqlite3.connect(path)) as other, other:
        other.execute("PRAGMA ignore_check_constraints = TRUE")
        other.execute(f"UPDATE runs SET {column} = ? WHERE key = ?", (text, key))
    if column == "status":
        with refused("damaged .*CHECK constraint"):
            open_store(path)
        return
    with open_store(path) as store:
        for read in (store.get, store.find):
            with refused(f"damaged: .*{key}"):
                read(key)
        with refused(f"damaged: .*{key}"):
            list(store.all_runs())
        if column in SUMMARY_COLUMNS and column != "weights":
            with refused(f"damaged: .*{key}"):
                list(list_lines(store.summaries()))
        assert store.get(config(0).key)


def test_text_that_is_not_utf_8(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as other, other:
        other.execute("UPDATE runs SET error = CAST(x'0aff0a' AS TEXT)")
    with open_store(path) as store:
        for read in (store.summaries, store.all_runs):
            with refused("damaged .it holds text that is not UTF-8"):
                list(read())


@pytest.mark.parametrize("read_only", [True, False])
@pytest.mark.parametrize("text", [b"CREATE TABLE runs", b"NOT NULL", b"CHECK", b"CREATE INDEX"])
def test_a_schema_that_is_not_utf_8(path: Path, text: bytes, read_only: bool) -> None:
    """SQLite quotes it in its error, which Python then cannot read."""
    content = path.read_bytes()
    assert text in content
    path.write_bytes(content.replace(text, text[:3] + b"\xab" + text[4:], 1))
    with refused("damaged"):
        open_store(path, read_only=read_only)


def test_a_table_without_its_columns(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute("ALTER TABLE runs RENAME COLUMN seconds TO minutes")
    with refused("damaged .its runs lack seconds"):
        open_store(path)
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute("DROP TABLE runs")
    with refused("damaged .its runs lack key, config"):
        open_store(path, read_only=True)


def test_damage_in_a_store_too_large_to_be_checked_whole_is_noticed_when_it_is_read(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("empirical.execution.database.CHECKED_WHOLE", 0)
    (root,) = [number for name, number in roots(path) if name == "runs"]
    content = bytearray(path.read_bytes())
    content[4096 * (root - 1) : 4096 * (root - 1) + 100] = b"\xff" * 100
    path.write_bytes(content)
    with open_store(path, read_only=True) as store, refused("damaged"):
        list(store.all_runs())


def roots(path: Path) -> list[tuple[str, int]]:
    """The first page of each table and index."""
    with contextlib.closing(sqlite3.connect(path)) as other:
        return other.execute("SELECT name, rootpage FROM sqlite_master").fetchall()


def test_a_row_under_another_key_is_noticed(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as other, other:
        other.execute("UPDATE runs SET config = replace(config, '\"seed\": 1', '\"seed\": 77')")
    with open_store(path) as store, refused(f"damaged: .*{config(1).key}"):
        list(store.all_runs())


def test_damaged_and_missing_weights(path: Path) -> None:
    with open_store(path) as store:
        file = store.weights_directory / str(store.get(config(0).key).weights)
        content = bytearray(file.read_bytes())
        content[-1] ^= 1
        file.write_bytes(content)
        with refused("damaged"):
            store.load_weights(config(0).key)
        file.unlink()
        with refused("No such file"):
            store.load_weights(config(0).key)


def test_a_full_disk(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_store(path) as store:
        store._connection.execute("PRAGMA max_page_count = 1")  # SQLite then says what it says when the disk is full
        with refused("disk is full"):
            store.add_all(Outcome(failure_of(config(seed), "x" * 1000)) for seed in range(10, 40))
        assert len(list(store.summaries())) == 3
    with open_store(path) as store:
        monkeypatch.setattr(os, "fsync", full)
        with refused("cannot write .*No space left"):
            store.add(*outcome_of(config(7)))
        assert not store.has(config(7).key)
        assert store.prune() == (0, 0)


def full(descriptor: int) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


# Kills

WRITER = """
import itertools, sys
from empirical.execution.store import open_store
from tests.helpers.trainers import config, outcome_of
with open_store(sys.argv[1]) as store:
    for seed in itertools.count(int(sys.argv[2])):
        store.add(*outcome_of(config(seed)))
        print(seed, flush=True)
"""


def killed_after(seconds: float, script: str, *arguments: object) -> list[str]:
    """Run the script, kill it so long after its first line; its lines."""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
        return [first.strip(), *process.stdout.read().split()]


def test_a_writer_may_be_killed_at_any_moment(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    begin = 0
    for attempt in range(8):
        committed = [int(line) for line in killed_after(0.013 * attempt, WRITER, path, begin)]
        with open_store(path) as store:
            assert store._connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            seeds = [run.result.config.seed for run in store.all_runs()]
            assert seeds == list(range(len(seeds)))
            assert max(committed) + 1 <= len(seeds) <= max(committed) + 2
            for seed in range(begin, len(seeds)):
                result, weights = outcome_of(config(seed))
                assert store.get(result.config.key).result == result
                assert np.array_equal(store.load_weights(result.config.key)["W_E"], weights["W_E"])
            begin = len(seeds)
            store.prune()
            assert len(list(store.weights_directory.iterdir())) == begin


MID_TRANSACTION = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA cache_size = 1")
connection.execute("BEGIN IMMEDIATE")
for number in range(300):
    connection.execute("UPDATE runs SET error = ?", ("x" * (1000 + number),))
    connection.execute("INSERT INTO runs SELECT key || ?, config, 'failed', NULL, 0, 0, 0, NULL, error, '', '{}', NULL,"
                       " NULL, '[]' FROM runs WHERE length(key) = 64", (str(number),))
os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize("read_only", [False, True])
def test_a_transaction_that_was_killed_is_undone(path: Path, read_only: bool) -> None:
    with open_store(path) as store:
        before = list(store.summaries())
    content = path.read_bytes()
    subprocess.run([sys.executable, "-c", MID_TRANSACTION, str(path)], cwd=ROOT, check=False)
    assert path.read_bytes() != content
    assert path.with_name(path.name + "-journal").exists()
    with open_store(path, read_only) as store:
        assert list(store.summaries()) == before
