"""The command: presets and models to a report that can be resumed, and verdicts that can say yes and no."""

import json
import subprocess
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import safetensors.numpy

from empirical.execution.store import open_store
from empirical.mechanism import command, study, sweep
from empirical.mechanism.command import MechanismReport
from empirical.mechanism.presets import BASE, PRESETS, BuiltModel, MechanismPreset, TrainedModel, preset
from empirical.mechanism.study import Analysis, study_construction
from empirical.mechanism.verdicts import REFUSED, ConditionVerdict, rows, verdicts
from empirical.models.runs import RunConfig, RunResult
from empirical.models.training import TrainedRun, train
from tests.helpers.stores import refused

TINY = MechanismPreset(
    "tiny",
    tuple(TrainedModel("dimension", RunConfig(24, 2, 8, 32, **BASE, seed=seed), beyond=10) for seed in (0, 1)),
    (BuiltModel("T1", 24, 2),),
    systems=1,
    fit_steps=5,
)


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> MechanismPreset:
    monkeypatch.setitem(PRESETS, "tiny", TINY)
    return TINY


@pytest.fixture(scope="module")
def constructed() -> tuple[Analysis, ...]:
    """A universal construction and a table, analysed."""
    return tuple(study_construction(BuiltModel(theorem, 96, 2), 1, 0) for theorem in ("T1", "T2b"))


def of(found: tuple[ConditionVerdict, ...], claim: str) -> dict[str, str]:
    """What is said of each group."""
    return {each.group: each.status for each in found if each.claim == claim}


@pytest.mark.parametrize("claim", ["E3", "E4", "E4, units", "E5"])
def test_the_selector_is_supported_and_the_table_is_not(constructed: tuple[Analysis, ...], claim: str) -> None:
    found = verdicts(constructed)
    assert of(found, claim) == {"T1": "supported", "T2b": "not supported"}
    assert all(each.as_known for each in found)
    assert all(row.status == "holds" for row in rows(found))


def spoilt(analysis: Analysis, *path: str, **values: float) -> Analysis:
    """The analysis of a trained model that is like it, with some numbers changed."""
    copy = deepcopy(analysis) | {"kind": "trained"}
    place = copy
    for name in path:
        place = place[name]
    place.update(values)
    return copy


@pytest.mark.parametrize(
    ("claim", "path", "values", "status"),
    [
        ("E3", ("read_out", "fit", "decoded"), {"high": 0.89}, "not supported"),
        ("E3", ("read_out", "fit", "decoded"), {"low": 0.89}, "undecided"),
        ("E3", ("read_out", "fit", "r_squared"), {"high": 0.49}, "not supported"),
        ("E3", ("read_out", "shuffled answers", "decoded"), {"low": 0.11}, "not supported"),
        ("E3", ("read_out", "random rows", "r_squared"), {"high": 0.11}, "undecided"),
        ("E4", ("interventions", "verdicts"), {"maps": "undecided"}, "undecided"),
        ("E4, units", ("hidden_units",), {"verdict": "not supported"}, "not supported"),
        ("E5", ("transfer", "ways", "maps"), {"low": 0.5, "high": 0.89}, "not supported"),
        ("E5", ("transfer", "ways", "maps"), {"low": 0.89}, "undecided"),
        ("E5", ("transfer", "redrawn", "maps"), {"low": 0.11}, "not supported"),
        ("E5", ("transfer", "ways", "inverse"), {"value": 0.0, "high": 0.0}, "supported"),
    ],
)
def test_each_number_can_change_its_verdict(
    constructed: tuple[Analysis, ...], claim: str, path: tuple[str, ...], values: dict[str, Any], status: str
) -> None:
    found = verdicts([spoilt(constructed[0], *path, **values)])
    assert of(found, claim)["T1"] == status
    others = {each.claim: each.status for each in found if each.claim != claim}
    assert set(others.values()) == {"supported"}
    row = next(row for row, each in zip(rows(found), found, strict=True) if each.claim == claim)
    assert row.status == {"supported": "holds", "not supported": "fails", "undecided": "undecided"}[status]


def test_a_fit_to_too_few_subjects_refuses_nothing(constructed: tuple[Analysis, ...]) -> None:
    short = spoilt(constructed[0], "read_out", "fit", "decoded", high=0.89)
    subjects = short["read_out"]["subjects"]
    for rank, status in (([subjects], "undecided"), ([subjects // 2, subjects // 4], "not supported")):
        assert of(verdicts([spoilt(short, "read_out", "geometry", rank=rank)]), "E3")["T1"] == status
    enough = spoilt(constructed[0], "read_out", "geometry", rank=[subjects])
    assert of(verdicts([enough]), "E3")["T1"] == "supported"


def test_seeds_that_differ_leave_it_undecided(constructed: tuple[Analysis, ...]) -> None:
    good = spoilt(constructed[0])
    bad = spoilt(constructed[0], "transfer", "ways", "maps", value=0.4, low=0.3, high=0.5)
    assert of(verdicts([good, good]), "E5") == {"T1": "supported"}
    assert of(verdicts([bad, bad]), "E5") == {"T1": "not supported"}
    (found,) = (each for each in verdicts([good, bad]) if each.claim == "E5")
    assert (found.status, found.models) == ("undecided", 2)
    (mean,) = ((value, low, high) for name, value, low, high in found.numbers if name == "maps")
    assert mean == pytest.approx((0.7, 0.0, 1.0))


def test_models_that_do_not_recall_are_left_out(constructed: tuple[Analysis, ...]) -> None:
    good, forgetful = spoilt(constructed[0]), spoilt(constructed[0], accuracy=0.98)
    for each in verdicts([good, forgetful]):
        assert (each.status, each.models, each.left_out) == ("supported", 1, 1)
    alone = verdicts([forgetful])
    assert {each.status for each in alone} == {"undecided"}
    assert rows(alone)[0].detail == "no model of it recalls its facts"


def test_an_analysis_that_misses_what_is_known_is_told(constructed: tuple[Analysis, ...]) -> None:
    """T1's numbers under T2b's name, and the reverse."""
    swapped = [
        {**one, "group": other["group"], "name": other["name"]}
        for one, other in zip(constructed, constructed[::-1], strict=True)
    ]
    found = verdicts(swapped)
    assert not any(each.as_known for each in found)
    assert {row.status for row in rows(found)} == {"fails"}
    report = MechanismReport(None, tuple(swapped), found, ())
    assert not command.succeeded(report)
    assert "do not say what is known" in command.text(report)


def test_a_preset_is_resumed_where_it_stopped(
    tiny: MechanismPreset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "runs.sqlite"
    done: list[str] = []

    class Stop(Exception):
        pass

    def stopping(count: int, name: str) -> None:
        done.append(name)
        if count == 2:
            raise Stop

    with pytest.raises(Stop):
        command.mechanism((), "tiny", store, workers=1, progress=stopping)
    assert len(list((tmp_path / "runs.sqlite.mechanism").iterdir())) == 2
    whole = command.mechanism((), "tiny", store, workers=1, progress=lambda count, name: done.append(name))
    assert len(done) == 3
    assert [each["group"] for each in whole.models] == ["dimension"] * 2 + ["T1"]
    with open_store(store, read_only=True) as opened:
        assert len(list(opened.all_runs())) == 2

    def refuse(*arguments: object) -> None:
        raise AssertionError("nothing is left to do")

    monkeypatch.setattr(sweep, "study_condition", refuse)
    monkeypatch.setattr(sweep, "study_construction", refuse)
    again = command.mechanism((), "tiny", store, workers=1)
    assert again.models == whole.models
    assert command.text(again) == command.text(whole)


def without_seconds(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_seconds(each) for name, each in value.items() if name != "seconds"}
    return [without_seconds(each) for each in value] if isinstance(value, list) else value


def test_processes_find_what_one_finds(tiny: MechanismPreset, tmp_path: Path) -> None:
    alone = command.mechanism((), "tiny", tmp_path / "one.sqlite", workers=1)
    shared = command.mechanism((), "tiny", tmp_path / "two.sqlite", workers=2)
    assert without_seconds(list(alone.models)) == without_seconds(list(shared.models))


def test_stored_runs_are_not_trained_again(
    tiny: MechanismPreset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "runs.sqlite"
    with open_store(store) as opened:
        for condition in TINY.conditions:
            run = train([condition.config])[0]
            opened.add(run.result, {name: tensor.numpy() for name, tensor in run.parameters.items()})
    monkeypatch.setattr("empirical.models.training.train", None)
    assert len(command.mechanism((), "tiny", store, workers=1).models) == 3


def test_a_run_that_fails_is_reported_and_the_others_go_on(
    tiny: MechanismPreset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(configs: list[RunConfig]) -> list[TrainedRun]:
        if configs[0].seed == 1:
            return [TrainedRun(RunResult(configs[0], "failed", None, 3, 0.1, error="the loss is nan at step 3"), {})]
        return train(configs)

    monkeypatch.setattr("empirical.models.training.train", failing)
    report = command.mechanism((), "tiny", tmp_path / "runs.sqlite", workers=1)
    assert len(report.models) == 2
    assert len(report.failed) == 1
    assert all("the loss is nan at step 3" in reason for reason in report.failed)
    assert not command.succeeded(report)
    monkeypatch.undo()
    monkeypatch.setitem(PRESETS, "tiny", TINY)
    assert len(command.mechanism((), "tiny", tmp_path / "runs.sqlite", workers=1).models) == 3


@pytest.mark.parametrize(
    ("trainer", "workers", "reason"),
    [
        ("raising_at_seed_1", 1, "RuntimeError: a bug"),
        ("raising_at_seed_1", 2, "RuntimeError: a bug"),
        ("dying_at_seed_1", 2, "the worker was killed by SIGKILL (perhaps for lack of memory)"),
    ],
)
def test_a_fault_in_one_model_is_that_models(
    tiny: MechanismPreset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trainer: str, workers: int, reason: str
) -> None:
    monkeypatch.setattr(sweep, "TRAINER", f"tests.helpers.mechanisms:{trainer}")
    report = command.mechanism((), "tiny", tmp_path / "runs.sqlite", workers=workers)
    assert [each["group"] for each in report.models] == ["dimension", "T1"]
    assert report.failed == (f"{TINY.conditions[1].name}, seed 1: {reason}",)
    assert not command.succeeded(report)
    assert f"Failed: {report.failed[0]}" in command.text(report)
    monkeypatch.undo()
    monkeypatch.setitem(PRESETS, "tiny", TINY)
    again = command.mechanism((), "tiny", tmp_path / "runs.sqlite", workers=1)
    assert [each["seed"] for each in again.models] == [0, 1, 0]
    assert again.failed == ()


def test_a_model_whose_worker_is_killed_is_tried_again(
    tiny: MechanismPreset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIED", str(tmp_path / "died"))
    monkeypatch.setattr(sweep, "TRAINER", "tests.helpers.mechanisms:dying_once_at_seed_1")
    report = command.mechanism((), "tiny", tmp_path / "runs.sqlite", workers=2)
    assert (tmp_path / "died").exists()
    assert [each["seed"] for each in report.models] == [0, 1, 0]
    assert report.failed == ()


def test_a_damaged_analysis_is_told(tiny: MechanismPreset, tmp_path: Path) -> None:
    command.mechanism((), "tiny", tmp_path / "runs.sqlite", workers=1)
    file = next((tmp_path / "runs.sqlite.mechanism").iterdir())
    for content in ("{", "[]", "{}", "[" * 100_000):
        file.write_text(content)
        with refused("is damaged: delete it"):
            command.mechanism((), "tiny", tmp_path / "runs.sqlite", workers=1)


def test_models_by_name_their_maps_and_the_json(tmp_path: Path) -> None:
    config, store = RunConfig(24, 2, 8, 32, steps=200), tmp_path / "runs.sqlite"
    run = train([config])[0]
    with open_store(store) as opened:
        opened.add(run.result, {name: tensor.numpy() for name, tensor in run.parameters.items()})
    report = command.mechanism([config.key[:8]], None, store, out=tmp_path / "maps")
    tensors = safetensors.numpy.load_file(tmp_path / "maps" / f"{config.key[:8]}.maps.safetensors")
    assert {name: array.shape for name, array in tensors.items()} == {"maps": (2, 8, 8), "constant": (8,)}
    command.write(report, tmp_path / "report.json")
    found = json.loads((tmp_path / "report.json").read_text())
    assert list(found) == ["preset", "provenance", "threshold", "models", "verdicts", "failed"]
    (model,) = found["models"]
    assert model["kind"] == "given"
    matrix = model["interventions"]["ways"]["maps"]["matrix"]
    assert [len(row) for row in matrix] == [2, 2]
    assert [each["claim"] for each in found["verdicts"]] == ["E3", "E4", "E4, units", "E5"]
    assert [row.claim for row in command.rows(report)] == ["E3", "E4", "E4", "E5"]
    assert "Freeze and swap" in command.text(report)


def test_what_is_asked_for_is_checked_first(tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite"
    for models, chosen, out, words in (
        ((), None, None, "name models .* or a preset"),
        (("ab",), "quick", None, "one of the two"),
        (("ab", "cd", "ab"), None, None, "ab is named twice"),
        (("a/x.safetensors", "b/x.safetensors"), None, tmp_path, "two models are called x"),
        ((), "huge", None, "preset is 'huge'; it must be one of quick, standard, paper"),
        ((), "quick", tmp_path, "a preset has none"),
    ):
        with refused(words):
            command.mechanism(models, chosen, store, out=out)
    assert not store.exists()


def test_presets_ask_for_what_can_be_trained() -> None:
    from empirical.models.model import shapes

    for each in PRESETS.values():
        assert len(set(each.conditions)) == len(each.conditions)
        assert {one.theorem for one in each.constructions} > set(REFUSED)
        for condition in each.conditions:
            assert shapes(condition.config)
            assert condition.threshold > 0
            assert condition.config.readout != "tied" or condition.tables == 1
            assert condition.beyond > 0 or condition.tables == 1
        names = {(one.group, one.name, one.config.seed) for one in each.conditions}
        assert len(names) == len(each.conditions)
    assert preset("quick").name == "quick"
    assert study.VERSION >= 1


def test_the_command_can_be_loaded_without_pytorch() -> None:
    script = "import sys, empirical.mechanism.command; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
