"""T13: noise on the subject's row; the worst perturbation in a box, not a sampled one.

In one pass of one block whose heads read fixed positions (`certify_attention`, with the noise), the difference of two
logits is a piecewise linear function of the perturbation η of the row:

    F(η) = constant + slope·η + Σ_j c_j·ReLU(z_j + (M η)_j),      |η_i| <= δ

Units that keep their sign in the box are linear. Of those that change it, the *lone* ones read one coordinate, as every
unit of T1, T1b and T2 does: then F is a sum of functions of one coordinate each, whose least value is at an end or at
a kink, so that the minimum is exact. Units that change sign and read several coordinates are enclosed: from below by
what each adds at least, from above by F at the perturbation that minimises the rest; where the two leave it open, the
box is halved, `HALVINGS` times at most.

All arithmetic is that of whole numbers over one denominator; perturbations that decide are exact too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from constructions.verification.certify_attention import Embedding, Refused, certify_reading
from constructions.verification.certify_step import StepInputs, Weights, reads_of, step_inputs, words_and_answers
from constructions.verification.exact import Product
from constructions.verification.exhaustive import require_fit
from constructions.verification.integers import absolute, add, converted, largest, scaled, type_for, whole
from constructions.verification.result import Result
from theory import FactSystem, Task, Transformer

Integers = NDArray[Any]

HALVINGS = 5
STEPS = 2**20  # in which the largest noise is sought, up to a power of two at least the range of the rows
MOST_PRODUCTS = 5 * 10**8  # of two numbers, in all queries at one noise: some seconds
LEAST_PRODUCTS = 10**5  # a query takes as long as so many, however small it is
LARGEST_MULTIPLE = 2**20  # by which kinks are made whole


@dataclass(frozen=True)
class Worst:
    """The least margin of a query in a box lies between `low` and `high`, which the perturbation `at` [d] attains."""

    low: Fraction
    high: Fraction
    at: tuple[Fraction, ...]


@dataclass(frozen=True)
class Tolerance:
    """Every query is right under every perturbation of its subject's row by at most `survived` a coordinate, and one of
    at most `broken` breaks one of them (None where none was found): `query` (subject, word) under `perturbation`.
    """

    survived: Fraction
    broken: Fraction | None
    query: tuple[int, tuple[int, ...]] | None = None
    perturbation: tuple[Fraction, ...] = ()


def check_under_noise(transformer: Transformer, system: FactSystem, task: Task, noise: Fraction) -> Result:
    """Whether every query is answered with a positive margin whatever is added to its subject's row, as long as it is
    at most `noise` in each coordinate.

    The result's low and high enclose the least margin; undecided, with the reason, for what this does not know: chains,
    several blocks, softmax, and heads that noise may turn. InputError when model, system and task do not fit.
    """
    require_fit(transformer, system, task)
    queries = system.entities * system.relations**task.hops
    try:
        noisy = Noisy(transformer, system, task)
        noisy.require_reading(noise)
        found = [query.worst(noise) for _, query in noisy.queries()]
    except Refused as refusal:
        return Result("undecided", queries, reason=str(refusal))
    low, high = min(each.low for each in found), min(each.high for each in found)
    if low > 0:
        return Result("holds", queries, low, high)
    reason = (
        f"a perturbation of a row by at most {noise} leaves a margin of {high}"
        if high <= 0
        else (f"the least margin under noise {noise} is only known to lie between {low} and {high}")
    )
    return Result("fails" if high <= 0 else "undecided", queries, low, high, reason=reason)


def largest_noise(transformer: Transformer, system: FactSystem, task: Task) -> Tolerance:
    """The largest noise that every query survives, to the next of `STEPS` steps up to the range of the subjects' rows.

    Refused where `check_under_noise` is undecided, and where a query is wrong without noise. InputError when model,
    system and task do not fit.
    """
    require_fit(transformer, system, task)
    noisy = Noisy(transformer, system, task)
    step = noisy.most / STEPS
    steady = _last(STEPS, noisy.reads_the_same, step)
    survived, fails, found = steady, steady + 1, Tolerance(Fraction(0), None)
    for name, query in noisy.queries():
        if not query.survives(Fraction(0)):
            raise Refused(f"subject {name[0]} and word {list(name[1])} are answered wrongly without any noise")
        survived = _last(survived, query.survives, step)
        if (earlier := 1 + _last(fails - 1, query.may_survive, step)) < fails:
            fails = earlier
            found = Tolerance(Fraction(0), fails * step, name, query.worst(fails * step).at)
    return replace(found, survived=survived * step)


def _last(most: int, good: Callable[[Fraction], bool], step: Fraction) -> int:
    """The largest n <= most with good(n·step), for what is good at 0 and, once it is not, never again."""
    if good(most * step):
        return most
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if good(middle * step) else (low, middle)
    return low


def row_bits(transformer: Transformer, noise: Fraction) -> float:
    """The bits that a subject's row can carry under noise that is survived (T13): Σ_i log2(1 + ⌊A_i/2δ⌋), A_i the range
    of coordinate i over the subjects."""
    subjects = transformer.W_E[: transformer.entities]
    ends = zip(subjects.min(axis=0).tolist(), subjects.max(axis=0).tolist(), strict=True)
    return math.fsum(math.log2(1 + (Fraction(high) - Fraction(low)) // (2 * noise)) for low, high in ends)


class Noisy:
    """A model in one pass, word by word, as a function of its subject's row. Refused for what this does not know."""

    def __init__(self, transformer: Transformer, system: FactSystem, task: Task) -> None:
        if task.steps > 1:
            raise Refused("noise is checked in one pass, and this task is a chain of thought")
        if len(transformer.blocks) != 1:
            raise Refused(f"noise is checked in one block, and the model has {len(transformer.blocks)}")
        if transformer.attention == "softmax":
            raise Refused("noise is checked under uniform and hardmax attention, and this is softmax")
        self.transformer, self.system, self.task = transformer, system, task
        self.embedding = Embedding.of(transformer)
        block = transformer.blocks[0]
        each = (transformer.answers + transformer.dimension) * (transformer.width + transformer.dimension)
        if max(each, LEAST_PRODUCTS) * system.entities * system.relations**task.hops > MOST_PRODUCTS:
            raise Refused("the queries are too many to search the box around each row")
        self.reading = certify_reading(transformer, block, self.embedding, task)
        self.weights = Weights(transformer, self.embedding, Fraction(0))
        reads = reads_of(self.weights, task, 0, self.reading)
        self.inputs = step_inputs(self.weights, reads)
        subjects = self.embedding.subjects
        spread = largest(add(subjects.max(axis=1), scaled(subjects.min(axis=1), -1)))
        self.most = Fraction(2 ** max(spread - 1, 0).bit_length(), self.embedding.scale)

    def require_reading(self, noise: Fraction) -> None:
        """Refused where noise may turn a head."""
        certify_reading(self.transformer, self.transformer.blocks[0], self.embedding, self.task, noise)

    def reads_the_same(self, noise: Fraction) -> bool:
        """True iff no noise up to that turns a head."""
        try:
            self.require_reading(noise)
        except Refused:
            return False
        return True

    def queries(self) -> Iterator[tuple[tuple[int, tuple[int, ...]], Query]]:
        """Every query (subject, word), with its logits as functions of the row."""
        for word, answers in words_and_answers(self.system, self.task, self.task.hops):
            on_word = OnWord.of(self.weights, self.inputs, word)
            gates = on_word.pre_activations(self.embedding.subjects)
            streams = on_word.streamed(self.embedding.subjects)
            for subject, answer in enumerate(answers.tolist()):
                yield (subject, word), Query(on_word, gates[:, subject], streams[:, subject], answer)


@dataclass(frozen=True)
class OnWord:
    """On one word, over the denominators `divisor` (of the gates and rows) and `logits` (of the logits, in all):

    z = matrix·e + offset [m] for a row e [d]; logits = written^T·ReLU(z) + stream^T·e + constant [answers].
    `reach` [m] is how far a row that is off by 1 moves z; `lone` [m] is the one coordinate that a unit reads, -1 where
    it reads none or several; `multiple` makes kinks whole.
    """

    matrix: Integers
    offset: Integers
    written: Integers
    stream: Integers
    constant: Integers
    reach: Integers
    lone: NDArray[np.intp]
    multiple: int
    scale: int
    logits: int

    @classmethod
    def of(cls, weights: Weights, inputs: StepInputs, word: tuple[int, ...]) -> OnWord:
        """The model on a word, in Python's integers."""
        fixed, codes = inputs.fixed(word), Product(weights.codes)
        hidden, factor = inputs.divisor * weights.hidden.scale, weights.hidden.scale * weights.output_scale
        divisor = hidden * weights.output_scale
        matrix = Product(weights.hidden.weights)(inputs.entity.T)
        offset = weights.hidden(fixed[:, None], inputs.divisor)[:, 0]
        out = scaled(weights.b_out, hidden)
        stream = np.zeros((codes.outputs, len(fixed)), np.int8)
        if weights.transformer.residual:
            out = add(out, scaled(fixed[weights.read], factor))
            stream = scaled(codes(inputs.entity.T[weights.read]), factor)
        constant = add(codes(out[:, None])[:, 0], scaled(weights.biases, divisor))
        count = np.count_nonzero(matrix, axis=1)
        lone = np.where(count == 1, (matrix != 0).argmax(axis=1), -1)
        parts = {whole(value) for value in absolute(matrix[count == 1]).sum(axis=1).tolist()}
        multiple = math.lcm(*parts)
        if multiple > LARGEST_MULTIPLE:
            lone, multiple = np.full(len(count), -1), 1
        return cls(
            matrix=matrix,
            offset=offset,
            written=codes(weights.W_out.T).T,
            stream=stream.T,
            constant=constant,
            reach=np.abs(converted(matrix, object)).sum(axis=1),
            lone=lone,
            multiple=multiple,
            scale=weights.embedding.scale,
            logits=divisor * weights.readout_scale,
        )

    def pre_activations(self, subjects: Integers) -> Integers:
        """z [m, subjects] of the rows [d, subjects]."""
        return add(Product(self.matrix.T)(subjects), self.offset[:, None])

    def streamed(self, subjects: Integers) -> Integers:
        """What the residual stream adds to the logits, with the constant, shape [answers, subjects]."""
        return add(Product(self.stream)(subjects), self.constant[:, None])


class Query:
    """One query as a function of the perturbation of its subject's row."""

    def __init__(self, on_word: OnWord, z: Integers, rest: Integers, answer: int) -> None:
        self.word, self.z, self.answer = on_word, z, answer
        # What a unit, a coordinate and the rest add to the answer's logit less each other's.
        self.by_unit = differences(on_word.written, answer)
        self.by_row = differences(on_word.stream, answer)
        self.rest = differences(rest[None], answer)[0]
        self.others = np.arange(len(rest)) != answer
        # The largest number that there is at noise 0, and what a perturbation of one adds to it at most, in Python's
        # integers. The 1 is for the pre-activations themselves, which may be large where a unit changes no difference.
        unit, row = (_largest_in_rows(each) for each in (self.by_unit, self.by_row))
        self.entries = max(map(largest, (on_word.matrix, self.by_unit, self.by_row)))
        self.still = whole((unit + 1) @ np.abs(converted(z, object))) + 2 * largest(self.rest)
        self.moving = 4 * whole((unit + 1) @ on_word.reach) + 2 * whole(row.sum())

    def worst(self, noise: Fraction) -> Worst:
        """The least margin under perturbations of at most `noise` in each coordinate."""
        word = self.word
        bound = noise * word.scale
        unit = bound.denominator * word.multiple * 2**HALVINGS  # so that ends, kinks and halves are whole
        most = whole(bound * unit)
        size = np.full(word.matrix.shape[1], most, object)
        box = _Box(self, unit, type_for(4 * (unit * self.still + most * self.moving + self.entries)))
        low, high, at = box.least(np.zeros_like(size), size, HALVINGS)
        scale = word.logits * unit
        return Worst(Fraction(low, scale), Fraction(high, scale), tuple(Fraction(t, unit * word.scale) for t in at))

    def survives(self, noise: Fraction) -> bool:
        """True only if no perturbation of at most that much breaks the query."""
        return self.worst(noise).low > 0

    def may_survive(self, noise: Fraction) -> bool:
        """False only if a perturbation of at most that much is known to break the query."""
        return self.worst(noise).high > 0


def differences(rows: Integers, column: int) -> Integers:
    """A column less each column, exactly."""
    wide = converted(rows, type_for(4 * max(1, largest(rows))))
    return np.asarray(wide[:, column : column + 1] - wide)


def _largest_in_rows(rows: Integers) -> Integers:
    """The largest absolute value of each row, in Python's integers; 0 of an empty one."""
    return converted(np.abs(rows).max(axis=1, initial=0), object)


class _Box:
    """The search of one query's box, in units in which everything is whole and a type that holds it."""

    def __init__(self, query: Query, unit: int, kind: Any) -> None:
        word = query.word
        self.kind, self.lone, self.others = kind, word.lone, query.others
        self.matrix, self.by_unit = converted(word.matrix, kind), converted(query.by_unit, kind)
        self.by_row = converted(query.by_row, kind)
        self.z, self.rest = (unit * converted(each, kind) for each in (query.z, query.rest))
        self.reach = np.abs(self.matrix)

    def least(self, centre: Integers, size: Integers, halvings: int) -> tuple[int, int, list[int]]:
        """Bounds of the least margin for perturbations within `size` [d] of `centre` [d], and where the upper one is
        attained."""
        low, at, tangled = self._below(centre, size)
        high = self._at(at)
        if not tangled.any() or low > 0 or high <= 0 or halvings == 0:
            return low, high, [whole(value) for value in at.tolist()]
        widest = whole((self.reach[tangled].sum(axis=0) * converted(size, self.kind)).argmax())
        shift = np.zeros_like(size)
        shift[widest] = size[widest] // 2
        halves = [self.least(centre + sign * shift, size - shift, halvings - 1) for sign in (-1, 1)]
        high, where = min((half[1], half[2]) for half in halves)
        return min(half[0] for half in halves), high, where

    def _at(self, at: Integers) -> int:
        """The margin under one perturbation."""
        opened = np.maximum(self.z + self.matrix @ at, 0)
        return whole((self.rest + opened @ self.by_unit + at @ self.by_row)[self.others].min())

    def _below(self, centre: Integers, size: Integers) -> tuple[int, Integers, NDArray[np.bool_]]:
        """What the margin is at least, the perturbation at which it would be that, and which units were enclosed."""
        centre, size = converted(centre, self.kind), converted(size, self.kind)
        z, reach = self.z + self.matrix @ centre, self.reach @ size
        opened, mixed = z - reach >= 0, (z - reach < 0) & (z + reach > 0)
        slope = self.matrix[opened].T @ self.by_unit[opened] + self.by_row
        value = self.rest + z[opened] @ self.by_unit[opened] + centre @ self.by_row
        at = np.where(slope > 0, -size[:, None], size[:, None])
        lone, tangled = mixed & (self.lone >= 0), mixed & (self.lone < 0)
        value = value + (z + reach)[tangled] @ np.minimum(self.by_unit[tangled], 0)
        kinked = np.unique(self.lone[lone])
        for coordinate in kinked.tolist():
            units = np.flatnonzero(lone & (self.lone == coordinate))
            best, at[coordinate] = self._along(coordinate, units, z[units], slope[coordinate], size[coordinate])
            value = value + best
        plain = np.ones(len(size), bool)
        plain[kinked] = False
        value = value - size[plain] @ np.abs(slope[plain])
        rival = np.flatnonzero(self.others)[value[self.others].argmin()]
        return whole(value[rival]), centre + at[:, rival], tangled

    def _along(self, coordinate: int, units: Any, z: Integers, slope: Integers, size: Any) -> tuple[Integers, Integers]:
        """The least value along one coordinate, and where: at an end of [-size, size] or at a unit's kink."""
        steepness = self.matrix[units, coordinate]
        kinks = -z // steepness  # whole: z is a multiple of every lone unit's weight
        points = np.unique(np.concatenate([[-size, size], kinks[np.abs(kinks) <= size]]))
        opened = np.maximum(z + points[:, None] * steepness, 0)
        values = points[:, None] * slope + opened @ self.by_unit[units]
        first = values.argmin(axis=0)
        return values.min(axis=0), points[first]
