"""Tables as text: aligned columns, CSV, JSON, Markdown, LaTeX."""

import csv
import io
import json
import textwrap
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

from theory.errors import InputError

FORMATS = ("table", "csv", "json", "markdown", "latex")
LONGEST_NUMBER = 12  # digits up to which a text shows an integer in full; CSV and JSON always do

Cell = int | str | None


@dataclass(frozen=True)
class Table:
    """A title, column heads, rows of cells (None is an empty cell) and notes below. The first `keys` columns say what a
    row is about."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    keys: int = 0


def render(table: Table, layout: str, width: int | None = None) -> str:
    """The table in one of `FORMATS`, ending in a newline. CSV and JSON hold exact integers and no title or notes.

    A text is at most `width` columns wide, if one is given: columns for which there is no room stand below the others,
    beside the same first ones, and notes are folded.
    """
    if layout not in FORMATS:
        raise InputError(f"format must be one of {', '.join(FORMATS)}, not {layout!r}")
    if layout == "table":
        return _text(table, width)
    writers = {"csv": _csv, "json": _json, "markdown": _markdown, "latex": _latex}
    return writers[layout](table)


def shown(cell: Cell) -> str:
    """A cell as a person reads it: an integer of more digits than fit is given as ≈ m·10^e, rounded to three digits."""
    if cell is None:
        return ""
    if isinstance(cell, str) or abs(cell) < 10**LONGEST_NUMBER:
        return str(cell)
    digits = str(abs(cell))
    exponent = len(digits) - 1
    leading = (int(digits[:4]) + 5) // 10
    if leading == 1000:
        leading, exponent = 100, exponent + 1
    return f"≈{'-' if cell < 0 else ''}{leading // 100}.{leading % 100:02d}e{exponent}"


def _text(table: Table, width: int | None) -> str:
    cells = [[shown(cell) for cell in row] for row in table.rows]
    lines = [table.title]
    for part in _parts(table.columns, cells, table.keys, width):
        head, *body = aligned_lines([table.columns[place] for place in part], [[row[p] for p in part] for row in cells])
        lines += [head, "─" * max(map(len, (head, *body))), *body, ""]
    notes = [line for note in table.notes for line in (textwrap.wrap(note, width) if width else [note])]
    return "\n".join([*lines[:-1], *notes]) + "\n"


def _parts(heads: Sequence[str], rows: Sequence[Sequence[str]], keys: int, width: int | None) -> list[list[int]]:
    """The places of the columns that stand beside one another: the first `keys` in every part, the others in one."""
    widths = [max(map(len, column)) + 2 for column in zip(heads, *rows, strict=True)]
    parts: list[list[int]] = []
    for place in range(keys, len(heads)):
        if not parts or (width and sum(widths[p] for p in (*parts[-1], place)) - 2 > width):
            parts.append(list(range(keys)))
        parts[-1].append(place)
    return parts or [list(range(len(heads)))]


def aligned_lines(
    heads: Sequence[str], rows: Iterable[Sequence[str]], words: Container[str] | None = None
) -> list[str]:
    """The heads and rows as lines, each column at one width: words to the left, numbers to the right.

    `words` are the heads of the columns of words; unless given, those in which some cell begins with a letter. Lines
    are as long as they are.
    """
    columns = []
    for column in zip(heads, *rows, strict=True):
        width = max(map(len, column))
        left = any(cell[:1].isalpha() for cell in column[1:]) if words is None else column[0] in words
        columns.append([cell.ljust(width) if left else cell.rjust(width) for cell in column])
    return ["  ".join(cells).rstrip() for cells in zip(*columns, strict=True)]


def _csv(table: Table) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows(["" if cell is None else cell for cell in row] for row in table.rows)
    return stream.getvalue()


def _json(table: Table) -> str:
    records = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    return json.dumps(records, indent=1, ensure_ascii=False) + "\n"


def _markdown(table: Table) -> str:
    def line(cells: list[str]) -> str:
        """One row of a Markdown table, with the vertical bars inside cells escaped."""
        return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"

    head = [line(list(table.columns)), line(["---"] * len(table.columns))]
    body = [line([shown(cell) for cell in row]) for row in table.rows]
    notes = [""] + [f"* {note}" for note in table.notes] if table.notes else []
    return "\n".join([f"**{table.title}**", "", *head, *body, *notes]) + "\n"


LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "#": r"\#", "_": r"\_", "^": r"\textasciicircum{}",
    "{": r"\{", "}": r"\}", "$": r"\$", "~": r"\textasciitilde{}", "≈": r"$\approx$", "×": r"$\times$", "·": r"$\cdot$",
    "≥": r"$\ge$", "≤": r"$\le$", "⌈": r"$\lceil$", "⌉": r"$\rceil$", "ε": r"$\varepsilon$", ">": r"$>$", "<": r"$<$",
    "∞": r"$\infty$", "Σ": r"$\Sigma$", "π": r"$\pi$", "ℓ": r"$\ell$", "…": r"\dots{}",
}  # fmt: skip


def _latex(table: Table) -> str:
    def escaped(text: str) -> str:
        """The text with each character that LATEX lists replaced by its LaTeX source."""
        return "".join(LATEX.get(character, character) for character in text)

    lines = [rf"% {table.title}", rf"\begin{{tabular}}{{{'r' * len(table.columns)}}}", r"\hline"]
    lines += [" & ".join(escaped(name) for name in table.columns) + r" \\", r"\hline"]
    lines += [" & ".join(escaped(shown(cell)) for cell in row) + r" \\" for row in table.rows]
    lines += [r"\hline", r"\end{tabular}", *(rf"% {note}" for note in table.notes)]
    return "\n".join(lines) + "\n"
