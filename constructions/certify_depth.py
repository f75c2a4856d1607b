"""Certificate for models of several blocks with a residual stream (T4): the states of the last position, block by
block.

*Protected coordinates* are those that no earlier block has written (through W_O, W_out or b_out). If the queries, keys
and values of a block's heads read protected coordinates only, then what a head sees at any position is that position's
embedding, as it was at the start. (The first block may read everything.) So the stream at the last position depends on
the prompt only through the embeddings that its heads have read so far, and if each head reads one position whatever the
prompt, these are the subject, at the first block, and then the relations r_1, r_2, .., one at a time.

The certificate follows the set of *states*: pairs (last relation r_k, entity reached) with the stream that they lead
to. Reading r_i sends the entity y to g_{r_i}(y) for every r_i; afterwards states that name the same pair must have the
same stream, or the model remembers more than it should and is refused. So there are never more than N·R² streams to
run, for all N·R^k queries. At the end the stream of each state is read out on all logits.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from constructions.certify_attention import Refused, certify_reading
from constructions.exact import Product, add
from constructions.exhaustive import margins_of
from theory import Block, FactSystem, Task, Transformer

Integers = NDArray[Any]


@dataclass(frozen=True)
class States:
    """Streams [d, states] at the last position; for each the last relation r_k, the subject (meaningful in the first
    block), the
    entity reached, and the relation read most recently, shape [states]."""

    streams: Integers
    last_relation: NDArray[np.int64]
    subject: NDArray[np.int64]
    entity: NDArray[np.int64]
    read: NDArray[np.int64]


def certify_deep(transformer: Transformer, system: FactSystem, task: Task) -> Fraction:
    """The least margin over all states that the prompts can lead to; Refused when the argument does not apply."""
    if not transformer.residual or transformer.attention != "hardmax" or task.steps > 1 or task.disjoint_attributes:
        raise Refused("several blocks are certified with a residual stream, hardmax attention and a direct answer only")
    written = np.zeros(transformer.dimension, bool)
    states = _first_states(transformer, system, task)
    hop = 0
    for number, block in enumerate(transformer.blocks):
        _require_protected(block, written, number)
        sources = _sources(transformer, task, block)
        # One relation is no choice: there is nothing to follow, and the answer is that of the only word.
        hops_read = sorted({position for position in sources if position > 0 and system.relations > 1})
        if hops_read not in ([], [hop + 1]) or (number > 0 and 0 in sources):
            raise Refused(f"block {number} reads positions {sources}; only the next relation, {hop + 1}, is followed")
        if hops_read:
            states = _follow(system, task, states, hop + 1)
            hop += 1
        states = _merge(_run(transformer, block, sources, states))
        written |= (block.W_O != 0).any(axis=(0, 1)) | (block.W_out != 0).any(axis=0) | (block.b_out != 0)
    if hop != task.hops and system.relations > 1:
        raise Refused(f"the blocks read {hop} of {task.hops} relations")
    answers = states.entity if system.relations > 1 else system.follow([0] * task.hops)[states.subject]
    logits = Product(transformer.W_U, transformer.b_U)(states.streams)
    return Fraction(int(margins_of(logits, answers).min()))


def _first_states(transformer: Transformer, system: FactSystem, task: Task) -> States:
    """All pairs of a last relation and a subject, with the last relation's embedding as the stream."""
    relation, entity = (part.ravel() for part in np.indices((system.relations, system.entities)))
    streams = _embedding(transformer, transformer.entities + relation, task.hops)
    return States(streams, relation, entity, entity, relation)


def _embedding(transformer: Transformer, tokens: NDArray[np.int64], position: int) -> Integers:
    """The embeddings [d, batch] of tokens at a position."""
    return add(np.ascontiguousarray(transformer.W_E[tokens].T), transformer.W_pos[position][:, None])


def _sources(transformer: Transformer, task: Task, block: Block) -> list[int]:
    """The position that each head of a block reads, seen on the embeddings."""
    if not block.heads:
        return []
    alone = dataclasses.replace(transformer, blocks=(block,))
    return [int(position) for position in certify_reading(alone, task).source[0]]


def _require_protected(block: Block, written: NDArray[np.bool_], number: int) -> None:
    for name, weights in (("W_Q", block.W_Q), ("W_K", block.W_K), ("W_V", block.W_V)):
        if (weights[:, written] != 0).any():
            raise Refused(f"{name} of block {number} reads coordinates that an earlier block has written")


def _follow(system: FactSystem, task: Task, states: States, hop: int) -> States:
    """Each state with every relation that can stand at position `hop` (the last one is known), and the entity it leads
    to.
    """
    if hop == task.hops:
        choice, read = np.arange(len(states.entity)), states.last_relation
    else:
        choice = np.repeat(np.arange(len(states.entity)), system.relations)
        read = np.tile(np.arange(system.relations), len(states.entity))
    entity = system.answers[read, states.entity[choice]]
    return States(states.streams[:, choice], states.last_relation[choice], states.subject[choice], entity, read)


def _run(transformer: Transformer, block: Block, sources: list[int], states: States) -> States:
    """The states after the block: what its heads read is added, then what its MLP writes."""
    streams = states.streams
    for head, position in enumerate(sources):
        tokens = states.subject if position == 0 else transformer.entities + states.read
        value = Product(block.W_V[head])(_embedding(transformer, tokens, position))
        streams = add(streams, Product(block.W_O[head])(value))
    hidden = np.maximum(Product(block.W_in, block.b_in)(streams), 0)
    return dataclasses.replace(states, streams=add(streams, Product(block.W_out, block.b_out)(hidden)))


def _merge(states: States) -> States:
    """One state for each pair (last relation, entity); Refused when two streams claim the same pair."""
    labels = states.last_relation * (int(states.entity.max()) + 1) + states.entity
    _, first, which = np.unique(labels, return_index=True, return_inverse=True)
    if (states.streams != states.streams[:, first[which]]).any():
        raise Refused("the stream depends on more than the last relation and the entity reached")
    return States(*(part[..., first] for part in dataclasses.astuple(states)))
