"""Runs in float32 and bfloat16: rounded once, measured exactly, safe where numbers are small, seen to fail elsewhere.

bfloat16 is compared with a table of all its numbers and a search in fractions.
"""

from __future__ import annotations

import bisect
import dataclasses
import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from constructions.campaign.evaluator import Evaluator
from constructions.suite.checks import Sizes, check_queries, check_rounding
from constructions.verification.rounding import bfloat16, check_rounded
from constructions.weights import t1, t1b, t3
from constructions.weights.catalogue import Setting, entry
from theory import Block, FactSystem, InputError, Task, Transformer
from theory.definitions.transformer import run_with_cache
from theory.records.ledger import all_hold

# Every bfloat16 is the upper half of a float32. The positive finite ones, in order, as fractions; then the number that
# would follow them, which stands for infinity.
PATTERNS = np.arange(2**16, dtype=np.uint32) << np.uint32(16)
POSITIVE = [Fraction(value) for value in PATTERNS[:0x7F80].view(np.float32).tolist()] + [Fraction(2**128)]


def nearest(value: Fraction) -> float:
    """The nearest bfloat16, ties to the even pattern, with infinity for 2^128 and beyond."""
    size = abs(value)
    above = min(bisect.bisect_left(POSITIVE, size), len(POSITIVE) - 1)
    around = [place for place in (above - 1, above) if place >= 0]
    place = min(around, key=lambda place: (abs(POSITIVE[place] - size), place % 2))
    found = float("inf") if place == len(POSITIVE) - 1 else float(POSITIVE[place])
    return -found if value < 0 else found


def rounded(values: list[Any], kind: Any) -> list[float]:
    result = bfloat16(np.array(values, kind))
    assert result.dtype == np.float32
    return [float(value) for value in result]


def test_every_bfloat16_is_its_own() -> None:
    values = PATTERNS.view(np.float32)
    for kind in (np.float32, np.float64, np.longdouble):
        with np.errstate(invalid="ignore"):  # a conversion of signalling NaN may say so
            found = bfloat16(values.astype(kind))
        numbers = ~np.isnan(values)
        assert numbers.sum() == 2**16 - 2 * 127
        assert (found[numbers].view(np.uint32) == PATTERNS[numbers]).all()
        assert np.isnan(found[~numbers]).all()


def test_every_nan_stays_nan() -> None:
    payloads = np.array([1, 0x7FFF, 0x8000, 0xFFFF, 0x400000, 0x7FFFFF], np.uint32)
    signs = np.array([0x7F800000, 0xFF800000], np.uint32)
    values = (signs[:, None] | payloads).view(np.float32)
    assert np.isnan(bfloat16(values)).all()
    assert bfloat16(np.array([np.inf, -np.inf], np.float64)).tolist() == [np.inf, -np.inf]


def test_every_midpoint_and_its_neighbours_are_rounded_as_the_fractions_say() -> None:
    """Between all neighbours, the largest and infinity among them: the midpoint goes to the even one, what is next to
    it in float64 (in float32 it is the midpoint itself) to the nearer one.
    """
    middles = np.array([float((low + high) / 2) for low, high in itertools.pairwise(POSITIVE)])
    even = np.array([float(nearest(Fraction(value))) for value in middles[:64].tolist()])
    below = PATTERNS[:0x7F80].view(np.float32).astype(np.float64)
    above = np.append(below[1:], np.inf)
    ties = np.where(np.arange(len(middles)) % 2 == 0, below, above)
    assert (ties[:64] == even).all()
    for sign in (1, -1):
        assert (bfloat16(sign * middles) == sign * ties).all()
        assert (bfloat16((sign * middles).astype(np.float32)) == sign * ties).all()
        assert (bfloat16(sign * np.nextafter(middles, 0)) == sign * below).all()
        assert (bfloat16(sign * np.nextafter(middles, np.inf)) == sign * above).all()
        longer = middles.astype(np.longdouble)
        assert (bfloat16(sign * np.nextafter(longer, np.longdouble(0))) == sign * below).all()
        assert (bfloat16(sign * np.nextafter(longer, np.longdouble(np.inf))) == sign * above).all()


@given(st.floats(allow_nan=False, allow_infinity=False))
@example(1 + 2.0**-8 + 2.0**-40)
@example(1 + 3 * 2.0**-8 - 2.0**-40)
@example(5e-324)
@example(-5e-324)
@example(2.0**-134)
@example(1e300)
def test_float64_is_rounded_once(value: float) -> None:
    assert rounded([value], np.float64) == [nearest(Fraction(value))]
    assert np.signbit(bfloat16(np.array([value]))[0]) == np.signbit(value)


@given(st.floats(width=32, allow_nan=False, allow_infinity=False), st.floats(width=16, allow_nan=False))
def test_narrow_floats_are_rounded_once(value: float, half: float) -> None:
    assert rounded([value], np.float32) == [nearest(Fraction(value))]
    if np.isfinite(half):
        assert rounded([half], np.float16) == [nearest(Fraction(half))]


@given(st.integers(-(2**63), 2**64 - 1))
@example(-(2**63))
@example(2**64 - 1)
@example(2**63 - 1)
@example(2**53)
@example(-(2**53))
def test_integers_are_rounded_once(value: int) -> None:
    for kind in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64):
        if np.iinfo(kind).min <= value <= np.iinfo(kind).max:
            assert rounded([value], kind) == [nearest(Fraction(value))]


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int32, np.int64, np.uint16, np.uint32, np.uint64])
def test_integers_next_to_midpoints_are_rounded_once(kind: type) -> None:
    """int64 would be rounded twice on its way through float32 or float64: 2^62 + 2^54 ± 1 are next to a tie."""
    limits = np.iinfo(kind)
    ties = [(2 * mantissa + 1) << exponent for mantissa in (128, 129, 254, 255) for exponent in range(56)]
    values = [sign * (tie + step) for tie in ties for step in (-1, 0, 1, 2**12, -(2**12)) for sign in (1, -1)]
    values = [value for value in [*values, limits.min, limits.max] if limits.min <= value <= limits.max]
    assert rounded(values, kind) == [nearest(Fraction(value)) for value in values]


def test_shapes_are_kept() -> None:
    for shape in ((), (0,), (2, 3), (2, 0, 3)):
        for kind in (np.float32, np.float64, np.int64):
            assert bfloat16(np.ones(shape, kind)).shape == shape
    assert bfloat16(np.arange(12.0).reshape(3, 4).T).tolist() == np.arange(12.0).reshape(3, 4).T.tolist()


def test_signs_are_exact_even_in_bfloat16() -> None:
    system = FactSystem.random(100, 4)
    for rounding in (np.float32, bfloat16):
        found = check_rounded(t1.construct(system), system, Task(), rounding)
        assert (found.holds, found.queries, found.margin, found.largest_error) == (True, 400, 2, 0)


def test_chains_run_in_float32() -> None:
    system = FactSystem.random(9, 2)
    found = check_rounded(t3.construct(system, 3, 2), system, Task(3, 1), np.float32)
    assert (found.holds, found.margin, found.largest_error) == (True, 1, 0)


def test_margin_and_error_are_those_of_the_fractions() -> None:
    """Every logit of every step is compared with the campaign's evaluator. Float weights, chains, and a
    logit of 2^60 + 11, which float32 takes for 2^60: so would float64, and see no error.
    """
    system = FactSystem.random(4, 2)
    digits, chain = t1b.construct(system, 2), t3.construct(system, 2, 3)
    large = dataclasses.replace(digits, b_U=digits.b_U.astype(np.int64) + 2**60 + 1)
    real = dataclasses.replace(chain, W_U=chain.W_U / 3, b_U=chain.b_U / 7)
    circle, step = t1b.construct_circle(system), Task(2, 1)
    for model, task in ((circle, Task()), (digits, Task()), (large, Task()), (chain, step), (real, step)):
        for rounding in (np.float32, bfloat16):
            found = check_rounded(model, system, task, rounding)
            margins, errors = _measured(model, system, task, rounding)
            least, largest = min(map(min, margins)), max(map(max, errors))
            assert (found.margin, found.largest_error, found.holds) == (least, largest, least > 0)


def test_every_step_of_a_chain_is_measured() -> None:
    """The mean of (x, r, r), then of (x, r, r, x), where x is a unit vector and r is 0: margins 1/3, with an error, and
    1/2, without.
    """
    unit = np.eye(2, dtype=int)
    none, zero = np.zeros((1, 2, 0)), np.zeros(2, int)
    block = Block(none, none, unit[None], unit[None], unit, zero, unit, zero)
    W_E = np.concatenate([unit, [zero]])
    model = Transformer(2, W_E, np.zeros((4, 2)), (block,), unit, zero, "uniform")
    found = check_rounded(model, FactSystem([[0, 1]]), Task(2, 1), np.float32)
    third = Fraction(float(np.float32(1) / np.float32(3)))
    assert (found.margin, found.largest_error) == (third, abs(third - Fraction(1, 3)))


def _measured(model: Transformer, system: FactSystem, task: Task, rounding: Any) -> tuple[list[Any], list[Any]]:
    """Margins and errors, each a list for every step."""
    reference = Evaluator(model)
    margins: list[list[Fraction]] = [[] for _ in range(task.steps)]
    errors: list[list[Fraction]] = [[] for _ in range(task.steps)]
    for subject in range(system.entities):
        for word in itertools.product(range(system.relations), repeat=task.hops):
            prompt, right = [subject, *(system.entities + relation for relation in word)], subject
            for relation in word:
                right = int(system.answers[relation, right])
            for step in range(task.steps):
                logits = run_with_cache(model, np.array([prompt]), rounding)[0][0].tolist()
                exact = reference.logits(prompt).values()
                errors[step] += [abs(Fraction(a) - b) for a, b in zip(logits, exact, strict=True)]
                own = right if step == task.steps - 1 else logits.index(max(logits))
                rivals = logits[:own] + logits[own + 1 :]
                margins[step].append(Fraction(logits[own]) - Fraction(max(rivals)))
                prompt.append(own)
    return margins, errors


def test_a_model_of_another_system_is_refused() -> None:
    with pytest.raises(InputError, match="the model has 4 entities, but the system and the task need 3"):
        check_rounded(t1.construct(FactSystem.random(4, 2)), FactSystem.random(3, 2), Task(), np.float32)


def test_softmax_is_refused() -> None:
    system = FactSystem.random(3, 1)
    with pytest.raises(InputError, match="softmax"):
        check_rounded(t3.construct(system, 1, softmax=True), system, Task(1, 1), np.float32)


def test_the_ledger_says_when_rounding_eats_the_margin() -> None:
    sizes = Sizes(3000, 1, Setting(bits=12))
    safe = check_rounding(entry("T1"), sizes, "bfloat16")
    assert (safe.rung, safe.status, safe.margin) == ("measured", "holds", 2)
    eaten = check_rounding(entry("T1b"), sizes, "bfloat16")
    assert (eaten.rung, eaten.status, eaten.detail) == ("measured", "fails", "rounding ate the margin")
    assert all_hold([check_queries(entry("T1"), sizes), eaten])


@pytest.mark.parametrize(("bits", "rounding"), [(13, np.float32), (5, bfloat16)])
def test_large_digits_lose_their_margin(bits: int, rounding: Any) -> None:
    """Logits of digits grow like 4^b, so that their differences of 1 are rounded away."""
    system = FactSystem.random(2**bits - 1 if bits < 10 else 5000, 1)
    found = check_rounded(t1b.construct(system, bits), system, Task(), rounding)
    assert not found.holds
    assert found.margin is not None
    assert found.largest_error is not None
    assert found.margin <= 0
    assert found.largest_error >= Fraction(1, 2)


HUGE: dict[str, dict[str, NDArray[Any]]] = {
    "a bias beyond float32": {"b_U": np.array([1e39, 0, 0])},
    "all beyond float32": {"b_U": np.array([1e39, 1e39, 1e39])},
    "a product beyond float32": {"W_U": np.full((4, 3), 3.3e38)},
    "beyond, both ways": {"W_E": np.full((5, 4), 1e300), "W_U": np.array([[1e300] * 3, [-1e300] * 3] * 2)},
    "only a rival, downwards": {"b_U": np.array([0, -1e39, 0])},
}


@pytest.mark.parametrize("name", HUGE)
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_an_overflow_fails_and_says_so(name: str, precision: str) -> None:
    """No crash, no warning (pytest makes them errors), and never a verdict that holds: inf - inf is no margin."""
    system = FactSystem.random(3, 2)
    model = dataclasses.replace(t1.construct(system), **HUGE[name])
    found = check_rounded(model, system, Task(), np.float32 if precision == "float32" else bfloat16)
    assert (found.holds, found.queries, found.margin, found.largest_error) == (False, 6, None, None)
    broken = dataclasses.replace(entry("T1"), build=lambda *_: model)
    row = check_rounding(broken, Sizes(3, 2, Setting()), precision)
    assert (row.status, row.detail, row.margin) == ("fails", "a logit overflowed", None)
    assert row.coverage.endswith("largest error of a logit infinite")
    row.as_json()


def test_an_error_beyond_all_floats_is_measured() -> None:
    """An embedding that underflows to 0 in float32 and would have grown to about 10^360: the error has no float."""
    none = np.zeros((0, 1, 1))
    times = Block(none, none, none, none, np.array([[1e38]]), np.zeros(1), np.array([[1e38]]), np.zeros(1))
    W_E = np.array([[0], [0], [1e-60]])
    model = Transformer(2, W_E, np.zeros((2, 1)), (times,) * 6, np.array([[1, 0]]), np.zeros(2, int), "uniform")
    found = check_rounded(model, FactSystem([[0, 1]]), Task(), np.float32)
    assert (found.holds, found.margin) == (False, 0)
    assert found.largest_error is not None
    assert 10**395 < found.largest_error < 10**397
    broken = dataclasses.replace(entry("T1"), build=lambda *_: model)
    assert check_rounding(broken, Sizes(2, 1, Setting()), "float32").coverage.endswith("above 2^1315")


def test_a_model_of_another_system_is_an_input_error() -> None:
    with pytest.raises(InputError, match="the model has 4 entities, but the system and the task need 5"):
        check_rounded(t1.construct(FactSystem.random(4, 2)), FactSystem.random(5, 2), Task(), bfloat16)
