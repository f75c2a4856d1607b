"""Training from T2e: exact it begins perfect, far from it at chance; and the rule says no where it must."""

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from empirical.comparison import compare as comparing
from empirical.comparison.command import text
from empirical.comparison.compare import judge
from empirical.comparison.compare import rows as ledger
from empirical.comparison.middle import NOISE, SEEDS, MiddleOutcome, distance, middle, moved, rows, solution
from empirical.comparison.presets import PRESETS
from empirical.models.runs import RunConfig, RunResult
from tests.helpers.simulated import step, sweep
from theory.errors import InputError

torch = pytest.importorskip("torch")
SIZE = (16, 2, 2)


def by_noise(outcomes: tuple[MiddleOutcome, ...]) -> dict[float | None, MiddleOutcome]:
    return {each.noise: each for each in outcomes}


def planted(noise: float | None, perfect: int, runs: int = SEEDS, failed: int = 0) -> MiddleOutcome:
    from scipy.stats import beta

    ended = runs - failed
    low = float(beta.ppf(0.025, perfect, ended - perfect + 1)) if perfect else 0.0
    high = float(beta.ppf(0.975, perfect + 1, ended - perfect)) if perfect < ended else 1.0
    return MiddleOutcome(
        *(32, 2, 2, 10, 40, 2000, 0.1, noise, 0.3, runs, failed),
        *(1.0, 0.9, perfect / max(1, ended), 0.0, 0.1, perfect, low, high),
    )


@pytest.fixture(scope="module")
def outcomes() -> tuple[MiddleOutcome, ...]:
    return middle([SIZE], (0.0, 0.1, 30.0), seeds=2, steps=50, learning_rates=(0.01,))


@pytest.mark.parametrize("size", [SIZE, (12, 3, 2), (8, 2, 3)])
def test_without_noise_training_begins_at_a_solution_that_passes_the_exact_check(size: tuple[int, int, int]) -> None:
    from empirical.models.conversion import exact_check

    config, parameters = solution(size, 1, 10, 0.1)
    begun = moved(parameters, 0.0, 1)
    assert all(torch.equal(begun[name], parameters[name]) for name in parameters)
    assert exact_check(begun, config) is True
    assert exact_check(moved(parameters, 30.0, 1), config) is False


def test_noise_is_relative_and_leads_away_along_a_ray() -> None:
    _, parameters = solution((64, 4, 2), 0, 10, 0.1)
    near, far = moved(parameters, 0.1, 0), moved(parameters, 1.0, 0)
    assert distance(near, parameters) == pytest.approx(0.1, rel=0.1)
    assert distance(far, parameters) == pytest.approx(1.0, rel=0.1)
    for name, own in parameters.items():
        torch.testing.assert_close(own + 10 * (near[name] - own), far[name], rtol=1e-3, atol=1e-3)
    assert not near["b_out"].any()
    other = moved(parameters, 0.1, 1)
    assert not torch.equal(other["W_E"], near["W_E"])


def test_exact_starts_are_perfect_and_far_ones_at_chance(outcomes: tuple[MiddleOutcome, ...]) -> None:
    found = by_noise(outcomes)
    assert list(found) == [0.0, 0.1, 30.0, None]
    assert found[0.0].accuracy_before == 1.0
    assert found[0.0].distance_before == 0.0
    for far in (30.0, None):
        chance = found[far].accuracy_before
        assert chance is not None
        assert chance < 0.25
    after = found[0.0].distance_after
    assert after is not None
    assert after > 0
    assert (found[0.0].dimension, found[0.0].width) == (8, 32)
    for each in outcomes:
        assert 0 <= each.low <= each.perfect / 2 <= each.high <= 1
        assert (each.runs, each.failed) == (2, 0)


def test_the_same_call_finds_the_same(outcomes: tuple[MiddleOutcome, ...]) -> None:
    threads = torch.get_num_threads()
    told: list[tuple[int, int]] = []
    taken: list[int] = []

    def tell(done: int, result: RunResult) -> None:
        told.append((done, result.config.seed))
        taken.append(result.steps_taken)

    again = middle([SIZE], (0.0, 0.1, 30.0), 2, 50, tell, learning_rates=(0.01,))
    assert again == outcomes
    assert told == list(zip(range(1, 9), [0, 1] * 4, strict=True))
    assert taken[:2] == [50, 50]  # exact starts train to the end of their budget, perfect or not
    assert torch.get_num_threads() == threads


def test_json_has_no_nan(outcomes: tuple[MiddleOutcome, ...]) -> None:
    text = json.dumps([each.as_json() for each in outcomes], allow_nan=False)
    assert json.loads(text)[0]["perfect"] == outcomes[0].perfect


def test_failed_runs_are_counted_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    from empirical.models import training

    real = training.train

    def spoil(configs: list[RunConfig], **named: object) -> list[training.TrainedRun]:
        done = real(configs, **named)  # type: ignore[arg-type]
        broken = RunResult(configs[0], "failed", None, 0, 0.0, error="memory: none")
        return [training.TrainedRun(broken, {}), *done[1:]]

    monkeypatch.setattr(training, "train", spoil)
    one, _ = middle([SIZE], (0.0,), 1, 5, learning_rates=(0.01,))
    assert (one.failed, one.perfect, one.low, one.high, one.accuracy_after) == (1, 0, 0.0, 1.0, None)
    json.dumps(one.as_json(), allow_nan=False)
    two, _ = middle([SIZE], (0.0,), 2, 5, learning_rates=(0.01,))
    assert (two.runs, two.failed, two.accuracy_before) == (2, 1, 1.0)


@pytest.mark.parametrize("noise", [-0.1, float("nan"), float("inf")])
def test_bad_noise_is_refused(noise: float) -> None:
    with pytest.raises(InputError, match="noise is"):
        middle([SIZE], (noise,), 1, 5)


@pytest.mark.parametrize(
    ("outcomes", "status"),
    [
        ([planted(0.0, 6), planted(0.1, 6), planted(1.0, 0)], "holds"),
        ([planted(0.0, 0), planted(0.1, 6)], "fails"),
        ([planted(0.0, 6), planted(0.1, 0)], "fails"),
        ([planted(0.0, 6), planted(0.1, 5)], "undecided"),
        ([planted(0.0, 19, 20), planted(0.1, 20, 20)], "undecided"),
        ([planted(0.0, 5, 5), planted(0.1, 5, 5)], "undecided"),  # five runs decide nothing
        ([planted(0.0, 7, 8, failed=1), planted(0.1, 8, 8)], "undecided"),
        ([planted(0.0, 6), planted(0.3, 6), planted(None, 6)], "undecided"),  # not measured at 0.1
    ],
)
def test_the_rule(outcomes: list[MiddleOutcome], status: str) -> None:
    (row,) = rows(outcomes)
    assert (row.claim, row.rung, row.status) == ("E6", "measured", status)
    assert bool(row.detail) == (status != "holds")


def test_each_size_and_rate_has_its_row() -> None:
    own = [planted(0.0, 6), planted(0.1, 6)]
    gentle = [replace(each, learning_rate=0.01, perfect=0, low=0.0, high=0.46) for each in own]
    larger = [replace(each, entities=64) for each in own]
    found = rows(own + gentle + larger)
    assert [(row.entities, row.status) for row in found] == [(32, "holds"), (32, "fails"), (64, "holds")]


def test_the_report_holds_it() -> None:
    report = judge(PRESETS["quick"], sweep(PRESETS["quick"].plan, step(6)))
    assert report.middle == ()
    assert "Training started at T2e" not in text(report)
    full = replace(report, middle=tuple(planted(noise, 6) for noise in (*NOISE, None)))
    assert "noise 0.3" in text(full)
    assert "a random start" in text(full)
    assert len(json.loads(full.as_json())["middle"]) == len(NOISE) + 1
    assert len(ledger(full)) == len(ledger(report)) + 1


@pytest.mark.parametrize(("budget", "begun"), [(None, True), (60.0, True), (0.0, False)])
def test_it_comes_after_the_searches_if_there_is_time(
    monkeypatch: pytest.MonkeyPatch, budget: float | None, begun: bool
) -> None:
    quick = PRESETS["quick"]
    traces = sweep(quick.plan, step(6))
    known = {run.config.key: SimpleNamespace(result=run) for trace in traces for run in trace.runs}
    asked = []

    def instead(sizes: object, progress: object) -> tuple[MiddleOutcome, ...]:
        asked.append(sizes)
        return (planted(0.0, 6),)

    monkeypatch.setattr(comparing, "train_from_middle", instead)
    store: Any = SimpleNamespace(find=known.get)
    pool: Any = None  # nothing is left to run
    without = comparing.compare(quick, store, pool)
    assert (without.complete, without.middle, asked) == (True, (), [])
    report = comparing.compare(replace(quick, middle_sizes=(SIZE,)), store, pool, time_budget=budget)
    assert (report.complete, len(report.middle), asked) == (begun, int(begun), [(SIZE,)] * begun)
