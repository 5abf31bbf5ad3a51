from __future__ import annotations

import numpy as np
import pytest

from greymatch.diagnostics.uniformity import band, chance, distance


@pytest.mark.parametrize(("bins", "count"), [(10, 60), (20, 500)])
def test_honest_histograms_lie_within_the_band_all_bins_at_once(bins, count):
    low, high = band(bins, count)
    shares = np.random.default_rng(1).multinomial(count, [1 / bins] * bins, size=4000) / count
    inside = ((shares >= low) & (shares <= high)).all(1).mean()
    assert 0.95 <= inside < 0.995
    assert low < 1 / bins < high


def test_more_values_make_a_narrower_band():
    few, many = band(10, 50), band(10, 5000)
    assert many[1] - many[0] < (few[1] - few[0]) / 5


def test_distance_is_the_largest_gap():
    edges = np.linspace(0, 1, 11)
    assert distance(edges) == 0.0
    assert distance(edges**2) == pytest.approx(0.25)


def test_chance_is_uniform_for_uniform_values():
    edges = np.linspace(0, 1, 1001)
    values = np.sort(np.random.default_rng(2).random((800, 50)), 1)
    found = [chance(distance(np.searchsorted(row, edges) / 50), 50) for row in values]
    for level in (0.05, 0.2, 0.5):
        assert np.mean(np.array(found) < level) == pytest.approx(level, abs=0.05)


def test_ranks_that_pile_up_have_no_chance():
    assert chance(distance(np.linspace(0, 1, 11) ** 3), 100) < 1e-6
