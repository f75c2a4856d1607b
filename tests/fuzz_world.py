"""What the fuzz of the command line hands over: a folder of small right files of every kind, and ways to spoil them."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy

from constructions.weights.catalogue import CATALOGUE, Setting
from tests.helpers.stores import small_store
from theory import FactSystem
from theory.records.files import save_model, save_system
from theory.records.reading import INDEX

# What stands for a value, as JSON and in metadata.
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2, 1.5, -0.0, 10**30, -(10**400), 1e308, 10**5000),
    *("", "x", "0", "true", "null", "²", "NaN", "\x1b[31m", "a\nb", "\x00", "[1]", "é" * 40),
    *([], {}, [[]], [[1]], {"a": 1}, [0] * 40),
)
RAW = (b"NaN", b"Infinity", b"1e999", b"[" * 2000, b"\xff", b'{"a":1,"a":2}', b"1" * 5000, b"", b"\x00" * 8, b"-0")


def make_world(folder: Path, language_model: bool) -> dict[str, Path]:
    """Right files: models of every construction with their facts, a model in two files, a store, relations, results,
    and, if asked, a tiny language model, which needs transformers.
    """
    sys.set_int_max_str_digits(0)  # as the command line does: a value has 5,000 digits
    folder.mkdir(parents=True)
    (folder / "inputs").mkdir()
    home = folder / "inputs"
    setting = Setting(2, 2, 1)
    for number, entry in enumerate(CATALOGUE):
        system = FactSystem.random(4, 2, number)
        task = entry.task(setting)
        save_model(entry.build(system, setting), task, home / f"m{number}.safetensors")
        save_system(system, home / f"m{number}{'.npy' if number % 2 else '.json'}")
    _in_two_files(home / "m0.safetensors", home / "split")
    save_system(FactSystem.random(4, 2, 0), home / "split.npy")
    small_store(home)
    samples = [{"subject": f"s{x}", "object": "abc"[x % 3]} for x in range(45)]
    relation = {"name": "r", "prompt_templates": ["{} is"], "samples": samples}
    (home / "relation.json").write_text(json.dumps(relation))
    (home / "graph.json").write_text(json.dumps(_graph(FactSystem.random(4, 2, 0))))
    (home / "facts.csv").write_text("country,capital,neighbour\nA,B,C\nC,D,A\nE,F,\n")
    (home / "facts.tsv").write_text("subject\trelation\tobject\nA\tr\tB\nB\tr\tC\nB\ts\tA\n")
    (home / "facts.edges").write_text("A r B\nA r C\n# none\nB s A\n")
    (home / "results").mkdir()
    verdict = {"claim": "E7", "status": "supported", "statement": "s", "numbers": {"a": 1.0}, "reason": ""}
    known = {**verdict, "as known": None, "condition": "c"}
    for name in ("standard", "mechanism", "probing", "trials"):
        content = {"verdicts": [known if name == "mechanism" else verdict], "models": [], "relations": []}
        (home / "results" / f"{name}.json").write_text(json.dumps(content))
    if language_model:
        from tests.helpers.tiny_language_models import save

        save("llama", home / "llama")
    return {path.relative_to(home).as_posix(): path for path in sorted(home.rglob("*")) if path.is_file()}


def _in_two_files(model: Path, folder: Path) -> None:
    folder.mkdir()
    tensors = dict(safetensors.numpy.load_file(model))
    with safetensors.safe_open(model, "numpy") as file:
        metadata = file.metadata()
    files = {}
    for part, names in enumerate((sorted(tensors)[::2], sorted(tensors)[1::2]), start=1):
        name = f"model-0000{part}-of-00002.safetensors"
        safetensors.numpy.save_file({each: tensors[each] for each in names}, folder / name, metadata)
        files |= dict.fromkeys(names, name)
    (folder / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": files}))


def _graph(system: FactSystem) -> dict[str, Any]:
    edges = [
        {"source": x, "target": answer, "key": relation}
        for relation, row in enumerate(system.answers.tolist())
        for x, answer in enumerate(row)
    ]
    nodes = [{"id": x} for x in range(system.entities)]
    return {"directed": True, "multigraph": True, "graph": {}, "nodes": nodes, "edges": edges}


def spoil(path: Path, rng: random.Random) -> None:
    """Spoil a file in a way that fits its kind, or in bytes."""
    ways: list[Callable[[Path, random.Random], None]] = [_bytes]
    if path.suffix == ".json":
        ways += [_json] * 3
    if path.suffix == ".npy":
        ways += [_npy] * 2
    if path.suffix == ".safetensors":
        ways += [_tensor] * 4 + [_metadata] * 2 + [_header] * 2
    if path.suffix == ".sqlite":
        ways += [_rows] * 4
    rng.choice(ways)(path, rng)


def _bytes(path: Path, rng: random.Random) -> None:
    content = bytearray(path.read_bytes())
    for _ in range(rng.choice((1, 1, 2, 8))):
        place = rng.randrange(min(len(content), rng.choice((16, 200, 10**9)))) if content else 0
        match rng.randrange(5):
            case 0 if content:
                content[place] = rng.randrange(256)
            case 1:
                del content[place:]
            case 2:
                content[place:place] = rng.choice(RAW)
            case 3:
                del content[place : place + rng.randrange(1, 9)]
            case _:
                content[place : place + 8] = rng.choice(RAW)
    path.write_bytes(bytes(content))


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a JSON value, as the keys that lead to it."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, each in inside for place in _places(each, (*path, key)))]


def _json(path: Path, rng: random.Random) -> None:
    content = json.loads(path.read_text())
    *outer, last = rng.choice(_places(content)[1:])
    home = content
    for key in outer:
        home = home[key]
    if rng.random() < 0.3:
        del home[last]
    elif isinstance(home, dict) and rng.random() < 0.3:
        home[rng.choice(("x", "", "²", "a\nb"))] = home.pop(last)
    else:
        home[last] = rng.choice(VALUES)
    path.write_text(json.dumps(content))


def _npy(path: Path, rng: random.Random) -> None:
    array = np.load(path, allow_pickle=False)
    changes: list[Callable[[], Any]] = [
        lambda: array.astype(rng.choice(["i1", "f8", "?", "u8", "U3", ">i4", "c8", "M8[s]"])),
        lambda: array.T,
        lambda: array.reshape(-1),
        lambda: array[:, :-1],
        lambda: np.where(rng.random() < 2, array + rng.choice((1, -1, 2**40)), array),
        lambda: array[:, ::-1],
        lambda: np.zeros((0, 4), int),
        lambda: np.array(3),
    ]
    np.save(path, rng.choice(changes)(), allow_pickle=False)


def read_model(path: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """Tensors and metadata, by the library alone."""
    with safetensors.safe_open(path, "numpy") as file:
        metadata = file.metadata() or {}
    return dict(safetensors.numpy.load_file(path)), metadata


def _tensor(path: Path, rng: random.Random) -> None:
    """Another entry, type, name or shape: most of these are models still."""
    tensors, metadata = read_model(path)
    name = rng.choice(sorted(tensors))
    array = np.array(tensors[name])
    match rng.randrange(8):
        case 0 | 1 | 2 if array.size:
            place = tuple(rng.randrange(size) for size in array.shape)
            wide = array.astype(np.float64 if array.dtype.kind == "f" or rng.random() < 0.3 else np.int64)
            wide[place] = wide[place] + rng.choice((1, -1, 3, -8)) if rng.random() < 0.8 else rng.choice((0, 2**40))
            tensors[name] = wide
        case 3:
            tensors[name] = array.astype(rng.choice([np.float16, np.float32, np.float64, np.int64, np.uint8, np.bool_]))
        case 4:
            tensors[rng.choice(("W_X", "blocks.².W_in", "blocks.0.ln1.w", "", f"blocks.{'9' * 5000}.W_V"))] = array
        case 5:
            del tensors[name]
        case 6:
            tensors[name] = np.ascontiguousarray(array.T)
        case _:
            value = rng.choice((np.nan, np.inf, 1e308, 5e-324, 2.0**63))
            tensors[name] = np.full(array.shape, value)
    safetensors.numpy.save_file(tensors, path, metadata)


def _metadata(path: Path, rng: random.Random) -> None:
    tensors, metadata = read_model(path)
    name = rng.choice((*sorted(metadata), "activation", "beta", "hops", "attention", "config"))
    words = ("true", "false", "1", "2", "0", "-3", "uniform", "hardmax", "softmax", "1" * 400, "1e400", "null", "7")
    metadata[name] = rng.choice((*words, *(json.dumps(each) for each in VALUES)))
    if rng.random() < 0.2:
        del metadata[name]
    safetensors.numpy.save_file(tensors, path, metadata)


def _header(path: Path, rng: random.Random) -> None:
    """Another value in the header, its length kept right."""
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    *outer, last = rng.choice(_places(header)[1:])
    home = header
    for key in outer:
        home = home[key]
    home[last] = rng.choice((*VALUES, "BF16", "F8_E4M3", "BOOL", [2, 3], [10**9, 6, 0]))
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + content[8 + length :])


def _rows(path: Path, rng: random.Random) -> None:
    """Another value in a row, or another table; the file is whole."""
    with sqlite3.connect(path) as connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(runs)")]
        column = rng.choice(columns)
        texts = [each if isinstance(each, str) else json.dumps(each) for each in VALUES]
        value: Any = rng.choice((*texts, None, 1, -1, 1.5, float("inf"), b"\xff\xfe", 2**62))
        try:
            match rng.randrange(6):
                case 0:
                    connection.execute(f"ALTER TABLE runs RENAME COLUMN {column} TO other")
                case 1:
                    connection.execute("DROP TABLE runs")
                case 2:
                    connection.execute(f"UPDATE runs SET {column} = CAST(x'ff41' AS TEXT)")
                case _:
                    connection.execute(f"UPDATE runs SET {column} = ?", (value,))
        except (sqlite3.IntegrityError, sqlite3.OperationalError, UnicodeEncodeError):
            connection.rollback()
    connection.close()


def copied(source: Path, target: Path) -> Path:
    """A copy with all that belongs to it: of a store, the weights beside it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    weights = source.with_name(f"{source.name}.weights")
    if weights.is_dir():
        shutil.copytree(weights, target.with_name(f"{target.name}.weights"), dirs_exist_ok=True)
    return target
