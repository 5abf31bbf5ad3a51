"""The learned field: what the known physics leaves out."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor, nn

from greymatch.models.blocks import convolution, mlp, zeroed
from greymatch.models.polynomials import factors, hermite
from greymatch.settings import ResidualSettings


class MlpField(nn.Module):
    """A point-wise net with one head per derivative order and a shared trunk; it starts as the zero function."""

    def __init__(self, state: int, extra: int, outputs: int, heads: int, axes: int, settings: ResidualSettings) -> None:
        super().__init__()
        self.axes = axes
        self.trunk = mlp([state + extra] + [settings.width] * settings.depth)
        self.heads = nn.ModuleList(zeroed(nn.Linear(settings.width, outputs)) for _ in range(heads))

    def forward(self, state: Tensor, extra: Tensor) -> Tensor:
        """`state` (..., C, *grid), `extra` (..., E, *grid or ones) to (..., heads*S, *grid)."""
        seen = _joined(state, extra, self.axes).movedim(-1 - self.axes, -1)
        hidden = self.trunk(seen)
        return torch.cat([head(hidden) for head in self.heads], -1).movedim(-1, -1 - self.axes)


class ConvField(nn.Module):
    """Convolutions over the grid: the missing part may depend on neighbours."""

    def __init__(self, state: int, extra: int, outputs: int, heads: int, axes: int, settings: ResidualSettings) -> None:
        super().__init__()
        self.axes = axes
        sizes = [state + extra] + [settings.width] * settings.depth
        layers: list[nn.Module] = []
        for inner, outer in itertools.pairwise(sizes):
            layers += [convolution(axes, inner, outer, settings.kernel, settings.padding), nn.SiLU()]
        self.trunk = nn.Sequential(*layers)
        last = (axes, settings.width, outputs, settings.kernel, settings.padding)
        self.heads = nn.ModuleList(zeroed(convolution(*last)) for _ in range(heads))

    def forward(self, state: Tensor, extra: Tensor) -> Tensor:
        seen = _joined(state, extra, self.axes)
        flat = seen.reshape(-1, *seen.shape[-1 - self.axes :])
        hidden = self.trunk(flat)
        out = torch.cat([head(hidden) for head in self.heads], 1)
        return out.reshape(*seen.shape[: -1 - self.axes], *out.shape[1:])


class PolynomialField(nn.Module):
    """r(x | z) = sum_k c_k(e) He_k(x): Hermite polynomials of the state with coefficients quadratic in the rest.

    Little capacity, and it goes on smoothly where training data end; z is learned, so a quadratic form is no limit.
    Not for a missing part with kinks, saturation or many states: the number of terms grows with their power.
    """

    def __init__(self, state: int, extra: int, outputs: int, heads: int, axes: int, settings: ResidualSettings) -> None:
        super().__init__()
        self.axes = axes
        self.powers = factors(state, settings.degree)
        self.extra_powers = factors(extra, 2)
        size = len(self.powers) * len(self.extra_powers)
        self.heads = nn.ModuleList(zeroed(nn.Linear(size, outputs, bias=False)) for _ in range(heads))

    def forward(self, state: Tensor, extra: Tensor) -> Tensor:
        shown = state.movedim(-1 - self.axes, -1)
        terms = hermite(shown, self.powers)
        around = hermite(extra.movedim(-1 - self.axes, -1), self.extra_powers)
        both = (terms[..., :, None] * around[..., None, :]).flatten(-2)
        return torch.cat([head(both) for head in self.heads], -1).movedim(-1, -1 - self.axes)


def _joined(state: Tensor, extra: Tensor, axes: int) -> Tensor:
    grid = state.shape[state.ndim - axes :]
    return torch.cat([state, extra.expand(*extra.shape[: extra.ndim - axes], *grid)], -1 - axes)


FIELDS: dict[str, type[MlpField] | type[ConvField] | type[PolynomialField]] = {
    "mlp": MlpField,
    "conv": ConvField,
    "polynomial": PolynomialField,
}
