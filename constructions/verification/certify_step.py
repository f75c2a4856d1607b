"""Certificate, part 2: gates and outputs of a single-block model, step by step and word by word (see `certificate`).

Every value is an array of integers over one common denominator, as in `exact`, and computed by its products, which
choose a type that holds it; float weights are the fractions that they are.
"""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from constructions.verification.certify_attention import (
    Embedding,
    Reading,
    Refused,
    certify_reading,
    require_affordable,
)
from constructions.verification.certify_readout import Readout, coordinates_read
from constructions.verification.exact import Product
from constructions.verification.integers import (
    absolute,
    add,
    alike,
    common_divisor,
    divided,
    largest,
    magnitude,
    numerators,
    rounded_up,
    scaled,
    transposed,
)
from theory import FactSystem, Task, Transformer

Integers = NDArray[Any]

CHUNK = 2**19
# Words for which a batch of subjects is read together.
WORDS = 64
MOST_WORDS = 10**8
THREADS = os.cpu_count() or 1
# In place of the number of a head: the residual stream.
STREAM = -1


def certify_single_block(transformer: Transformer, system: FactSystem, task: Task) -> Fraction:
    """The margin that can be proved for all queries (if it is not positive, of some); Refused when none can."""
    embedding = Embedding.of(transformer)
    reading = certify_reading(transformer, transformer.blocks[0], embedding, task)
    weights = Weights(transformer, embedding, reading.leak)
    margins: list[Fraction] = []
    seen = set()
    for step in range(task.steps):
        reads = reads_of(weights, task, step, reading)
        if reads.key in seen:
            continue
        seen.add(reads.key)
        inputs = step_inputs(weights, reads)
        gates = _gates(weights, inputs)
        words = words_and_answers(system, task, len(inputs.relations))
        while together := list(islice(words, WORDS)):
            margins.append(_margin_on_words(weights, inputs, gates, together))
            if margins[-1] <= 0:
                return margins[-1]
    return min(margins)


def words_and_answers(system: FactSystem, task: Task, hops: int) -> Iterator[tuple[tuple[int, ...], NDArray[np.int64]]]:
    """Each word of so many hops with the outputs expected for all entities, shape [N]; Refused for too many words."""
    if system.relations**hops > MOST_WORDS:
        raise Refused(f"{system.relations}^{hops} words of a step are too many to go through; at most {MOST_WORDS} are")
    for word in itertools.product(range(system.relations), repeat=hops):
        offset = system.entities * word[0] if task.disjoint_attributes else 0
        yield word, system.follow(word) + offset


class Weights:
    """The weights of a single-block model as the certificate uses them.

    What a head brings of a row is taken over `head_scale`. `W_out` and `b_out` are restricted to the coordinates that
    are `read` out.
    """

    def __init__(self, transformer: Transformer, embedding: Embedding, leak: Fraction) -> None:
        (block,) = transformer.blocks
        self.transformer, self.embedding, self.leak = transformer, embedding, leak
        self.extent = magnitude(embedding.subjects)[:, None]
        self.has_stream = transformer.residual or not block.heads
        self._heads = [(Product(v), Product(o)) for v, o in zip(block.W_V, block.W_O, strict=True)]
        self.head_scale = max((v.scale * o.scale for v, o in self._heads), default=1)
        self.read = np.flatnonzero(transformer.W_U.any(axis=1))
        self.hidden = Product(block.W_in, block.b_in)
        (self.W_out, self.b_out), self.output_scale = numerators(block.W_out[:, self.read], block.b_out[self.read])
        (self.codes, self.biases), self.readout_scale = numerators(transformer.W_U[self.read], transformer.b_U)
        self.readout, self.matrix = functools.cache(self._readout), functools.cache(self._matrix)
        self._supports: dict[bytes, NDArray[np.intp]] = {}

    def support(self, occupied: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Which coordinates are read out, for those that the output occupies; kept, for most words have the same."""
        key = occupied.tobytes()
        if key not in self._supports:
            self._supports[key] = coordinates_read(self.codes, occupied)
        return self._supports[key]

    def brought(self, head: int, columns: Integers) -> Integers:
        """What a head (or the stream) makes of rows of the stream, both [d, n]: times W_V W_O and head_scale."""
        if head == STREAM:
            return scaled(columns, self.head_scale)
        value, output = self._heads[head]
        return scaled(output(value(columns)), self.head_scale // (value.scale * output.scale))

    def _matrix(self, head: int) -> Integers:
        """The same as a matrix [d, d] by which rows are multiplied."""
        return self.brought(head, np.eye(self.transformer.dimension, dtype=np.int8)).T

    def _readout(self, support: tuple[int, ...], denominator: int, queries: int) -> Readout:
        """The read-out, times denominator·readout_scale, on the coordinates that the output can occupy."""
        return Readout(self.codes[list(support)], scaled(self.biases, denominator), queries)


@dataclass(frozen=True)
class Reads:
    """Which heads read the entity of a step, and which its relations; `constant` [d] is what the positions bring, over
    `divisor`.
    """

    entity: tuple[int, ...]
    relations: tuple[tuple[int, ...], ...]
    constant: Integers
    divisor: int

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for steps in which the model computes the same thing."""
        return self.entity, self.relations, tuple(self.constant.tolist()), self.divisor


def reads_of(weights: Weights, task: Task, step: int, reading: Reading) -> Reads:
    """What attention (and the residual stream) brings to the last position, sorted by where it comes from."""
    transformer, length = weights.transformer, task.hops + step + 1
    start, stop = task.hops_of_step(step)
    uniform = transformer.attention == "uniform"
    entity: list[int] = []
    relations: list[list[int]] = [[] for _ in range(stop - start)]
    reads = [
        (position, head)
        for head, source in enumerate(reading.source[step])
        for position in (range(length) if uniform else [source])
    ]
    # The stream counts as often as a mean over the prompt divides.
    reads.extend([(length - 1, STREAM)] * (length if uniform else 1) if weights.has_stream else [])
    constant = np.zeros(transformer.dimension, np.int64)
    for position, head in reads:
        place = weights.embedding.positions[:, position : position + 1]
        constant = add(constant, weights.brought(head, place)[:, 0])
        if position == (length - 1 if step else 0):
            entity.append(head)
        elif start < position <= stop:
            relations[position - start - 1].append(head)
        elif _carries(weights, 1 <= position <= task.hops, head):
            raise Refused(f"step {step + 1} reads position {position}, which is neither its entity nor its relation")
    divisor = (length if uniform else 1) * weights.head_scale * weights.embedding.scale
    return Reads(tuple(entity), tuple(map(tuple, relations)), constant, divisor)


def _carries(weights: Weights, relation: bool, head: int) -> bool:
    """True unless every relation (or every entity) is mapped to zero."""
    columns = weights.embedding.relations if relation else weights.embedding.subjects
    return bool(weights.brought(head, columns).any())


@dataclass(frozen=True)
class StepInputs:
    """divisor·h = e_y·entity + Σ_m relations[m][:, r_m] + constant, for the relations r_1, r_2 .. of a step.

    `entity` has shape [d, d], `relations[m]` [d, R], `constant` [d]. All were divided by `common`.
    """

    entity: Integers
    relations: list[Integers]
    constant: Integers
    divisor: int
    common: int

    def fixed(self, word: tuple[int, ...]) -> Integers:
        """What a word brings, over the divisor: shape [d]."""
        total = self.constant
        for relation, columns in zip(word, self.relations, strict=True):
            total = add(total, columns[:, relation])
        return total


def step_inputs(weights: Weights, reads: Reads) -> StepInputs:
    dimension, tokens = weights.transformer.dimension, weights.embedding.relations
    entity = _sum([weights.matrix(head) for head in reads.entity], (dimension, dimension))
    relations = [_sum([weights.brought(head, tokens) for head in heads], tokens.shape) for heads in reads.relations]
    common = common_divisor(reads.constant, entity, *relations, start=reads.divisor)
    return StepInputs(
        entity=divided(entity, common),
        relations=[divided(columns, common) for columns in relations],
        constant=divided(reads.constant, common),
        divisor=reads.divisor // common,
        common=common,
    )


def _sum(parts: list[Integers], shape: tuple[int, ...]) -> Integers:
    return functools.reduce(add, parts) if parts else np.zeros(shape, np.int8)


@dataclass(frozen=True)
class Gates:
    """The entity's part of the pre-activations: e_y·matrix^T (`matrix` [m, d]), within [`low`, `high`] over all y.

    A leak of 1 would move h by at most `spread` [d] and the pre-activations by at most `moved` [m], the leak that there
    is by at most `shift` [m].
    """

    matrix: Integers
    low: Integers
    high: Integers
    spread: Integers
    moved: Integers
    shift: Integers


def _gates(weights: Weights, inputs: StepInputs) -> Gates:
    W_in = weights.hidden.weights
    matrix = Product(W_in)(inputs.entity.T)
    low, high = _range(weights.embedding.subjects, matrix.T)
    if not weights.leak:
        nothing = np.zeros(len(matrix), np.int8)
        return Gates(matrix, low, high, np.zeros(len(W_in), np.int8), nothing, nothing)
    heads = range(weights.transformer.blocks[0].heads)
    spread = rounded_up(_sum([_spread(weights, head) for head in heads], (len(W_in),)), Fraction(1, inputs.common))
    moved = Product(absolute(W_in))(spread[:, None])[:, 0]
    return Gates(matrix, low, high, spread, moved, rounded_up(moved, weights.leak))


def _spread(weights: Weights, head: int) -> Integers:
    """The largest difference, in each coordinate, of what a head can read at two positions; shape [d]."""
    embedding, matrix = weights.embedding, weights.matrix(head)
    tokens = [_range(columns, matrix) for columns in (embedding.subjects, embedding.relations)]
    low, high = np.min(alike(*(t[0] for t in tokens)), axis=0), np.max(alike(*(t[1] for t in tokens)), axis=0)
    places = weights.brought(head, embedding.positions)
    return add(add(high, places.max(axis=1)), scaled(add(low, places.min(axis=1)), -1))


def _range(columns: Integers, matrix: Integers) -> tuple[Integers, Integers]:
    """The least and largest entry of each column of rows·matrix, for `columns` = rows^T [d, n]; shapes [outputs]."""
    product = Product(matrix)
    if product.only is not None:
        ends = alike(*(product(end[:, None])[:, 0] for end in (columns.min(axis=1), columns.max(axis=1))))
        return np.min(ends, axis=0), np.max(ends, axis=0)
    require_affordable(product.kind(columns), product.multiplications * columns.shape[1], "the range of the gates")
    size = max(1, CHUNK // max(1, *matrix.shape))
    lows, highs = [], []
    for start in range(0, columns.shape[1], size):
        values = product(columns[:, start : start + size])
        lows.append(values.min(axis=1))
        highs.append(values.max(axis=1))
    return np.min(alike(*lows), axis=0), np.max(alike(*highs), axis=0)


@dataclass(frozen=True)
class WordOutput:
    """divisor·output = e_y·linear + ReLU(e_y·mixed)·mixed_out, biases included, on the coordinates `support`; the
    divisor is a step's times those of the MLP.

    `noise` bounds the error of each coordinate that the leak causes.
    """

    support: tuple[int, ...]
    linear: Product
    mixed: Product
    mixed_out: Product
    noise: Fraction

    def __call__(self, subjects: Integers) -> Integers:
        """The outputs [support, batch] of subject columns [d, batch]."""
        outputs = self.linear(subjects)
        return add(outputs, self.mixed_out(np.maximum(self.mixed(subjects), 0))) if self.mixed.outputs else outputs

    def require_affordable(self, extent: Integers, queries: int) -> None:
        """Refused when so many outputs would take too long in Python's integers, for subjects up to `extent` [d, 1]."""
        for product in (self.linear, self.mixed):
            require_affordable(product.kind(extent), product.multiplications * queries, "the MLP's output")


def _output_on_word(weights: Weights, inputs: StepInputs, gates: Gates, word: tuple[int, ...]) -> WordOutput:
    """Which units are closed, open and mixed on the word, and what the output is then."""
    fixed, hidden_divisor = inputs.fixed(word), inputs.divisor * weights.hidden.scale
    offset = weights.hidden(fixed[:, None], inputs.divisor)[:, 0]
    # Integers h <= -x iff h <= -ceil(x): a closed unit stays closed under the leak.
    closed = add(add(gates.high, offset), gates.shift) <= 0
    opened = ~closed & (add(gates.low, offset) >= 0)
    unit, mixed = np.flatnonzero(opened), np.flatnonzero(~closed & ~opened)
    written = Product(weights.W_out[unit])
    linear = written(gates.matrix[unit])
    constant = add(written(offset[unit][:, None])[:, 0], scaled(weights.b_out, hidden_divisor))
    passed_on = np.zeros(len(constant), np.int8)
    if weights.leak:
        passed_on = Product(absolute(weights.W_out[~closed]))(gates.moved[~closed][:, None])[:, 0]
    if weights.transformer.residual:
        factor = weights.hidden.scale * weights.output_scale
        linear = add(linear, scaled(inputs.entity.T[weights.read], factor))
        constant = add(constant, scaled(fixed[weights.read], factor))
        passed_on = add(passed_on, scaled(gates.spread[weights.read], factor))
    mixed_out = weights.W_out[mixed]
    occupied = linear.any(axis=1) | (constant != 0) | (passed_on > 0) | mixed_out.any(axis=0)
    support = weights.support(occupied)
    return WordOutput(
        support=tuple(support.tolist()),
        linear=Product(linear[support].T, constant[support]),
        mixed=Product(gates.matrix[mixed].T, offset[mixed]),
        mixed_out=Product(mixed_out[:, support]),
        noise=weights.leak * largest(passed_on),
    )


def _margin_on_words(
    weights: Weights, inputs: StepInputs, gates: Gates, words: list[tuple[tuple[int, ...], NDArray[np.int64]]]
) -> Fraction:
    """The margin that can be proved for some words of a step, with their answers, and all entities (if it is not
    positive, of some).
    """
    subjects = weights.embedding.subjects
    divisor = inputs.divisor * weights.hidden.scale * weights.output_scale
    prepared, most = [], 1
    for word, answers in words:
        output = _output_on_word(weights, inputs, gates, word)
        queries = len(answers) * weights.transformer.relations ** len(word)
        output.require_affordable(weights.extent, queries)
        prepared.append((output, weights.readout(output.support, divisor, queries), answers))
        most = max(most, output.mixed.outputs, len(output.support))
    size = max(1, CHUNK // most)

    def margin_of_batch(start: int) -> Fraction:
        batch = slice(start, start + size)
        columns = transposed(subjects.T[batch])
        return min(read.margin(output(columns), right[batch], output.noise) for output, read, right in prepared)

    first, *others = range(0, subjects.shape[1], size)
    least = margin_of_batch(first)
    with ThreadPoolExecutor(min(THREADS, 1 + len(others))) as pool:
        for margin in pool.map(margin_of_batch, others if least > 0 else ()):
            least = min(least, margin)
            if least <= 0:
                pool.shutdown(cancel_futures=True)
                break
    return least / (divisor * weights.readout_scale)
