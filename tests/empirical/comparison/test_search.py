"""The threshold search: planted thresholds are found, by decisions that depend on nothing but the outcomes."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import georecall
from empirical.comparison import command
from empirical.comparison.cost import CPU_CORE, GPU, estimate, estimated_seconds
from empirical.comparison.curves import Curve, curve
from empirical.comparison.presets import PRESETS, preset
from empirical.comparison.search import FOUND, Plan, among, bracket
from empirical.models.runs import RunConfig, RunResult
from empirical.statistics.threshold import Trials, tally, threshold
from tests.helpers.simulated import failed, logistic, result, step, sweep
from theory.errors import InputError

CURVE = curve(256, 4)


def test_a_curve_gives_its_runs() -> None:
    assert CURVE.config(7, 3) == RunConfig(256, 4, 7, 28, seed=3)
    assert curve(256, 4, width=32, readout="frozen").config(7, 0) == RunConfig(256, 4, 7, 32, readout="frozen")
    assert curve(256, 4, width="selector").config(7, 0).width == 4 * 8
    assert curve(256, 4, hops=2, width="selector").config(7, 0).width == 16 * 8
    assert curve(256, 4, hops=2, chain=True, width="selector").config(7, 0).width == 4 * 8
    assert Curve(RunConfig(256, 4, 9, 99, seed=5)) == CURVE


def test_a_bad_width_rule_is_refused() -> None:
    with pytest.raises(InputError, match="width rule is '3d'"):
        curve(256, 4, width="3d")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="width"):
        curve(256, 4, width=0)


@pytest.mark.parametrize("centre", [1.5, 2, 2.5, 6, 6.5, 11, 30, 77, 200])
def test_a_planted_threshold_is_bracketed_by_neighbours(centre: float) -> None:
    (trace,) = sweep(Plan((CURVE,)), step(centre))
    assert trace.stopped == FOUND
    lower, upper = bracket(tally(trace.runs))
    assert lower is not None
    assert upper is not None
    assert lower < centre <= upper
    assert upper - lower <= max(1, lower // 20)
    filled = {each.dimension for each in tally(trace.runs) if each.runs == 5}
    assert {lower, upper} <= filled
    assert len(trace.runs) <= 22


def test_noise_is_followed_until_the_success_probability_crosses_one_half() -> None:
    for number in range(20):
        (trace,) = sweep(Plan((CURVE,), budget=200), logistic(12.3, 15, number))
        rates = [each.rate for each in tally(trace.runs) if each.runs == 5]
        assert trace.stopped == FOUND
        assert min(rates) <= 1 / 4
        assert max(rates) >= 3 / 4


def test_all_curves_are_searched_at_once_and_no_run_twice() -> None:
    plan = Plan((curve(64, 2), curve(64, 4), curve(64, 4, width=32)))
    results: list[RunResult] = []
    batches = 0
    while batch := plan.next_batch(among(results)):
        batches += 1
        assert len(set(batch)) == len(batch)
        assert not set(batch) & {each.config for each in results}
        results += [step(2.5 * config.relations)(config) for config in batch]
    # At d = 8 the rules "4d" and 32 ask for the same run: it is asked for once and serves both.
    shared = curve(64, 4).config(8, 0)
    assert all(shared in {run.config for run in trace.runs} for trace in plan.traces(among(results))[1:])
    assert all(trace.stopped == FOUND for trace in plan.traces(among(results)))
    assert batches < sum(len(trace.runs) for trace in plan.traces(among(results))) / 3


def test_an_interrupted_sweep_takes_the_same_decisions() -> None:
    plan = Plan((curve(64, 2), curve(128, 4), curve(256, 8)))
    outcome = logistic(9.0, 12, sweep=5)
    whole = sweep(plan, outcome)
    generator = np.random.default_rng(0)
    results: list[RunResult] = []
    while batch := plan.next_batch(among(results)):
        # Of each batch an arbitrary part is finished, in arbitrary order.
        count = int(generator.integers(1, len(batch) + 1))
        results += [outcome(batch[place]) for place in generator.permutation(len(batch))[:count]]
    assert plan.traces(among(results)) == whole
    assert {each.config for each in results} == {run.config for trace in whole for run in trace.runs}


def test_runs_that_were_not_asked_for_change_nothing() -> None:
    plan = Plan((CURVE,))
    strangers = [result(CURVE.config(dimension, 4), True) for dimension in (2, 3, 4)]
    strangers += [result(curve(256, 4, residual=True).config(5, 0), False)]
    assert sweep(plan, step(9), strangers) == sweep(plan, step(9))


def test_failed_runs_are_not_counted_and_another_seed_takes_their_place() -> None:
    def outcome(config: RunConfig) -> RunResult:
        return failed(config) if config.seed in (0, 3) else step(6)(config)

    (trace,) = sweep(Plan((CURVE,)), outcome)
    assert trace.stopped == FOUND
    assert bracket(tally(trace.runs)) == (5, 6)
    for each in tally(trace.runs):
        assert each.rate == (each.dimension >= 6)
        assert each.left_out >= 1
    assert [each.runs for each in tally(trace.runs) if each.dimension in (5, 6)] == [5, 5]
    found, clean = threshold(trace.runs), threshold(sweep(Plan((CURVE,)), step(6))[0].runs)
    assert found.dimension == pytest.approx(clean.dimension, rel=0.01)
    assert found.left_out > 0


def test_a_dimension_at_which_every_run_fails_stops_the_search_and_is_no_threshold() -> None:
    def outcome(config: RunConfig) -> RunResult:
        return failed(config) if config.dimension > 20 else result(config, False)

    (trace,) = sweep(Plan((CURVE,)), outcome)
    assert trace.stopped.startswith("every run failed at dimension ")
    found = threshold(trace.runs)
    assert found.dimension is None
    assert found.high is None
    assert found.low <= 20


def test_what_cannot_be_found_is_said() -> None:
    plan = Plan((CURVE,), largest_dimension=40)
    (never,) = sweep(plan, step(41))
    assert never.stopped == "not memorised up to dimension 40"
    assert tally(never.runs)[-1] == Trials(40, 0, 5, 0)
    assert sweep(plan, step(40))[0].stopped == FOUND
    assert sweep(plan, step(1))[0].stopped == "memorised at dimension 1 already"


def test_the_budget_is_kept() -> None:
    (trace,) = sweep(Plan((CURVE,), budget=9), logistic(12, 3))
    assert trace.stopped == "budget of 9 runs used"
    assert len(trace.runs) == 9


@pytest.mark.parametrize(("dimension", "luck"), [(3, True), (7, True), (20, False), (11, False)])
def test_one_lucky_or_unlucky_seed_does_not_mislead(dimension: int, luck: bool) -> None:
    def outcome(config: RunConfig) -> RunResult:
        if config.dimension == dimension and config.seed == 0:
            return result(config, luck)
        return step(10)(config)

    (trace,) = sweep(Plan((CURVE,)), outcome)
    assert trace.stopped == FOUND
    assert bracket(tally(trace.runs)) == (9, 10)


def test_bad_settings_are_refused() -> None:
    with pytest.raises(InputError, match="seeds"):
        Plan((CURVE,), seeds=0)
    with pytest.raises(InputError, match="growth must be above 1"):
        Plan((CURVE,), growth=1.0)
    with pytest.raises(InputError, match="twice"):
        Plan((CURVE, CURVE))


@pytest.mark.parametrize("name", [name for name in PRESETS if PRESETS[name].law_fitted])
def test_presets_are_whole(name: str) -> None:
    chosen = preset(name)
    names = [each.name for each in chosen.plan.curves]
    assert len(set(names)) == len(names)
    held_out = [each for _, curves in chosen.law_held_out for each in curves]
    assert chosen.law_fitted
    assert held_out
    assert not set(chosen.law_fitted) & set(held_out)
    assert set(chosen.law_fitted) | set(held_out) <= set(chosen.plan.curves)
    assert {each for _, curves in chosen.experiments for each in curves} == set(chosen.plan.curves)
    assert all(chosen.curves(name) == curves for name, curves in chosen.experiments)


def test_new_curves_have_seeds_of_their_own() -> None:
    known = [each for name in ("quick", "standard") for each in preset(name).plan.curves]
    used = {each.config(4, seed) for each in known for seed in range(10)}
    new = {each.config(4, seed) for each in preset("scaling").plan.curves for seed in range(10)}
    assert not used & new
    composed, scrambled = (preset("scaling").curves(name) for name in ("hops learned", "scrambled"))
    several = [each for each in composed if each.hops > 1]
    assert [(each.entities, each.relations, each.hops) for each in several] == [
        (each.entities, each.relations, each.hops) for each in scrambled
    ]
    assert all(each.condition.scrambled for each in scrambled)


def test_curves_are_searched_in_their_order_so_many_at_a_time() -> None:
    curves = tuple(curve(64, relations) for relations in (2, 4, 8))
    plan = Plan(curves, seeds=3, at_once=2)
    assert {config.relations for config in plan.next_batch(among(()))} == {2, 4}
    [first] = (trace for trace in sweep(replace(plan, curves=curves[:1]), step(5)))
    assert {config.relations for config in plan.next_batch(among(first.runs))} == {4, 8}
    every = sweep(plan, step(5))
    assert {trace.stopped for trace in every} == {"found"}
    assert {(trace.curve, trace.runs) for trace in every} == {
        (trace.curve, trace.runs) for trace in sweep(replace(plan, at_once=None), step(5))
    }
    with pytest.raises(InputError, match="at_once"):
        Plan(curves, at_once=0)


def test_filling_goes_on_until_it_is_as_certain_as_asked() -> None:
    def spread(config: RunConfig) -> RunResult:
        return result(config, config.dimension >= 10 + config.seed)

    for certain, dimensions in ((3 / 4, range(9, 14)), (1.0, range(9, 15))):
        plan = Plan((CURVE,), seeds=5, resolution=0.0, certain=certain)
        (trace,) = sweep(plan, spread)
        assert trace.stopped == "found"
        whole = {d for d in range(1, 40) if sum(run.config.dimension == d for run in trace.runs) >= 5}
        assert whole == set(dimensions)
    for share in (0.5, 1.1):
        with pytest.raises(InputError, match="certain must be a share"):
            Plan((CURVE,), certain=share)


def test_presets_have_the_sizes_they_promise() -> None:
    quick, standard, paper = (PRESETS[name] for name in ("quick", "standard", "paper"))
    assert max(each.entities for each in quick.plan.curves) == 256
    assert max(each.entities for each in standard.plan.curves) == 1024
    assert max(each.relations for each in standard.plan.curves) == 8
    assert max(each.hops for each in standard.plan.curves) == 3
    assert standard.plan.seeds >= 5
    conditions = {(c.condition.subjects, c.condition.readout) for c in standard.plan.curves if c.hops == 1}
    assert set(product(("learned", "frozen"), repeat=2)) <= conditions
    assert {each.entities for each in paper.plan.curves} == {4096}
    assert {each.relations for each in paper.plan.curves} == {2, 4, 8, 16}


def test_the_sweeps_are_affordable_on_two_cores() -> None:
    assert estimate(PRESETS["quick"].plan, CPU_CORE).seconds < 2 * 120
    assert estimate(PRESETS["standard"].plan, CPU_CORE).seconds < 2 * 1800
    assert estimate(PRESETS["paper"].plan, GPU).seconds < 540


def test_the_command_says_what_a_preset_costs_and_trains_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "can_train", lambda: False)
    store = tmp_path / "runs.sqlite"
    found = CliRunner().invoke(georecall.main, ["compare", "--preset", "quick", "--estimate", "--store", str(store)])
    expected = estimate(PRESETS["quick"].plan, CPU_CORE)
    first, second = found.stdout.splitlines()
    assert first == f"quick on one CPU core: {expected.runs} runs in {expected.batches} batches, 1 min"
    assert second.startswith("quick on one H200: ")
    assert (found.exit_code, list(tmp_path.iterdir())) == (0, [])


@pytest.mark.parametrize(
    ("arguments", "message"), [(["--json", "a.json"], "--estimate trains nothing"), (["--preset", "huge"], "'huge'")]
)
def test_an_estimate_of_nothing_or_a_report_of_it_is_refused(arguments: list[str], message: str) -> None:
    found = CliRunner().invoke(georecall.main, ["compare", "--estimate", *arguments])
    assert found.exit_code == 2
    assert message in found.stderr


def test_the_price_of_a_run() -> None:
    config = RunConfig(256, 4, 16, 64, steps=3000)
    assert estimated_seconds(config, CPU_CORE, memorised=False) == pytest.approx(5.0)
    assert estimated_seconds(config, CPU_CORE, memorised=True) == pytest.approx(2.0)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(InputError, match=r"preset is 'huge'; it must be one of quick, standard, paper"):
        preset("huge")
    with pytest.raises(InputError, match="no experiment 'E9'"):
        PRESETS["quick"].curves("E9")


def test_results_are_known_by_their_configuration() -> None:
    run = result(CURVE.config(5, 0), True)
    assert among([run])(run.config) == run
    assert among([run])(CURVE.config(5, 1)) is None
