"""Every list of theorems is made from the registry and the catalogue: who adds one and forgets a part is told which.

A theorem has a statement, a construction or an inequality (or it is about those of others), checks, and a module that
begins with its identifier; a construction has its formulas, and every rung that it can stand on.
"""

from __future__ import annotations

import re

import pytest

from bounds.suite import checks as of_bounds
from constructions.suite import presets as of_constructions
from constructions.suite.checks import formulas
from constructions.weights.catalogue import CATALOGUE, STRUCTURED, Entry
from paper_figs.claims import as_markdown, claim_map
from tests.helpers.places import ROOT
from theory.lemmas import collection as of_lemmas
from theory.records.ledger import Check
from theory.statements.registry import Theorem, theorems

every_theorem = pytest.mark.parametrize("theorem", theorems().values(), ids=lambda theorem: theorem.identifier)
every_construction = pytest.mark.parametrize("entry", [*CATALOGUE, *STRUCTURED], ids=lambda entry: entry.label)


def checks_of(identifier: str) -> list[Check]:
    return [
        *of_constructions.checks_of_preset([identifier], "quick"),
        *of_bounds.checks_of_preset([identifier], "quick"),
        *of_lemmas.checks_of_claims([identifier]),
    ]


@every_theorem
def test_every_theorem_is_checked_by_more_than_proofs(theorem: Theorem) -> None:
    kinds = {check.kind for check in checks_of(theorem.identifier)}
    assert kinds - {"proof", "Coq"}, f"nothing but proofs checks {theorem.identifier}"


@every_theorem
def test_every_construction_that_is_stated_is_built(theorem: Theorem) -> None:
    built = {formulas(entry).name for entry in (*CATALOGUE, *STRUCTURED) if entry.theorem == theorem.identifier}
    missing = {each.name for each in theorem.constructions} - built
    assert not missing, f"{theorem.identifier} states {missing}, which constructions.weights.catalogue does not build"


@every_theorem
def test_every_inequality_that_is_stated_is_checked(theorem: Theorem) -> None:
    if theorem.inequalities:
        checks = of_bounds.checks_of_preset([theorem.identifier], "quick")
        assert checks, f"bounds.suite.checks checks nothing of {theorem.identifier}"


@every_construction
def test_every_construction_stands_on_every_rung_that_it_can(entry: Entry) -> None:
    checks = of_constructions.checks_of_preset([entry.theorem], "quick")
    kinds = {check.kind for check in checks if check.construction == entry.name}
    expected = {"queries"} | ({"certificate"} if entry.certified else set())
    expected |= {"random systems", "all systems", "all classes"} if entry.exact else set()
    assert kinds >= expected


@every_construction
def test_every_construction_is_transferred_if_universal_and_regressed_if_superposed(entry: Entry) -> None:
    for claim, said in (("T5", formulas(entry).universal), ("T7", bool(formulas(entry).superposed))):
        checked = entry.label in {check.construction for check in of_constructions.checks_of_preset([claim], "quick")}
        assert checked == (said and entry.exact), claim


@every_theorem
def test_every_theorem_has_a_module_and_a_test(theorem: Theorem) -> None:
    (row,) = [row for row in claim_map() if row.theorems == (theorem.identifier,) and row.claim == theorem.title]
    assert row.files, f"no module of constructions or bounds begins with {theorem.identifier}"
    assert row.tests, f"no test imports what {theorem.identifier} stands in"


@every_construction
def test_every_construction_has_a_test_of_its_own(entry: Entry) -> None:
    """Beside those that go through all: some test builds it by the name of its module."""
    module = entry.theorem.lower()
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")]
    imports = re.compile(rf"^from constructions\.weights import (?:.*\W)?{module}\b", re.MULTILINE)
    assert any(map(imports.search, sources)), f"no test imports constructions.weights.{module}"


def test_the_map_is_the_page() -> None:
    assert (ROOT / "paper_figs" / "README.md").read_text(encoding="utf-8") == as_markdown()
