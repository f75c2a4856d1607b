"""Sweeps on a Ray cluster: the same rows as in local processes, also when workers or a node die in the middle."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from empirical.execution.engine import run_on
from empirical.execution.ray_engine import RayPool
from empirical.execution.store import Store, open_store
from empirical.execution.worker import Report
from empirical.models.runs import RunResult
from tests.empirical.execution.test_engine import configs, content, expected
from tests.helpers.places import ROOT
from tests.helpers.sweeps import run_all
from tests.helpers.trainers import BROKEN, EXITED, KILLED, NO_MEMORY, SILENT, config, outcome_of
from theory import InputError

CAUSES = {
    KILLED: "killed twice, alone: the worker died",
    EXITED: "killed twice, alone: the worker died",
    NO_MEMORY: "killed twice, alone: out of memory",
    BROKEN: "RuntimeError: the loss is a banana",
    SILENT: "gave no result",
}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "runs.sqlite") as store:
        yield store


@contextlib.contextmanager
def two_nodes(**settings: str) -> Iterator[Any]:
    """A cluster of two nodes with one core each, under these environment variables."""
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'geometric-recall[cluster]'")
    from ray.cluster_utils import Cluster

    # A node that is killed does not answer and is given up after five looks; one that a busy machine lets wait is not.
    patience = {"RAY_health_check_timeout_ms": "60000", "RAY_health_check_period_ms": "1000"}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"PYTHONPATH": str(ROOT), "RAY_USAGE_STATS_ENABLED": "0", **patience, **settings}.items():
            patch.setenv(name, value)
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        try:
            cluster.second = cluster.add_node(num_cpus=1)
            yield cluster
        finally:
            cluster.shutdown()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with two_nodes() as cluster:
        yield cluster


def processes(node: Any) -> dict[str, list[int]]:
    """The processes of a node by what they are."""
    return {name: [each.process.pid for each in found] for name, found in node.all_processes.items()}


def at_work(*nodes: Any) -> list[int]:
    """The workers of these nodes that have a task."""
    parents = {process for node in nodes for process in processes(node)["raylet"]}
    found = []
    for directory in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has just ended
            parent = int((directory / "stat").read_text().rsplit(")", 1)[1].split()[1])
            if parent in parents and b"ray::_task" in (directory / "cmdline").read_bytes():
                found.append(int(directory.name))
    return found


class Watched(RayPool):
    """Remembers what came of killed workers and lost machines."""

    killed, lost = 0, 0

    def wait(self) -> list[Report]:
        reports = super().wait()
        self.killed += sum(report.killed for report in reports)
        self.lost += sum(report.lost for report in reports)
        return reports


def test_a_run_fails_by_itself_and_says_why(cluster: Any, store: Store) -> None:
    wanted = configs(7)
    with RayPool("tests.helpers.trainers:faulty", address=cluster.address) as pool:
        assert pool.capacity == 2
        sweep = run_on(pool, wanted, store)
    assert sweep.missing == 0
    for result in sweep.results:
        if result.config.seed in CAUSES:
            assert (result.status, result.accuracy) == ("failed", None)
            assert CAUSES[result.config.seed] in result.error
        else:
            assert result == outcome_of(result.config)[0]
    with RayPool("tests.helpers.trainers:faulty", unit_size=7, address=cluster.address) as pool:
        again = run_on(pool, wanted, store, retry_failed=True)
    assert [result.status for result in again.results] == [result.status for result in sweep.results]


def test_bad_input_ends_the_sweep(cluster: Any, store: Store) -> None:
    with (
        RayPool("tests.helpers.trainers:absent", address=cluster.address) as pool,
        pytest.raises(InputError, match="cannot load the trainer"),
    ):
        run_on(pool, configs(2), store)
    with pytest.raises(InputError, match="has no GPU"):
        RayPool("tests.helpers.trainers:steady", device="cuda", gpus=0.5, address=cluster.address)
    for address in ("127.0.0.1:1", "127.0.0.1:99999", "nowhere"):
        with pytest.raises(InputError, match=f"cannot reach the Ray cluster {address}"):
            RayPool("tests.helpers.trainers:steady", address=address)
    for gpus in (0, 1.5):
        with pytest.raises(InputError, match="fraction of a GPU"):
            RayPool("tests.helpers.trainers:steady", device="cuda", gpus=gpus)
    assert content(store) == {}


def test_a_sweep_whose_workers_are_killed_has_the_rows_of_one_whose_are_not(cluster: Any, store: Store) -> None:
    """The killing ends while there is much to do, so that no run is killed again when it is alone."""
    wanted, draw = configs(24, milliseconds=100), random.Random(0)
    deaths = 0

    def kill() -> None:
        nonlocal deaths
        while deaths < 4:
            for process in draw.sample(found := at_work(*cluster.list_all_nodes()), min(1, len(found))):
                os.kill(process, signal.SIGKILL)
                deaths += 1
            time.sleep(draw.uniform(0.1, 0.3))

    killer = threading.Thread(target=kill, daemon=True)
    with Watched("tests.helpers.trainers:steady", address=cluster.address) as pool:
        killer.start()
        sweep = run_on(pool, wanted, store)
    assert pool.killed >= 2
    assert sweep.results == tuple(outcome_of(each)[0] for each in wanted)
    assert content(store) == expected(wanted)


@pytest.fixture
def doomed() -> Iterator[Any]:
    """A cluster that no other test has touched or will."""
    with two_nodes() as cluster:
        yield cluster


def test_a_node_dies_in_the_middle_and_nothing_is_lost_or_twice(doomed: Any, store: Store, tmp_path: Path) -> None:
    # The two long runs occupy both nodes when one of them is killed.
    wanted = [*configs(10, milliseconds=50), config(20, milliseconds=4000), config(21, milliseconds=4000)]
    seen: list[str] = []

    def remove() -> None:
        while not at_work(doomed.second):
            time.sleep(0.05)
        doomed.remove_node(doomed.second, allow_graceful=False)

    killer = ThreadPoolExecutor(1)
    removals: list[Future[None]] = []

    def progress(done: int, total: int, result: RunResult) -> None:
        seen.append(result.config.key)
        if done == 10:
            removals.append(killer.submit(remove))

    with Watched("tests.helpers.trainers:steady", address=doomed.address) as pool:
        sweep = run_on(pool, wanted, store, progress=progress)
    for removal in removals:
        removal.result(60)
    assert pool.lost
    assert sweep.missing == 0
    assert sorted(seen) == sorted(each.key for each in wanted)
    with open_store(tmp_path / "local.sqlite") as other:
        assert run_all(wanted, "tests.helpers.trainers:steady", other, workers=2) == sweep
        assert content(store) == content(other) == expected(wanted)
    with RayPool("tests.helpers.trainers:steady", address=doomed.address) as pool:  # what is left still serves
        assert run_on(pool, [config(99)], store).results == (outcome_of(config(99))[0],)


DRIVER = """
import sys
import georecall
from empirical.comparison import command, presets
from tests.helpers.comparisons import TINY
if __name__ == "__main__":
    presets.PRESETS["tiny"] = TINY
    command.TRAINER = "tests.helpers.trainers:unhurried"
    georecall.main(["compare", "--preset", "tiny", "--engine", "ray", "--address", sys.argv[1], "--store", sys.argv[2]])
"""


@pytest.mark.parametrize("part", ["gcs_server", "raylet"])
def test_a_head_that_is_killed_is_one_line_and_what_was_finished_is_stored(part: str, tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    with two_nodes(RAY_gcs_rpc_server_reconnect_timeout_s="2", RAY_health_check_initial_delay_ms="0") as cluster:
        address = cluster.address
        asked = [sys.executable, "-c", DRIVER, address, str(path)]
        with subprocess.Popen(asked, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as driver:
            assert driver.stderr is not None
            said = b""
            while b"\r2 runs" not in said:
                more = driver.stderr.read(1)
                assert more, said
                said += more
            for process in processes(cluster.head_node)[part]:
                os.kill(process, signal.SIGKILL)
            out, rest = driver.communicate(timeout=120)
    assert (driver.returncode, out) == (2, b"")
    _, line, end = (said + rest).decode().split("\n")  # after the line that counts, one
    assert line.startswith(f"georecall: the Ray cluster at {address} is lost: ")
    assert end == ""
    with open_store(path) as store:
        assert len(list(store.summaries())) >= 2


def test_a_cluster_of_its_own_ends_with_the_pool(store: Store) -> None:
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'geometric-recall[cluster]'")
    with RayPool("tests.helpers.trainers:steady") as pool:
        assert pool.capacity >= 1
        assert run_on(pool, configs(2), store).missing == 0
        beside = pool._process.pid
    with pytest.raises(ProcessLookupError):
        os.kill(beside, 0)


def test_without_ray_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"pip install 'geometric-recall\[cluster\]'"):
        RayPool("tests.helpers.trainers:steady")
