"""Subspaces by orthonormal bases: spans of vectors of any size, and overlaps known by hand."""

from __future__ import annotations

import numpy as np
import pytest

from empirical.statistics.subspaces import overlap, principal_axes


@pytest.mark.parametrize("size", [1e-12, 1.0, 1e12])
def test_axes_span_the_centred_vectors_however_small_they_are(size: float) -> None:
    vectors = size * np.array([[3.0, 1, 1, 7], [1, 3, 1, 7], [-1, -1, 1, 7], [1, 1, 1, 7]])
    axes = principal_axes(vectors)
    assert axes.shape == (4, 2)
    np.testing.assert_allclose(axes @ axes.T, np.diag([1.0, 1, 0, 0]), atol=1e-9)


def test_a_direction_that_is_rounding_is_none() -> None:
    vectors = np.array([[1.0, 0], [-1, 0], [0, 1e-9], [0, -1e-9]])
    assert principal_axes(vectors).shape == (2, 1)
    assert principal_axes(np.ones((3, 2))).shape == (2, 0)


def test_overlaps_by_hand() -> None:
    eye = np.eye(4)
    slanted = np.array([[0.6], [0.8], [0], [0]])
    assert overlap(slanted, slanted) == pytest.approx(1)
    assert overlap(eye[:, :1], slanted) == pytest.approx(0.36)
    assert overlap(eye[:, :1], eye[:, :3]) == pytest.approx(1)
    assert overlap(eye[:, :2], eye[:, 1:3]) == pytest.approx(1 / 2)
    assert overlap(eye[:, :2], eye[:, 2:]) == 0
    assert overlap(eye[:, :0], eye) == 0
