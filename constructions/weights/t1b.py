"""T1b: single-hop recall at any precision, d = width = R·⌈p/b⌉ with b-bit subject entries, margin at least 1.

Blocks hold the q = ⌈p/b⌉ digits of g_r(x) in base 2^b, 0 <= digit <= D = 2^b - 1. Relation r adds 0 to block r and -D
to the others: ReLU(digit) = digit on block r and ReLU(digit - D) = 0 elsewhere. The sum of the blocks is the digit
vector of the answer, and the nearest-code read-out names it with the margin of distinct integer vectors, 1. At b >= p
this is d = R.

On a circle two real coordinates a relation do as well: blocks (cos 2πa/N, sin 2πa/N), e_r = +1 on block r and -1
elsewhere, so that ReLU(u + 1) = u + 1 and ReLU(u - 1) = 0; b_out = -1 gives the unit code of the answer, the logits are
cos(2π(a - a')/N), and the margin is 1 - cos(2π/N). Its weights are irrational: it is checked in interval arithmetic, on
weights that are widened until they hold both the floats and the real ones (`circle_errors`).
"""

from __future__ import annotations

import flint
import numpy as np
from numpy.typing import NDArray

from constructions.weights.parts import code_digits, digits, narrow, readout_by_distance, sum_of_blocks, uniform_block
from theory import FactSystem, Transformer


def construct(system: FactSystem, bits: int) -> Transformer:
    """T1b's universal single-layer transformer with subject entries 0..2^b - 1: d = width = R·q, margin at least 1."""
    return digit_blocks(system, bits, 2**bits - 1)


def digit_blocks(system: FactSystem, bits: int, closing: int) -> Transformer:
    """Digits in blocks; relation r adds 0 to block r and -`closing`, which is at least the largest digit, elsewhere."""
    size = code_digits(system.entities, bits)
    dimension = system.relations * size
    subjects = digits(system.answers.T, size, bits).reshape(system.entities, dimension)
    gates = closing * np.kron(np.eye(system.relations, dtype=np.int64) - 1, np.ones(size, np.int64))
    block = uniform_block(
        np.eye(dimension, dtype=np.int8),
        np.zeros(dimension, np.int8),
        sum_of_blocks(system.relations, size, dimension),
        np.zeros(dimension, np.int8),
    )
    W_U, b_U = readout_by_distance(digits(np.arange(system.entities), size, bits), dimension)
    return Transformer(
        entities=system.entities,
        W_E=np.concatenate([subjects, narrow(gates)]),
        W_pos=np.zeros((2, dimension), np.int8),
        blocks=(block,),
        W_U=W_U,
        b_U=b_U,
        attention="uniform",
    )


def construct_circle(system: FactSystem) -> Transformer:
    """T1b on a circle, in float64: d = width = 2R; the margin is 1 - cos(2π/N) up to the rounding of the weights."""
    circle = _circle(system.entities)
    dimension = 2 * system.relations
    gates = np.kron(2 * np.eye(system.relations) - 1, np.ones(2))
    b_out = np.zeros(dimension)
    b_out[:2] = -1
    block = uniform_block(np.eye(dimension), np.zeros(dimension), sum_of_blocks(system.relations, 2, dimension), b_out)
    W_U = np.zeros((dimension, system.entities))
    W_U[:2] = circle.T
    return Transformer(
        entities=system.entities,
        W_E=np.concatenate([circle[system.answers.T].reshape(system.entities, dimension), gates]),
        W_pos=np.zeros((2, dimension)),
        blocks=(block,),
        W_U=W_U,
        b_U=np.zeros(system.entities),
        attention="uniform",
    )


def circle_errors(system: FactSystem) -> dict[str, NDArray[np.float64]]:
    """By tensor, upper bounds of how far the weights of `construct_circle` are from the real ones; the tensors left out
    hold the real ones.

    Proof: cos(2πa/N) is enclosed by a ball (python-flint's cos_pi, at the exact fraction 2a/N), and the bound is the
    largest distance of the float from a point of the ball, rounded up. So it holds whatever numpy's cosine does.
    """
    floats = _circle(system.entities)
    errors = np.zeros_like(floats)
    with flint.ctx.workprec(128):
        for a, point in enumerate(floats.tolist()):
            angle = flint.fmpq(2 * a, system.entities)
            for axis, real in enumerate((flint.arb.cos_pi_fmpq(angle), flint.arb.sin_pi_fmpq(angle))):
                bound = (real - point[axis]).abs_upper()
                errors[a, axis] = 0 if bound == 0 else np.nextafter(float(bound), np.inf)
    W_E = np.zeros((system.entities + system.relations, 2 * system.relations))
    W_E[: system.entities] = errors[system.answers.T].reshape(system.entities, -1)
    W_U = np.zeros((2 * system.relations, system.entities))
    W_U[:2] = errors.T
    return {"W_E": W_E, "W_U": W_U}


def _circle(entities: int) -> NDArray[np.float64]:
    """The points (cos 2πa/N, sin 2πa/N), shape [N, 2], up to the rounding of float64."""
    angle = 2 * np.pi * np.arange(entities) / entities
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)
