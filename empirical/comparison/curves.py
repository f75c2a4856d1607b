"""A curve: one condition, to be trained at many embedding dimensions and seeds, whose threshold d* is asked for."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields, replace
from functools import cache
from typing import Any, Literal

from empirical.models.runs import RunConfig
from theory.definitions.fact_system import check_count
from theory.errors import InputError
from theory.statements.registry import evaluate

# The MLP width m of a run: a number; four times the dimension; or that of the explicit selector with one-bit entries
# (T1's R·p for one hop or a chain, T2's R^k·p for k hops in one pass).
Width = int | Literal["4d", "selector"]
RULES = ("4d", "selector")


@dataclass(frozen=True)
class Curve:
    """A condition without dimension and seed: those of `condition`, and its width, are replaced in every run.

    Seeds are counted from `first_seed`, so that two curves of one condition can have different systems.
    """

    condition: RunConfig
    width: Width = "4d"
    first_seed: int = 0

    def __post_init__(self) -> None:
        if isinstance(self.width, str) and self.width not in RULES:
            raise InputError(f"width rule is {self.width!r}; it must be a number or one of {', '.join(RULES)}")
        if not isinstance(self.width, str):
            check_count("width", self.width)
        check_count("first_seed", self.first_seed, at_least=0)
        object.__setattr__(self, "condition", replace(self.condition, dimension=1, width=1, seed=0))

    @property
    def entities(self) -> int:
        """N."""
        return self.condition.entities

    @property
    def relations(self) -> int:
        """R."""
        return self.condition.relations

    @property
    def hops(self) -> int:
        """k."""
        return self.condition.hops

    @property
    def independent(self) -> bool:
        """Whether the relations are independent bijections, and words their compositions: what the theory is about."""
        return self.condition.family == "independent" and not self.condition.scrambled

    @property
    def trained(self) -> Curve:
        """The curve whose runs have the same weights to the bit: of a chain of hops the one-hop model, which it is."""
        if not self.condition.chain:
            return self
        return replace(self, condition=replace(self.condition, hops=1, chain=False))

    @property
    def answers_per_subject(self) -> int:
        """How many answers of one subject are given at a time: R^k in one pass, R along a chain of single hops."""
        return self.relations if self.condition.chain else self.relations**self.hops

    def width_at(self, dimension: int) -> int:
        """The MLP width m of a run at this dimension."""
        if self.width == "4d":
            return 4 * dimension
        if self.width == "selector":
            return _selector_width(self.entities, self.relations, 1 if self.condition.chain else self.hops)
        return int(self.width)

    def config(self, dimension: int, seed: int) -> RunConfig:
        """The run of this curve at a dimension and the seed with this number, counted from `first_seed`."""
        return replace(self.condition, dimension=dimension, width=self.width_at(dimension), seed=self.first_seed + seed)

    @property
    def name(self) -> str:
        """N, R, k, the width, and whatever differs from the defaults of `RunConfig`: one name a curve."""
        parts = [f"N={self.entities} R={self.relations} k={self.hops} width={self.width}"]
        for each in fields(RunConfig):
            value = getattr(self.condition, each.name)
            if each.default is not MISSING and each.name not in ("hops", "seed") and value != each.default:
                parts.append(each.name if value is True else f"{each.name}={value}")
        if self.first_seed:
            parts.append(f"seeds from {self.first_seed}")
        return " ".join(parts)

    def as_dict(self) -> dict[str, Any]:
        """The condition by name, as JSON values, with the width rule and without dimension and seed."""
        values = self.condition.as_dict()
        del values["dimension"], values["seed"]
        return values | {"width": self.width}


def curve(entities: int, relations: int, *, width: Width = "4d", **condition: Any) -> Curve:
    """The curve at N, R and a width rule; `condition` are further fields of `RunConfig` (hops, readout, steps ..)."""
    return Curve(RunConfig(entities, relations, dimension=1, width=1, **condition), width)


@cache
def _selector_width(entities: int, relations: int, hops: int) -> int:
    return evaluate("T2", "width", entities=entities, relations=relations, hops=hops)
