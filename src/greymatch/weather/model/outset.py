"""Where the networks set out from: what the last changes and known terms say, by least squares."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from greymatch.weather.model.known import Known
from greymatch.weather.model.surroundings import Surroundings

RIDGE = 1e-4  # beside regressors of mean square 1
RECALLED = 4  # last steps whose known terms are told


class Outset(nn.Module):
    """r_k = sum_j w_kj(lat) R_j: rates (B, C, lat, lon) in usual units, from what is told of state, hour and past.

    R are the last changes, the state, the hour by the sun over sea and land and, where something is `known`, its terms
    for the state and for the middles of the last steps: what they left unexplained then goes on, as far as it did in
    the training years. The numbers w come from least squares, for each row by itself, and stay.
    """

    weight: Tensor

    def __init__(self, fields: int, rows: int, history: int, known: Known | None) -> None:
        super().__init__()
        self.known, self.history = known, history
        terms = known.count if known else 0
        self.now = terms + fields + 6
        then = history * fields + min(history, RECALLED) * terms
        self.register_buffer("weight", torch.zeros(fields, self.now + then, rows))

    def of_now(self, state: Tensor, around: Tensor) -> Tensor:
        """Of states and their surroundings (B, maps, lat, lon)."""
        land, sun = around[:, Surroundings.land], around[:, Surroundings.sun]
        told = [self.known(state)] if self.known else []
        return torch.cat([*told, state, sun, land * sun, land, torch.ones_like(land)], 1)

    def of_the_past(self, past: Tensor, changes: Tensor) -> Tensor:
        """Of states (B, h + 1, C, lat, lon) and the changes (B, h, ...) between them, in usual units."""
        told = [changes.flatten(1, 2)]
        if self.known:
            changes, past = changes[:, -RECALLED:], past[:, -RECALLED - 1 :]
            middles = (past[:, 1:] + past[:, :-1]) / 2
            terms = self.known(middles.flatten(0, 1)).unflatten(0, middles.shape[:2])
            # where the past is not known nothing changes, and nothing is to be said of it
            told.append((terms * (changes != 0).flatten(2).any(2)[:, :, None, None, None]).flatten(1, 2))
        return torch.cat(told, 1)

    def said_now(self, told: Tensor) -> Tensor:
        return _mixed(told, self.weight[:, : self.now])

    def said_then(self, told: Tensor) -> Tensor:
        return _mixed(told, self.weight[:, self.now :])

    def said_along(self, states: Tensor, changes: Tensor) -> Tensor:
        """What `said_then` is (T - h, C, lat, lon) after each h + 1 states in a row (T, C, lat, lon), with the changes
        (T - 1, C, ...) between them: terms of a step are found once, and not for each that recalls it."""
        recent, reach = min(self.history, RECALLED), self.history * changes.shape[1]
        weight = self.weight[:, self.now :]
        said = _recalled(changes, weight[:, :reach], self.history)
        if self.known is None:
            return said
        terms = self.known((states[1:] + states[:-1]) / 2) * (changes != 0).flatten(1).any(1)[:, None, None, None]
        return said + _recalled(terms[self.history - recent :], weight[:, reach:], recent)

    def winds(self, state: Tensor) -> Tensor | None:
        """Those (B, 2, C, lat, lon) in m/s that carry each field by what is known; None where nothing is.

        z500 does not change along the wind in balance with it, which carries its vorticity instead: it counts in full.
        """
        if self.known is None:
            return None
        fields = state.shape[1]
        by = self.weight[:, : 2 * fields].unflatten(1, (2, fields)).diagonal(dim1=0, dim2=2).clone()  # wind, lat, field
        by[0, :, self.known.places[0]] = 1.0
        return torch.stack([torch.einsum("bihw,ihk->bkhw", part, by) for part in self.known.winds(state)], 1)

    @torch.no_grad()
    def fit(self, examples: Iterable[tuple[Tensor, Tensor]]) -> None:
        """Of batches of what is told (N, R, lat, lon), now before then, and the rates (N, C, lat, lon)."""
        fields, count, rows = self.weight.shape
        square, product = (self.weight.new_zeros(rows, count, n, dtype=torch.float64) for n in (count, fields))
        for told, rates in examples:
            seen, aim = (maps.permute(2, 0, 3, 1).flatten(1, 2) for maps in (told, rates))  # (lat, N lon, R)
            square += seen.mT @ seen
            product += seen.mT @ aim
        size = square.diagonal(dim1=1, dim2=2).sqrt().clamp_min(1e-9)[..., None]
        ridge = RIDGE * torch.eye(count, dtype=torch.float64, device=square.device)
        found = torch.linalg.solve(square / size / size.mT + ridge, product / size) / size
        self.weight.copy_(found.permute(2, 1, 0))


def _recalled(maps: Tensor, weight: Tensor, steps: int) -> Tensor:
    """The sum, over `steps` in a row, of maps (T, R, lat, lon) by the weight (C, steps R, lat) of their age."""
    each = _mixed(maps, weight.unflatten(1, (steps, -1)).transpose(0, 1).flatten(0, 1)).unflatten(1, (steps, -1))
    count = len(maps) - steps + 1
    return sum((each[step : step + count, step] for step in range(1, steps)), each[:count, 0])


def _mixed(maps: Tensor, weight: Tensor) -> Tensor:
    return torch.einsum("brhw,krh->bkhw", maps, weight)
