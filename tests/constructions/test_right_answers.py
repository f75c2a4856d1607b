"""Where facts are missing or have several objects: the exhaustive check, the certificate and `ask` hold exactly what
the definition says of every query, by an evaluator that shares no code with them.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constructions.campaign.evaluator import Evaluator
from constructions.suite.asking import ask
from constructions.suite.checks import check_model, check_transformer
from constructions.verification.exhaustive import as_answered, check_every_query
from constructions.weights import t1, t2, t3
from constructions.weights.catalogue import Setting, entry
from tests.helpers.random_models import INTEGERS, random_model, shapes
from theory import FactSystem, InputError, Task, Transformer
from theory.definitions.right_answers import RightAnswers
from theory.records.fact_files import Fact
from theory.records.facts import from_facts, load_facts
from theory.records.files import save_model

Table = dict[tuple[int, int], set[int]]  # the right objects of (relation, subject)


def right_of(table: Table, subject: int, word: tuple[int, ...]) -> set[int]:
    """The right answers of a query by the definition, way by way; none if it is not asked."""
    entities = 1 + max(x for _, x in table)
    here = {subject}
    for relation in word:
        if any(not table[relation, x] for x in here):
            return set()
        here = set().union(*(table[relation, x] for x in here))
    return here if len(here) < entities else set()


def truth(model: Transformer, table: Table, task: Task) -> dict[tuple[int, tuple[int, ...]], Fraction]:
    """The margin of each query that is asked: the best right logit less the best other, and the least of the steps."""
    evaluator = Evaluator(model)
    entities, relations = 1 + max(x for _, x in table), 1 + max(r for r, _ in table)
    found = {}
    for word in itertools.product(range(relations), repeat=task.hops):
        for subject in range(entities):
            right = right_of(table, subject, word)
            if not right:
                continue
            prompt = [subject, *(entities + relation for relation in word)]
            margins = []
            for step in range(task.steps):
                row = evaluator.logits(prompt)
                logits = [Fraction(value, row.denominator) for value in row.low]
                emitted = max(range(entities), key=logits.__getitem__)
                own = right if step == task.steps - 1 else {emitted}
                margins.append(max(logits[y] for y in own) - max(logits[y] for y in range(entities) if y not in own))
                prompt.append(emitted)
                if margins[-1] <= 0 and step < task.steps - 1:
                    break  # a tie has no next token
            found[subject, word] = min(margins)
    return found


def as_array(table: Table) -> RightAnswers:
    entities, relations = 1 + max(x for _, x in table), 1 + max(r for r, _ in table)
    most = max(1, *map(len, table.values()))
    objects = np.full((relations, entities, most), -1)
    for (r, x), right in table.items():
        ordered = sorted(right)
        if ordered:
            objects[r, x] = [*ordered, *[ordered[-1]] * (most - len(ordered))]
    return RightAnswers(objects)


def system_of(right: RightAnswers) -> FactSystem:
    first = right.objects[..., 0]
    return FactSystem(np.where(first < 0, np.arange(first.shape[1]), first))


def tables(entities: int, relations: int) -> st.SearchStrategy[Table]:
    pairs = list(itertools.product(range(relations), range(entities)))
    each = st.sets(st.integers(0, entities - 1), max_size=entities)
    return st.tuples(*[each] * len(pairs)).map(lambda found: dict(zip(pairs, found, strict=True)))


TASKS = (Task(), Task(2), Task(2, 1))


@settings(max_examples=150)
@given(table=tables(3, 2), shape=shapes, seed=st.integers(0, 99), hops=st.integers(1, 2))
def test_random_models_are_judged_as_the_definition_says(table: Table, shape: object, seed: int, hops: int) -> None:
    model = random_model(shape, INTEGERS, ["small"], seed)  # type: ignore[arg-type]
    task, right = Task(hops), as_array(table)
    margins = truth(model, table, task)
    assert right.asked(hops) == len(margins)
    if not margins:
        with pytest.raises(InputError, match="there is no query to check"):
            check_every_query(model, system_of(right), task, right=right)
        return
    found = check_every_query(model, system_of(right), task, right=right)
    assert (found.queries, found.low) == (len(margins), min(margins.values()))
    assert found.holds == (min(margins.values()) > 0)
    if not found.holds:
        wrong = found.counterexample
        assert wrong is not None
        assert (wrong.subject, wrong.word) == min(query for query, margin in margins.items() if margin <= 0)
        assert wrong.margin == margins[wrong.subject, wrong.word]
        assert wrong.expected in right_of(table, wrong.subject, wrong.word)
        assert wrong.got not in right_of(table, wrong.subject, wrong.word)


@settings(max_examples=60)
@given(table=tables(5, 2), choice=st.integers(0, 2**20), task=st.sampled_from(TASKS))
def test_constructions_of_any_choice_are_right(table: Table, choice: int, task: Task) -> None:
    """A model built for any of the right objects is right about all that is asked, with the margin that it has; and
    what the certificate says is true.
    """
    generator = np.random.default_rng(choice)
    answers = [[generator.choice(sorted(table[r, x]) or [x]) for x in range(5)] for r in range(2)]
    chosen, right = FactSystem(np.array(answers)), as_array(table)
    build = {TASKS[0]: t1.construct, TASKS[1]: lambda s: t2.construct(s, 2), TASKS[2]: lambda s: t3.construct(s, 2)}
    model = build[task](chosen)
    margins = truth(model, table, task)
    if not margins:
        with pytest.raises(InputError, match="the facts answer no query"):
            check_transformer(model, system_of(right), task, right=right)
        return
    rows = check_transformer(model, system_of(right), task, right=right)
    assert [row.status for row in rows] == ["holds"] * len(rows)
    assert all(row.queries == len(margins) for row in rows)
    assert rows[0].margin == min(margins.values())
    assert all(row.margin <= min(margins.values()) for row in rows[1:])
    if task.hops == 1 and all(0 < len(found) < 5 for found in table.values()):
        assert len(rows) == 2, "the certificate knows which of several objects the model has"
        answered = as_answered(model, system_of(right), task, right)
        assert all(answered.answers[r, x] == chosen.answers[r, x] for r, x in table)


def test_what_is_too_much_is_told() -> None:
    objects = np.tile(np.arange(20), (1, 30, 1))
    with pytest.raises(InputError, match=r"3 hops up to 20\^3 ways; at most 4096 are followed"):
        RightAnswers(objects).after(np.array([0]), np.array([[0, 0, 0]]))


# By names.

LINES = """Belgium language Dutch
Belgium language French
Belgium neighbour France
France language French
Netherlands language Dutch
France neighbour Belgium
France neighbour Spain
Spain language Spanish
"""


@pytest.fixture
def facts(tmp_path: Path) -> Path:
    path = tmp_path / "facts.txt"
    path.write_text(LINES)
    return path


def test_several_objects_are_refused_unless_any_is_right(facts: Path) -> None:
    with pytest.raises(InputError, match=r"line 2: 'Belgium' has the language 'French', and 'Dutch' in line 1; a rel"):
        load_facts(facts)
    found = load_facts(facts, "any")
    assert int(found.known.sum()) == 6
    assert found.entities[found.system.answers[0, found.entities.index("Belgium")]] == "Dutch"


def test_a_model_is_right_with_either_and_wrong_with_neither(facts: Path, tmp_path: Path) -> None:
    found = load_facts(facts, "any")
    belgium, model = found.entities.index("Belgium"), tmp_path / "m.safetensors"
    for language, status in (("French", "holds"), ("Dutch", "holds"), ("Spanish", "fails")):
        answers = np.array(found.system.answers)
        answers[found.relations.index("language"), belgium] = found.entities.index(language)
        save_model(t1.construct(FactSystem(answers)), Task(), model, found)
        rows = check_model(model, facts, rational=False, several="any")
        assert [row.status for row in rows] == ([status] * 2 if status == "holds" else [status])
        if status == "fails":
            assert "Belgium language: expected Dutch or French, got Spanish" in rows[0].detail
            assert str(ask(model, "Belgium", ["language"])) == "Spanish, margin 2"
        else:
            other = {"French": "Dutch", "Dutch": "French"}[language]
            answer = ask(model, "Belgium", ["language"])
            assert (answer.name, answer.right_too) == (language, (other,))
            # French and Dutch may be nearer than any wrong answer: the margin is over the wrong ones.
            word, evaluator = found.relations.index("language"), Evaluator(t1.construct(FactSystem(answers)))
            row = evaluator.logits([belgium, len(found.entities) + word])
            logits = {name: Fraction(v, row.denominator) for name, v in zip(found.entities, row.low, strict=True)}
            wrong = max(value for name, value in logits.items() if name not in ("French", "Dutch"))
            assert answer.margin == logits[language] - wrong


def test_two_hops_lead_to_any_of_several(facts: Path, tmp_path: Path) -> None:
    found, model = load_facts(facts, "any"), tmp_path / "m.safetensors"
    chosen = entry("T2")
    save_model(chosen.build(found.system, Setting(2)), chosen.task(Setting(2)), model, found)
    answer = ask(model, "France", ["neighbour", "language"])
    assert {answer.name, *answer.right_too} == {"Dutch", "French", "Spanish"}
    with pytest.raises(InputError, match="the facts do not say"):  # Spain has no neighbour here
        ask(model, "France", ["neighbour", "neighbour"])


def test_a_tie_between_right_answers_is_no_failure(tmp_path: Path) -> None:
    facts = from_facts([Fact("1", "a", "r", "b"), Fact("2", "a", "r", "c"), Fact("3", "b", "r", "d")], several="any")
    model = t1.construct(facts.system)
    tied = np.array(model.W_U)
    tied[:, facts.entities.index("c")] = tied[:, facts.entities.index("b")]
    both = replace(model, W_U=tied)
    assert check_every_query(both, facts.system, Task(), right=facts.right).holds
    assert not check_every_query(both, facts.system, Task()).holds
    save_model(both, Task(), tmp_path / "m.safetensors", facts)
    assert ask(tmp_path / "m.safetensors", "a", ["r"]).right_too == ("c",)
