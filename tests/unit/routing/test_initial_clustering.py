"""Spherical k-means (RecNet 2.2.1): the start of the routers."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from propagation.routing import find_nearest_centres, run_spherical_kmeans


def _draw_clumps(seed, clumps=6, each=50, dimension=16):
    rng = np.random.default_rng(seed)
    middles = np.linalg.qr(rng.standard_normal((dimension, clumps)))[0].T
    return (
        np.repeat(middles, each, axis=0) + 0.05 * rng.standard_normal((clumps * each, dimension))
    ).astype(np.float32)


def test_it_finds_planted_clumps():
    points = _draw_clumps(3)
    nearest, cosines = find_nearest_centres(points, run_spherical_kmeans(points, 6, seed=1))
    assert [len(set(nearest[start : start + 50])) for start in range(0, 300, 50)] == [1] * 6
    assert len(set(nearest)) == 6
    assert cosines.min() > 0.8


def test_same_seed_same_centres_whatever_the_vectors_lengths():
    points = _draw_clumps(4)
    centres = run_spherical_kmeans(points, 9, seed=5)
    np.testing.assert_array_equal(centres, run_spherical_kmeans(points.copy(), 9, seed=5))
    assert not np.array_equal(centres, run_spherical_kmeans(points, 9, seed=6))
    np.testing.assert_allclose(run_spherical_kmeans(points * 4, 9, seed=5), centres, atol=1e-5)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 40), st.integers(1, 12), st.integers(1, 6), st.integers(0, 5))
def test_always_k_unit_centres_however_few_distinct_points(count, k, distinct, seed):
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((distinct, 8)).astype(np.float32)[rng.integers(0, distinct, count)]
    centres = run_spherical_kmeans(points, k, seed)
    assert centres.shape == (k, 8)
    np.testing.assert_allclose(np.linalg.norm(centres, axis=1), 1, atol=1e-5)


def test_each_of_few_distinct_points_is_a_centre():
    points = np.repeat(np.eye(5, 12, dtype=np.float32), 40, axis=0)
    assert find_nearest_centres(points, run_spherical_kmeans(points, 20, seed=2))[1].min() > 0.999


def test_vectors_that_say_nothing_are_left_out():
    points = _draw_clumps(5)
    bad = np.concatenate(
        [points, np.zeros((3, 16), np.float32), np.full((2, 16), np.nan, np.float32)]
    )
    np.testing.assert_array_equal(
        run_spherical_kmeans(bad, 6, 1), run_spherical_kmeans(points, 6, 1)
    )
