"""In which way a window without noise errs, by what is left of it by a path.

Nothing is exact. What was seen may err, each number by itself: by as much everywhere, as of a recorder, or by a share
of what it is, as of digits of a floating-point number. Or the motion errs between, by a share of how far it goes, as of
a solver, and goes on from there. Least squares that takes one for another is neither as near to the truth as it could
be, nor knows how far off it is. So of three covariances, each up to its size,

    1,    diag(x_j^2),    sum_i |x_(i+1) - x_i|^2 G_i G_i^T    with G_i = dx / d(phase after interval i),

each window has the one under which it is likeliest that this is left (restricted likelihood: what was found is
integrated out). Misfits and slopes times its inverse root err alike, and each by itself.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from greymatch.matching.path import widen
from greymatch.models.shooting import Path, Shooting

FLOOR = 1e-6  # of a variance: nothing that is seen is surer than a thousandth of what is usual
UNTOLD = 1e-12  # precision of what moves nothing
MARGIN = 4.0  # by which another way must be likelier than the plainest: few numbers look like any by chance
NUMBERS_AT_ONCE = 2**22  # of a covariance


class Left(NamedTuple):
    """Misfits (B, N) and their slopes (B, K, N)."""

    wrong: Tensor
    slopes: Tensor


def alike(shooting: Shooting, path: Path, left: Left) -> Left:
    """Those `left` by a path, in units in which all err alike; of fields, which have too many cells, as they are."""
    if not path.turns.shape[1]:
        return left
    at_once = max(1, NUMBERS_AT_ONCE // left.wrong.shape[1] ** 2)
    rows = torch.arange(len(left.wrong), device=left.wrong.device).split(at_once)
    parts = [_alike(shooting.select(i), path.select(i), Left(left.wrong[i], left.slopes[i])) for i in rows]
    return Left(torch.cat([part.wrong for part in parts]), torch.cat([part.slopes for part in parts]))


def _alike(shooting: Shooting, path: Path, left: Left) -> Left:
    seen = shooting.window.mask.flatten(1)
    sizes = (shooting.window.values.double() / shooting.noise[:, None]).flatten(1)
    best, least = left, _unlikeliness(left, left.wrong.new_zeros(len(seen)), seen)
    for covariance in (torch.diag_embed(sizes.square()), _of_motion(shooting, path)):
        found, size = _whitened(left, covariance, seen)
        cost = _unlikeliness(found, size, seen) + MARGIN
        less = cost < least
        least = torch.where(less, cost, least)
        best = Left(*(torch.where(widen(less, new), new, old) for new, old in zip(found, best, strict=True)))
    return best


def _of_motion(shooting: Shooting, path: Path) -> Tensor:
    """The covariance (B, N, N) of what was seen, if phases move astray by a share of how far they go."""
    went, phases, states = path.nodes.diff(dim=1).square().sum(2), path.nodes.shape[2], shooting.noise.shape[1]
    points, astray = path.nodes.shape[1], path.nodes.new_zeros(len(went), 1, phases, phases)
    columns = [pad(astray, (0, 0, 0, 0, 0, points - 1))]
    for place in range(points - 1):
        turn = path.turns[:, place, None]
        astray = astray @ turn  # of all points before, with the next one
        own = turn[:, 0].mT @ astray[:, -1] + torch.diag_embed(went[:, place, None].expand(-1, phases))
        astray = torch.cat([astray, own[:, None]], 1)
        columns.append(pad(astray, (0, 0, 0, 0, 0, points - 2 - place)))
    seen = torch.stack(columns, 2)[..., :states, :states].transpose(2, 3).flatten(3, 4).flatten(1, 2)
    unit = (shooting.unit[:states] / shooting.noise).repeat(1, points)
    upper = seen * unit[:, :, None] * unit[:, None]
    return upper.triu() + upper.triu(1).mT


def _whitened(left: Left, covariance: Tensor, seen: Tensor) -> tuple[Left, Tensor]:
    """What is left times the inverse root of a covariance, whose size does not count, and the logarithm of its
    determinant (B,)."""
    covariance = covariance * (seen[:, :, None] & seen[:, None])
    usual = covariance.diagonal(dim1=1, dim2=2).sum(1) / seen.sum(1)
    covariance = covariance / usual[:, None, None] + torch.diag_embed(torch.where(seen, FLOOR, 1.0).to(covariance))
    root, failed = torch.linalg.cholesky_ex(covariance.nan_to_num(0.0, 0.0, 0.0))
    size = 2 * root.diagonal(dim1=1, dim2=2).log().sum(1)
    both = torch.cat([left.wrong[:, None], left.slopes], 1)
    white = torch.linalg.solve_triangular(root, both.mT, upper=False).mT
    return Left(white[:, 0], white[:, 1:]), size.masked_fill(failed != 0, torch.inf)


def _unlikeliness(left: Left, size: Tensor, seen: Tensor) -> Tensor:
    """Minus twice the logarithm (B,) of the restricted likelihood, of a covariance whose determinant has the logarithm
    `size`: what slopes explain of white errors does not count."""
    count = left.slopes.shape[1]
    little = UNTOLD**0.5 * torch.eye(count).to(left.slopes).expand(len(seen), -1, -1)
    ways, lengths = torch.linalg.qr(torch.cat([left.slopes, little], 2).nan_to_num(0.0, 0.0, 0.0).mT)
    ways = ways[:, : left.wrong.shape[1]]
    explained = (ways @ (ways.mT @ left.wrong[..., None]))[..., 0]
    rest = (left.wrong - explained).square().sum(1).clamp_min(1e-300)
    spare = (seen.sum(1) - count).clamp_min(1)
    found = spare * rest.log() + size + 2 * lengths.diagonal(dim1=1, dim2=2).abs().log().sum(1)
    return found.nan_to_num(torch.inf, torch.inf)
