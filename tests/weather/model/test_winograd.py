from __future__ import annotations

import pytest
import torch
from torch import nn

from greymatch.weather.model import winograd
from greymatch.weather.model.rising import joined
from greymatch.weather.sphere import halo


def test_tiles_give_the_convolution_and_its_gradients() -> None:
    maps, weight = torch.randn(2, 5, 8, 12, requires_grad=True), torch.randn(3, 5, 3, 3, requires_grad=True)
    bias, aim = torch.randn(3, requires_grad=True), torch.randn(2, 3, 8, 12)
    direct = torch.conv2d(halo(maps, 1, 1), weight, bias)
    tiled = winograd.laid_back(winograd.convolved(winograd.laid_out(maps), weight, bias))
    torch.testing.assert_close(tiled, direct, rtol=1e-4, atol=1e-4)
    wanted = torch.autograd.grad(direct, (maps, weight, bias), aim)
    for found, right in zip(torch.autograd.grad(tiled, (maps, weight, bias), aim), wanted, strict=True):
        torch.testing.assert_close(found, right, rtol=1e-4, atol=3e-4)


@pytest.mark.parametrize(("rows", "columns", "suited"), [(8, 16, True), (6, 16, False), (8, 18, False)])
def test_only_whole_tiles_suit(rows: int, columns: int, suited: bool) -> None:
    assert winograd.suits(torch.empty(1, 1, rows, columns)) == suited
    assert not winograd.suits(torch.empty(1, 1, rows, columns, dtype=torch.float64))


def test_coarse_maps_are_joined_as_if_they_were_made_fine() -> None:
    fine, coarse = torch.randn(2, 3, 8, 12, requires_grad=True), torch.randn(2, 4, 4, 6, requires_grad=True)
    weight, bias = torch.randn(5, 7, 3, 3, requires_grad=True), torch.randn(5)
    both = torch.cat([fine, nn.functional.interpolate(coarse, scale_factor=2, mode="nearest")], 1)
    direct, found = torch.conv2d(halo(both, 1, 1), weight, bias), joined(fine, coarse, weight, bias)
    torch.testing.assert_close(found, direct, rtol=1e-4, atol=1e-4)
    aim = torch.randn_like(direct)
    wanted = torch.autograd.grad(direct, (fine, coarse, weight), aim)
    for one, right in zip(torch.autograd.grad(found, (fine, coarse, weight), aim), wanted, strict=True):
        torch.testing.assert_close(one, right, rtol=1e-4, atol=3e-4)
