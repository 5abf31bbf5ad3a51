from __future__ import annotations

import numpy as np

from greymatch.weather.keeping import Overlap, kept

SHAPE = (12, 5, 5)


def test_what_always_helps_is_kept_by_least_squares() -> None:
    product = 0.3 + 0.01 * np.random.default_rng(0).normal(size=SHAPE)
    found = kept(Overlap(product, np.ones(SHAPE)))
    np.testing.assert_allclose(found, product.mean(0))


def test_of_what_is_worth_nothing_nothing_is_kept_in_nineteen_of_twenty_archives() -> None:
    rng = np.random.default_rng(1)
    found = [kept(Overlap(rng.normal(size=SHAPE), np.ones(SHAPE))).max() > 0 for _ in range(200)]
    assert np.mean(found) < 0.07


def test_months_that_are_not_judged_do_not_count() -> None:
    product = np.full(SHAPE, 0.3) + 0.01 * np.random.default_rng(0).normal(size=SHAPE)
    gaps = np.concatenate([product, np.full((3, 5, 5), np.nan)])
    ones = np.where(np.isnan(gaps), np.nan, 1.0)
    np.testing.assert_allclose(kept(Overlap(gaps, ones)), kept(Overlap(product, np.ones(SHAPE))))
