"""Capacity against depth: k hops by the number of emitted tokens, the dimension from below (T3c) and from above (T3b).

With s tokens some step takes at least j = ⌈k/s⌉ hops. One pass is T2, a token for every hop is T3, everything between
T3b; where the read-out may be learned or tied, the smaller of these and of T2e or T3b's own. (The bounds for learned
and tied read-outs hold for a fixed one as well.) Two bounds from below: for every honest chain of at most s tokens, and
for the evenly spaced one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from bounds.lower.bound import check_sizes
from bounds.lower.chains import any_chain, evenly_spaced, honest_chain
from bounds.lower.frontier import smallest_dimension
from bounds.tables.layout import Cell, Table, render
from bounds.tables.summary import decimal
from theory.statements.registry import Quantity, evaluate


@dataclass(frozen=True)
class DepthRow:
    """k hops answered in `steps` tokens, `stride` = j hops apart: the least dimension of any such chain, of the evenly
    spaced one, and the dimension, width and theorem of the construction."""

    entities: int
    relations: int
    hops: int
    steps: int
    stride: int
    bits: int
    shared_bits: int
    readout: str
    least_any_spacing: int
    least_even_spacing: int
    dimension: int
    width: int
    construction: str

    @property
    def ratio(self) -> Fraction | None:
        """The construction's dimension over the bound for its own spacing; None if that is 0."""
        return Fraction(self.dimension, self.least_even_spacing) if self.least_even_spacing else None


def depth_rows(
    entities: int, relations: int, hops: Iterable[int], bits: int, readout: str = "fixed", shared_bits: int = 0
) -> list[DepthRow]:
    """For each number of hops every number of tokens that some stride gives, the most tokens last."""
    rows = []
    for length in hops:
        check_sizes(entities, relations, length)
        for steps, stride in strides(length).items():
            rows.append(_row(entities, relations, length, steps, stride, bits, readout, shared_bits))
    return rows


def strides(hops: int) -> dict[int, int]:
    """The least stride for each number of tokens that some stride gives, the most tokens last."""
    return {-(-hops // stride): stride for stride in range(hops, 0, -1)}


def render_depth(rows: Sequence[DepthRow], layout: str, width: int | None = None) -> str:
    """The table of depth in one of `layout.FORMATS`; CSV and JSON with exact integers and the ratio to four places."""
    heads = (
        "entities", "relations", "hops", "steps", "stride", "bits", "shared_bits", "readout", "least_any_spacing",
        "least_even_spacing", "dimension", "width", "construction", "ratio",
    )  # fmt: skip
    body = [tuple(_cell(row, head) for head in heads) for row in rows]
    names = heads if layout in ("csv", "json") else tuple(head.replace("_", " ") for head in heads)
    notes = (
        "steps: emitted tokens; stride: hops a token; dimension: coordinates of the construction.",
        "least, any spacing: T3c for every honest chain of at most so many tokens; even: for the construction's own.",
        "ratio: dimension to least, even spacing. One step is one pass: T2c (fixed read-out) or T2e from below.",
    )
    return render(Table("Capacity against depth", names, tuple(body), notes, 4), layout, width)


def _row(
    entities: int, relations: int, hops: int, steps: int, stride: int, bits: int, readout: str, shared_bits: int
) -> DepthRow:
    even = honest_chain(entities, relations, evenly_spaced(hops, stride), readout)
    anyhow = even if steps == 1 else any_chain(entities, relations, -(-hops // steps), readout)

    def cost(built: tuple[str, str], quantity: Quantity) -> int:
        """The registry's value for `built`, (theorem, construction), at this row's sizes; only T3b has a stride."""
        return evaluate(
            built[0],
            quantity,
            entities=entities,
            relations=relations,
            hops=hops,
            bits=bits,
            stride=stride if built[0] == "T3b" else None,
            construction=built[1],
        )

    best = min(_constructions(hops, stride, readout), key=lambda built: cost(built, "dimension"))
    return DepthRow(
        entities,
        relations,
        hops,
        steps,
        stride,
        bits,
        shared_bits,
        readout,
        smallest_dimension(anyhow, bits, shared_bits),
        smallest_dimension(even, bits, shared_bits),
        cost(best, "dimension"),
        cost(best, "width"),
        best[0],
    )


def _constructions(hops: int, stride: int, readout: str) -> list[tuple[str, str]]:
    """Theorem and construction of all that fit: with a fixed read-out first, then with the one that is asked for."""
    if stride == hops:
        middle = {"fixed": [], "learned": [("T2e", "untied")], "tied": [("T2e", "tied")]}
        return [("T2", "direct"), *middle[readout]]
    if stride == 1:
        return [("T3", "parabola")]
    return [("T3b", "fixed"), *([("T3b", "learned")] if readout == "learned" else [])]


def _cell(row: DepthRow, head: str) -> Cell:
    if head == "ratio":
        return None if row.ratio is None else decimal(row.ratio, 4)
    value: Cell = getattr(row, head)
    return value
