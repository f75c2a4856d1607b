"""Models and fact systems on disk: .safetensors for weights, .npy or .json for systems. No pickle, nothing
half-written.

A model file holds the tensors by name (W_E, W_pos, blocks.0.W_Q, .., blocks.0.b_out, W_U, b_U) and, in its metadata,
what the tensors cannot say: `attention` (uniform, hardmax, softmax), and where they differ from the defaults
`residual`, `causal` (true, false), `beta`, and the task: `hops`, `stride`, `disjoint_attributes`. Longer names as in
TransformerLens (embed.W_E, blocks.0.attn.W_Q, blocks.0.mlp.W_in, unembed.W_U) are understood, and the block number may
be left out when there is one block. Under uniform attention W_Q and W_K may be absent.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy
from numpy.typing import NDArray

from theory.errors import InputError
from theory.fact_system import FactSystem
from theory.task import Task
from theory.transformer import Block, Transformer
from theory.writing import MODEL, SYSTEM, write_atomically


def save_system(system: FactSystem, path: Path) -> None:
    """Write a fact system as .npy (int64 [R, N]) or .json (a list of R lists); InputError for another suffix."""
    SYSTEM.require(path)
    if path.suffix == ".json":
        write_atomically(path, lambda file: file.write_text(json.dumps(system.answers.tolist())))
    else:
        write_atomically(path, lambda file: _save_npy(file, system.answers))


def _save_npy(file: Path, array: NDArray[Any]) -> None:
    with file.open("wb") as stream:
        np.save(stream, array, allow_pickle=False)


def load_system(path: Path) -> FactSystem:
    """Read a fact system from .npy or .json (a list of lists, or an object whose "answers" is one); InputError if it is
    none.
    """
    answers: Any
    try:
        if path.suffix == ".json":
            content = json.loads(path.read_text())
            answers = content.get("answers") if isinstance(content, dict) else content
        elif path.suffix == ".npy":
            answers = np.load(path, allow_pickle=False)
        else:
            raise InputError(f"{path}: a fact system is read from .npy or .json")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    except (ValueError, EOFError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} is not a {path.suffix} file that can be read: {_first_line(error)}") from None
    try:
        return FactSystem(answers)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def save_model(transformer: Transformer, task: Task, path: Path) -> None:
    """Write a model and its task as .safetensors; InputError for another suffix."""
    MODEL.require(path)
    metadata = {
        "attention": transformer.attention,
        "residual": json.dumps(transformer.residual),
        "causal": json.dumps(transformer.causal),
        "beta": json.dumps(transformer.beta),
        "hops": json.dumps(task.hops),
        "stride": json.dumps(task.stride),
        "disjoint_attributes": json.dumps(task.disjoint_attributes),
    }
    tensors = {name: np.ascontiguousarray(array) for name, array in transformer.tensors()}
    # Not save_file: on a full disk that raises an error of its own instead of an OSError.
    write_atomically(path, lambda file: file.write_bytes(safetensors.numpy.save(tensors, metadata)))


def load_tensors(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    """The tensors of a .safetensors file by name, and its metadata; InputError when it cannot be read."""
    try:
        with safetensors.safe_open(path, "numpy") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  (not a dict)
            return tensors, file.metadata() or {}
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    except (safetensors.SafetensorError, ValueError) as error:
        raise InputError(f"{path} is not a .safetensors file that can be read: {_first_line(error)}") from None


def load_model(path: Path, entities: int) -> tuple[Transformer, Task]:
    """Read a model over the given number of entities, and its task (one hop unless the metadata say otherwise).

    Raises InputError when the file cannot be read, a tensor is missing, unknown or misshapen, or an entry is not
    finite.
    """
    tensors, metadata = load_tensors(path)
    try:
        return _assemble(tensors, metadata, entities)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _assemble(tensors: dict[str, NDArray[Any]], metadata: dict[str, str], entities: int) -> tuple[Transformer, Task]:
    options = {name: _option(metadata, name, default) for name, default in OPTIONS.items()}
    attention: Any = metadata.get("attention")
    if attention not in ("uniform", "hardmax", "softmax"):
        raise InputError(f"its metadata say attention = {attention!r}; it must be uniform, hardmax or softmax")
    outer: dict[str, NDArray[Any]] = {}
    inner: dict[int, dict[str, NDArray[Any]]] = {}
    for name, array in tensors.items():
        number, short = _block_and_name(name)
        home = outer if short in ("W_E", "W_pos", "W_U", "b_U") else inner.setdefault(number, {})
        if short in home:
            raise InputError(f"two tensors are called {short} (one of them {name})")
        home[short] = array
    if sorted(inner) != list(range(len(inner))):
        raise InputError(f"its blocks are numbered {sorted(inner)}; they must be 0, 1, 2, ..")
    blocks = []
    for number in range(len(inner)):
        part = inner[number]
        if attention == "uniform" and "W_V" in part and part["W_V"].ndim == 3:
            for name in ("W_Q", "W_K"):
                part.setdefault(name, np.zeros((*part["W_V"].shape[:2], 0), np.int8))
        blocks.append(Block(**_complete(part, tuple(Block.AXES), f"block {number}")))
    weights = _complete(outer, ("W_E", "W_pos", "W_U", "b_U"), "the model")
    transformer = Transformer(
        entities=entities,
        blocks=tuple(blocks),
        attention=attention,
        residual=options["residual"],
        causal=options["causal"],
        beta=options["beta"],
        **weights,
    )
    return transformer, Task(options["hops"], options["stride"], options["disjoint_attributes"])


OPTIONS: dict[str, Any] = {
    "residual": False,
    "causal": False,
    "beta": None,
    "hops": 1,
    "stride": 0,
    "disjoint_attributes": False,
}


def _option(metadata: dict[str, str], name: str, default: Any) -> Any:
    """A metadata entry, written as JSON; InputError unless it has the type of the default (a number or null for
    beta).
    """
    if name not in metadata:
        return default
    try:
        value = json.loads(metadata[name])
    except ValueError:
        value = metadata[name]
    expected = (float, int, type(None)) if default is None else type(default)
    if not isinstance(value, expected) or (isinstance(value, bool) and not isinstance(default, bool)):
        raise InputError(f"its metadata say {name} = {metadata[name]!r}; {_wanted(default)} is expected")
    return value


def _wanted(default: Any) -> str:
    return {bool: "true or false", int: "a whole number"}.get(type(default), "a number or null")


def _block_and_name(name: str) -> tuple[int, str]:
    """The block (0 unless it says blocks.i) and the last part of a tensor's name; InputError for a name that is
    none.
    """
    parts = name.split(".")
    known = {*Block.AXES, "W_E", "W_pos", "W_U", "b_U"}
    if parts[-1] not in known:
        raise InputError(f"unknown tensor {name!r}; the names are {', '.join(sorted(known))}")
    if "blocks" in parts[:-1]:
        number = parts[parts.index("blocks") + 1]
        if not number.isdigit():
            raise InputError(f"tensor {name!r} has no block number after 'blocks.'")
        return int(number), parts[-1]
    return 0, parts[-1]


def _complete(part: dict[str, NDArray[Any]], names: tuple[str, ...], where: str) -> dict[str, NDArray[Any]]:
    missing = [name for name in names if name not in part]
    if missing:
        raise InputError(f"{where} lacks {', '.join(missing)}")
    return part
