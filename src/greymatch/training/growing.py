"""Terms that hide in the noise of a field, where all of its cells together still show them.

A law is found at some cells, which tell its large terms. A small one, such as a constant, leaves traces that only many
more numbers tell from chance. So the terms of a law are regressed once more at all cells, beside what parameters can
make up for in each trajectory, and that term is added which leaves least, as long as (Schwarz's criterion)

    n log(left before / left after) > log n.

Whether it belongs to the law is for forecasts to say: errors of what was observed make traces, too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from greymatch.models.credit import candidates, orthonormal
from greymatch.models.network import Network
from greymatch.models.residual import PolynomialField
from greymatch.training.shown import Shown, Terms

MOST = 2  # terms more
POINTS = 2**19
RIDGE = 1e-9

Place = tuple[int, int]  # an equation, and a column of `candidates`


@torch.no_grad()
def grown(
    network: Network, part: PolynomialField, shown: Shown, at: Tensor, chosen: list[Place]
) -> Iterator[list[Place]]:
    """The terms that were `chosen` with one more, and more, of a law that has led to parameters `at` (N, L)."""
    rows, some = shown.largest()[0], shown.everywhere(POINTS)
    count = candidates(network.dynamics, some.groups[0][1].select(torch.arange(1)), part.degree).shape[2]
    terms = Terms(list(range(count)), part.degree, torch.ones(len(network.physics.states), count))
    points = some.points(network, part, at[rows][: some.count], terms)
    equations = {
        place: _Normal.of(points.phi, points.slopes[:, :, place], points.rest[..., place], points.seen[..., 0])
        for place in (network.dynamics.open > 0).nonzero()[:, 0].tolist()
    }
    for _ in range(MOST):
        kept = {place: [term for equation, term in chosen if equation == place] for place in equations}
        gains = {place: one.gains(kept[place]) for place, one in equations.items()}
        best = max(gains, key=lambda place: float(gains[place].max()))
        if float(gains[best].max()) < math.log(equations[best].count):
            return
        chosen = [*chosen, (best, int(gains[best].argmax()))]
        yield chosen


@dataclass(frozen=True)
class _Normal:
    """The normal equations of one equation's candidates, beside what parameters of each trajectory can make up for."""

    square: Tensor
    side: Tensor
    total: float
    count: int

    @staticmethod
    def of(phi: Tensor, slopes: Tensor, rest: Tensor, seen: Tensor) -> _Normal:
        """From candidates (N, P, K), slopes (N, P, L) and what is left open (N, P), where it was `seen`."""
        basis = orthonormal(slopes * seen[..., None])
        both = torch.cat([phi, rest[..., None]], -1) * seen[..., None]
        both = (both - basis @ (basis.mT @ both)).flatten(0, 1)
        size = both.square().mean(0).sqrt().clamp_min(1e-300)
        square = (both / size).mT @ (both / size)
        return _Normal(square[:-1, :-1], square[:-1, -1], float(square[-1, -1]), int(seen.sum()))

    def gains(self, kept: list[int]) -> Tensor:
        """n log(left before / left after) of each candidate (K,) beside those that are kept; none for these."""
        own = self.square[kept][:, kept]
        own = own + RIDGE * self.count * torch.eye(len(kept), dtype=own.dtype)
        others = torch.linalg.solve(own, torch.cat([self.square[kept], self.side[kept, None]], 1))
        left = self.total - float(self.side[kept] @ others[:, -1])
        own_left = self.square.diagonal() - (self.square[kept] * others[:, :-1]).sum(0)
        missed = self.side - self.square[:, kept] @ others[:, -1]
        gained = (missed.square() / own_left.clamp_min(RIDGE * self.count)).clamp_max(left * (1 - RIDGE))
        gains = -self.count * torch.log1p(-gained / left)
        gains[kept] = 0.0
        return gains
