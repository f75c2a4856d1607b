"""The truth about a model: every query, its margin and its tokens, straight from the definitions.

It shares no code with the checkers (`exact`, `interval`, `exhaustive`, the certificate): one prompt at a time, one
position at a time, in Python's integers over a denominator (`rows`). Uniform and hardmax attention are exact; softmax
is enclosed by rational numbers (`exponential`).

The margin of a step is the largest logit less the second largest; at the last step it is the answer's logit less the
largest other. A chain is fed its own tokens, and ends at a tie, where there is no next token.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from constructions.campaign.exponential import ONE, softmax
from constructions.campaign.rows import Affine, Row, exact, inner, mean, ratios, relu, total, weighted
from theory import Block, FactSystem, Task, Transformer

Query = tuple[int, tuple[int, ...]]


@dataclass(frozen=True)
class Outcome:
    """One query: [low, high] encloses the least margin over the steps, and the tokens emitted.

    The ends are equal unless attention is softmax. A chain is `cut` short by a tie, and also (then `low` is None) by an
    enclosure that is too wide to tell its next token.
    """

    low: Fraction | None
    high: Fraction
    emitted: tuple[int, ...]
    cut: bool = False

    @property
    def margin(self) -> Fraction:
        """The margin, known exactly; ValueError when it is only enclosed."""
        if self.low != self.high:
            raise ValueError(f"the margin is only known to lie in [{self.low}, {self.high}]")
        return self.high


@dataclass(frozen=True)
class Truth:
    """The outcome of every query (subject, word), in order."""

    outcomes: dict[Query, Outcome]

    @property
    def low(self) -> Fraction | None:
        """A lower bound of the least margin over all queries (the margin itself when it is exact), or None."""
        lows = [outcome.low for outcome in self.outcomes.values()]
        return None if None in lows else min(low for low in lows if low is not None)

    @property
    def high(self) -> Fraction:
        """An upper bound of the least margin over all queries (the margin itself when it is exact)."""
        return min(outcome.high for outcome in self.outcomes.values())

    def wrong(self, claimed: Fraction | int = 0) -> Query | None:
        """The first query whose margin is certainly not positive, or below the claim."""
        return next((query for query, o in self.outcomes.items() if o.high <= 0 or o.high < claimed), None)

    def is_right(self, claimed: Fraction | int = 0) -> bool | None:
        """Whether every margin is positive and at least the claim; None when that cannot be told."""
        if self.wrong(claimed) is not None:
            return False
        return True if self.low is not None and self.low > 0 and self.low >= claimed else None


def evaluate(transformer: Transformer, system: FactSystem, task: Task) -> Truth:
    """The truth about all N·R^k queries of a model that fits the system and the task."""
    evaluator = Evaluator(transformer)
    words = list(itertools.product(range(system.relations), repeat=task.hops))
    answers = system.answers.tolist()
    outcomes = {}
    for subject in range(system.entities):
        for word in words:
            right = subject
            for relation in word:
                right = answers[relation][right]
            if task.disjoint_attributes:
                right += word[0] * system.entities
            outcomes[subject, word] = evaluator.outcome(subject, word, right, task.steps)
    return Truth(outcomes)


class Evaluator:
    """A transformer, run from its definition."""

    def __init__(self, transformer: Transformer) -> None:
        self._model = transformer
        self._tokens = [exact(*ratios(row)) for row in transformer.W_E.tolist()]
        self._positions = [exact(*ratios(row)) for row in transformer.W_pos.tolist()]
        self._embedded: dict[tuple[int, int], Row] = {}
        self._blocks = [_Block(transformer, block) for block in transformer.blocks]
        self._readout = Affine(transformer.W_U, transformer.b_U)

    def logits(self, prompt: Sequence[int]) -> Row:
        """All logits at the last position of one prompt."""
        stream = [self._embed(token, position) for position, token in enumerate(prompt)]
        for number, block in enumerate(self._blocks):
            last = number == len(self._blocks) - 1
            read = range(len(prompt) - 1, len(prompt)) if last else range(len(prompt))
            stream = [block.after(stream, position) for position in read]
        return self._readout(stream[-1])

    def outcome(self, subject: int, word: Sequence[int], right: int, steps: int) -> Outcome:
        """What becomes of one query, whose answer is output number `right` after so many steps."""
        prompt = [subject, *(self._model.entities + relation for relation in word)]
        emitted: list[int] = []
        lows: list[Fraction] = []
        highs: list[Fraction] = []
        for step in range(steps):
            logits = self.logits(prompt)
            largest = max(range(len(logits.low)), key=logits.low.__getitem__)
            low, high = _margin(logits, right if step == steps - 1 else largest)
            if step < steps - 1 and low <= 0:
                known = low == high and lows == highs  # a tie, or an enclosure that does not tell which is the largest
                return Outcome(low if known else None, min([*highs, high]), tuple(emitted), cut=True)
            lows.append(low)
            highs.append(high)
            emitted.append(largest)
            prompt.append(largest)
        return Outcome(min(lows), min(highs), tuple(emitted))

    def _embed(self, token: int, position: int) -> Row:
        """The stream before the first block."""
        place = token, position
        if place not in self._embedded:
            self._embedded[place] = total([self._tokens[token], self._positions[position]])
        return self._embedded[place]


def _margin(logits: Row, own: int) -> tuple[Fraction, Fraction]:
    """The ends of logit `own` less the largest other."""
    low = logits.low[own] - max(high for answer, high in enumerate(logits.high) if answer != own)
    high = logits.high[own] - max(low for answer, low in enumerate(logits.low) if answer != own)
    return Fraction(low, logits.denominator), Fraction(high, logits.denominator)


class _Block:
    """One block of a transformer."""

    def __init__(self, model: Transformer, block: Block) -> None:
        self._model = model
        self._beta = Fraction(*(model.beta or 0.0).as_integer_ratio())
        self._heads = [
            tuple(Affine(weights) for weights in head)
            for head in zip(block.W_Q, block.W_K, block.W_V, block.W_O, strict=True)
        ]
        self._hidden = Affine(block.W_in, block.b_in)
        self._written = Affine(block.W_out, block.b_out)

    def after(self, stream: Sequence[Row], position: int) -> Row:
        """The stream after the block, at one position."""
        here = stream[position]
        visible = stream[: position + 1] if self._model.causal else stream
        parts = [output(value(self._read(query, key, here, visible))) for query, key, value, output in self._heads]
        if self._model.residual or not parts:
            parts.append(here)
        middle = total(parts)
        output = self._written(relu(self._hidden(middle)))
        return total([middle, output]) if self._model.residual else output

    def _read(self, query: Affine, key: Affine, here: Row, visible: Sequence[Row]) -> Row:
        """The mean of the stream over the positions attended to."""
        if self._model.attention == "uniform":
            return mean(visible)
        asked = query(here)
        scores = [inner(asked, key(row)) for row in visible]
        if self._model.attention == "hardmax":
            top = max(scores)
            return mean([row for row, score in zip(visible, scores, strict=True) if score == top])
        if len(scores) == 1 or all(low == high == scores[0][0] for low, high in scores):
            return mean(visible)
        weights = softmax(tuple([(self._beta * low, self._beta * high) for low, high in scores]))
        return total([weighted(row, *ends, ONE) for row, ends in zip(visible, weights, strict=True)])
