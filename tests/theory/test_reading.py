"""The boundary for foreign files: what goes wrong behind it is one line that names the file, and no value changes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pytest
import safetensors.numpy

from constructions.weights import t1
from theory import FactSystem, InputError, Task
from theory.records.facts import load_system
from theory.records.files import save_model
from theory.records.loading import load_model
from theory.records.reading import INDEX, foreign, parse_json, read_npy, read_tensors

SYSTEM = FactSystem.random(5, 2)
MODEL = t1.construct(SYSTEM)


def refusal(call: Any, *arguments: Any) -> str:
    with pytest.raises(InputError) as caught:
        call(*arguments)
    assert str(caught.value).isprintable()
    return str(caught.value)


@pytest.mark.parametrize(
    "error",
    [
        ValueError("two\nlines"),
        KeyError("x"),
        OverflowError(),
        RecursionError("deep"),
        MemoryError(),
        AttributeError("no"),
        OSError(36, "File name too long"),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
    ],
)
def test_whatever_a_parser_raises_is_one_line_with_the_name(error: Exception) -> None:
    def parse() -> None:
        with foreign(Path("a file\n.npy"), "a .npy file"):
            raise error

    assert "a file\\n.npy" in refusal(parse)


def with_header(header: str, path: Path) -> Path:
    text = header.encode("latin-1").ljust(117) + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(64))
    return path


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<i8', 'fortran_order': False, 'shape': (20000000000000000000000, 4), }",
        "{'descr': '<i8', 'fortran_order': False, 'shape': (2000000000, 4), }",
        "{'descr': '<i8', 'fortran_order': False, 'shape': (-2, 4), }",
        "{'descr': '<i8', 'fortran_order': False, 'shape': (True, 8), }",
        "{'descr': '|O', 'fortran_order': False, 'shape': (2, 4), }",
        "{'descr': ',', 'fortran_order': False, 'shape': (2, 4), }",
        "{'descr': '<i8', 'fortran_order': False, 'shape': (10**9, 4), }",
        "{'descr': '<i8','",
        "((((((((",
        "",
    ],
)
def test_headers_of_npy(header: str, tmp_path: Path) -> None:
    path = with_header(header, tmp_path / "facts.npy")
    assert refusal(load_system, path).startswith(f"{path} is not a .npy file that can be read")


def test_npy_arrays_are_read_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "facts.npy"
    for array in (np.arange(6).reshape(2, 3), np.array(7), np.zeros((0, 4)), np.asfortranarray(np.eye(3, dtype=">i2"))):
        np.save(path, array)
        found = read_npy(path)
        assert found.dtype == array.dtype
        np.testing.assert_array_equal(found, array)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 100_000, "nested too deeply"),
        ("NaN", "holds NaN"),
        ("[-Infinity]", "holds -Infinity"),
        ("1e400", "beyond every float"),
        ("1" * 5000, "a number of 5000 digits; at most 400 are read"),
        ('{"a": 1, "b": 2, "a": 3}', "the name 'a' twice"),
        ("{", "not JSON"),
        ("", "not JSON"),
        (b"\xff\xfe\xff", "not JSON"),
        ('"a"'.encode("utf-16"), "not JSON"),
    ],
)
def test_json_that_is_none(text: str | bytes, message: str) -> None:
    assert message in refusal(parse_json, text)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([[1, 0], [0, True]], "answers[1][1] is true; a whole number is expected"),
        ([[1, 0], [0, 1.0]], "answers[1][1] is 1.0; a whole number is expected"),
        ([[1, 0], 5], "answers[1] is no list"),
        ({"answers": [[1, None]]}, "answers[0][1] is null"),
        ({"answers": 5}, "answers has shape []"),
        ({"facts": [[1, 0]], "n": 2}, "the object has the keys 'facts', 'n'; needed is 'answers'"),
        ({}, "the object has the keys none"),
        ([[2**70, 0]], "answers"),
    ],
)
def test_systems_that_are_none(content: Any, message: str, tmp_path: Path) -> None:
    path = tmp_path / "facts.json"
    path.write_text(json.dumps(content))
    found = refusal(load_system, path)
    assert message in found
    assert found.startswith(str(path))


@pytest.mark.parametrize("edges", ["edges", "links"])
def test_a_graph_of_networkx_is_a_system(edges: str, tmp_path: Path) -> None:
    path = tmp_path / "facts.json"
    content = networkx.node_link_data(SYSTEM.to_networkx(), edges="edges")
    content[edges] = content.pop("edges")
    path.write_text(json.dumps(content))
    assert load_system(path) == SYSTEM


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"directed": False}, "must be directed"),
        ({"nodes": [{"id": True}, {"id": 0}]}, "nodes[0] must have id, texts or whole numbers"),
        ({"nodes": [5]}, "nodes[0] must have id, texts or whole numbers"),
        ({"edges": [{"source": 0, "target": 1}]}, "edges[0] has no key; its relation is wanted"),
        ({"edges": [{"source": 0, "target": 1, "key": 0}]}, "'1' has no '0', and here every fact is needed"),
        ({"edges": []}, "there are no facts"),
        ({"edges": 7}, "the object has the keys 'directed', 'multigraph'"),
    ],
)
def test_graphs_that_are_no_system(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = tmp_path / "facts.json"
    content = networkx.node_link_data(SYSTEM.to_networkx(), edges="edges")
    path.write_text(json.dumps({**content, **change}))
    assert message in refusal(load_system, path)


def raw(tensors: dict[str, tuple[str, list[int], bytes]], metadata: dict[str, str] | None = None) -> bytes:
    """A .safetensors file, byte by byte: NumPy lacks some of its types."""
    header: dict[str, Any] = {} if metadata is None else {"__metadata__": metadata}
    content = b""
    for name, (kind, shape, data) in tensors.items():
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(content), len(content) + len(data)]}
        content += data
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + content


def as_bfloat16(array: Any) -> tuple[str, list[int], bytes]:
    """The values as bfloat16, which holds them: the upper halves of their float32."""
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32)
    assert not (bits & 0xFFFF).any()
    return "BF16", list(np.shape(array)), (bits >> 16).astype("<u2").tobytes()


def test_bfloat16_is_widened_exactly(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(raw({name: as_bfloat16(array) for name, array in MODEL.tensors()}, {"attention": "uniform"}))
    loaded, _ = load_model(path, 5)
    for (_, before), (_, after) in zip(MODEL.tensors(), loaded.tensors(), strict=True):
        assert after.dtype == np.float32
        np.testing.assert_array_equal(before, after)
    patterns = np.arange(2**16, dtype="<u2")  # all of bfloat16, NaN and infinities too
    path.write_bytes(raw({"all": ("BF16", [2**16], patterns.tobytes())}))
    found = read_tensors(path).arrays["all"]
    np.testing.assert_array_equal(found.view(np.uint32), patterns.astype(np.uint32) << 16)


@pytest.mark.parametrize("kind", ["F8_E4M3", "F8_E5M2", "C64"])
def test_types_that_numpy_lacks_are_refused_by_name(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(raw({"W_E": (kind, [2], bytes(2 * (8 if kind == "C64" else 1)))}))
    assert f"{path}: tensor 'W_E' is of type {kind}, which is not read" in refusal(read_tensors, path)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("blocks.².W_in", "has no block number"),
        (f"blocks.{'1' * 5000}.W_in", "has no block number"),
        ("blocks.-1.W_in", "has no block number"),
        ("blocks.W_in", "has no block number"),
        ("layers.0.W_in", "unknown tensor 'layers.0.W_in'"),
        ("blocks.0.attn.W_in", "unknown tensor 'blocks.0.attn.W_in'"),
        ("blocks.0.W_E", "unknown tensor 'blocks.0.W_E'"),
        ("blocks.0.x.mlp.W_in", "unknown tensor"),
        ("a\nb", "unknown tensor 'a\\nb'"),
        ("", "unknown tensor ''"),
    ],
)
def test_names_of_tensors(name: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    safetensors.numpy.save_file({name: np.ones(2)}, path, {"attention": "uniform"})
    assert message in refusal(load_model, path, 5)


def test_a_few_bytes_cannot_name_a_million_heads(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(raw({"W_V": ("I8", [10**9, 6, 0], b"")}))
    assert "has no entries" in refusal(read_tensors, path)


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"activation": "gelu"}, "activation = 'gelu', which is not known here; the keys are attention, residual"),
        ({"resdiual": "true"}, "resdiual = 'true', which is not known here"),
        ({"beta": "1" * 400}, "a number that a float holds, or null, is expected"),
        ({"beta": str(2**60 + 1)}, "a number that a float holds, or null, is expected"),
        ({"beta": "NaN"}, "a number that a float holds, or null, is expected"),
        ({"beta": "true"}, "a number that a float holds, or null, is expected"),
        ({"hops": "true"}, "a whole number is expected"),
        ({"hops": "1.0"}, "a whole number is expected"),
        ({"hops": "[" * 50_000}, "a whole number is expected"),
        ({"residual": "1"}, "true or false is expected"),
        ({"residual": "True"}, "true or false is expected"),
    ],
)
def test_metadata_that_say_what_is_not_known(metadata: dict[str, str], message: str, tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    tensors = {name: np.ascontiguousarray(array) for name, array in MODEL.tensors()}
    safetensors.numpy.save_file(tensors, path, {"attention": "softmax", **metadata})
    assert message in refusal(load_model, path, 5)


def in_two_files(folder: Path) -> Path:
    """The model as transformers saves a large one: two files and their index."""
    names = [name for name, _ in MODEL.tensors()]
    files = {name: f"model-0000{1 + (place > 5)}-of-00002.safetensors" for place, name in enumerate(names)}
    for file in set(files.values()):
        part = {name: np.ascontiguousarray(array) for name, array in MODEL.tensors() if files[name] == file}
        safetensors.numpy.save_file(part, folder / file, {"attention": "uniform", "format": "np"})
    (folder / INDEX).write_text(json.dumps({"metadata": {"total_size": 1}, "weight_map": files}))
    return folder / INDEX


def test_a_model_in_several_files_is_read_whole_or_not_at_all(tmp_path: Path) -> None:
    index = in_two_files(tmp_path)
    for path in (index, tmp_path):
        loaded, _ = load_model(path, 5)
        assert loaded.parameters == MODEL.parameters
    for part in sorted(tmp_path.glob("*.safetensors")):
        assert "is one part of a model in several files" in refusal(load_model, part, 5)
    other = tmp_path / "renamed.safetensors"
    content = json.loads(index.read_text())
    first = content["weight_map"]["W_E"]
    (tmp_path / first).rename(other)
    assert "cannot read" in refusal(load_model, index, 5)
    content["weight_map"] = {n: other.name if f == first else f for n, f in content["weight_map"].items()}
    index.write_text(json.dumps(content))
    assert load_model(index, 5)[0].parameters == MODEL.parameters
    assert "is one part of a model in several files" in refusal(load_model, other, 5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda files: files.pop("W_U"), "do not agree: 'W_U' is in one of them alone"),
        (lambda files: files.update(W_X=files["W_E"]), "do not agree: 'W_X' is in one of them alone"),
        (lambda files: files.update(W_E="../model.safetensors"), "the name of a file beside it is expected"),
        *(
            (lambda files, name=name: files.update(W_E=name), "the name of a file beside it is expected")
            for name in ("", ".", "..", "/", "a\0b")
        ),
        (lambda files: files.update(W_E=5), "the name of a file beside it is expected"),
        (lambda files: files.clear(), "has no weight_map"),
    ],
)
def test_an_index_that_does_not_fit(change: Any, message: str, tmp_path: Path) -> None:
    index = in_two_files(tmp_path)
    content = json.loads(index.read_text())
    change(content["weight_map"])
    index.write_text(json.dumps(content))
    assert message in refusal(load_model, index, 5)


def test_parts_that_contradict_each_other(tmp_path: Path) -> None:
    index = in_two_files(tmp_path)
    part = max(tmp_path.glob("*.safetensors"))
    tensors = dict(safetensors.numpy.load_file(part))
    safetensors.numpy.save_file(tensors, part, {"attention": "hardmax"})
    assert "its files say attention = 'uniform' and 'hardmax'" in refusal(load_model, index, 5)


def test_a_folder_must_say_which_model_it_means(tmp_path: Path) -> None:
    assert "it holds none" in refusal(load_model, tmp_path, 5)
    save_model(MODEL, Task(), tmp_path / "a.safetensors")
    assert load_model(tmp_path, 5)[0].parameters == MODEL.parameters
    save_model(MODEL, Task(), tmp_path / "adapter_model.safetensors")
    assert "it holds a.safetensors, adapter_model.safetensors" in refusal(load_model, tmp_path, 5)


def test_no_tensor_is_named_twice(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    content = raw({"a": ("I8", [1], b"\1"), "b": ("I8", [1], b"\2")})
    path.write_bytes(content.replace(b'"b"', b'"a"'))
    assert str(path) in refusal(read_tensors, path)


@pytest.mark.parametrize("name", ["a" * 300 + ".json", "folder.json", "missing.npy", "folder.npy"])
def test_paths_that_are_no_file(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if name.startswith("folder"):
        path.mkdir()
    assert ("holds no .json file" if name.startswith("folder") else "cannot read") in refusal(load_system, path)


@pytest.mark.parametrize("name", ["pipe.npy", "pipe.json", "endless.npy", "endless.json"])
def test_pipes_and_devices_are_not_waited_for(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if name.startswith("pipe"):
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    assert refusal(load_system, path) == f"cannot read {path}: it is a pipe or a device; a file is expected"
    model = path.rename(tmp_path / "model.safetensors")
    assert refusal(read_tensors, model) == f"cannot read {model}: it is a pipe or a device; a file is expected"
