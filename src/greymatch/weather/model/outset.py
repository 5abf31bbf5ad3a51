"""Where the networks set out from: what the last changes and known terms say, by least squares."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from greymatch.weather.model.known import Known

RIDGE = 1e-3  # beside regressors of mean square 1


class Outset(nn.Module):
    """r_k = sum_j w_kj(lat) R_j: rates (B, C, lat, lon) in usual units, from what is told of state, hour and past.

    R are the last changes, the state, the hour by the sun over sea and land and, where something is `known`, its terms
    for the state and for the middles of the last steps: what they left unexplained then goes on, as far as it did in
    the training years. The numbers w come from least squares, for each row by itself, and stay.
    """

    weight: Tensor

    def __init__(self, fields: int, rows: int, history: int, known: Known | None) -> None:
        super().__init__()
        self.known = known
        terms = known.count if known else 0
        self.now = terms + fields + 6
        self.register_buffer("weight", torch.zeros(fields, self.now + history * (fields + terms), rows))

    def of_now(self, state: Tensor, around: Tensor) -> Tensor:
        """Of states and their surroundings (B, maps, lat, lon)."""
        land, sun = around[:, 4:5], around[:, 6:8]
        told = [self.known(state)] if self.known else []
        return torch.cat([*told, state, sun, land * sun, land, torch.ones_like(land)], 1)

    def of_the_past(self, past: Tensor, changes: Tensor) -> Tensor:
        """Of states (B, h + 1, C, lat, lon) and the changes (B, h, ...) between them, in usual units."""
        told = [changes.flatten(1, 2)]
        if self.known:
            middles = (past[:, 1:] + past[:, :-1]) / 2
            terms = self.known(middles.flatten(0, 1)).unflatten(0, middles.shape[:2])
            # where the past is not known nothing changes, and nothing is to be said of it
            told.append((terms * (changes != 0).flatten(2).any(2)[:, :, None, None, None]).flatten(1, 2))
        return torch.cat(told, 1)

    def said_now(self, told: Tensor) -> Tensor:
        return _mixed(told, self.weight[:, : self.now])

    def said_then(self, told: Tensor) -> Tensor:
        return _mixed(told, self.weight[:, self.now :])

    @torch.no_grad()
    def fit(self, examples: Iterable[tuple[Tensor, Tensor]]) -> None:
        """Of batches of what is told (N, R, lat, lon), now before then, and the rates (N, C, lat, lon)."""
        square, product = 0.0, 0.0
        for told, rates in examples:
            seen, aim = (maps.permute(2, 0, 3, 1).flatten(1, 2) for maps in (told, rates))  # (lat, N lon, R)
            square, product = square + (seen.mT @ seen).double(), product + (seen.mT @ aim).double()
        assert isinstance(square, Tensor) and isinstance(product, Tensor)
        size = square.diagonal(dim1=1, dim2=2).sqrt().clamp_min(1e-9)[..., None]
        ridge = RIDGE * torch.eye(square.shape[1], dtype=torch.float64, device=square.device)
        found = torch.linalg.solve(square / size / size.mT + ridge, product / size) / size
        self.weight.copy_(found.permute(2, 1, 0))


def _mixed(maps: Tensor, weight: Tensor) -> Tensor:
    return torch.einsum("brhw,krh->bkhw", maps, weight)
