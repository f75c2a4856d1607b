"""Certificate for hardmax models of several blocks (T4): the states of the last position, block by block.

*Protected coordinates* are those that no earlier block has written (through W_O, W_out or b_out; without a residual
stream every block writes all). If the queries, keys and values of a block's heads read protected coordinates only, then
what a head sees at any position is that position's embedding, as it was at the start. (The first block may read
everything.) So the stream at the last position depends on the prompt only through the embeddings that its heads have
read so far, and if each head reads one position whatever the prompt, these are the subject, at the first block, and
then the relations r_1, r_2, .., one at a time.

The certificate follows the set of *states*: pairs (last relation r_k, entity reached) with the stream that they lead
to. Reading r_i sends the entity y to g_{r_i}(y) for every r_i; afterwards states with the same pair and the same stream
are one. A model that remembers no more than it should has N·R² streams to run, for all N·R^k queries; one that
remembers more has more, and is refused when they are too many. At the end the stream of each state is read out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from constructions.verification.certify_attention import Embedding, Refused, certify_reading
from constructions.verification.certify_readout import Readout, coordinates_read
from constructions.verification.exact import PreparedBlock, combined
from constructions.verification.integers import add, alike, column_numbers, numerators, scaled
from theory import Block, FactSystem, Task, Transformer

Integers = NDArray[Any]

# Numbers in the streams of all states.
MOST_NUMBERS = 2**25
# Outputs read out at a time.
CHUNK = 2**14


@dataclass(frozen=True)
class States:
    """Streams [d, states] at the last position, over a denominator; for each the last relation r_k, the subject
    (meaningful in the first block), the entity reached, and the relation read most recently, shape [states].
    """

    streams: Integers
    denominator: int
    last_relation: NDArray[np.int64]
    subject: NDArray[np.int64]
    entity: NDArray[np.int64]
    read: NDArray[np.int64]

    def taken(self, choice: NDArray[np.intp]) -> States:
        """Some of the states, in some order."""
        streams, labels = self.streams[:, choice], (self.last_relation, self.subject, self.entity, self.read)
        return States(streams, self.denominator, *(label[choice] for label in labels))


def certify_deep(transformer: Transformer, system: FactSystem, task: Task) -> Fraction:
    """The least margin over all states that the prompts can lead to; Refused when the argument does not apply."""
    if transformer.attention != "hardmax" or task.steps > 1 or task.disjoint_attributes:
        raise Refused("several blocks are certified with hardmax attention and a direct answer only")
    embedding, written = Embedding.of(transformer), np.zeros(transformer.dimension, bool)
    states = _first_states(embedding, task)
    hop, needed = 0, np.flatnonzero(transformer.W_U.any(axis=1))
    for number, block in enumerate(transformer.blocks):
        _require_protected(block, written, number)
        sources = certify_reading(transformer, block, embedding, task).source[0]
        # One relation is no choice: there is nothing to follow, and the answer is that of the only word.
        hops_read = sorted({position for position in sources if position > 0 and system.relations > 1})
        if hops_read not in ([], [hop + 1]) or (number > 0 and 0 in sources):
            raise Refused(f"block {number} reads positions {sources}; only the next relation, {hop + 1}, is followed")
        if hops_read:
            states = _follow(system, task, states, hop + 1)
            hop = hop + 1
        last = number == len(transformer.blocks) - 1
        prepared = PreparedBlock(block, needed if last else None)
        states = _merge(_run(transformer, prepared, embedding, sources, states))
        written |= (block.W_O != 0).any(axis=(0, 1)) | (block.W_out != 0).any(axis=0) | (block.b_out != 0)
        written |= not transformer.residual
    if hop != task.hops and system.relations > 1:
        raise Refused(f"the blocks read {hop} of {task.hops} relations")
    answers = states.entity if system.relations > 1 else system.follow([0] * task.hops)[states.subject]
    outputs = states.streams if transformer.blocks else states.streams[needed]
    return read_out(transformer, outputs, states.denominator, answers)


def read_out(transformer: Transformer, outputs: Integers, denominator: int, answers: NDArray[np.int64]) -> Fraction:
    """The margin that can be proved for outputs [coordinates read, batch] over a denominator and their answers."""
    (codes, bias), scale = numerators(transformer.W_U[transformer.W_U.any(axis=1)], transformer.b_U)
    occupied = coordinates_read(codes, np.asarray(outputs.any(axis=1)))
    readout = Readout(codes[occupied], scaled(bias, denominator), len(answers))
    margins = []
    for start in range(0, len(answers), CHUNK):
        batch = slice(start, start + CHUNK)
        margins.append(readout.margin(outputs[occupied, batch], answers[batch], Fraction(0)))
    return min(margins) / (denominator * scale)


def _first_states(embedding: Embedding, task: Task) -> States:
    """All pairs of a last relation and a subject, with the last relation's embedding as the stream."""
    shape = embedding.relations.shape[1], embedding.subjects.shape[1]
    relation, entity = (part.ravel() for part in np.indices(shape))
    streams = add(embedding.relations[:, relation], embedding.positions[:, task.hops, None])
    return States(streams, embedding.scale, relation, entity, entity, relation)


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
        if states.streams.size * system.relations > MOST_NUMBERS:
            raise Refused("the stream depends on more than the last relation and the entity reached")
        choice = np.repeat(np.arange(len(states.entity)), system.relations)
        read = np.tile(np.arange(system.relations), len(states.entity))
    followed = states.taken(choice)
    return replace(followed, entity=system.answers[read, followed.entity], read=read)


def _run(
    transformer: Transformer, block: PreparedBlock, embedding: Embedding, sources: list[int], states: States
) -> States:
    """The states after the block: what its heads read, in place of the stream or added to it, then what its MLP
    writes.
    """
    parts = []
    for head, position in enumerate(sources):
        rows = embedding.subjects[:, states.subject] if position == 0 else embedding.relations[:, states.read]
        seen = add(rows, embedding.positions[:, position, None])
        parts.append(block.bring(head, seen, 1, embedding.scale))
    if transformer.residual or not parts:
        parts.append((states.streams, states.denominator))
    streams, denominator = block.write(*combined(parts), residual=transformer.residual)
    return replace(states, streams=streams, denominator=denominator)


def _merge(states: States) -> States:
    """One state for each last relation, entity and stream."""
    labels = alike(states.streams, states.last_relation[None], states.entity[None])
    return states.taken(np.unique(column_numbers(np.concatenate(labels)), return_index=True)[1])
