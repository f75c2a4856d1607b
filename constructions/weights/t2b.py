"""T2b, the rival: an associative memory with one hidden unit for each of the N·R^k queries, d = p + k·⌈log2 R⌉, margin
2.

The heads (`reading`) place the sign code of the subject and those of the k relations side by side, h ∈ {-1,+1}^D with
D = p + k·⌈log2 R⌉. The unit of the query (x, w) has its key as weights and bias 1 - D: ReLU(<key, h> - D + 1) is 1 when
h is the key and 0 otherwise, since <key, h> <= D - 2 then. It writes c(g_w(x)), which <c(a), ·> reads out. The facts
are in W_out alone; embeddings are fixed. For k = 1 this is the classical memory over fixed embeddings.
"""

from __future__ import annotations

import numpy as np

from constructions.weights.parts import code_bits, narrow, readout_by_signs, signs
from constructions.weights.prompt_reading import read_prompt
from theory import Block, FactSystem, InputError, Transformer, all_words
from theory.definitions.fact_system import check_count
from theory.records.work import spelt

LARGEST_WIDTH = 2**22


def require_width(entities: int, relations: int, hops: int) -> int:
    """The width N·R^k; InputError when it exceeds 2^22."""
    width: int = entities * relations ** check_count("hops", hops)
    if width > LARGEST_WIDTH:
        raise InputError(
            f"T2b needs a hidden unit for each of N·R^k = {spelt(width)} queries; at most 2^22 can be built"
        )
    return width


def construct(system: FactSystem, hops: int = 1) -> Transformer:
    """T2b's key-value memory: d = p + k·⌈log2 R⌉, width N·R^k, margin 2. InputError when the width exceeds 2^22."""
    entities, relations = system.entities, system.relations
    width = require_width(entities, relations, hops)
    size, code_size = code_bits(entities), (relations - 1).bit_length()
    dimension = size + hops * code_size
    reading = read_prompt(relations, hops, dimension, code_size, 1)
    words = all_words(relations, hops)
    keys = np.concatenate(
        [
            np.tile(signs(np.arange(entities), size), (len(words), 1)),
            np.repeat(signs(words, code_size).reshape(len(words), -1), entities, axis=0),
        ],
        axis=1,
    )
    values = np.zeros((width, dimension), np.int8)
    values[:, :size] = signs(system.follow_all(words).reshape(-1), size)
    W_V = np.zeros((reading.heads, dimension, max(size, code_size)), np.int8)
    W_O = np.zeros((reading.heads, max(size, code_size), dimension), np.int8)
    for head in range(reading.heads):
        start, length = (0, size) if head == 0 else (size + (head - 1) * code_size, code_size)
        np.fill_diagonal(W_V[head, :length, :length], 1)
        np.fill_diagonal(W_O[head, :length, start : start + length], 1)
    # The subject's head reads W_pos[0] along; its first p entries reach h, and b_in takes them off again.
    read_along = keys[:, :size].astype(np.int64) @ reading.W_pos[0, :size]
    W_E = np.zeros((entities + relations, dimension), np.int8)
    W_E[:entities, :size] = signs(np.arange(entities), size)
    W_E[entities:, :code_size] = signs(np.arange(relations), code_size)
    W_U, b_U = readout_by_signs(signs(np.arange(entities), size), dimension)
    block = Block(
        W_Q=reading.W_Q,
        W_K=reading.W_K,
        W_V=W_V,
        W_O=W_O,
        W_in=keys.T,
        b_in=narrow(1 - dimension - read_along),
        W_out=values,
        b_out=np.zeros(dimension, np.int8),
    )
    return Transformer(
        entities=entities,
        W_E=W_E,
        W_pos=narrow(reading.W_pos),
        blocks=(block,),
        W_U=W_U,
        b_U=b_U,
        attention="hardmax",
    )
