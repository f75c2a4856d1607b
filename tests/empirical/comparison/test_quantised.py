"""The precision of weights: against constructions whose precision is known, and as a command."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import georecall
from bounds.counting.families import information
from constructions.weights import t1, t1b, t13
from empirical.comparison import quantised
from empirical.comparison.quantised import (
    NOISES,
    RunPrecision,
    accuracy,
    bits_needed,
    line,
    noise_survived,
    root_mean_square,
    rounded,
)
from empirical.execution.store import open_store
from empirical.models.runs import RunConfig
from empirical.models.training import train
from tests.helpers.stores import refused
from theory import FactSystem, Transformer

SYSTEM = FactSystem.random(60, 3)


def test_accuracy_counts_facts_and_no_ties() -> None:
    model = t1.construct(SYSTEM)
    assert accuracy(model, SYSTEM) == 1
    answers = np.array(SYSTEM.answers)
    answers[1, [3, 7]] = answers[1, [7, 3]]
    assert accuracy(model, FactSystem(answers)) == 1 - 2 / 180
    assert accuracy(dataclasses.replace(model, W_U=0 * model.W_U), SYSTEM) == 0


def test_rounding_goes_to_the_nearest_of_evenly_spaced_values() -> None:
    tensor = np.array([[-1.0, -0.4, 0.1], [0.9, 1.1, 2.0]])
    assert rounded(tensor, 1).tolist() == [[-1, -1, -1], [2, 2, 2]]
    assert np.allclose(rounded(tensor, 2), [[-1, 0, 0], [1, 1, 2]])
    for bits in range(1, 12):
        assert np.abs(rounded(tensor, bits) - tensor).max() <= 3 / (2**bits - 1) / 2 + 1e-12
    assert rounded(np.full((2, 2), 0.3), 1).tolist() == [[0.3, 0.3], [0.3, 0.3]]
    assert rounded(np.zeros((0, 3)), 1).shape == (0, 3)


@pytest.mark.parametrize(
    ("built", "bits"), [(t1.construct(SYSTEM), 1), *((t1b.construct(SYSTEM, b), b) for b in (2, 3))]
)
def test_digits_need_their_bits(built: Transformer, bits: int) -> None:
    """Rows of signs need one bit, digits of b bits b: with one fewer, pairs of digits are one."""
    rows = {"rows": built.W_E[:60]}

    def right(tensors: Any) -> float:
        return accuracy(dataclasses.replace(built, W_E=np.concatenate([tensors["rows"], built.W_E[60:]])), SYSTEM)

    assert bits_needed(rows, right) == bits


def test_what_is_wrong_at_any_precision_is_told_apart() -> None:
    other = dataclasses.replace(t1.construct(SYSTEM), b_U=np.arange(60) * 100)
    assert bits_needed({}, lambda _: accuracy(other, SYSTEM)) == quantised.MOST_BITS + 1


def test_noise_that_every_perturbation_leaves_right_is_survived() -> None:
    """T13's digits survive all noise below 1/2, and by chance some above."""
    model = t13.construct(SYSTEM, 2)
    size = root_mean_square(model.W_E[:60])
    survived = noise_survived(model, SYSTEM, 0)
    assert survived >= max(noise for noise in NOISES if noise * size < 0.5)
    assert survived < 2
    assert survived == noise_survived(model, SYSTEM, 0)


def test_a_model_that_is_wrong_survives_no_noise() -> None:
    wrong = dataclasses.replace(t1.construct(SYSTEM), W_U=-t1.construct(SYSTEM).W_U)
    assert noise_survived(wrong, SYSTEM, 0) == 0


def planted(family: str, dimension: int, stored: float, independent: float, needed: float) -> RunPrecision:
    return RunPrecision(
        family,
        64,
        16,
        dimension,
        0,
        "2000 steps",
        100,
        stored,
        independent,
        needed,
        0.01,
        3.0,  # type: ignore[arg-type]
    )


def test_the_line_is_that_of_independent_facts_and_its_interval_holds_it() -> None:
    runs = [planted("independent", s, s / 4, s / 4, 3 + s) for s in range(8) for _ in range(3)]
    others = [planted("xor", s, 0.1, s / 4, 17) for s in range(8)]
    found = line(runs + others)
    assert found is not None
    assert found.intercept[0] == pytest.approx(3)
    assert found.slope[0] == pytest.approx(4)
    assert found.r_squared == pytest.approx(1)
    generator = np.random.default_rng(0)
    again = line([dataclasses.replace(each, needed=each.needed + int(generator.integers(-2, 3))) for each in runs])
    assert again is not None
    assert again.slope[1] < 4 < again.slope[2]
    assert again.r_squared < 1


def test_what_is_stored_as_independent_lies_on_the_line_there_and_what_is_compressed_elsewhere() -> None:
    runs = [planted("independent", s, s / 4, s / 4, 3 + s) for s in range(8) for _ in range(3)]
    runs += [planted("inverses", s, s / 8, s / 4, 3 + s) for s in range(8)]
    runs += [planted("synonyms", s, s / 8, s / 4, 3 + s / 2) for s in range(8)]
    runs += [planted("maps", s, s / 8, s / 4, 3) for s in range(2)]
    found = line(runs)
    assert found is not None
    inverses, synonyms = quantised.beyond(runs, found)  # of maps too little is known
    assert (inverses.family, inverses.at_independent[0]) == ("inverses", pytest.approx(0))
    assert inverses.at_stored[0] == pytest.approx(1.75)
    assert inverses.at_stored[1] < 1.75 < inverses.at_stored[2]
    assert (synonyms.family, synonyms.at_stored[0]) == ("synonyms", pytest.approx(0))
    assert synonyms.at_independent[0] == pytest.approx(-1.75)
    text = quantised.as_text(runs, 100)
    assert "3.00 [3.00, 3.00] + 4.00 [4.00, 4.00] times stored" in text
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize(
    "runs",
    [
        [planted("maps", s, s / 4, s / 4, s) for s in range(20)],
        [planted("independent", s, 1.0, 1.0, 3) for s in range(20)],
        [planted("independent", s % 2, s % 2, s % 2, 3) for s in range(20)],
        [planted("independent", s, s, s, s) for s in range(9)],
    ],
)
def test_no_line_goes_through_too_little(runs: list[RunPrecision]) -> None:
    assert line(runs) is None
    assert "R²" not in quantised.as_text(runs)


def test_the_command_measures_what_has_memorised(tmp_path: Path) -> None:
    config = RunConfig(8, 2, 8, 32, steps=200, seed=1)
    path = tmp_path / "runs.sqlite"
    with open_store(path) as store:
        for run in train([config, dataclasses.replace(config, dimension=1, width=1)]):
            store.add(run.result, {name: each.numpy() for name, each in run.parameters.items()}, {})
    found = CliRunner().invoke(
        georecall.main, ["runs", "precision", "--store", str(path), "--json", str(tmp_path / "p")]
    )
    assert found.exit_code == 0, found.output
    record = json.loads((tmp_path / "p").read_text())
    (run,) = record["measured"]
    assert record["line"] is None
    assert (run["family"], run["entities"], run["dimension"], run["condition"]) == ("independent", 8, 8, "200 steps")
    assert run["stored"] == pytest.approx(float(information("independent", 8, 2).low) / run["scalars"], rel=1e-3)
    assert 1 <= run["needed"] <= 12
    assert run["noise"] > 0
    assert "independent" in found.output


def test_a_store_without_what_is_asked_for_is_told(tmp_path: Path) -> None:
    with open_store(tmp_path / "runs.sqlite"):
        pass
    with refused("holds no run of one hop that has memorised"):
        quantised.measure_store(tmp_path / "runs.sqlite", lambda number, family: None)
