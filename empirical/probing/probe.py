"""The whole probe of one model, and its record: readings by layer, superposition, exchanges, verdicts.

The JSON record (`empirical.execution.records`) has these keys (a *share* is {value, low, high,
subjects}: a mean over subjects with its 95 % bootstrap interval):

    model, dimension, blocks       the model's name, d and the number of blocks; layer 0 is the input embeddings
    layers                         the layers measured, ascending
    seed, level                    of folds, shuffles and bootstrap; 0.05
    relations                      a list: name, source, subjects, facts, objects, directions, known (share or null),
                                   headline (a reading), by_layer (a reading for each of `layers`)
        a reading                  layers (the one, or the one chosen in each fold); shares accuracy, known, unknown,
                                   agreement, unseen (null where they do not apply), majority, shuffled, randomised,
                                   similarity, gain; p_controls, p_similarity (Holm)
    left_out                       a list of {relation, reason}
    superposition                  a list, one a family: relations, subjects, layer, subspaces (pairs, mean, shuffled,
                                   random, random_low, random_high), parts (relation, alone, lost_without), by_layer
                                   (layer, together, shuffled, gain: shares of R²)
    swaps                          a list: relation, others, layer, strength, through_map, random, shuffled (each with
                                   shares success and leakage), gain, selective
    maps                           a list: relation, layer, penalty, rank, subjects (the maps fitted to all subjects)
    verdicts                       a list: claim, statement, status, rule, numbers, reason
    provenance                     versions, platform, commit
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy

from empirical.execution.provenance import provenance
from empirical.execution.records import as_lines
from empirical.probing.facts.probed import Probed, Relation
from empirical.probing.measures.families import families
from empirical.probing.measures.maps import LinearMap, fit_chosen
from empirical.probing.measures.measure import (
    LEAST_SUBJECTS,
    Facts,
    Progress,
    RelationReading,
    SubjectStates,
    checked_layers,
    facts_of,
    read_all,
    silent,
    states_of,
)
from empirical.probing.measures.superposition import Superposition, common_layer, superpose
from empirical.probing.measures.swap import Swap, swap
from empirical.probing.verdicts import exchanged, readable, superposed
from empirical.statistics.shares import LEVEL
from empirical.statistics.verdict import Verdict
from theory.errors import InputError
from theory.records.writing import make_directory, write_atomically

GIVES_NO_ANSWERS = "the model gives no answers that could change"


@dataclass(frozen=True)
class FittedMap:
    """A relation's map, fitted to all its subjects at the layer that the folds choose most often: for use, and not what
    was measured."""

    relation: str
    layer: int
    map: LinearMap

    def as_dict(self) -> dict[str, Any]:
        """What the record says of the map; its weights are in `write_maps`."""
        found = self.map
        sizes = {"penalty": found.penalty, "rank": found.rank, "subjects": found.subjects}
        return {"relation": self.relation, "layer": self.layer, **sizes}


@dataclass(frozen=True)
class ProbeReport:
    """Everything that was found of one model. `left_out` holds (relation, reason)."""

    model: str
    dimension: int
    blocks: int
    layers: tuple[int, ...]
    seed: int
    relations: tuple[RelationReading, ...]
    left_out: tuple[tuple[str, str], ...]
    superposition: tuple[Superposition, ...]
    swaps: tuple[Swap, ...]
    maps: tuple[FittedMap, ...]
    verdicts: tuple[Verdict, ...]
    provenance: dict[str, str]

    def as_dict(self) -> dict[str, Any]:
        """The record as JSON values (see the module)."""
        parts = {
            name: [each.as_dict() for each in getattr(self, name)]
            for name in ("relations", "superposition", "swaps", "maps", "verdicts")
        }
        simple = {name: getattr(self, name) for name in ("model", "dimension", "blocks", "seed", "provenance")}
        left_out = [{"relation": name, "reason": reason} for name, reason in self.left_out]
        return {**simple, "level": LEVEL, "layers": list(self.layers), "left_out": left_out, **parts}


def probe(
    model: Probed,
    relations: Sequence[Relation],
    layers: Sequence[int] | None = None,
    *,
    asks: bool = True,
    seed: int = 0,
    progress: Progress = silent,
) -> ProbeReport:
    """Probe a model for the relations at the given layers (all for None; layer 0 always, as a control).

    `asks` is False for a model that gives no answers. A relation that cannot be probed is left out, with the reason.
    InputError for a layer that the model does not have, two relations of one name, and where none can be probed.
    """
    chosen = checked_layers(model, layers)
    large, small = with_enough_subjects(relations)
    facts, left_out = _facts(model, large, asks, progress)
    left_out = small + left_out
    progress("states", 0, 1)
    states = states_of(model, [each.relation for each in facts], chosen, seed)
    readings = read_all(facts, states, seed=seed, progress=progress)
    sums: list[Superposition] = []
    swaps: list[Swap] = []
    for family in families(facts):
        layer = common_layer(family, readings)
        at = states.of(family.subjects)[0][chosen.index(layer)]
        maps = [
            fit_chosen(at, each.found, objects, seed)
            for each, objects in zip(family.facts, family.objects, strict=True)
        ]
        sums.append(superpose(family, states, maps, layer, seed=seed, progress=progress))
        swaps += swap(model, family, states, seed=seed, progress=progress) if asks else ()
    verdicts = (readable(readings), superposed(sums, readings), exchanged(swaps, "" if asks else GIVES_NO_ANSWERS))
    return ProbeReport(
        model=model.name,
        dimension=int(states.model.shape[-1]),
        blocks=model.layers,
        layers=chosen,
        seed=seed,
        relations=readings,
        left_out=tuple(left_out),
        superposition=tuple(sums),
        swaps=tuple(swaps),
        maps=tuple(_fitted(each, found, states, seed) for each, found in zip(facts, readings, strict=True)),
        verdicts=verdicts,
        provenance=provenance("cpu"),
    )


def with_enough_subjects(relations: Sequence[Relation]) -> tuple[list[Relation], list[tuple[str, str]]]:
    """The relations that have subjects enough to be probed, and (name, reason) of those that have too few.

    InputError where none has, and for two relations of one name.
    """
    names = [relation.name for relation in relations]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two relations are called {name!r}")
    large, small = [], []
    for relation in relations:
        subjects = len(relation.samples)
        if subjects >= LEAST_SUBJECTS:
            large.append(relation)
        else:
            reason = f"{relation.source} has {subjects} subjects; a probe needs at least {LEAST_SUBJECTS}"
            small.append((relation.name, reason))
    if small and not large:
        raise InputError("there is no relation to probe: " + "; ".join(f"{name}: {reason}" for name, reason in small))
    return large, small


def _facts(
    model: Probed, relations: Sequence[Relation], asks: bool, progress: Progress
) -> tuple[list[Facts], list[tuple[str, str]]]:
    """The facts of the relations that can be probed, and why the others cannot."""
    found, left_out = [], []
    for number, relation in enumerate(relations):
        progress(f"ask {relation.name}", number, len(relations))
        facts = facts_of(model, relation, asks=asks)
        if isinstance(facts, str):
            left_out.append((relation.name, facts))
        else:
            found.append(facts)
    if not found:
        reason = f"{left_out[0][0]}: {left_out[0][1]}" if left_out else "none is given"
        raise InputError(f"there is no relation to probe {model.name} for ({reason})")
    return found, left_out


def _fitted(facts: Facts, reading: RelationReading, states: SubjectStates, seed: int) -> FittedMap:
    layer = int(np.bincount(reading.headline.layers).argmax())
    at = states.of(facts.relation.subjects)[0][states.layers.index(layer)]
    return FittedMap(reading.name, layer, fit_chosen(at, facts.found, facts.objects, seed))


def write(report: ProbeReport, path: Path) -> None:
    """Write the record as JSON, whole or not at all."""
    text = as_lines(report.as_dict())
    write_atomically(path, lambda file: file.write_text(text, encoding="utf-8"))


def write_maps(report: ProbeReport, directory: Path) -> Path:
    """Write the fitted maps into DIRECTORY/maps.safetensors and give its path.

    For each relation the tensors `relation.centre` [d], `.read` [d, k], `.write` [k, d] and `.offset` [d]:
    direction = (state - centre) · read · write + offset. The metadata hold the model's name and, as JSON, each map's
    layer, penalty, rank and number of subjects.
    """
    tensors = {
        f"{each.relation}.{name}": np.ascontiguousarray(getattr(each.map, name), np.float32)
        for each in report.maps
        for name in ("centre", "read", "write", "offset")
    }
    metadata = {"model": report.model, "maps": json.dumps([each.as_dict() for each in report.maps])}
    make_directory(directory)
    path = directory / "maps.safetensors"
    write_atomically(path, lambda file: file.write_bytes(safetensors.numpy.save(tensors, metadata)))
    return path
