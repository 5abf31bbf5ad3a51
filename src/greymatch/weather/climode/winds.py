"""Winds at the start of a forecast, from the past alone: those that best explain how the fields change."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from greymatch.weather.model.transport import USUAL_WIND, carried, slopes
from greymatch.weather.settings import InferenceSettings
from greymatch.weather.sphere import area_weights, halo

Operator = Callable[[Tensor], Tensor]


def trend(past: Tensor, step: float) -> Tensor:
    """du/dt at the last of the states (B, h + 1, C, lat, lon), `step` hours apart: of order 2 where three are known."""
    changes = past[:, -3:].diff(dim=1) / step
    return changes[:, -1] if changes.shape[1] == 1 else 1.5 * changes[:, -1] - 0.5 * changes[:, -2]


def inferred_winds(
    past: Tensor, flips: Tensor, step: float, unit: Tensor, form: str, inference: InferenceSettings
) -> Tensor:
    """Winds (B, 2 C, lat, lon), to the east and then to the north, in units of `USUAL_WIND`.

    They are v = S w, S a mean over neighbours, with w the least of

        |(du/dt - carried(u, v)) / unit|^2 + ridge |w|^2,

    which is Gaussian regression with the covariance S S' for smooth winds. It is linear, and solved by conjugate
    gradients, each field by itself.
    """
    state, slope = past[:, -1], trend(past, step)
    weights, differences = area_weights(state), slopes(state, flips)

    def misfit(rough: Tensor) -> Tensor:
        east, north = (USUAL_WIND * part for part in smooth(rough, inference.smoothing).unbind(1))
        return carried(state, differences, east, north, form) / unit * weights.sqrt()

    def curvature(rough: Tensor) -> Tensor:
        return _slope(lambda w: 0.5 * misfit(w).square().sum() + 0.5 * inference.ridge * w.square().sum(), rough)

    none = state.new_zeros(len(state), 2, *state.shape[1:])
    wanted = slope / unit * weights.sqrt()
    pull = _slope(lambda w: (misfit(w) * wanted).sum(), none)
    return smooth(_conjugate_gradients(curvature, pull, inference.iterations), inference.smoothing).flatten(1, 2)


def smooth(winds: Tensor, passes: int) -> Tensor:
    """The mean of each place and its eight neighbours, by weights 1 2 1, so many times; of vectors, also over poles."""
    for _ in range(passes):
        wide = halo(winds, 1, 1, -1.0)
        tall = (wide[..., :-2, :] + 2 * wide[..., 1:-1, :] + wide[..., 2:, :]) / 4
        winds = (tall[..., :-2] + 2 * tall[..., 1:-1] + tall[..., 2:]) / 4
    return winds


def _slope(value: Operator, at: Tensor) -> Tensor:
    with torch.enable_grad():
        at = at.detach().requires_grad_()
        return torch.autograd.grad(value(at), at)[0]


def _conjugate_gradients(curvature: Operator, pull: Tensor, iterations: int) -> Tensor:
    """x with curvature(x) = pull, of (B, 2, C, lat, lon); each sample and field is a system of its own."""

    def inner(a: Tensor, b: Tensor) -> Tensor:
        return (a * b).sum((1, 3, 4), keepdim=True)

    found, left, way = torch.zeros_like(pull), pull, pull
    size = inner(left, left)
    for _ in range(iterations):
        bent = curvature(way)
        part = size / inner(way, bent).clamp_min(1e-30)
        found, left = found + part * way, left - part * bent
        size, before = inner(left, left), size
        way = left + size / before.clamp_min(1e-30) * way
    return found
