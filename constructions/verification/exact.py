"""The exact forward pass: every logit, no rounding.

Every intermediate value is an integer over one common denominator: a mean over L tokens divides by L, and float
weights, taken as the binary fractions that they are, bring a power of two; ReLU and argmax do not mind a positive
factor. A product W^T X of integers is computed

    in float32 BLAS   when Σ_i |W_ij|·max|X_i| < 2^24 for every output j,
    in float64 BLAS   when it is < 2^53,
    in int64          when it is < 2^63,
    in Python's integers otherwise:

under the bound every partial sum, in whatever order and with or without fused operations, is an integer that the type
holds exactly, so the result is exact. The bound is checked on the data of each product, not assumed. Zero rows and
columns of the weights are left out, and matrices with few non-zeros are multiplied as sparse ones; neither changes a
result.

Values are arrays [features, batch], one column a query, so that a row of weights acts on contiguous memory. All
arithmetic outside the products is that of `integers`, which changes no value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from constructions.verification.integers import (
    add,
    alike,
    column_sums,
    common_divisor,
    converted,
    divided,
    largest,
    magnitude,
    multiplied,
    numerators,
    rounded,
    scaled,
    transposed,
    type_for,
    whole,
)
from theory import Block, InputError, Transformer

Array = NDArray[Any]

SPARSE_BELOW = 0.1
ARRAY = 2**15  # products that an operation on an array takes as long as, however small the array


def require_integers(transformer: Transformer) -> None:
    """InputError, naming the first tensor and entry, unless every weight is an integer."""
    for name, array in transformer.tensors():
        if array.dtype.kind == "f":
            fractional = np.argwhere(array != np.rint(array))
            if len(fractional):
                place = fractional[0].tolist()
                raise InputError(
                    f"{name}{place} is {array[tuple(place)]}, a fraction; integer weights are expected "
                    "(floats are taken as the fractions that they are only when asked to)"
                )


class Product:
    """X -> (W^T X + bias)·scale as an exact integer operation, for W [inputs, outputs] and bias [outputs].

    `scale` is the power of two that makes W and the bias integers (1 for integer weights).
    """

    def __init__(self, weights: Array, bias: Array | None = None) -> None:
        if bias is None:
            (self.weights,), self.scale = numerators(weights)
            self.bias = None
        else:
            (self.weights, self.bias), self.scale = numerators(weights, bias)
        self.inputs: int = weights.shape[0]
        self.outputs: int = weights.shape[1]
        self._rows = np.flatnonzero(self.weights.any(axis=1))
        self._columns = np.flatnonzero(self.weights.any(axis=0))
        compact = self.weights if self._is_full() else self.weights[np.ix_(self._rows, self._columns)]
        self._compact = compact.T
        # Where every output has but one input: which, and how often.
        alone = 0 < self.outputs == len(self._columns) and bool((np.count_nonzero(compact, axis=0) == 1).all())
        self.only = self._rows[(compact != 0).argmax(axis=0)] if alone else None
        self._factors = self.weights[self.only, np.arange(self.outputs)][:, None] if alone else self.weights[:0]
        self._sparse = compact.dtype != object and np.count_nonzero(compact) < SPARSE_BELOW * compact.size
        absolute = np.abs(rounded(self._compact))
        self._absolute = scipy.sparse.csr_array(absolute) if self._sparse else absolute
        self._typed: dict[Any, Any] = {}

    def _is_full(self) -> bool:
        return len(self._rows) == self.inputs and len(self._columns) == self.outputs

    def _matrix(self, kind: Any) -> Any:
        if kind not in self._typed:
            dense = converted(self._compact, kind)
            self._typed[kind] = scipy.sparse.csr_array(dense) if self._sparse and kind is not object else dense
        return self._typed[kind]

    @property
    def multiplications(self) -> int:
        """How many products of two numbers a column takes."""
        return whole(np.count_nonzero(self._compact))

    def kind(self, values: Array, denominator: int = 1) -> Any:
        """The type that the numerators for these values will have."""
        return self._kind(values if len(self._rows) == self.inputs else values[self._rows], denominator)

    def _kind(self, used: Array, denominator: int) -> Any:
        # Factors count as 1 at least, here and below, for the type must hold the other factor too.
        bound = (self._absolute @ np.maximum(magnitude(used), 1)).max() if self._compact.size else 0.0
        if self.bias is not None and self.outputs:
            bound = bound + rounded(np.array([denominator * max(1, largest(self.bias))], object))[0]
        return type_for(bound)

    def __call__(self, values: Array, denominator: int = 1) -> Array:
        """The numerators [outputs, batch] over denominator·scale, for numerators `values` [inputs, batch] over
        denominator.
        """
        if self.only is not None and values.dtype.kind in "iu":
            result = multiplied(values[self.only], self._factors)
            return result if self.bias is None else add(result, scaled(self.bias, denominator)[:, None])
        used = values if len(self._rows) == self.inputs else values[self._rows]
        kind = self._kind(used, denominator)
        used = converted(used, kind)
        part = self._python_product(used) if kind is object else np.asarray(self._matrix(kind) @ used)
        if len(self._columns) == self.outputs:
            result = part
        else:
            result = np.zeros((self.outputs, values.shape[1]), kind)
            result[self._columns] = part
        if self.bias is not None and self.bias.any():
            np.add(result, converted(scaled(self.bias, denominator), kind)[:, None], out=result)
        return result

    def _python_product(self, values: Array) -> Array:
        """The product in Python's integers, zeros left out."""
        weights = self._matrix(object)
        result = np.full((len(weights), values.shape[1]), 0, object)
        for row, column in np.argwhere(weights != 0).tolist():
            result[row] = result[row] + weights[row, column] * values[column]
        return result


def products(transformer: Transformer, length: int, prompts: int, batches: int) -> int:
    """How many products and sums it takes to run so many prompts of a length, in so many batches, up to the read-out;
    zeros of the weights are left out. The last block is run at the last position, the others at all.
    """
    parts = [prompts * length * max(1, transformer.dimension)]
    for number, block in enumerate(transformer.blocks):
        positions, read = 1 if number == len(transformer.blocks) - 1 else length, block.heads * length
        weights = sum(whole(np.count_nonzero(getattr(block, name))) for name in Block.AXES)
        each = prompts * (weights + read * transformer.dimension) + batches * (1 + read) * ARRAY
        parts.append(positions * each)
    return sum(parts)


@dataclass(frozen=True)
class Stream:
    """The residual stream at each position of a batch of prompts: integers [d, batch] over one denominator."""

    positions: tuple[Array, ...]
    denominator: int = 1


class PreparedBlock:
    """The products of one block, with what no later part reads left out (`needed`: the rows of W_U, for the last
    block).
    """

    def __init__(self, block: Block, needed: NDArray[np.intp] | None) -> None:
        columns = slice(None) if needed is None else needed
        self.needed = columns
        self.heads = block.heads
        self.queries = [Product(w) for w in block.W_Q]
        self.keys = [Product(w) for w in block.W_K]
        self.values = [Product(w) for w in block.W_V]
        # A common factor of W_O cancels against the number of tokens in a mean: T1's 2·mean is a sum of two tokens.
        (numerator,), scale = numerators(block.W_O)
        self.common, self.output_scale = common_divisor(numerator), scale
        self.outputs = [Product(w) for w in divided(numerator, self.common)]
        self.hidden = Product(block.W_in, block.b_in)
        self.written = Product(block.W_out[:, columns], block.b_out[columns])

    def bring(self, head: int, total: Array, count: int, denominator: int) -> tuple[Array, int]:
        """What a head makes of a mean: `total` over denominator, the sum of `count` positions of the stream."""
        shared = math.gcd(count, self.common)
        value = self.outputs[head](self.values[head](total))
        divisor = count // shared * self.values[head].scale * self.output_scale
        return scaled(value, self.common // shared), denominator * divisor

    def write(self, middle: Array, denominator: int, *, residual: bool) -> tuple[Array, int]:
        """The stream after the MLP (the features that are read, in the last block), and its denominator."""
        hidden = self.hidden(middle, denominator)
        output = self.written(np.maximum(hidden, 0, out=hidden), denominator * self.hidden.scale)
        factor = self.hidden.scale * self.written.scale
        if residual:
            output = add(scaled(middle[self.needed], factor), output)
        return output, denominator * factor


def combined(parts: list[tuple[Array, int]]) -> tuple[Array, int]:
    """The sum of numerators over denominators, over their least common multiple."""
    common = math.lcm(*(denominator for _, denominator in parts))
    total = scaled(parts[0][0], common // parts[0][1])
    for value, denominator in parts[1:]:
        total = add(total, scaled(value, common // denominator))
    return total, common


class ExactModel:
    """A transformer prepared for exact runs.

    Raises InputError for softmax attention, whose weights are irrational, and for fractional weights unless `rational`
    asks to take them as the fractions that they are.
    """

    def __init__(self, transformer: Transformer, *, rational: bool = False) -> None:
        if transformer.attention == "softmax":
            raise InputError(
                "softmax attention has irrational weights: enclose it by intervals "
                "(constructions.verification.interval)"
            )
        if not rational:
            require_integers(transformer)
        self.transformer = transformer
        (self._tokens, self._offsets), self._scale = numerators(transformer.W_E, transformer.W_pos)
        needed = np.flatnonzero(transformer.W_U.any(axis=1))
        last = len(transformer.blocks) - 1
        self.blocks = [PreparedBlock(b, needed if i == last else None) for i, b in enumerate(transformer.blocks)]
        self.read = needed
        self.readout = Product(transformer.W_U[needed], transformer.b_U)

    def logits(self, prompts: NDArray[np.int64]) -> tuple[Array, int]:
        """Numerators [answers, batch] and the denominator of the logits at the last position; prompts [batch,
        length].
        """
        outputs, denominator = self.outputs(prompts)
        return self.readout(outputs, denominator), denominator * self.readout.scale

    def outputs(self, prompts: NDArray[np.int64]) -> tuple[Array, int]:
        """Numerators of what is read out, the coordinates `read` of the stream at the last position, and their
        denominator.
        """
        model = self.transformer
        length = prompts.shape[1]
        if length > len(model.W_pos):
            raise InputError(f"the prompt has {length} tokens, but W_pos has {len(model.W_pos)} positions")
        stream = Stream(tuple(self._embedded(prompts[:, t], t) for t in range(length)), self._scale)
        for number, block in enumerate(self.blocks):
            final = number == len(self.blocks) - 1
            stream = self._run_block(block, stream, [length - 1] if final else list(range(length)))
        last = stream.positions[-1]
        return last if self.blocks else last[self.read], stream.denominator

    def _embedded(self, tokens: NDArray[np.int64], position: int) -> Array:
        rows = transposed(self._tokens[tokens])
        offsets = self._offsets[position]
        return add(rows, offsets[:, None]) if offsets.any() else rows

    def _run_block(self, block: PreparedBlock, stream: Stream, positions: list[int]) -> Stream:
        """The stream after the block at the given positions."""
        results = []
        for position in positions:
            visible = position + 1 if self.transformer.causal else len(stream.positions)
            middle, denominator = self._attend(block, stream, position, visible)
            results.append(block.write(middle, denominator, residual=self.transformer.residual))
        common = math.lcm(*(denominator for _, denominator in results))
        return Stream(tuple(scaled(output, common // denominator) for output, denominator in results), common)

    def _attend(self, block: PreparedBlock, stream: Stream, position: int, visible: int) -> tuple[Array, int]:
        """Attention's output at one position, added to the stream there if the model has a residual stream."""
        here = stream.positions[position]
        parts = [
            block.bring(head, *self._read(block, head, stream, here, visible), stream.denominator)
            for head in range(block.heads)
        ]
        if self.transformer.residual or not parts:
            parts.append((here, stream.denominator))
        return combined(parts)

    def _read(self, block: PreparedBlock, head: int, stream: Stream, here: Array, visible: int) -> tuple[Array, int]:
        """The sum of the stream over the positions attended to, and their number, brought to one number over the
        batch.
        """
        seen = stream.positions[:visible]
        if self.transformer.attention == "uniform":
            total = seen[0]
            for values in seen[1:]:
                total = add(total, values)
            return total, visible
        query = block.queries[head](here)
        # In one type: NumPy would make float64 of int64 beside float64, and round.
        scores = np.stack(alike(*(column_sums(multiplied(query, block.keys[head](values))) for values in seen)))
        attended = scores == scores.max(axis=0)
        counts = attended.sum(axis=0)
        common = math.lcm(*np.unique(counts).tolist())
        if common == 1:
            chosen = attended.argmax(axis=0)
            if (chosen == chosen[0]).all():
                return seen[chosen[0]], 1
        total = np.zeros_like(seen[0], shape=seen[0].shape)
        shares = common // converted(counts, object)
        for position, values in enumerate(seen):
            if attended[position].any():
                total = add(total, multiplied(values, (attended[position] * shares)[None]))
        return total, common
