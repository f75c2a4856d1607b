"""The comparison from the command line: complete, deterministic, and after a kill as if it had not been killed."""

from __future__ import annotations

import dataclasses
import json
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from empirical.comparison import command, compare, presets
from empirical.comparison.search import Plan, among
from empirical.execution.local_pool import LocalPool
from empirical.execution.store import Store, open_store
from empirical.models.runs import RunConfig, RunResult
from tests.helpers.comparisons import (
    MADE_UP,
    TINY,
    TINY_CURVES,
    InProcess,
    from_dimension_12_on,
    made_up,
    needs_torch,
    refused,
    run,
)
from tests.helpers.places import ROOT
from tests.helpers.simulated import failed, result
from theory.records import ledger


@pytest.fixture
def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(presets.PRESETS, "tiny", TINY)


@dataclasses.dataclass(frozen=True)
class Finished:
    """A comparison that nothing interrupted."""

    path: Path
    report: compare.ComparisonReport


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    path = tmp_path_factory.mktemp("finished") / "runs.sqlite"
    with LocalPool(compare.TRAINER, workers=1) as pool, open_store(path) as store:
        return Finished(path, compare.compare(TINY, store, pool))


def rows_of(store: Store) -> list[tuple[RunResult, str | None]]:
    """Each run without the time that it took, and the hash of its weights."""
    return [(dataclasses.replace(run.result, seconds=0.0), run.weights_sha256) for run in store.all_runs()]


def without_provenance(report: str) -> dict[str, Any]:
    values = json.loads(report)
    assert values.pop("provenance")["device"] == "cpu"
    return dict(values)


@needs_torch
def test_the_comparison_is_complete(finished: Finished) -> None:
    report = finished.report
    assert report.complete
    assert command.succeeded(report)
    assert dict(report.stopped) == {each.name: "found" for each in TINY_CURVES}
    with open_store(finished.path, read_only=True) as store:
        runs = list(store.summaries())
        assert all(store.load_weights(run["key"]) for run in runs)
    assert report.runs == len(runs) > 4
    assert report.failed == 0
    # Each of these models has few weights: whatever answers every query is put to the exact check, and passes it.
    perfect = sum(run["accuracy"] == 1.0 for run in runs)
    assert report.exact == (perfect, perfect)
    assert perfect > 0
    assert [each.accuracy for each in report.thresholds] == [0.99, 0.99, 1.0, 1.0]
    for each in report.thresholds:
        assert each.dimension is not None
        assert each.high is not None
        assert each.low < each.dimension < each.high
    assert {verdict.status for verdict in report.verdicts} == {"undecided"}  # two curves fit no law
    assert all(verdict.reason for verdict in report.verdicts)
    said = command.text(report)
    assert "; complete" in said
    assert all(each.name in said for each in TINY_CURVES)


@needs_torch
@pytest.mark.usefixtures("_tiny")
def test_killed_it_goes_on_and_ends_as_if_it_had_not_been(finished: Finished, tmp_path: Path) -> None:
    path, written = tmp_path / "runs.sqlite", tmp_path / "report.json"
    kill_after(2, path)
    with open_store(path) as store:
        before = rows_of(store)
    assert 2 <= len(before) < finished.report.runs
    asked = ("compare", "--preset", "tiny", "--store", path, "--workers", "1", "--json", written)
    stopped = run(*asked, "--time-budget", "0")
    assert stopped.exit_code == 1
    assert "not complete: the same command goes on" in stopped.output
    assert json.loads(written.read_text())["complete"] is False
    assert json.loads(written.read_text())["verdicts"] == []
    with open_store(path) as store:
        assert rows_of(store) == before
    ended = run(*asked)
    assert ended.exit_code == 0, ended.output
    assert f"\r{finished.report.runs} runs: " in ended.stderr
    assert ended.stderr.endswith("\n")
    with open_store(path) as store, open_store(finished.path) as other:
        assert rows_of(store) == rows_of(other)
    assert without_provenance(written.read_text()) == without_provenance(finished.report.as_json())
    again = run(*asked, "--time-budget", "0")  # nothing is left to run
    assert (again.exit_code, again.stderr) == (0, "")
    assert again.stdout == ended.stdout


@pytest.mark.gpu
@pytest.mark.usefixtures("_tiny")
def test_the_comparison_runs_on_a_gpu_without_a_changed_line(finished: Finished, tmp_path: Path) -> None:
    path, written = tmp_path / "runs.sqlite", tmp_path / "report.json"
    asked = ("compare", "--preset", "tiny", "--device", "cuda", "--store", path, "--json", written)
    stopped = run(*asked, "--time-budget", "0")
    assert stopped.exit_code == 1
    assert run(*asked).exit_code == 0
    report = json.loads(written.read_text())
    assert report["complete"]
    assert report["failed"] == 0
    assert report["provenance"]["device"] == "cuda"
    # Rounding differs between devices, so a borderline run may; a threshold may not, beyond the interval.
    for ours, theirs in zip(report["thresholds"], finished.report.thresholds, strict=True):
        assert theirs.high is not None
        assert theirs.low - 1 <= ours["dimension"] <= theirs.high + 1


DRIVER = """
import sys
import georecall
from empirical.comparison import presets
from tests.helpers.comparisons import TINY
presets.PRESETS["tiny"] = TINY
georecall.main(["compare", "--preset", "tiny", "--workers", "1", "--store", sys.argv[1]])
"""


def kill_after(runs: int, path: Path) -> None:
    """Start the comparison, and kill it when it says that so many runs have ended."""
    command = [sys.executable, "-c", DRIVER, str(path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as driver:
        assert driver.stderr is not None
        said = b""
        while f"\r{runs} runs".encode() not in said:
            part = driver.stderr.read(1)
            assert part, said
            said += part
        driver.kill()
        assert driver.wait() == -signal.SIGKILL


@pytest.mark.usefixtures("_tiny")
@needs_torch
def test_without_time_nothing_is_known(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    ended = run("compare", "--preset", "tiny", "--store", path, "--time-budget", "0")
    assert (ended.exit_code, ended.stderr) == (1, "")
    assert "0 runs, 0 failed" in ended.output
    with open_store(path, read_only=True) as store:
        assert list(store.summaries()) == []


@pytest.mark.parametrize("name", presets.PRESETS)
def test_what_has_no_runs_can_be_judged(name: str) -> None:
    preset = presets.preset(name)
    report = compare.judge(preset, preset.plan.traces(among(())))
    assert not report.complete
    assert not command.succeeded(report)
    assert {each.status for each in report.verdicts} == ({"undecided"} if preset.settings else set())
    assert len(report.thresholds) == 2 * sum(each.independent for each in preset.plan.curves)
    assert all(each.dimension is each.high is None and each.low == 0 for each in report.thresholds)
    json.loads(report.as_json())
    assert "0 runs" in command.text(report)


@needs_torch
def test_runs_are_listed_shown_exported_and_pruned(finished: Finished, tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    shutil.copy(finished.path, path)
    weights = tmp_path / "runs.sqlite.weights"
    shutil.copytree(finished.path.with_name(weights.name), weights)
    store = ("--store", path)
    lines = run("runs", "list", *store).stdout.splitlines()
    assert len(lines) == finished.report.runs + 1
    assert lines[0].split()[:5] == ["key", "N", "R", "k", "d"]
    key = lines[1].split()[0]
    shown = run("runs", "show", key, *store)
    assert shown.exit_code == 0
    assert shown.stdout.startswith(f"run {key}")
    out = tmp_path / "runs.json"
    assert run("runs", "export", *store, "--out", out).exit_code == 0
    exported = json.loads(out.read_text())["runs"]
    assert [each["key"][:12] for each in exported] == [line.split()[0] for line in lines[1:]]
    (weights / f"{'0' * 64}-{'1' * 16}.safetensors").write_bytes(b"an orphan")
    with open_store(path) as opened:
        opened.add(failed(TINY_CURVES[0].config(8, seed=9)))
    assert run("runs", "prune", *store).stdout == "0 runs and 1 files removed\n"
    assert run("runs", "prune", *store, "--failed").stdout == "1 runs and 0 files removed\n"
    with open_store(path) as opened, open_store(finished.path) as other:
        assert rows_of(opened) == rows_of(other)
    assert len(list(weights.iterdir())) == finished.report.runs
    nowhere = tmp_path / "nowhere" / "runs.json"
    refused(run("runs", "export", *store, "--out", nowhere), "cannot write")
    digit, count = Counter(each["key"][0] for each in exported).most_common(1)[0]
    assert count > 1
    refused(run("runs", "show", digit, *store), "several runs whose keys start with")
    refused(run("runs", "show", "f" * 64, *store), "holds no run with the key")
    refused(run("runs", "show", "xyz", *store), "is not a run's key")


@needs_torch
def test_verdicts_are_rows_of_the_ledger_and_a_false_claim_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "runs.sqlite"
    report = made_up(MADE_UP, from_dimension_12_on, path)
    assert report.complete
    by_claim = {verdict.claim: verdict for verdict in report.verdicts}
    assert by_claim["E1"].status == "not supported"
    assert not command.succeeded(report)
    rows = compare.rows(report)
    assert len(rows) == len(report.verdicts)
    for row, verdict in zip(rows, report.verdicts, strict=True):
        assert (row.claim, row.rung, row.construction) == (verdict.claim, "measured", verdict.statement)
        assert row.status == {"supported": "holds", "not supported": "fails", "undecided": "undecided"}[verdict.status]
        assert row.coverage.startswith(f"preset made up: {verdict.status} (")
    assert not ledger.all_hold(rows)
    assert {row["claim"] for row in json.loads(ledger.to_json(rows))} == set(by_claim)
    # The same from the command line.
    monkeypatch.setitem(presets.PRESETS, "made up", MADE_UP)
    monkeypatch.setattr(command, "LocalPool", lambda train, workers, device: InProcess(from_dimension_12_on))
    ended = run("compare", "--preset", "made up", "--store", path)
    assert ended.exit_code == 1
    assert "; complete" in ended.stdout
    assert "not supported" in ended.stdout


def test_runs_that_fail_are_not_counted_as_not_memorised(tmp_path: Path) -> None:
    preset = dataclasses.replace(TINY, plan=Plan(TINY_CURVES, seeds=3, budget=40))

    def sound(config: RunConfig) -> RunResult:
        return result(config, config.dimension >= 6)

    def faulty(config: RunConfig) -> RunResult:
        return failed(config) if config.seed == 0 else sound(config)

    expected = made_up(preset, sound, tmp_path / "sound.sqlite")
    report = made_up(preset, faulty, tmp_path / "runs.sqlite")
    assert report.complete
    assert report.failed > 0
    assert [each.dimension for each in report.thresholds] == [each.dimension for each in expected.thresholds]
    assert all(each.dimension is not None and each.left_out > 0 for each in report.thresholds)
    assert f"{report.failed} failed" in command.text(report)


def test_where_every_run_fails_nothing_is_concluded(tmp_path: Path) -> None:
    report = made_up(MADE_UP, failed, tmp_path / "runs.sqlite")
    assert report.failed == report.runs > 0
    assert all("every run failed at dimension" in why for _, why in report.stopped)
    assert all(each.dimension is None and each.low == 0 and each.high is None for each in report.thresholds)
    assert {verdict.status for verdict in report.verdicts} == {"undecided"}
    assert not command.succeeded(report)
    assert all(f"{name}: {why}" in command.text(report) for name, why in report.stopped)
