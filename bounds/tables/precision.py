"""Rows on what precision is worth, without errors and for bijections: entries of any precision (T12), which one hop
pays for in width, and entries 0..2^b - 1 under noise below 1/2 (T13), which are worth b bits.
"""

from dataclasses import replace
from fractions import Fraction

from bounds.lower.precision import least_noisy_dimension, least_real_dimension, least_width
from bounds.tables.rows import BoundRow, BoundSetting, unless_absurd
from theory.statements.assumptions import Assumption
from theory.statements.inequalities import INEQUALITIES, stands_on
from theory.statements.registry import Quantity, evaluate, theorem

NOISE = Fraction(1, 2)


def precision_rows(setting: BoundSetting) -> list[BoundRow]:
    """T12 and T13, and the constructions beside them; none at an error rate, or for maps."""
    if setting.error or setting.maps:
        return []
    extent = Fraction(2**setting.bits - 1)
    noisy = least_noisy_dimension(setting.entities, setting.relations, setting.hops, extent, NOISE)
    under_noise = _lower(setting, "noise below 1/2", "T13", "universal", noisy, None)
    if setting.hops > 1:
        return [under_noise]
    real_width = _cost(setting, "T1b", "circle", "width")
    real = least_real_dimension(setting.entities, setting.relations, real_width)
    width = least_width(setting.entities, setting.relations)
    return [
        _lower(setting, "width, d = 1", "T12", "one coordinate", None, width),
        replace(
            _lower(setting, "reals", "T12", "d coordinates", real, real_width),
            argument="at the width of T1b's circle; one coordinate only where T12 allows it at that width",
        ),
        _upper(setting, "T1b circle", "T1b", "circle", real, "T12 at its width", None),
        under_noise,
        _upper(setting, "T13", "T13", "shifted", noisy, "T13", setting.bits),
    ]


def _lower(
    setting: BoundSetting, label: str, identifier: str, name: str, dimension: int | None, width: int | None
) -> BoundRow:
    (formula,) = (each.formula for each in INEQUALITIES[identifier] if each.name == name)
    return BoundRow(
        setting,
        label,
        "lower",
        dimension,
        None if width is None else unless_absurd(width),
        against=identifier,
        statement=formula,
        assumptions=stands_on(identifier, name),
    )


def _upper(
    setting: BoundSetting, label: str, identifier: str, name: str, least: int, against: str, bits: int | None
) -> BoundRow:
    dimension = _cost(setting, identifier, name, "dimension")
    assumptions: tuple[Assumption, ...] = theorem(identifier).assumptions
    return BoundRow(
        setting,
        label,
        "upper",
        dimension,
        unless_absurd(_cost(setting, identifier, name, "width")),
        unless_absurd(_cost(setting, identifier, name, "parameters")),
        None if bits is None else setting.entities * dimension * bits,
        against=against,
        least=least,
        assumptions=assumptions,
    )


def _cost(setting: BoundSetting, identifier: str, name: str, quantity: Quantity) -> int:
    sizes = {"entities": setting.entities, "relations": setting.relations, "bits": setting.bits}
    return evaluate(identifier, quantity, **sizes, construction=name)
