"""E9's rule on made-up outcomes, whose costs are known: what is compressed, what is not, and what is left open."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pytest

from empirical.comparison import structure
from empirical.comparison.capacity import learned_scalars
from empirical.comparison.curves import Curve, curve
from empirical.comparison.presets import PRESETS, of_settings, setting
from empirical.comparison.search import Trace
from empirical.comparison.structure import Cost, Setting, costs, judged, relative_cost, seed_thresholds, verdicts
from empirical.models.runs import RunConfig, RunResult
from tests.helpers.simulated import failed, result, sweep
from theory.definitions.families import FAMILIES
from theory.errors import InputError

SYSTEMS = ("independent", "maps", "inverses", "compositions", "synonyms", "fourfold-synonyms")
CONDITIONS = tuple(f"condition {number}" for number in range(5))

# The smallest d at which each family memorises.
UNUSED = {"synonyms": 14, "fourfold-synonyms": 8}


def settings() -> tuple[Setting, ...]:
    deciding = [setting(f"N={n}", "deciding", n, 16, SYSTEMS) for n in (64, 128)]
    further = setting("N=256", "further size", 256, 16, ("independent", "synonyms", "inverses", "compositions"))
    robust = [
        setting(name, "robustness", 64, 16, SYSTEMS, steps=1000 + number) for number, name in enumerate(CONDITIONS)
    ]
    return (*deciding, further, *robust)


def traces(every: tuple[Setting, ...], from_dimension: Callable[[RunConfig], float]) -> Mapping[Curve, Trace]:
    plan = of_settings("made up", every, budget=80, largest_dimension=96, at_once=3).plan
    return {each.curve: each for each in sweep(plan, lambda c: result(c, c.dimension >= from_dimension(c)))}


def found_in(every: tuple[Setting, ...], from_dimension: Callable[[RunConfig], float]) -> dict[str, tuple[Cost, ...]]:
    known = traces(every, from_dimension)
    return {each.name: costs(each, known) for each in every}


def statuses(from_dimension: Callable[[RunConfig], float]) -> dict[str, str]:
    every = settings()
    found = verdicts(every, found_in(every, from_dimension))
    return {each.statement.removeprefix("training compresses "): each.status for each in found}


def test_what_is_compressed_and_what_is_not() -> None:
    found = statuses(lambda c: {**UNUSED, "compositions": 10}.get(c.family, 24))
    assert found == {
        "inverses": "not supported",
        "compositions": "supported",
        "synonyms": "supported",
        "fourfold-synonyms": "supported",
    }


@pytest.mark.parametrize(
    ("what", "exception"),
    [
        ("another size says otherwise", lambda c: c.entities == 128),
        ("a further size says the opposite", lambda c: c.entities == 256),
        ("two conditions say otherwise", lambda c: c.steps in (1000, 1001)),
    ],
)
def test_a_family_is_decided_only_where_sizes_and_conditions_agree(
    what: str, exception: Callable[[RunConfig], bool]
) -> None:
    inverses = statuses(lambda c: 10 if c.family == "inverses" and exception(c) else UNUSED.get(c.family, 24))
    assert inverses["inverses"] == "undecided", what


def test_one_condition_may_say_otherwise() -> None:
    found = statuses(lambda c: 10 if c.family == "inverses" and c.steps == 1000 else UNUSED.get(c.family, 24))
    assert found["inverses"] == "not supported"


@pytest.mark.parametrize(
    "control",
    [
        lambda c: 24,  # synonyms are not compressed
        lambda c: 28 if c.family == "independent" and c.seed >= 5 else UNUSED.get(c.family, 24),  # fresh seeds differ
    ],
)
def test_without_its_controls_nothing_is_decided(control: Callable[[RunConfig], float]) -> None:
    assert set(statuses(control).values()) == {"undecided"}


@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [
        (0.5, 0.74, "compressed"),
        (0.5, 0.76, "undecided"),
        (0.76, 0.89, "undecided"),
        (0.76, 0.9, "not compressed"),
        (0.74, 1.1, "undecided"),
    ],
)
def test_the_rule_at_its_edges(low: float, high: float, outcome: str) -> None:
    assert judged(((low + high) / 2, low, high), 0.5) == outcome


def test_rho_and_its_interval_are_those_of_all_resamples() -> None:
    own, plain = curve(64, 16, family="inverses"), curve(64, 16)
    tops, base = [10, 11, 11, 11, 12], [14, 13, 14, 15, 14]
    value, low, high = relative_cost(own, tops, plain, base)

    def count(d: float) -> float:
        return 128 * d + 64 + 16 * d + 8 * d * d + 5 * d

    middle = [np.log(count(a - 0.5) / count(b - 0.5)) for a, b in zip(tops, base, strict=True)]
    assert value == pytest.approx(np.exp(np.mean(middle)))
    ends = []
    for shift_own, shift_base, place in ((1, 0, 0.025), (0, 1, 0.975)):
        logs = [np.log(count(a - shift_own) / count(b - shift_base)) for a, b in zip(tops, base, strict=True)]
        means = sorted(np.mean([logs[i] for i in chosen]) for chosen in itertools.product(range(5), repeat=5))
        ends.append(np.exp(means[int(np.ceil(place * len(means))) - 1]))
    assert (low, high) == pytest.approx(tuple(ends))
    # Equal thresholds leave open what lies between two whole dimensions.
    assert relative_cost(own, [11] * 5, plain, [11] * 5) == pytest.approx(
        (1, count(10) / count(11), count(11) / count(10))
    )


def trace_of(outcomes: Mapping[tuple[int, int], bool | None], stopped: str = "found") -> Trace:
    """Runs by (dimension, seed): memorised, not, or failed."""
    each = curve(64, 16)
    runs: list[RunResult] = []
    for (dimension, seed), memorised in outcomes.items():
        config = each.config(dimension, seed)
        runs.append(failed(config) if memorised is None else result(config, memorised))
    return Trace(each, tuple(runs), (), stopped)


def test_the_threshold_of_a_seed_counts_the_dimensions_at_which_it_fails() -> None:
    starts = {0: 9, 1: 10, 2: 10, 3: 11, 4: 12}
    outcomes = {(d, seed): d >= first for d in (8, 9, 10, 11, 12) for seed, first in starts.items()}
    assert seed_thresholds(trace_of(outcomes)) == (starts, "")
    # Not monotone: seed 0 fails at 10 again, and so counts as one more.
    assert seed_thresholds(trace_of(outcomes | {(10, 0): False}))[0][0] == 10
    # A run alone, on the way to the bracket, is not a dimension of all seeds.
    assert seed_thresholds(trace_of(outcomes | {(20, 0): True, (4, 0): False})) == (starts, "")


def test_a_failed_run_takes_its_seed_out() -> None:
    outcomes: dict[tuple[int, int], bool | None] = {(d, seed): d >= 10 for d in (9, 10) for seed in range(5)}
    outcomes |= {(9, 0): None, (9, 5): False}
    assert seed_thresholds(trace_of(outcomes))[0] == dict.fromkeys(range(1, 5), 10)


@pytest.mark.parametrize(
    ("outcomes", "stopped", "why"),
    [
        ({}, "", "the search has not ended"),
        ({}, "budget of 80 runs used", "budget"),
        ({(d, seed): d > 9 for d in (8, 9) for seed in range(5)}, "found", "no dimension"),
        ({(d, seed): d > 9 for d in (8, 10) for seed in range(5)}, "found", "dimension 9"),
    ],
)
def test_why_there_is_no_threshold(outcomes: dict[tuple[int, int], bool], stopped: str, why: str) -> None:
    found, reason = seed_thresholds(trace_of(outcomes, stopped))
    assert not found
    assert why in reason


def test_a_setting_half_trained_is_undecided_and_says_why() -> None:
    [first, *_] = settings()
    known = dict(traces((first,), lambda c: UNUSED.get(c.family, 24)))
    inverses = dict(first.curves)["inverses"]
    known[inverses] = replace(known[inverses], runs=known[inverses].runs[:3], stopped="")
    by_system = {each.system: each for each in costs(first, known)}
    assert by_system["inverses"].outcome == "undecided"
    assert by_system["inverses"].reason == "the search has not ended"
    assert by_system["synonyms"].outcome == "compressed"
    assert by_system["maps"].outcome is None
    assert by_system["maps"].rho == 1


def test_stored_bits_are_those_of_the_cross_entropy() -> None:
    each = curve(64, 16)
    config = each.config(10, 0)
    knows_all = replace(result(config, True), history=((0, 4.0, 0.0), (100, 0.0, 1.0)))
    everything = 16 * np.log2(np.arange(1, 65)).sum() / learned_scalars(each, 10)
    assert structure.stored_bits(each, [knows_all]) == pytest.approx(everything)
    guesses = replace(knows_all, history=((0, float(np.log(64)), 0.0),))
    assert structure.stored_bits(each, [guesses]) < 0
    of_maps = curve(64, 16, family="maps")
    assert structure.stored_bits(of_maps, [guesses]) == pytest.approx(0, abs=1e-12)


def test_the_preset_trains_every_family_from_none_to_all_of_five_seeds() -> None:
    chosen = PRESETS["structure"]
    assert (chosen.plan.seeds, chosen.plan.certain, chosen.plan.resolution) == (5, 1.0, 0.0)
    roles = [each.role for each in chosen.settings]
    assert roles == ["deciding"] * 2 + ["further size"] + ["robustness"] * 5 + ["further size"]
    for each in chosen.settings[:-1]:
        assert {name for name, _ in each.curves} == {*FAMILIES, "fresh"}
    fresh = dict(chosen.settings[0].curves)["fresh"]
    assert {fresh.config(3, seed).seed for seed in range(5)} == {5, 6, 7, 8, 9}


def test_a_scrambled_word_is_asked_in_one_pass() -> None:
    with pytest.raises(InputError, match="several hops in one pass"):
        RunConfig(8, 2, 2, 4, scrambled=True)
