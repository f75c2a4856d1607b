"""Which models the mechanism is studied in: trained ones by condition and seed, and constructions, where all is known.

A *condition* is a run (which ends when it has memorised), the steps that it is trained further, and how many fact
systems share everything but the subject table meanwhile (`further`). Groups vary one thing each, around a baseline: N =
256, learned tables, width 2d, weight decay 0.1, 300 steps past memorisation, one system. `d / d*` takes d* from the
capacity law (`empirical.comparison.capacity`) at 2 bits a scalar of the tables that learn: a yardstick, not a
measurement.

The groups were chosen by pilots so that the map shows where transfer fails and where it does not, along each of these
ways. What the study found is in `docs/mechanism.md`, from the results that the preset `standard` makes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from constructions.weights.catalogue import Setting
from empirical.comparison.capacity import PILOT_BETA, Counting, predicted_dimension, tables_learned
from empirical.comparison.curves import Curve
from empirical.models.runs import RunConfig
from theory.errors import InputError

BASE: dict[str, Any] = {"steps": 1000, "weight_decay": 0.1}
BEYOND = 300


@dataclass(frozen=True)
class TrainedModel:
    """One trained model: its run, the steps past memorisation, the fact systems that share it, the group it is of."""

    group: str
    config: RunConfig
    beyond: int = BEYOND
    tables: int = 1

    @property
    def threshold(self) -> float:
        """d* by the capacity law."""
        return threshold(self.config)

    @property
    def name(self) -> str:
        """The condition in words, without the seed."""
        own = self.config
        plain = RunConfig(own.entities, own.relations, own.dimension, own.width, **BASE, seed=own.seed)
        changes = [f"{key} {value}" for key, value in own.as_dict().items() if value != getattr(plain, key)]
        changes += [f"{self.beyond} steps beyond"] if self.beyond != BEYOND else []
        changes += [f"{self.tables} systems"] if self.tables > 1 else []
        sizes = f"N = {own.entities}, R = {own.relations}, d = {own.dimension}, width {own.width}"
        return ", ".join([sizes, *changes]).replace("_", " ")

    def as_dict(self) -> dict[str, Any]:
        """What makes the model, as JSON values."""
        return {"config": self.config.as_dict(), "beyond": self.beyond, "tables": self.tables}


def threshold(config: RunConfig) -> float:
    """d* of the run's condition by the capacity law at 2 bits a scalar, of the MLP where neither table learns."""
    curve = Curve(config, config.width)
    counting: Counting = "tables" if tables_learned(curve) else "tables and MLP"
    return predicted_dimension(curve, PILOT_BETA, counting)


@dataclass(frozen=True)
class BuiltModel:
    """A construction for a random system: where every answer of the analyses is known."""

    theorem: str
    entities: int
    relations: int
    setting: Setting = field(default_factory=Setting)
    form: str | None = None
    seed: int = 0


@dataclass(frozen=True)
class MechanismPreset:
    """The models, and the number of new systems and steps of fitting in `transfer`, for each of them."""

    name: str
    conditions: tuple[TrainedModel, ...]
    constructions: tuple[BuiltModel, ...]
    systems: int
    fit_steps: int


def preset(name: str) -> MechanismPreset:
    """The preset of that name. InputError, listing them, for an unknown one."""
    if name not in PRESETS:
        raise InputError(f"preset is {name!r}; it must be one of {', '.join(PRESETS)}")
    return PRESETS[name]


def _conditions(
    group: str,
    entities: int,
    relations: int,
    dimension: int,
    seeds: int,
    *,
    beyond: int = BEYOND,
    tables: int = 1,
    **change: Any,
) -> list[TrainedModel]:
    config = RunConfig(entities, relations, dimension, **{"width": 2 * dimension, **BASE, **change})
    return [TrainedModel(group, replace(config, seed=seed), beyond, tables) for seed in range(seeds)]


def _constructions(entities: int) -> tuple[BuiltModel, ...]:
    return (
        BuiltModel("T1", entities, 3),
        BuiltModel("T1b", entities, 3, Setting(bits=3)),
        BuiltModel("T2", entities, 2, Setting(hops=2)),
        BuiltModel("T3", entities, 3, Setting(hops=2)),
        BuiltModel("T2b", entities, 2),
    )


def _quick() -> MechanismPreset:
    conditions = _conditions("dimension", 128, 2, 4, 2) + _conditions("dimension", 128, 2, 64, 2)
    conditions += _conditions("systems that share", 128, 2, 64, 2, tables=4, readout="frozen")
    conditions += _conditions("tables that learn", 128, 2, 64, 2, subjects="frozen", readout="frozen")
    return MechanismPreset("quick", tuple(conditions), _constructions(128), systems=2, fit_steps=100)


def _standard() -> MechanismPreset:
    found: list[TrainedModel] = []
    for dimension in (4, 8, 16, 32, 64):
        found += _conditions("dimension", 256, 2, dimension, 3)
    for dimension in (8, 16, 32, 64, 128):
        found += _conditions("dimension", 256, 4, dimension, 2 if dimension == 128 else 3)
    found += _conditions("entities", 64, 2, 32, 3) + _conditions("entities", 1024, 2, 32, 2)
    for dimension in (64, 128):
        found += _conditions("entities", 1024, 2, dimension, 2, readout="frozen")
    for width in (8, 16, 512):
        found += _conditions("width", 256, 2, 32, 3, width=width)
    for decay in (0.0, 0.01, 0.5):
        found += _conditions("weight decay", 256, 2, 32, 3, weight_decay=decay)
    for beyond in (0, 100, 2000):
        found += _conditions("training time", 256, 2, 32, 3, beyond=beyond)
    found += _conditions("training time", 256, 2, 32, 3, beyond=0, weight_decay=0.0)
    for dimension in (32, 64):
        found += _conditions("learning rate", 256, 2, dimension, 3, learning_rate=0.03)
    found += _conditions("residual", 256, 2, 32, 3, residual=True)
    found += _conditions("attention", 256, 2, 32, 3, attention="learned", learning_rate=0.01)
    for dimension in (16, 32, 64):
        found += _conditions("tables that learn", 256, 2, dimension, 3, readout="frozen")
    found += _conditions("tables that learn", 256, 2, 32, 3, readout="tied")
    found += _conditions("tables that learn", 256, 2, 32, 3, subjects="frozen")
    found += _conditions("tables that learn", 256, 2, 64, 3, subjects="frozen", readout="frozen", width=512)
    for dimension, tables in ((16, 16), (32, 4), (32, 16)):
        found += _conditions("systems that share", 256, 2, dimension, 3, tables=tables)
    for relations, dimension, tables in ((2, 64, 4), (4, 64, 8), (4, 128, 4), (4, 128, 16)):
        seeds = 2 if dimension == 128 else 3
        found += _conditions("systems that share", 256, relations, dimension, seeds, tables=tables, readout="frozen")
    found += _conditions("hops", 128, 2, 64, 3, hops=2)
    return MechanismPreset("standard", tuple(found), _constructions(256), systems=3, fit_steps=400)


def _paper() -> MechanismPreset:
    found: list[TrainedModel] = []
    for relations, dimensions in ((2, (16, 32, 64, 128)), (4, (32, 64, 128)), (8, (64, 128))):
        for dimension in dimensions:
            found += _conditions("dimension", 1024, relations, dimension, 3, readout="frozen")
            found += _conditions("systems that share", 1024, relations, dimension, 3, tables=4, readout="frozen")
    for dimension in (64, 128):
        found += _conditions("entities", 4096, 2, dimension, 2, readout="frozen")
    return MechanismPreset("paper", tuple(found), _constructions(256), systems=5, fit_steps=400)


PRESETS = {each.name: each for each in (_quick(), _standard(), _paper())}
