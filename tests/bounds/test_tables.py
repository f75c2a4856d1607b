"""The tables of bounds: rows, their ratios, the table of depth, every layout, and what a person may type."""

import csv
import io
import json
import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bounds.lower.chains import any_chain, evenly_spaced, honest_chain
from bounds.lower.dichotomy import fixed_readout
from bounds.lower.frontier import smallest_dimension
from bounds.lower.information import universal_with_errors
from bounds.lower.learned_readout import learned_readout
from bounds.lower.universal import universal_hops
from bounds.tables.depth import depth_rows, render_depth
from bounds.tables.dimensions import (
    MOST_SETTINGS,
    bound_rows,
    lower_rows,
    settings,
    upper_rows,
)
from bounds.tables.layout import FORMATS, Table, render, shown
from bounds.tables.ranges import parse_error_rate, parse_sizes
from bounds.tables.rows import BoundRow, BoundSetting, unless_absurd
from bounds.tables.summary import LONG_COLUMNS, _shared, cost_table, decimal, dimension_table, render_bounds
from theory.errors import InputError
from theory.statements.assumptions import Assumption
from theory.statements.registry import evaluate


def by_label(rows: list[BoundRow]) -> dict[str, BoundRow]:
    return {row.label: row for row in rows}


@given(
    entities=st.integers(2, 5000),
    relations=st.integers(1, 9),
    hops=st.integers(1, 4),
    bits=st.integers(1, 16),
    readout=st.sampled_from(["fixed", "learned", "tied"]),
    error=st.sampled_from([Fraction(0), Fraction(1, 100)]),
)
def test_no_construction_beats_its_bound(
    entities: int, relations: int, hops: int, bits: int, readout: str, error: Fraction
) -> None:
    setting = BoundSetting(entities, relations, hops, bits, 0, readout, error)
    for row in upper_rows(setting):
        assert row.ratio is None or row.ratio >= 1, row
        assert row.least is None or row.dimension is None or row.dimension >= row.least


def test_a_construction_that_beats_its_bound_would_be_seen() -> None:
    row = by_label(upper_rows(BoundSetting(4096, 4, 2, 1)))["T2"]
    assert row.ratio == Fraction(row.dimension or 0, 192) == 1
    smaller = BoundRow(row.setting, "T2", "upper", 191, least=row.least)
    assert smaller.ratio is not None
    assert smaller.ratio < 1


@pytest.mark.parametrize(("entities", "bits"), [(4096, 1), (4096, 2), (4096, 3), (4096, 12), (2, 1), (2**40, 8)])
def test_t1b_has_ratio_one_where_bits_divide(entities: int, bits: int) -> None:
    rows = by_label(bound_rows([BoundSetting(entities, 5, 1, bits)]))
    assert rows["T1b"].ratio == 1
    assert rows["T1b"].dimension == rows["universal"].dimension
    assert rows["T1d"].ratio == 1


def test_rows_of_one_hop_and_of_several() -> None:
    single = by_label(bound_rows([BoundSetting(100, 3, 1, 2)]))
    several = by_label(bound_rows([BoundSetting(100, 3, 2, 2)]))
    lower = ["universal", "any model, fixed", "honest chain", "width"]
    precision = ["width, d = 1", "reals", "T1b circle", "noise below 1/2", "T13"]
    built = ["T1b", "T1d", "T1d concatenated", "T2", "T2b", "T2e", "T2e split", "T3", "T4"]
    assert list(single) == [*lower, *built, *precision]
    assert list(several) == [*lower, "T2", "T2b", "T2e", "T3", "T3b", "T4", "noise below 1/2"]
    assert all(row.assumptions for row in (*single.values(), *several.values()))
    assert single["universal"].against == "T1c"
    assert several["universal"].against == "T2d"


def test_lower_rows_are_the_bounds() -> None:
    setting = BoundSetting(4096, 4, 3, 2, shared_bits=500, readout="learned")
    rows = by_label(lower_rows(setting))
    assert rows["universal"].dimension == universal_hops(4096, 4, 3).smallest_dimension(2)
    assert rows["any model, fixed"].dimension == smallest_dimension(fixed_readout(4096, 4, 3), 2, 500)
    assert rows["any model, learned"].dimension == smallest_dimension(learned_readout(4096, 4, 3), 2, 500)
    assert rows["width"].width == universal_hops(4096, 4, 3).smallest_dimension(2)
    assert rows["universal"].statement == "d·b >= 767.830"


def test_upper_rows_are_the_registrys() -> None:
    rows = by_label(upper_rows(BoundSetting(1000, 3, 4, 3, readout="tied")))
    learned = by_label(upper_rows(BoundSetting(1000, 3, 4, 3, readout="learned")))
    sizes = {"entities": 1000, "relations": 3, "hops": 4, "bits": 3}
    assert rows["T2"].parameters == evaluate("T2", "parameters", **sizes)
    assert rows["T2e"].dimension == evaluate("T2e", "dimension", construction="tied", **sizes)
    assert learned["T2e"].dimension == evaluate("T2e", "dimension", construction="untied", **sizes)
    assert rows["T3b"].width == evaluate("T3b", "width", construction="fixed", stride=2, **sizes)
    assert learned["T3b"].width == evaluate("T3b", "width", construction="learned", stride=2, **sizes)
    assert rows["T2"].total_bits == 1000 * 3**4 * 4 * 3
    assert rows["T2b"].total_bits == 1000 * 3**4 * 10
    assert rows["T2e"].total_bits == 1000 * (rows["T2e"].dimension or 0) * 3
    assert learned["T2e"].total_bits == 2 * 1000 * (learned["T2e"].dimension or 0) * 3
    assert rows["T4"].total_bits == 1000 * (rows["T4"].dimension or 0) * 3 + 1000 * 3 * 10
    single = by_label(upper_rows(BoundSetting(1000, 3, 1, 3, readout="learned")))
    split = evaluate("T2e", "dimension", **(sizes | {"hops": 1}), construction="split")
    assert single["T2e split"].dimension == split
    assert single["T2e split"].total_bits == 2 * 1000 * split * 3
    assert single["T4"].total_bits == 1000 * (single["T4"].dimension or 0) * 3


@pytest.mark.parametrize("bits", [1, 3, 16])
@pytest.mark.parametrize(
    ("identifier", "construction"),
    [("T2b", "memory"), ("T2e", "untied"), ("T2e", "tied"), ("T2e", "split"), ("T3b", "learned"), ("T4", "deep")],
)
def test_signs_do_not_depend_on_the_bits_of_an_entry(identifier: str, construction: str, bits: int) -> None:
    for quantity in ("dimension", "width", "parameters"):
        hops = 3 if construction == "split" else 4
        sizes = {"entities": 1000, "relations": 3, "hops": hops, "stride": 2, "construction": construction}
        assert evaluate(identifier, quantity, bits=bits, **sizes) == evaluate(identifier, quantity, bits=1, **sizes)


def test_an_error_rate_puts_t8_in_place_of_the_others() -> None:
    error = Fraction(1, 100)
    single = by_label(bound_rows([BoundSetting(4096, 4, 1, 1, readout="learned", error=error)]))
    assert single["universal"].against == "T8"
    assert single["universal"].dimension == universal_with_errors(4096, 4, error).smallest_dimension(1)
    assert "width" not in single
    several = by_label(bound_rows([BoundSetting(4096, 4, 3, 1, readout="learned", error=error)]))
    assert several["universal"].against == "T8"
    assert several["any model, learned"].dimension is None
    assert several["any model, learned"].statement == "none is known at an error rate above 0"
    assert several["T2e"].ratio is None
    with pytest.raises(InputError, match="error rate"):
        lower_rows(BoundSetting(4, 2, 1, 1, error=0.01))  # type: ignore[arg-type]


def test_a_construction_with_memory_is_held_against_the_bound_at_its_own_b() -> None:
    rows = by_label(bound_rows([BoundSetting(4096, 4, 2, 1)]))
    assert rows["T2b"].against == f"T2c at B = {4096 * 16 * 12}"
    assert rows["T2b"].ratio is None
    assert smallest_dimension(fixed_readout(4096, 4, 2), 1, 4096 * 16 * 12) == 0


def test_the_largest_sizes_have_rows_in_every_layout() -> None:
    rows = bound_rows(settings([10**12], [1000], [1, 64], [8], readout="learned"))
    lookup = next(row for row in rows if row.label == "T1d")
    assert (lookup.width, lookup.parameters) == (None, None)
    assert next(row.dimension for row in rows if row.label == "T2" and row.setting.hops == 64) == 1000**64 * 5
    for layout in FORMATS:
        assert render_bounds(rows, layout).endswith("\n")
    assert "≈5.00e192" in render_bounds(rows, "table")


def test_csv_and_json_hold_the_same_exact_rows() -> None:
    rows = bound_rows(settings([10**12, 5], [7], [1, 5], [4], shared_bits=3))
    records = json.loads(render_bounds(rows, "json"))
    lines = list(csv.DictReader(io.StringIO(render_bounds(rows, "csv"))))
    assert len(records) == len(lines) == len(rows)
    for record, line, row in zip(records, lines, rows, strict=True):
        assert tuple(record) == tuple(line) == LONG_COLUMNS
        assert line == {name: "" if cell is None else str(cell) for name, cell in record.items()}
        assert record["dimension"] == row.dimension
        assert record["parameters"] == row.parameters
        assert record["shared_bits"] == 3


def test_text_is_aligned_and_says_what_it_stands_on() -> None:
    rows = bound_rows(settings([64], [2, 16], [1, 2], [1]))
    text = render_bounds(rows, "table")
    head, rule, *body = text.splitlines()[1:7]
    assert set(rule) == {"─"}
    ends = [head.index(name) + len(name) for name in ("entities", "relations", "hops", "bits", "universal ≥")]
    for line in body:
        assert all(line[end - 1].isdigit() and line[end : end + 1] in (" ", "") for end in ends)
    notes = [line.split(":")[0] for line in text.splitlines() if ":" in line]
    assert "universal (T1c, T2d)" in notes
    assert {"any model, fixed (T2c)", "honest chain (T3c)", "noise below 1/2 (T13)"} <= set(notes)
    assert "\x1b" not in text
    assert "--format csv or json" in text.splitlines()[-1]


@pytest.mark.parametrize("width", [80, 100, 160])
@pytest.mark.parametrize("cost", [False, True])
def test_a_text_is_as_narrow_as_asked_and_names_each_column_once(width: int, cost: bool) -> None:
    rows = bound_rows(settings([64, 10**6], [2, 16], [1, 2], [1]))
    table = cost_table(rows) if cost else dimension_table(rows)
    text = render_bounds(rows, "table", cost=cost, width=width)
    assert max(map(len, text.splitlines())) <= width
    first, *others = (part.splitlines() for part in text.split("\n\n"))
    parts = [first[1:], *others]
    assert all(part[0].startswith("entities  relations  hops  bits  ") for part in parts)
    heads = [head for part in parts for head in re.split(r" {2,}", part[0])[4:]]
    assert heads == list(table.columns[4:])
    for part in parts:
        assert [line.split()[:4] for line in part[2:10]] == [[str(cell) for cell in row[:4]] for row in table.rows]
    cells = [cell for row in table.rows for cell in row[4:]]
    assert all(shown(cell) in text for cell in cells)


def test_a_column_wider_than_the_text_stands_alone() -> None:
    table = Table("T", ("k", "a", "b"), ((1, "x" * 30, 2),), ("a note of several words",), keys=1)
    lines = render(table, "table", 12).splitlines()
    assert lines[0] == "T"
    assert lines[1].split() == ["k", "a"]
    assert lines[3].split() == ["1", "x" * 30]
    assert lines[4] == ""
    assert lines[5].split() == ["k", "b"]
    assert lines[-2:] == ["a note of", "several"] or lines[-2:] == ["several", "words"]


def test_the_wide_table_has_one_line_a_setting() -> None:
    rows = bound_rows(settings([64], [2, 3], [1, 2], [1], error=Fraction(1, 8), shared_bits=1))
    table = dimension_table(rows)
    assert len(table.rows) == 4
    assert table.columns[:7] == ("entities", "relations", "hops", "bits", "shared bits", "error", "universal ≥")
    assert table.rows[0][5] == "1/8"
    assert table.columns[-7:] == ("T2", "T2b", "T2e", "T2e split", "T3", "T3b", "T4")


def test_the_table_of_costs_has_width_parameters_and_bits_of_each_construction() -> None:
    rows = bound_rows(settings([64], [2], [1, 2], [1]))
    table = cost_table(rows)
    labels = [row.label for row in upper_rows(BoundSetting(64, 2, 1, 1))]
    labels = sorted({*labels, *(row.label for row in upper_rows(BoundSetting(64, 2, 2, 1))), "T13", "T1b circle"})
    heads = [head for label in labels for head in (f"{label} width", "parameters", "bits")]
    assert list(table.columns) == ["entities", "relations", "hops", "bits", "width ≥", "width, d = 1 ≥", *heads]
    for hops, line in zip((1, 2), table.rows, strict=True):
        found = by_label(bound_rows([BoundSetting(64, 2, hops, 1)]))
        expected = [cell for label in labels for cell in costs(found.get(label))]
        one_coordinate = found["width, d = 1"].width if hops == 1 else None
        assert list(line) == [64, 2, hops, 1, found["width"].width, one_coordinate, *expected]


def costs(row: BoundRow | None) -> tuple[int | None, int | None, int | None]:
    return (row.width, row.parameters, row.total_bits) if row else (None, None, None)


def test_absurd_numbers_are_left_out_and_a_full_table_is_not_refused() -> None:
    assert unless_absurd(10**400 - 1) == 10**400 - 1
    assert unless_absurd(10**400) is None
    assert len(settings(range(2, 202), range(1, 101), [1], [1])) == 20_000 == MOST_SETTINGS


def test_a_column_with_a_word_is_set_to_the_left_and_notes_follow_the_table() -> None:
    table = Table("t", ("number", "construction"), ((5, "T2"), (12, None), (None, "3")), ("one", "two"))
    assert render(table, "table").splitlines()[1:] == [
        "number  construction",
        "─" * 20,
        "     5  T2",
        "    12",
        "        3",
        "one",
        "two",
    ]
    assert render(table, "markdown").splitlines()[-4:] == ["|  | 3 |", "", "* one", "* two"]
    assert render(Table("t", ("n",), ((1,),)), "markdown").splitlines()[-1] == "| 1 |"


def test_markdown_and_latex_escape_what_they_must() -> None:
    table = Table("title", ("a|b", "50% & _x_"), ((1, "≥ {1}"), (None, "~")), ("note",))
    markdown = render(table, "markdown").splitlines()
    assert markdown[2:5] == [r"| a\|b | 50% & _x_ |", "| --- | --- |", "| 1 | ≥ {1} |"]
    latex = render(table, "latex").splitlines()
    assert latex[3] == r"a|b & 50\% \& \_x\_ \\"
    assert latex[5] == r"1 & $\ge$ \{1\} \\"
    assert latex[1] == r"\begin{tabular}{rr}"
    assert latex[-2:] == [r"\end{tabular}", "% note"]


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (None, ""),
        (0, "0"),
        (999_999_999_999, "999999999999"),
        (10**12, "≈1.00e12"),
        (9_995 * 10**20, "≈1.00e24"),
        (9_994 * 10**20, "≈9.99e23"),
        (-(10**15), "≈-1.00e15"),
        ("[x]", "[x]"),
    ],
)
def test_numbers_are_shown_in_full_or_marked_as_rounded(cell: int | str | None, text: str) -> None:
    assert shown(cell) == text
    assert text in render(Table("t", ("head",), ((cell,),)), "table")


@given(st.fractions(0, 10**6), st.integers(1, 5))
def test_decimals_are_the_nearest(ratio: Fraction, places: int) -> None:
    assert abs(Fraction(decimal(ratio, places)) - ratio) <= Fraction(1, 2 * 10**places)


def test_an_error_rate_may_have_forty_characters() -> None:
    assert parse_error_rate(" 0." + "1" * 38 + " ") == Fraction(int("1" * 38), 10**38)
    with pytest.raises(InputError, match="error rate has 41 characters; at most 40 are read"):
        parse_error_rate("0." + "1" * 39)


def test_assumptions_of_a_label_are_those_of_all_rows_that_have_any_in_the_order_of_the_first() -> None:
    one, two, three = Assumption("one"), Assumption("two"), Assumption("three")
    row = bound_rows([BoundSetting(64, 2, 1, 1)])[0]
    rows = [replace(row, assumptions=each) for each in ((), (one, two, three), (three, one))]
    assert _shared(rows) == [one, three]
    assert _shared(rows[:1]) == []


def test_depth_has_no_shared_bits_unless_they_are_asked_for() -> None:
    assert (
        depth_rows(4, 2, [1], 1) == depth_rows(4, 2, [1], 1, shared_bits=0) != depth_rows(4, 2, [1], 1, shared_bits=1)
    )


def test_large_ratios_are_shown_without_places() -> None:
    assert decimal(10**9 - Fraction(1, 2), 1) == "999999999.5"
    assert decimal(Fraction(10**9), 1) == "1000000000"


def test_ratios_have_four_places_in_the_long_tables() -> None:
    rows = bound_rows([BoundSetting(1000, 3, 2, 4)])
    found = {record["claim"]: record["ratio"] for record in json.loads(render_bounds(rows, "json"))}
    ratio = by_label(rows)["T2"].ratio
    assert ratio is not None
    assert found["T2"] == f"{float(ratio):.4f}"
    assert found["universal"] is None
    depth = depth_rows(1000, 3, [4], 4)
    assert depth[0].ratio is not None
    assert json.loads(render_depth(depth, "json"))[0]["ratio"] == f"{float(depth[0].ratio):.4f}"


@pytest.mark.parametrize("readout", ["fixed", "learned", "tied"])
def test_one_pass_has_the_bounds_of_one_pass_and_a_chain_those_of_its_longest_step(readout: str) -> None:
    one, *chains = depth_rows(4096, 3, [6], 4, readout, 100)
    family = fixed_readout(4096, 3, 6) if readout == "fixed" else learned_readout(4096, 3, 6, tied=readout == "tied")
    assert one.least_any_spacing == one.least_even_spacing == smallest_dimension(family, 4, 100)
    for row in chains:
        least = smallest_dimension(any_chain(4096, 3, -(-6 // row.steps), readout), 4, 100)
        even = smallest_dimension(honest_chain(4096, 3, evenly_spaced(6, row.stride), readout), 4, 100)
        assert (row.least_any_spacing, row.least_even_spacing) == (least, even)


def test_one_pass_of_one_relation_has_what_trees_alone_give() -> None:
    (one, *_) = depth_rows(64, 1, [3], 1)
    assert (one.steps, one.least_any_spacing, one.least_even_spacing) == (1, 6, 6)


def test_depth_goes_from_one_pass_to_a_token_for_every_hop() -> None:
    rows = depth_rows(4096, 3, [1, 6], 4)
    assert [(row.hops, row.steps, row.stride) for row in rows] == [
        (1, 1, 1),
        (6, 1, 6),
        (6, 2, 3),
        (6, 3, 2),
        (6, 6, 1),
    ]
    assert [row.construction for row in rows] == ["T2", "T2", "T3b", "T3b", "T3"]
    assert rows[0].ratio == 1
    dimensions = [row.dimension for row in rows if row.hops == 6]
    assert dimensions == sorted(dimensions, reverse=True)
    assert [row.construction for row in depth_rows(4096, 3, [6], 1, "learned")] == ["T2e", "T3b", "T3b", "T3"]
    assert depth_rows(4096, 4, [2], 12, "learned")[0].construction == "T2"
    assert depth_rows(4096, 3, [4], 1, "tied")[0].construction == "T2e"


@given(
    entities=st.integers(2, 10**5),
    relations=st.integers(1, 6),
    hops=st.integers(1, 8),
    bits=st.integers(1, 12),
    readout=st.sampled_from(["fixed", "learned", "tied"]),
)
def test_depth_stays_above_its_bounds(entities: int, relations: int, hops: int, bits: int, readout: str) -> None:
    for row in depth_rows(entities, relations, [hops], bits, readout):
        assert row.least_any_spacing <= row.least_even_spacing <= row.dimension
        assert -(-hops // row.stride) == row.steps


def test_depth_renders_in_every_layout() -> None:
    rows = depth_rows(64, 2, range(1, 5), 1, "learned")
    records = json.loads(render_depth(rows, "json"))
    assert [record["dimension"] for record in records] == [row.dimension for row in rows]
    assert "least any spacing" in render_depth(rows, "table")
    assert render_depth(rows, "csv").count("\n") == len(rows) + 1
    assert render_depth(rows, "markdown").count("\n| 64 |") == len(rows)
    assert render_depth(rows, "latex").count("\n64 &") == len(rows)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("4096", (4096,)),
        ("2:5", (2, 3, 4, 5)),
        ("1,2,4", (1, 2, 4)),
        (" 1 , 3:4 ", (1, 3, 4)),
        ("7:7", (7,)),
        ("010", (10,)),
    ],
)
def test_sizes_are_read(text: str, values: tuple[int, ...]) -> None:
    assert parse_sizes(text, "relations", at_least=1, at_most=10**12) == values


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "whole numbers from 1 to 1000"),
        ("-3", "not '-3'"),
        ("2.5", "not '2.5'"),
        ("1e3", "not '1e3'"),
        ("0", "which 0 is not"),
        ("1001", "which 1001 is not"),
        ("9" * 5000, "so large a number is not"),
        ("16:2", "is empty; it should read 2:16"),
        ("2:", "not '2:'"),
        (":", "not ':'"),
        ("1,,2", "not ''"),
        ("1,1:3", "names a number twice"),
        ("٣", "whole numbers"),
    ],
)
def test_other_sizes_get_one_clear_line(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        parse_sizes(text, "relations", at_least=1, at_most=1000)
    assert str(error.value).startswith("relations")
    assert "\n" not in str(error.value)


def test_a_range_of_too_many_values_is_refused() -> None:
    assert parse_sizes("60000:60009", "entities", at_least=1, at_most=60009) == tuple(range(60000, 60010))
    assert len(parse_sizes("1:10000", "entities", at_least=1, at_most=10**12)) == 10_000
    with pytest.raises(InputError, match="has 10001 values; at most 10000 are tabled"):
        parse_sizes("1:10001", "entities", at_least=1, at_most=10**12)
    with pytest.raises(InputError, match="at most 10000 are tabled"):
        parse_sizes("1:1000000000", "entities", at_least=1, at_most=10**12)


@pytest.mark.parametrize(
    ("text", "rate"), [("0", 0), ("0.01", Fraction(1, 100)), ("1/3", Fraction(1, 3)), (" 0.50 ", Fraction(1, 2))]
)
def test_error_rates_are_read_exactly(text: str, rate: Fraction) -> None:
    assert parse_error_rate(text) == rate


@pytest.mark.parametrize("text", ["", "-0.1", "1", "2/2", "1/0", "nan", "1e-2", "0,01", "1.0.0"])
def test_other_error_rates_get_one_clear_line(text: str) -> None:
    with pytest.raises(InputError, match="error rate"):
        parse_error_rate(text)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: render_bounds([], "html"), "format must be one of table, csv, json, markdown, latex, not 'html'"),
        (lambda: render_depth([], "html"), "format must be one of"),
        (lambda: bound_rows([BoundSetting(4, 2, 1, 1, readout="frozen")]), "read-out must be one of"),
        (lambda: bound_rows([BoundSetting(4, 2, 1, 0)]), "bits must be"),
        (lambda: bound_rows([BoundSetting(1, 2, 1, 1)]), "entities must be"),
        (lambda: bound_rows([BoundSetting(4, 2, 1, 1, shared_bits=-1)]), "shared bits must be"),
        (lambda: depth_rows(4, 2, [0], 1), "hops must be"),
        (lambda: depth_rows(4, 2, [1], 1, "frozen"), "read-out must be one of"),
        (lambda: settings(range(2, 2000), range(1, 100), [1], [1]), f"at most {MOST_SETTINGS} are computed"),
    ],
)
def test_bad_tables_get_one_clear_line(call: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()
