"""Models and fact systems on disk: .safetensors for weights, .npy or .json for systems. No pickle, nothing
half-written.

What a model file holds is in `theory.records.loading`, which reads what is written here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray

from theory.definitions.fact_system import FactSystem
from theory.definitions.task import Task
from theory.definitions.transformer import Transformer
from theory.records.facts import Facts, load_system
from theory.records.loading import load_model
from theory.records.writing import MODEL, SYSTEM, write_atomically

__all__ = ["load_model", "load_system", "save_model", "save_system"]


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


def save_model(transformer: Transformer, task: Task, path: Path, facts: Facts | None = None) -> None:
    """Write a model and its task, and the names of its facts, as .safetensors; InputError for another suffix."""
    MODEL.require(path)
    metadata = {
        "attention": transformer.attention,
        "residual": json.dumps(transformer.residual),
        "causal": json.dumps(transformer.causal),
        "beta": json.dumps(transformer.beta),
        "hops": json.dumps(task.hops),
        "stride": json.dumps(task.stride),
        "disjoint_attributes": json.dumps(task.disjoint_attributes),
        **(facts.words(task) if facts else {}),
    }
    tensors = {name: np.ascontiguousarray(array) for name, array in transformer.tensors()}
    # Not save_file: on a full disk that raises an error of its own instead of an OSError.
    write_atomically(path, lambda file: file.write_bytes(safetensors.numpy.save(tensors, metadata)))
