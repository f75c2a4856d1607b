"""Softmax models once more, from the definition, in mpmath's decimals: slow, and nothing shared with what it checks."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import mpmath

from theory import Transformer

Vector = list[Any]


def decimal(value: Fraction) -> Any:
    """A fraction at mpmath's precision in force."""
    return mpmath.mpf(value.numerator) / value.denominator


def softmax_logits(transformer: Transformer, prompt: Sequence[int]) -> Vector:
    """All logits at the last position of one prompt, at mpmath's precision in force."""
    weights = {name: _decimals(array.tolist()) for name, array in transformer.tensors()}
    stream = [_plus(weights["W_E"][token], weights["W_pos"][place]) for place, token in enumerate(prompt)]
    for number, block in enumerate(transformer.blocks):
        part = {name: weights[f"blocks.{number}.{name}"] for name in block.AXES}
        stream = [_after_block(transformer, part, stream, place) for place in range(len(stream))]
    return _plus(_times(stream[-1], weights["W_U"], transformer.answers), weights["b_U"])


def _after_block(model: Transformer, part: dict[str, Any], stream: list[Vector], place: int) -> Vector:
    dimension, heads = model.dimension, len(part["W_V"])
    visible = stream[: place + 1] if model.causal else stream
    middle = stream[place] if model.residual or heads == 0 else [mpmath.mpf(0)] * dimension
    for head in range(heads):
        W_Q, W_K, W_V, W_O = (part[name][head] for name in ("W_Q", "W_K", "W_V", "W_O"))
        query, keys = _times(stream[place], W_Q), [_times(row, W_K) for row in visible]
        powers = [mpmath.exp(mpmath.mpf(model.beta) * mpmath.fsum(map(_product, query, key))) for key in keys]
        read = [
            mpmath.fsum(map(_product, powers, column)) / mpmath.fsum(powers) for column in zip(*visible, strict=True)
        ]
        middle = _plus(middle, _times(_times(read, W_V), W_O, dimension))
    hidden = [
        max(value, mpmath.mpf(0)) for value in _plus(_times(middle, part["W_in"], len(part["b_in"])), part["b_in"])
    ]
    output = _plus(_times(hidden, part["W_out"], dimension), part["b_out"])
    return _plus(output, middle) if model.residual else output


def _decimals(value: Any) -> Any:
    return [_decimals(part) for part in value] if isinstance(value, list) else mpmath.mpf(value)


def _product(left: Any, right: Any) -> Any:
    return left * right


def _plus(left: Vector, right: Vector) -> Vector:
    return [a + b for a, b in zip(left, right, strict=True)]


def _times(values: Vector, matrix: list[Vector], columns: int | None = None) -> Vector:
    """values·matrix; the number of columns is needed where there are no rows."""
    count = len(matrix[0]) if matrix else columns or 0
    return [mpmath.fsum(value * row[c] for value, row in zip(values, matrix, strict=True)) for c in range(count)]
