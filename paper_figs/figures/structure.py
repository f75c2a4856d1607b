"""E9: what a family of structured facts costs to learn, against the information that it holds.

(a) ρ, all scalars that learn at the threshold over those of independent bijections, against ι, the information over
theirs. On the diagonal only information costs; at ρ = 1 structure is not used; below the dotted line, halfway, a family
is compressed by the rule. (b) The same family by family, in every setting; the tick is ι. The stars are the dimensions
of T14's constructions for inverses and compositions over that of T1 for as many independent relations: what could have
been saved. What a setting lacks is not drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper_figs.saved import number, part, preset_of
from paper_figs.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, TWO_COLUMNS, Look, figure, legend, ticks
from theory.definitions.families import bases
from theory.errors import InputError
from theory.statements.registry import evaluate

SIZES = (
    Look("N = 64, R = 16", BLUE, "o", ""),
    Look("N = 128, R = 16", ORANGE, "s", ""),
    Look("N = 64, R = 32", GREEN, "^", ""),
    Look("N = 256, R = 16", PURPLE, "D", ""),
)
CONDITION = Look("other conditions, N = 64, R = 16", GREY, "|", "", size=5)
THEORY = Look("T14, dimension", BLACK, "*", "", size=8)
LINES = (
    Look("only information costs", BLACK, "", "-"),
    Look("structure is not used", BLACK, "", "--"),
    Look("halfway: the rule", BLACK, "", ":"),
)
# The families that T14 has a construction for, by how many bijections it is built for where R relations are asked for.
CONSTRUCTED: dict[str, Callable[[int], int]] = {"inverses": lambda r: r // 2, "compositions": bases}


@dataclass(frozen=True)
class Cost:
    """What a system costs in a setting: ι, and ρ with its interval."""

    setting: str
    system: str
    information: float
    rho: float
    low: float
    high: float


def draw(report: Any) -> Figure:
    """The figure from a comparison's report (`georecall compare --preset structure --json`), complete or not."""
    looks = _looks(report)
    found = [_cost(each) for each in part(report, "structure", list) if each.get("rho") is not None]
    shown = [each for each in found if each.system not in ("independent", "fresh")]
    if not shown:
        raise InputError("no family has a threshold yet")
    drawn = figure(TWO_COLUMNS, 3.9)
    scatter, rows = drawn.subplots(1, 2, width_ratios=[1, 1.25])
    _scatter(scatter, [each for each in shown if looks[each.setting] is not CONDITION], looks)
    _rows(rows, shown, looks)
    used = {id(looks[each.setting]) for each in shown}
    settings = [look for look in (*SIZES, CONDITION) if id(look) in used]
    legend(drawn, [*settings, THEORY, *LINES], columns=4)
    return drawn


def _looks(report: Any) -> dict[str, Look]:
    """The look of each setting, by its name; robustness conditions share one."""
    sizes = iter(SIZES)
    settings = preset_of(report, unfinished=True).settings
    return {each.name: CONDITION if each.role == "robustness" else next(sizes) for each in settings}


def _cost(values: Any) -> Cost:
    figures = [number(values, name) for name in ("information", "rho", "low", "high")]
    return Cost(part(values, "setting", str), part(values, "system", str), *figures)


def _could(family: str, relations: int = 16, entities: int = 64) -> float:
    """The dimension of T14 for the family over that of T1 for as many independent relations."""
    built = CONSTRUCTED[family](relations)
    structured = evaluate("T14", "dimension", entities=entities, relations=built, construction=family)
    return structured / evaluate("T1", "dimension", entities=entities, relations=relations)


def _scatter(axes: Axes, shown: list[Cost], looks: dict[str, Look]) -> None:
    most = max(1.0, *(each.information for each in shown)) + 0.05
    for (begin, end), look in zip(
        (((0, most), (0, most)), ((0, most), (1, 1)), ((0, 1), (0.5, 1))), LINES, strict=True
    ):
        axes.plot(begin, end, zorder=1, **look.options)
    for each in shown:
        bars = [[each.rho - each.low], [each.high - each.rho]]
        axes.errorbar(
            [each.information], [each.rho], yerr=bars, elinewidth=0.7, capsize=1.5, **looks[each.setting].options
        )
    for family in CONSTRUCTED:
        shares = [each.information for each in shown if each.system == family]
        if shares:
            axes.plot(shares[:1], [_could(family)], **THEORY.options)
    axes.set_xlabel("information ι")
    axes.set_ylabel("learned scalars at the threshold, ρ")
    axes.set_title("(a) cost against information")
    axes.set_xlim(0, most)
    axes.set_ylim(0, max(each.high for each in shown) + 0.05)


def _rows(axes: Axes, shown: list[Cost], looks: dict[str, Look]) -> None:
    """A row for each family, the most compressed last; settings side by side."""
    shares = {each.system: each.information for each in reversed(shown)}
    families = sorted(shares, key=lambda family: -shares[family])
    settings = [name for name in looks if any(each.setting == name for each in shown)]
    for row, family in enumerate(families):
        axes.plot([shares[family]], [-row], color=BLACK, marker="|", markersize=11, linestyle="")
        for each in (each for each in shown if each.system == family):
            place = -row + 0.6 * ((settings.index(each.setting) + 1) / (len(settings) + 1) - 0.5)
            bars = [[each.rho - each.low], [each.high - each.rho]]
            axes.errorbar([each.rho], [place], xerr=bars, elinewidth=0.5, **looks[each.setting].options)
    for family in families:
        if family in CONSTRUCTED:
            axes.plot([_could(family)], [-families.index(family)], **THEORY.options)
    axes.axvline(1, linestyle="--", linewidth=0.9, color=BLACK, zorder=1)
    ticks(axes.yaxis, [-row for row in range(len(families))], [f"{each}, {shares[each]:.2f}" for each in families])
    axes.set_xlim(left=0)
    axes.set_xlabel("learned scalars at the threshold, ρ")
    axes.set_title("(b) every family, ι")
