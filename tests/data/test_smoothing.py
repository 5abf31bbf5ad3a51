from __future__ import annotations

import pytest
import torch
from torch import Tensor

from greymatch.data import smoothing
from greymatch.data.smoothing import smooth

NOISE = [0.05]


def uneven(rows: int, points: int, seed: int) -> Tensor:
    steps = 0.05 + 0.1 * torch.rand(rows, points, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return steps.cumsum(1)


def swings(times: Tensor, noise: float, seed: int) -> tuple[Tensor, Tensor]:
    """sin(2 t + row) with and without noise, (B, T, 1)."""
    clean = torch.sin(2 * times + torch.arange(len(times))[:, None])[..., None]
    return clean, clean + noise * torch.randn(clean.shape, generator=torch.Generator().manual_seed(seed)).double()


def everywhere(values: Tensor) -> Tensor:
    return torch.ones_like(values, dtype=torch.bool)


def regression(times: Tensor, values: Tensor, roughness: float, noise: float) -> tuple[Tensor, Tensor]:
    """Gaussian process regression with a flat prior on parabolas, by dense algebra: mean, log restricted likelihood."""
    least = torch.minimum(times[:, None], times)
    apart = (times[:, None] - times).abs()
    # covariance of the twice integrated Wiener process that starts at rest, in closed form
    kernel = roughness * (least**5 / 20 + apart * least**4 / 8 + apart**2 * least**3 / 12)
    basis = torch.stack([torch.ones_like(times), times, times**2], 1)
    noisy = kernel + noise**2 * torch.eye(len(times))
    inverse = torch.linalg.inv(noisy)
    weights = torch.linalg.solve(basis.T @ inverse @ basis, basis.T @ inverse @ values)
    rest = values - basis @ weights
    fit = -0.5 * (rest @ inverse @ rest + torch.logdet(noisy) + torch.logdet(basis.T @ inverse @ basis))
    return basis @ weights + kernel @ inverse @ rest, fit


def test_smoothed_values_are_those_of_gaussian_process_regression(seed: int):
    times = uneven(1, 40, seed)
    _, values = swings(times, 0.05, seed)
    step = float(times.diff().median())
    unit = 0.05**2 / step**5
    since = times[0] - times[0, 0]
    found = [regression(since, values[0, :, 0], rough * unit, 0.05) for rough in smoothing.ROUGHNESS]
    best = max(found, key=lambda one: float(one[1]))
    torch.testing.assert_close(
        smooth(times, values, everywhere(values), NOISE).values[0, :, 0], best[0], rtol=0, atol=1e-5
    )


def test_a_straight_line_or_parabola_is_left_alone():
    times = uneven(3, 20, 0)
    values = (1 + 2 * times - 0.5 * times**2)[..., None]
    torch.testing.assert_close(smooth(times, values, everywhere(values), NOISE).values, values, rtol=0, atol=1e-6)


def test_smoothing_brings_values_and_slopes_closer_to_the_truth(seed: int):
    times = uneven(50, 60, seed)
    clean, noisy = swings(times, 0.05, seed)
    found = smooth(times, noisy, everywhere(noisy), NOISE)
    assert float((found.values - clean).square().mean().sqrt()) < 0.6 * 0.05
    slope = 2 * torch.cos(2 * times[:, -1] + torch.arange(50))
    secant = (noisy[:, -1, 0] - noisy[:, -2, 0]) / (times[:, -1] - times[:, -2])
    assert float((found.phase[:, 0, 1] - slope).square().mean()) < 0.2 * float((secant - slope).square().mean())


def test_the_last_phase_errs_as_its_covariance_says(seed: int):
    times = uneven(400, 40, seed)
    clean, noisy = swings(times, 0.05, seed)
    found = smooth(times, noisy, everywhere(noisy), NOISE)
    turn = 2 * times[:, -1] + torch.arange(400)
    truth = torch.stack([clean[:, -1, 0], 2 * turn.cos(), -4 * turn.sin()], 1)
    spread = found.covariance[:, 0].diagonal(dim1=-2, dim2=-1).sqrt()
    misses = ((found.phase[:, 0] - truth) / spread).square().mean(0).sqrt()
    assert bool(((misses > 0.5) & (misses < 1.4)).all()), misses


def test_gaps_are_bridged_and_rows_do_not_meddle(seed: int):
    times = uneven(2, 50, seed)
    clean, noisy = swings(times, 0.02, seed)
    mask = everywhere(noisy)
    mask[0, 20:23] = False
    wild = torch.where(mask, noisy, 1e6)
    found = smooth(times, wild, mask, NOISE).values
    assert float((found[0, 20:23] - clean[0, 20:23]).abs().max()) < 0.1
    alone = smooth(times[1:], noisy[1:], mask[1:], NOISE).values
    torch.testing.assert_close(found[1:], alone, rtol=0, atol=1e-8)


def test_padding_ends_a_row(seed: int):
    times = uneven(2, 50, seed)
    _, noisy = swings(times, 0.05, seed)
    short = smooth(times[:1, :30], noisy[:1, :30], everywhere(noisy[:1, :30]), NOISE)
    times[0, 30:] = torch.inf
    mask = times.isfinite()[..., None]
    padded = smooth(times, noisy * mask, mask, NOISE)
    torch.testing.assert_close(padded.values[0, :30], short.values[0], rtol=0, atol=1e-6)
    torch.testing.assert_close(padded.phase[0], short.phase[0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_units_do_not_matter(scale: float, seed: int):
    times = uneven(2, 30, seed)
    _, noisy = swings(times, 0.05, seed)
    one = smooth(times, noisy, everywhere(noisy), NOISE)
    other = smooth(times / scale, scale * noisy, everywhere(noisy), [scale * 0.05])
    torch.testing.assert_close(other.values / scale, one.values, rtol=0, atol=1e-5)
    torch.testing.assert_close(other.phase[..., 1] / scale**2, one.phase[..., 1], rtol=1e-4, atol=1e-4)


def test_pixels_of_a_field_are_smoothed_as_series(seed: int):
    times = uneven(1, 40, seed).repeat(6, 1)
    _, noisy = swings(times, 0.05, seed)
    field = noisy.reshape(1, 6, 40).movedim(1, 2).reshape(1, 40, 1, 3, 2)
    found = smooth(times[:1], field, everywhere(field), NOISE)
    assert found.phase.shape == (1, 1, 3, 2, 3)
    assert found.covariance.shape == (1, 1, 3, 2, 3, 3)
    clean = torch.sin(2 * times + torch.arange(6)[:, None]).reshape(3, 2, 40).movedim(2, 0)
    assert float((found.values[0, :, 0] - clean).square().mean().sqrt()) < 0.6 * 0.05
