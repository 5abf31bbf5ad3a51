from __future__ import annotations

import pytest
import torch

from greymatch.models.latents import Gaussian, Latents, mirrored


@pytest.mark.parametrize("draws", [2, 5, 6, 101])
def test_the_mean_of_mirrored_draws_is_zero_and_their_spread_one(draws: int):
    noise = mirrored(draws, torch.zeros(2000, 3), torch.Generator().manual_seed(0))
    assert noise.shape == (draws, 2000, 3)
    torch.testing.assert_close(noise.mean(0), torch.zeros(2000, 3), atol=1e-6, rtol=0)
    assert float(noise[: draws // 2].std()) == pytest.approx(1, abs=0.05)
    assert bool((noise[-1] == 0).all()) == bool(draws % 2)


def test_a_single_draw_is_a_random_one():
    noise = mirrored(1, torch.zeros(5000), torch.Generator().manual_seed(0))
    assert float(noise.std()) == pytest.approx(1, abs=0.05)


def test_copies_of_a_law_are_drawn_in_pairs_about_its_mean():
    mean = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    law = Gaussian(mean.repeat(4, 1), torch.zeros(8, 2))
    draws = law.sample(torch.Generator().manual_seed(0), copies=4).reshape(4, 2, 2)
    torch.testing.assert_close(draws.mean(0), mean)
    assert float((draws - mean).abs().min()) > 0


def test_latents_at_many_points_are_the_same_everywhere():
    latents = Latents(torch.randn(3, 2), torch.randn(3, 1), theta=torch.randn(3, 4)).over(5)
    assert latents.theta is not None
    for part, size in ((latents.eps, 2), (latents.z, 1), (latents.theta, 4)):
        assert part.shape == (3, 5, size)
        assert torch.equal(part, part[:, :1].expand(-1, 5, -1))
