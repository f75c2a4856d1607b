"""Models and systems survive the disk unchanged, and files that are not what they should be get one clear line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

from constructions.weights import t1, t3
from constructions.weights.catalogue import CATALOGUE, Entry, Setting
from theory import FactSystem, InputError, Task, Transformer
from theory.records.files import load_model, load_system, save_model, save_system
from theory.records.writing import write_atomically

SYSTEM = FactSystem.random(5, 2)


@pytest.mark.parametrize("entry", CATALOGUE, ids=lambda entry: f"{entry.theorem} {entry.name}")
def test_models_survive(entry: Entry, tmp_path: Path) -> None:
    setting = Setting(3, 2, 2)
    model, task, path = entry.build(SYSTEM, setting), entry.task(setting), tmp_path / "model.safetensors"
    save_model(model, task, path)
    loaded, loaded_task = load_model(path, 5)
    assert loaded_task == task
    assert all(getattr(loaded, n) == getattr(model, n) for n in ("attention", "residual", "causal", "beta", "entities"))
    for (name, before), (other, after) in zip(model.tensors(), loaded.tensors(), strict=True):
        assert name == other
        assert before.dtype == after.dtype
        np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("suffix", [".npy", ".json"])
def test_systems_survive(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"facts{suffix}"
    save_system(SYSTEM, path)
    assert load_system(path) == SYSTEM


def test_a_system_may_be_an_object_with_answers(tmp_path: Path) -> None:
    path = tmp_path / "facts.json"
    path.write_text(json.dumps({"answers": [[1, 0], [0, 1]]}))
    assert load_system(path) == FactSystem([[1, 0], [0, 1]])  # type: ignore[arg-type]


def tensors_of(model: Transformer) -> dict[str, Any]:
    return {name: np.ascontiguousarray(array) for name, array in model.tensors()}


def test_transformer_lens_names_and_missing_queries_are_understood(tmp_path: Path) -> None:
    model, path = t1.construct(SYSTEM), tmp_path / "model.safetensors"
    longer = {"W_E": "embed.W_E", "W_pos": "pos_embed.W_pos", "W_U": "unembed.W_U", "b_U": "unembed.b_U"}
    tensors = {}
    for name, array in tensors_of(model).items():
        short = name.rpartition(".")[2]
        if short not in ("W_Q", "W_K"):
            tensors[longer.get(name, f"blocks.0.{'attn' if short in ('W_V', 'W_O') else 'mlp'}.{short}")] = array
    safetensors.numpy.save_file(tensors, path, {"attention": "uniform"})
    loaded, task = load_model(path, 5)
    assert task == Task()
    np.testing.assert_array_equal(loaded.blocks[0].W_in, model.blocks[0].W_in)
    plain = {name.rpartition(".")[2]: array for name, array in tensors.items()}
    safetensors.numpy.save_file(plain, path, {"attention": "uniform"})
    assert load_model(path, 5)[0].parameters == model.parameters


def broken(change: Any, metadata: dict[str, str] | None = None) -> Any:
    def write(path: Path) -> None:
        tensors = tensors_of(t1.construct(SYSTEM))
        change(tensors)
        safetensors.numpy.save_file(tensors, path, {"attention": "uniform"} if metadata is None else metadata)

    return write


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda path: path.write_bytes(b"not a model"), "is not a .safetensors file that can be read"),
        (lambda path: path.write_bytes(b""), "is not a .safetensors file that can be read"),
        (lambda path: None, "cannot read"),
        (broken(lambda t: t.pop("W_U")), "the model lacks W_U"),
        (broken(lambda t: t.pop("blocks.0.b_in")), "block 0 lacks b_in"),
        (broken(lambda t: t.update(W_Z=t["W_U"])), "unknown tensor 'W_Z'"),
        (broken(lambda t: t.update({"blocks.x.W_V": t.pop("blocks.0.W_V")})), "has no block number"),
        (broken(lambda t: t.update({"blocks.2.W_V": t["blocks.0.W_V"]})), "blocks are numbered [0, 2]"),
        (
            broken(lambda t: t.update(W_U=t["W_U"].T.copy())),
            "W_U has shape [5, 6]; it must be [dimension = 6, answers]",
        ),
        (broken(lambda t: t.update(W_E=np.full(t["W_E"].shape, np.nan))), "W_E[0, 0] is nan; weights must be finite"),
        (broken(lambda t: t.update(embed=1 * t["W_U"])), "unknown tensor 'embed'"),
        (broken(lambda t: t.update({"embed.W_E": t["W_E"]})), "two tensors are called W_E"),
        (broken(lambda t: None, {}), "attention = None; it must be uniform, hardmax or softmax"),
        (broken(lambda t: None, {"attention": "softmax"}), "beta is None with softmax attention"),
        (broken(lambda t: None, {"attention": "uniform", "hops": "0"}), "hops must be a whole number of at least 1"),
        (broken(lambda t: None, {"attention": "uniform", "hops": "two"}), "hops = 'two'; a whole number is expected"),
        (
            broken(lambda t: None, {"attention": "uniform", "residual": "1"}),
            "residual = '1'; true or false is expected",
        ),
        (
            broken(lambda t: None, {"attention": "softmax", "beta": "[1]"}),
            "beta = '[1]'; a number that a float holds, or null, is expected",
        ),
    ],
)
def test_bad_model_files_get_one_line(write: Any, message: str, tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    write(path)
    with pytest.raises(InputError) as caught:
        load_model(path, 5)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_truncated_model_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    save_model(t3.construct(SYSTEM, 2), Task(2, 1), path)
    whole = path.read_bytes()
    for length in (1, 7, 8, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(InputError, match="that can be read"):
            load_model(path, 5)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("facts.json", b"[[0, 2]]", "relation 0: the answer for entity 1 is 2, not in 0..1"),
        ("facts.json", b"[[0, 1], [0]]", "rows of different lengths"),
        ("facts.json", b"[[0, 1.5]]", "answers[0][1] is 1.5; a whole number is expected"),
        ("facts.json", b"[]", "it must be [relations >= 1, entities >= 2]"),
        ("facts.json", b"[[0]]", "at least 2 entities"),
        ("facts.json", b"{", "it is not JSON: Expecting property name"),
        ("facts.json", b"\xff\xfe", "it is not JSON: 'utf-8' codec can't decode byte 0xff"),
        ("facts.npy", b"\x93NUMPY", "is not a .npy file that can be read"),
        ("facts.npy", b"", "is not a .npy file that can be read"),
        ("facts.xlsx", b"0 1", "facts are read from .npy, .json, .csv, "),
    ],
)
def test_bad_system_files_get_one_line(name: str, content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        load_system(path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_pickles_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "facts.npy"
    np.save(path, np.array([{"answers": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match="is not a"):
        load_system(path)


def test_nothing_is_half_written(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_text("before")

    def fail(file: Path) -> None:
        file.write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(InputError, match="No space left on device"):
        write_atomically(path, fail)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(InputError, match="cannot write"):
        save_system(SYSTEM, tmp_path / "missing" / "facts.npy")
    with pytest.raises(InputError, match=r"written as \.npy or \.json"):
        save_system(SYSTEM, tmp_path / "facts.csv")
    with pytest.raises(InputError, match=r"written as \.safetensors"):
        save_model(t1.construct(SYSTEM), Task(), tmp_path / "model.pt")
