"""The forward pass and the chain of thought once more, from the definition, in Python's integers and fractions.

Slow, one prompt at a time, and nothing shared with the code that it checks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from theory import FactSystem, Task, Transformer

Vector = list[Any]
Matrix = list[Vector]


@dataclass(frozen=True)
class Outcome:
    """One query: the least margin over the steps, and the tokens emitted. A chain stops at a tie, whose margin is 0."""

    margin: Fraction
    emitted: tuple[int, ...]


class Reference:
    """A transformer with uniform or hardmax attention, its weights as nested lists of integers and fractions."""

    def __init__(self, transformer: Transformer) -> None:
        self.transformer = transformer
        self.weights = {name: _exact(array.tolist()) for name, array in transformer.tensors()}

    def logits(self, prompt: Sequence[int]) -> Vector:
        """All logits at the last position of one prompt."""
        rows = [self.weights["W_E"][token] for token in prompt]
        stream = [_sum(row, self.weights["W_pos"][position]) for position, row in enumerate(rows)]
        for number in range(len(self.transformer.blocks)):
            stream = [self._after_block(number, stream, position) for position in range(len(stream))]
        return _times(stream[-1], self.weights["W_U"], self.weights["b_U"])

    def outcome(self, system: FactSystem, task: Task, subject: int, word: Sequence[int]) -> Outcome:
        """The margin is that of the right answer at the last step, and that of the largest logit before it."""
        right = subject
        for relation in word:
            right = system.answers[relation].tolist()[right]
        right += system.entities * word[0] if task.disjoint_attributes else 0
        prompt = [subject, *(system.entities + relation for relation in word)]
        margins: list[Fraction] = []
        emitted: list[int] = []
        while len(emitted) < task.steps and 0 not in margins:
            scores = self.logits(prompt)
            largest = scores.index(max(scores))
            own = right if len(emitted) == task.steps - 1 else largest
            margins.append(Fraction(scores[own] - max(scores[:own] + scores[own + 1 :])))
            emitted.append(largest)
            prompt.append(largest)
        return Outcome(min(margins), tuple(emitted))

    def _after_block(self, number: int, stream: Matrix, position: int) -> Vector:
        model = self.transformer
        part = {name: self.weights[f"blocks.{number}.{name}"] for name in model.blocks[number].AXES}
        here, visible = stream[position], stream[: position + 1] if model.causal else stream
        middle: Vector = [0] * model.dimension
        for W_Q, W_K, W_V, W_O in zip(part["W_Q"], part["W_K"], part["W_V"], part["W_O"], strict=True):
            read = visible
            if model.attention == "hardmax":
                query = _times(here, W_Q)
                scores = [_dot(query, _times(key, W_K)) for key in visible]
                read = [values for values, score in zip(visible, scores, strict=True) if score == max(scores)]
            middle = _sum(middle, _times(_times(_mean(read), W_V), W_O, model.dimension))
        if model.residual or not model.blocks[number].heads:
            middle = _sum(middle, here)
        hidden = [max(value, 0) for value in _times(middle, part["W_in"], part["b_in"])]
        output = _times(hidden, part["W_out"], part["b_out"])
        return _sum(middle, output) if model.residual else output


def _exact(value: Any) -> Any:
    if isinstance(value, list):
        return [_exact(part) for part in value]
    return Fraction(value) if isinstance(value, float) else value


def _mean(rows: Matrix) -> Vector:
    return rows[0] if len(rows) == 1 else [Fraction(sum(column)) / len(rows) for column in zip(*rows, strict=True)]


def _dot(left: Vector, right: Vector) -> Any:
    return sum(a * b for a, b in zip(left, right, strict=True))


def _sum(left: Vector, right: Vector) -> Vector:
    return [a + b for a, b in zip(left, right, strict=True)]


def _times(values: Vector, weights: Matrix, start: Vector | int = 0) -> Vector:
    """start + values·weights; `start` is a bias, or the number of columns (needed where there are no rows)."""
    result = list(start) if isinstance(start, list) else [0] * (len(weights[0]) if weights else start)
    for value, row in zip(values, weights, strict=True):
        if value:
            result = [total + value * weight for total, weight in zip(result, row, strict=True)]
    return result
