"""What a mutation does to a model or its facts: single entries, types, rows, tensors, heads, units, switches.

Each kind is a function of a model, its facts and a generator of random numbers; it gives what comes of them and says in
words what it did, or gives None where there is nothing to change. Some kinds change no logit but by a common factor
(`harmless`): a model may be right in strange ways. Weights are changed as Python's numbers, and stored in a type that
holds them.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from theory import Block, FactSystem, Transformer

Array = NDArray[Any]
Number = int | float


class Model(NamedTuple):
    """A transformer and the facts that it is asked for."""

    transformer: Transformer
    system: FactSystem


Mutation = Callable[[Model, np.random.Generator], tuple[Model, str] | None]


def constant(number: Number) -> Callable[[Number], Number]:
    """The function that gives the number, whatever it is given."""
    return lambda value: number


TYPES = ("int8", "int16", "int32", "int64", "uint64", "float16", "float32", "float64")

ENTRIES: dict[str, Callable[[Number], Number]] = {
    "+ 1": lambda value: value + 1,
    "- 1": lambda value: value - 1,
    "+ 3": lambda value: value + 3,
    "+ 1000": lambda value: value + 1000,
    "- 1000": lambda value: value - 1000,
    "+ 2^-40": lambda value: value + 2.0**-40,
    "- 2^-40": lambda value: value - 2.0**-40,
    "with its sign changed": lambda value: -value,
    "set to 0": lambda value: 0,
    "halved": lambda value: value / 2,
    "doubled": lambda value: value * 2,
}
SMALL = list(ENTRIES)
ENTRIES |= {
    f"set to {sign}{name}": constant(number)
    for name, large in {
        "2^31": 2**31,
        "2^48": 2**48,
        "2^53": 2**53,
        "(2^53 + 1)": 2**53 + 1,
        "2^62": 2**62,
        "(2^63 - 1)": 2**63 - 1,
        "2^63": 2**63,
        "2^64": 2**64,
        "1e30": 1e30,
        "1e300": 1e300,
        "2^-40": 2.0**-40,
        "5e-324": 5e-324,
    }.items()
    for sign, number in (("", large), ("-", -large))
}
FACTORS: tuple[Number, ...] = (2, 3, 0.5, 0.75, -1, 2**20, 2**40, 2.0**-40)


def stored(values: list[Number], kind: Any) -> Array | None:
    """The numbers as an array of a type, None unless they are finite and it holds every one of them."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            array = np.array(values, dtype=kind)
    except OverflowError:
        return None
    return array if np.isfinite(array).all() and array.tolist() == values else None


def replaced(array: Array, change: Callable[[Number], Number]) -> Array | None:
    """The array with every entry changed, as `refilled` stores it."""
    return refilled(array, [change(value) for value in array.ravel().tolist()])


def refilled(array: Array, values: list[Number]) -> Array | None:
    """The numbers in the array's shape, in its own type or the first that holds them; rounded to float64 when none
    does, and None where they are beyond its range.
    """
    for kind in (array.dtype, np.int64, np.uint64):
        found = stored(values, kind)
        if found is not None:
            return found.reshape(array.shape)
    rounded = np.array(values, np.float64).reshape(array.shape)
    return rounded if np.isfinite(rounded).all() else None


def retyped(array: Array, kind: str) -> Array | None:
    """The array in another type, None unless that holds every entry."""
    found = stored(array.ravel().tolist(), kind)
    return None if found is None else found.reshape(array.shape)


def with_tensors(transformer: Transformer, tensors: dict[str, Array]) -> Transformer:
    """The transformer with the tensors of these names replaced."""
    blocks = []
    for number, block in enumerate(transformer.blocks):
        own = {name: f"blocks.{number}.{name}" for name in Block.AXES}
        parts = {name: tensors[full] for name, full in own.items() if full in tensors}
        blocks.append(dataclasses.replace(block, **parts) if parts else block)
    outer: dict[str, Any] = {name: array for name, array in tensors.items() if not name.startswith("blocks.")}
    return dataclasses.replace(transformer, blocks=tuple(blocks), **outer)


def changed(model: Model, tensors: dict[str, Array | None], said: str) -> tuple[Model, str] | None:
    """The model with the tensors replaced, unless one could not be stored."""
    kept = {name: array for name, array in tensors.items() if array is not None}
    if len(kept) < len(tensors):
        return None
    return model._replace(transformer=with_tensors(model.transformer, kept)), said


def drawn_tensor(model: Model, generator: np.random.Generator) -> tuple[str, Array]:
    """The name and the values of a tensor that is not empty."""
    tensors = [(name, array) for name, array in model.transformer.tensors() if array.size]
    return tensors[generator.integers(len(tensors))]


def entries(model: Model, generator: np.random.Generator) -> tuple[Model, str] | None:
    """One to four entries of a tensor."""
    name, array = drawn_tensor(model, generator)
    names = SMALL if generator.random() < 0.6 else list(ENTRIES)
    values, said = array.ravel().tolist(), []
    for place in generator.choice(array.size, size=min(array.size, generator.choice([1, 1, 1, 2, 4])), replace=False):
        change = names[generator.integers(len(names))]
        values[place] = ENTRIES[change](values[place])
        said.append(f"{name}{[int(i) for i in np.unravel_index(place, array.shape)]} {change}")
    return changed(model, {name: refilled(array, values)}, ", ".join(said))


def one_type(model: Model, generator: np.random.Generator) -> tuple[Model, str] | None:
    """Every tensor in one type, where it holds it."""
    kind = TYPES[generator.integers(len(TYPES))]
    tensors = {name: retyped(array, kind) for name, array in model.transformer.tensors()}
    fitting: dict[str, Array | None] = {name: array for name, array in tensors.items() if array is not None}
    return changed(model, fitting, f"all tensors that fit as {kind}") if fitting else None


def mixed_types(model: Model, generator: np.random.Generator) -> tuple[Model, str] | None:
    """Each tensor in a type of its own that holds it."""
    tensors, said = {}, []
    for name, array in model.transformer.tensors():
        kind = TYPES[generator.integers(len(TYPES))]
        found = retyped(array, kind)
        if found is not None:
            tensors[name] = found
            said.append(f"{name} as {kind}")
    return changed(model, {**tensors}, ", ".join(said)) if tensors else None


def rows(model: Model, generator: np.random.Generator) -> tuple[Model, str] | None:
    """Two rows or columns of a tensor exchanged, one copied over the other, or all shuffled."""
    name, array = drawn_tensor(model, generator)
    axis = int(generator.integers(array.ndim))
    if array.shape[axis] < 2:
        return None
    one, other = generator.choice(array.shape[axis], size=2, replace=False).tolist()
    order = np.arange(array.shape[axis])
    which = generator.integers(5)
    if which < 2:
        order[[one, other]] = other, one
        said = f"{one} and {other} exchanged"
    elif which < 4:
        order[one] = other
        said = f"{other} copied over {one}"
    else:
        order = generator.permutation(order)
        said = f"taken in the order {order.tolist()}"
    return changed(model, {name: np.take(array, order, axis=axis)}, f"axis {axis} of {name}: {said}")


def scaled_tensor(model: Model, generator: np.random.Generator) -> tuple[Model, str] | None:
    """A whole tensor times a factor."""
    name, array = drawn_tensor(model, generator)
    factor = FACTORS[generator.integers(len(FACTORS))]
    return changed(model, {name: times(array, factor)}, f"{name} times {factor}")


def times(array: Array, factor: Number) -> Array | None:
    """The array times a factor, exactly where float64 holds the products."""
    return replaced(array, lambda value: value * factor)


def shifted_tensor(model: Model, generator: np.random.Generator) -> tuple[Model, str] | None:
    """A whole tensor plus 1 or minus 1."""
    name, array = drawn_tensor(model, generator)
    step = int(generator.choice([-1, 1]))
    return changed(model, {name: replaced(array, lambda value: value + step)}, f"{name} plus {step}")


def permuted(model: Model, axis: str, names: tuple[str, ...], order: Array, number: int | None) -> Transformer:
    """The transformer with an axis of the named tensors (of block `number`, or of every block) in another order."""
    tensors = {}
    outer = {"W_E": 1, "W_pos": 1, "W_U": 0} if axis == "dimension" else {}
    for name, array in model.transformer.tensors():
        own = name.rpartition(".")[2]
        if name in outer:
            tensors[name] = array[:, order] if outer[name] else array[order]
        elif own in names and number in (None, int(name.split(".")[1])):
            tensors[name] = np.take(array, order, axis=Block.AXES[own].split().index(axis))
    return with_tensors(model.transformer, tensors)


def harmless(model: Model, generator: np.random.Generator) -> tuple[Model, str] | None:
    """Heads, hidden units or coordinates in another order, or hidden units or the read-out at another scale."""
    which = generator.integers(5)
    if which == 4 or not model.transformer.blocks:
        factor = FACTORS[generator.choice([0, 1, 2, 3, 6, 7])]
        outer = {"W_U": model.transformer.W_U, "b_U": model.transformer.b_U}
        return changed(model, {n: times(a, factor) for n, a in outer.items()}, f"W_U and b_U times {factor}")
    number = int(generator.integers(len(model.transformer.blocks)))
    block = model.transformer.blocks[number]
    if which == 3:
        return rescaled_units(model, number, generator)
    axis, size = (("heads", block.heads), ("width", block.width), ("dimension", model.transformer.dimension))[which]
    order = generator.permutation(size)
    names = tuple(name for name, axes in Block.AXES.items() if axis in axes.split())
    where = "" if axis == "dimension" else f" of block {number}"
    transformer = permuted(model, axis, names, order, None if axis == "dimension" else number)
    return model._replace(transformer=transformer), f"the {axis}{where} in the order {order.tolist()}"


def rescaled_units(model: Model, number: int, generator: np.random.Generator) -> tuple[Model, str] | None:
    """What the hidden units of a block hold, times a power of two, and what they write divided by it."""
    bits = int(generator.choice([-30, -2, -1, 1, 2, 30]))
    block = model.transformer.blocks[number]
    factors = {"W_in": bits, "b_in": bits, "W_out": -bits}
    tensors = {f"blocks.{number}.{n}": times(getattr(block, n), _power(b)) for n, b in factors.items()}
    return changed(model, tensors, f"W_in and b_in of block {number} times 2^{bits}, W_out by 2^{-bits}")


def _power(bits: int) -> Number:
    """2^bits, whole where it is."""
    return 2**bits if bits > 0 else 2.0**bits


def heads_apart(model: Model, generator: np.random.Generator) -> tuple[Model, str] | None:
    """The heads of one of a block's tensors in another order, but not those of the others."""
    deep = [number for number, block in enumerate(model.transformer.blocks) if block.heads > 1]
    if not deep:
        return None
    number, name = int(generator.choice(deep)), str(generator.choice(["W_Q", "W_K", "W_V", "W_O"]))
    order = generator.permutation(model.transformer.blocks[number].heads)
    transformer = permuted(model, "heads", (name,), order, number)
    return model._replace(transformer=transformer), f"the heads of blocks.{number}.{name} in the order {order.tolist()}"


def switches(model: Model, generator: np.random.Generator) -> tuple[Model, str] | None:
    """The residual stream, causality, the kind of attention, or the inverse temperature."""
    transformer = model.transformer
    which = generator.integers(4)
    if which == 0:
        settings: dict[str, Any] = {"residual": not transformer.residual}
    elif which == 1:
        settings = {"causal": not transformer.causal}
    elif which == 2 and transformer.beta is not None:
        settings = {"beta": transformer.beta * float(generator.choice([0.25, 0.5, 2, 4, 1000, 1e9]))}
        if not 2.0**-20 < settings["beta"] < 2.0**40:
            return None
    else:
        attention = str(generator.choice(["uniform", "hardmax", "softmax"]))
        if attention == transformer.attention:
            return None
        beta = float(math.log(generator.integers(2, 1000))) if attention == "softmax" else None
        settings = {"attention": attention, "beta": beta}
    said = ", ".join(f"{name} = {value}" for name, value in settings.items())
    return model._replace(transformer=dataclasses.replace(transformer, **settings)), said


def facts(model: Model, generator: np.random.Generator) -> tuple[Model, str] | None:
    """Two answers of a relation exchanged, under the same weights."""
    answers = model.system.answers.copy()
    relation = int(generator.integers(model.system.relations))
    one, other = generator.choice(model.system.entities, size=2, replace=False).tolist()
    answers[relation, [one, other]] = answers[relation, [other, one]]
    said = f"facts: the answers of relation {relation} for {one} and {other} exchanged"
    return model._replace(system=FactSystem(answers)), said


# How often each kind is drawn, relatively.
KINDS: dict[Mutation, int] = {
    entries: 48,
    rows: 12,
    scaled_tensor: 8,
    shifted_tensor: 2,
    one_type: 5,
    mixed_types: 5,
    harmless: 10,
    heads_apart: 3,
    switches: 4,
    facts: 3,
}


def mutate(model: Model, generator: np.random.Generator) -> tuple[Model, str]:
    """The model after one mutation, and what it was."""
    kinds, weights = list(KINDS), np.array(list(KINDS.values()))
    while True:
        kind = kinds[generator.choice(len(kinds), p=weights / weights.sum())]
        found = kind(model, generator)
        if found is not None:
            return found
