"""The same weights run in float32 or bfloat16: the margin found, beside the error of the logits.

Exactness is a property of the weights; whether a machine that rounds reproduces it is measured, not proved. A model is
safe in a precision when its smallest margin stands well above the largest error of a logit. (In bfloat16 products are
summed in float32 and every result is rounded to 8 bits of precision, as accelerators do.)
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from constructions.exact import ExactModel
from constructions.exhaustive import expected_answers, margins_of, require_fit
from theory import FactSystem, Task, Transformer, all_words
from theory.transformer import Rounding, run_with_cache


@dataclass(frozen=True)
class RoundedVerdict:
    """Over all queries and steps: the least margin found with rounding, and the largest error of a logit."""

    holds: bool
    queries: int
    margin: float
    largest_error: Fraction


def bfloat16(values: Any) -> NDArray[np.float32]:
    """The nearest numbers of 8 significant bits, ties to even, as float32."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    rounded = bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    return (rounded & np.uint32(0xFFFF0000)).view(np.float32)


def check_rounded(transformer: Transformer, system: FactSystem, task: Task, rounding: Rounding) -> RoundedVerdict:
    """All N·R^k queries of a model with integer weights, run with rounding and fed their own tokens."""
    require_fit(transformer, system, task)
    model = ExactModel(transformer)
    words = all_words(system.relations, task.hops)
    subjects = np.tile(np.arange(system.entities), len(words))
    letters = np.repeat(words, system.entities, axis=0)
    expected = expected_answers(system, task, subjects, letters)
    prompt = np.concatenate([subjects[:, None], system.entities + letters], axis=1)
    least, largest = np.inf, Fraction(0)
    for step in range(task.steps):
        logits, _ = run_with_cache(transformer, prompt, rounding)
        exact, denominator = model.logits(prompt)
        error = np.abs(logits.T.astype(np.float64) * denominator - exact.astype(np.float64)).max()
        largest = max(largest, Fraction(float(error)) / denominator)
        tokens = expected if step == task.steps - 1 else logits.argmax(axis=1)
        least = min(least, float(margins_of(np.array(logits.T, np.float64), tokens).min()))
        prompt = np.concatenate([prompt, tokens[:, None]], axis=1)
    return RoundedVerdict(least > 0, len(subjects), least, largest)
