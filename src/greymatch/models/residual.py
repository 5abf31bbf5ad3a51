"""The learned field: what the known physics leaves out."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor, nn

from greymatch.models.blocks import convolution, mlp, zeroed
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
    """A polynomial of all that is seen at a point: little that a law of physics is not, and tame where nothing was."""

    factors: Tensor

    def __init__(self, state: int, extra: int, outputs: int, heads: int, axes: int, settings: ResidualSettings) -> None:
        super().__init__()
        self.axes = axes
        one = state + extra  # the column of ones: a lower power has it as a factor
        terms = list(itertools.combinations_with_replacement(range(one + 1), settings.degree))
        self.register_buffer("factors", torch.tensor(terms).T.contiguous(), persistent=False)
        self.coefficients = nn.Linear(len(terms), heads * outputs, bias=False)
        zeroed(self.coefficients)

    def forward(self, state: Tensor, extra: Tensor) -> Tensor:
        seen = _joined(state, extra, self.axes).movedim(-1 - self.axes, -1)
        seen = nn.functional.pad(seen, (0, 1), value=1.0)
        terms = seen[..., self.factors[0]]
        for factor in self.factors[1:]:
            terms = terms * seen[..., factor]
        return self.coefficients(terms).movedim(-1, -1 - self.axes)


def _joined(state: Tensor, extra: Tensor, axes: int) -> Tensor:
    grid = state.shape[state.ndim - axes :]
    return torch.cat([state, extra.expand(*extra.shape[: extra.ndim - axes], *grid)], -1 - axes)


FIELDS: dict[str, type[nn.Module]] = {"mlp": MlpField, "conv": ConvField, "polynomial": PolynomialField}
