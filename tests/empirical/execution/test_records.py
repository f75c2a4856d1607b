"""Records as JSON: four significant digits, a line an entry, and no number that JSON has not."""

from __future__ import annotations

import json

import pytest

from empirical.execution.records import as_lines


def test_numbers_are_rounded_and_all_else_is_kept() -> None:
    record = {"a": 0.123456, "b": [1.0, 123456, None, True, "Ω"], "c": {"d": (2 / 3, 1e-9)}, "e": [], "f": 1234567.0}
    expected = {"a": 0.1235, "b": [1.0, 123456, None, True, "Ω"], "c": {"d": [0.6667, 1e-9]}, "e": [], "f": 1235000.0}
    text = as_lines(record)
    assert json.loads(text) == expected
    assert "Ω" in text


def test_an_entry_is_a_line() -> None:
    text = as_lines({"models": [{"name": "one", "shares": [0.5, 0.25]}, {"name": "two"}], "seed": 0})
    assert text.splitlines() == [
        "{",
        ' "models": [',
        '  {"name": "one", "shares": [0.5, 0.25]},',
        '  {"name": "two"}',
        " ],",
        ' "seed": 0',
        "}",
    ]


def test_a_list_of_which_only_some_are_objects_is_one_line() -> None:
    assert as_lines({"a": [{"b": 1}, 2], "c": []}) == '{\n "a": [{"b": 1}, 2],\n "c": []\n}\n'


def test_a_number_that_json_has_not_is_refused() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        as_lines({"a": [float("nan")]})
