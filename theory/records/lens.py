"""What a state of TransformerLens holds beyond the weights of `theory.definitions.transformer`: biases of attention and
buffers.

With biases a head asks with x W_Q + b_Q, answers with y W_K + b_K, and brings (mean of y W_V + b_V) W_O; b_O is added
to the sum of the heads. They are folded in exactly, without a product or a sum that could round:

* b_K adds <x W_Q + b_Q, b_K> to the scores of all keys alike, which changes neither hardmax nor softmax: it is left
  out. Uniform attention has no scores, and b_Q is left out too.
* For the others the stream gets one more coordinate, which is 1 at every position and after every block (W_pos sets
  it; where the stream is not residual, b_out sets it again). A row of W_Q for it is b_Q, one of W_V is b_V; and the
  first head gets one more value, that coordinate itself, which W_O takes to b_O. The mean of ones is 1.

The buffers `mask` and `IGNORE` hold nothing that was learned. Whether attention is causal stands in the metadata: the
mask is there in either case. Norms are not modelled and are refused by their name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theory.definitions.transformer import Block, Transformer
from theory.errors import InputError

Array = NDArray[Any]

BIASES = {"b_Q": "heads d_query", "b_K": "heads d_query", "b_V": "heads d_value", "b_O": "dimension"}
BUFFERS = ("mask", "IGNORE")
NORMS = ("ln", "norm", "layer_norm", "rms")


def with_biases(transformer: Transformer, biases: Sequence[dict[str, Array]]) -> tuple[Transformer, str]:
    """The model with the biases of each block folded in, and in words what was done ("" for biases of 0).

    InputError for a bias that does not fit its block, is not finite, or is of a type that the weights' cannot hold.
    """
    needed = []
    for number, (block, own) in enumerate(zip(transformer.blocks, biases, strict=True)):
        kept = {name: array for name, array in own.items() if _counts(number, name, array, block)}
        needed.append({name: array for name, array in kept.items() if name in _folded(transformer)})
    if not any(needed):
        return transformer, ""
    names = ", ".join(name for name in BIASES if any(name in own for own in needed))
    blocks = tuple(
        _widened(block, own, transformer.residual) for block, own in zip(transformer.blocks, needed, strict=True)
    )
    widened = replace(
        transformer,
        W_E=_padded(transformer.W_E, 1),
        W_pos=_padded(transformer.W_pos, 1, 1),
        W_U=_padded(transformer.W_U, 0),
        blocks=blocks,
    )
    return widened, f"{names} folded into one more coordinate, which is 1"


def _folded(transformer: Transformer) -> tuple[str, ...]:
    return ("b_V", "b_O") if transformer.attention == "uniform" else ("b_Q", "b_V", "b_O")


def _counts(number: int, name: str, bias: Array, block: Block) -> bool:
    """Whether the bias is not 0; InputError if it then does not fit its block."""
    if bias.dtype.kind not in "iuf" or not np.isfinite(bias).all():
        raise InputError(f"block {number}: {name} holds what is no finite number")
    if not bias.any():
        return False
    sizes = {"heads": block.heads, "d_query": block.W_Q.shape[2], "d_value": block.W_V.shape[2]}
    sizes["dimension"] = len(block.b_out)
    shape = tuple(sizes[axis] for axis in BIASES[name].split())
    if bias.shape != shape or not block.heads:
        raise InputError(f"block {number}: {name} has shape {list(bias.shape)}; it must be {list(shape)}, with a head")
    return True


def _widened(block: Block, biases: dict[str, Array], residual: bool) -> Block:
    """The block on a stream with one more coordinate, which is 1 before and after it."""
    W_Q, W_V = (
        _joined(weights, biases[bias][:, None, :], 1) if bias in biases else _padded(weights, 1)
        for weights, bias in ((block.W_Q, "b_Q"), (block.W_V, "b_V"))
    )
    W_O = _padded(block.W_O, 2)
    if "b_O" in biases:
        W_V = _padded(W_V, 2)
        W_V[0, -1, -1] = 1
        row = np.zeros((block.heads, 1, W_O.shape[2]), biases["b_O"].dtype)
        row[0, 0, :-1] = biases["b_O"]
        W_O = _joined(W_O, row, 1)
    return Block(
        W_Q=W_Q,
        W_K=_padded(block.W_K, 1),
        W_V=W_V,
        W_O=W_O,
        W_in=_padded(block.W_in, 0),
        b_in=block.b_in,
        W_out=_padded(block.W_out, 1),
        b_out=_padded(block.b_out, 0, 0 if residual else 1),
    )


def _padded(array: Array, axis: int, value: int = 0) -> Array:
    """The array with one more entry along the axis, which is `value`."""
    return np.pad(array, [(0, int(each == axis)) for each in range(array.ndim)], constant_values=value)


def _joined(left: Array, right: Array, axis: int) -> Array:
    """Both along the axis, in a type that holds the values of both; InputError if NumPy has none."""
    joined = np.concatenate([left, right], axis)
    for part, again in zip((left, right), np.split(joined, [left.shape[axis]], axis), strict=True):
        if again.tolist() != part.tolist():  # Python compares integers and floats exactly
            raise InputError(f"no type holds both {left.dtype} and {right.dtype}: save weights and biases in one type")
    return joined
