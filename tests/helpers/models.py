"""Every construction with what it claims: the one list that the tests go through, made from the catalogue."""

from __future__ import annotations

from dataclasses import dataclass

import hypothesis.strategies as st

from constructions.weights.catalogue import CATALOGUE, Entry, Setting
from theory import FactSystem, Task, Transformer
from theory.definitions.strategies import fact_systems
from theory.statements.registry import theorem

STRIDES = (1, 2, 3)


@dataclass(frozen=True)
class Model:
    """A construction at one stride. `margin` is the margin that it claims; 0 claims a positive one."""

    entry: Entry
    stride: int
    margin: int
    universal: bool

    @property
    def name(self) -> str:
        stride = f", stride {self.stride}" if "stride" in self.entry.uses else ""
        return f"{self.entry.theorem} {self.entry.name}{stride}"

    @property
    def uses_hops(self) -> bool:
        return "hops" in self.entry.uses

    def build(self, system: FactSystem, hops: int = 1, bits: int = 1) -> Transformer:
        return self.entry.build(system, Setting(hops, bits, self.stride))

    def task(self, hops: int = 1) -> Task:
        return self.entry.task(Setting(hops, 1, self.stride))


def _models() -> list[Model]:
    models = []
    for entry in CATALOGUE:
        claim = theorem(entry.theorem).construction(entry.formulas or entry.name)
        for stride in STRIDES if "stride" in entry.uses else (1,):
            models.append(Model(entry, stride, claim.margin if entry.exact else 0, claim.universal))
    return models


MODELS = _models()
# Integer weights and rational attention: run exactly. Then integer weights and softmax; then real weights.
EXACT = [model for model in MODELS if model.entry.exact]
SOFTMAX = [model for model in MODELS if "softmax" in model.entry.name]
REAL = [model for model in MODELS if model not in EXACT and model not in SOFTMAX]


def named(name: str) -> Model:
    """The model of that name."""
    return next(model for model in MODELS if model.name == name)


@dataclass(frozen=True)
class Case:
    """A fact system with the hops and bits to build a model for."""

    system: FactSystem
    hops: int
    bits: int


@st.composite
def cases(
    draw: st.DrawFn, *, entities: int = 9, relations: int = 4, hops: int = 4, bits: int = 6, queries: int = 300
) -> Case:
    """Systems from two entities and one relation on, hops and bits from 1; at most `queries` queries or one hop."""
    system = draw(fact_systems(st.integers(2, entities), st.integers(1, relations)))
    few = [k for k in range(2, hops + 1) if system.entities * system.relations**k <= queries]
    return Case(system, draw(st.integers(1, max(few, default=1))), draw(st.integers(1, bits)))
