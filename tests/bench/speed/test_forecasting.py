from __future__ import annotations

import torch

from greymatch.bench.speed.forecasting import TOLERANCES, Accuracy, loosest


def test_accuracy_is_the_usual_and_the_largest_error() -> None:
    found = Accuracy.of(torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([1.0, 2.0, 3.0, 2.0], dtype=torch.float64))
    assert (found.typical, found.largest) == (1.0, 2.0)


def test_the_loosest_tolerance_that_is_as_accurate_is_taken() -> None:
    found = loosest(lambda tolerance: Accuracy(10 * tolerance, 1.0), Accuracy(1e-4, 1e-3))
    assert 1e-5 / 2 < found.tolerance <= 1e-5
    assert loosest(lambda tolerance: Accuracy(1.0, 1.0), Accuracy(1e-4, 1e-3)).tolerance == TOLERANCES[-1]
