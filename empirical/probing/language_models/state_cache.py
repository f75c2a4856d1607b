"""Hidden states on disk: computed once for a model and its inputs, and read again from a .safetensors file."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray

from theory.errors import InputError
from theory.records.reading import read_tensors
from theory.records.writing import make_directory, write_atomically

FORMAT = 1  # raised when what is computed from the same key changes


def key_of(model: str, inputs: Any) -> str:
    """The key of a model's hash and of what it reads (anything that JSON can write)."""
    return hashlib.sha256(json.dumps([FORMAT, model, inputs]).encode()).hexdigest()


def remembered(
    directory: Path, key: str, names: Collection[str], compute: Callable[[], dict[str, NDArray[np.float32]]]
) -> dict[str, NDArray[np.float32]]:
    """The arrays of these names under the key, computed and written unless they are there; a damaged file is computed
    again.

    Raises InputError if the directory cannot be written.
    """
    path = directory / "states" / f"{key}.safetensors"
    with contextlib.suppress(InputError):
        arrays = read_tensors(path).arrays
        if set(arrays) == set(names):
            return arrays
    arrays = compute()
    make_directory(path.parent, parents=True)
    write_atomically(path, lambda file: file.write_bytes(safetensors.numpy.save(arrays)))
    return arrays
