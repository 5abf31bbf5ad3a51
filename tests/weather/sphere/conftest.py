"""Smooth fields on the sphere, as polynomials of Cartesian coordinates, with their exact derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor


@dataclass(frozen=True)
class Harmonic:
    """A homogeneous harmonic polynomial of degree l: on the sphere its Laplacian is -l (l + 1) times itself."""

    degree: int
    value: Callable[[Tensor], Tensor]

    def slopes(self, points: Points) -> tuple[Tensor, Tensor]:
        """Its gradient to the east and north on the unit sphere, from the gradient in space."""
        place = points.place.clone().requires_grad_(True)
        (full,) = torch.autograd.grad(self.value(place).sum(), place)
        return (full * points.east).sum(0), (full * points.north).sum(0)


HARMONICS = {
    "l1m1": Harmonic(1, lambda p: p[0] + 0.5 * p[1]),
    "l1m0": Harmonic(1, lambda p: p[2]),
    "l2m2": Harmonic(2, lambda p: p[0] ** 2 - p[1] ** 2 + p[0] * p[1]),
    "l3m1": Harmonic(3, lambda p: p[0] * (4 * p[2] ** 2 - p[0] ** 2 - p[1] ** 2)),
    "l4m2": Harmonic(4, lambda p: p[0] * p[1] * (6 * p[2] ** 2 - p[0] ** 2 - p[1] ** 2)),
}


@dataclass(frozen=True)
class Points:
    """Points (3, lat, lon) of a grid on the unit sphere, and which way east and north are there."""

    place: Tensor
    east: Tensor
    north: Tensor

    @staticmethod
    def of(rows: int, columns: int) -> Points:
        lat = ((torch.arange(rows, dtype=torch.float64) + 0.5) / rows - 0.5)[:, None] * math.pi
        lon = torch.arange(columns, dtype=torch.float64)[None] / columns * 2 * math.pi
        lat, lon = torch.broadcast_tensors(lat, lon)
        zero = torch.zeros_like(lat)
        return Points(
            torch.stack([lat.cos() * lon.cos(), lat.cos() * lon.sin(), lat.sin()]),
            torch.stack([-lon.sin(), lon.cos(), zero]),
            torch.stack([-lat.sin() * lon.cos(), -lat.sin() * lon.sin(), lat.cos()]),
        )

    def rotation(self, axis: tuple[float, float, float]) -> tuple[Tensor, Tensor]:
        """Solid-body rotation about `axis`, one radian per unit of time: its components east and north."""
        spin = torch.tensor(axis, dtype=torch.float64)[:, None, None].expand_as(self.place)
        moving = torch.linalg.cross(spin, self.place, dim=0)
        return (moving * self.east).sum(0), (moving * self.north).sum(0)


def slope(error_at: Callable[[int], float], rows: int = 48) -> float:
    """The order of convergence, from two grids."""
    return math.log2(error_at(rows) / error_at(2 * rows))


@pytest.fixture(params=HARMONICS)
def harmonic(request: pytest.FixtureRequest) -> Harmonic:
    return HARMONICS[request.param]


@pytest.fixture
def points() -> Callable[[int, int], Points]:
    return Points.of


@pytest.fixture
def order_of() -> Callable[..., float]:
    return slope
