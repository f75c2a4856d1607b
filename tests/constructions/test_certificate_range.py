"""Numbers too large for 64 bits: models that are wrong, and would be right if arithmetic wrapped around at 2^64."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from constructions.weights import t1, t1b, t4
from tests.helpers.deciding import SYSTEM, decide, require_refusal
from tests.helpers.edits import put, tensor, wider, with_tensor
from theory import FactSystem, Task

EVERYWHERE = slice(None)


def test_a_relation_that_wraps_around_in_the_gates() -> None:
    """Both relations bring 2^12 · 2^51 · 2 = 2^64 to every unit."""
    transformer = wider(t1.construct(SYSTEM))
    transformer = put(transformer, "W_E", (slice(5, None), -1), 2**12)
    transformer = put(transformer, "blocks.0.W_V", (0, -1, -1), 2**25)
    transformer = put(transformer, "blocks.0.W_O", (0, -1, -1), 2**26)
    for weight in (1, 2, 4):
        require_refusal(put(transformer, "blocks.0.W_in", (-1, EVERYWHERE), weight), SYSTEM, Task(), "can be proved")


def test_unsigned_biases() -> None:
    """2^64 - 1 is -1 only modulo 2^64."""
    transformer = t1.construct(SYSTEM)
    b_out = np.where(np.arange(6) < 3, 2**64 - 1, 0).astype(np.uint64)
    block = dataclasses.replace(transformer.blocks[0], b_out=b_out)
    require_refusal(dataclasses.replace(transformer, blocks=(block,)), SYSTEM, Task(), "can be proved")


def test_scores_that_wrap_around() -> None:
    """24 products -2^29 · 2^30, or -3 · 2^62, give the subject a lower score than the relation's 0: the head errs."""
    system = FactSystem([[1, 0, 2, 3]])
    plain = wider(t1b.construct(system, 2), 2)
    W_Q, W_K = np.zeros((2, 1, 3, 24), np.int64)
    W_Q[0, 1], W_K[0, 2] = 2**29, -(2**29)
    block = dataclasses.replace(plain.blocks[0], W_Q=W_Q, W_K=W_K, W_O=np.array([[[1, 0, 0]]]))
    W_pos = np.array([[0, 0, 1], [0, 1, 0]])
    model = dataclasses.replace(plain, W_pos=W_pos, blocks=(block,), attention="hardmax")
    model = put(model, "W_E", (4, 1), 1)
    require_refusal(model, system, Task(), "the margin that can be proved is")


@pytest.mark.parametrize("power", [30, 40, 50, 62])
def test_large_weights_that_are_right(power: int) -> None:
    """Large numbers alone may be refused, never mistaken."""
    for transformer in (t1.construct(SYSTEM), t1b.construct(SYSTEM, 2), t4.construct(SYSTEM, 1)):
        for name in ("W_U", "W_E", "b_U", "blocks.0.W_out", "blocks.0.W_in", "blocks.0.W_O", "blocks.0.b_out"):
            array = tensor(transformer, name)
            scaled = np.clip(array.astype(object) * 2**power, -(2**63), 2**63 - 1).astype(np.int64)
            decide(with_tensor(transformer, name, scaled), SYSTEM, Task())
