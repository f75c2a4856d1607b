"""T3: chains of thought recall k hops with d = R·⌈p/b⌉ + 2 for every k, MLP width R·⌈p/b⌉, margin at least 1.

Prompt (x, r_1 .. r_k), then the model's own tokens; the step that is taken at the last position τ = k..2k-1 applies
relation r_{τ-k+1} to the current entity: the token at τ itself, or at position 0 in the first step. Two heads read
these two tokens, the MLP is T1b's selector, and its output is the digit vector of the next entity. No residual stream;
causal or not.

    block coordinates:   entities 0 <= digits < 2^b;  relation r: -P on block r, -P - 2^b on the others;  b_in = +P
    position:            W_pos[t] = (t, t²)

*Relation head*: query (2τ² - 2(k-1)τ, -τ) and key (t, t²), both linear in W_pos, give the score τ·(2st - t²) with s =
τ-k+1: largest at t = s alone, by at least τ. (The factor τ replaces the constant 1 that the query would need.)
*Entity head*: query τ, key M·t + Σ(block coordinates), with S = R·q·(2^b - 1) the largest sum of an entity's digits and
M = S + 1. In the first step relations score at most M·k - T, where their coordinates sum to -T <= -(M·k + 1), and the
subject at least 0; later the last token, an entity, scores at least M·τ, and every earlier one at most M·(τ-1) + S =
M·τ - 1. So P is the least number >= 0 with q·(R·P + (R-1)·2^b) >= M·k + 1.

One step is exact for every entity, relation and position; by induction all N·R^k chains are. The emitted chain answers
every prefix, so that one model for K hops serves every k <= K (pad the word). *Softmax* at β = ln(9(2^{b+1} - 1)) keeps
a positive margin whatever N, R, k: with x = e^-β, each head leaks at most 2x^τ/(1 - x^τ) of the spread P + 2^{b+1} - 1
of the block coordinates into each of them, in all less than 1/2 (τ = k = 1: one other token, 2x·3·2^b <= 4/9), while
open digits are 1 apart and closed blocks at -1 or below. The certificate encloses the margin.

*One-bit position codes*, d = R·q + 2⌈log2 2k⌉: W_pos[t] holds the signs of t's number (t mod k, then +1 iff t >= k) and
those of the position to read, τ-k+1; scores are inner products of codes, gaps at least 2. The sign that says t >= k is
the constant which the entity head's query needs: it scores M·<c(τ), c(t)> + Σ with 2M >= S + 2, and T >= 2M·⌈log2 2k⌉ +
2. Softmax: β = ½·ln(8(2k-1)·spread) leaks at most (2k-1)·e^-2β of the spread per head, in all 1/4.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from constructions.weights.parts import code_digits, digits, narrow, readout_by_distance, signs, sum_of_blocks
from theory import Block, FactSystem, Transformer
from theory.definitions.fact_system import check_count


def construct(system: FactSystem, hops: int, bits: int = 1, *, softmax: bool = False) -> Transformer:
    """T3 with positions (t, t²), for `Task(hops, stride=1)`: d = R·q + 2, width R·q.

    The margin is at least 1 under hardmax attention, and positive under softmax.
    """
    size = code_digits(system.entities, bits)
    check_count("hops", hops)
    entries = system.relations * size
    largest_sum = entries * (2**bits - 1)
    offset = _offset(system.relations, size, bits, (largest_sum + 1) * hops + 1)
    places = np.arange(2 * hops)
    W_Q, W_K = np.zeros((2, 2, entries + 2, 2), np.int64)
    W_Q[0, entries:] = [(-2 * (hops - 1), -1), (2, 0)]
    W_K[0, entries:] = np.eye(2)
    W_Q[1, entries] = (1, 0)
    W_K[1, :entries, 0] = 1
    W_K[1, entries, 0] = largest_sum + 1
    beta = math.log(9 * (2 ** (bits + 1) - 1)) if softmax else None
    return _assemble(system, size, bits, offset, np.stack([places, places**2], axis=1), W_Q, W_K, beta)


def construct_with_signs(system: FactSystem, hops: int, bits: int = 1, *, softmax: bool = False) -> Transformer:
    """T3 with one-bit position codes: d = R·q + 2⌈log2 2k⌉, width R·q, for `Task(hops, stride=1)`; margin >= 1."""
    size = code_digits(system.entities, bits)
    check_count("hops", hops)
    entries, length = system.relations * size, code_digits(2 * hops, 1)
    scale = -(-entries * (2**bits - 1) // 2) + 1
    offset = _offset(system.relations, size, bits, 2 * scale * length + 2)
    places = np.arange(2 * hops)
    codes = signs(places % hops + 2 ** (length - 1) * (places // hops), length)
    target = codes[np.maximum(places - hops + 1, 0)]
    W_Q, W_K = np.zeros((2, 2, entries + 2 * length, length + 1), np.int64)
    W_Q[0, entries + length :, :length] = np.eye(length)
    W_K[0, entries : entries + length, :length] = np.eye(length)
    W_Q[1, entries : entries + length, :length] = scale * np.eye(length)
    W_K[1, entries : entries + length, :length] = np.eye(length)
    W_Q[1, entries + length - 1, length] = 1
    W_K[1, :entries, length] = 1
    spread = offset + 2 ** (bits + 1) - 1
    beta = math.log(8 * (2 * hops - 1) * spread) / 2 if softmax else None
    return _assemble(system, size, bits, offset, np.concatenate([codes, target], axis=1), W_Q, W_K, beta)


def _offset(relations: int, size: int, bits: int, total: int) -> int:
    """The least P >= 0 with size·(R·P + (R-1)·2^bits) >= total."""
    missing = total - size * (relations - 1) * (1 << bits)
    return max(0, -(-missing // (size * relations)))


def _assemble(
    system: FactSystem,
    size: int,
    bits: int,
    offset: int,
    W_pos: NDArray[np.signedinteger],
    W_Q: NDArray[np.int64],
    W_K: NDArray[np.int64],
    beta: float | None,
) -> Transformer:
    """Block coordinates, which both heads copy, then positions; the MLP is T1b's selector."""
    entries = system.relations * size
    dimension = entries + W_pos.shape[1]
    copy = np.eye(dimension, entries, dtype=np.int8)
    closed = 1 - np.eye(system.relations, dtype=np.int64)
    W_E = np.zeros((system.entities + system.relations, dimension), np.int64)
    W_E[: system.entities, :entries] = digits(system.answers.T, size, bits).reshape(system.entities, entries)
    W_E[system.entities :, :entries] = -offset - 2**bits * np.kron(closed, np.ones(size, np.int64))
    W_U, b_U = readout_by_distance(digits(np.arange(system.entities), size, bits), dimension)
    block = Block(
        W_Q=narrow(W_Q),
        W_K=narrow(W_K),
        W_V=np.stack([copy, copy]),
        W_O=np.stack([copy.T, copy.T]),
        W_in=copy,
        b_in=narrow(np.full(entries, offset)),
        W_out=sum_of_blocks(system.relations, size, dimension),
        b_out=np.zeros(dimension, np.int8),
    )
    return Transformer(
        entities=system.entities,
        W_E=narrow(W_E),
        W_pos=np.pad(W_pos, [(0, 0), (entries, 0)]),
        blocks=(block,),
        W_U=W_U,
        b_U=b_U,
        attention="hardmax" if beta is None else "softmax",
        beta=beta,
    )
