"""The models that `georecall mechanism` studied, as the figures of E3, E4 and E5 take them from its report.

Which number stands where is documented in `empirical.mechanism.command` and `empirical.mechanism.study`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

from matplotlib.axes import Axes

from empirical.models.runs import MEMORISED_AT
from paper_figs.saved import number, part
from paper_figs.style import BLACK, BLUE, GREEN, ORANGE, Look, ticks, with_intervals
from theory.errors import InputError

Triple = tuple[float, float, float]  # value, low, high

SIZE_LOOKS = (
    Look("", BLUE, "o", "-"),
    Look("", ORANGE, "s", "-"),
    Look("", GREEN, "^", "-"),
    Look("", BLACK, "D", "-"),
)


@dataclass(frozen=True)
class Model:
    """One model of a report; `ratio` is d/d*, of trained models. `values` is all that the report says of it."""

    name: str
    group: str
    kind: str
    entities: int
    relations: int
    dimension: int
    ratio: float | None
    recalls: bool
    values: Any

    def find(self, *path: str) -> Any:
        """The part of that path, None where an analysis does not apply. InputError where there is none."""
        found = self.values
        for name in path:
            if found is None:
                return None
            if not isinstance(found, dict) or name not in found:
                raise InputError(f"model {self.name!r} has no {' / '.join(path)}")
            found = found[name]
        return found

    def share(self, *path: str) -> Triple | None:
        """The fraction of that path with its interval, None where an analysis does not apply."""
        found = self.find(*path)
        return None if found is None else (number(found, "value"), number(found, "low"), number(found, "high"))


def models(report: Any) -> list[Model]:
    """The models of a report, in its order. InputError if it is none, or has no model."""
    found = []
    for values in part(report, "models", list):
        sizes = part(values, "sizes", dict)
        dimension = part(sizes, "dimension", int)
        threshold = None if values.get("threshold") is None else number(values, "threshold")
        if threshold is not None and threshold <= 0:
            raise InputError(f"model {part(values, 'name', str)!r} has the threshold {threshold}; it must be positive")
        found.append(
            Model(
                name=part(values, "name", str),
                group=part(values, "group", str),
                kind=part(values, "kind", str),
                entities=part(sizes, "entities", int),
                relations=part(sizes, "relations", int),
                dimension=dimension,
                ratio=None if threshold is None else dimension / threshold,
                recalls=number(values, "accuracy") >= MEMORISED_AT,
                values=values,
            )
        )
    if not found:
        raise InputError("it has no models")
    return found


def over_dimension(found: Sequence[Model]) -> dict[tuple[int, int], list[Model]]:
    """The trained models of the group `dimension` by (N, R), by increasing dimension. InputError for none, for one
    without d*, and for more sizes than there are looks.
    """
    chosen = sorted((each for each in found if each.group == "dimension"), key=lambda each: each.dimension)
    if not chosen:
        raise InputError("it has no models of the group 'dimension'")
    if (without := next((each for each in chosen if each.ratio is None), None)) is not None:
        raise InputError(f"model {without.name!r} has no threshold")
    sizes = sorted({(each.entities, each.relations) for each in chosen})
    if len(sizes) > len(SIZE_LOOKS):
        raise InputError(f"its models have {len(sizes)} sizes (N, R); a figure tells {len(SIZE_LOOKS)} apart")
    return {size: [each for each in chosen if (each.entities, each.relations) == size] for size in sizes}


def constructions(found: Sequence[Model]) -> list[Model]:
    """The constructions, in the order of the report."""
    return [each for each in found if each.kind == "construction"]


def by_ratio(axes: Axes, own: Sequence[Model], path: tuple[str, ...], look: Look, shift: float = 1.0) -> None:
    """The fraction of that path against d/d*: every model with its interval, hollow if it does not recall its facts,
    and a line through the means over the seeds of those that do."""
    ratios: dict[float, list[float]] = {}
    for each in own:
        found = each.share(*path)
        if each.ratio is None or found is None:
            continue
        value, low, high = found
        point = Look("", look.colour, look.marker, "", each.recalls, look.size)
        with_intervals(axes, [each.ratio * shift], [value], [min(low, value)], [max(high, value)], point)
        if each.recalls:
            ratios.setdefault(each.ratio, []).append(value)
    places = sorted(ratios)
    line = look.options | {"marker": "", "linestyle": look.line}
    axes.plot([place * shift for place in places], [mean(ratios[place]) for place in places], **line)


def ratio_axis(axes: Axes, found: Sequence[Model]) -> None:
    """The horizontal axis of `by_ratio`."""
    ratios = [each.ratio for each in found if each.ratio is not None]
    places = [place for place in (0.5, 1, 2, 4, 8, 16, 32, 64) if min(ratios) / 1.5 <= place <= max(ratios) * 1.5]
    axes.set_xscale("log")
    axes.set_xlim(min([*ratios, *places]) / 1.25, max([*ratios, *places]) * 1.25)
    ticks(axes.xaxis, places)
    axes.set_xlabel("d / d*")
