"""A small run store, and what its tests expect of every fault and of every end."""

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from empirical.execution.store import open_store
from tests.helpers.trainers import config, failure_of, outcome_of
from theory import InputError


def small_store(tmp_path: Path) -> Path:
    """A store of three runs: two with weights, one that failed."""
    path = tmp_path / "runs.sqlite"
    with open_store(path) as store:
        for seed in (0, 1):
            assert store.add(*outcome_of(config(seed)), {"python": "3"})
        assert store.add(failure_of(config(2), "out of memory"))
    return path


@contextlib.contextmanager
def refused(words: str) -> Iterator[None]:
    """An InputError of one line that says so."""
    with pytest.raises(InputError, match=words) as caught:
        yield
    assert "\n" not in str(caught.value)


def every_store_is_closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every test closes what it opened, also where opening was refused."""
    opened: list[sqlite3.Connection] = []
    connect: Callable[..., sqlite3.Connection] = sqlite3.connect

    def remember(*arguments: object, **options: object) -> sqlite3.Connection:
        opened.append(connect(*arguments, **options))
        return opened[-1]

    monkeypatch.setattr(sqlite3, "connect", remember)
    yield
    for connection in opened:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            connection.execute("SELECT 1")
