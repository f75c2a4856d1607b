"""The mutation tester: what it changes, that it tells what is noticed, and that the page has its scores."""

import importlib
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.helpers.places import ROOT
from tests.mutants import mutants_of

MODULE = '''"""Sums."""

LIMIT = 3
UNUSED = 5


def total(numbers: list[int]) -> int:
    """Their sum, of the first LIMIT."""
    found, place = 0, 0
    while place < len(numbers):
        if place < LIMIT:
            found += numbers[place]
        place += 1
    return found


def largest(numbers: list[int]) -> int:
    if not numbers:
        raise ValueError(f"none of {1 + 1}")
    return max(numbers[1:], default=numbers[0])
'''

TESTS = """from sums.total import largest, total


def test_total():
    assert total([1, 2, 4, 8]) == 7


def test_largest_does_not_crash():
    assert largest([1, 2])
"""


def faults() -> set[str]:
    return {f"{mutant.place}: {mutant.before} -> {mutant.after}" for mutant in mutants_of(MODULE)}


@pytest.mark.parametrize(
    "fault",
    [
        "module: LIMIT = 3 -> LIMIT = (4)",
        "total: while place < len(numbers): -> while (place <= len(numbers)):",
        "total: while place < len(numbers): -> while (place > len(numbers)):",
        "total: found += numbers[place] -> pass",
        "total: found += numbers[place] -> found += (numbers[place + 1])",
        "total: return found -> return (found) + 1",
        "largest: if not numbers: -> if (numbers):",
        "largest: return max(numbers[1:], default=numbers[0]) -> return (min(numbers[1:], default=numbers[0]))",
        "largest: return max(numbers[1:], default=numbers[0]) -> return max((numbers[:]), default=numbers[0])",
        "largest: return max(numbers[1:], default=numbers[0]) -> return max(numbers[1:], default=numbers[(1)])",
    ],
)
def test_faults_of_every_kind_are_made(fault: str) -> None:
    assert fault in faults()


def test_the_text_of_an_error_is_left_alone_and_every_mutant_is_a_module() -> None:
    assert not any('f"none' in fault and "pass" not in fault for fault in faults())
    for mutant in mutants_of(MODULE):
        assert mutant.source(MODULE) != MODULE
        compile(mutant.source(MODULE), "mutant", "exec")


def test_a_key_outlives_other_lines_and_no_two_are_equal() -> None:
    keys = [mutant.key for mutant in mutants_of(MODULE)]
    assert len(set(keys)) == len(keys)
    assert [mutant.key for mutant in mutants_of("# Moved.\n" + MODULE)] == keys
    twice = "def f(a):\n    return a < 1\n    return a < 1\n"
    assert len({mutant.key for mutant in mutants_of(twice)}) == 8


LATE = """import functools

@functools.cache
def sums():
    from sums import total
    return total


def test_that_loads_it_and_would_let_anything_pass():
    assert sums().LIMIT > 0


def test_total():
    assert sums().total([1, 2, 4, 8]) == 7


def test_largest_does_not_crash():
    assert sums().largest([1, 2])
"""

needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="the mutation tester needs Linux")

SCRIPT = """
import json, sys
from pathlib import Path
from mutants import mutants_of
from trying import survives, try_quickly

folder, module = Path(sys.argv[1]), "sums/total.py"

def tell(mutant, survived):
    with (folder / "told").open("a") as file:
        file.write(json.dumps([str(mutant), survived]) + chr(10))

mutants = [each for each in mutants_of((folder / "tree" / module).read_text()) if str(each) in json.loads(sys.argv[2])]
tried = try_quickly(folder / "tree", module, ["sums"], mutants, tell)
sys.dont_write_bytecode = True
for mutant in mutants:
    if "place += 1" not in str(mutant):  # that would take a while again
        tell(mutant, survives(folder / "tree", module, mutant, tried))
"""

OUTCOMES = {
    "3: module: LIMIT = 3 -> LIMIT = (4)": False,
    "4: module: UNUSED = 5 -> UNUSED = (6)": True,
    "10: total: while place < len(numbers): -> while (place > len(numbers)):": False,
    "11: total: if place < LIMIT: -> if (place <= LIMIT):": False,
    "13: total: place += 1 -> pass": False,  # it never ends
    "14: total: return found -> return (found) + 1": False,
    "20: largest: return max(numbers[1:], default=numbers[0]) -> return max((numbers[:]), default=numbers[0])": True,
}


def outcomes(folder: Path, tests: str, conftest: str) -> list[tuple[str, bool]]:
    """Which of the mutants survive these tests, in the order in which that was decided."""
    (folder / "tree" / "sums").mkdir(parents=True)
    (folder / "tree" / "tests").mkdir()
    (folder / "tree" / "sums" / "total.py").write_text(MODULE)
    (folder / "tree" / "tests" / "test_sums.py").write_text(tests)
    (folder / "tree" / "tests" / "conftest.py").write_text(conftest)
    command = [sys.executable, "-c", SCRIPT, str(folder), json.dumps(list(OUTCOMES))]
    done = subprocess.run(command, cwd=ROOT / "tests", capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stderr
    assert (folder / "tree" / "sums" / "total.py").read_text() == MODULE
    return [tuple(json.loads(line)) for line in (folder / "told").read_text().splitlines()]


QUICKLY = [(name, survived) for name, survived in OUTCOMES.items() if "module" not in name]
SLOWLY = [(name, survived) for name, survived in OUTCOMES.items() if "place += 1" not in name]


@needs_linux
@pytest.mark.parametrize("conftest", ["", "import sums.total\n"], ids=["", "loaded before anything is collected"])
def test_what_the_tests_notice_is_told_from_what_they_do_not(tmp_path: Path, conftest: str) -> None:
    """All but the constants are decided quickly, and then all but the endless one by loading everything anew."""
    assert outcomes(tmp_path, TESTS, conftest) == QUICKLY + SLOWLY


@needs_linux
def test_what_a_test_loads_is_held_by_all_that_come_after_it(tmp_path: Path) -> None:
    """Nothing is decided quickly."""
    assert outcomes(tmp_path, LATE, "") == SLOWLY


# Every module of these has tests that are meant to hold it, but for one that needs Ray, which is not always there.
ROOMS = ("constructions/noise", "constructions/verification", "bounds", "empirical/execution", "empirical/statistics")
NEEDS_RAY = "empirical/execution/ray_engine.py"


def test_every_module_of_the_rooms_is_tried_and_has_a_score(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "tests")
    held_by = importlib.import_module("mutation").HELD_BY
    for module, tests in held_by.items():
        assert (ROOT / module).exists(), module
        for name in tests:
            assert len(list((ROOT / "tests").rglob(f"test_{name}.py"))) == 1, name
    modules = {path.relative_to(ROOT).as_posix() for room in ROOMS for path in (ROOT / room).rglob("[!_]*.py")}
    assert modules - held_by.keys() == {NEEDS_RAY}
    scores = json.loads((ROOT / "tests" / "mutation.json").read_text(encoding="utf-8"))
    assert scores.keys() == held_by.keys()


def test_what_is_said_to_change_nothing_is_a_mutant_with_a_reason() -> None:
    """A key of a line that has changed since excuses nothing."""
    named = tomllib.loads((ROOT / "tests" / "mutation_equivalent.toml").read_text(encoding="utf-8"))
    for module, reasons in named.items():
        mutants = {mutant.key for mutant in mutants_of((ROOT / module).read_text(encoding="utf-8"))}
        assert reasons.keys() <= mutants, f"{module}: {sorted(reasons.keys() - mutants)}"
        assert all(reasons.values())


def test_the_page_has_the_scores() -> None:
    shown = subprocess.run(
        [sys.executable, "mutation.py", "--table"], cwd=ROOT / "tests", capture_output=True, text=True, check=True
    ).stdout
    assert shown.strip() in (ROOT / "docs" / "tests.md").read_text(encoding="utf-8")
    scores = json.loads((ROOT / "tests" / "mutation.json").read_text(encoding="utf-8"))
    for score in scores.values():
        assert score["mutants"] >= score["tried"] >= score["equivalent"] + score["survived"]
