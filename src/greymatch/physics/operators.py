"""Central differences on regular grids, for physics written on fields."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from greymatch.errors import GreymatchError, did_you_mean

Spacing = float | Sequence[float]
Boundary = str | Sequence[str]

_FEWEST_POINTS = 3  # the cubic at a Dirichlet wall uses the three points next to it


def laplacian(
    field: Tensor,
    spacing: Spacing,
    boundary: Boundary = "periodic",
    *,
    dims: int | None = None,
    value: float | Tensor | None = None,
) -> Tensor:
    """Sum over the grid axes of (u[i-1] - 2 u[i] + u[i+1]) / h^2, for a field (..., *grid).

    ```python
    gm.laplacian(x.u, (dy, dx))                   # two grid axes, periodic
    gm.laplacian(x.u, dx, dims=2)                 # the same with dy = dx
    gm.laplacian(x.u, (dx,), "neumann")           # one grid axis, walls that nothing crosses
    gm.laplacian(x.u, (dx,), "dirichlet", value=p.wall)
    gm.laplacian(x.u, (dy, dx), ("neumann", "periodic"))   # a channel
    ```

    `spacing` has one step per grid axis, and the grid axes are the last ones of the field; the axes before
    them are free. A single step needs `dims`, since a batch of lines and one plane look alike.

    Grid points are cell centres: n points of step h fill a length n h, with the wall half a step outside the
    first and the last point. At the walls

    - "periodic": the field repeats after n h;
    - "neumann": zero normal derivative, by the mirror image u[-1] = u[0]. It conserves the sum of the field;
    - "dirichlet": the field is `value` (0 if not given) at the wall; u[-1] is on the cubic through it and the
      three points next to it.

    The error is O(h^2) everywhere, with one exception: at the points next to a Neumann wall it is O(h) when
    the third normal derivative does not vanish there (under diffusion without flux it does).

    Not for stretched, spherical or unstructured grids, and not for shocks.
    """
    total = None
    for axis in _axes(field, spacing, boundary, dims, value):
        before, after = _neighbours(field, axis, value)
        second = torch.add(before + after, field, alpha=-2)
        weight = 1 / axis.step**2
        total = second * weight if total is None else torch.add(total, second, alpha=weight)
    assert total is not None
    return total


def gradient(
    field: Tensor,
    spacing: Spacing,
    boundary: Boundary = "periodic",
    *,
    dims: int | None = None,
    value: float | Tensor | None = None,
) -> tuple[Tensor, ...]:
    """(u[i+1] - u[i-1]) / (2 h) along each grid axis of a field (..., *grid), in the order of the axes.

    ```python
    u_y, u_x = gm.gradient(x.u, (dy, dx))
    advection = -(p.wind_y * u_y + p.wind_x * u_x)
    ```

    Grid, `spacing`, `dims`, `boundary` and `value` as in `laplacian`; the error is O(h^2) up to the walls.

    Not for transport dominated by steep fronts: central differences answer those with wiggles.
    """
    axes = _axes(field, spacing, boundary, dims, value)
    return tuple(_slope(field, axis, value) for axis in axes)


def divergence(
    components: Sequence[Tensor],
    spacing: Spacing,
    boundary: Boundary = "periodic",
    *,
    value: float | Tensor | None = None,
) -> Tensor:
    """Sum over the grid axes of (F_k[i+1] - F_k[i-1]) / (2 h), F_k the component along grid axis k.

    ```python
    flux = [-p.diffusivity * slope for slope in gm.gradient(x.u, (dy, dx), "neumann")]
    u_t = -gm.divergence(flux, (dy, dx), "dirichlet")       # no flux through the walls
    ```

    There are as many grid axes as components. Grid and `spacing` as in `laplacian`. `boundary` and `value`
    say what component k does at the walls across axis k: walls that nothing crosses are "dirichlet" for the
    flux, while they are "neumann" for the density. The error is O(h^2) up to the walls; the sum over the grid
    is zero exactly for "periodic", and to that order for walls without flux.

    Not in place of `laplacian` where the diffusivity is constant: the divergence of a gradient skips every
    other point, so it cannot see, nor damp, a chequerboard.
    """
    first, *others = _as_components(components)
    axes = _axes(first, spacing, boundary, len(components), value)
    total = _slope(first, axes[0], value)
    for component, axis in zip(others, axes[1:], strict=True):
        total = total + _slope(component, axis, value)
    return total


@dataclass(frozen=True)
class _Axis:
    dim: int
    step: float
    boundary: str


def _slope(field: Tensor, axis: _Axis, value: float | Tensor | None) -> Tensor:
    before, after = _neighbours(field, axis, value)
    return (after - before) * (0.5 / axis.step)


def _neighbours(field: Tensor, axis: _Axis, value: float | Tensor | None) -> tuple[Tensor, Tensor]:
    """u[i-1] and u[i+1] for every i, as views of one padded copy (measured: no slower than two rolls)."""
    count = field.shape[axis.dim]
    first, last = _GHOSTS[axis.boundary](field, axis.dim, 0.0 if value is None else value)
    padded = torch.cat([first, field, last], axis.dim)
    return padded.narrow(axis.dim, 0, count), padded.narrow(axis.dim, 2, count)


def _periodic(field: Tensor, dim: int, value: float | Tensor) -> tuple[Tensor, Tensor]:
    return field.narrow(dim, -1, 1), field.narrow(dim, 0, 1)


def _neumann(field: Tensor, dim: int, value: float | Tensor) -> tuple[Tensor, Tensor]:
    return field.narrow(dim, 0, 1), field.narrow(dim, -1, 1)


def _dirichlet(field: Tensor, dim: int, value: float | Tensor) -> tuple[Tensor, Tensor]:
    def beyond(*nearest: int) -> Tensor:
        one, two, three = (field.narrow(dim, i, 1) for i in nearest)
        return (16 * value - 15 * one + 5 * two - three) / 5

    return beyond(0, 1, 2), beyond(-1, -2, -3)


_GHOSTS: dict[str, Callable[[Tensor, int, float | Tensor], tuple[Tensor, Tensor]]] = {
    "periodic": _periodic,
    "neumann": _neumann,
    "dirichlet": _dirichlet,
}


def _axes(field: Tensor, spacing: Any, boundary: Any, dims: int | None, value: object) -> list[_Axis]:
    steps = _steps(spacing, dims)
    boundaries = _boundaries(boundary, len(steps))
    if value is not None and "dirichlet" not in boundaries:
        raise GreymatchError(f"`value` needs a 'dirichlet' boundary; got {boundary!r}. Change one of them.")
    _check_field(field, len(steps))
    return [_Axis(i - len(steps), *rest) for i, rest in enumerate(zip(steps, boundaries, strict=True))]


def _steps(spacing: Any, dims: int | None) -> list[float]:
    if isinstance(spacing, tuple | list):
        steps = [_step(step) for step in spacing]
        if not steps or dims not in (None, len(steps)):
            wanted = "at least one step" if dims is None else f"{dims} steps, one per grid axis"
            raise GreymatchError(f"`spacing` must hold {wanted}; got {spacing!r}.")
        return steps
    if dims is None:
        raise GreymatchError(
            f"`spacing` must say how many grid axes there are; got the one step {spacing!r}. "
            "Write (dx,) for one axis, (dy, dx) for two, or give `dims`."
        )
    if not isinstance(dims, int) or dims < 1:
        raise GreymatchError(f"`dims` must be a whole number from 1 on; got {dims!r}. It counts grid axes.")
    return [_step(spacing)] * dims


def _step(step: Any) -> float:
    try:
        number = float(step)
    except (TypeError, ValueError, RuntimeError):
        number = math.nan
    if not 0 < number < math.inf:
        raise GreymatchError(
            f"`spacing` must be positive and finite; got {step!r}. It is the distance between grid points."
        )
    return number


def _boundaries(boundary: Any, count: int) -> list[str]:
    names = list(boundary) if isinstance(boundary, tuple | list) else [boundary] * count
    for name in names:
        if name not in _GHOSTS:
            hint = did_you_mean(str(name), _GHOSTS)
            raise GreymatchError(f"`boundary` must be one of {', '.join(_GHOSTS)}; got {name!r}.{hint}")
    if len(names) != count:
        raise GreymatchError(f"`boundary` must be one name or {count}, one per grid axis; got {boundary!r}.")
    return names


def _check_field(field: Tensor, dims: int) -> None:
    shape = tuple(field.shape)
    if len(shape) < dims:
        raise GreymatchError(
            f"`field` must have at least {dims} axes, one per step of `spacing`; got shape {shape}. "
            "The grid axes are the last ones."
        )
    if min(shape[-dims:]) < _FEWEST_POINTS:
        raise GreymatchError(
            f"`field` must have at least {_FEWEST_POINTS} points along each of its last {dims} axes; got "
            f"shape {shape}. Is one of them a batch axis? Then `spacing` has too many steps."
        )


def _as_components(components: Any) -> Sequence[Tensor]:
    if not isinstance(components, tuple | list) or not components:
        raise GreymatchError(
            "`components` must be a list or tuple of tensors, one per grid axis; got "
            f"{type(components).__name__}. Write divergence((f_y, f_x), ...)."
        )
    shapes = [tuple(component.shape) for component in components]
    if len(set(shapes)) > 1:
        raise GreymatchError(f"`components` must share one shape; got {shapes}. Expand them to the grid first.")
    return components
