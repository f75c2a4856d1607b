"""The same weights run in float32 or bfloat16: the margin found, beside the error of the logits.

Exactness is a property of the weights; whether a machine that rounds reproduces it is measured, not proved. A model is
safe in a precision when its smallest margin stands well above the largest error of a logit. (In bfloat16 products are
summed in float32 and every result is rounded to 8 bits of precision, as accelerators do.) Margin and error themselves
are computed exactly: a number that has been rounded is a binary fraction.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from constructions.verification.exact import ExactModel
from constructions.verification.exhaustive import expected_answers, margins_of, require_fit
from constructions.verification.integers import add, numerators, scaled
from theory import FactSystem, Task, Transformer, all_words
from theory.definitions.transformer import Rounding, run_with_cache


@dataclass(frozen=True)
class RoundedVerdict:
    """Over all queries and steps, the least margin found with rounding and the largest error of a logit, exactly; None
    for both when a logit overflowed, for then there is neither.
    """

    holds: bool
    queries: int
    margin: Fraction | None
    largest_error: Fraction | None


def bfloat16(values: Any) -> NDArray[np.float32]:
    """The nearest numbers of 8 significant bits, ties to even, as float32; the integers or floats given are rounded
    once, not on the way. From 2^128 - 2^119 on that is infinity; NaN stays NaN.
    """
    values = np.asarray(values)
    if not np.can_cast(values.dtype, np.float32):
        whole = values.dtype.kind in "iu"
        wide = _cut_to_odd(values) if whole else _narrowed_to_odd(values, np.float64, np.uint64)
        values = _narrowed_to_odd(wide, np.float32, np.uint32)
    exact = values.astype(np.float32)
    bits = exact.view(np.uint32)
    nearest = (bits + (np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1)))) & np.uint32(0xFFFF0000)
    # In a NaN the sum would carry from the payload into exponent and sign.
    return np.asarray(np.where(np.isnan(exact), exact, nearest.view(np.float32)))


# To round twice is right when the first time is *to odd*: a number that the type does not hold becomes that neighbour
# whose last bit is 1. It lies on the same side as the number of every number with two bits less, ties included, and so
# is rounded to nearest, or to odd once more, as the number itself would be (Boldo and Melquiond 2008).


def _cut_to_odd(values: NDArray[Any]) -> NDArray[np.float64]:
    """Integers in float64; those that it may not hold rounded to odd, to multiples of 2^12, which it does hold."""
    rest = values & 0xFFF
    small = (values > -(2**53)) & (values < 2**53)
    return np.where(small | (rest == 0), values, (values - rest) | 0x1000).astype(np.float64)


def _narrowed_to_odd(values: NDArray[Any], kind: Any, bits: Any) -> NDArray[Any]:
    """Numbers in a float type, with unsigned integers of its size, rounded to odd; infinities and NaN stay."""
    with np.errstate(all="ignore"):
        nearest = values.astype(kind)
        inexact = (nearest != values) & (values == values)
        towards_zero = np.where(np.abs(nearest) > np.abs(values), np.nextafter(nearest, kind(0)), nearest)
    return np.asarray((towards_zero.view(bits) | inexact.astype(bits)).view(kind))


def check_rounded(transformer: Transformer, system: FactSystem, task: Task, rounding: Rounding) -> RoundedVerdict:
    """All N·R^k queries, run with rounding and fed their own tokens, beside the exact run of the same prompts (float
    weights being the fractions that they are). A logit that overflows, or is no number, is a failure.

    Raises InputError for softmax attention, whose logits are not rational.
    """
    require_fit(transformer, system, task)
    model = ExactModel(transformer, rational=True)
    words = all_words(system.relations, task.hops)
    subjects = np.tile(np.arange(system.entities), len(words))
    letters = np.repeat(words, system.entities, axis=0)
    expected = expected_answers(system, task, subjects, letters)
    prompt = np.concatenate([subjects[:, None], system.entities + letters], axis=1)
    margins, errors = [], []
    for step in range(task.steps):
        with np.errstate(over="ignore", invalid="ignore"):
            logits, _ = run_with_cache(transformer, prompt, rounding)
        if not np.isfinite(logits).all():
            return RoundedVerdict(False, len(subjects), None, None)
        exact, denominator = model.logits(prompt)
        (found,), scale = numerators(np.ascontiguousarray(logits.T))
        error = add(scaled(found, denominator), -scaled(exact, scale))
        errors.append(Fraction(max(int(error.max()), -int(error.min())), scale * denominator))
        tokens = expected if step == task.steps - 1 else logits.argmax(axis=1)
        margins.append(Fraction(int(margins_of(found, tokens)[0].min()), scale))
        prompt = np.concatenate([prompt, tokens[:, None]], axis=1)
    return RoundedVerdict(min(margins) > 0, len(subjects), min(margins), max(errors))
