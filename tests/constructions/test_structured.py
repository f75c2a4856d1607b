"""T14: inverses and compositions at half the dimension and at a root of it, and that the read-out has to be learned."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from bounds.lower.reversal import most_answers, universal_inverses
from bounds.suite import checks as of_bounds
from constructions.campaign.evaluator import evaluate as truth
from constructions.suite.checks import Sizes, check_certificate, check_queries, check_systems
from constructions.suite.t5 import transplant
from constructions.verification.certificate import certify
from constructions.verification.exhaustive import check_every_query
from constructions.weights import t14
from constructions.weights.catalogue import STRUCTURED, Entry, Setting, entry
from tests.helpers.comparisons import run
from theory import FactSystem, InputError, Task, all_systems
from theory.definitions.families import draw_family
from theory.definitions.strategies import fact_systems
from theory.statements.registry import evaluate

each = pytest.mark.parametrize("made", STRUCTURED, ids=lambda made: made.label)


@each
@given(system=fact_systems())
@settings(max_examples=40, deadline=None)
def test_every_query_is_right_by_the_definition_too(made: Entry, system: FactSystem) -> None:
    """Checked, certified, and evaluated by what shares no code with either."""
    model, asked = made.build(system, Setting()), made.asked.system(system)
    assert asked.relations == made.asked.number(system.relations)
    checked, certified = check_every_query(model, asked, Task(), 2), certify(model, asked, Task(), 2)
    assert checked.holds
    assert certified.holds
    assert checked.margin == 2
    if asked.entities * asked.relations <= 40:
        assert truth(model, asked, Task()).low == 2


@each
@pytest.mark.parametrize(("entities", "relations"), [(2, 1), (100, 8), (97, 3)])
def test_larger_systems(made: Entry, entities: int, relations: int) -> None:
    for seed in range(3):
        sizes = Sizes(entities, relations, Setting(), seed)
        for row in (check_queries(made, sizes), check_certificate(made, sizes)):
            assert (row.status, row.margin) == ("holds", 2), row.detail
            assert row.queries == entities * made.asked.number(relations)


def test_a_relation_is_answered_and_its_inverse_takes_the_answer_back() -> None:
    system = FactSystem.random(30, 4, seed=2)
    asked = system.with_inverses()
    assert np.array_equal(asked.answers[:4], system.answers)
    for r in range(4):
        assert np.array_equal(asked.answers[4 + r][system.answers[r]], np.arange(30))
    pairs = system.compositions()
    for u, v in product(range(4), repeat=2):
        assert np.array_equal(pairs.answers[4 * u + v], system.answers[v][system.answers[u]])


def test_the_families_are_what_the_constructions_are_asked() -> None:
    """The systems that are trained on (E9) are those that T14 answers."""
    inverses, compositions = draw_family("inverses", 64, 16, 3), draw_family("compositions", 64, 16, 3)
    half, base = FactSystem(inverses.answers[:8]), _base(compositions, 4)
    assert half.with_inverses() == inverses
    assert base.compositions() == compositions
    assert check_every_query(t14.construct_inverses(half), inverses, Task(), 2).holds
    assert check_every_query(t14.construct_compositions(base), compositions, Task(), 2).holds


def _base(compositions: FactSystem, bases: int) -> FactSystem:
    """The bijections behind all compositions of two, drawn again."""
    generator = np.random.default_rng([3, 64, 16])
    found = FactSystem(np.stack([generator.permutation(64) for _ in range(bases)]))
    assert found.compositions() == compositions
    return found


def test_the_tied_read_out_is_the_subject_table() -> None:
    model = t14.construct_inverses(FactSystem.random(7, 3))
    assert np.array_equal(model.W_U.T, model.W_E[:7])
    assert not model.b_U.any()
    assert len(np.unique(model.W_E[:7])) <= 3


def test_half_of_what_t1_needs() -> None:
    for n, r in product((64, 100, 4096), (4, 8, 100)):
        size = {"entities": n, "relations": r}
        signs = evaluate("T1", "dimension", entities=n, relations=2 * r)
        assert 2 * evaluate("T14", "dimension", **size, construction="inverses") <= signs * (r + 2) // r
        assert evaluate("T14", "dimension", **size, construction="compositions") <= signs // 2 + 2


def test_a_fixed_read_out_cannot_have_what_t14_has() -> None:
    """The tied rows hold fewer bits than a fixed read-out needs; and they fail with another system's read-out."""
    bound = universal_inverses(100, 8)
    assert evaluate("T14", "dimension", entities=100, relations=8, construction="inverses") == 65
    assert bound.smallest_dimension(1) == 107
    one, other = (FactSystem.random(20, 3, seed) for seed in (0, 1))
    moved = transplant(t14.construct_inverses(other), t14.construct_inverses(one))
    assert not check_every_query(moved, one.with_inverses(), Task()).holds


@pytest.mark.parametrize(("entities", "relations", "vectors"), [(2, 1, 2), (3, 1, 5), (3, 2, 25), (4, 2, 100)])
def test_the_answers_of_one_subject_to_inverses(entities: int, relations: int, vectors: int) -> None:
    """Listed here from the definition."""
    found = {tuple(system.with_inverses().answers[:, 0].tolist()) for system in all_systems(entities, relations)}
    assert len(found) == most_answers(entities, relations) == vectors


def test_a_wrong_count_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {check.construction: check for check in of_bounds.checks_of_preset(["T14"], "quick")}
    assert rows["answers of inverses"].run().status == "holds"
    monkeypatch.setattr(of_bounds, "most_answers", lambda n, r: n ** (2 * r))
    assert rows["answers of inverses"].run().status == "fails"
    monkeypatch.setattr(of_bounds, "evaluate", lambda *_, **__: 10**6)
    assert rows["read-out needed"].run().status == "fails"


@each
def test_a_spoilt_route_is_found(made: Entry) -> None:
    """Copying to another place, an open gate, or the facts of another system: every check says no, with the query."""
    system = FactSystem.random(6, 2, seed=1)
    asked, model = made.asked.system(system), made.build(system, Setting())
    (block,) = model.blocks
    spoilt = [replace(block, W_out=block.W_out[::-1].copy()), replace(block, b_in=block.b_in + 2)]
    for wrong in (replace(model, blocks=(each,)) for each in spoilt):
        found = check_every_query(wrong, asked, Task(), 2)
        assert not found.holds
        assert found.counterexample is not None
        assert not certify(wrong, asked, Task(), 2).holds
        assert truth(wrong, asked, Task()).is_right(4) is False
    other = made.asked.system(FactSystem.random(6, 2, seed=2))
    assert not check_every_query(model, other, Task()).holds


def test_a_construction_that_forgets_the_inverses_fails_on_some_system() -> None:
    made = entry("T14", "inverses")

    def forgetful(system: FactSystem, setting: Setting) -> object:
        return t14.construct_inverses(FactSystem(np.sort(system.answers, axis=1)))

    row = check_systems(replace(made, build=forgetful), Sizes(3, 1, Setting()), classes=False)  # type: ignore[arg-type]
    assert row.status == "fails"
    assert row.counterexample is not None


@each
def test_maps_are_refused(made: Entry) -> None:
    with pytest.raises(InputError, match="needs bijections, and relation 0 is not a permutation"):
        made.build(FactSystem([[0, 0, 1]]), Setting())


def test_named_facts_are_asked_backwards(tmp_path: Path) -> None:
    """Built for a table with names, the model answers the inverse relation by name; and for a table with gaps none."""
    table = tmp_path / "facts.csv"
    table.write_text("subject,relation,object\na,next,b\nb,next,c\nc,next,a\n", encoding="utf-8")
    model, facts = tmp_path / "m.safetensors", tmp_path / "asked.npy"
    built = run("construct", "T14", "--facts", str(table), "--out", str(model), "--system-out", str(facts))
    assert built.exit_code == 0, built.output
    answer = run("ask", str(model), "a", "next, inverse")
    assert answer.output.startswith("c, margin 2")
    assert run("ask", str(model), "a", "next").output.startswith("b, margin 2")
    backwards = table.read_text(encoding="utf-8") + "".join(f'{a},"next, inverse",{b}\n' for a, b in ("ac", "ba", "cb"))
    both = tmp_path / "both.csv"
    both.write_text(backwards, encoding="utf-8")
    assert run("verify", "--weights", str(model), "--system", str(both)).exit_code == 0
    assert np.load(facts).tolist() == [[1, 2, 0], [2, 0, 1]]
    table.write_text("subject,relation,object\na,next,b\nb,next,a\nc,other,a\n", encoding="utf-8")
    refused = run("construct", "T14", "--facts", str(table), "--out", str(model))
    assert refused.exit_code == 2
