"""Rungs 0 and 1: queries checked one by one, on all logits, in exact arithmetic, with a strict margin.

The margin of a step is the largest logit less the second largest; at the last step it is the answer's logit less the
largest other. It must be positive, so that a tie is a failure, and at least the margin claimed. A chain of thought is
fed its own tokens: only its last one has to be right, but none may be a tie.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from constructions.verification.exact import ExactModel
from constructions.verification.integers import below, converted, whole
from constructions.verification.result import Result, exact
from theory import FactSystem, InputError, Task, Transformer
from theory.definitions.fact_system import Words, check_count, number_of_words, words_of
from theory.definitions.right_answers import RightAnswers
from theory.records.ledger import Counterexample

Integers = NDArray[Any]

# Numbers held at a time for the widest intermediate value of a chunk of queries: 8 to 16 MiB.
CHUNK = 2**21
FEWEST = 16  # queries at a time at least: the bound of a product is computed anew for each chunk


def require_fit(transformer: Transformer, system: FactSystem, task: Task) -> None:
    """InputError unless the model's tokens, answers and positions are those of the system and the task."""
    for name, has, needs in (
        ("entities", transformer.entities, system.entities),
        ("relations", transformer.relations, system.relations),
        ("answers", transformer.answers, task.outputs(system.entities, system.relations)),
    ):
        if has != needs:
            raise InputError(f"the model has {has} {name}, but the system and the task need {needs}")
    if len(transformer.W_pos) < task.positions:
        raise InputError(f"W_pos has {len(transformer.W_pos)} positions, but the task's prompts need {task.positions}")


def check_every_query(
    transformer: Transformer,
    system: FactSystem,
    task: Task,
    claimed_margin: int | Fraction = 0,
    *,
    rational: bool = False,
    right: RightAnswers | None = None,
) -> Result:
    """Rung 1: all N·R^k queries of one system, all logits. `rational` takes float weights as the fractions that they
    are. Where facts are missing or have several objects, `right` says which queries are asked, and what answers them:
    the margin of an answer is then the largest right logit less the largest other.
    """
    chunks = all_queries(transformer, system, task)
    return _check(transformer, system, task, claimed_margin, rational, chunks, right)


def as_answered(transformer: Transformer, system: FactSystem, task: Task, right: RightAnswers) -> FactSystem:
    """The system that has of each fact with several right objects the one that a single-hop model answers with, as
    long as it is one of them; for several hops the system as it is.
    """
    if right.single or task.hops > 1:
        return system
    answers = np.array(system.answers)
    model = ExactModel(transformer, rational=True)
    relations, subjects = np.nonzero((right.objects != right.objects[..., :1]).any(axis=-1))
    size = queries_at_once(transformer, task.positions)
    for start in range(0, len(subjects), size):
        x, word = subjects[start : start + size], relations[start : start + size, None]
        expected = expected_answers(system, task, x, word, right)
        asked = expected[:, 0] >= 0
        x, word, expected = x[asked], word[asked], expected[asked]
        if asked.any():
            margins, emitted = run_queries(model, task, x, word, expected)
            found = np.where(margins[-1][0] > 0, emitted[-1], expected[:, 0]) % system.entities
            answers[word[:, 0], x] = found
    return FactSystem(answers)


def check_sampled_queries(
    transformer: Transformer, system: FactSystem, task: Task, count: int, seed: int, claimed_margin: int | Fraction = 0
) -> Result:
    """Rung 0: `count` queries drawn uniformly (with replacement; numpy's PCG64 from `seed`), all logits."""
    generator = np.random.default_rng([check_count("seed", seed, at_least=0), check_count("queries", count)])
    subjects = generator.integers(system.entities, size=count)
    words = generator.integers(system.relations, size=(count, task.hops))
    size = queries_at_once(transformer, task.positions)
    chunks = ((subjects[i : i + size], words[i : i + size]) for i in range(0, count, size))
    return _check(transformer, system, task, claimed_margin, False, chunks)


def all_queries(transformer: Transformer, system: FactSystem, task: Task) -> Iterator[tuple[Integers, Words]]:
    """Every query once, subjects [batch] and words [batch, k], as many at a time as are run together."""
    total = system.entities * number_of_words(system.relations, task.hops)
    size = queries_at_once(transformer, task.positions)
    for start in range(0, total, size):
        words, subjects = np.divmod(np.arange(start, min(start + size, total)), system.entities)
        yield subjects, words_of(words, system.relations, task.hops)


def queries_at_once(transformer: Transformer, length: int) -> int:
    """How many queries to run at once."""
    largest = max(transformer.answers, transformer.width, transformer.dimension * length)
    return max(FEWEST, CHUNK // largest)


def _check(
    transformer: Transformer,
    system: FactSystem,
    task: Task,
    claimed_margin: int | Fraction,
    rational: bool,
    chunks: Iterator[tuple[Integers, Words]],
    right: RightAnswers | None = None,
) -> Result:
    require_fit(transformer, system, task)
    model = ExactModel(transformer, rational=rational)
    queries, least, found = 0, None, None
    for subjects, words in chunks:
        expected = expected_answers(system, task, subjects, words, right)
        if right is not None:
            asked = expected[:, 0] >= 0
            subjects, words, expected = subjects[asked], words[asked], expected[asked]
            if not asked.any():
                continue
        margins, emitted = run_queries(model, task, subjects, words, expected)
        queries = queries + len(subjects)
        smallest = min(Fraction(whole(margin.min()), scale) for margin, scale in margins)
        least = smallest if least is None else min(least, smallest)
        failing = np.zeros(len(subjects), bool)
        for margin, scale in margins:
            failing |= (margin <= 0) | below(margin, math.ceil(claimed_margin * scale))
        for place in np.flatnonzero(failing):
            query = (whole(subjects[place]), tuple(words[place].tolist()))
            if found is None or query < (found.subject, found.word):
                tokens = tuple(whole(step[place]) for step in emitted)
                worst = min(Fraction(whole(margin[place]), scale) for margin, scale in margins)
                found = Counterexample(system, *query, whole(np.ravel(expected[place])[0]), tokens[-1], worst, tokens)
    if least is None:
        raise InputError("there is no query to check")
    return exact(queries, least, found)


def expected_answers(
    system: FactSystem, task: Task, subjects: Integers, words: Words, right: RightAnswers | None = None
) -> Integers:
    """The output number of each query's answer, shape [batch]: g_w(x), or r·N + g_r(x) with disjoint attributes. With
    `right` those of its right answers, shape [batch, answers], and -1 where it is not asked.
    """
    if right is not None:
        here = right.after(subjects, words)
        return np.where(here >= 0, here + system.entities * words[:, :1], -1) if task.disjoint_attributes else here
    here = subjects
    for hop in range(task.hops):
        here = system.answers[words[:, hop], here]
    return here + system.entities * words[:, 0] if task.disjoint_attributes else here


def run_queries(
    model: ExactModel, task: Task, subjects: Integers, words: Words, expected: Integers
) -> tuple[list[tuple[Integers, int]], list[Integers]]:
    """For each step, the margins (numerators [batch], denominator) and the tokens emitted [batch].

    Shapes: subjects [batch], words [batch, k], expected [batch], or [batch, answers] where several are right. The last
    step's margin is that of the expected answer, or of the best of them over those that are none.
    """
    prompt = np.concatenate([subjects[:, None], model.transformer.entities + words], axis=1)
    margins, emitted = [], []
    for step in range(task.steps):
        logits, denominator = model.logits(prompt)
        tokens, right = logits.argmax(axis=0), None
        if step == task.steps - 1:
            tokens, right = _best(logits, expected) if expected.ndim == 2 else expected, expected
        margin, others = margins_of(logits, tokens, right)
        margins.append((margin, denominator))
        if (margin <= 0).any():
            tokens = np.where(margin <= 0, others.argmax(axis=0), tokens)
        emitted.append(tokens)
        prompt = np.concatenate([prompt, tokens[:, None]], axis=1)
    return margins, emitted


def _best(logits: Integers, right: Integers) -> Integers:
    """Which of the right answers [batch, answers] has the largest logit, shape [batch]."""
    own = logits[right.T, np.arange(logits.shape[1])]
    return np.asarray(right[np.arange(len(right)), own.argmax(axis=0)])


def margins_of(logits: Integers, answers: Integers, right: Integers | None = None) -> tuple[Integers, Integers]:
    """The logit of the answer less the largest other, shape [batch]; and the logits [answers, batch] with the answers'
    own erased, which need not be a copy. What is `right` too, [batch, answers], is no other and erased with it.
    """
    if logits.dtype.itemsize < 4:
        logits = converted(logits, np.float32)  # where there is a value far below all
    columns = np.arange(logits.shape[1])
    # A difference of float32 integers can need a bit more than float32 has; int64 has room for it (exact's bound).
    wide = np.float64 if logits.dtype == np.float32 else logits.dtype
    own = converted(logits[answers, columns], wide)
    erased = answers if right is None else right.T
    logits[erased, columns] = logits.min() - 1 if logits.dtype == object else _lowest(logits.dtype)
    return own - converted(logits.max(axis=0), wide), logits


def _lowest(kind: np.dtype[Any]) -> Any:
    """A value below every logit, whose difference from one does not overflow."""
    return -(2**62) if kind.kind in "iu" else -np.inf
