from __future__ import annotations

import pytest
import torch

from greymatch.errors import GreymatchError
from greymatch.weather.sphere import halo


def test_longitudes_close_upon_themselves(seed: int) -> None:
    field = torch.randn(2, 3, 6, 8)
    wide = halo(field, 0, 2)
    assert wide.shape == (2, 3, 6, 12)
    torch.testing.assert_close(wide, field.roll(2, -1)[..., torch.arange(12) % 8])


def test_a_smooth_field_goes_on_over_the_poles(points) -> None:
    """A linear function of space, sampled on beyond the poles along the same meridians."""
    inside, beyond = points(12, 24), 3
    x, _, z = inside.place
    wide = halo(2 * x + z, beyond, 0)
    lat = (torch.arange(-beyond, 12 + beyond, dtype=torch.float64) + 0.5) * torch.pi / 12 - torch.pi / 2
    lon = torch.arange(24, dtype=torch.float64) * 2 * torch.pi / 24
    torch.testing.assert_close(wide, 2 * lat.cos()[:, None] * lon.cos() + lat.sin()[:, None])


def test_a_wind_over_the_pole_keeps_its_direction_in_space(points) -> None:
    """Solid-body rotation about the x axis blows straight over the pole: v does not change sign on the way."""
    _, north = points(16, 32).rotation((1.0, 0.0, 0.0))
    wide = halo(north, 1, 0, flips=-1.0)
    torch.testing.assert_close(wide[0], north[0], atol=0.05, rtol=0)
    assert (halo(north, 1, 0)[0] + north[0]).abs().max() < 0.05  # without the flip it would turn about


def test_flips_may_differ_by_channel(seed: int) -> None:
    fields = torch.randn(2, 3, 6, 8)
    wide = halo(fields, 2, 1, flips=torch.tensor([1.0, -1.0, 1.0]))
    torch.testing.assert_close(wide[:, 1], halo(fields[:, 1], 2, 1, -1.0))
    torch.testing.assert_close(wide[:, 2], halo(fields[:, 2], 2, 1))


def test_convolution_commutes_with_turning_the_globe(seed: int) -> None:
    conv = torch.nn.Conv2d(3, 4, 5).double()
    fields = torch.randn(1, 3, 8, 16, dtype=torch.float64)

    def seen(x: torch.Tensor) -> torch.Tensor:
        return conv(halo(x, 2, 2))

    assert seen(fields).shape == (1, 4, 8, 16)
    torch.testing.assert_close(seen(fields.roll(5, -1)), seen(fields).roll(5, -1))


def test_gradients_flow_through(seed: int) -> None:
    field = torch.randn(4, 6, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda f: halo(f, 2, 1, -1.0), [field])


@pytest.mark.parametrize(("shape", "rows"), [((6, 7), 1), ((8,), 1), ((6, 8), 7), ((6, 8), -1)])
def test_what_cannot_be_done_is_refused(shape: tuple[int, ...], rows: int) -> None:
    with pytest.raises(GreymatchError, match=r"lat|rows"):
        halo(torch.zeros(shape), rows, 1)


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (2, 0), (0, 2), (0, 0), (2, 3)])
def test_gradients_are_those_of_finite_differences(rows: int, columns: int) -> None:
    torch.manual_seed(0)
    field, flips = torch.randn(2, 3, 4, 6, dtype=torch.float64, requires_grad=True), torch.tensor([1.0, -1.0, 1.0])
    assert torch.autograd.gradcheck(lambda maps: halo(maps, rows, columns, flips.to(maps)), (field,))
    assert torch.autograd.gradgradcheck(lambda maps: halo(maps, rows, columns, flips.to(maps)).square(), (field,))
