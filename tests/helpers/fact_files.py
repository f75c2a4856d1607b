"""Files of facts of every kind, right and wrong, as hypothesis draws them: their bytes and how their names end."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from theory.records.facts import SUFFIXES

LONG = "subject,relation,object\n"


def as_npy(array: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


TEXT = st.text(st.sampled_from("ab,\t \n\r\"'{}[]:#01\\\ud7ff\x00\u2028é"), max_size=60)
CELLS = st.sampled_from(["a", "b", "r", "0", "1", "é", "", " ", '"'])
FINE = st.sampled_from(["a", "b", "c", "0", "1"])
LINES_OF = st.lists(st.lists(CELLS, max_size=4), max_size=6) | st.lists(st.tuples(FINE, FINE, FINE), max_size=6)
LABELS = st.sampled_from([0, 1, 2, "a", "b", "1", " ", 1.5, None, True])
KEYS = ["answers", "nodes", "edges", "links", "id", "source", "target", "key", "relation", "directed"]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.floats() | st.sampled_from(["", "a", "r", "\ud800"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(KEYS),
            inner,
            max_size=4,
        )
        | st.dictionaries(st.sampled_from(["name", "samples", "subject", "object"]), inner, max_size=4)
    ),
    max_leaves=12,
)
GRAPHS = st.fixed_dictionaries(
    {
        "directed": st.just(True),
        "nodes": st.lists(st.fixed_dictionaries({"id": LABELS}), max_size=4, unique_by=str)
        | st.just([{"id": 0}, {"id": 1}, {"id": "a"}]),
        "edges": st.lists(
            st.fixed_dictionaries({"source": LABELS, "target": LABELS}, optional={"key": LABELS, "relation": LABELS}),
            max_size=4,
        ),
    }
)
RELATIONS = st.fixed_dictionaries(
    {
        "name": st.just("r") | LABELS,
        "samples": st.lists(st.fixed_dictionaries({"subject": FINE | LABELS, "object": FINE | LABELS}), max_size=4),
    }
)
ARRAYS: st.SearchStrategy[bytes] = st.tuples(
    st.sampled_from(["i1", "u8", "f4", "?", "U1", "O", "c8", "M8[s]"]), st.lists(st.integers(0, 3), max_size=3)
).map(lambda drawn: as_npy(np.zeros(drawn[1], drawn[0])))


def as_lines(delimiter: str) -> Callable[[Sequence[Sequence[str]]], bytes]:
    return lambda lines: "\n".join(map(delimiter.join, lines)).encode()


def as_file(delimiter: str, heads: str, *suffixes: str) -> st.SearchStrategy[tuple[bytes, str]]:
    """Lines between these delimiters, below a line of heads if there is one, as a file of such a kind."""
    found = LINES_OF.map(as_lines(delimiter)).map(heads.replace(",", delimiter).encode().__add__)
    return st.tuples(found, st.sampled_from(suffixes))


ANYTHING = st.binary(max_size=40) | TEXT.map(lambda text: text.encode("utf-8", "surrogatepass"))
FILES = st.one_of(
    st.tuples(ANYTHING, st.sampled_from([*SUFFIXES, ".xlsx"])),
    as_file(",", "", ".csv"),
    as_file(",", LONG, ".csv"),
    as_file(",", "country,capital,flag\n", ".csv"),
    as_file("\t", LONG, ".tsv"),
    as_file("\t", "", ".edges", ".txt"),
    as_file(" ", "", ".edgelist", ".txt"),
    *(st.tuples(found.map(lambda value: json.dumps(value).encode()), st.just(".json")) for found in (VALUES, GRAPHS)),
    st.tuples(RELATIONS.map(lambda value: json.dumps(value).encode()), st.just(".json")),
    st.tuples(ARRAYS | ARRAYS.map(lambda content: content[:-1]), st.just(".npy")),
)
