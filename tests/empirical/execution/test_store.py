"""The run store: what goes in comes out, and nothing else."""

import contextlib
import hashlib
import json
import math
import shutil
import sqlite3
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from empirical.execution.database import INDEX_NAME, ORDER
from empirical.execution.listing import COLUMNS, TOGETHER, export_json, list_lines, show_text
from empirical.execution.provenance import provenance
from empirical.execution.store import Outcome, Store, open_store
from empirical.models.runs import RunConfig, RunResult
from tests.helpers.places import ROOT
from tests.helpers.stores import every_store_is_closed, refused, small_store
from tests.helpers.trainers import config, failure_of, outcome_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return small_store(tmp_path)


@pytest.fixture(autouse=True)
def _closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    yield from every_store_is_closed(monkeypatch)


def test_a_run_comes_out_as_it_went_in(path: Path) -> None:
    result, weights = outcome_of(config(0))
    with open_store(path, read_only=True) as store:
        run = store.get(result.config.key)
        assert run.result == result
        assert run.provenance == {"python": "3"}
        loaded = store.load_weights(result.config.key)
        assert loaded.keys() == weights.keys()
        assert all(np.array_equal(loaded[name], weights[name]) for name in weights)
        assert store.has(result.config.key)
        assert not store.has(config(9).key)


def test_fields_that_came_later_leave_old_runs_their_names(tmp_path: Path) -> None:
    plain = RunConfig(16, 4, 5, 20, hops=2)
    old = {name: value for name, value in vars(plain).items() if name not in ("family", "scrambled")}
    assert plain.as_dict() == old
    assert plain.key == hashlib.sha256(json.dumps(old, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    others = [replace(plain, family="inverses"), replace(plain, family="xor"), replace(plain, scrambled=True)]
    assert len({each.key for each in (plain, *others)}) == 4
    with open_store(tmp_path / "runs.sqlite") as store:
        for each in (plain, *others):
            store.add(RunResult(each, "memorised", 1.0, 10, 1.0))
            assert store.get(each.key).result.config == each
        assert [run.result.config for run in store.all_runs(family="inverses")] == others[:1]
        assert {run.result.config for run in store.all_runs(family="independent")} == {plain, others[2]}
        assert [run.result.config for run in store.all_runs(scrambled=True)] == others[2:]
        assert {run.result.config for run in store.all_runs(scrambled=False)} == {plain, *others[:2]}


def test_every_field_is_kept(tmp_path: Path) -> None:
    strange = RunConfig(16, 3, 5, 7, 2, True, "frozen", "frozen", "learned", True, 0.1, 0.5, 10, 5, "bfloat16", 11)
    history = ((0, math.nan, 0.0), (5, math.inf, 0.1), (10, -math.inf, 1 / 3))
    result = RunResult(strange, "not memorised", 1 / 3, 10, 0.1 + 0.2, history, 123, False)
    with open_store(tmp_path / "runs.sqlite") as store:
        store.add(result)
        found = store.get(strange.key).result
        assert repr(found) == repr(result)  # NaN is not equal to itself
        with refused("were not kept"):
            store.load_weights(strange.key)


def test_the_store_is_one_file_and_flushes(path: Path) -> None:
    """No write-ahead log, which a copy would leave behind; and a commit is on the disk."""
    with open_store(path) as store:
        store.add(*outcome_of(config(7)))
        assert {file.name for file in path.parent.iterdir()} == {"runs.sqlite", "runs.sqlite.weights"}
        assert store._connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        assert store._connection.execute("PRAGMA synchronous").fetchone() == (2,)


def test_numpy_numbers_are_numbers(tmp_path: Path) -> None:
    result = RunResult(config(), "not memorised", np.float32(0.5), np.int64(7), np.float64(0.25), (), np.int32(9))
    with open_store(tmp_path / "runs.sqlite") as store:
        store.add(result)
        found = store.get(config().key).result
    assert found == RunResult(config(), "not memorised", 0.5, 7, 0.25, (), 9)
    assert [type(value) for value in (found.accuracy, found.steps_taken, found.seconds)] == [float, int, float]


def test_a_key_may_be_shortened(path: Path) -> None:
    with open_store(path) as store:
        assert store.get(config(1).key[:12]).result.config == config(1)
        with refused("holds no run"):
            store.get("0" * 64)
        for text in ("run 1", "", "%"):
            with refused("hexadecimal"):
                store.get(text)
        store.add_all(Outcome(failure_of(config(seed), "x")) for seed in range(3, 20))
        keys = [config(seed).key for seed in range(20)]  # more than there are digits: two start alike
        shared = next(digit for digit in "0123456789abcdef" if sum(key[0] == digit for key in keys) > 1)
        with refused("several runs"):
            store.get(shared)


def test_a_finished_run_stays_and_a_failed_one_is_replaced(path: Path) -> None:
    with open_store(path) as store:
        first = outcome_of(config(0))[0]
        assert not store.add(replace(first, accuracy=0.0, status="not memorised"))
        assert not store.add(failure_of(config(0), "later"))
        assert store.get(first.config.key).result == first
        assert store.add(*outcome_of(config(2)))
        assert store.get(config(2).key).result == outcome_of(config(2))[0]
        assert store.load_weights(config(2).key)
        assert len(list(store.all_runs())) == 3


def test_runs_are_chosen_by_their_fields(path: Path) -> None:
    with open_store(path) as store:
        store.add(*outcome_of(config(0, dimension=2)))
        assert [run.result.config.dimension for run in store.all_runs(seed=0)] == [2, 4]
        assert [run.result.config.seed for run in store.all_runs(status="failed")] == [2]
        assert [row["seed"] for row in store.summaries(dimension=4)] == [0, 1, 2]
        assert list(store.summaries(dimension=3)) == []
        with refused("no field 'colour'"):
            list(store.summaries(colour="red"))


def test_the_writing_is_all_or_nothing(path: Path) -> None:
    broken = outcome_of(config(8))[0]
    with open_store(path) as store:
        with pytest.raises(sqlite3.IntegrityError):
            store.add_all([Outcome(*outcome_of(config(7))), Outcome(replace(broken, accuracy=None))])
        assert not store.has(config(7).key)
        store.add_all([Outcome(*outcome_of(config(7)))])
        assert store.has(config(7).key)


def test_prune_deletes_orphans_and_if_asked_failed_runs(path: Path) -> None:
    with open_store(path) as store:
        folder = store.weights_directory
        named = set(folder.iterdir())
        orphan = folder / f"{config(5).key}-{'0' * 16}.safetensors"
        unfinished = folder / f".{orphan.name}.abc_1234"
        foreign = folder / "notes.txt"
        for file in (orphan, unfinished, foreign):
            file.write_text("x")
        assert store.prune() == (0, 2)
        assert set(folder.iterdir()) == named | {foreign}
        assert store.has(config(2).key)
        assert store.prune(failed=True) == (1, 0)
        assert not store.has(config(2).key)
        assert store.load_weights(config(0).key)


def test_what_a_killed_writer_left_is_cleared_by_the_next_that_opens_to_write(path: Path) -> None:
    with open_store(path) as store:
        folder = store.weights_directory
    whole = set(folder.iterdir())
    name = f"{config(5).key}-{'0' * 16}.safetensors"
    others = [folder / file for file in (name, ".notes.safetensors.abc", f".{name}", "notes.txt")]
    for file in (*others, folder / f".{name}.abc_1234", folder / f".{name}.x7"):
        file.write_text("x")
    open_store(path, read_only=True).close()
    assert len(list(folder.iterdir())) == len(whole) + 6
    open_store(path).close()
    assert set(folder.iterdir()) == whole | set(others)


def test_what_another_writes_now_is_not_cleared(path: Path) -> None:
    """It is written within a transaction: who would clear it waits, and by then it has its name."""
    with open_store(path) as store:
        unfinished = store.weights_directory / f".{config(5).key}-{'0' * 16}.safetensors.abc_1234"
        with store._writing():
            unfinished.write_text("x")
            with refused("locked"):
                open_store(path, patience=0.05)
            assert unfinished.exists()


def test_runs_come_in_the_order_of_their_configurations_by_the_index(tmp_path: Path) -> None:
    wanted = [
        replace(
            config(seed, dimension=dimension), entities=entities, learning_rate=rate, residual=residual, subjects=how
        )
        for seed in (0, 2, 10)
        for dimension in (2, 10)
        for entities in (9, 16)
        for rate, residual, how in ((0.1, False, "learned"), (1, True, "learned"), (0.1, False, "frozen"))
    ]
    with open_store(tmp_path / "runs.sqlite") as store:
        store.add_all(Outcome(failure_of(each, "x")) for each in wanted)
        expected = sorted(wanted, key=lambda each: tuple(each.as_dict().values()))
        assert [run.result.config for run in store.all_runs()] == expected
        for limit, offset in ((5, 0), (5, 7), (1, 35), (9, 36), (10**30, 34), (3, 10**30)):
            page = [run["key"] for run in store.summaries(limit, offset)]
            assert page == [each.key for each in expected[offset : offset + limit]]
        query = f"EXPLAIN QUERY PLAN SELECT rowid FROM runs ORDER BY {ORDER} LIMIT 9"
        plan = [row[-1].replace("COVERING ", "") for row in store._connection.execute(query)]
        assert plan == [f"SCAN runs USING INDEX {INDEX_NAME}"]  # and nothing is sorted


def test_a_store_of_the_version_before_is_read_and_gets_its_index_when_it_is_written(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute(f"DROP INDEX {INDEX_NAME}")
    before = path.read_bytes()
    with open_store(path, read_only=True) as store:
        found = list(store.all_runs())
        assert [run.result.config for run in found] == [config(seed) for seed in range(3)]
    assert path.read_bytes() == before
    with open_store(path) as store:
        assert store._connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (INDEX_NAME,)).fetchone()
        assert list(store.all_runs()) == found


def test_who_reads_keeps_nobody_from_writing_and_sees_what_is_replaced(path: Path) -> None:
    with open_store(path, read_only=True) as reader, open_store(path, patience=0.05) as writer:
        writer.add_all(Outcome(failure_of(config(seed), "x")) for seed in range(3, 900))
        runs = reader.all_runs()
        assert next(runs).result.config == config(0)
        assert writer.add(*outcome_of(config(899)))  # it had failed
        assert writer.prune(failed=True).runs == 897
        assert [run.result.config.seed for run in runs][-1] == 899


def test_memory_does_not_grow_with_the_number_of_runs(tmp_path: Path) -> None:
    """Listing and exporting hold a few hundred runs at a time, and eight bytes for each of the others."""
    with open_store(tmp_path / "runs.sqlite") as store:
        result = replace(outcome_of(config(0))[0], history=tuple((step, 0.5, 0.5) for step in range(9)))
        peaks = []
        for seeds in (range(2000), range(2000, 6000)):
            store.add_all(Outcome(replace(result, config=config(seed))) for seed in seeds)
            tracemalloc.start()
            assert sum(1 for _ in list_lines(store.summaries())) == seeds.stop + 1
            assert export_json(store, tmp_path / "runs.json") == seeds.stop
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    assert peaks[1] < 1.3 * peaks[0]


def test_the_columns_of_a_listing_only_grow() -> None:
    def row(seed: int, entities: int) -> dict[str, object]:
        run = replace(config(seed), entities=entities)
        return {**run.as_dict(), "key": run.key, "status": "failed", "accuracy": None, "steps_taken": 1, "seconds": 0.5}

    _, *lines = list_lines([row(0, 8)] * TOGETHER + [row(1, 10**6)] + [row(2, 8)] * TOGETHER)
    assert [lines[place].split()[1] for place in (0, TOGETHER, -1)] == ["8", "1000000", "8"]
    places = [line.index("learned") for line in lines]
    assert places == [places[0]] * TOGETHER + [places[0] + 6] * (TOGETHER + 1)


def test_words_are_set_to_the_left_and_numbers_to_the_right() -> None:
    run = replace(config(3), entities=4096, hops=2, chain=True)
    values = {"key": run.key, "status": "memorised", "accuracy": 1.0, "steps_taken": 7, "seconds": 12.34}
    heading, line = list_lines([{**run.as_dict(), **values}])
    assert line.rstrip() == line
    for name, cell in {"key": run.key[:12], "k": "2 CoT", "status": "memorised"}.items():
        assert line[heading.index(f"{name} ") :].startswith(cell)
    for name, cell in {"N": "4096", "accuracy": "1.0000", "steps": "7", "seconds": "12.3"}.items():
        assert line[: f"{heading} ".index(f" {name} ") + len(name) + 1].endswith(cell)


def test_what_is_shown_of_a_run_is_set_in_two_columns(path: Path) -> None:
    with open_store(path) as store:
        lines = show_text(store.get(config(0).key)).splitlines()
    for line in ("  learning rate  0.1", "  entities       8", "  trained scalars  12", "  accuracy         0.875"):
        assert line in lines
    assert lines[-4:-2] == ["    step          loss  accuracy", "       0      0.104297    0.8750"]


def test_listing_showing_and_export(path: Path, tmp_path: Path) -> None:
    with open_store(path) as store:
        heading, *lines = list_lines(store.summaries())
        assert heading.split() == [*COLUMNS]
        assert [line.split()[0] for line in lines] == [config(seed).key[:12] for seed in range(3)]
        assert "failed" in lines[2]
        shown = show_text(store.get(config(2).key))
        assert "out of memory" in shown
        assert config(2).key in shown
        assert f"{outcome_of(config(0))[0].history[1][1]:.6g}" in show_text(store.get(config(0).key))

        first, again = tmp_path / "a.json", tmp_path / "b.json"
        assert export_json(store, first) == export_json(store, again) == 3
        assert first.read_bytes() == again.read_bytes()
        content = json.loads(first.read_text(), parse_constant=pytest.fail)
        assert [run["key"] for run in content["runs"]] == [config(seed).key for seed in range(3)]
        assert [content["provenance"][run["provenance"]] for run in content["runs"]] == [{"python": "3"}] * 2 + [{}]
        assert content["runs"][0]["history"] == [list(point) for point in outcome_of(config(0))[0].history]
        assert export_json(store, again, status="failed") == 1
        with refused("cannot write"):
            export_json(store, tmp_path / "missing" / "a.json")


def test_export_of_an_empty_store_and_of_no_number(tmp_path: Path) -> None:
    with open_store(tmp_path / "runs.sqlite") as store:
        assert export_json(store, tmp_path / "a.json") == 0
        assert json.loads((tmp_path / "a.json").read_text())["runs"] == []
        store.add(replace(failure_of(config(), "NaN"), history=((0, math.nan, 0.5),)))
        export_json(store, tmp_path / "a.json")
        (run,) = json.loads((tmp_path / "a.json").read_text(), parse_constant=pytest.fail)["runs"]
        assert run["history"] == [[0, "nan", 0.5]]


def test_the_listing_of_ten_thousand_runs(tmp_path: Path) -> None:
    with open_store(tmp_path / "runs.sqlite") as store:
        result = outcome_of(config(0))[0]
        runs = (replace(result, config=config(seed)) for seed in range(10_000))
        assert store.add_all(Outcome(run) for run in runs) == 10_000
        assert len(list(list_lines(store.summaries()))) == 10_001


def test_provenance_names_versions_device_and_commit() -> None:
    found = provenance("cpu")
    assert found["numpy"] == np.__version__
    assert found["device"] == "cpu"
    assert {"python", "torch", "geometric-recall", "platform"} <= found.keys()
    if (ROOT / ".git").exists() and shutil.which("git"):
        assert len(found["commit"].rstrip("+")) == 40


def test_a_store_is_a_context(tmp_path: Path) -> None:
    store: Store = open_store(tmp_path / "runs.sqlite")
    with store as same:
        assert same is store
