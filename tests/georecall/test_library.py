"""The library's vocabulary: its examples, what it loads, and that it does in memory what the command line does."""

from __future__ import annotations

import doctest
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import georecall
from georecall import library
from tests.helpers.places import ROOT

SLOW = {"torch", "sympy", "z3", "networkx", "hypothesis"}


def test_every_example_of_the_docstrings_runs() -> None:
    found = doctest.testmod(library)
    assert found.failed == 0
    assert found.attempted >= 10


def test_the_package_hands_on_the_whole_vocabulary() -> None:
    assert set(georecall.__all__) == {*library.__all__, "main"}
    for name in library.__all__:
        assert getattr(georecall, name) is getattr(library, name)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = georecall.nothing


@pytest.mark.parametrize(
    "statement", ["import georecall", "import georecall; georecall.FactSystem.random(5, 2)", "georecall.Task"]
)
def test_the_vocabulary_loads_nothing_slow(statement: str) -> None:
    script = f"import georecall\n{statement}\nimport sys\nprint(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert SLOW & set(run.stdout.split()) == set()


def test_every_argument_of_every_verb_is_explained() -> None:
    for name in library.__all__:
        verb = getattr(library, name)
        if isinstance(verb, type):
            continue
        for argument in verb.__annotations__.keys() - {"return"}:
            assert argument in verb.__doc__, f"{name} does not explain {argument}"
        assert ">>>" in verb.__doc__, f"{name} has no example"


def test_verify_finds_in_memory_what_the_command_finds_in_files(tmp_path: Path) -> None:
    from constructions.suite.checks import check_model
    from theory.records.files import save_model, save_system

    system = georecall.FactSystem.random(7, 2)
    model = georecall.construct("T3", system, hops=2)
    task = georecall.task_of("T3", hops=2)
    save_model(model, task, tmp_path / "model.safetensors")
    save_system(system, tmp_path / "facts.npy")
    in_files = check_model(tmp_path / "model.safetensors", tmp_path / "facts.npy", rational=False)
    in_memory = georecall.verify(model, system, task)
    assert [(row.rung, row.status, row.margin, row.queries) for row in in_memory] == [
        (row.rung, row.status, row.margin, row.queries) for row in in_files
    ]


def test_verify_takes_fractional_weights_without_further_ado() -> None:
    import dataclasses

    system = georecall.FactSystem.random(5, 2)
    model = georecall.construct("T1", system)
    third = dataclasses.replace(model, W_U=model.W_U.astype(np.float64) / 4)
    assert {row.status for row in georecall.verify(third, system)} == {"holds"}
    refuted = georecall.verify(third, georecall.FactSystem.random(5, 2, seed=1))
    assert [row.status for row in refuted] == ["fails"]
