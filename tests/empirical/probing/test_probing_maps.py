"""Linear maps, folds, controls and intervals of the probe: what they are, and that they can say no."""

from __future__ import annotations

import numpy as np
import pytest

from empirical.probing.measures.controls import majority, shuffled, similarity
from empirical.probing.measures.maps import (
    INNER,
    NO_ANSWER,
    OUTER,
    candidates,
    choose,
    decide,
    fit,
    fit_chosen,
    folds,
    held_out,
)
from empirical.statistics.regression import KernelRidge
from empirical.statistics.shares import bootstrap_share, bootstrap_share_of, explained_share, gained_share
from empirical.statistics.significance import FLIPS, holm, p_better
from tests.helpers.probed_models import noise


def linear(subjects: int, objects: int, dimension: int, spread: float = 0.0):
    """States that are a linear function of their object's direction, the candidates, and the objects."""
    generator = np.random.default_rng(1)
    directions = generator.normal(size=(objects, 5)) @ generator.normal(size=(5, dimension))
    owned = generator.integers(objects, size=subjects)
    states = directions[owned] @ generator.normal(size=(dimension, dimension))
    return states + spread * generator.normal(size=states.shape), candidates(directions), owned


def kernel(states):
    return states @ states.T


def test_folds_share_out_subjects_evenly_and_keep_groups_together():
    alone = folds(np.arange(23), 5, seed=3)
    assert sorted(np.bincount(alone)) == [4, 4, 5, 5, 5]
    groups = np.repeat([7, 1, 4, 9], [10, 3, 4, 3])
    grouped = folds(groups, 2, seed=3)
    assert all(len(set(grouped[groups == each])) == 1 for each in set(groups.tolist()))
    assert sorted(np.bincount(grouped)) == [10, 10]
    assert set(folds(groups, 9, seed=0)) == {0, 1, 2, 3}


def test_a_tie_is_no_answer():
    assert decide(np.array([[0.0, 2.0, 1.0], [2.0, 2.0, 1.0]])).tolist() == [1, NO_ANSWER]


def test_the_dual_solution_is_ridge_regression_with_an_intercept():
    states, targets = noise(12, 7), noise(12, 3, seed=1)
    train, test = np.arange(9), np.arange(9, 12)
    ridge = KernelRidge(kernel(states), train)
    penalty = 0.3
    dual = (ridge.rows(kernel(states), test) * ridge.filter(penalty)) @ ridge.within(targets[train])
    centred = states[train] - states[train].mean(axis=0)
    left = centred.T @ centred + penalty * ridge.unit * np.eye(7)
    primal = (states[test] - states[train].mean(axis=0)) @ np.linalg.solve(left, centred.T @ targets[train])
    np.testing.assert_allclose(dual, primal, atol=1e-10)


def test_where_nothing_varies_the_mean_is_predicted():
    states, targets = np.full((6, 3), 2.0), noise(6, 2)
    ridge = KernelRidge(kernel(states), np.arange(4))
    found = (ridge.rows(kernel(states), np.arange(4, 6)) * ridge.filter(0.5)) @ ridge.within(targets[:4])
    np.testing.assert_allclose(found, np.zeros((2, 2)), atol=1e-12)
    assert np.isfinite(ridge.filter(0.5)).all()


def test_a_map_at_full_rank_is_the_ridge_solution_and_at_rank_k_its_leading_part():
    states, found, objects = linear(40, 9, 12, spread=1.0)
    full = fit(states, found, objects, 0.1, found.coordinates.shape[1])
    assert full(states).shape == (40, 12)
    ridge = KernelRidge(kernel(states), np.arange(40))
    expected = (ridge.vectors * ridge.values * ridge.filter(0.1)) @ ridge.within(found.coordinates[objects])
    expected = (expected + found.coordinates[objects].mean(axis=0)) @ found.basis + found.centre
    np.testing.assert_allclose(full(states), expected, atol=1e-9)
    one = fit(states, found, objects, 0.1, 1)
    assert np.linalg.matrix_rank(one(states) - one.offset, tol=1e-8) == 1
    # The fitted values of rank 1 nearest to the full ones, by Eckart and Young.
    leading = np.linalg.svd(full(states) - full.offset)[1]
    assert np.linalg.norm(full(states) - one(states)) == pytest.approx(np.sqrt((leading[1:] ** 2).sum()))


def test_a_linear_relation_is_read_on_subjects_never_seen_and_a_shuffled_one_is_not():
    states, found, objects = linear(60, 8, 12)
    dealt = np.stack([objects, *shuffled(objects, 0)])
    result = held_out(kernel(states), found, dealt, np.arange(60), seed=0)
    accuracy = (result.predicted == dealt).mean(axis=1)
    assert accuracy[0] == 1
    assert (accuracy[1:] < 0.4).all()
    assert result.inner.shape == (5, OUTER)


def test_more_dimensions_than_subjects_fit_noise_in_sample_and_nothing_else():
    states, found = noise(50, 200), candidates(noise(6, 200, seed=1))
    objects = np.random.default_rng(2).integers(6, size=50)
    inside = fit(states, found, objects, 1e-6, 5)
    read = decide((inside(states) - found.centre) @ found.basis.T @ found.table)
    assert (read == objects).all()
    outside = held_out(kernel(states), found, objects[None], np.arange(50), seed=0)
    assert (outside.predicted[0] == objects).mean() < 0.4


def test_the_test_fold_has_no_part_in_penalty_rank_or_fit():
    states, found, objects = linear(60, 8, 12, spread=2.0)
    before = held_out(kernel(states), found, objects[None], np.arange(60), seed=0)
    test = before.fold == 2
    other = objects.copy()
    other[test] = (other[test] + 3) % 8
    moved = states.copy()
    moved[np.flatnonzero(test)[0]] *= 50
    after = held_out(kernel(moved), found, other[None], np.arange(60), seed=0)
    kept = np.flatnonzero(test)[1:]
    np.testing.assert_array_equal(after.predicted[0, kept], before.predicted[0, kept])
    assert after.inner[0, 2] == before.inner[0, 2]
    assert (after.predicted[0, ~test] != before.predicted[0, ~test]).any()


def test_conditions_fitted_together_are_those_fitted_alone():
    states, found, objects = linear(50, 8, 12, spread=2.0)
    dealt = np.stack([objects, *shuffled(objects, 0, 2)])
    together = held_out(kernel(states), found, dealt, np.arange(50), seed=0)
    for place, each in enumerate(dealt):
        alone = held_out(kernel(states), found, each[None], np.arange(50), seed=0)
        np.testing.assert_array_equal(together.predicted[place], alone.predicted[0])
        np.testing.assert_array_equal(together.inner[place], alone.inner[0])


def test_by_object_asks_for_objects_that_training_has_not_seen():
    # One direction an object, all orthogonal: a cluster is read by subject, but no direction is made of the others.
    objects = np.arange(60) % 6
    states, found = np.eye(6)[objects] + 0.01 * noise(60, 6), candidates(np.eye(6))
    by_subject = held_out(kernel(states), found, objects[None], np.arange(60), seed=0)
    by_object = held_out(kernel(states), found, objects[None], objects, seed=0)
    assert (by_subject.predicted[0] == objects).all()
    assert not (by_object.predicted[0] == objects).any()
    # Directions of two coordinates are made of others.
    codes = np.stack([np.cos(np.arange(6)), np.sin(np.arange(6))], axis=1)
    states, found = codes[objects] @ noise(2, 6, seed=1), candidates(codes)
    by_object = held_out(kernel(states), found, objects[None], objects, seed=0)
    assert (by_object.predicted[0] == objects).all()


def test_the_rank_chosen_is_no_larger_than_the_relation_needs():
    states, found, objects = linear(80, 20, 12)
    everyone = np.arange(80)
    chosen = choose(kernel(states), found, objects[None], everyone, everyone, seed=0)
    assert chosen.accuracy[0] == 1
    assert 1 < chosen.rank[0] <= 5
    assert fit_chosen(states, found, objects, 0).rank == chosen.rank[0]
    assert len(np.unique(folds(everyone, INNER, 0))) == INNER


def test_candidates_keep_only_the_dimensions_that_tell_them_apart():
    found = candidates(np.array([[1.0, 5, 0], [2.0, 5, 0], [4.0, 5, 0]]))
    assert found.coordinates.shape == (3, 1)
    np.testing.assert_allclose(found.coordinates @ found.basis + found.centre, [[1, 5, 0], [2, 5, 0], [4, 5, 0]])


def test_majority_is_that_of_the_other_folds():
    objects = np.array([0, 0, 0, 1, 1, 2])
    fold = np.array([0, 0, 1, 1, 1, 1])
    assert majority(objects, fold).tolist() == [1, 1, 0, 0, 0, 0]


def test_shuffling_deals_out_the_same_objects():
    objects = np.arange(30) % 4
    dealt = shuffled(objects, 5, 3)
    assert (np.sort(dealt) == np.sort(objects)).all()
    assert (dealt != objects).any(axis=1).all()


def test_similarity_finds_what_lies_in_the_state_itself_and_only_that():
    found, objects = candidates(noise(10, 30)), np.arange(50) % 10
    states = found.coordinates[objects] @ found.basis
    assert (similarity(states, found) == objects).all()
    assert (similarity(states @ np.linalg.qr(noise(30, 30, seed=2))[0], found) == objects).mean() < 0.5


def test_intervals_hold_the_value_and_narrow_with_the_subjects():
    few, many = bootstrap_share([0, 1] * 20), bootstrap_share([0, 1] * 400)
    assert few.low < few.value == 0.5 < few.high
    assert many.high - many.low < few.high - few.low
    assert few.high - few.low == pytest.approx(4 * 0.5 / np.sqrt(40), rel=0.1)
    assert bootstrap_share_of([1, 0], np.array([False, False])) is None
    assert explained_share([1, 1], [4, 4]).value == 0.75
    assert explained_share([0, 0], [0, 0]).value == 0
    assert gained_share([2, 2], [1, 1], [4, 4]).value == 0.25


def test_intervals_are_the_quantiles_of_subjects_drawn_again():
    # 40 draws with probability 1/2: Binomial(40, 1/2) has its 2.5 % and 97.5 % points at 14 and 26.
    found = bootstrap_share([0, 1] * 20)
    assert (40 * found.low, 40 * found.high, found.subjects) == pytest.approx((14, 26, 40))
    values = np.array([0.1, 0.4, 0.2, 0.9] * 5)
    mean = bootstrap_share(values, seed=3)
    chosen = np.arange(40) < 20
    assert bootstrap_share_of(np.r_[values, values + 7], chosen, seed=3) == mean
    assert bootstrap_share_of(values, np.ones(20, bool)) == bootstrap_share(values, seed=0)
    left = explained_share(values, np.ones(20), seed=3)
    assert (left.value, left.low, left.high) == pytest.approx((1 - mean.value, 1 - mean.high, 1 - mean.low))
    gained = gained_share(values, np.zeros(20), np.ones(20), seed=3)
    assert (gained.value, gained.low, gained.high) == pytest.approx((mean.value, mean.low, mean.high))
    # In a ratio of sums, subjects count by their totals: nothing is left to explain of one half, all of the other.
    assert explained_share([0, 0, 1, 1], [9, 9, 1, 1]).value == pytest.approx(0.9)
    assert bootstrap_share(values, seed=4) != mean


def test_p_values_are_those_of_all_signs():
    # Of eight signs of (3, 1, 1) one reaches 5, of (1, 2, -3) five reach 0: three above it and two equal to it, which
    # rounding must not tell apart.
    found = p_better([[[3, 1, 1], [0.1, 0.2, -0.3]], [[-3, -1, -1], [1, 1, 1]]])
    assert found.shape == (2, 2)
    assert found == pytest.approx(np.array([[1, 5], [8, 1]]) / 8, abs=0.01)
    assert p_better([2, 1], seed=1) != p_better([2, 1], seed=2)
    assert p_better([2, 1]) == p_better([2, 1], seed=0)


def test_p_values_are_small_for_a_difference_and_not_for_chance():
    certain, none, worse = p_better(np.stack([np.ones(40), np.zeros(40), -np.ones(40)]))
    assert certain == 1 / (FLIPS + 1)
    assert none == worse == 1
    # The sign test: 8 of 10 subjects better, p = P(at least 8 of 10 heads) = 56/1024.
    assert p_better([1] * 8 + [-1] * 2)[0] == pytest.approx(56 / 1024, abs=0.006)


def test_holm():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx((0.03, 0.06, 0.06))
    assert holm([0.5, 0.9]) == (1.0, 1.0)
    assert holm([]) == ()
