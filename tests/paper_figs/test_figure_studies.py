"""Figures of the mechanism and of probes, drawn from records that the real commands write, of tiny models."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install 'geometric-recall[figures]'")
pytest.importorskip("torch", reason="torch is not installed: pip install 'geometric-recall[empirical]'")

from constructions.weights import t1
from empirical.mechanism import command
from empirical.mechanism.presets import PRESETS, BuiltModel, MechanismPreset, _conditions
from empirical.probing import probe as probing
from paper_figs import catalogue, studies, style
from paper_figs.catalogue import MECHANISM, PROBING
from tests.helpers.theory_model import TheoryModel, relations_of
from tests.paper_figs.test_figure_layout import faults
from theory import FactSystem, InputError

SMALL: dict[str, Any] = {"steps": 400, "beyond": 20}
TINY = MechanismPreset(
    "tiny",
    (
        *_conditions("dimension", 16, 2, 1, 1, **SMALL),
        *_conditions("dimension", 16, 2, 8, 2, **SMALL),
        *_conditions("dimension", 16, 3, 12, 1, **SMALL),
        *_conditions("weight decay", 16, 2, 8, 1, weight_decay=0.0, **SMALL),
        *_conditions("systems that share", 16, 2, 8, 1, tables=2, **SMALL),
    ),
    (BuiltModel("T1", 32, 3), BuiltModel("T2b", 8, 2)),
    systems=1,
    fit_steps=5,
)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the record of a study of tiny models, and of a probe of T1."""
    folder = tmp_path_factory.mktemp("results")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(PRESETS, "tiny", TINY)
        found = command.mechanism([], "tiny", folder / "runs.sqlite", workers=1)
    assert not found.failed
    command.write(found, folder / MECHANISM.file)
    system = FactSystem.random(40, 2)
    model = TheoryModel("T1", t1.construct(system, residual=True))
    probing.write(probing.probe(model, relations_of(system)), folder / PROBING.file)
    return folder


def record(results: Path, file: str) -> Any:
    return json.loads((results / file).read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ["readout", "interventions", "transfer", "probing"])
def test_figure_can_be_read(name: str, results: Path) -> None:
    assert faults(catalogue.draw(name, results)) == []


@pytest.mark.parametrize("name", ["readout", "interventions", "transfer", "probing"])
def test_the_same_record_gives_the_same_bytes(name: str, results: Path, tmp_path: Path) -> None:
    first, second = (
        [path.read_bytes() for path in catalogue.figures([name], results, tmp_path / str(number))] for number in (1, 2)
    )
    assert first == second


def test_readout_shows_every_model_and_its_controls(results: Path) -> None:
    explained, decoded, built = catalogue.draw("readout", results).axes
    own = [each for each in record(results, MECHANISM.file)["models"] if each["group"] == "dimension"]
    for axes, quantity in ((explained, "r_squared"), (decoded, "decoded")):
        for source, colours in (("fit", {style.BLUE, style.ORANGE}), ("shuffled answers", {style.RED})):
            expected = sorted(each["read_out"][source][quantity]["value"] for each in own)
            points = [line for line in axes.lines if line.get_color() in colours and len(line.get_xdata()) == 1]
            drawn = sorted(float(line.get_ydata()[0]) for line in points if line.get_marker() not in ("_", "", "None"))
            assert drawn == pytest.approx(expected)
    assert [label.get_text() for label in built.get_xticklabels()] == ["T1", "T2b"]


def test_a_model_that_does_not_recall_is_hollow(results: Path) -> None:
    found = studies.models(record(results, MECHANISM.file))
    one, *_, eight = [each for each in found if each.group == "dimension" and each.relations == 2]
    assert (one.recalls, eight.recalls) == (False, True)
    axes = catalogue.draw("readout", results).axes[0]
    faces = {
        round(float(line.get_xdata()[0]), 6): line.get_markerfacecolor()
        for line in axes.lines
        if line.get_marker() == "o" and len(line.get_xdata()) == 1
    }
    assert one.ratio is not None
    assert eight.ratio is not None
    assert faces[round(one.ratio, 6)] == "white"
    assert faces[round(eight.ratio, 6)] == style.BLUE


def test_interventions_show_the_matrices(results: Path) -> None:
    figure = catalogue.draw("interventions", results)
    first, second = figure.axes[0], figure.axes[1]
    assert [text.get_text() for text in first.texts] == ["1.00"] * 9
    assert second.get_title("left") == "(b) trained, R = 3, d = 12"
    [model] = [each for each in record(results, MECHANISM.file)["models"] if each["sizes"]["dimension"] == 12]
    matrix = np.array(model["interventions"]["ways"]["maps"]["matrix"])
    assert [text.get_text() for text in second.texts] == [f"{value:.2f}" for value in matrix.ravel()]


def test_transfer_names_the_conditions(results: Path) -> None:
    last = catalogue.draw("transfer", results).axes[-1]
    assert [label.get_text() for label in last.get_yticklabels()] == [
        "N = 16, R = 2, d = 8, weight decay 0.0, steps 400, 20 steps beyond",
        "N = 16, R = 2, d = 8, steps 400, 20 steps beyond, 2 systems",
    ]


def test_probing_shows_accuracy_by_layer(results: Path) -> None:
    figure = catalogue.draw("probing", results)
    readings = record(results, PROBING.file)["relations"]
    for axes, reading in zip(figure.axes, readings, strict=False):
        [line] = [each for each in axes.lines if each.get_color() == style.BLUE]
        assert line.get_ydata().tolist() == [layer["accuracy"]["value"] for layer in reading["by_layer"]]
        assert axes.get_title("left") == f"{reading['name']}: {reading['headline']['accuracy']['value']:.2f}"
    assert figure.axes[2].get_title("left") == "R², sum of 2 relations"


FAULTS: list[tuple[str, str, Callable[[Any], object], str]] = [
    ("readout", MECHANISM.file, lambda r: r.pop("models"), "no 'models'"),
    ("readout", MECHANISM.file, lambda r: r["models"].clear(), "no models"),
    ("readout", MECHANISM.file, lambda r: r["models"][0].pop("sizes"), "no 'sizes'"),
    ("readout", MECHANISM.file, lambda r: r["models"][0]["read_out"].pop("fit"), "has no read_out / fit"),
    ("readout", MECHANISM.file, lambda r: r["models"][0].update(accuracy="high"), "no 'accuracy' that is a number"),
    ("readout", MECHANISM.file, lambda r: r["models"][0].update(threshold=0.0), "has the threshold 0.0; it must be"),
    ("readout", MECHANISM.file, lambda r: [each.update(threshold=None) for each in r["models"]], "has no threshold"),
    (
        "readout",
        MECHANISM.file,
        lambda r: [
            each.update(group="dimension", threshold=1.0, sizes={**each["sizes"], "entities": 2 + place})
            for place, each in enumerate(r["models"])
        ],
        "sizes .N, R.; a figure tells 4 apart",
    ),
    (
        "interventions",
        MECHANISM.file,
        lambda r: [each["interventions"]["ways"]["maps"].update(matrix=[[1.0, "a"]]) for each in r["models"]],
        "no matrix of relations",
    ),
    ("interventions", MECHANISM.file, lambda r: r["models"].pop(), "no construction T2b"),
    ("transfer", MECHANISM.file, lambda r: r.update(models=r["models"][-2:]), "no models of the group 'dimension'"),
    ("probing", PROBING.file, lambda r: r["relations"].clear(), "no relation"),
    ("probing", PROBING.file, lambda r: r["relations"][0]["by_layer"][0].pop("majority"), "no 'majority'"),
]


@pytest.mark.parametrize(("name", "file", "change", "words"), FAULTS)
def test_foreign_records_are_refused(
    name: str, file: str, change: Callable[[Any], object], words: str, results: Path, tmp_path: Path
) -> None:
    values = record(results, file)
    change(values)
    (tmp_path / file).write_text(json.dumps(values), encoding="utf-8")
    with pytest.raises(InputError, match=words) as caught:
        catalogue.draw(name, tmp_path)
    assert "make it with: georecall" in str(caught.value)
    assert "\n" not in str(caught.value)
