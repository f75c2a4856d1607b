"""Where models come from: runs of a store and files; whatever is wrong is one line."""

import json
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

from constructions.weights.catalogue import Setting, entry
from empirical.execution.store import open_store
from empirical.mechanism.studied_models import load
from empirical.mechanism.subject import accuracy
from empirical.models.runs import RunConfig, RunResult
from empirical.models.training import train
from tests.helpers.stores import refused
from theory import FactSystem
from theory.records.facts import load_facts
from theory.records.files import save_model, save_system

CONFIG = RunConfig(20, 2, 8, 16, steps=200)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store of one run with weights and one without."""
    path = tmp_path / "runs.sqlite"
    run = train([CONFIG])[0]
    with open_store(path) as opened:
        opened.add(run.result, {name: tensor.numpy() for name, tensor in run.parameters.items()})
        opened.add(RunResult(RunConfig(20, 2, 9, 16), "not memorised", 0.5, 10, 1.0))
    return path


def weights_file(store: Path) -> Path:
    (found,) = (store.parent / f"{store.name}.weights").iterdir()
    return found


def test_a_run_by_the_beginning_of_its_key(store: Path) -> None:
    found = load(CONFIG.key[:10], store)
    assert found.config == CONFIG
    assert accuracy(found) == 1.0


def test_a_runs_weights_by_their_file(store: Path) -> None:
    found = load(str(weights_file(store)), Path("no such store"))
    assert found.config == CONFIG
    assert np.array_equal(found.rows, load(CONFIG.key, store).rows)


@pytest.mark.parametrize("suffix", [".npy", ".json"])
def test_a_construction_with_its_facts_beside_it(tmp_path: Path, suffix: str) -> None:
    system, chosen = FactSystem.random(12, 2), entry("T1b")
    setting = Setting(bits=2)
    save_model(chosen.build(system, setting), chosen.task(setting), tmp_path / "mine.safetensors")
    save_system(system, tmp_path / f"mine{suffix}")
    found = load(str(tmp_path / "mine.safetensors"), tmp_path / "none.sqlite")
    assert found.config is None
    assert accuracy(found) == 1.0


def test_facts_with_names_beside_a_construction(tmp_path: Path) -> None:
    """In the order of the model's names, whatever the order of the lines; and all of them, for each is studied."""
    system, chosen = FactSystem.random(12, 2), entry("T1b")
    names = [f"x{x}" for x in range(12)]
    lines = [f"{names[x]} r{r} {names[system.answers[r, x]]}" for r in range(2) for x in range(12)]
    beside = tmp_path / "mine.edges"
    beside.write_text("\n".join(lines))
    facts = load_facts(beside)
    save_model(
        chosen.build(facts.system, Setting(bits=2)), chosen.task(Setting(bits=2)), tmp_path / "mine.safetensors", facts
    )
    beside.write_text("\n".join(reversed(lines)))
    assert accuracy(load(str(tmp_path / "mine.safetensors"), tmp_path / "none.sqlite")) == 1.0
    beside.write_text("\n".join(lines[1:]))
    with refused("'x0' has no 'r0', and here every fact is needed"):
        load(str(tmp_path / "mine.safetensors"), tmp_path / "none.sqlite")


def test_what_the_store_cannot_give(store: Path, tmp_path: Path) -> None:
    for model, words in (
        (RunConfig(20, 2, 9, 16).key, "the weights of the run .* were not kept"),
        ("ffff0000", "holds no run with the key"),
        ("my model", "is not a run's key"),
    ):
        with refused(words):
            load(model, store)
    with refused("none.sqlite"):
        load("ab", tmp_path / "none.sqlite")
    weights_file(store).write_bytes(b"")
    with refused("is damaged"):
        load(CONFIG.key, store)


def test_files_that_are_no_models(store: Path, tmp_path: Path) -> None:
    content = weights_file(store).read_bytes()
    file = tmp_path / "other.safetensors"
    for damaged in (b"", b"not a model", content[:7], content[: len(content) // 2], content[:-1]):
        file.write_bytes(damaged)
        with refused("is not a .safetensors file that can be read"):
            load(str(file), store)
    with refused("cannot read .*none.safetensors: No such file"):
        load(str(tmp_path / "none.safetensors"), store)
    (tmp_path / "folder.safetensors").mkdir()
    with refused("folder.safetensors"):
        load(str(tmp_path / "folder.safetensors"), store)


def test_files_of_something_else(store: Path, tmp_path: Path) -> None:
    tensors = safetensors.numpy.load(weights_file(store).read_bytes())
    config = CONFIG.as_dict()
    file = tmp_path / "foreign.safetensors"

    def written(own: dict[str, np.ndarray], metadata: dict[str, str] | None) -> str:  # type: ignore[type-arg]
        file.write_bytes(safetensors.numpy.save(own, metadata))
        return str(file)

    without = {name: array for name, array in tensors.items() if name != "W_out"}
    narrow = {**tensors, "W_in": tensors["W_in"][:, :-1].copy()}
    nan = {**tensors, "W_in": np.full_like(tensors["W_in"], np.nan)}
    text = json.dumps(config)
    for own, metadata, words in (
        (tensors, None, "does not say what its facts are: put them beside it, as foreign.npy"),
        (tensors, {"config": "{"}, "its metadata hold no configuration of a run"),
        (tensors, {"config": "[" * 100_000}, "its metadata hold no configuration of a run"),
        (tensors, {"config": json.dumps({**config, "depth": 2})}, "it does not have the fields of one"),
        (tensors, {"config": json.dumps({**config, "entities": 1})}, "entities must be a whole number of at least 2"),
        (without, {"config": text}, "W_out is missing"),
        ({**tensors, "W_Q": tensors["W_in"]}, {"config": text}, "W_Q is no tensor of such a run"),
        (narrow, {"config": text}, r"W_in has shape \[8, 15\]; the run's is \[8, 16\]"),
        (nan, {"config": text}, "weights must be finite"),
    ):
        with refused(words):
            load(written(own, metadata), store)


def test_facts_of_another_size(tmp_path: Path) -> None:
    system, chosen = FactSystem.random(12, 2), entry("T1")
    save_model(chosen.build(system, Setting()), chosen.task(Setting()), tmp_path / "mine.safetensors")
    for wrong in (FactSystem.random(11, 2), FactSystem.random(12, 3)):
        save_system(wrong, tmp_path / "mine.npy")
        with refused("mine.safetensors"):
            load(str(tmp_path / "mine.safetensors"), tmp_path)
