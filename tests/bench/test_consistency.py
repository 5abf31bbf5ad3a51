from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from greymatch.bench.consistency import WINDOWS, consistency
from greymatch.physics.priors import Uniform
from greymatch.systems import pendulum


class Told:
    """A model that infers what `centre` says of each trajectory and of the length of its history."""

    physics = SimpleNamespace(params={"omega": Uniform(1.0, 3.0)})
    network = SimpleNamespace(physics=SimpleNamespace(free=("omega",)))
    settings = SimpleNamespace(window=10)

    def __init__(self, centre: Any) -> None:
        self.centre, self.lengths = centre, []

    def infer(self, history: Any, draws: int) -> Any:
        self.lengths.append(int(history.lengths[0]))
        values = self.centre(history.truth["omega"], self.lengths[-1])
        return SimpleNamespace(draws=torch.as_tensor(values)[None, :, None])


@pytest.fixture(scope="module")
def test_split() -> Any:
    return pendulum.data("test", trajectories=6, points=60)


def test_one_that_knows_is_consistent_and_right(test_split: Any) -> None:
    model: Any = Told(lambda truth, length: truth)
    found = consistency(model, test_split)["omega"]
    assert (found["rmse"], found["windows"]) == (0.0, WINDOWS)
    assert found["cv"] < 1e-12
    assert (model.lengths[0], model.lengths[-1]) == (10, 60)


def test_one_that_says_the_priors_mean_is_consistent_and_as_wrong(test_split: Any) -> None:
    model: Any = Told(lambda truth, length: np.full_like(truth, 2.0))
    found = consistency(model, test_split)["omega"]
    assert found["cv"] == 0.0
    assert found["rmse"] == found["prior_rmse"] > 0


def test_variation_is_relative_and_of_the_median_trajectory(test_split: Any) -> None:
    def centre(truth: np.ndarray, length: int) -> np.ndarray:
        sign = 1.0 if length % 2 else -1.0
        return truth * (1 + sign * np.array([0.1, 0.1, 0.1, 0.1, 9.0, 0.0]))

    model: Any = Told(centre)
    lengths = np.unique(np.linspace(10, 60, WINDOWS).round().astype(int))
    signs = np.where(lengths % 2, 0.1, -0.1)
    assert consistency(model, test_split)["omega"]["cv"] == pytest.approx(
        np.std(signs, ddof=1) / (1 + signs.mean()), rel=1e-3
    )


def test_without_truth_there_is_nothing_to_say(test_split: Any) -> None:
    model: Any = Told(None)
    model.network = SimpleNamespace(physics=SimpleNamespace(free=()))
    assert consistency(model, test_split) == {}
