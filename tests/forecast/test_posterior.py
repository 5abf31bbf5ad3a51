from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from greymatch.errors import GreymatchError
from greymatch.forecast.posterior import Posterior


@pytest.fixture
def posterior():
    draws = torch.tensor([[[1.0, 9.0], [4.0, 9.0]], [[2.0, 9.0], [8.0, 9.0]], [[6.0, 9.0], [9.0, 9.0]]])
    return Posterior(("omega", "g"), draws, np.array(["a", "b"]), {"omega": (2.0, 0.7)})


def test_summaries_by_name(posterior):
    assert posterior.mean()["omega"].values.tolist() == [3.0, 7.0]
    assert posterior.median()["omega"].sel(trajectory="b") == 8.0
    np.testing.assert_allclose(posterior.std()["omega"], np.sqrt([7.0, 7.0]), rtol=1e-6)
    assert posterior.std()["g"].values.tolist() == [0.0, 0.0]
    assert posterior.to_dataset()["omega"].dims == ("draw", "trajectory")
    assert posterior.to_dataset()["omega"].values.tolist() == [[1.0, 4.0], [2.0, 8.0], [6.0, 9.0]]


def test_an_interval_has_two_bounds(posterior):
    interval = posterior.interval(0.5)
    assert interval["omega"].dims == ("trajectory", "bound")
    assert interval["omega"].sel(bound="low").values.tolist() == [1.5, 6.0]
    assert interval["omega"].sel(bound="high").values.tolist() == [4.0, 8.5]


def test_rmse_is_that_of_the_mean_where_the_truth_is_known(posterior):
    rmse = posterior.rmse({"omega": np.array([3.0, 5.0]), "xi": np.array([1.0, 1.0])})
    assert rmse == {"omega": pytest.approx(math.sqrt(2.0))}
    assert posterior.rmse({"g": 9.81}) == {"g": pytest.approx(0.81, rel=1e-5)}


def test_coverage_of_calibrated_draws_is_the_level(seed):
    true = torch.randn(5000)
    center = true + 0.3 * torch.randn(5000)
    draws = (center + 0.3 * torch.randn(50, 5000))[..., None]
    posterior = Posterior(("omega",), draws, np.arange(5000))
    for level in (0.5, 0.9):
        assert posterior.coverage({"omega": true.numpy()}, level)["omega"] == pytest.approx(level, abs=0.02)


def test_coverage_by_hand(posterior):
    assert posterior.coverage({"omega": [2.0, 100.0], "g": [9.0, 9.0]}) == {"omega": 0.5, "g": 1.0}
    fixed = Posterior(("g",), torch.full((5, 2, 1), 9.81), np.arange(2))
    assert fixed.coverage({"g": 9.81}) == {"g": 1.0}


def test_the_text_is_a_table(posterior):
    lines = str(posterior).splitlines()
    assert lines[0] == "Posterior of omega, g (3 draws): mean [90 % interval]"
    assert lines[2].split() == ["prior", "2", "+-", "0.7"]
    assert lines[3].split() == ["a", "3", "[1.1,", "5.6]", "9", "[9,", "9]"]
    assert repr(posterior) == str(posterior)


def test_a_narrow_interval_is_told_with_the_digits_that_it_needs():
    draws = 2.2741234567 + torch.tensor([-1e-6, 0.0, 1e-6], dtype=torch.float64)
    line = str(Posterior(("k",), draws[:, None, None], np.array(["a"]))).splitlines()[-1]
    mean, low, high = (float(word.strip("[],")) for word in line.split()[1:])
    assert high - low == pytest.approx(1.8e-6, abs=0.1e-6)
    assert mean == pytest.approx(2.2741234567, abs=1e-7)
    assert len(line.split()[1]) <= 9, "no more digits than two of the width"


def test_the_text_stops_after_ten():
    many = Posterior(("omega",), torch.ones(4, 25, 1), np.arange(25))
    lines = str(many).splitlines()
    assert len(lines) == 2 + 10 + 1
    assert lines[-1] == "... 15 more"


def test_physics_without_parameters_is_no_error():
    assert "no parameters" in str(Posterior((), torch.ones(4, 2, 0), np.arange(2)))


def test_bad_truth_is_refused(posterior):
    with pytest.raises(GreymatchError, match="at least one of the parameters"):
        posterior.rmse({"xi": [1.0, 2.0]})
    with pytest.raises(GreymatchError, match="one value of 'omega' for each of the 2"):
        posterior.rmse({"omega": [1.0, 2.0, 3.0]})
    with pytest.raises(GreymatchError, match="`level`"):
        posterior.coverage({"omega": [1.0, 2.0]}, 90)
    with pytest.raises(GreymatchError, match="`draws` must be"):
        Posterior(("a",), torch.ones(2, 3), np.arange(3))
