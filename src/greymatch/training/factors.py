"""Factor regression: what products of states and inputs say of many trajectories that differ.

What is missing from trajectory i is taken as

    r_i(x) = sum_t (W_t + sum_k V_tk z_ik) phi_t(x),    z_i ~ N(0, 1),

and the physics as linear in its parameters about where they are, with their prior. Expectation and maximisation find W
and V from all trajectories at once. What the parameters of all trajectories have in common is W's: with the latents
integrated out W is found before them, else the two would take turns forever.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

RIDGE, ROUNDING = 1.0, 1e-12  # coefficients are usually below one; and what double precision can tell
FIRST_LOADING = 0.1
LEAST_NOISE = 1e-4  # of a derivative
SAME = 1e-6


@dataclass(frozen=True)
class Points:
    """P points of each of N trajectories, all in double.

    Products `phi` (N, P, T), what the physics leaves open, `rest` (N, P, S), with parameters `at` (N, L), the `slopes`
    (N, P, S, L) of the physics there, the relative variance `doubt` (N, P, S) of a derivative by its stencil, and
    whether it was `seen` (N, P, 1). `amplitude` (N, 1, S) is each trajectory's. Products that an equation may have are
    1 in `allowed` (S, T), and others 0.
    """

    phi: Tensor
    rest: Tensor
    slopes: Tensor
    at: Tensor
    doubt: Tensor
    seen: Tensor
    amplitude: Tensor
    allowed: Tensor

    def squares(self, sure: Tensor) -> Tensor:
        """Products by products (N, S, T, T), each point with its weight `sure` (N, P, S)."""
        gram = torch.einsum("npt,nps,npu->nstu", self.phi, sure, self.phi)
        return gram * (self.allowed[:, :, None] * self.allowed[:, None])

    def onto(self, values: Tensor) -> Tensor:
        """Products by what is given of every point (N, P, S, K), as (N, S, T, K)."""
        return torch.einsum("npt,npsk->nstk", self.phi, values) * self.allowed[..., None]


@dataclass(frozen=True)
class Factors:
    """`weights` (S, T, 1 + Z), W and then V; the relative variance `noise` (S,) of what is left; `mean` (N, Z + L) and
    `covariance` of z and of how far the parameters are from where they were."""

    weights: Tensor
    noise: Tensor
    mean: Tensor
    covariance: Tensor

    @staticmethod
    def first(points: Points, latents: int, generator: torch.Generator) -> Factors:
        states, terms, size = points.rest.shape[2], points.phi.shape[2], latents + points.at.shape[1]
        weights = points.phi.new_zeros(states, terms, 1 + latents)
        drawn = torch.randn(states, terms, latents, generator=generator, dtype=weights.dtype)
        weights[..., 1:] = FIRST_LOADING * points.allowed[..., None] * drawn
        nothing = weights.new_zeros(len(points.rest), size)
        return Factors(weights, weights.new_ones(states), nothing, torch.diag_embed(nothing))

    @property
    def latents(self) -> int:
        return self.weights.shape[2] - 1

    @property
    def finite(self) -> bool:
        return bool(self.weights.isfinite().all() & self.noise.isfinite().all())

    def better(self, points: Points) -> Factors:
        """One sweep."""
        sure = self._sure(points)
        squares, known = points.squares(sure), self._known(points, sure)
        found = self._averaged(points, sure, squares, known)._explained(points, sure, known)
        return found._measured(points)._regressed(points, sure, squares)

    def as_good_as(self, other: Factors) -> bool:
        """Whether coefficients and what is left are the same as the other's, to a few digits."""
        moved = (self.weights - other.weights).square().sum() <= SAME**2 * self.weights.square().sum()
        return bool(moved) and bool(((self.noise / other.noise).log().abs() <= SAME).all())

    def told(self, points: Points) -> Factors:
        """With the latents that go with the weights as they are now, and what those leave."""
        sure = self._sure(points)
        return self._explained(points, sure, self._known(points, sure))._measured(points)

    def _sure(self, points: Points) -> Tensor:
        return points.seen / (points.amplitude.square() * (self.noise + points.doubt))

    def steps(self) -> Tensor:
        """How far the parameters (N, L) are from where they were."""
        return self.mean[:, self.latents :]

    def _known(self, points: Points, sure: Tensor) -> tuple[Tensor, Tensor]:
        """How what is said moves with the latents, and the covariance of these: W has no part in either."""
        moves = self._moves(points)
        return moves, _covariance(moves, sure)

    def _averaged(self, points: Points, sure: Tensor, squares: Tensor, known: tuple[Tensor, Tensor]) -> Factors:
        """W, whatever the latents are."""
        moves, covariance = known
        side = _pulled(moves, sure, points.rest, points.at)
        mixed = points.onto(sure[..., None] * moves)
        square = -torch.einsum("nstk,nkl,nrul->stru", mixed, covariance, mixed)
        states = torch.arange(len(square))
        square[states, :, states] += squares.sum(0)
        right = points.onto((sure * points.rest)[..., None])[..., 0].sum(0)
        right = right - torch.einsum("nstk,nkl,nl->st", mixed, covariance, side)
        found = _solved(square.flatten(2).flatten(0, 1), right.flatten())
        return replace(self, weights=torch.cat([found.reshape(*right.shape, 1), self.weights[..., 1:]], -1))

    def _explained(self, points: Points, sure: Tensor, known: tuple[Tensor, Tensor]) -> Factors:
        """The latents of each trajectory."""
        moves, covariance = known
        side = _pulled(moves, sure, points.rest - self._common(points), points.at)
        return replace(self, mean=(covariance @ side[..., None])[..., 0], covariance=covariance)

    def _regressed(self, points: Points, sure: Tensor, squares: Tensor) -> Factors:
        """W and V, with what is expected of the latents and of their products."""
        z = self.latents
        one = torch.cat([self.mean.new_ones(len(self.mean), 1), self.mean[:, :z]], 1)
        second = one[:, :, None] * one[:, None]
        second[:, 1:, 1:] += self.covariance[:, :z, :z]
        beside = torch.nn.functional.pad(self.covariance[:, :z, z:], (0, 0, 1, 0))
        rest = points.rest - torch.einsum("npsl,nl->nps", points.slopes, self.steps())
        target = one[:, None, None] * rest[..., None] - torch.einsum("npsl,nal->npsa", points.slopes, beside)
        square = torch.einsum("nstu,nab->staub", squares, second).flatten(3, 4).flatten(1, 2)
        side = points.onto(sure[..., None] * target).sum(0).flatten(1)
        weights = _solved(square, side).reshape(self.weights.shape)
        # z is normal: what it is too wide by is the loadings' (sweeps alone would take forever to find that)
        one = torch.eye(z, dtype=second.dtype)
        unit, failed = torch.linalg.cholesky_ex(second[:, 1:, 1:].mean(0) + ROUNDING * one)
        unit = torch.where(failed > 0, torch.nan, unit)
        return replace(self, weights=torch.cat([weights[..., :1], weights[..., 1:] @ unit], -1))

    def _measured(self, points: Points) -> Factors:
        """How far off all of it is."""
        moves = self._moves(points)
        wrong = points.rest - self._common(points) - torch.einsum("npsk,nk->nps", moves, self.mean)
        spread = torch.einsum("npsk,nkl,npsl->nps", moves, self.covariance, moves)
        counts = points.seen * self.noise / (self.noise + points.doubt)
        total = (counts * (wrong.square() + spread) / points.amplitude.square()).sum((0, 1))
        return replace(self, noise=(total / counts.sum((0, 1)).clamp_min(1e-9)).clamp_min(LEAST_NOISE**2))

    def _common(self, points: Points) -> Tensor:
        return torch.einsum("npt,st->nps", points.phi, self.weights[..., 0])

    def _moves(self, points: Points) -> Tensor:
        """How what is said (N, P, S, Z + L) moves with the latents."""
        return torch.cat([torch.einsum("npt,stk->npsk", points.phi, self.weights[..., 1:]), points.slopes], -1)


def _covariance(moves: Tensor, sure: Tensor) -> Tensor:
    precision = torch.einsum("npsk,npsl->nkl", moves * sure[..., None], moves)
    return torch.linalg.inv(precision + torch.eye(moves.shape[-1], dtype=moves.dtype))


def _pulled(moves: Tensor, sure: Tensor, rest: Tensor, at: Tensor) -> Tensor:
    """Where data and the prior of the parameters pull the latents (N, Z + L)."""
    pull = torch.einsum("npsk,nps->nk", moves, sure * rest)
    return pull - torch.nn.functional.pad(at, (pull.shape[1] - at.shape[1], 0))


def _solved(square: Tensor, side: Tensor) -> Tensor:
    largest = square.diagonal(dim1=-2, dim2=-1).amax(-1)[..., None, None]
    ridge = (RIDGE + ROUNDING * largest) * torch.eye(square.shape[-1], dtype=square.dtype)
    return torch.linalg.solve(square + ridge, side)
