"""Work that is too much is refused with a size that would do, and what is long is told, before it begins."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from click.testing import Result as Ended

import georecall
from bounds.counting.kinds import count
from constructions.suite import checks
from constructions.suite import presets as suite
from constructions.suite.checks import Sizes, build, check_queries, extent_of, require_work
from constructions.suite.work import building, certifying, listing, running
from constructions.verification.result import Result
from constructions.weights import t1
from constructions.weights.catalogue import CATALOGUE, Entry, Setting, entry
from theory import Block, FactSystem, InputError, Task, Transformer
from theory.records import work
from theory.records.ledger import Check, Row, run_all_checks
from theory.records.work import LONG, MOST, Size, Work, announce, require_possible


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with 16 GB, whatever this one has."""
    monkeypatch.setattr(work, "machine_memory", lambda: 16 * 10**9)


@pytest.fixture
def no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is done: what is planned is announced, or refused."""
    monkeypatch.setattr("theory.records.ledger.run_check", lambda check: check)
    monkeypatch.setattr("theory.records.ledger.to_json", lambda rows: "[]")
    monkeypatch.setattr("georecall.verification.finish", lambda rows, json: sys.exit(0))


def run(*arguments: str) -> Ended:
    result = CliRunner().invoke(georecall.main, arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit | InputError), result.exc_info
    return result


def test_what_is_too_much_names_a_size_that_would_do() -> None:
    def cubic(size: int) -> Work:
        return Work(size**3 * 10**6)

    most = work.largest(10**6, lambda size: cubic(size).nanoseconds <= MOST)
    require_possible("cubes", cubic(most))
    told = rf"^cubes takes about 2\d{{4}} h, and at most 24 h is begun; with entities at most {most} it can be done$"
    with pytest.raises(InputError, match=told):
        require_possible("cubes", cubic(10 * most), [Size("entities", 10 * most, cubic)])
    hopeless = Size("entities", 9, lambda size: cubic(10 * most))
    with pytest.raises(InputError, match=f"with relations at most {most} it can be done"):
        require_possible("cubes", cubic(10 * most), [hopeless, Size("relations", 10 * most, cubic)])
    with pytest.raises(InputError, match="choose smaller sizes"):
        require_possible("cubes", cubic(10 * most), [hopeless])


def test_memory_is_that_of_the_machine() -> None:
    with pytest.raises(InputError, match=r"needs about 17 GB of memory, and there are 16 GB"):
        require_possible("weights", Work(memory=17 * 10**9))
    require_possible("weights", Work(memory=15 * 10**9))


def test_a_container_has_the_memory_that_it_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    whole = work.machine_memory()
    assert whole > 10**8
    for text, memory in {"4096\n": 4096, "max\n": whole}.items():
        (tmp_path / "memory.max").write_text(text)
        monkeypatch.setattr(work, "CGROUP_LIMIT", tmp_path / "memory.max")
        assert min(work.machine_memory(), whole) == min(memory, whole)


def test_what_takes_a_minute_is_told_and_what_does_not_is_not(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    announce("this", Work(LONG - 1))
    assert caplog.messages == []
    announce("this", Work(5 * LONG, 3 * 10**9))
    announce("that", Work(600 * LONG))
    assert caplog.messages == ["this takes about 5 min, 3 GB", "that takes about 10 h"]


def test_all_checks_are_told_before_the_first(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    seen: list[list[str]] = []

    def see() -> Row:
        """What has been told when the check is run."""
        seen.append(list(caplog.messages))
        return Row("T1", "x", "sampled", "holds", "nothing")

    run_all_checks([Check("T1", "x", "short", see, Work(LONG)), Check("T2", "y", "long", see, Work(2 * LONG))])
    assert seen[0] == ["2 checks, T2 y: long (2 min) the longest: all takes about 3 min"]


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["verify", "T2b", "--entities", "3000", "--relations", "3", "--hops", "3"], "takes about"),
        (["verify", "T7", "--entities", "200", "--relations", "3", "--hops", "7"], "takes about"),
        (["verify", "T1", "--preset", "full"], "takes about"),
        (["verify", "--preset", "full"], "takes about"),
        (["verify", "T2e", "--entities", "3000", "--relations", "6", "--hops", "3"], "takes about"),
        (["verify", "T1", "--entities", "1000000", "--relations", "2"], ""),
        (["verify", "T1", "--entities", "1000", "--relations", "8"], ""),
        (["verify"], ""),
    ],
)
def test_long_verifications_say_so(arguments: list[str], message: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    told = [line for line in result.stderr.splitlines() if line.startswith("georecall: ")]
    assert len(told) == (1 if message else 0), told
    assert all(message in line for line in told)


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["verify", "T1", "--entities", "100000000", "--relations", "2"], "with entities at most"),
        (["verify", "T1", "--entities", "1000000000000", "--relations", "10"], "with entities at most"),
        (["verify", "T2", "--entities", "9", "--relations", "9", "--hops", "40"], "with hops at most"),
        (["verify", "T7", "--entities", "4096", "--relations", "4", "--hops", "9"], "it can be done"),
        (["verify", "T5", "--entities", "1000000", "--relations", "3"], "with entities at most"),
        (["construct", "T1", "--entities", "50000000", "--relations", "2", "--out", "x.safetensors"],
         "with entities at most"),
        (["count", "simple", "--entities", "7", "--relations", "5"], "at most 6 are accepted"),
        (["count", "simple", "--entities", "8", "--relations", "5"], "at most 6 are accepted"),
        (["count", "latin-rectangles", "--entities", "7", "--relations", "7"], "at most 6 are accepted"),
        (["bounds", "--depth", "--entities", "64:9999"], "at most 50000 are computed"),
        (["bounds", "--depth", "--relations", "1:1000", "--hops", "1:64"], "at most 50000 are computed"),
        (["bounds", "--entities", "64:9999"], "at most 20000 are computed"),
        (["bounds", "--hops", "1:1000000"], "whole numbers from 1 to 64"),
        (["bounds", "--entities", ",".join(f"{n}:{n + 9998}" for n in range(2, 10**6, 10**4))], "at most so many"),
    ],
)  # fmt: skip
def test_what_is_too_much_is_refused_before_it_begins(arguments: list[str], message: str, tmp_path: Path) -> None:
    started = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert started.returncode == 2, started.stdout + started.stderr
    assert message in started.stderr
    assert started.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


# The same machine, in a process that can be ended if it does begin.
PROGRAM = """
from theory.records import work
work.machine_memory = lambda: 16 * 10**9
import georecall
georecall.main()
"""


def test_long_tables_and_counts_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bounds.tables.command.bound_rows", lambda settings: [])
    monkeypatch.setattr("bounds.tables.command.depth_rows", lambda *arguments: [])
    assert "a table of 6000 settings takes about 5 min" in run("bounds", "--entities", "64:83").stderr
    assert run("bounds", "--entities", "64:66").stderr == ""
    assert "rows takes about" in run("bounds", "--depth", "--entities", "64:99", "--relations", "2:16").stderr
    monkeypatch.setattr("bounds.counting.fact_systems.partition_sum", lambda *arguments: 1)
    told = "counting relabelled at N = 3400, R = 2 takes about 2 min"
    assert told in run("count", "relabelled", "--entities", "3400", "--relations", "2").stderr
    assert run("count", "relabelled", "--entities", "100", "--relations", "2").stderr == ""


def test_a_library_says_nothing() -> None:
    code = "from theory.records.work import *; announce('this', Work(10 * LONG))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (told.stdout, told.stderr) == ("", "")


def test_what_the_library_is_asked_for_is_refused_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "load_model_as_said", None)
    for attempt in (build, check_queries):
        with pytest.raises(InputError, match="with entities at most"):
            attempt(entry("T1"), Sizes(10**8, 2, Setting()))
    with pytest.raises(InputError, match="at most 6 are accepted"):
        count("simple", 7, 5)


def test_without_claims_what_is_too_much_is_undecided() -> None:
    planned = suite.checks_of_size((), Sizes(10**8, 2, Setting()))
    rows = {f"{check.claim} {check.construction}, {check.kind}": check.run() for check in planned[:2]}
    assert {row.status for row in rows.values()} == {"undecided"}
    assert "with entities at most" in rows["T1 plain, queries"].detail


@pytest.mark.parametrize("one", CATALOGUE, ids=lambda one: f"{one.theorem} {one.name}")
def test_estimates_grow_with_the_sizes(one: Entry) -> None:
    """What the search for a size that would do takes for granted."""
    for estimate in (building, listing, certifying):
        before = Work()
        for size in (Sizes(n, 3, Setting(2)) for n in (2, 3, 10, 100, 5000)):
            found = estimate(extent_of(one, size))
            assert found.nanoseconds >= before.nanoseconds
            assert found.memory >= before.memory
            before = found


@pytest.mark.parametrize("one", CATALOGUE, ids=lambda one: f"{one.theorem} {one.name}")
def test_an_extent_is_what_is_built(one: Entry) -> None:
    size = Sizes(6, 3, Setting(3, 2, 2))
    found, (_, model) = extent_of(one, size), build(one, size)
    task = one.task(size.setting)
    assert (found.entities, found.answers, found.dimension) == (6, model.answers, model.dimension)
    assert found.width >= model.width
    assert (found.steps, found.positions, found.queries) == (task.steps, task.positions, 6 * 3**task.hops)
    assert require_work(one, size, building) == building(found)
    # The coordinates that the read-out reads, and whether a unit reads them all.
    assert int(model.W_U.any(axis=1).sum()) <= found.read
    block = model.blocks[-1]
    assert not found.dense or bool((block.W_in != 0).all(axis=0).all())


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize("claim", suite.CLAIMS)
def test_astronomic_sizes_are_told_or_refused_in_a_line(claim: str) -> None:
    """Numbers of thousands of digits go through every formula and every line that tells of them."""
    result = run("verify", claim, "--entities", "9", "--relations", "9", "--hops", "10000")
    assert result.exit_code in (0, 2)
    assert all(len(line) < 300 for line in result.stderr.splitlines())
    assert run("verify", claim, "--entities", "9", "--relations", "9", "--hops", "10001").exit_code == 2


@pytest.mark.parametrize(
    ("relations", "blocks", "told", "rungs"),
    [
        (1, 1, [], ["exhaustive queries"]),
        (200, 5, ["running all 60000 queries of model takes about 2 min"], ["exhaustive queries"]),
        (3000, 400, [], ["certificate"]),  # would take longer than a day
    ],
)
def test_the_work_of_a_model_of_ones_own_is_told(
    relations: int,
    blocks: int,
    told: list[str],
    rungs: list[str],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    caplog.set_level("INFO")
    monkeypatch.setattr(checks, "check_every_query", lambda *_, **__: Result("holds", 1))
    monkeypatch.setattr(checks, "certify", lambda *_: Result("undecided", 1))
    sizes = {"heads": 1, "dimension": 256, "width": 1024, "d_query": 0, "d_value": 256}
    block = Block(**{n: np.ones([sizes[a] for a in axes.split()], np.int8) for n, axes in Block.AXES.items()})
    W_E, W_U = np.ones((300 + relations, 256), np.int8), np.ones((256, 300), np.int8)
    model = Transformer(300, W_E, W_E[:2], (block,) * blocks, W_U, W_U[0], "uniform")
    rows = checks.check_transformer(model, FactSystem.random(300, relations), Task())
    assert [row.rung for row in rows] == rungs
    assert caplog.messages == told


def test_softmax_is_enclosed_which_is_more_work() -> None:
    model = t1.construct(FactSystem.random(5, 2))
    soft = replace(model, attention="softmax", beta=1.0)
    exactly, enclosed = (running(each, Task(), 10, 10).nanoseconds for each in (model, soft))
    assert exactly < 10**6 < enclosed
    assert running(model, Task(), 20, 10).nanoseconds > exactly
