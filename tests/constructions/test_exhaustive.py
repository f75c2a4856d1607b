"""Checking query by query: what it reports, what it refuses, and that it fails for the right reason."""

import dataclasses
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings

from constructions.campaign.evaluator import evaluate
from constructions.verification import exhaustive
from constructions.verification.exhaustive import (
    Counterexample,
    check_every_query,
    check_sampled_queries,
    margins_of,
)
from constructions.verification.result import Result
from constructions.weights import t1, t1b, t2, t3, t3b, t6
from tests.helpers.models import EXACT, Case, Model, cases, named
from theory import FactSystem, InputError, Task, Transformer

SYSTEM = FactSystem([[1, 2, 0, 3], [3, 0, 1, 2]])


def found(verdict: Result) -> Counterexample:
    assert verdict.counterexample is not None
    assert not verdict.holds
    return verdict.counterexample


def reading_out(transformer: Transformer, answer: int, like: int) -> Transformer:
    """The transformer with the code and bias of one answer replaced by those of another."""
    W_U, b_U = np.array(transformer.W_U), np.array(transformer.b_U)
    W_U[:, answer], b_U[answer] = W_U[:, like], b_U[like]
    return dataclasses.replace(transformer, W_U=W_U, b_U=b_U)


def test_a_verdict_counts_its_queries() -> None:
    verdict = check_every_query(t1.construct(SYSTEM), SYSTEM, Task(), 2)
    assert verdict == Result("holds", queries=8, low=Fraction(2), high=Fraction(2), counterexample=None, systems=1)
    assert verdict.holds


def test_the_counterexample_is_the_least_subject_and_word() -> None:
    """Asked about another system, a model fails wherever their answers differ."""
    other = FactSystem([[1, 2, 0, 3], [3, 1, 0, 2]])
    failure = found(check_every_query(t1.construct(SYSTEM), other, Task()))
    assert (failure.subject, failure.word) == (1, (1,))
    assert (failure.expected, failure.got) == (1, 0)
    assert failure.margin == -2
    assert failure.system == other
    assert failure.emitted == (0,)
    assert str(failure) == (
        "system FactSystem([[1, 2, 0, 3], [3, 1, 0, 2]]), query (subject 1, word [1]): expected 1, got 0, margin -2"
    )


@pytest.mark.parametrize("chunk", [1, 40, 2**21])
def test_the_counterexample_does_not_depend_on_the_chunks(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Queries are run word by word; the least subject wins, whichever chunk it was in."""
    monkeypatch.setattr(exhaustive, "CHUNK", chunk)
    transformer = t2.construct(SYSTEM, 2, 1)
    row = np.array(transformer.W_E)
    row[0, 6:8] = 1 - row[0, 6:8]  # The block of the last word, (1, 1), of subject 0.
    row[2, 0:2] = 1 - row[2, 0:2]  # The block of the first word, (0, 0), of subject 2.
    verdict = check_every_query(dataclasses.replace(transformer, W_E=row), SYSTEM, Task(2), 1)
    assert (found(verdict).subject, found(verdict).word) == (0, (1, 1))
    assert verdict.queries == 16


@pytest.mark.parametrize("model", EXACT, ids=lambda model: model.name)
@given(case=cases(entities=4, relations=2, hops=3, bits=2, queries=24))
@settings(max_examples=3)
def test_verdicts_on_the_wrong_facts_agree_with_fractions(model: Model, case: Case) -> None:
    transformer, task = model.build(case.system, case.hops, case.bits), model.task(case.hops)
    other = FactSystem(np.roll(case.system.answers, 1, axis=1))
    outcomes = evaluate(transformer, other, task).outcomes
    verdict = check_every_query(transformer, other, task)
    assert verdict.margin == min(outcome.margin for outcome in outcomes.values())
    failing = [query for query, outcome in outcomes.items() if outcome.margin <= 0]
    assert verdict.holds == (not failing)
    if failing:
        failure = found(verdict)
        assert (failure.subject, failure.word) == min(failing)
        assert failure.margin == outcomes[min(failing)].margin
        assert failure.emitted == outcomes[min(failing)].emitted
        assert failure.got == failure.emitted[-1] != failure.expected


def test_a_tie_fails_whichever_answer_comes_first() -> None:
    transformer = t1.construct(SYSTEM)
    for answer, like in ((1, 3), (3, 1)):
        verdict = check_every_query(reading_out(transformer, answer, like), SYSTEM, Task())
        failing = found(verdict)
        assert verdict.margin <= 0
        assert failing.margin <= 0
        assert failing.got != failing.expected


@pytest.mark.parametrize(
    ("kind", "size"),
    # The largest logits that the exact core has in each type.
    [(np.int8, 127), (np.int16, 2**15 - 1), (np.float32, 2**24), (np.float64, 2**52), (np.int64, 2**62 - 1)],
)
def test_margins_are_differences_of_integers_in_every_type_and_the_best_other_answer_is_left(
    kind: type, size: int
) -> None:
    columns = [[size, 1 - size, -size], [-size, size, size - 1], [size, size, 0]]
    columns += [[-size, -size, -size], [1, 0, size - 1]]
    answers = [0, 2, 1, 0, 2]
    rivals = [max(column[:own] + column[own + 1 :]) for column, own in zip(columns, answers, strict=True)]
    expected = [column[own] - rival for column, own, rival in zip(columns, answers, rivals, strict=True)]
    for held, factor in ((kind, 1), (object, 1), (object, 2**70)):
        logits = np.array([[entry * factor for entry in column] for column in columns], held).T.copy()
        margins, others = margins_of(logits, np.array(answers))
        assert [int(margin) for margin in margins] == [margin * factor for margin in expected]
        # Also where all are as small as can be.
        assert others.argmax(axis=0).tolist() == [1, 1, 0, 1, 0]


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int64, np.float64])
def test_a_tie_is_reported_with_the_other_answer_in_every_type(kind: type) -> None:
    """Logits (5, 5) whatever is asked: the answer 0 is told to be 1, and the answer 1 to be 0."""
    W_E = np.array([[0, 0], [0, 0], [5, 5]], kind)
    model = Transformer(2, W_E, np.zeros((2, 2), kind), (), np.eye(2, dtype=kind), np.zeros(2, kind), "uniform")
    for answers in ([0, 1], [1, 0]):
        failure = found(check_every_query(model, FactSystem([answers]), Task()))
        assert (failure.subject, failure.expected, failure.got, failure.margin) == (0, answers[0], 1 - answers[0], 0)


def test_a_claim_that_is_too_high_fails_on_right_answers() -> None:
    transformer = t1b.construct(SYSTEM, 1)
    least = check_every_query(transformer, SYSTEM, Task()).margin
    assert check_every_query(transformer, SYSTEM, Task(), least).holds
    failure = found(check_every_query(transformer, SYSTEM, Task(), least + Fraction(1, 1000)))
    assert failure.got == failure.expected
    assert failure.margin == least


@pytest.mark.parametrize("build", [t3.construct, t3.construct_with_signs, lambda g, k: t3b.construct(g, k, 1)])
def test_chains_are_fed_their_own_tokens(build: Callable[[FactSystem, int], Transformer]) -> None:
    """A model of the quarter turn is right about two turns the other way, though its first token is wrong.

    Fed with the right token instead, it would come back to where it began.
    """
    turn, back = FactSystem([[1, 2, 3, 0]]), FactSystem([[3, 0, 1, 2]])
    assert check_every_query(build(turn, 2), back, Task(2, 1), 1).holds
    failure = found(check_every_query(build(turn, 3), back, Task(3, 1), 1))
    assert (failure.subject, failure.word, failure.emitted) == (0, (0, 0, 0), (1, 2, 3))
    assert (failure.expected, failure.got) == (1, 3)


def test_a_tie_on_the_way_is_a_failure_even_if_the_answer_is_right() -> None:
    """From 0 the tokens 1 and 2 are tied, and the model goes on to 0, the right answer, from both."""
    system = FactSystem([[1, 0, 2]])
    transformer = t3.construct(system, 2, 2)
    W_E = np.array(transformer.W_E)
    W_E[2] = W_E[1]
    merged = reading_out(dataclasses.replace(transformer, W_E=W_E), 2, 1)
    failure = found(check_every_query(merged, system, Task(2, 1)))
    assert (failure.subject, failure.expected, failure.got, failure.margin) == (0, 0, 0, 0)


def test_disjoint_attributes_are_numbered_relation_by_relation() -> None:
    transformer, task = t6.construct(SYSTEM), Task(disjoint_attributes=True)
    assert check_every_query(transformer, SYSTEM, task, 2).queries == 8
    other = FactSystem([[1, 2, 0, 3], [0, 3, 1, 2]])
    failure = found(check_every_query(transformer, other, task))
    assert (failure.subject, failure.word, failure.expected, failure.got) == (0, (1,), 4 + 0, 4 + 3)


def test_sampled_queries() -> None:
    system = FactSystem.random(50, 3)
    transformer = t2.construct(system, 2, 3)
    verdict = check_sampled_queries(transformer, system, Task(2), 500, seed=7, claimed_margin=1)
    assert verdict.holds
    assert verdict.queries == 500
    other = FactSystem.random(50, 3, seed=1)
    failures = [check_sampled_queries(transformer, other, Task(2), 500, seed=seed) for seed in (7, 7, 8)]
    assert found(failures[0]) == found(failures[1])
    # 500 of 450 queries: the least failing subject is 0, the words drawn for it depend on the seed.
    assert found(failures[0]).subject == found(failures[2]).subject == 0
    subject, word = found(failures[0]).subject, found(failures[0]).word
    assert found(failures[0]).expected == other.follow(word)[subject]
    assert found(failures[0]).got == system.follow(word)[subject]


def test_a_sample_drawn_in_pieces_is_the_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    system, other = FactSystem.random(50, 3), FactSystem.random(50, 3, seed=1)
    transformer = t2.construct(system, 2, 3)
    at_once = check_sampled_queries(transformer, other, Task(2), 100, seed=7)
    monkeypatch.setattr(exhaustive, "CHUNK", 1)
    assert check_sampled_queries(transformer, other, Task(2), 100, seed=7) == at_once


@pytest.mark.parametrize(
    "logits",
    [
        np.array([[2**24], [-(2**24) + 1], [-(2**24)]], np.float32),
        np.array([[2**61], [-(2**61) + 1], [-(2**61)]]),
        np.array([[127], [-126], [-128]], np.int8),
        np.array([[2**70], [-(2**70) + 1], [-(2**80)]], object),
        np.array([[5.0], [2**53], [2**53 - 1]]),
    ],
)
@pytest.mark.parametrize("answer", [0, 1, 2])
def test_margins_are_exact_in_every_type(logits: np.ndarray, answer: int) -> None:
    values = [int(value) for value in logits[:, 0].tolist()]
    expected = values[answer] - max(values[:answer] + values[answer + 1 :])
    assert int(margins_of(logits.copy(), np.array([answer]))[0][0]) == expected


def test_a_sample_does_not_depend_on_the_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    system, other = FactSystem.random(7, 2), FactSystem.random(7, 2, seed=1)
    models = t2.construct(system, 2, 3), t2.construct(other, 2, 3)
    whole = [check_sampled_queries(model, system, Task(2), 90, seed=3) for model in models]
    monkeypatch.setattr(exhaustive, "CHUNK", 1)
    assert [check_sampled_queries(model, system, Task(2), 90, seed=3) for model in models] == whole


def test_sampling_one_query_checks_no_other() -> None:
    """Of eight queries one is broken: a sample of one finds it for some seeds and not for others."""
    transformer = t1.construct(SYSTEM)
    W_E = np.array(transformer.W_E)
    W_E[2, 2:4] *= -1
    broken = dataclasses.replace(transformer, W_E=W_E)
    assert found(check_every_query(broken, SYSTEM, Task())).subject == 2
    outcomes = [check_sampled_queries(broken, SYSTEM, Task(), 1, seed) for seed in range(40)]
    assert {outcome.queries for outcome in outcomes} == {1}
    assert 0 < sum(not outcome.holds for outcome in outcomes) < 20


@pytest.mark.parametrize(
    ("system", "task", "message"),
    [
        (FactSystem.random(5, 2), Task(), "the model has 4 entities, but the system and the task need 5"),
        (FactSystem.random(4, 3), Task(), "the model has 2 relations, but the system and the task need 3"),
        (SYSTEM, Task(disjoint_attributes=True), "the model has 4 answers, but the system and the task need 8"),
        (SYSTEM, Task(2), "W_pos has 2 positions, but the task's prompts need 3"),
        (SYSTEM, Task(2, 1), "W_pos has 2 positions, but the task's prompts need 4"),
    ],
)
def test_what_does_not_fit_is_an_input_error(system: FactSystem, task: Task, message: str) -> None:
    transformer = t1.construct(SYSTEM)
    for check in (check_every_query, lambda *a: check_sampled_queries(*a, 3, 0)):
        with pytest.raises(InputError, match=message):
            check(transformer, system, task)


@pytest.mark.parametrize(("count", "seed", "name"), [(0, 0, "queries"), (5, -1, "seed"), (2.5, 0, "queries")])
def test_samples_that_cannot_be_drawn(count: int, seed: int, name: str) -> None:
    with pytest.raises(InputError, match=name):
        check_sampled_queries(t1.construct(SYSTEM), SYSTEM, Task(), count, seed)


def test_softmax_is_not_run_exactly() -> None:
    model = named("T3 parabola, softmax")
    with pytest.raises(InputError, match="softmax"):
        check_every_query(model.build(SYSTEM, 1), SYSTEM, model.task(1))


def test_a_result_says_why_it_does_not_hold() -> None:
    """One system unless told; the counterexample where there is one, else the reason, else nothing."""
    failure = found(check_every_query(t1.construct(SYSTEM), FactSystem([[1, 0, 2, 3], [0, 1, 2, 3]]), Task()))
    assert Result("holds", 3).systems == 1
    assert (Result("holds", 3).detail, Result("undecided", 3, reason="too wide").detail) == ("", "too wide")
    assert Result("fails", 3, counterexample=failure, reason="too wide").detail == str(failure)
    low = Result("undecided", 3, Fraction(-1), Fraction(2))
    assert (low.margin, low.holds, Result("holds", 3).holds) == (-1, False, True)


def test_fractions_are_taken_as_they_are_only_when_asked_to() -> None:
    model = t1.construct(SYSTEM)
    halved = dataclasses.replace(model, W_U=model.W_U / 4)
    with pytest.raises(InputError, match="a fraction; integer weights are expected"):
        check_every_query(halved, SYSTEM, Task())
    assert check_every_query(halved, SYSTEM, Task(), rational=True).margin == Fraction(1, 2)
