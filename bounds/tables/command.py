"""What the commands `count` and `bounds` say: from what a person types to the text that is printed."""

import json
import sys
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from bounds.counting.answer_vectors import Count
from bounds.counting.brute_force import brute_force
from bounds.counting.kinds import KINDS
from bounds.counting.kinds import count as exact_count
from bounds.counting.logarithms import decimal_logarithm, decimal_logarithm_labelled
from bounds.enclosure import Interval
from bounds.tables.depth import depth_rows, render_depth, strides
from bounds.tables.dimensions import bound_rows, settings
from bounds.tables.layout import FORMATS
from bounds.tables.ranges import parse_error_rate, parse_sizes
from bounds.tables.summary import render_bounds
from theory.errors import InputError
from theory.records.work import Work, announce
from theory.records.writing import write_atomically

# Nanoseconds of a setting, and of a row of the table of depth.
SETTING, DEPTH_ROW = 50 * 10**6, 20 * 10**6
MOST_ROWS = 50_000


@dataclass(frozen=True)
class Counted:
    """A count of one kind: exact or an upper bound, or (`logarithm`) only log10 of it, enclosed; and what a listing of
    all objects gave, when that was asked for."""

    kind: str
    entities: int
    relations: int
    hops: int | None
    count: Count | None
    logarithm: tuple[str, str] | None
    listed: int | None

    @property
    def agrees(self) -> bool:
        """False iff the objects were listed and their number is another (or above an upper bound)."""
        if self.listed is None or self.count is None:
            return True
        return self.listed <= self.count.value if self.count.kind == "upper bound" else self.listed == self.count.value

    @property
    def line(self) -> str:
        """The integer alone, or the enclosure; that it is an upper bound; what a listing found, if there was one."""
        if self.logarithm is not None:
            low, high = self.logarithm
            text = low if low == high else f"{low} .. {high}"
        else:
            assert self.count is not None
            text = str(self.count.value)
        if self.count is not None and self.count.kind == "upper bound":
            text += f" (an upper bound: {self.count.method})"
        if self.listed is None:
            return text
        if not self.agrees:
            return f"{text} (but listing every object gives {self.listed})"
        return f"{text} (listing every object gives {self.listed})"

    def as_json(self) -> str:
        """The count with its sizes; integers as strings of digits, which no reader of JSON rounds."""
        values = {
            "kind": self.kind,
            "entities": self.entities,
            "relations": self.relations,
            "hops": self.hops,
            "count": None if self.count is None else str(self.count.value),
            "exact": None if self.count is None else self.count.kind == "exact",
            "method": "logarithm of a factorial" if self.count is None else self.count.method,
            "log10": None if self.logarithm is None else list(self.logarithm),
            "listed": None if self.listed is None else str(self.listed),
            "agrees": self.agrees,
        }
        return json.dumps(values, indent=1, ensure_ascii=False)


def explanations() -> list[str]:
    """A line for each kind of `count`."""
    width = max(len(name) for name in KINDS)
    return [f"{kind.name:{width}}  {kind.explanation} (OEIS: {kind.oeis})" for kind in KINDS.values()]


def counted(
    kind: str, entities: int, relations: int, hops: int | None = None, *, check: bool = False, digits: int | None = None
) -> Counted:
    """Count, as a number or (with `digits`) by the enclosed log10, and with `check` list every object too."""
    # Counts have more digits than Python prints unless told to.
    sys.set_int_max_str_digits(0)
    if kind == "labelled" and digits is not None and not check:
        enclosed = decimal_logarithm_labelled(entities, relations, 10, digits)
        return Counted(kind, entities, relations, hops, None, _decimals(enclosed, digits), None)
    found = exact_count(kind, entities, relations, hops)
    listed = brute_force(kind, entities, relations, hops) if check else None
    logarithm = None
    if digits is not None:
        if found.value == 0:
            raise InputError(f"there are no {kind} of these sizes: 0 has no logarithm")
        logarithm = _decimals(decimal_logarithm(found.value, 10, digits), digits)
    return Counted(kind, entities, relations, hops, found, logarithm, listed)


def _decimals(enclosed: Interval, digits: int) -> tuple[str, str]:
    return enclosed.decimals(digits)


def table(
    *,
    entities: str,
    relations: str,
    hops: str,
    bits: str,
    shared_bits: str = "0",
    readout: str = "fixed",
    error: str = "0",
    depth: bool = False,
    maps: bool = False,
    cost: bool = False,
    layout: str = "table",
    width: int | None = None,
) -> str:
    """The table of dimensions, or (`cost`) of widths, parameters and bits, or (`depth`) of capacity against depth, for
    sizes written as numbers and ranges; a text is at most `width` columns wide, if that is given.

    InputError for sizes that are none, a read-out or format that is unknown, and options that do not go together.
    """
    if layout not in FORMATS:
        raise InputError(f"format must be one of {', '.join(FORMATS)}, not {layout!r}")
    grid = {
        "entities": parse_sizes(entities, "entities", at_least=2, at_most=10**12),
        "relations": parse_sizes(relations, "relations", at_least=1, at_most=1000),
        "hops": parse_sizes(hops, "hops", at_least=1, at_most=64),
        "bits": parse_sizes(bits, "bits", at_least=1, at_most=10**6),
    }
    shared = parse_sizes(shared_bits, "shared bits", at_least=0, at_most=10**30)
    if len(shared) != 1:
        raise InputError(f"shared bits: one number is wanted, not {len(shared)}")
    rate = parse_error_rate(error)
    if not depth:
        wanted = settings(**grid, shared_bits=shared[0], readout=readout, error=rate, maps=maps)
        announce(f"a table of {len(wanted)} settings", Work(SETTING * len(wanted)))
        return render_bounds(bound_rows(wanted), layout, cost=cost, width=width)
    if cost:
        raise InputError("the table of depth has no costs: leave out --cost")
    if maps:
        raise InputError("the table of depth is about bijections: T10 says nothing of chains")
    if rate:
        raise InputError("the table of depth takes no error rate: T3c is about chains without errors")
    number = len(grid["entities"]) * len(grid["relations"]) * len(grid["bits"])
    number *= sum(len(strides(length)) for length in grid["hops"])
    if number > MOST_ROWS:
        raise InputError(
            f"{number} rows are too many for one table of depth; at most {MOST_ROWS} are computed: name fewer "
            "entities, relations, hops or bits"
        )
    announce(f"a table of {number} rows", Work(DEPTH_ROW * number))
    places = product(grid["entities"], grid["relations"], grid["bits"])
    rows = [row for n, r, b in places for row in depth_rows(n, r, grid["hops"], b, readout, shared[0])]
    return render_depth(rows, layout, width)


def write(text: str, path: Path) -> None:
    """Write a text file, whole or not at all."""
    write_atomically(path, lambda file: file.write_text(text, encoding="utf-8"))
