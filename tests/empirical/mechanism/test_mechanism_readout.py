"""E3 on models where the answer is known: superpositions have R² = 1, tables and damaged models have not."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.linalg import subspace_angles

from constructions.suite.t7 import superposition
from constructions.weights.catalogue import Setting
from empirical.mechanism import readout as module
from empirical.mechanism.readout import (
    SubjectTable,
    all_maps,
    cross_validated,
    fit_maps,
    geometry,
    read_out,
)
from empirical.mechanism.subject import Studied, of_construction
from empirical.statistics.subspaces import overlap, principal_axes
from tests.helpers.mechanisms import PAIR, SUPERPOSITIONS, SYSTEM, plain, quarter_damaged, table, trained, wrong_facts
from theory import FactSystem


@pytest.mark.parametrize(("theorem", "name", "setting", "system"), SUPERPOSITIONS)
def test_superpositions_are_read_out_whole(theorem: str, name: str, setting: Setting, system: FactSystem) -> None:
    found = read_out(of_construction(theorem, system, setting, name))
    assert found.fit.r_squared.value == pytest.approx(1, abs=1e-9)
    assert found.fit.r_squared.low == pytest.approx(1, abs=1e-9)
    assert found.fit.decoded.value == 1.0
    assert found.geometry.overlap == pytest.approx(0, abs=1e-9)
    for control in (found.shuffled, found.random_rows):
        assert control.r_squared.value < 0.1
        assert control.decoded.value < 0.1


def test_the_rank_of_a_component_is_that_of_the_codes() -> None:
    found = read_out(plain()).geometry
    assert found.rank == (6, 6, 6)
    assert all(5 < rank <= 6 for rank in found.effective_rank)
    assert found.dimension == 18
    assert found.overlap_random == pytest.approx(1 / 3)


def test_words_are_read_out_and_letters_are_not() -> None:
    found = read_out(of_construction("T2", PAIR, Setting(hops=2)))
    assert found.words == 4
    assert found.letters is not None
    assert found.letters.r_squared.value < 0.1
    assert read_out(plain()).letters is None


@pytest.mark.parametrize("build", [table, wrong_facts])
def test_what_is_no_superposition_is_not_read_out(build: Callable[[], Studied]) -> None:
    found = read_out(build())
    assert found.fit.r_squared.high < 0.1
    assert found.fit.decoded.high < 0.1


def test_a_damaged_table_is_explained_in_part() -> None:
    found = read_out(quarter_damaged())
    assert 0.1 < found.fit.r_squared.low < found.fit.r_squared.high < 0.8
    assert found.fit.decoded.value < 0.75


def test_the_maps_are_those_of_the_construction() -> None:
    """Up to what the codes' mean leaves open: the component of relation r lies in block r, and adds up to the row."""
    own = plain()
    maps = all_maps(own)
    for relation in range(3):
        other = np.delete(np.arange(18), np.arange(6 * relation, 6 * relation + 6))
        assert np.abs(maps.maps[relation, other]).max() < 1e-6
    np.testing.assert_allclose(maps.rows(own.attribute_vectors, own.answers), own.rows, atol=1e-6)


def test_held_out_r_squared_is_below_that_of_the_fit_itself() -> None:
    """A fit that saw the subjects that it is judged on would explain random rows well."""
    generator = np.random.default_rng(1)
    rows, vectors = generator.standard_normal((60, 5)), generator.standard_normal((60, 12))
    found = cross_validated(rows, vectors, SYSTEM.answers, generator)
    assert found.r_squared.value < 0.1
    assert superposition(plain().transformer, FactSystem.random(60, 3, seed=8), np.arange(3)[:, None]).r_squared > 0.2


def test_subjects_that_are_judged_have_no_part_in_the_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    original = module.fit_maps

    def recording(rows: module.Floats, vectors: module.Floats, answers: np.ndarray) -> module.Maps:  # type: ignore[type-arg]
        seen.append(len(rows))
        assert len({tuple(row) for row in rows}) == len(rows)
        return original(rows, vectors, answers)

    monkeypatch.setattr(module, "fit_maps", recording)
    rows = np.arange(60.0)[:, None] + np.zeros((1, 4))
    cross_validated(rows, plain().attribute_vectors, SYSTEM.answers, np.random.default_rng(0))
    assert seen == [48] * 5


def test_a_tie_between_attributes_is_not_decoded() -> None:
    """With two attributes alike, neither can be read."""
    generator = np.random.default_rng(0)
    vectors = generator.standard_normal((60, 6))
    vectors[1] = vectors[0]
    rows = vectors[SYSTEM.answers].transpose(1, 0, 2).reshape(60, -1)
    found = cross_validated(rows, vectors, SYSTEM.answers, generator)
    assert found.decoded.value == pytest.approx(58 / 60)


def test_several_tables_are_one_sample() -> None:
    own = plain()
    other = FactSystem.random(60, 3, seed=9)
    tables = [SubjectTable(plain(other).rows, other)]
    found = read_out(own, tables)
    assert found.subjects == 120
    assert found.fit.r_squared.value == pytest.approx(1, abs=1e-9)
    spoilt = read_out(own, [SubjectTable(own.rows, other)])
    assert spoilt.fit.r_squared.value < 0.7


def test_overlap_of_known_subspaces() -> None:
    """Components in planes that share one of two directions, at 60°: cos² is (1 + 1/4) / 2 in the mean."""
    vectors = np.random.default_rng(0).standard_normal((500, 2))
    vectors = (vectors - vectors.mean(0)) @ np.linalg.inv(np.linalg.cholesky(np.cov(vectors.T))).T
    first, second = np.zeros((2, 4, 2))
    first[0, 0] = first[1, 1] = second[0, 0] = 1
    second[1, 1], second[2, 1] = 0.5, math.sqrt(0.75)
    rows = np.random.default_rng(1).standard_normal((500, 4))
    found = geometry(module.Maps(np.stack([first, second]), np.zeros(4)), vectors, rows)
    assert found.rank == (2, 2)
    assert found.effective_rank == pytest.approx((2, 2))
    assert found.overlap == pytest.approx(5 / 8)
    assert found.overlap_random == pytest.approx(1 / 2)


def test_overlap_is_the_mean_squared_cosine_of_the_principal_angles() -> None:
    generator = np.random.default_rng(0)
    one, other = (np.linalg.qr(generator.standard_normal((9, size)))[0] for size in (2, 5))
    assert overlap(one, other) == pytest.approx((np.cos(subspace_angles(one, other)) ** 2).mean())
    assert overlap(one, one @ np.array([[0.0, 1.0], [-1.0, 0.0]])) == pytest.approx(1)
    assert overlap(one, np.zeros((9, 0))) == 0


def test_rows_that_are_all_alike_explain_nothing() -> None:
    generator = np.random.default_rng(0)
    found = cross_validated(np.ones((60, 4)), plain().attribute_vectors, SYSTEM.answers, generator)
    assert found.r_squared.value == 0.0
    assert found.decoded.value < 0.1
    assert principal_axes(np.ones((60, 4))).shape == (4, 0)
    assert fit_maps(np.ones((60, 4)), plain().attribute_vectors, SYSTEM.answers).constant == pytest.approx(np.ones(4))


def test_a_trained_model_is_measured() -> None:
    _, studied = trained()
    found = read_out(studied)
    assert 0 < found.fit.r_squared.low < found.fit.r_squared.value < found.fit.r_squared.high < 1
    assert found.fit.decoded.value > 10 * found.shuffled.decoded.value
    assert read_out(studied).as_dict() == found.as_dict()
