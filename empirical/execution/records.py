"""A record of measurements as JSON that a person can read and a repository can hold.

Numbers are rounded to four significant digits, which no interval here deserves; a key, or an entry of a list of
objects, is a line, so that two records differ in the lines that differ.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def as_lines(record: Mapping[str, Any]) -> str:
    """The record as JSON. ValueError for a number that JSON has not (NaN, infinity)."""
    parts = []
    for key, value in record.items():
        if isinstance(value, list | tuple) and value and all(isinstance(each, dict) for each in value):
            text = "[\n  " + ",\n  ".join(map(_line, value)) + "\n ]"
        else:
            text = _line(value)
        parts.append(f" {json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _line(value: Any) -> str:
    return json.dumps(_rounded(value), ensure_ascii=False, allow_nan=False)


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(each) for each in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value
