"""The comparison given bad input, a damaged store, or no PyTorch: one clear line, exit status 2, nothing half-done."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import pytest

from empirical.comparison import command, presets
from empirical.execution.store import open_store
from tests.empirical.execution.test_store_faults import nobody
from tests.helpers.comparisons import TINY, TINY_CURVES, needs_torch, refused, run
from tests.helpers.places import ROOT
from tests.helpers.simulated import result


@needs_torch
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--preset", "huge"], "preset is 'huge'; it must be one of quick, standard, paper"),
        (["--store", "nowhere/runs.sqlite"], "there is no directory nowhere"),
        (["--store", "."], "it is a directory"),
        (["--json", "nowhere/report.json"], "cannot write nowhere/report.json: there is no directory nowhere"),
        (["--address", "auto"], "--address is for the ray engine"),
        (["--engine", "ray"], "Ray is not installed: pip install 'geometric-recall[cluster]'"),
        (["--engine", "ray", "--workers", "2"], "--workers is for the local engine"),
    ],
)
def test_bad_input_gets_one_line_and_leaves_nothing(
    arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.chdir(tmp_path)
    refused(run("compare", *arguments), message)
    assert list(tmp_path.iterdir()) == []


@needs_torch
@pytest.mark.parametrize(("option", "value"), [("--workers", "0"), ("--time-budget", "-1"), ("--engine", "slurm")])
def test_options_out_of_range_are_refused(option: str, value: str) -> None:
    found = run("compare", option, value)
    assert found.exit_code == 2
    assert f"Invalid value for '{option}'" in found.stderr.splitlines()[-1]


@needs_torch
def test_a_device_that_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import torch

    monkeypatch.setitem(presets.PRESETS, "tiny", TINY)
    path = tmp_path / "runs.sqlite"
    asked = ("compare", "--preset", "tiny", "--store", path, "--device")
    refused(run(*asked, f"cuda:{torch.cuda.device_count()}"), "is not there")
    with open_store(path) as store:
        assert list(store.summaries()) == []  # bad input is no failed run


def test_cuda_has_one_worker_where_there_is_cuda_at_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    told = "on CUDA one worker trains all runs" if torch.cuda.is_available() else "device 'cuda' is not there"
    refused(run("compare", "--device", "cuda", "--workers", "2"), told)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("seconds", ["nan", "inf", "-1"])
def test_a_time_budget_is_a_number_of_seconds(seconds: str) -> None:
    found = run("compare", "--time-budget", seconds)
    assert found.exit_code == 2
    assert "--time-budget" in found.stderr


@pytest.mark.parametrize("arguments", [["compare"], ["runs", "list"]])
@needs_torch
def test_faults_of_the_store(arguments: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    impatient = partial(open_store, patience=0.05)
    monkeypatch.setattr("empirical.execution.store.open_store", impatient)
    monkeypatch.setattr(command, "open_store", impatient)
    path = tmp_path / "runs.sqlite"
    with open_store(path) as store:
        store.add(result(TINY_CURVES[0].config(4, seed=0), memorised=True))
    whole = path.read_bytes()
    asked = (*arguments, "--store", path)
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN EXCLUSIVE")
        refused(run(*asked), "is locked by another process")
    path.write_bytes(whole[:-1000])
    refused(run(*asked), "is damaged (it has been cut short)")
    path.write_bytes(whole[:4096] + b"\xff" * 200 + whole[4296:])
    refused(run(*asked), "is damaged")
    path.write_bytes(b"something else, and not short at all\n" * 100)
    refused(run(*asked), "is not a run store")
    path.write_bytes(whole)
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute("PRAGMA user_version = 99")
    newer = path.read_bytes()
    refused(run(*asked), "was written by a newer version of this project")
    assert path.read_bytes() == newer


@needs_torch
def test_a_read_only_store_can_be_listed_and_not_added_to() -> None:
    folder = Path(tempfile.mkdtemp())  # not `tmp_path`: its parents would not let everyone in
    try:
        folder.chmod(0o755)
        path = folder / "runs.sqlite"
        with open_store(path) as store:
            store.add(result(TINY_CURVES[0].config(4, seed=0), memorised=True))
        path.chmod(0o444)
        listed = run("runs", "list", "--store", path)  # imports what `nobody` may not
        assert listed.exit_code == 0
        with nobody():
            assert run("runs", "list", "--store", path).stdout == listed.stdout
            refused(run("compare", "--store", path), "its directory is read-only")
    finally:
        shutil.rmtree(folder)


@needs_torch
def test_a_worker_that_dies_is_a_failed_run_and_no_threshold(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(presets.PRESETS, "tiny", TINY)
    monkeypatch.setattr(command, "TRAINER", "tests.helpers.trainers:suicidal")
    path = tmp_path / "runs.sqlite"
    found = run("compare", "--preset", "tiny", "--store", path, "--workers", "1")
    assert found.exit_code == 1
    assert "every run failed at dimension" in found.stdout
    with open_store(path, read_only=True) as store:
        runs = list(store.summaries())
    assert {each["status"] for each in runs} == {"failed"}
    reason = "killed twice, alone: the worker was killed by SIGKILL (perhaps for lack of memory)"
    assert {each["error"] for each in runs} == {reason}


FULL_DISK = """
import resource, signal, sys
import georecall
from empirical.comparison import presets
from tests.helpers.comparisons import TINY
presets.PRESETS["tiny"] = TINY
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # as on a full disk, writing then fails
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
georecall.main(["compare", "--preset", "tiny", "--workers", "1", "--store", sys.argv[1]])
"""


@needs_torch
def test_a_disk_that_fills_up_is_one_line_and_the_store_stays_whole(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    with open_store(path) as store:
        store.add(result(TINY_CURVES[0].config(4, seed=0), memorised=True))
    before = path.read_bytes()
    asked = [sys.executable, "-c", FULL_DISK, str(path), str(len(before))]
    found = subprocess.run(asked, capture_output=True, text=True, cwd=ROOT)
    assert found.returncode == 2, found.stdout + found.stderr
    (line,) = [each for each in found.stderr.splitlines() if " runs: " not in each]
    assert line == f"georecall: cannot read or write {path}: disk I/O error"
    with open_store(path) as store:
        assert len(list(store.summaries())) == 1
    assert not list(tmp_path.glob("*.tmp"))


WITHOUT_TORCH = """
from importlib.machinery import PathFinder
find = PathFinder.find_spec
PathFinder.find_spec = classmethod(lambda cls, name, *rest: None if name == "torch" else find(name, *rest))
import georecall
georecall.main()
"""


def test_without_torch_one_line_says_what_to_install(tmp_path: Path) -> None:
    asked = [sys.executable, "-c", WITHOUT_TORCH, "compare"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    found = subprocess.run(asked, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert found.returncode == 2
    assert found.stderr == "georecall: training needs PyTorch: pip install 'geometric-recall[empirical]'\n"
    assert list(tmp_path.iterdir()) == []
