"""The sweeps that are run: which curves serve which experiment, and how their thresholds are searched for.

Presets are data. `quick` shows every part at small sizes; `standard` is the comparison on two CPU cores; `paper` has
the sizes of the paper (arXiv 2605.12426): N = 4096 and R = 2 .. 16, with learned and frozen subjects, uniform and
learned attention, for one GPU. What they cost: `georecall compare --estimate`.

Experiments: `capacity` (E1: both tables learned), `frozen subjects`, `frozen read-out`, `frozen both` (the rest of E2's
2 × 2), `hops learned`, `hops tied`, `hops frozen`, `chain` (E6), `budget` (E1's curves with fewer and more steps) and
`switches` (one change each). E8 is fitted to `law_fitted`, one hop with learned tables, and tested on each group of
`law_held_out`: larger sizes, more hops, tables that are tied or frozen, chains, another width.

`scaling` asks E1 and E6 again, of curves and seeds that no other preset has: larger N, and two and three hops beside
*scrambled* ones, whose R^k words have independent bijections (`free`: as relations of one hop). Their rules were
written before any of these runs.

`structure` is E9 (`empirical.comparison.structure`): every family of fact systems in each setting, every d from one at
which none of five seeds memorises to one at which all do, the settings in the order in which they are trained.
`structure-large` asks five of them at N = 4096 and R = 16 and 64, for one GPU; by the rule it decides nothing alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from empirical.comparison.curves import Curve, curve
from empirical.comparison.search import Plan
from empirical.comparison.structure import FRESH, Role, Setting
from theory.definitions.families import FAMILIES
from theory.errors import InputError

Sizes = Iterable[tuple[int, int]]
STRUCTURE_SEEDS = 5
FIRST_NEW_SEED = 100

FROZEN: dict[str, dict[str, Any]] = {
    "frozen subjects": {"subjects": "frozen"},
    "frozen read-out": {"readout": "frozen"},
    "frozen both": {"subjects": "frozen", "readout": "frozen"},
}
HOPS: dict[str, dict[str, Any]] = {
    "hops learned": {},
    "hops tied": {"readout": "tied"},
    "hops frozen": {"readout": "frozen"},
    "chain": {"chain": True},
}


@dataclass(frozen=True)
class ComparisonPreset:
    """Curves by experiment (a curve may serve several), E8's fitted and held-out ones, and the search with all.

    `middle_sizes` are the (N, R, k) at which training begins at T2e once the searches are over
    (`empirical.comparison.middle`). `settings` are those of E9 (`empirical.comparison.structure`).
    """

    name: str
    experiments: tuple[tuple[str, tuple[Curve, ...]], ...]
    law_fitted: tuple[Curve, ...]
    law_held_out: tuple[tuple[str, tuple[Curve, ...]], ...]
    plan: Plan
    middle_sizes: tuple[tuple[int, int, int], ...] = ()
    settings: tuple[Setting, ...] = ()

    def curves(self, experiment: str) -> tuple[Curve, ...]:
        """The curves of one experiment. InputError, listing them, for an unknown one."""
        known = dict(self.experiments)
        if experiment not in known:
            raise InputError(f"preset {self.name} has no experiment {experiment!r}; it has {', '.join(known)}")
        return known[experiment]


def preset(name: str) -> ComparisonPreset:
    """The preset of that name. InputError, listing them, for an unknown one."""
    if name not in PRESETS:
        raise InputError(f"preset is {name!r}; it must be one of {', '.join(PRESETS)}")
    return PRESETS[name]


def _curves(sizes: Sizes, **condition: Any) -> tuple[Curve, ...]:
    return tuple(curve(entities, relations, **condition) for entities, relations in sizes)


def _hop_curves(sizes: Iterable[tuple[int, int, int]], **condition: Any) -> tuple[Curve, ...]:
    """Curves at (N, R, k); a chain of one hop is the one-pass model itself."""
    return tuple(
        curve(n, r, hops=k, **{name: value for name, value in condition.items() if name != "chain" or k > 1})
        for n, r, k in sizes
    )


def _preset(
    name: str, experiments: dict[str, tuple[Curve, ...]], larger: tuple[Curve, ...], **search: Any
) -> ComparisonPreset:
    """All curves once. `larger` are the curves of `capacity` that E8 is tested on, not fitted to."""
    every = tuple(dict.fromkeys(each for curves in experiments.values() for each in curves))
    fitted = tuple(each for each in experiments["capacity"] if each not in larger)
    groups = [("larger sizes", larger)]
    for group in (*HOPS, *FROZEN, "learned, selector width", "frozen both, selector width", "switches"):
        unseen = tuple(each for each in experiments.get(group, ()) if each not in experiments["capacity"])
        groups += [(group, unseen)] if unseen else []
    return ComparisonPreset(name, tuple(experiments.items()), fitted, tuple(groups), Plan(every, **search))


def _quick() -> ComparisonPreset:
    protocol: dict[str, Any] = {"steps": 1000}
    fitted, larger = [(32, 4), (32, 8), (64, 2), (64, 4), (64, 8)], [(128, 2), (128, 4), (128, 8), (256, 2), (256, 4)]
    hops = [(32, 2, 2), (32, 2, 3), (64, 2, 1), (64, 2, 2), (64, 4, 1), (64, 4, 2)]
    experiments = {
        "capacity": _curves(fitted + larger, **protocol),
        "frozen both": _curves([(32, 4), (64, 2), (64, 4)], **protocol, **FROZEN["frozen both"]),
        "hops learned": _hop_curves(hops, **protocol),
        "chain": _hop_curves(hops, **protocol, chain=True),
    }
    return _preset("quick", experiments, _curves(larger, **protocol), seeds=3, budget=24, largest_dimension=128)


def _standard() -> ComparisonPreset:
    fitted = [*product((32, 64), (2, 4)), (32, 8), (128, 4), (128, 8), (256, 2)]
    larger = [(64, 8), (128, 2), (256, 4), (256, 8), (512, 2), (1024, 2)]
    hops = [
        (64, 2, 1),
        (64, 2, 2),
        (64, 2, 3),
        (64, 3, 1),
        (64, 3, 2),
        (64, 4, 1),
        (64, 4, 2),
        (128, 2, 1),
        (128, 2, 2),
    ]
    grid = list(product((32, 64, 128, 256), (2, 4)))
    experiments = {"capacity": _curves(fitted + larger)}
    experiments |= {name: _curves(grid, **condition) for name, condition in FROZEN.items()}
    experiments |= {name: _hop_curves(hops, **condition) for name, condition in HOPS.items()}
    narrow = [*product((64, 128, 256), (2, 4))]
    experiments["learned, selector width"] = _curves(narrow, width="selector")
    experiments["frozen both, selector width"] = _curves(narrow, width="selector", **FROZEN["frozen both"])
    longer = [(32, 4), (32, 8), (64, 2), (64, 4), (128, 2), (128, 4)]
    experiments["budget"] = _curves([(64, 2), (64, 4), (128, 4)], steps=1000) + _curves(longer, steps=6000)
    switches: tuple[dict[str, Any], ...] = (
        {"attention": "learned"},
        {"residual": True},
        {"width": "selector"},
        {"width": 128},
        {"learning_rate": 0.03},
        {"learning_rate": 0.3},
        {"weight_decay": 0.01},
        {"precision": "bfloat16"},
    )
    experiments["switches"] = tuple(curve(128, 4, **switch) for switch in switches)
    found = _preset("standard", experiments, _curves(larger), seeds=5, budget=40, largest_dimension=256)
    return replace(found, middle_sizes=((32, 2, 2), (32, 3, 2), (32, 2, 3)))


def _paper() -> ComparisonPreset:
    # Half of the standard budget of steps: what leaves every search time to end within ten minutes (`cost.estimate`).
    protocol: dict[str, Any] = {"steps": 1000, "precision": "tf32"}
    sizes = [(4096, relations) for relations in (2, 4, 8, 16)]
    experiments = {
        "capacity": _curves(sizes, **protocol),
        "frozen subjects": _curves(sizes, **protocol, subjects="frozen"),
        "learned attention": _curves(sizes, **protocol, attention="learned"),
        "frozen subjects, learned attention": _curves(sizes, **protocol, subjects="frozen", attention="learned"),
    }
    larger = _curves(sizes[3:], **protocol)
    return _preset("paper", experiments, larger, seeds=5, budget=30, largest_dimension=1024, resolution=0.15)


CONDITIONS: dict[str, dict[str, Any]] = {
    "tied": {"readout": "tied"},
    "weight decay 0.1": {"weight_decay": 0.1},
    "rate 0.03": {"learning_rate": 0.03},
    "frozen read-out": {"readout": "frozen"},
    "10,000 steps": {"steps": 10_000},
}
AT_256 = ("independent", "synonyms", "inverses", "compositions", "involutions")


def setting(name: str, role: Role, entities: int, relations: int, systems: Sequence[str], **condition: Any) -> Setting:
    """A setting of E9: a curve for each system, and one for independent systems of fresh seeds."""
    plain = curve(entities, relations, **condition)
    fresh = replace(plain, first_seed=STRUCTURE_SEEDS)
    curves = [(system, curve(entities, relations, family=system, **condition)) for system in systems]
    return Setting(name, role, (curves[0], (FRESH, fresh), *curves[1:]))


def of_settings(name: str, settings: Sequence[Setting], **search: Any) -> ComparisonPreset:
    """A preset of E9 alone."""
    every = tuple(each for one in settings for _, each in one.curves)
    plan = Plan(every, seeds=STRUCTURE_SEEDS, resolution=0.0, certain=1.0, **search)
    experiments = tuple((one.name, tuple(each for _, each in one.curves)) for one in settings)
    return ComparisonPreset(name, experiments, (), (), plan, settings=tuple(settings))


def _structure() -> ComparisonPreset:
    settings = [
        setting("N=64 R=16", "deciding", 64, 16, FAMILIES),
        setting("N=128 R=16", "deciding", 128, 16, FAMILIES),
    ]
    settings.append(setting("N=64 R=32", "further size", 64, 32, FAMILIES))
    settings += [setting(name, "robustness", 64, 16, FAMILIES, **condition) for name, condition in CONDITIONS.items()]
    settings.append(setting("N=256 R=16", "further size", 256, 16, AT_256))
    return of_settings("structure", settings, budget=80, largest_dimension=96, at_once=len(settings[0].curves))


def _structure_large() -> ComparisonPreset:
    protocol: dict[str, Any] = {"steps": 1000, "precision": "tf32"}
    settings = [setting(f"N=4096 R={r}", "further size", 4096, r, AT_256, **protocol) for r in (16, 64)]
    return of_settings("structure-large", settings, budget=80, largest_dimension=1024)


def _scaling() -> ComparisonPreset:
    def fresh(curves: Iterable[Curve]) -> tuple[Curve, ...]:
        """The curves with seeds that no other preset has."""
        return tuple(replace(each, first_seed=FIRST_NEW_SEED) for each in curves)

    two_hops, three_hops = [(64, relations, 2) for relations in range(2, 9)], [(64, 2, 3), (64, 3, 3)]
    one_hop = [(64, relations, 1) for relations in range(2, 9)]
    sizes = [*product((64, 128, 256), (2, 4)), (1024, 2), (1024, 4), (2048, 2)]
    experiments = {
        "hops learned": fresh(_hop_curves([*one_hop, *two_hops, *three_hops])),
        "scrambled": fresh(_hop_curves([*two_hops, *three_hops], scrambled=True)),
        "free": fresh(_curves([(64, relations**2) for relations in range(2, 9)])),
        "capacity": fresh(_curves(sizes)),
    }
    every = tuple(dict.fromkeys(each for curves in experiments.values() for each in curves))
    plan = Plan(every, seeds=5, budget=40, largest_dimension=256, at_once=8)
    return ComparisonPreset("scaling", tuple(experiments.items()), (), (), plan)


ALL = (_quick(), _standard(), _paper(), _scaling(), _structure(), _structure_large())
PRESETS = {each.name: each for each in ALL}
