"""The rows of `tables` as text: all of them, line by line (CSV, JSON), or a line a setting (text, Markdown, LaTeX)."""

from collections.abc import Sequence
from fractions import Fraction

from bounds.tables.layout import FORMATS, Cell, Table, render, shown
from bounds.tables.rows import BoundRow, BoundSetting
from theory.errors import InputError
from theory.statements.assumptions import Assumption

LONG_COLUMNS = (
    "entities", "relations", "hops", "bits", "shared_bits", "readout", "error", "claim", "side", "dimension", "width",
    "parameters", "total_bits", "against", "least", "ratio", "statement", "assumptions",
)  # fmt: skip


def render_bounds(rows: Sequence[BoundRow], layout: str, *, cost: bool = False, width: int | None = None) -> str:
    """All rows in one of `layout.FORMATS`.

    CSV and JSON have a line for each row, with exact integers and the ratio rounded to four places. The others have two
    tables with a line for each setting, dimensions and costs, and the assumptions below.
    """
    if layout not in FORMATS:
        raise InputError(f"format must be one of {', '.join(FORMATS)}, not {layout!r}")
    if layout in ("csv", "json"):
        return render(long_table(rows), layout)
    return render(cost_table(rows) if cost else dimension_table(rows), layout, width)


def long_table(rows: Sequence[BoundRow]) -> Table:
    """One line for each bound and construction of each setting."""
    return Table("Lower and upper bounds", LONG_COLUMNS, tuple(_long(row) for row in rows))


def dimension_table(rows: Sequence[BoundRow]) -> Table:
    """One line for each setting: the least dimension that each lower bound admits, and what each construction has."""

    def cell(row: BoundRow | None) -> Cell:
        """The dimension, with × and the ratio to two places if there is one; None without a dimension."""
        if row is None or row.dimension is None:
            return None
        return shown(row.dimension) + (f" ×{decimal(row.ratio, 2)}" if row.ratio is not None else "")

    labels = [label for label in _labels(rows) if not _on_width(label)]
    lower = {row.label for row in rows if row.side == "lower"}
    heads = [f"{label} ≥" if _first(rows, label).side == "lower" else label for label in labels]
    keys = _setting_heads(rows)
    body = [
        (*_setting_cells(keys, setting), *(cell(row) for row in found)) for setting, found in _by_setting(rows, labels)
    ]
    notes = [
        "Dimensions in coordinates. ×: ratio to the lower bound with the same assumptions, none where that is 0.",
        "T2b, T2e, T4 and T3b with a learned read-out hold signs, one bit an entry, whatever b is.",
    ]
    notes += [_note(label, [row for row in rows if row.label == label]) for label in labels if label in lower]
    notes.append("What a construction assumes, and every assumption in full: --format csv or json; costs: --cost.")
    return Table("Embedding dimension", (*keys, *heads), tuple(body), tuple(notes), len(keys))


def cost_table(rows: Sequence[BoundRow]) -> Table:
    """One line for each setting: the least width, and each construction's width, parameters and bits in all."""
    labels = [label for label in _labels(rows) if _on_width(label) or _first(rows, label).side == "upper"]
    heads = [head for label in labels for head in _cost_heads(label)]
    keys = _setting_heads(rows)
    body = []
    for setting, found in _by_setting(rows, labels):
        cells: list[Cell] = []
        for label, row in zip(labels, found, strict=True):
            costs = (row.width, row.parameters, row.total_bits) if row else (None, None, None)
            cells += costs[: len(_cost_heads(label))]
        body.append((*_setting_cells(keys, setting), *cells))
    notes = ("bits: of all numbers that depend on the facts. ≈: rounded to three digits; CSV and JSON are exact.",)
    return Table("MLP width, parameters and bits", (*keys, *heads), tuple(body), notes, len(keys))


def decimal(ratio: Fraction, places: int) -> str:
    """The fraction rounded to so many places, halves up."""
    scaled = (ratio * 10**places * 2 + 1) // 2
    whole, rest = divmod(scaled, 10**places)
    return f"{shown(whole)}.{rest:0{places}d}" if whole < 10**9 else shown(whole)


def _long(row: BoundRow) -> tuple[Cell, ...]:
    setting = row.setting
    ratio = None if row.ratio is None else decimal(row.ratio, 4)
    return (
        setting.entities, setting.relations, setting.hops, setting.bits, setting.shared_bits, setting.readout,
        str(setting.error), row.label, row.side, row.dimension, row.width, row.parameters, row.total_bits, row.against,
        row.least, ratio, row.statement, "; ".join([*map(str, row.assumptions), *filter(None, [row.argument])]),
    )  # fmt: skip


def _note(label: str, rows: Sequence[BoundRow]) -> str:
    """The theorems that the rows of one label rest on, and the names of the assumptions that all of them share."""
    theorems = sorted({row.against for row in rows if row.side == "lower" and row.against})
    shared = [each.name for each in _shared(rows)] or [rows[0].statement]
    return f"{label}{' (' + ', '.join(theorems) + ')' if theorems else ''}: {', '.join(shared)}"


def _shared(rows: Sequence[BoundRow]) -> list[Assumption]:
    """The assumptions of the first row that has any, less those that another row does without."""
    known = [row.assumptions for row in rows if row.assumptions]
    return [each for each in known[0] if all(each in others for others in known)] if known else []


def _cost_heads(label: str) -> tuple[str, ...]:
    return (f"{label} ≥",) if _on_width(label) else (f"{label} width", "parameters", "bits")


def _on_width(label: str) -> bool:
    """Whether a lower bound is one on the width, not on the dimension."""
    return label.startswith("width")


def _setting_heads(rows: Sequence[BoundRow]) -> tuple[str, ...]:
    shared = ("shared bits",) if any(row.setting.shared_bits for row in rows) else ()
    error = ("error",) if any(row.setting.error for row in rows) else ()
    return ("entities", "relations", "hops", "bits", *shared, *error)


def _setting_cells(heads: Sequence[str], setting: BoundSetting) -> tuple[Cell, ...]:
    every: dict[str, Cell] = {
        "entities": setting.entities,
        "relations": setting.relations,
        "hops": setting.hops,
        "bits": setting.bits,
        "shared bits": setting.shared_bits,
        "error": str(setting.error),
    }
    return tuple(every[head] for head in heads)


def _labels(rows: Sequence[BoundRow]) -> list[str]:
    """Every label once: lower bounds as they first occur, then constructions in the order of the theorems."""
    lower = dict.fromkeys(row.label for row in rows if row.side == "lower")
    return [*lower, *sorted({row.label for row in rows if row.side == "upper"})]


def _first(rows: Sequence[BoundRow], label: str) -> BoundRow:
    return next(row for row in rows if row.label == label)


def _by_setting(rows: Sequence[BoundRow], labels: Sequence[str]) -> list[tuple[BoundSetting, list[BoundRow | None]]]:
    settings: dict[BoundSetting, dict[str, BoundRow]] = {}
    for row in rows:
        settings.setdefault(row.setting, {})[row.label] = row
    return [(setting, [found.get(label) for label in labels]) for setting, found in settings.items()]
