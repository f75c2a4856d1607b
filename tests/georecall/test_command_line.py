"""The command line: exit statuses, one line for bad input and never a traceback, JSON with what it promises."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import georecall
from constructions.suite import presets as suite
from constructions.suite.checks import Sizes, check_queries
from constructions.weights import t1
from constructions.weights.catalogue import CATALOGUE
from theory import FactSystem, Task
from theory.records import console, ledger
from theory.records.files import load_model, save_model, save_system

FIELDS = {
    *("claim", "rung", "status", "entities", "relations", "hops", "bits", "dimension", "width", "parameters"),
    *("queries", "systems", "margin", "seconds", "seed"),
}


def run(*arguments: str | Path) -> Result:
    result = CliRunner().invoke(georecall.main, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    return result


def test_verify_writes_what_it_promises(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    result = run("verify", "T1", "T3", "--entities", "20", "--relations", "3", "--hops", "3", "--json", path)
    assert result.exit_code == 0, result.output
    rows = json.loads(path.read_text())
    assert {row["claim"] for row in rows} == {"T1", "T3"}
    for row in rows:
        assert set(row) >= FIELDS
        assert row["status"] == "holds"
        assert row["entities"] == 20
    chain = next(row for row in rows if row["construction"] == "parabola" and row["rung"] == "exhaustive queries")
    assert (chain["hops"], chain["queries"], chain["margin"], chain["dimension"]) == (3, 20 * 3**3, 1, 3 * 5 + 2)


def test_every_claim_can_be_checked_at_a_size(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    result = run("verify", "--entities", "12", "--relations", "2", "--hops", "3", "--bits", "2", "--json", path)
    assert result.exit_code == 0, result.output
    assert {row["claim"] for row in json.loads(path.read_text())} == set(suite.CLAIMS)


@pytest.mark.parametrize("size", [(2, 1, 3), (2, 2, 3), (3, 1, 1), (4, 1, 4)])
def test_the_smallest_sizes_hold(size: tuple[int, int, int]) -> None:
    entities, relations, hops = size
    result = run("verify", "--entities", str(entities), "--relations", str(relations), "--hops", str(hops))
    assert result.exit_code == 0, result.output


def test_what_cannot_be_built_is_undecided_unless_it_was_asked_for(tmp_path: Path) -> None:
    size = ("--entities", "3000", "--relations", "3")
    asked = run("verify", "T1d", *size)
    assert asked.exit_code == 2
    assert "T1d's lookup has R·N^R" in asked.output
    path = tmp_path / "ledger.json"
    everything = run("verify", "--entities", "60", "--relations", "5", "--hops", "1", "--json", path)
    assert everything.exit_code == 1
    undecided = [row for row in json.loads(path.read_text()) if row["status"] != "holds"]
    assert {(row["claim"], row["construction"], row["status"]) for row in undecided} == {
        ("T1d", "lookup", "undecided"),
        ("T5", "T1d lookup", "undecided"),
        ("T10", "T1d lookup", "undecided"),
    }
    assert "at most 2^24 can be built" in undecided[0]["detail"]


@pytest.mark.parametrize("entry", CATALOGUE, ids=lambda entry: f"{entry.theorem} {entry.name}")
def test_construct_then_verify(entry: object, tmp_path: Path) -> None:
    weights, system = tmp_path / "m.safetensors", tmp_path / "g.json"
    theorem, name = entry.theorem, entry.name  # type: ignore[attr-defined]
    size = ("--entities", "6", "--relations", "2", "--hops", "3", "--bits", "2", "--stride", "2")
    built = run("construct", theorem, "--name", name, *size, "--out", weights, "--system-out", system)
    assert built.exit_code == 0, built.output
    rational = ["--rational"] if name == "circle" else []
    verified = run("verify", "--weights", weights, "--system", system, *rational)
    assert verified.exit_code == 0, verified.output
    other = tmp_path / "other.npy"
    save_system(FactSystem.random(6, 2, seed=99), other)
    wrong = run("verify", "--weights", weights, "--system", other, *rational)
    assert wrong.exit_code == 1
    assert "expected" in wrong.output


def test_a_failure_is_reported_with_its_counterexample(tmp_path: Path) -> None:
    system = FactSystem.random(9, 2)
    model = t1.construct(system)
    answers = np.array(system.answers)
    answers[1, [3, 7]] = answers[1, [7, 3]]
    weights, facts, out = tmp_path / "m.safetensors", tmp_path / "g.npy", tmp_path / "o.json"
    save_model(model, Task(), weights)
    save_system(FactSystem(answers), facts)
    result = run("verify", "--weights", weights, "--system", facts, "--json", out)
    assert result.exit_code == 1
    (row,) = json.loads(out.read_text())
    found = row["counterexample"]
    assert row["status"] == "fails"
    assert (found["subject"], found["word"], found["expected"], found["got"]) == (3, [1], answers[1, 3], answers[1, 7])
    assert found["margin"] == str(row["margin"])


def test_fractional_weights_need_to_be_asked_for(tmp_path: Path) -> None:
    weights, facts = tmp_path / "m.safetensors", tmp_path / "g.npy"
    assert run("construct", "T1b", "--name", "circle", "--entities", "5", "--relations", "2", "--out", weights,
               "--system-out", facts).exit_code == 0  # fmt: skip
    refused = run("verify", "--weights", weights, "--system", facts)
    assert refused.exit_code == 2
    assert "a fraction; integer weights are expected" in refused.output
    assert run("verify", "--weights", weights, "--system", facts, "--rational").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["verify", "T99"], "'T99' is no theorem; there are T1, T1b"),
        (["verify", "T1", "--entities", "5"], "a size needs both --entities and --relations"),
        (["verify", "T2", "--hops", "3"], "a size needs both --entities and --relations"),
        (["verify", "T1", "--entities", "1", "--relations", "2"], "at least 2"),
        (["verify", "T1", "--entities", "0", "--relations", "2"], "0 is not in the range"),
        (["verify", "T2", "--entities", "5", "--relations", "2", "--hops", "0"], "0 is not in the range"),
        (["verify", "T1b", "--entities", "5", "--relations", "2", "--bits", "0"], "0 is not in the range"),
        (["verify", "T1b", "--entities", "5", "--relations", "2", "--bits", "31"], "at most 30 bits"),
        (["verify", "T1", "--entities", "5", "--relations", "2.5"], "'2.5' is not a valid integer"),
        (["verify", "T2", "--entities", "9", "--relations", "9", "--hops", "40"], "would have 10^"),
        (["verify", "T1", "--entities", str(10**12), "--relations", "10"], "facts are too many"),
        (["verify", "--preset", "slow"], "'slow' is not one of"),
        (["verify", "--weights", "x.safetensors"], "--weights and --system go together"),
        (["verify", "T1", "--weights", "x.safetensors", "--system", "x.npy"], "name claims, or --weights and --system"),
        (["verify", "--weights", "x.safetensors", "--system", "nothing.npy"], "cannot read nothing.npy"),
        (["construct", "T5", "--entities", "5", "--relations", "2", "--out", "x.safetensors"], "has no construction"),
        (["construct", "T1", "--entities", "5", "--relations", "2", "--out", "x.pt"], "written as .safetensors"),
        (["construct", "T1", "--entities", "5", "--relations", "2", "--out", "/nowhere/x.safetensors"], "cannot write"),
    ],
)
def test_bad_input_gets_one_line_and_status_2(arguments: list[str], message: str, tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-m", "georecall", *arguments], capture_output=True, text=True, cwd=tmp_path
    )
    assert result.returncode == 2, result.stdout + result.stderr
    assert "Traceback" not in result.stderr
    assert message in result.stderr
    assert not list(tmp_path.iterdir())


def test_the_summaries_of_the_commands_are_whole_sentences() -> None:
    found = CliRunner().invoke(georecall.main, ["--help"], env={"COLUMNS": "80"})
    lines = found.stdout.partition("Commands:\n")[2].partition("\n\n")[0].splitlines()
    assert len(lines) == len(georecall.main.commands)
    assert all(line.endswith(".") and not line.endswith("...") for line in lines)


def test_help_imports_nothing_heavy() -> None:
    heavy = "{'sympy', 'z3', 'scipy', 'torch', 'hypothesis', 'flint', 'networkx'}"
    code = f"import sys, georecall; print(sorted({heavy} & set(sys.modules)))"
    root = Path(georecall.__file__).resolve().parent.parent
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, check=True)
    assert run.stdout.strip() == "[]"


def test_a_wrong_formula_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    entry, sizes = CATALOGUE[0], Sizes(9, 2, suite.Setting())
    assert check_queries(entry, sizes).status == "holds"
    monkeypatch.setattr("constructions.suite.checks.evaluate", lambda *a, **k: 7)
    assert check_queries(entry, sizes).status == "fails"
    assert "but the formula says 7" in check_queries(entry, sizes).detail


def test_ledger_says_no_when_anything_does_not_hold() -> None:
    holds = check_queries(CATALOGUE[0], Sizes(9, 2, suite.Setting()))
    undecided = ledger.Row("T9", "x", "certificate", "undecided", "nothing", detail="refused")
    assert ledger.all_hold([holds])
    assert not ledger.all_hold([])
    assert not ledger.all_hold([holds, undecided])
    lines = console.summary([holds, undecided])
    assert lines[0] == "T1: 1 of 1 checks hold; stands on: exhaustive queries"
    assert lines[1] == "T9: 0 of 1 checks hold; stands on: nothing"
    assert lines[2] == "T9 (x), certificate: undecided: refused"


def test_models_of_the_preset_are_those_of_the_theorem(tmp_path: Path) -> None:
    weights = tmp_path / "t3.safetensors"
    assert run("construct", "T3", "--entities", "7", "--relations", "3", "--hops", "4", "--out", weights).exit_code == 0
    model, task = load_model(weights, 7)
    assert task == Task(4, 1)
    assert model.dimension == 3 * 3 + 2
