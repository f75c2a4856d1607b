"""Tables of lower bounds beside what the constructions reach, one row a claim and setting.

A setting is (N, R, k, b, B, read-out, ε). Each lower bound stands on assumptions of its own and is set against the
constructions that satisfy them, at the B that they need themselves:

    universal models, one pass      T1c (k = 1), T2d, T8        T1b, T1d, T2              B = 0
    any model, fixed read-out       T2c, T8                     T2b, T4                   B = their memories
    any model, learned or tied      T2e                         T2e                       B = 0
    honest chains                   T3c                         T3, T3b                   B = 0
    width                           T1e                         (pre-activations of b bits)
    real entries, one hop           T12                         T1b's circle (its width)
    noise below 1/2                 T13                         T13; T2, which has T13's bits

For facts that are arbitrary maps T10 joins T2d, T2c and T2e, which hold for models of all maps too, and what needs
inverses is left out. Lower bounds that apply to any model are given at the setting's B; T11 is among them. At an error
rate above 0, T8 replaces T1c, T2c and T2d (for k > 1 it is known for universal models only), and the others say
nothing. The bits in all are those of numbers that depend on the facts: rows of d numbers of b bits in the subject table
and in a learned read-out, and one bit a sign in memories.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Literal

from bounds.enclosure import Interval, exceeds
from bounds.lower.beyond import universal_hops_with_errors
from bounds.lower.bound import Bound
from bounds.lower.centralisers import information_at_hops
from bounds.lower.chains import evenly_spaced, honest_chain
from bounds.lower.dichotomy import fixed_readout
from bounds.lower.frontier import strongest_for_dimension
from bounds.lower.information import (
    check_readout,
    total_information_with_errors,
    universal_single_hop,
    universal_with_errors,
)
from bounds.lower.learned_readout import learned_readout
from bounds.lower.maps import fixed_maps, learned_maps, universal_maps
from bounds.lower.universal import universal_hops, universal_width
from bounds.tables.layout import shown
from bounds.tables.precision import precision_rows
from bounds.tables.rows import BoundRow, BoundSetting, unless_absurd
from theory.errors import InputError
from theory.statements.assumptions import BIJECTIONS, MAPS
from theory.statements.registry import Quantity, evaluate, theorem

STRIDE = 2  # hops a token in the rows of T3b; the table of depth has all strides
MOST_SETTINGS = 20_000


@dataclass(frozen=True)
class ModelClass:
    """A class of models with a lower bound of its own: universal or not, one pass or a chain, and its read-out."""

    kind: Literal["universal", "any", "chain"]
    readout: str = "fixed"
    stride: int = 1


@dataclass(frozen=True)
class Built:
    """A construction in the tables: its place in the registry, what it is held against, and what depends on the facts.

    table_rows: rows of d·b bits for each entity; memory: bits that depend on the facts outside them.
    """

    label: str
    construction: str
    model: ModelClass
    table_rows: int = 1
    memory: int = 0

    @property
    def maps(self) -> bool:
        """Whether it serves arbitrary maps (T10): what has a read-out that is learned or tied holds inverses."""
        return self.model.readout == "fixed"


def settings(
    entities: Sequence[int],
    relations: Sequence[int],
    hops: Sequence[int],
    bits: Sequence[int],
    shared_bits: int = 0,
    readout: str = "fixed",
    error: Fraction = Fraction(0),
    maps: bool = False,
) -> list[BoundSetting]:
    """Every combination, in that order. InputError for more than `MOST_SETTINGS` of them, and for maps with errors."""
    if maps and error:
        raise InputError("no bound is known for arbitrary maps at an error rate above 0: T8 is about bijections")
    number = len(entities) * len(relations) * len(hops) * len(bits)
    if number > MOST_SETTINGS:
        raise InputError(f"{number} settings are too many for one table; at most {MOST_SETTINGS} are computed")
    grid = product(entities, relations, hops, bits)
    return [BoundSetting(*sizes, shared_bits, readout, error, maps) for sizes in grid]


def bound_rows(settings: Iterable[BoundSetting]) -> list[BoundRow]:
    """All lower bounds and constructions that apply to each setting, in the order of the settings."""
    return [
        row for setting in settings for row in (*lower_rows(setting), *upper_rows(setting), *precision_rows(setting))
    ]


def lower_rows(setting: BoundSetting) -> list[BoundRow]:
    """The lower bounds at the setting's B."""
    check_readout(setting.readout)
    models = {"universal": ModelClass("universal"), "any model, fixed": ModelClass("any")}
    if setting.readout != "fixed":
        models[f"any model, {setting.readout}"] = ModelClass("any", setting.readout)
    models["honest chain"] = ModelClass("chain", setting.readout)
    rows = [_lower_row(setting, name, model) for name, model in models.items()]
    if not setting.error:
        width = _width(setting)
        smallest = width.smallest_width(setting.bits)
        rows.append(_row_of_bound(setting, "width", width, dimension=None, width=smallest))
    return rows


def upper_rows(setting: BoundSetting) -> list[BoundRow]:
    """The constructions that apply to the setting's number of hops and read-out."""
    return [_upper_row(setting, built) for built in _constructions(setting) if built.maps or not setting.maps]


def strongest(model: ModelClass, setting: BoundSetting, shared_bits: int) -> Bound | None:
    """The best lower bound on d for a class of models at B = shared_bits; None if none is known at the setting's ε."""
    sizes = setting.entities, setting.relations, setting.hops
    bound = _strongest(model, *sizes, setting.error, shared_bits)
    if not setting.maps or model.kind == "chain" or bound is None:
        return bound
    return max(*_on_maps(model, *sizes), bound, key=lambda each: each.smallest_dimension(1, shared_bits))


def _on_maps(model: ModelClass, entities: int, relations: int, hops: int) -> tuple[Bound, ...]:
    """What T10 says of a class of models in one pass."""
    if model.kind == "universal":
        return (universal_maps(entities, relations, hops),)
    if model.readout == "fixed":
        return (fixed_maps(entities, relations, hops),)
    return learned_maps(entities, relations, hops, tied=model.readout == "tied").members


def _width(setting: BoundSetting) -> Bound:
    """T1e, with the answer vectors of maps where the facts are."""
    width = universal_width(setting.entities, setting.relations, setting.hops)
    vectors = universal_maps(setting.entities, setting.relations, setting.hops)
    if not setting.maps or not exceeds(vectors.information, width.information):
        return width
    assumptions = tuple(MAPS if each == BIJECTIONS else each for each in width.assumptions)
    return replace(width, information=vectors.information, assumptions=assumptions, argument=vectors.argument)


@lru_cache(maxsize=4096)
def _strongest(
    model: ModelClass, entities: int, relations: int, hops: int, error: Fraction, shared_bits: int
) -> Bound | None:
    if error:
        return _with_errors(model, entities, relations, hops, error)
    if model.kind == "universal":
        single = hops == 1
        return universal_single_hop(entities, relations) if single else universal_hops(entities, relations, hops)
    if model.kind == "chain":
        prefixes = evenly_spaced(hops, min(hops, model.stride))
        return strongest_for_dimension(honest_chain(entities, relations, prefixes, model.readout), shared_bits)
    if model.readout == "fixed":
        family = fixed_readout(entities, relations, hops)
    else:
        family = learned_readout(entities, relations, hops, tied=model.readout == "tied")
    bounds = strongest_for_dimension(family, shared_bits), information_at_hops(entities, relations, model.readout)
    return max(bounds, key=lambda bound: bound.smallest_dimension(1, shared_bits))


def _with_errors(model: ModelClass, entities: int, relations: int, hops: int, error: Fraction) -> Bound | None:
    if hops == 1:
        if model.kind == "universal":
            return universal_with_errors(entities, relations, error)
        return total_information_with_errors(entities, relations, error, model.readout)
    return universal_hops_with_errors(entities, relations, hops, error) if model.kind == "universal" else None


def _constructions(setting: BoundSetting) -> list[Built]:
    length, many = (setting.entities - 1).bit_length(), setting.hops > 1
    memory = setting.entities * setting.relations**setting.hops * length
    deep_memory = setting.entities * setting.relations * length if many else 0
    universal = ModelClass("universal")
    middle = [Built("T2e", "untied", ModelClass("any", "learned"), table_rows=2)]
    if setting.hops % 2:
        middle.append(Built("T2e split", "split", ModelClass("any", "learned"), table_rows=2))
    if setting.readout == "tied":
        middle = [Built("T2e", "tied", ModelClass("any", "tied"))]
    single = [
        Built("T1b", "digits", universal),
        Built("T1d", "lookup", universal),
        Built("T1d concatenated", "concatenated", universal),
    ]
    strided = Built("T3b", "fixed", ModelClass("chain", "fixed", STRIDE))
    if setting.readout == "learned":
        strided = Built("T3b", "learned", ModelClass("chain", "learned", STRIDE), table_rows=2)
    return [
        *([] if many else single),
        Built("T2", "direct", universal),
        Built("T2b", "memory", ModelClass("any"), table_rows=0, memory=memory),
        *middle,
        Built("T3", "parabola", ModelClass("chain")),
        *([strided] if many else []),
        Built("T4", "deep", ModelClass("any"), memory=deep_memory),
    ]


def _lower_row(setting: BoundSetting, name: str, model: ModelClass) -> BoundRow:
    bound = strongest(model, setting, setting.shared_bits)
    if bound is None:
        return BoundRow(setting, name, "lower", None, statement="none is known at an error rate above 0")
    smallest = bound.smallest_dimension(setting.bits, setting.shared_bits)
    return _row_of_bound(setting, name, bound, dimension=smallest, width=None)


def _row_of_bound(
    setting: BoundSetting, name: str, bound: Bound, *, dimension: int | None, width: int | None
) -> BoundRow:
    value = bound.value
    right = value.decimals()[0] if isinstance(value, Interval) else str(value)
    return BoundRow(
        setting,
        name,
        "lower",
        dimension,
        width,
        against=bound.theorem,
        statement=f"{bound.left_side} >= {right}",
        assumptions=bound.assumptions,
        argument=bound.argument,
    )


def _upper_row(setting: BoundSetting, built: Built) -> BoundRow:
    identifier = built.label.split()[0]
    stride = built.model.stride if identifier == "T3b" else None
    dimension, width, parameters = _costs(
        identifier, built.construction, setting.entities, setting.relations, setting.hops, setting.bits, stride
    )
    bound = strongest(built.model, setting, built.memory)
    return BoundRow(
        setting,
        built.label,
        "upper",
        dimension,
        unless_absurd(width),
        unless_absurd(parameters),
        built.table_rows * setting.entities * dimension * setting.bits + built.memory,
        against=f"{bound.theorem} at B = {shown(built.memory)}" if bound else "",
        least=bound.smallest_dimension(setting.bits, built.memory) if bound else None,
        assumptions=theorem(identifier).assumptions,
    )


@lru_cache(maxsize=4096)
def _costs(
    identifier: str, construction: str, entities: int, relations: int, hops: int, bits: int, stride: int | None
) -> tuple[int, int, int]:
    """Dimension, width and parameters, from the registry."""

    def cost(quantity: Quantity) -> int:
        """The dimension, width or parameters that the registry's formula gives for this construction at these sizes."""
        return evaluate(
            identifier,
            quantity,
            entities=entities,
            relations=relations,
            hops=hops,
            bits=bits,
            stride=stride,
            construction=construction,
        )

    return cost("dimension"), cost("width"), cost("parameters")
