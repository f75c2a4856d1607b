"""Rung 1 for real weights: the forward pass in ball arithmetic (python-flint's `arb`), which encloses every logit.

Softmax weights and the circle code of T1b are irrational. Each value is a ball that is certain to contain the exact
one, so a margin that is enclosed above 0 is proved, one enclosed below is refuted, and one whose ball contains 0 is
*undecided*: more precision may help. `weight_error` widens every fractional weight to a ball, so that the models
enclosed include the one with the real weights which the floats stand for.

One prompt at a time, every position: meant for small systems. Large ones have the certificate.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import flint
import numpy as np
from numpy.typing import NDArray

from constructions.exhaustive import expected_answers, require_fit
from theory import Block, FactSystem, Task, Transformer, all_words
from theory.ledger import Counterexample

Matrix = Any


class Undecided(Exception):
    """The balls are too wide to decide a comparison."""


@dataclass(frozen=True)
class IntervalVerdict:
    """The least margin over all queries lies in [low, high]; `status` says what that proves."""

    status: Literal["holds", "fails", "undecided"]
    queries: int
    low: Fraction
    high: Fraction
    counterexample: Counterexample | None = None


def check_every_query_by_intervals(
    transformer: Transformer,
    system: FactSystem,
    task: Task,
    claimed_margin: int | Fraction = 0,
    *,
    weight_error: float = 0.0,
    precision: int = 128,
) -> IntervalVerdict:
    """All N·R^k queries, all logits enclosed at `precision` bits; a chain is fed its own tokens, as far as they are
    decided.
    """
    require_fit(transformer, system, task)
    words = all_words(system.relations, task.hops)
    low = high = None
    undecided, queries = False, 0
    with _precision(precision):
        model = _Balls(transformer, weight_error)
        for subject in range(system.entities):
            for word in words:
                expected = int(expected_answers(system, task, np.array([subject]), word[None])[0])
                queries += 1
                try:
                    margin, emitted = _run_query(model, task, subject, word, expected)
                except Undecided:
                    undecided = True
                    continue
                least, most = _ends(margin)
                low = least if low is None else min(low, least)
                high = most if high is None else min(high, most)
                if most <= 0 or most < claimed_margin:
                    letters = tuple(word.tolist())
                    found = Counterexample(system, subject, letters, expected, emitted[-1], most, tuple(emitted))
                    return IntervalVerdict("fails", queries, low, high, found)
    if undecided or low is None or high is None or low <= 0 or low < claimed_margin:
        return IntervalVerdict("undecided", queries, low or Fraction(0), high or Fraction(0))
    return IntervalVerdict("holds", queries, low, high)


def circle_margin(entities: int, precision: int = 128) -> tuple[Fraction, Fraction]:
    """An enclosure of 1 - cos(2π/N), T1b's margin on the circle."""
    with _precision(precision):
        return _ends(1 - (2 * flint.arb.pi() / entities).cos())


@contextmanager
def _precision(bits: int) -> Iterator[None]:
    before, flint.ctx.prec = flint.ctx.prec, bits
    try:
        yield
    finally:
        flint.ctx.prec = before


def _ends(ball: Any) -> tuple[Fraction, Fraction]:
    """The end points of a ball, exactly."""
    return _fraction(ball.lower()), _fraction(ball.upper())


def _fraction(point: Any) -> Fraction:
    mantissa, exponent = point.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def _run_query(
    model: _Balls, task: Task, subject: int, word: NDArray[np.int64], expected: int
) -> tuple[Any, list[int]]:
    """The ball of the least margin over the steps, and the tokens emitted; Undecided when a token is not determined."""
    prompt = [subject, *(model.transformer.entities + word).tolist()]
    margins, emitted = [], []
    for step in range(task.steps):
        logits = model.logits(prompt)
        best = max(range(len(logits)), key=lambda answer: logits[answer].mid())
        own = expected if step == task.steps - 1 else best
        rival = _largest([value for answer, value in enumerate(logits) if answer != own])
        margins.append(logits[own] - rival)
        if own == best and step < task.steps - 1 and not margins[-1] > 0:
            raise Undecided
        emitted.append(best)
        prompt.append(best)
    return -_largest([-margin for margin in margins]), emitted


def _largest(values: list[Any]) -> Any:
    """The ball of the maximum."""
    result = values[0]
    for value in values[1:]:
        result = result.max(value)
    return result


class _Balls:
    """A transformer with ball weights."""

    def __init__(self, transformer: Transformer, weight_error: float) -> None:
        self.transformer = transformer
        self._error = weight_error
        self._heads = [
            [tuple(self._matrix(w[h]) for w in (b.W_Q, b.W_K, b.W_V, b.W_O)) for h in range(b.heads)]
            for b in transformer.blocks
        ]
        self._mlps = [
            tuple(self._matrix(w) for w in (b.W_in, b.b_in[None], b.W_out, b.b_out[None])) for b in transformer.blocks
        ]
        self._readout = self._matrix(transformer.W_U), self._matrix(transformer.b_U[None])

    def _matrix(self, array: NDArray[Any]) -> Matrix:
        def ball(value: Any) -> Any:
            """An integer exactly, any other weight as the ball around it whose radius is the weight error."""
            number = float(value) if isinstance(value, float | np.floating) else int(value)
            return flint.arb(number) if number == int(number) else flint.arb(number, self._error)

        rows, columns = array.shape
        return flint.arb_mat(rows, columns, [ball(value) for value in array.ravel().tolist()])

    def logits(self, prompt: list[int]) -> list[Any]:
        """The balls of the logits at the last position."""
        model = self.transformer
        stream = self._matrix(model.W_E[prompt]) + self._matrix(model.W_pos[: len(prompt)])
        for number, block in enumerate(model.blocks):
            stream = self._run_block(number, block, stream)
        last = flint.arb_mat([_row(stream, len(prompt) - 1)])
        return _row(last * self._readout[0] + self._readout[1], 0)

    def _run_block(self, number: int, block: Block, stream: Matrix) -> Matrix:
        length = stream.nrows()
        middle = stream
        if block.heads:
            attended = [self._attend(head, stream) for head in self._heads[number]]
            middle = sum(attended[1:], attended[0])
            middle = middle + stream if self.transformer.residual else middle
        W_in, b_in, W_out, b_out = self._mlps[number]
        ones = flint.arb_mat(length, 1, [1] * length)
        output = _relu(middle * W_in + ones * b_in) * W_out + ones * b_out
        return output + middle if self.transformer.residual else output

    def _attend(self, head: tuple[Matrix, ...], stream: Matrix) -> Matrix:
        W_Q, W_K, W_V, W_O = head
        length = stream.nrows()
        scores = (stream * W_Q) * (stream * W_K).transpose()
        pattern = []
        for position in range(length):
            visible = position + 1 if self.transformer.causal else length
            weights = self._weights(_row(scores, position)[:visible])
            pattern.append(weights + [flint.arb(0)] * (length - visible))
        return flint.arb_mat(pattern) * stream * W_V * W_O

    def _weights(self, scores: list[Any]) -> list[Any]:
        if self.transformer.attention == "uniform":
            return [flint.arb(1) / len(scores)] * len(scores)
        if self.transformer.attention == "softmax":
            top = _largest(scores)
            powers = [(flint.arb(self.transformer.beta) * (score - top.mid())).exp() for score in scores]
            return [power / sum(powers) for power in powers]
        rest = [[other for place, other in enumerate(scores) if place != t] for t in range(len(scores))]
        wins = [all(score >= other for other in others) for score, others in zip(scores, rest, strict=True)]
        loses = [any(score < other for other in others) for score, others in zip(scores, rest, strict=True)]
        if any(not win and not lose for win, lose in zip(wins, loses, strict=True)):
            raise Undecided
        return [flint.arb(int(win)) / sum(wins) for win in wins]


def _row(matrix: Matrix, row: int) -> list[Any]:
    return [matrix[row, column] for column in range(matrix.ncols())]


def _relu(matrix: Matrix) -> Matrix:
    zero = flint.arb(0)
    return flint.arb_mat(matrix.nrows(), matrix.ncols(), [value.max(zero) for value in matrix.entries()])
