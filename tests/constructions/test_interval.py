"""Intervals: agree with the exact pass and with decimals, decide softmax at any β and the circle, and say what they
cannot decide.
"""

from __future__ import annotations

import dataclasses
import itertools
from fractions import Fraction
from typing import Any

import hypothesis.strategies as st
import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from numpy.typing import NDArray

from constructions.verification import interval
from constructions.verification.certificate import certify
from constructions.verification.exhaustive import check_every_query
from constructions.verification.interval import check_every_query_by_intervals, circle_margin
from constructions.weights import t1, t1b, t3
from constructions.weights.catalogue import CATALOGUE, Entry, Setting
from tests.helpers.random_models import FRACTIONS, INTEGERS, Shape, random_model, shapes
from tests.helpers.softmax_reference import decimal, softmax_logits
from theory import Block, FactSystem, InputError, Task, Transformer
from theory.definitions.strategies import fact_systems
from theory.definitions.transformer import run_with_cache

SMALL = Setting(hops=2, bits=2, stride=1)
TASKS = st.sampled_from([Task(1), Task(2), Task(2, 1), Task(3, 1), Task(3, 2)])
DRAWS = INTEGERS | FRACTIONS


def longer(model: Transformer) -> Transformer:
    """The model with room for the chains of TASKS: positions repeat."""
    return dataclasses.replace(model, W_pos=np.concatenate([model.W_pos, model.W_pos]))


@settings(max_examples=30)
@given(st.sampled_from([e for e in CATALOGUE if e.exact]), fact_systems(st.integers(2, 4), st.integers(1, 2)))
def test_agrees_with_the_exact_pass(entry: Entry, system: FactSystem) -> None:
    model, task = entry.build(system, SMALL), entry.task(SMALL)
    exact = check_every_query(model, system, task)
    found = check_every_query_by_intervals(model, system, task)
    assert (found.status, found.low, found.high) == ("holds", exact.margin, exact.margin)
    assert found.queries == exact.queries


@settings(max_examples=150)
@given(shapes, st.sets(st.sampled_from(sorted(DRAWS)), min_size=1), st.integers(0, 2**32), TASKS, st.integers(0, 5))
@example(Shape(1, 1, 1, 1, 3, "hardmax", True, True, False), {"small"}, 3, Task(3, 1), 0)
@example(Shape(2, 2, 2, 2, 3, "hardmax", False, False, False), {"small"}, 5, Task(2), 0)
@example(Shape(2, 2, 2, 2, 3, "uniform", True, True, False), {"small"}, 7, Task(2, 1), 0)
def test_random_models_get_the_verdict_of_the_exact_pass(
    shape: Shape, kinds: set[str], seed: int, task: Task, claimed: int
) -> None:
    """Rational models are decided, always, exactly, and with the same counterexample: the tasks ask for what the model
    says (a system taken from its answers) or for something else.
    """
    model = longer(random_model(shape, DRAWS, sorted(kinds), seed))
    for system in {system_that_it_knows(model), FactSystem.random(3, 2, seed=seed % 7)}:
        exact = check_every_query(model, system, task, claimed, rational=True)
        found = check_every_query_by_intervals(model, system, task, claimed, precision=64)
        assert (found.status == "holds", found.status == "fails") == (exact.holds, not exact.holds)
        assert found.low == found.high
        if exact.holds:
            assert (found.low, found.queries) == (exact.margin, exact.queries)
        else:
            assert found.counterexample == exact.counterexample
            assert found.counterexample is not None
            assert (found.low, found.reason) == (found.counterexample.margin, "")


def system_that_it_knows(model: Transformer) -> FactSystem:
    """The model's answers to single hops where these are permutations, the identity elsewhere."""
    prompts = np.array([[subject, 3 + relation] for relation in range(2) for subject in range(3)])
    with np.errstate(all="ignore"):
        answers = run_with_cache(model, prompts)[0].argmax(axis=1).reshape(2, 3)
    return FactSystem([row if set(row) == {0, 1, 2} else [0, 1, 2] for row in answers.tolist()])


@settings(max_examples=60)
@given(
    shapes.map(lambda shape: dataclasses.replace(shape, attention="softmax")),
    st.sets(st.sampled_from(["small", "quarters", "float32", "mostly zero"]), min_size=1),
    st.integers(0, 2**32),
    st.sampled_from([5e-324, 1e-3, 1.0, 7.5, 300.0, 1e5]),
    TASKS,
)
def test_random_softmax_models_contain_the_decimals(
    shape: Shape, kinds: set[str], seed: int, beta: float, task: Task
) -> None:
    """At three precisions: each contains the margin of 700 decimals, none contradicts its sign or another's."""
    uniform = longer(random_model(dataclasses.replace(shape, attention="uniform"), DRAWS, sorted(kinds), seed))
    model = dataclasses.replace(uniform, attention="softmax", beta=beta)
    system = system_that_it_knows(model)
    verdicts = [check_every_query_by_intervals(model, system, task, precision=bits) for bits in (16, 64, 300)]
    assert not {"holds", "fails"} <= {verdict.status for verdict in verdicts}
    for verdict in verdicts:
        with mpmath.workdps(700):
            margin = decimal_margin(model, system, task, verdict.queries)
            if margin is None:
                continue
            slack = mpmath.mpf(10) ** -600
            assert verdict.low is None or decimal(verdict.low) <= margin + slack
            assert verdict.high is None or margin <= decimal(verdict.high) + slack
            assert verdict.status != "holds" or margin > -slack
            assert verdict.status != "fails" or margin < slack
            assert verdict.status == "fails" or margin > -slack


def decimal_margin(model: Transformer, system: FactSystem, task: Task, most: int) -> Any:
    """The least margin of the first queries, in decimals; None when a chain meets a tie, or what may be one."""
    margins = []
    words = itertools.product(range(system.relations), repeat=task.hops)
    for subject, word in itertools.islice(itertools.product(range(system.entities), words), most):
        prompt, right = [subject, *(system.entities + relation for relation in word)], subject
        for relation in word:
            right = int(system.answers[relation, right])
        for step in range(task.steps):
            logits = softmax_logits(model, prompt)
            own = right if step == task.steps - 1 else logits.index(max(logits))
            margins.append(logits[own] - max(logits[:own] + logits[own + 1 :]))
            if step < task.steps - 1 and margins[-1] < mpmath.mpf(10) ** -500:
                return None
            prompt.append(own)
    return min(margins)


@given(fact_systems(st.integers(2, 4), st.integers(1, 2)), st.integers(1, 3), st.integers(1, 3))
def test_softmax_margin_lies_above_the_certificate_and_agrees_with_float64(
    system: FactSystem, hops: int, bits: int
) -> None:
    task = Task(hops, 1)
    for construct in (t3.construct, t3.construct_with_signs):
        model = construct(system, hops, bits, softmax=True)
        proved = certify(model, system, task)
        found = check_every_query_by_intervals(model, system, task)
        assert proved.holds
        assert proved.margin is not None
        assert found.status == "holds"
        assert found.low is not None
        assert found.high is not None
        assert 0 < proved.margin <= found.low <= found.high
        assert float(found.high - found.low) < 1e-20
        if hops == 1:
            relation, subject = np.divmod(np.arange(system.answers.size), system.entities)
            logits, _ = run_with_cache(model, np.stack([subject, system.entities + relation], axis=1))
            own = logits[np.arange(len(logits)), system.answers.ravel()].copy()
            logits[np.arange(len(logits)), system.answers.ravel()] = -np.inf
            assert float((own - logits.max(axis=1)).min()) == pytest.approx(float(found.low), rel=1e-9)


# The head reads the relation, but for a weight exp(-β)/(1 + exp(-β)) on the subject, which alone tells the answer.
IDENTITY = FactSystem([[0, 1]])


def leaky(beta: float, factor: int = 1, others: int = 0) -> Transformer:
    """Logits differ by `factor` times exp(-β)/(1 + exp(-β)), beside 1000; `others` is added to all of W_U."""
    unit, zero = np.eye(2, dtype=int), np.zeros(2, int)
    block = Block(
        W_Q=np.array([[[1], [0]]]),
        W_K=np.array([[[1], [0]]]),
        W_V=np.array([[[0, 0], [0, 1]]]),
        W_O=unit[None],
        W_in=np.array([[0, 0], [1, -1]]),
        b_in=zero,
        W_out=np.array([[0, 1], [0, -1]]) * factor,
        b_out=np.array([0, 1000]),
    )
    W_E, W_U = np.array([[0, 1], [0, -1], [1, 0]]), np.array([[0, 0], [1, 0]]) + others
    return Transformer(2, W_E, np.zeros((2, 2), int), (block,), W_U, np.array([0, 1000]), "softmax", beta=beta)


@pytest.mark.parametrize("beta", [5e-324, 1e-3, 1, 1000.0, 10**9, 1e9, 10**18, 1e300, 1.7e308])
def test_margins_of_about_exp_minus_beta_are_decided_at_any_beta(beta: float) -> None:
    """exp(-10^9) would need 1.4·10^9 bits beside the 1000. Right, wrong and tied models each get their verdict."""
    right, wrong, tied = (
        check_every_query_by_intervals(leaky(beta, factor), IDENTITY, Task()) for factor in (1, -1, 0)
    )
    assert (right.status, wrong.status, tied.status) == ("holds", "fails", "fails")
    assert (tied.low, tied.high) == (0, 0)
    assert right.low is not None
    assert right.high is not None
    assert wrong.high is not None
    with mpmath.workdps(60):
        margin = 1 / (1 + mpmath.exp(mpmath.mpf(beta)))
        assert decimal(right.low) <= margin <= decimal(right.high)
        assert decimal(right.high - right.low) < mpmath.mpf(2) ** -120
    assert 0 <= right.low <= right.high
    assert (right.low > 0) == (beta <= 1000)
    assert right.high.denominator <= 2**16384
    assert wrong.high <= 0


@pytest.mark.parametrize("beta", [5e-324, 1e9, 1e300])
def test_chains_end_at_any_beta(beta: float) -> None:
    system = FactSystem.random(3, 2)
    for construct in (t3.construct, t3.construct_with_signs):
        model = dataclasses.replace(construct(system, 2, softmax=True), beta=beta)
        found = check_every_query_by_intervals(model, system, Task(2, 1))
        assert found.status == ("holds" if beta > 1 else "fails")
        if beta > 1:
            assert found.low is not None
            assert abs(found.low - 1) < Fraction(1, 2**100)


def test_the_columns_of_the_read_out_are_subtracted_first() -> None:
    """What all columns share is none of the margin: 2^40 leaks would take 40 bits off the difference."""
    found = check_every_query_by_intervals(leaky(100.0, others=2**40), IDENTITY, Task(), precision=128)
    plain = check_every_query_by_intervals(leaky(100.0), IDENTITY, Task(), precision=128)
    assert (found.status, found.low, found.high) == ("holds", plain.low, plain.high)


def test_errors_must_fit_the_model() -> None:
    system = FactSystem.random(4, 2)
    model = t1b.construct_circle(system)
    nowhere = np.full(model.W_E.shape, np.nan)
    for errors in ({"W_E": np.zeros((2, 2))}, {"W_Q": np.zeros((6, 4))}, {"W_E": nowhere}, {"W_U": -abs(model.W_U)}):
        with pytest.raises(InputError, match="errors of W_"):
            check_every_query_by_intervals(model, system, Task(), weight_errors=errors)


@pytest.mark.parametrize("name", [name for name, _ in t1b.construct_circle(FactSystem.random(3, 2)).tensors()])
def test_the_errors_of_every_tensor_count(name: str) -> None:
    """One wide tensor widens the margin, and the wider the further; tensors of size 0 are none."""
    system = FactSystem.random(3, 2)
    model = t1b.construct_circle(system)
    shape = dict(model.tensors())[name].shape
    widths = []
    for error in (2.0**-40, 2.0**-30):
        found = check_every_query_by_intervals(model, system, Task(), weight_errors={name: np.full(shape, error)})
        assert found.low is not None
        assert found.high is not None
        widths.append(found.high - found.low)
    assert (2.0**-42 < widths[0] < widths[1]) if np.prod(shape) else widths == [0, 0]


def test_the_heads_have_errors_of_their_own() -> None:
    system = FactSystem.random(3, 1)
    model = t3.construct(system, 1)
    errors = np.zeros(model.blocks[0].W_V.shape)
    for head in range(model.blocks[0].heads):
        errors[:], errors[head] = 0, 2.0**-30
        found = check_every_query_by_intervals(model, system, Task(1, 1), weight_errors={"blocks.0.W_V": errors})
        assert found.status == "holds"
        assert found.low != found.high


def test_a_wrong_answer_fails_with_a_counterexample() -> None:
    system = FactSystem.random(4, 2)
    other = FactSystem.random(4, 2, seed=1)
    model = t3.construct(system, 1, softmax=True)
    found = check_every_query_by_intervals(model, other, Task(1, 1))
    assert found.status == "fails"
    assert found.counterexample is not None
    bad = found.counterexample
    assert bad.expected == other.answers[bad.word[0], bad.subject]
    assert bad.got == system.answers[bad.word[0], bad.subject]
    assert bad.margin < 0


def test_weak_softmax_fails() -> None:
    system = FactSystem([[1, 2, 0], [2, 1, 0]])
    weak = dataclasses.replace(t3.construct(system, 3, softmax=True), beta=1e-3)
    assert check_every_query_by_intervals(weak, system, Task(3, 1)).status == "fails"
    assert not certify(weak, system, Task(3, 1)).holds


def wide(array: NDArray[Any], error: float) -> NDArray[np.float64]:
    return np.full(array.shape, error)


def test_wide_balls_are_undecided_and_claim_no_more_than_they_know() -> None:
    system = FactSystem([[1, 2, 0], [2, 1, 0]])
    circle = t1b.construct_circle(system)
    found = check_every_query_by_intervals(circle, system, Task(), weight_errors={"W_U": wide(circle.W_U, 1.0)})
    assert (found.status, found.queries, found.counterexample) == ("undecided", 6, None)
    assert found.low is not None
    assert found.high is not None
    low, high = circle_margin(3)
    assert found.low < 0 < low <= high < found.high
    assert found.reason == ("query (subject 0, word [0]): whether a margin reaches 0 is not decided at 4096 bits")


def test_an_undecided_token_has_no_bounds_and_is_named() -> None:
    """A chain cannot go on when its first token is not certain, nor a head when it may read either."""
    system = FactSystem.random(3, 1)
    chain, task = t3.construct(system, 2), Task(2, 1)
    token = check_every_query_by_intervals(chain, system, task, weight_errors={"b_U": wide(chain.b_U, 1000.0)})
    assert (token.status, token.queries, token.low, token.high) == ("undecided", 3, None, None)
    assert token.reason == "query (subject 0, word [0, 0]): token 1 of the chain is not decided at 4096 bits"
    head = check_every_query_by_intervals(chain, system, task, weight_errors={"W_E": wide(chain.W_E, 9.0)})
    assert (head.status, head.low, head.high) == ("undecided", None, None)
    assert "which positions a hardmax head reads is not decided at 4096 bits" in head.reason


def test_what_stays_undecided_hides_no_later_failure() -> None:
    """The first query is undecided, the second one wrong: bounds below are unknown, the counterexample is real."""
    system = FactSystem([[1, 0]])
    model = Transformer(2, np.array([[1, 0], [0, 1], [0, 0]]), np.zeros((4, 2)), (), np.eye(2), np.zeros(2), "uniform")
    block = Block(
        *(np.zeros((1, 2, 0)),) * 2, np.eye(2)[None], np.eye(2)[None], np.eye(2), np.zeros(2), np.eye(2), np.zeros(2)
    )
    model = dataclasses.replace(model, blocks=(block,))
    errors = np.zeros((3, 2))
    errors[0] = 5
    found = check_every_query_by_intervals(model, system, Task(), weight_errors={"W_E": errors})
    assert (found.status, found.queries) == ("fails", 2)
    assert found.counterexample is not None
    assert (found.counterexample.subject, found.counterexample.margin) == (1, Fraction(-1, 2))
    assert found.low is not None
    assert found.low < -1
    assert found.high == Fraction(-1, 2)
    # In a chain the first query has no bounds at all: then below there are none.
    found = check_every_query_by_intervals(model, system, Task(2, 1), weight_errors={"W_E": errors})
    assert (found.status, found.queries, found.low) == ("undecided", 2, None)
    assert found.high == Fraction(1, 3)


def test_precision_doubles_until_it_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    """A claim 2^-300 below the margin of a leak, above it, and at it up to what 5000 bits tell."""
    tried: list[int] = []
    original = interval._run_query

    def counted(model: Any, *rest: Any) -> Any:
        tried.append(interval.flint.ctx.prec)
        return original(model, *rest)

    monkeypatch.setattr(interval, "_run_query", counted)
    with mpmath.workprec(6000):
        margin = 1 / (1 + mpmath.e)
        scaled = [Fraction(int(mpmath.floor(margin * 2**bits)), 2**bits) for bits in (300, 5000)]
    model = leaky(1.0)
    before = interval.flint.ctx.prec
    assert check_every_query_by_intervals(model, IDENTITY, Task(), scaled[0]).status == "holds"
    assert tried == [128, 256, 512] * 2
    tried.clear()
    above = scaled[0] + Fraction(1, 2**300)
    assert check_every_query_by_intervals(model, IDENTITY, Task(), above, precision=300).status == "fails"
    assert tried == [300, 600]
    tried.clear()
    found = check_every_query_by_intervals(model, IDENTITY, Task(), scaled[1])
    assert found.status == "undecided"
    assert tried == [128, 256, 512, 1024, 2048, 4096, 128]
    assert found.reason.endswith("is not decided at 4096 bits")
    tried.clear()
    assert check_every_query_by_intervals(model, IDENTITY, Task(), scaled[1], precision=3000).reason.endswith(
        "3000 bits"
    )
    assert tried == [3000, 3000]
    assert check_every_query_by_intervals(model, IDENTITY, Task(), scaled[1], precision=9000).status == "holds"
    assert before == interval.flint.ctx.prec


def test_a_tie_is_no_success() -> None:
    system = FactSystem.random(4, 1)
    model = t1.construct(system)
    tied = dataclasses.replace(model, W_U=np.zeros_like(model.W_U))
    found = check_every_query_by_intervals(tied, system, Task())
    assert (found.status, found.low, found.high) == ("fails", 0, 0)


@pytest.mark.parametrize("beta", [1.0, 1e9])
def test_softmax_scores_that_tie_share_exactly(beta: float) -> None:
    """With all scores equal, softmax is the mean: margins are rational and known exactly, ties are certain."""
    system = FactSystem.random(4, 2)
    uniform = t1.construct(system)
    model = dataclasses.replace(uniform, attention="softmax", beta=beta)
    exact = check_every_query(uniform, system, Task())
    found = check_every_query_by_intervals(model, system, Task())
    assert (found.status, found.low, found.high) == ("holds", exact.margin, exact.margin)
    tied = dataclasses.replace(model, W_U=np.zeros_like(model.W_U))
    assert check_every_query_by_intervals(tied, system, Task()).status == "fails"


def test_claimed_margin_is_required() -> None:
    system = FactSystem.random(4, 2)
    model = t1.construct(system)
    for claimed in (-1, 0, 2, Fraction(3, 2)):
        assert check_every_query_by_intervals(model, system, Task(), claimed).status == "holds"
    for claimed in (3, Fraction(2 * 10**60 + 1, 10**60)):
        assert check_every_query_by_intervals(model, system, Task(), claimed).status == "fails"
    tied = dataclasses.replace(model, W_U=np.zeros_like(model.W_U))
    assert check_every_query_by_intervals(tied, system, Task(), -1).status == "fails"
