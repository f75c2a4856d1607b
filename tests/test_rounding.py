"""Runs in float32 and bfloat16: safe where the numbers are small, and seen to fail where they are not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constructions import t1, t1b, t3
from constructions.catalogue import Setting, entry
from constructions.checks import Sizes, check_queries, check_rounding
from constructions.rounding import bfloat16, check_rounded
from theory import FactSystem, Task
from theory.ledger import all_hold


@given(st.floats(width=32, allow_nan=False, allow_infinity=False, max_value=2.0**126, min_value=-(2.0**126)))
def test_bfloat16_is_the_nearest_number_of_eight_bits(value: float) -> None:
    rounded = float(bfloat16(np.array([value]))[0])
    mantissa = np.frexp(rounded)[0]
    assert mantissa * 256 == int(mantissa * 256)
    if abs(value) > 1e-37:
        spacing = 2.0 ** (int(np.frexp(value)[1]) - 8)
        assert abs(rounded - value) <= spacing / 2


def test_signs_are_exact_even_in_bfloat16() -> None:
    system = FactSystem.random(100, 4)
    for rounding in (np.float32, bfloat16):
        found = check_rounded(t1.construct(system), system, Task(), rounding)
        assert (found.holds, found.queries, found.margin, found.largest_error) == (True, 400, 2, 0)


def test_chains_run_in_float32() -> None:
    system = FactSystem.random(9, 2)
    found = check_rounded(t3.construct(system, 3, 2), system, Task(3, 1), np.float32)
    assert (found.holds, found.margin, found.largest_error) == (True, 1, 0)


def test_the_ledger_says_when_rounding_eats_the_margin() -> None:
    sizes = Sizes(3000, 1, Setting(bits=12))
    safe = check_rounding(entry("T1"), sizes, "bfloat16")
    assert (safe.rung, safe.status, safe.margin) == ("measured", "holds", 2)
    eaten = check_rounding(entry("T1b"), sizes, "bfloat16")
    assert (eaten.rung, eaten.status) == ("measured", "fails")
    assert all_hold([check_queries(entry("T1"), sizes), eaten])


@pytest.mark.parametrize(("bits", "rounding"), [(13, np.float32), (5, bfloat16)])
def test_large_digits_lose_their_margin(bits: int, rounding: object) -> None:
    """Logits of digits grow like 4^b, so that their differences of 1 are rounded away."""
    system = FactSystem.random(2**bits - 1 if bits < 10 else 5000, 1)
    found = check_rounded(t1b.construct(system, bits), system, Task(), rounding)  # type: ignore[arg-type]
    assert not found.holds
    assert found.margin <= 0
    assert found.largest_error >= 0.5
