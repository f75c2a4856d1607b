"""Rung 1 for real weights: the forward pass on fractions and balls (`constructions.verification.balls`), which encloses
every logit.

Softmax weights and the circle code of T1b are irrational. Each value is an exact fraction plus a ball that is certain
to contain the rest, so a margin that is enclosed above 0 is proved, one enclosed below is refuted, and one whose ball
contains 0 is *undecided*: the query is tried again at twice the precision, up to `MOST_BITS`. `weight_errors` widens
weights, so that the models enclosed include the one with the real weights which the floats stand for.

One prompt at a time: meant for small systems. Large ones have the certificate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from constructions.verification.balls import (
    NOTHING,
    Real,
    RealMatrix,
    Undecided,
    bounds,
    bounds_of_least,
    hardmax,
    index_of_largest,
    ones,
    rational,
    softmax,
)
from constructions.verification.exhaustive import expected_answers, require_fit
from constructions.verification.result import Result
from theory import FactSystem, InputError, Task, Transformer, all_words
from theory.records.ledger import Counterexample

# The precision at which a query is given up; it decides what cancels down to 2^-MOST_BITS of its size.
MOST_BITS = 2**12

Errors = Mapping[str, NDArray[np.float64]]


@dataclass(frozen=True)
class _Outcome:
    """One query: whether it is right (None: not decided, for this reason), bounds of its margin, the tokens emitted."""

    right: bool | None
    low: Fraction | None = None
    high: Fraction | None = None
    emitted: tuple[int, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class _Query:
    """A prompt, the answer that is right, and the margin (>= 0; 0 for a positive one) that it must have."""

    prompt: list[int]
    expected: int
    claimed: Fraction


def check_every_query_by_intervals(
    transformer: Transformer,
    system: FactSystem,
    task: Task,
    claimed_margin: int | Fraction = 0,
    *,
    weight_errors: Errors | None = None,
    precision: int = 128,
) -> Result:
    """All N·R^k queries, all logits enclosed at `precision` bits, or more where these do not decide; a chain is fed its
    own tokens.

    `weight_errors` has, by the names of `Transformer.tensors`, how far the real weights may be from the given ones. It
    ends with the first query that is wrong. After one that stays undecided nothing can prove the model any more: the
    others are searched for a wrong one, at the first precision. Bounds are rounded outwards (`balls.bounds`): `low` is
    0 for a model that holds by less than 2^-16384. InputError when the sizes do not fit.
    """
    require_fit(transformer, system, task)
    errors = _fitting(transformer, weight_errors or {})
    enclosed = cache(lambda bits: _Enclosed(transformer, errors))
    words, claimed = all_words(system.relations, task.hops), Fraction(max(claimed_margin, 0))
    outcomes: list[_Outcome] = []
    reason = ""
    for subject in range(system.entities):
        for word in words:
            expected = int(expected_answers(system, task, np.array([subject]), word[None])[0])
            query = _Query([subject, *(system.entities + word).tolist()], expected, claimed)
            found = _run_at_rising_precision(enclosed, task, query, precision, precision if reason else MOST_BITS)
            outcomes.append(found)
            letters = tuple(word.tolist())
            if found.right is False:
                assert found.high is not None, "what is certain to be too small is below something"
                bad = Counterexample(system, subject, letters, expected, found.emitted[-1], found.high, found.emitted)
                return Result("fails", len(outcomes), *_of_all(outcomes), bad)
            if found.right is None and not reason:
                reason = f"query (subject {subject}, word {list(letters)}): {found.reason}"
    return Result("undecided" if reason else "holds", len(outcomes), *_of_all(outcomes), reason=reason)


def circle_margin(entities: int, precision: int = 128) -> tuple[Fraction, Fraction]:
    """An enclosure of 1 - cos(2π/N), T1b's margin on the circle."""
    with flint.ctx.workprec(precision):
        low, high = bounds(1 - flint.arb.cos_pi_fmpq(flint.fmpq(2, entities)))
    assert low is not None
    assert high is not None
    return low, high


def _of_all(outcomes: list[_Outcome]) -> tuple[Fraction | None, Fraction | None]:
    """Bounds of the least margin: it is above all that is known, and below any."""
    lows = [outcome.low for outcome in outcomes if outcome.low is not None]
    highs = [outcome.high for outcome in outcomes if outcome.high is not None]
    return min(lows) if len(lows) == len(outcomes) else None, min(highs, default=None)


def _run_at_rising_precision(
    enclosed: Callable[[int], _Enclosed], task: Task, query: _Query, bits: int, most: int
) -> _Outcome:
    """The outcome at the first precision that decides it, out of bits, 2·bits, .., or at the last one up to `most`."""
    while True:
        with flint.ctx.workprec(bits):
            try:
                found = _run_query(enclosed(bits), task, query)
            except Undecided as undecided:
                found = _Outcome(None, reason=str(undecided))
        if found.right is not None:
            return found
        if 2 * bits > most:
            return replace(found, reason=f"{found.reason} is not decided at {bits} bits")
        bits *= 2


def _run_query(model: _Enclosed, task: Task, query: _Query) -> _Outcome:
    """The query with this prompt; Undecided when a token of the chain, or what a hardmax head reads, is not certain."""
    margins: list[Real] = []
    emitted: list[int] = []
    for step in range(task.steps):
        last = model.last_row(query.prompt + emitted)
        final, logits = step == task.steps - 1, model.logits(last)
        own = query.expected if final else index_of_largest(logits)
        found = model.margins(last, own)
        balls = [margin.ball for margin in found]
        if not final and not all(ball > 0 or ball.is_zero() for ball in balls):
            raise Undecided(f"token {step + 1} of the chain")
        margins += found
        # A tie that is certain is a failure, and the chain goes on with another answer, as in the exact check.
        beaten = any(ball <= 0 for ball in balls)
        emitted.append(_largest_but(own, logits) if beaten else own)
    return _Outcome(
        _suffice(margins, query.claimed),
        *bounds_of_least(margins),
        tuple(emitted),
        f"whether a margin reaches {query.claimed}",
    )


def _largest_but(own: int, logits: list[Real]) -> int:
    """The first of the largest logits other than one of them."""
    rival = index_of_largest(logits[:own] + logits[own + 1 :])
    return rival + (rival >= own)


def _suffice(margins: list[Real], claimed: Fraction) -> bool | None:
    """Whether all margins are positive, and at least the claim (>= 0); None when that is not certain."""
    wanted = Real(rational(claimed), flint.arb(0))
    slacks = [(margin - wanted if claimed else margin).ball for margin in margins]
    if all(slack >= 0 if claimed else slack > 0 for slack in slacks):
        return True
    return False if any(slack < 0 if claimed else slack <= 0 for slack in slacks) else None


def _fitting(transformer: Transformer, errors: Errors) -> Errors:
    """The errors, if they are those of tensors of the model, and numbers from 0 on; InputError otherwise."""
    shapes = {name: array.shape for name, array in transformer.tensors()}
    for name, error in errors.items():
        if error.shape != shapes.get(name):
            raise InputError(f"errors of {name} have shape {list(error.shape)}; the model has {shapes.get(name)}")
        if not (error >= 0).all():
            raise InputError(f"errors of {name} hold {error.min()}; an error is a number from 0 on")
    return errors


class _Enclosed:
    """A transformer with its weights as fractions and balls, for the precision in force."""

    def __init__(self, transformer: Transformer, errors: Errors) -> None:
        self.transformer = transformer
        self._tensors = dict(transformer.tensors())
        self._errors = errors
        self._beta = rational(np.asarray(transformer.beta or 0).item())
        self._heads = [
            [[self._weights(f"blocks.{i}.{name}", h) for name in ("W_Q", "W_K", "W_V", "W_O")] for h in range(b.heads)]
            for i, b in enumerate(transformer.blocks)
        ]
        self._mlps = [
            (
                self._weights(f"blocks.{i}.W_in"),
                self._weights(f"blocks.{i}.b_in", None),
                self._weights(f"blocks.{i}.W_out"),
                self._weights(f"blocks.{i}.b_out", None),
            )
            for i in range(len(transformer.blocks))
        ]
        self._W_U, self._b_U = self._weights("W_U"), self._weights("b_U", None)

    def _weights(self, name: str, index: Any = slice(None)) -> RealMatrix:
        """The part of a tensor with this index: a head, a list of rows, or None for a bias as a matrix of one row."""
        errors = self._errors.get(name)
        return RealMatrix.of_weights(self._tensors[name][index], None if errors is None else errors[index])

    def last_row(self, prompt: list[int]) -> RealMatrix:
        """What the read-out reads: the stream at the last position, a matrix of one row."""
        stream = self._weights("W_E", prompt) + self._weights("W_pos", slice(len(prompt)))
        for number in range(len(self.transformer.blocks) - 1):
            stream = self._run_block(number, stream, stream)
        return self._run_block(-1, stream, stream.last()) if self.transformer.blocks else stream.last()

    def logits(self, last: RealMatrix) -> list[Real]:
        """The logits."""
        return (last * self._W_U + self._b_U).numbers()

    def margins(self, last: RealMatrix, own: int) -> list[Real]:
        """The logit of one answer less each of the others; columns are subtracted first, for what they share is none of
        it.
        """
        columns = ones(1, self.transformer.answers)
        weights, bias = self._W_U.column(own) * columns - self._W_U, self._b_U.column(own) * columns - self._b_U
        numbers = (last * weights + bias).numbers()
        return numbers[:own] + numbers[own + 1 :]

    def _run_block(self, number: int, stream: RealMatrix, here: RealMatrix) -> RealMatrix:
        """The stream after a block at the positions `here`: the last rows of the stream, all or some."""
        middle = here
        for place, head in enumerate(self._heads[number]):
            attended = self._attend(head, stream, here)
            middle = middle + attended if place or self.transformer.residual else attended
        W_in, b_in, W_out, b_out = self._mlps[number]
        rows = ones(here.exact.nrows(), 1)
        output = (middle * W_in + rows * b_in).positive_part() * W_out + rows * b_out
        return output + middle if self.transformer.residual else output

    def _attend(self, head: list[RealMatrix], stream: RealMatrix, here: RealMatrix) -> RealMatrix:
        W_Q, W_K, W_V, W_O = head
        length, asked = stream.exact.nrows(), here.exact.nrows()
        scores = (here * W_Q) * (stream * W_K).transpose()
        pattern: list[Real] = []
        for row in range(asked):
            visible = length - asked + row + 1 if self.transformer.causal else length
            pattern += self._attention(scores.row(row)[:visible]) + [NOTHING] * (length - visible)
        return RealMatrix.of_numbers(asked, length, pattern) * stream * W_V * W_O

    def _attention(self, scores: list[Real]) -> list[Real]:
        if self.transformer.attention == "softmax":
            return softmax(scores, self._beta)
        return hardmax(scores if self.transformer.attention == "hardmax" else [NOTHING] * len(scores))
