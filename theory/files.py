"""Models and fact systems on disk: .safetensors for weights, .npy or .json for systems. No pickle, nothing
half-written.

What a model file holds is in `theory.loading`, which reads what is written here.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray

from theory.errors import InputError
from theory.fact_system import FactSystem
from theory.loading import load_model, load_system
from theory.task import Task
from theory.transformer import Transformer

__all__ = ["load_model", "load_system", "save_model", "save_system", "write_atomically"]


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a temporary file beside `path`, then rename it; InputError when the folder cannot be written."""
    try:
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        os.close(descriptor)
        try:
            write(Path(name))
            os.chmod(name, 0o644)
            os.replace(name, path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from None


def save_system(system: FactSystem, path: Path) -> None:
    """Write a fact system as .npy (int64 [R, N]) or .json (a list of R lists); InputError for another suffix."""
    if path.suffix == ".json":
        write_atomically(path, lambda file: file.write_text(json.dumps(system.answers.tolist())))
    elif path.suffix == ".npy":
        write_atomically(path, lambda file: _save_npy(file, system.answers))
    else:
        raise InputError(f"{path}: a fact system is written as .npy or .json")


def _save_npy(file: Path, array: NDArray[Any]) -> None:
    with file.open("wb") as stream:
        np.save(stream, array, allow_pickle=False)


def save_model(transformer: Transformer, task: Task, path: Path) -> None:
    """Write a model and its task as .safetensors; InputError for another suffix."""
    if path.suffix != ".safetensors":
        raise InputError(f"{path}: weights are written as .safetensors")
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
