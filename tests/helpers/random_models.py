"""Transformers of every shape with random weights of every kind."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import numpy as np
from numpy.typing import NDArray

from theory import Block, Transformer

Draw = Callable[[np.random.Generator, tuple[int, ...]], NDArray[Any]]

INTEGERS: dict[str, Draw] = {
    "small": lambda g, shape: g.integers(-2, 3, shape),
    "int8 extremes": lambda g, shape: g.choice([-128, -1, 0, 1, 127], shape).astype(np.int8),
    "all -128": lambda g, shape: np.full(shape, -128, np.int8),
    "uint8": lambda g, shape: g.integers(0, 256, shape).astype(np.uint8),
    "uint64": lambda g, shape: g.integers(2**63, 2**64, shape, dtype=np.uint64),
    "whole floats": lambda g, shape: g.integers(-3, 4, shape).astype(np.float32),
    "20 bits": lambda g, shape: g.integers(-(2**20), 2**20, shape),
    "40 bits": lambda g, shape: g.integers(-(2**40), 2**40, shape),
    "63 bits": lambda g, shape: g.choice([-(2**63), 2**63 - 1, 0, 1], shape),
    "mostly zero": lambda g, shape: g.integers(-2, 3, shape) * (g.random(shape) < 0.1),
}
FRACTIONS: dict[str, Draw] = {
    "float64": lambda g, shape: g.normal(size=shape),
    "float32": lambda g, shape: g.normal(size=shape).astype(np.float32),
    "float16": lambda g, shape: g.normal(size=shape).astype(np.float16),
    "quarters": lambda g, shape: g.integers(-4, 5, shape) / 4,
    "far apart": lambda g, shape: g.choice([1e-30, 1e30, -1.5, 0], shape),
}


@dataclasses.dataclass(frozen=True)
class Shape:
    """The sizes and switches of a random model."""

    blocks: int
    heads: int
    d_query: int
    d_value: int
    width: int
    attention: Any
    residual: bool
    causal: bool
    dead: bool


shapes = st.builds(
    Shape,
    blocks=st.integers(0, 3),
    heads=st.integers(0, 2),
    d_query=st.integers(0, 2),
    d_value=st.integers(0, 2),
    width=st.sampled_from([0, 1, 3, 12]),
    attention=st.sampled_from(["uniform", "hardmax"]),
    residual=st.booleans(),
    causal=st.booleans(),
    dead=st.booleans(),
)


def random_model(shape: Shape, draws: dict[str, Draw], kinds: list[str], seed: int, dimension: int = 3) -> Transformer:
    """3 entities, 2 relations, 3 positions; each tensor of one of the kinds; `dead`: unused coordinates and heads."""
    generator = np.random.default_rng(seed)

    def tensor(*sizes: int) -> NDArray[Any]:
        return draws[kinds[generator.integers(len(kinds))]](generator, sizes)

    sizes = {
        "heads": shape.heads,
        "dimension": dimension,
        "d_query": shape.d_query,
        "d_value": shape.d_value,
        "width": shape.width,
    }
    blocks = []
    for _ in range(shape.blocks):
        parts = {name: tensor(*(sizes[axis] for axis in axes.split())) for name, axes in Block.AXES.items()}
        if shape.dead:
            parts["W_in"][:, ::2] = 0
            parts["W_V"][:, 0] = 0
            parts["W_O"][..., -1] = 0
        blocks.append(Block(**parts))
    W_E, W_pos, W_U, b_U = tensor(5, dimension), tensor(3, dimension), tensor(dimension, 3), tensor(3)
    if shape.dead:
        W_U[-1], W_pos[1] = 0, 0
    return Transformer(3, W_E, W_pos, tuple(blocks), W_U, b_U, shape.attention, shape.residual, shape.causal)
