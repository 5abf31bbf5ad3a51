from __future__ import annotations

import torch

from greymatch.weather.sphere import area_weights, latitudes, longitudes, polar_filtered


def test_what_is_smooth_on_the_sphere_passes() -> None:
    like = torch.zeros(32, 64, dtype=torch.float64)
    lat, lon = latitudes(like)[:, None], longitudes(like)
    for order in (0, 1, 2, 5, 12, 20):
        smooth = lat.cos() ** order * torch.cos(order * lon + 1)
        torch.testing.assert_close(polar_filtered(smooth), smooth, rtol=0, atol=2e-3)


def test_noise_goes_next_to_the_poles_and_stays_at_the_equator(seed: int) -> None:
    noise = torch.randn(100, 32, 64)
    left = polar_filtered(noise).square().mean((0, 2))
    assert float(left[0]) < 0.1
    assert float(left[-1]) < 0.1
    torch.testing.assert_close(polar_filtered(noise)[:, 15], noise[:, 15], rtol=0, atol=1e-5)


def test_nothing_is_made_or_lost(seed: int) -> None:
    field = torch.randn(3, 16, 32, dtype=torch.float64)
    before, after = ((maps * area_weights(maps)).mean((1, 2)) for maps in (field, polar_filtered(field)))
    torch.testing.assert_close(after, before)


def test_it_is_done_once_for_all(seed: int) -> None:
    field = torch.randn(16, 32, dtype=torch.float64)
    torch.testing.assert_close(polar_filtered(polar_filtered(field)), polar_filtered(field))


def test_half_precision_stays_what_it_is() -> None:
    assert polar_filtered(torch.zeros(8, 16, dtype=torch.bfloat16)).dtype == torch.bfloat16
