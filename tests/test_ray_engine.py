"""Sweeps on a Ray cluster: the same rows as in local processes, also when a node dies in the middle of one."""

import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from empirical.engine import run_all, run_on
from empirical.ray_engine import RayPool
from empirical.runs import RunResult
from empirical.store import Store, open_store
from empirical.worker import Report
from tests.test_engine import configs, content, expected
from tests.trainers import BROKEN, EXITED, KILLED, NO_MEMORY, SILENT, config, outcome_of
from theory import InputError

ROOT = Path(__file__).resolve().parent.parent
CAUSES = {
    KILLED: "worker died",
    EXITED: "worker died",
    NO_MEMORY: "out of memory",
    BROKEN: "RuntimeError: the loss is a banana",
    SILENT: "gave no result",
}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "runs.sqlite") as store:
        yield store


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A cluster of two nodes with one core each."""
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'geometric-recall[cluster]'")
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        try:
            cluster.second = cluster.add_node(num_cpus=1)
            yield cluster
        finally:
            cluster.shutdown()


def test_a_run_fails_by_itself_and_says_why(cluster: Any, store: Store) -> None:
    wanted = configs(7)
    with RayPool("tests.trainers:faulty", address=cluster.address) as pool:
        assert pool.capacity == 2
        sweep = run_on(pool, wanted, store)
    assert sweep.missing == 0
    for result in sweep.results:
        if result.config.seed in CAUSES:
            assert (result.status, result.accuracy) == ("failed", None)
            assert CAUSES[result.config.seed] in result.error
        else:
            assert result == outcome_of(result.config)[0]
    with RayPool("tests.trainers:faulty", unit_size=7, address=cluster.address) as pool:
        again = run_on(pool, wanted, store, retry_failed=True)
    assert [result.status for result in again.results] == [result.status for result in sweep.results]


def test_bad_input_ends_the_sweep(cluster: Any, store: Store) -> None:
    with (
        RayPool("tests.trainers:absent", address=cluster.address) as pool,
        pytest.raises(InputError, match="cannot load the trainer"),
    ):
        run_on(pool, configs(2), store)
    with pytest.raises(InputError, match="has no GPU"):
        RayPool("tests.trainers:steady", device="cuda", gpus=0.5, address=cluster.address)
    for address in ("127.0.0.1:1", "127.0.0.1:99999", "nowhere"):
        with pytest.raises(InputError, match=f"cannot reach the Ray cluster {address}"):
            RayPool("tests.trainers:steady", address=address)
    for gpus in (0, 1.5):
        with pytest.raises(InputError, match="fraction of a GPU"):
            RayPool("tests.trainers:steady", device="cuda", gpus=gpus)
    assert content(store) == {}


def test_a_node_dies_in_the_middle_and_nothing_is_lost_or_twice(cluster: Any, store: Store, tmp_path: Path) -> None:
    # The two long runs occupy both nodes when one of them is killed.
    wanted = [*configs(10, milliseconds=50), config(20, milliseconds=1500), config(21, milliseconds=1500)]
    seen: list[str] = []
    lost: list[Report] = []
    kill = threading.Timer(0.7, lambda: cluster.remove_node(cluster.second, allow_graceful=False))

    def progress(done: int, total: int, result: RunResult) -> None:
        seen.append(result.config.key)
        if done == 10:
            kill.start()

    class Watched(RayPool):
        def wait(self) -> list[Report]:
            reports = super().wait()
            lost.extend(report for report in reports if report.lost)
            return reports

    with Watched("tests.trainers:steady", address=cluster.address) as pool:
        sweep = run_on(pool, wanted, store, progress=progress)
    kill.join()
    assert lost
    assert sweep.missing == 0
    assert sorted(seen) == sorted(each.key for each in wanted)
    with open_store(tmp_path / "local.sqlite") as other:
        assert run_all(wanted, "tests.trainers:steady", other, workers=2) == sweep
        assert content(store) == content(other) == expected(wanted)
    with RayPool("tests.trainers:steady", address=cluster.address) as pool:  # what is left of the cluster still serves
        assert run_on(pool, [config(99)], store).results == (outcome_of(config(99))[0],)


def test_without_ray_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"pip install 'geometric-recall\[cluster\]'"):
        RayPool("tests.trainers:steady")
