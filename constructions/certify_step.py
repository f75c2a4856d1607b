"""Certificate, part 2: gates and outputs of a single-block model, step by step and word by word (see `certificate`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from constructions.certify_attention import Refused, certify_reading
from constructions.certify_readout import Readout
from constructions.exact import Product, magnitude, numerators, transposed
from theory import FactSystem, Task, Transformer, all_words

Row = NDArray[np.int64]
# An integer matrix in SciPy's CSR form.
Sparse = Any

CHUNK = 2**19
TOO_LARGE = "the weights are too large to be certified in 64-bit integers"


def certify_single_block(transformer: Transformer, system: FactSystem, task: Task) -> Fraction:
    """The margin that can be proved for all queries (if it is not positive, of some); Refused when none can."""
    reading = certify_reading(transformer, task)
    weights = Weights(transformer, reading.leak, task.positions)
    margins: list[Fraction] = []
    seen = set()
    for step in range(task.steps):
        inputs = _step_inputs(weights, task, step, reading.source[step])
        if inputs.key() in seen:
            continue
        seen.add(inputs.key())
        gates = _gates(weights, inputs)
        for word, answers in _words_and_answers(system, task, inputs.hops):
            margins.append(_margin_on_word(weights, inputs, gates, word, answers))
            if margins[-1] <= 0:
                return margins[-1]
    return min(margins)


def _words_and_answers(system: FactSystem, task: Task, hops: int) -> Iterator[tuple[tuple[int, ...], Row]]:
    """Each word of a step with the outputs expected for all entities, shape [N]."""
    for word in all_words(system.relations, hops).tolist():
        offset = system.entities * word[0] if task.disjoint_attributes else 0
        yield tuple(word), system.follow(word) + offset


class Weights:
    """The weights of a single-block model as the certificate uses them, `heads` being the products W_V W_O.

    `length` is that of the longest prompt. Refused unless all that is computed from them fits 64-bit integers.
    """

    def __init__(self, transformer: Transformer, leak: Fraction, length: int) -> None:
        (block,) = transformer.blocks
        self.transformer, self.leak = transformer, leak
        self.subjects = transposed(_integers(transformer.W_E[: transformer.entities]))
        self.relations = _integers(transformer.W_E[transformer.entities :]).astype(np.int64)
        self.positions = _integers(transformer.W_pos).astype(np.int64)
        pairs = [(_sparse(v), _sparse(o)) for v, o in zip(block.W_V, block.W_O, strict=True)]
        self.read = np.flatnonzero(transformer.W_U.any(axis=1))
        self.W_in, self.b_in = _sparse(block.W_in), _integers(block.b_in).astype(np.int64)
        self.W_out, self.b_out = _sparse(block.W_out[:, self.read]), _integers(block.b_out[self.read]).astype(np.int64)
        if self._largest_sum(pairs, length) >= 2.0**58:
            raise Refused(TOO_LARGE)
        self.heads = [v @ o for v, o in pairs]
        self.readout = cache(self._readout)

    def _largest_sum(self, heads: list[tuple[Sparse, Sparse]], length: int) -> float:
        """The largest sum of absolute values on the way from the embeddings of `length` tokens to the MLP's output.

        It bounds every number that the certificate computes there, in whatever order; the 1 added to the embeddings
        makes it bound the products of matrices too. float64 rounds it by far less than its distance from 2^63.
        """
        tokens = np.maximum(magnitude(self.subjects), magnitude(self.relations.T))
        stream = 1 + tokens + magnitude(self.positions.T)
        read = length * (stream + sum(stream @ abs(v) @ abs(o) for v, o in heads))
        hidden = read @ abs(self.W_in) + length * np.abs(self.b_in)
        output = read[self.read] + hidden @ abs(self.W_out) + length * np.abs(self.b_out)
        return float(max(part.max(initial=0) for part in (read, hidden, output)))

    def _readout(self, support: tuple[int, ...], divisor: int) -> Readout:
        """The read-out on the coordinates that the output can occupy; Refused when two answers have the same code
        there.
        """
        codes = _integers(self.transformer.W_U[self.read[list(support)]])
        readout = Readout(codes, divisor * _integers(self.transformer.b_U).astype(np.int64))
        if not readout.distinct:
            raise Refused("two answers have the same code in the coordinates that the output occupies")
        return readout


@dataclass(frozen=True)
class StepInputs:
    """divisor·h = e_y·entity + Σ_m e_{r_m}·relation[m] + constant, for the relations r_1 .. r_hops of a step.

    `entity` and `relation[m]` are sparse [d, d]; `constant` has shape [d].
    """

    hops: int
    divisor: int
    entity: Sparse
    relation: tuple[Sparse, ...]
    constant: Row

    def key(self) -> tuple[object, ...]:
        """Equal for steps in which the model computes the same thing."""
        parts = [part.tobytes() for m in (self.entity, *self.relation) for part in (m.indptr, m.indices, m.data)]
        return (self.hops, self.divisor, self.constant.tobytes(), *parts)


def _step_inputs(weights: Weights, task: Task, step: int, sources: Row) -> StepInputs:
    """What attention (and the residual stream) brings to the last position, sorted by where it comes from."""
    transformer, length = weights.transformer, task.hops + step + 1
    start, stop = task.hops_of_step(step)
    uniform = transformer.attention == "uniform"
    divisor = length if uniform else 1
    identity = scipy.sparse.eye_array(transformer.dimension, dtype=np.int64, format="csr")
    reads = [
        (position, matrix)
        for source, matrix in zip(sources, weights.heads, strict=True)
        for position in (range(length) if uniform else [int(source)])
    ]
    if transformer.residual or not weights.heads:
        reads.append((length - 1, divisor * identity))
    entity, relation = 0 * identity, [0 * identity] * (stop - start)
    constant = np.zeros(transformer.dimension, np.int64)
    for position, matrix in reads:
        constant += weights.positions[position] @ matrix
        if position == (length - 1 if step else 0):
            entity = entity + matrix
        elif start < position <= stop:
            relation[position - start - 1] = relation[position - start - 1] + matrix
        elif _carries(weights, 1 <= position <= task.hops, matrix):
            raise Refused(f"step {step + 1} reads position {position}, which is neither its entity nor its relation")
    common = int(np.gcd.reduce([divisor, *constant, *(v for m in (entity, *relation) for v in np.unique(m.data))]))
    whole = [_canonical(matrix, common) for matrix in (entity, *relation)]
    return StepInputs(stop - start, divisor // common, whole[0], tuple(whole[1:]), constant // common)


def _carries(weights: Weights, relation: bool, matrix: Sparse) -> bool:
    """True unless every relation (or every entity) is mapped to zero."""
    rows = weights.relations if relation else weights.subjects.T.astype(np.int64)
    return bool((rows @ matrix).any())


@dataclass(frozen=True)
class Gates:
    """The entity's part of the pre-activations: e_y·`matrix` (sparse [d, m]), within [`low`, `high`] over all y.

    `spread` [d] and `moved` [m] bound what a leak of 1 would move in h and in the pre-activations.
    """

    matrix: Sparse
    low: Row
    high: Row
    spread: Row
    moved: Row


def _gates(weights: Weights, inputs: StepInputs) -> Gates:
    matrix = inputs.entity @ weights.W_in
    low, high = _range(weights.subjects, matrix)
    spread = np.zeros(weights.transformer.dimension, np.int64)
    for head in weights.heads if weights.leak else []:
        ends = [_range(rows, head) for rows in (weights.subjects, weights.relations.T)]
        places = weights.positions @ head
        top = np.maximum(ends[0][1], ends[1][1]) + places.max(axis=0)
        spread += top - np.minimum(ends[0][0], ends[1][0]) - places.min(axis=0)
    return Gates(matrix, low, high, spread, spread @ abs(weights.W_in))


def _range(columns: NDArray[Any], matrix: Sparse) -> tuple[Row, Row]:
    """The least and largest entry of each column of rows·matrix, for `columns` = rows^T [d, n]; shapes [outputs]."""
    product = Product(matrix.toarray())
    low, high = np.full((2, matrix.shape[1]), 0, np.int64)
    size = max(1, CHUNK // max(matrix.shape))
    for start in range(0, columns.shape[1], size):
        values = product(columns[:, start : start + size])
        least, most = values.min(axis=1).astype(np.int64), values.max(axis=1).astype(np.int64)
        low, high = (least, most) if start == 0 else (np.minimum(low, least), np.maximum(high, most))
    return low, high


@dataclass(frozen=True)
class WordOutput:
    """divisor·output = e_y·linear + constant + ReLU(e_y·mixed_in + mixed_bias)·mixed_out, on the coordinates `support`.

    `noise` bounds the error of each coordinate that the leak causes.
    """

    support: tuple[int, ...]
    linear: Product
    constant: Row
    mixed: Product
    mixed_out: Product
    noise: Fraction

    def __call__(self, subjects: NDArray[Any]) -> Row:
        """The outputs [support, batch] of subject columns [d, batch]."""
        outputs = self.linear(subjects).astype(np.int64) + self.constant[:, None]
        if self.mixed.outputs:
            outputs += self.mixed_out(np.maximum(self.mixed(subjects), 0)).astype(np.int64)
        return np.asarray(outputs)


def _output_on_word(weights: Weights, inputs: StepInputs, gates: Gates, word: tuple[int, ...]) -> WordOutput:
    """Which units are closed, open and mixed on the word, and what the output is then."""
    fixed = inputs.constant.copy()
    for relation, matrix in zip(word, inputs.relation, strict=True):
        fixed += weights.relations[relation] @ matrix
    offset = fixed @ weights.W_in + inputs.divisor * weights.b_in
    # Integers h <= -x iff h <= -ceil(x): a closed unit stays closed under the leak.
    moved = np.array([-(-weights.leak.numerator * int(v) // weights.leak.denominator) for v in gates.moved], np.int64)
    closed = gates.high + offset <= -moved
    opened = ~closed & (gates.low + offset >= 0)
    unit, mixed = np.flatnonzero(opened), np.flatnonzero(~closed & ~opened)
    linear = gates.matrix[:, unit] @ weights.W_out[unit]
    constant = offset[unit] @ weights.W_out[unit] + inputs.divisor * weights.b_out
    passed_on = gates.moved[~closed] @ abs(weights.W_out[np.flatnonzero(~closed)])
    if weights.transformer.residual:
        linear = linear + inputs.entity[:, weights.read]
        constant = constant + fixed[weights.read]
        passed_on = passed_on + gates.spread[weights.read]
    occupied = (abs(linear).sum(axis=0) > 0) | (constant != 0) | (passed_on > 0)
    occupied |= abs(weights.W_out[mixed]).sum(axis=0) > 0
    support = np.flatnonzero(occupied)
    return WordOutput(
        support=tuple(support.tolist()),
        linear=Product(linear[:, support].toarray()),
        constant=constant[support],
        mixed=Product(gates.matrix[:, mixed].toarray(), offset[mixed]),
        mixed_out=Product(weights.W_out[mixed][:, support].toarray()),
        noise=weights.leak * int(passed_on.max(initial=0)),
    )


def _margin_on_word(
    weights: Weights, inputs: StepInputs, gates: Gates, word: tuple[int, ...], answers: Row
) -> Fraction:
    """The margin that can be proved for one word of a step and all entities."""
    output = _output_on_word(weights, inputs, gates, word)
    readout = weights.readout(output.support, inputs.divisor)
    size = max(1, CHUNK // max(output.mixed.outputs, len(output.support), 1))
    margins = []
    for start in range(0, len(answers), size):
        batch = slice(start, start + size)
        margins.append(readout.margin(output(weights.subjects[:, batch]), answers[batch], output.noise))
    return min(margins) / inputs.divisor


def _integers(array: NDArray[Any]) -> NDArray[Any]:
    """An array that is known to hold integers, in an integer type that int64 includes; Refused from 2^48 on."""
    (whole,), _ = numerators(array)
    if whole.size and max(int(whole.max()), -int(whole.min())) >= 2**48:
        raise Refused(TOO_LARGE)
    return whole.astype(np.int64) if whole.dtype in (object, np.uint64) else whole


def _sparse(array: NDArray[Any]) -> Sparse:
    return scipy.sparse.csr_array(_integers(array).astype(np.int64))


def _canonical(matrix: Sparse, divisor: int) -> Sparse:
    """matrix / divisor, which is whole, without stored zeros and with sorted indices."""
    result = scipy.sparse.csr_array(matrix, copy=True)
    result.data //= divisor
    result.eliminate_zeros()
    result.sort_indices()
    return result
