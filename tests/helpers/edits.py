"""Changes to a transformer's weights, made on copies."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theory import Block, Transformer

Array = NDArray[Any]


def widened(array: Array) -> Array:
    """A copy that has room for changes: int64 or float64."""
    return array.astype(np.int64 if np.issubdtype(array.dtype, np.integer) else np.float64)


def tensor(transformer: Transformer, name: str) -> Array:
    """A copy of the tensor of that name, with room for changes."""
    return widened(dict(transformer.tensors())[name])


def with_tensor(transformer: Transformer, name: str, array: Array) -> Transformer:
    """The transformer with one tensor replaced."""
    if not name.startswith("blocks."):
        return dataclasses.replace(transformer, **{name: array})
    _, number, field = name.split(".")
    blocks = list(transformer.blocks)
    blocks[int(number)] = dataclasses.replace(blocks[int(number)], **{field: array})
    return dataclasses.replace(transformer, blocks=tuple(blocks))


def put(transformer: Transformer, name: str, place: Any, value: Any) -> Transformer:
    """The transformer with `value` at a place of a tensor."""
    array = tensor(transformer, name)
    array[place] = value
    return with_tensor(transformer, name, array)


def raised(transformer: Transformer, name: str, place: Any, amount: Any) -> Transformer:
    """The transformer with `amount` added at a place of a tensor."""
    return put(transformer, name, place, tensor(transformer, name)[place] + amount)


def wider(transformer: Transformer, extra: int = 1) -> Transformer:
    """The transformer with `extra` more coordinates at the end, zero and unused."""

    def padded(array: Array, *axes: int) -> Array:
        return np.pad(widened(array), [(0, extra if axis in axes else 0) for axis in range(array.ndim)])

    axes = {name: names.split().index("dimension") for name, names in Block.AXES.items() if "dimension" in names}
    blocks = [
        dataclasses.replace(block, **{name: padded(getattr(block, name), axis) for name, axis in axes.items()})
        for block in transformer.blocks
    ]
    return dataclasses.replace(
        transformer,
        W_E=padded(transformer.W_E, 1),
        W_pos=padded(transformer.W_pos, 1),
        W_U=padded(transformer.W_U, 0),
        blocks=tuple(blocks),
    )


def damaged(transformer: Transformer, generator: np.random.Generator) -> Transformer:
    """The transformer after one to three accidents: noise, rows exchanged, copied or shuffled, a tensor scaled or
    shifted, a switch turned.
    """
    for _ in range(generator.integers(1, 4)):
        names = [name for name, array in transformer.tensors() if array.size]
        name = names[generator.integers(len(names))]
        transformer = with_tensor(transformer, name, _damaged_tensor(tensor(transformer, name), generator))
    if generator.random() < 0.1:
        transformer = dataclasses.replace(transformer, residual=not transformer.residual)
    if generator.random() < 0.05:
        other = {"uniform": "hardmax", "hardmax": "uniform", "softmax": "softmax"}
        transformer = dataclasses.replace(transformer, attention=other[transformer.attention])
    return transformer


def _damaged_tensor(array: Array, generator: np.random.Generator) -> Array:
    accident, axis = generator.integers(8), int(generator.integers(array.ndim))
    size = array.shape[axis]
    one, other = generator.integers(size, size=2)
    order = np.arange(size)
    if accident <= 2:
        for _ in range(generator.integers(1, 4)):
            place = tuple(int(generator.integers(length)) for length in array.shape)
            array[place] += generator.choice([-100, -3, -2, -1, 1, 2, 3, 100])
        return array
    if accident == 3:
        order[[one, other]] = other, one
    elif accident == 4:
        order[one] = other
    elif accident == 5:
        order = generator.permutation(size)
    elif accident == 6:
        return array * generator.choice([2, 3, -1, 0])
    else:
        return array + generator.integers(-1, 2, size=array.shape if generator.random() < 0.5 else ())
    return np.take(array, order, axis=axis)
