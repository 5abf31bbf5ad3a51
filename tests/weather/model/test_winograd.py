from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from greymatch.weather.model import direct, tiled
from greymatch.weather.model.net import Net, outs
from greymatch.weather.model.tiling import DOUBLED, EDGED, HALVED
from greymatch.weather.model.winograd import convolved
from greymatch.weather.sphere import halo


def alike(found: Tensor, right: Tensor, given: tuple[Tensor, ...]) -> None:
    """Values, and gradients of all that is given, to the rounding of float32."""
    torch.testing.assert_close(found, right, rtol=1e-4, atol=1e-4)
    aim = torch.randn_like(right)
    wanted = torch.autograd.grad(right, given, aim)
    for one, other in zip(torch.autograd.grad(found, given, aim), wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=3e-4)


def learned(*shape: int) -> Tensor:
    return torch.randn(*shape, requires_grad=True)


def test_tiles_give_the_convolution_and_its_gradients() -> None:
    maps, weight, bias = learned(2, 5, 8, 12), learned(3, 5, 3, 3), learned(3)
    alike(convolved(maps, weight, bias), direct.same(maps, weight, bias), (maps, weight, bias))


def test_tiles_give_the_convolution_to_half_the_grid() -> None:
    maps, weight, bias = learned(2, 5, 16, 24), learned(3, 5, 4, 4), learned(3)
    alike(convolved(maps, weight, bias, HALVED), direct.halved(maps, weight, bias), (maps, weight, bias))


def test_tiles_give_the_convolution_of_maps_made_fine() -> None:
    maps, weight, bias = learned(2, 5, 8, 12), learned(3, 5, 3, 3), learned(3)
    fine = nn.functional.interpolate(maps, scale_factor=2, mode="nearest")
    alike(convolved(maps, weight, bias, DOUBLED), direct.same(fine, weight, bias), (maps, weight, bias))


def test_only_channels_that_are_asked_for_have_a_gradient() -> None:
    maps, weight, bias, flips = learned(2, 5, 8, 12), learned(3, 5, 3, 3), learned(3), torch.tensor([1.0, -1, -1, 1, 1])
    asked = torch.tensor([0.0, 1, 1, 0, 0])[:, None, None]
    wide = halo(maps, 1, 1, flips)
    right = direct.entered(asked * maps + ((1 - asked) * maps).detach(), weight, bias, flips, slice(1, 3))
    alike(convolved(wide, weight, bias, EDGED, slice(1, 3)), right, (maps, weight, bias))


@pytest.mark.parametrize("layers", [direct, tiled])
def test_coarse_maps_are_joined_as_if_they_were_made_fine(layers) -> None:
    fine, coarse, weight, bias = learned(2, 3, 8, 16), learned(2, 4, 4, 8), learned(5, 7, 3, 3), learned(5)
    both = torch.cat([fine, nn.functional.interpolate(coarse, scale_factor=2, mode="nearest")], 1)
    given = (fine, coarse, weight, bias)
    alike(layers.joined(fine, coarse, weight, bias), direct.same(both, weight, bias), given)


@pytest.mark.parametrize("wide", [True, False])
def test_nets_by_tiles_are_those_in_double_precision(wide: bool, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiled, "FEWEST", 0 if wide else 10**9)
    monkeypatch.setattr(tiled, "TOGETHER", 2)  # of three
    nets = [Net(torch.tensor([1.0, -1.0, 1.0]), 2, width, 1, halvings=1) for width in (6, 4)]
    numbers = [one for net in nets for one in net.parameters()]
    for one in numbers:
        nn.init.normal_(one, std=0.3)
    maps = torch.randn(3, 3, 16, 24)
    found = torch.cat(outs(nets, maps, slice(None)), 1)
    aim = torch.randn_like(found)
    got = torch.autograd.grad(found, numbers, aim)
    doubled = [net.double() for net in nets]
    numbers = [one for net in doubled for one in net.parameters()]
    right = torch.cat(outs(doubled, maps.double(), slice(None)), 1)
    for one, other in zip((found, *got), (right, *torch.autograd.grad(right, numbers, aim.double())), strict=True):
        torch.testing.assert_close(one.double(), other, rtol=1e-4, atol=3e-5 * float(other.detach().abs().max()))


@pytest.mark.parametrize(("rows", "columns", "suited"), [(8, 16, True), (4, 16, False), (8, 20, False)])
def test_only_whole_tiles_suit(rows: int, columns: int, suited: bool) -> None:
    assert tiled.suits(torch.empty(1, 1, rows, columns), 1) == suited
    assert not tiled.suits(torch.empty(1, 1, rows, columns, dtype=torch.float64), 1)
