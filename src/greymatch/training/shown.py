"""What trajectories show of the products that may be missing from their law, laid out for a regression."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from greymatch.data.trajectories import Trajectories
from greymatch.models.credit import PIXELS, at_some, candidates, slope
from greymatch.models.dynamics import Dynamics
from greymatch.models.evidence import Evidence
from greymatch.models.latents import Latents
from greymatch.models.network import Network
from greymatch.models.residual import PolynomialField
from greymatch.models.whole import evidence_of, whole_amplitude
from greymatch.training.factors import Points

MOST_TRAJECTORIES, POINTS, FRAMES = 128, 48, 12  # of which trajectories of fields show fewer, at some cells
FEWEST_TRAJECTORIES, MOST_NUMBERS, MOST_CELLS = 8, 2**24, 2**20


@dataclass(frozen=True)
class Terms:
    """Some monomials, `columns` of the `candidates` of a degree, that are `allowed` (S, K) in equations."""

    columns: list[int]
    degree: int
    allowed: Tensor

    def at(self, dynamics: Dynamics, evidence: Evidence, cells: int | None = PIXELS) -> Tensor:
        """At all points that are looked at (n, P, K)."""
        return _flat(candidates(dynamics, evidence, self.degree, cells)[:, :, self.columns])


@dataclass(frozen=True)
class Shown:
    """What N trajectories show in `groups` of one length, in their order, up to `longest` points of each: of a field at
    so many `cells`, or at all of them."""

    groups: list[tuple[Tensor, Evidence]]
    amplitude: Tensor
    longest: int
    cells: int | None = PIXELS

    @staticmethod
    def of(network: Network, data: Trajectories, before: tuple[Shown, Latents] | None = None) -> Shown | None:
        """None if that is too little. Noisy fields are told from what is known of them: what they showed `before` may
        have led to the network's law and to latents (N, ...)."""
        most = min(MOST_TRAJECTORIES, max(FEWEST_TRAJECTORIES, MOST_NUMBERS // data.values[0].numel()))
        data = data.select(data.mask.any(1).flatten(1).all(1).nonzero()[:most, 0].cpu())
        around = network.middle(len(data))
        if before:
            rows = torch.cat([rows for rows, _ in before[0].groups])
            around = Latents(
                *(getattr(around, name).index_copy(0, rows, getattr(before[1], name)) for name in ("eps", "z"))
            )
        most = FRAMES if data.grid else POINTS
        groups = _joined(evidence_of(network, data, most, around=around)) if len(data) else []
        if sum(len(rows) for rows, _ in groups) < 2:
            return None
        amplitude = whole_amplitude(network, data)
        longest = max(at_some(evidence.top, network.dynamics)[:, :, 0].flatten(1).shape[1] for _, evidence in groups)
        return Shown(groups, torch.cat([amplitude[rows] for rows, _ in groups])[:, None], longest)

    @property
    def count(self) -> int:
        return len(self.amplitude)

    @property
    def alone(self) -> bool:
        """Whether each number errs by itself, so that all of them together tell what some do not."""
        return self.groups[0][1].alone

    def largest(self) -> tuple[slice, Evidence]:
        """The largest group, and where it stands among all."""
        sizes = [len(rows) for rows, _ in self.groups]
        which = sizes.index(max(sizes))
        first = sum(sizes[:which])
        return slice(first, first + sizes[which]), self.groups[which][1]

    @property
    def fully(self) -> Shown:
        """At all cells, where each errs by itself and those are not too many."""
        if not self.alone or len(self.groups) > 1 or self.groups[0][1].top[:, :, 0].numel() > MOST_CELLS:
            return self
        return self.everywhere(MOST_CELLS)

    def everywhere(self, points: int) -> Shown:
        """At all cells; some trajectories of the largest group, with about so many `points` in all."""
        rows, evidence = self.largest()
        each = evidence.top[0, :, 0].numel()
        some = torch.arange(min(len(evidence.top), max(FEWEST_TRAJECTORIES, points // each)))
        return Shown([(some, evidence.select(some))], self.amplitude[rows][some], each, None)

    def singles(self, dynamics: Dynamics) -> Tensor:
        """One and all that is seen, from its own zero on, at all points that are looked at (N, P, K)."""
        found = [_flat(candidates(dynamics, evidence, 1, self.cells)) for _, evidence in self.groups]
        return torch.cat([_padded(one, self.longest) for one in found])

    def columns(self, dynamics: Dynamics, field: Callable[[Tensor], Tensor]) -> Tensor:
        """What `field` makes of a phase (n, W, order*S, *grid), at all points that are looked at (N, P, ...)."""
        found = [in_rows(field(evidence.phase), dynamics) for _, evidence in self.groups]
        return torch.cat([_padded(one, self.longest) for one in found])

    def points(self, network: Network, part: PolynomialField, at: Tensor, terms: Terms | None = None) -> Points:
        """With parameters `at` (N, L), in latent coordinates; of all products in `part`, or of some terms alone."""
        dynamics, parts, first = network.dynamics, [], 0
        for rows, evidence in self.groups:
            here = slice(first, first + len(rows))
            unit = dynamics.scales_top * self.amplitude[here]
            found = _of_group(dynamics, part, evidence, at[here].float(), unit, terms, self.cells)
            parts.append([_padded(one, self.longest) for one in found])
            first += len(rows)
        phi, rest, slopes, doubt, seen = (torch.cat(one) for one in zip(*parts, strict=True))
        allowed = dynamics.open[:, None].expand(-1, phi.shape[2]) if terms is None else terms.allowed
        return Points(phi, rest, slopes, at, doubt, seen, self.amplitude.double(), allowed.double())


def products_at(
    dynamics: Dynamics, part: PolynomialField, evidence: Evidence, eps: Tensor, cells: int | None = PIXELS
) -> Tensor:
    """All products (n, P, T) at the points of a group; they do not depend on parameters."""
    over = _over(eps, part, evidence)
    state, extra = dynamics.seen(evidence.times, evidence.phase, over, evidence.inputs, evidence.top)
    extra = extra.expand(*extra.shape[:3], *state.shape[3:])
    return part.plain_terms(in_rows(state, dynamics, cells), in_rows(extra, dynamics, cells))


def in_rows(field: Tensor, dynamics: Dynamics, cells: int | None = PIXELS) -> Tensor:
    """A field (n, W, C, *grid) at all points that are looked at, as (n, P, C)."""
    return _flat(at_some(field, dynamics, cells))


def _flat(cells: Tensor) -> Tensor:
    """(n, W, C) as it is, and (n, W, C, cells) as (n, P, C)."""
    return cells if cells.ndim == 3 else cells.movedim(2, 3).flatten(1, 2)


def _over(eps: Tensor, part: PolynomialField, evidence: Evidence) -> Latents:
    return Latents(eps, eps.new_zeros(len(eps), part.latents)).over(evidence.times.shape[1])


def _of_group(
    dynamics: Dynamics,
    part: PolynomialField,
    evidence: Evidence,
    eps: Tensor,
    unit: Tensor,
    terms: Terms | None,
    cells: int | None,
) -> tuple[Tensor, ...]:
    """Products, what is left open, slopes, doubt and whether it was seen, at each point of a group."""

    def rows(field: Tensor) -> Tensor:
        return in_rows(field, dynamics, cells)

    place = (evidence.times, evidence.phase, evidence.inputs, _over(eps, part, evidence))
    known = dynamics.known(evidence.times, evidence.phase, place[3], evidence.inputs)
    phi = products_at(dynamics, part, evidence, eps, cells) if terms is None else terms.at(dynamics, evidence, cells)
    moves = [rows(slope(dynamics, *place, index)) / dynamics.scales_top for index in range(eps.shape[1])]
    rest = rows(evidence.top - known) / dynamics.scales_top
    slopes = torch.stack(moves, -1) if moves else rest.new_zeros(*rest.shape, 0)
    seen = rows(evidence.seen.expand_as(evidence.top[:, :, :1]))
    seen = seen * (rest.isfinite() & slopes.isfinite().all(-1)).all(-1, keepdim=True)
    return phi, rest, slopes, (rows(evidence.doubt) / unit).square(), seen


def _joined(groups: list[tuple[Tensor, Evidence]]) -> list[tuple[Tensor, Evidence]]:
    """Groups that have as many points as one, so that few terms are chosen among many trajectories."""
    lengths = sorted({evidence.times.shape[1] for _, evidence in groups})
    alike = [[group for group in groups if group[1].times.shape[1] == length] for length in lengths]
    return [(torch.cat([rows for rows, _ in some]), Evidence.joined([one for _, one in some])) for some in alike]


def _padded(field: Tensor, longest: int) -> Tensor:
    """(n, W, ...) with zeros up to `longest` points, in double; what is not a number counts for nothing."""
    after = field.new_zeros(len(field), longest - field.shape[1], *field.shape[2:])
    return torch.cat([field, after], 1).double().nan_to_num(0.0, 0.0, 0.0)
