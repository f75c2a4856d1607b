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

Values are arrays [features, batch], one column a query, so that a row of weights acts on contiguous memory.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from theory import Block, InputError, Transformer

Array = NDArray[Any]

SPARSE_BELOW = 0.1


def require_integers(transformer: Transformer) -> None:
    """InputError, naming the first tensor and entry, unless every weight is an integer."""
    for name, array in transformer.tensors():
        if array.dtype.kind == "f":
            fractional = np.argwhere(array != np.rint(array))
            if len(fractional):
                place = [int(i) for i in fractional[0]]
                raise InputError(
                    f"{name}{place} is {array[tuple(place)]}, a fraction; integer weights are expected "
                    "(floats are taken as the fractions that they are only when asked to)"
                )


def numerators(*arrays: Array) -> tuple[list[Array], int]:
    """Integer arrays and the least power of two by which they must be divided to give the given arrays, exactly.

    Raises InputError for floats that float64 does not hold (extended precision).
    """
    bits = max((_fraction_bits(array) for array in arrays if array.dtype.kind == "f"), default=0)
    return [_integers(array, bits) for array in arrays], 2**bits


def _fraction_bits(array: Array) -> int:
    """The least number of bits after the binary point in which every entry of a float array can be written."""
    wide = array.astype(np.float64)
    if (wide != array).any():
        raise InputError(f"weights hold {array.dtype} values that are no float64; exact runs take float64 or less")
    mantissa, exponent = np.frexp(wide[wide != 0])
    whole = (mantissa * 2.0**53).astype(np.int64)
    trailing_zeros = np.frexp((whole & -whole).astype(np.float64))[1] - 1
    return max(0, int((53 - exponent - trailing_zeros).max(initial=0)))


def _integers(array: Array, bits: int) -> Array:
    """array·2^bits, which is known to be integer, in an integer type that holds it."""
    if array.dtype.kind != "f":
        return array if bits == 0 else array.astype(object) * 2**bits
    wide = array.astype(np.float64)
    if np.frexp(wide)[1].max(initial=0) + bits <= 62:
        return np.ldexp(wide, bits).astype(np.int64)
    ratios = [value.as_integer_ratio() for value in wide.ravel().tolist()]
    return np.array([(n << bits) // m for n, m in ratios], dtype=object).reshape(wide.shape)


def rounded(values: Array) -> NDArray[np.float64]:
    """Integers in float64 for the arithmetic of bounds; ±2^500 stands for anything larger, and leaves room for sums."""
    huge = 2**500
    return (np.clip(values, -huge, huge) if values.dtype == object else values).astype(np.float64)


def magnitude(values: Array) -> NDArray[np.float64]:
    """max |X_i| over the batch for each feature i, rounded; shape [features]."""
    if values.size == 0:
        return np.zeros(len(values))
    return np.asarray(np.maximum(rounded(values.max(axis=1)), -rounded(values.min(axis=1))))


def transposed(matrix: Array) -> Array:
    """The transpose in contiguous memory, made in pieces that fit the cache."""
    result = np.empty(matrix.shape[::-1], matrix.dtype)
    step = max(1, 2**19 // max(1, matrix.shape[1]))
    for start in range(0, len(matrix), step):
        result[:, start : start + step] = matrix[start : start + step].T
    return result


def type_for(bound: Any) -> Any:
    """The fastest type in which integer sums whose absolute terms add up to `bound` are exact."""
    # The bound may itself be a float64 sum: halving the limits absorbs its rounding.
    if bound < 2**23:
        return np.float32
    if bound < 2**52:
        return np.float64
    return np.int64 if bound < 2**62 else object


# The largest magnitude up to which a type holds every integer.
_HOLDS = {"float16": 2**11, "float32": 2**24, "float64": 2**53}


def converted(values: Array, kind: Any) -> Array:
    """The same integers in another type, `object` being Python's integers: the one way from type to type in the core.

    Raises OverflowError when the type does not hold one of them (or when a float is none, but a fraction, an infinity
    or NaN): a cast never changes a value in silence.
    """
    wanted = np.dtype(kind)
    if values.dtype == wanted and wanted.kind != "O":
        return values
    if "O" in (values.dtype.kind, wanted.kind):
        values = _plain(values)
    if wanted.kind == "O" or values.size == 0:
        return values.astype(wanted)
    low, high = values.min(), values.max()
    least, most = _limits(wanted)
    if values.dtype.kind == "f" and not (np.isfinite([low, high]).all() and (values == np.rint(values)).all()):
        raise OverflowError(f"values that are no integers were to become {wanted}")
    if int(low) < least or int(high) > most:
        raise OverflowError(f"integers from {int(low)} to {int(high)} do not fit {wanted}")
    return values.astype(wanted)


def _limits(kind: np.dtype[Any]) -> tuple[int, int]:
    """The range in which a type holds every integer."""
    if kind.kind == "f":
        return -_HOLDS[kind.name], _HOLDS[kind.name]
    info = np.iinfo(kind)
    return int(info.min), int(info.max)


def _plain(values: Array) -> Array:
    """An array of Python's integers; OverflowError when an entry is none."""
    result = np.empty(values.shape, object)
    for place, value in enumerate(values.ravel().tolist()):
        if value != value // 1:
            raise OverflowError(f"{value} was to become an integer")
        result.flat[place] = int(value)
    return result


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
        self.inputs, self.outputs = int(weights.shape[0]), int(weights.shape[1])
        self._rows = np.flatnonzero(self.weights.any(axis=1))
        self._columns = np.flatnonzero(self.weights.any(axis=0))
        compact = self.weights if self._is_full() else self.weights[np.ix_(self._rows, self._columns)]
        self._compact = compact.T
        self._sparse = compact.dtype != object and np.count_nonzero(compact) < SPARSE_BELOW * compact.size
        absolute = np.abs(rounded(self._compact))
        self._absolute = scipy.sparse.csr_array(absolute) if self._sparse else absolute
        self._typed: dict[Any, Any] = {}

    def _is_full(self) -> bool:
        return len(self._rows) == self.inputs and len(self._columns) == self.outputs

    def _matrix(self, kind: Any) -> Any:
        if kind not in self._typed:
            dense = self._compact.astype(kind)
            self._typed[kind] = scipy.sparse.csr_array(dense) if self._sparse and kind is not object else dense
        return self._typed[kind]

    def __call__(self, values: Array, denominator: int = 1) -> Array:
        """The numerators [outputs, batch] over denominator·scale, for numerators `values` [inputs, batch] over
        denominator.
        """
        used = values if len(self._rows) == self.inputs else values[self._rows]
        # Factors count as 1 at least, here and below, for the type must hold the other factor too.
        bound = (self._absolute @ np.maximum(magnitude(used), 1)).max() if used.size and self._compact.size else 0
        if self.bias is not None and self.outputs:
            largest = denominator * max(int(self.bias.max()), -int(self.bias.min()))
            bound += rounded(np.array([largest], dtype=object))[0]
        kind = type_for(bound)
        part = self._matrix(kind) @ converted(used, kind)
        if len(self._columns) == self.outputs:
            result = np.asarray(part)
        else:
            result = np.zeros((self.outputs, values.shape[1]), kind)
            result[self._columns] = part
        if self.bias is not None and self.bias.any():
            result += (self.bias.astype(object if denominator > 1 else kind) * denominator).astype(kind)[:, None]
        return result


def add(left: Array, right: Array) -> Array:
    """The exact sum of two integer arrays of any types."""
    kind = type_for(int(np.max(magnitude(left), initial=0)) + int(np.max(magnitude(right), initial=0)))
    return np.asarray(converted(left, kind) + converted(right, kind))


def scaled(values: Array, factor: int) -> Array:
    """The exact product of an integer array with a positive integer."""
    if factor == 1:
        return values
    kind = type_for(max(1, int(np.max(magnitude(values), initial=0))) * factor)
    return np.asarray(converted(values, kind) * (factor if kind is object else kind(factor)))


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
        common = max(1, math.gcd(*(int(v) for v in np.unique(numerator))))
        if numerator.dtype != object and common > np.iinfo(numerator.dtype).max:
            common //= 2  # -128 alone is an int8, 128 is not
        self.common, self.output_scale = common, scale
        self.outputs = [Product(w // self.common) for w in numerator]
        self.hidden = Product(block.W_in, block.b_in)
        self.written = Product(block.W_out[:, columns], block.b_out[columns])


class ExactModel:
    """A transformer prepared for exact runs.

    Raises InputError for softmax attention, whose weights are irrational, and for fractional weights unless `rational`
    asks to take them as the fractions that they are.
    """

    def __init__(self, transformer: Transformer, *, rational: bool = False) -> None:
        if transformer.attention == "softmax":
            raise InputError(
                "softmax attention has irrational weights: enclose it by intervals (constructions.interval)"
            )
        if not rational:
            require_integers(transformer)
        self.transformer = transformer
        (self._tokens, self._offsets), self._scale = numerators(transformer.W_E, transformer.W_pos)
        needed = np.flatnonzero(transformer.W_U.any(axis=1))
        last = len(transformer.blocks) - 1
        self.blocks = [PreparedBlock(b, needed if i == last else None) for i, b in enumerate(transformer.blocks)]
        self.read = needed if transformer.blocks else slice(None)
        self.readout = Product(transformer.W_U[self.read], transformer.b_U)

    def logits(self, prompts: NDArray[np.int64]) -> tuple[Array, int]:
        """Numerators [answers, batch] and the denominator of the logits at the last position; prompts [batch,
        length].
        """
        model = self.transformer
        length = prompts.shape[1]
        if length > len(model.W_pos):
            raise InputError(f"the prompt has {length} tokens, but W_pos has {len(model.W_pos)} positions")
        stream = Stream(tuple(self._embedded(prompts[:, t], t) for t in range(length)), self._scale)
        for number, block in enumerate(self.blocks):
            final = number == len(self.blocks) - 1
            stream = self._run_block(block, stream, [length - 1] if final else list(range(length)), final)
        return self.readout(stream.positions[-1], stream.denominator), stream.denominator * self.readout.scale

    def _embedded(self, tokens: NDArray[np.int64], position: int) -> Array:
        rows = transposed(self._tokens[tokens])
        offsets = self._offsets[position]
        return add(rows, offsets[:, None]) if offsets.any() else rows

    def _run_block(self, block: PreparedBlock, stream: Stream, positions: list[int], final: bool) -> Stream:
        """The stream after the block at the given positions (only the features that are read, when it is the last)."""
        results = []
        for position in positions:
            visible = position + 1 if self.transformer.causal else len(stream.positions)
            middle, denominator = self._attend(block, stream, position, visible)
            hidden = block.hidden(middle, denominator)
            output = block.written(np.maximum(hidden, 0, out=hidden), denominator * block.hidden.scale)
            if self.transformer.residual:
                factor = block.hidden.scale * block.written.scale
                output = add(scaled(middle[block.needed] if final else middle, factor), output)
            results.append((output, denominator * block.hidden.scale * block.written.scale))
        common = math.lcm(*(denominator for _, denominator in results))
        return Stream(tuple(scaled(output, common // denominator) for output, denominator in results), common)

    def _attend(self, block: PreparedBlock, stream: Stream, position: int, visible: int) -> tuple[Array, int]:
        """Attention's output at one position, added to the stream there if the model has a residual stream."""
        parts = []
        here = stream.positions[position]
        for head in range(block.heads):
            read, count = self._read(block, head, stream, here, visible)
            shared = math.gcd(count, block.common)
            value = block.outputs[head](block.values[head](read))
            divisor = count // shared * block.values[head].scale * block.output_scale
            parts.append((scaled(value, block.common // shared), stream.denominator * divisor))
        if self.transformer.residual or not parts:
            parts.append((here, stream.denominator))
        common = math.lcm(*(denominator for _, denominator in parts))
        total = scaled(parts[0][0], common // parts[0][1])
        for value, denominator in parts[1:]:
            total = add(total, scaled(value, common // denominator))
        return total, common

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
        scores = np.stack([_inner(query, block.keys[head](values)) for values in seen])
        attended = scores == scores.max(axis=0)
        counts = attended.sum(axis=0)
        common = math.lcm(*np.unique(counts).tolist())
        if common == 1:
            chosen = attended.argmax(axis=0)
            if (chosen == chosen[0]).all():
                return seen[int(chosen[0])], 1
        total = np.zeros_like(seen[0], shape=seen[0].shape)
        for position, values in enumerate(seen):
            if attended[position].any():
                total = add(total, _weighted(values, attended[position] * (common // counts)))
        return total, common


def _inner(query: Array, key: Array) -> Array:
    """Exact inner products of queries and keys, column by column."""
    pairs = zip(np.maximum(magnitude(query), 1), np.maximum(magnitude(key), 1), strict=True)
    bound = sum(int(q) * int(k) for q, k in pairs)
    kind = type_for(bound)
    kind = np.float64 if kind is np.float32 else kind
    return np.asarray((converted(query, kind) * converted(key, kind)).sum(axis=0))


def _weighted(values: Array, weights: Array) -> Array:
    """values times small non-negative integer weights, column by column, exactly."""
    kind = type_for(int(np.max(magnitude(values), initial=0)) * int(weights.max()))
    return np.asarray(converted(values, kind) * weights.astype(kind))
