"""Each construction does what it claims, on random systems of every shape, and costs what the registry says."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings

from constructions.suite.t5 import differing_tensors, transplant
from constructions.suite.t7 import superposition
from constructions.verification.exact import ExactModel
from constructions.verification.exhaustive import check_every_query, check_sampled_queries, run_queries
from constructions.weights import t1, t1b, t1d, t2, t2b, t2e, t3, t3b, t4, t6
from tests.helpers.models import EXACT, MODELS, Case, Model, cases, named
from theory import FactSystem, InputError, all_words
from theory.definitions.strategies import fact_systems
from theory.statements.registry import evaluate, theorem

UNIVERSAL = {"T1", "T1b", "T1d", "T2", "T3", "T6", "T13"}
every_exact_model = pytest.mark.parametrize("model", EXACT, ids=lambda model: model.name)
every_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)


@every_exact_model
@given(case=cases())
@settings(max_examples=60)
def test_every_query_is_answered_with_the_margin_claimed(model: Model, case: Case) -> None:
    transformer, task = model.build(case.system, case.hops, case.bits), model.task(case.hops)
    verdict = check_every_query(transformer, case.system, task, model.margin)
    assert verdict.holds, str(verdict.counterexample)
    assert verdict.margin >= model.margin >= 1
    assert verdict.queries == case.system.entities * case.system.relations**task.hops


@every_exact_model
@pytest.mark.parametrize(("entities", "relations", "hops", "bits"), [(2, 1, 1, 1), (2, 1, 5, 30), (97, 2, 3, 3)])
def test_the_corners_of_the_domain(model: Model, entities: int, relations: int, hops: int, bits: int) -> None:
    if "concatenated" in model.name:
        bits = min(bits, 20)
    system = FactSystem.random(entities, relations, seed=3)
    transformer, task = model.build(system, hops, bits), model.task(hops)
    verdict = check_every_query(transformer, system, task, model.margin)
    assert verdict.holds, str(verdict.counterexample)


@every_exact_model
def test_whether_earlier_positions_see_later_ones_does_not_matter(model: Model) -> None:
    system, task = FactSystem.random(5, 2), model.task(2)
    transformer = model.build(system, 2, 2)
    other = dataclasses.replace(transformer, causal=not transformer.causal)
    assert check_every_query(other, system, task, model.margin).holds


@every_model
@given(case=cases(queries=100))
@settings(max_examples=10)
def test_the_formulas_of_the_registry_are_those_of_the_weights(model: Model, case: Case) -> None:
    transformer = model.build(case.system, case.hops, case.bits)
    task, name = model.task(case.hops), model.entry.name.removesuffix(", softmax")
    claim = theorem(model.entry.theorem).construction(name)
    for quantity in ("dimension", "width", "parameters"):
        if quantity == "parameters" and claim.parameters is None:
            continue
        formula = evaluate(
            model.entry.theorem,
            quantity,
            entities=case.system.entities,
            relations=case.system.relations,
            hops=task.hops,
            bits=case.bits,
            stride=task.stride,
            construction=name,
        )
        if claim.width_is_bound and quantity != "dimension":
            assert getattr(transformer, quantity) <= formula, quantity
        else:
            assert getattr(transformer, quantity) == formula, quantity


@every_exact_model
@given(case=cases(queries=100))
@settings(max_examples=10)
def test_a_subject_is_written_in_the_bits_claimed(model: Model, case: Case) -> None:
    subjects = model.build(case.system, case.hops, case.bits).W_E[: case.system.entities]
    if "bits" in model.entry.uses:
        assert subjects.min() >= 0
        assert subjects.max() <= 2**case.bits - 1
    else:
        assert all(len(np.unique(column)) <= 2 for column in subjects.T)
        assert np.abs(subjects).max() <= 1


@every_model
def test_what_depends_on_the_facts(model: Model) -> None:
    one, other = (model.build(FactSystem.random(5, 2, seed), 3, 2) for seed in (0, 1))
    learned = {"T2b": ["blocks.0.W_out"], "T2e": ["W_U"], "T4": ["blocks.1.W_out", "blocks.3.W_out"]}
    if model.entry.theorem in UNIVERSAL or "T3b fixed" in model.name:
        assert model.universal
        assert differing_tensors(one, other) == []
    else:
        assert not model.universal
        # Meeting in the middle of one hop, the read-out is the fixed one.
        expected = [] if "stride 1" in model.name else learned.get(model.entry.theorem, ["W_U"])
        assert differing_tensors(one, other) == expected


@every_exact_model
def test_a_transplanted_subject_table_answers_for_its_own_system(model: Model) -> None:
    old, new = (FactSystem.random(6, 2, seed) for seed in (0, 1))
    task, frozen, donor = model.task(3), *(model.build(system, 3, 2) for system in (old, new))
    moved = transplant(frozen, donor)
    assert np.array_equal(moved.W_E, np.concatenate([donor.W_E[:6], frozen.W_E[6:]]))
    universal = differing_tensors(frozen, donor) == []
    assert check_every_query(moved, new, task, model.margin).holds == universal
    assert not (universal and check_every_query(moved, old, task).holds)


def test_transplanting_between_sizes_is_refused() -> None:
    old, larger, wider = (t1.construct(FactSystem.random(n, r)) for n, r in ((4, 2), (5, 2), (4, 3)))
    for donor in (larger, wider):
        with pytest.raises(InputError, match="cannot replace"):
            transplant(old, donor)


@pytest.mark.parametrize("hops", [1, 2, 5])
@pytest.mark.parametrize("name", ["T3 parabola", "T3 signs", "T3b fixed, stride 2", "T3b learned, stride 3"])
def test_chains_are_honest(name: str, hops: int) -> None:
    """Every token emitted is g of a prefix of the word, so that one model serves every shorter word."""
    model, system = named(name), FactSystem.random(5, 2, seed=hops)
    task, words = model.task(hops), all_words(2, hops)
    subjects, words = np.repeat(np.arange(5), len(words)), np.tile(words, (5, 1))
    expected = system.follow_all(words)[np.arange(len(words)), subjects]
    _, emitted = run_queries(ExactModel(model.build(system, hops, 2)), task, subjects, words, expected)
    for step, tokens in enumerate(emitted):
        prefix = words[:, : task.hops_of_step(step)[1]]
        assert np.array_equal(tokens, system.follow_all(prefix)[np.arange(len(words)), subjects])


def test_a_long_chain_over_many_relations() -> None:
    system = FactSystem.random(100, 16)
    for construct in (t3.construct, t3.construct_with_signs):
        transformer, task = construct(system, 30, 3), named("T3 parabola").task(30)
        assert check_sampled_queries(transformer, system, task, 50, seed=1, claimed_margin=1).holds


def test_the_circle_has_the_margin_of_neighbouring_angles() -> None:
    for entities in (2, 3, 10, 41):
        system = FactSystem.random(entities, 3)
        verdict = check_every_query(t1b.construct_circle(system), system, named("T1b circle").task(), rational=True)
        assert verdict.holds
        assert abs(float(verdict.margin) - (1 - math.cos(2 * math.pi / entities))) < 1e-14


def test_the_tied_read_out_is_the_subject_table() -> None:
    transformer = t2e.construct(FactSystem.random(7, 3), 3, tied=True)
    assert np.array_equal(transformer.W_U.T, transformer.W_E[:7])
    assert not transformer.b_U.any()


def test_disjoint_attributes_need_no_hidden_unit() -> None:
    assert t6.construct(FactSystem.random(7, 3)).width == 0


@given(system=fact_systems(entities=6, relations=2))
@settings(max_examples=15)
def test_subjects_are_superpositions_of_their_answers(system: FactSystem) -> None:
    single = all_words(2, 1)
    for transformer in (
        t1.construct(system),
        t1b.construct(system, 2),
        t3.construct(system, 3, 2),
        t3.construct_with_signs(system, 2),
    ):
        fit = superposition(transformer, system, single)
        assert fit.exact
        assert fit.r_squared == 1
        rebuilt = fit.constant + _superpose(fit.maps, system)
        assert np.allclose(rebuilt, transformer.W_E[:6])


def _superpose(maps: np.ndarray, system: FactSystem) -> np.ndarray:
    """Σ_r A_r c(g_r(x)), with the codes written out here: the three binary digits as signs."""
    bits = (system.answers[:, :, None] >> np.arange(3)) & 1
    return np.einsum("rdp,rxp->xd", maps, 2.0 * bits - 1)


def test_direct_rows_are_superpositions_of_words_and_not_of_letters() -> None:
    system = FactSystem.random(200, 2)
    transformer = t2.construct(system, 2, 1)
    words, letters = (superposition(transformer, system, all_words(2, hops)) for hops in (2, 1))
    assert words.exact
    assert not letters.exact
    assert letters.r_squared < 0.3


def test_other_facts_explain_no_subject_rows() -> None:
    system, other = FactSystem.random(200, 2, seed=0), FactSystem.random(200, 2, seed=1)
    fit = superposition(t1.construct(system), other, all_words(2, 1))
    assert not fit.exact
    assert fit.r_squared < 0.3


def test_real_rows_are_never_called_exact() -> None:
    system = FactSystem.random(4, 2)
    assert not superposition(t1b.construct_circle(system), system, all_words(2, 1)).exact


small = FactSystem.random(4, 2)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: t1b.construct(small, 0), "bits must be a whole number of at least 1, not 0"),
        (lambda: t1b.construct(small, 31), "bits is 31"),
        (lambda: t1b.construct(small, 1.5), "bits must be a whole number of at least 1, not 1.5"),
        (lambda: t1d.construct(small, 0), "bits must be"),
        (lambda: t1d.construct(FactSystem.random(64, 5), 8), r"about 5·2\^30; at most 2\^24"),
        (lambda: t1d.construct_concatenated(small, 0), "bits must be"),
        (lambda: t1d.construct_concatenated(small, 21), "bits is 21, at most 20"),
        (lambda: t2.construct(small, 0, 1), "hops must be a whole number of at least 1, not 0"),
        (lambda: t2.construct(small, 1, 0), "bits must be"),
        (lambda: t2b.construct(small, 0), "hops must be"),
        (lambda: t2b.construct(small, 21), r"10\^6 queries; at most 2\^22"),
        (lambda: t2e.construct(small, 0), "hops must be"),
        (lambda: t2e.construct(small, -1, tied=True), "hops must be"),
        (lambda: t3.construct(small, 0, 1), "hops must be"),
        (lambda: t3.construct(small, 2, 0), "bits must be"),
        (lambda: t3.construct_with_signs(small, 0, 1), "hops must be"),
        (lambda: t3.construct_with_signs(small, True, 1), "hops must be"),
        (lambda: t3b.construct(small, 3, 4), "stride 4 is larger than the number of hops, 3"),
        (lambda: t3b.construct(small, 0, 1), "hops must be"),
        (lambda: t3b.construct(small, 2, 1, 0), "bits must be"),
        (lambda: t3b.construct_learned(small, 2, -1), "stride must be"),
        (lambda: t4.construct(small, 0), "hops must be"),
    ],
)
def test_impossible_sizes_are_input_errors(build: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        build()  # type: ignore[operator]
