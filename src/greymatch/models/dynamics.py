"""The grey-box field: physics and residual as one right-hand side."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from greymatch.data.scaling import Scales
from greymatch.errors import GreymatchError, did_you_mean
from greymatch.models.composition import COMPOSITIONS
from greymatch.models.curves import curves_of
from greymatch.models.latents import Latents
from greymatch.models.residual import FIELDS, PolynomialField
from greymatch.physics.physics import Physics
from greymatch.settings import ResidualSettings


@dataclass(frozen=True)
class Parts:
    """The highest derivative (..., S, *grid): what the physics gives, what the model gives in all, and for order 2
    with learned kinematics the velocity's correction."""

    physics: Tensor
    total: Tensor
    drift: Tensor | None
    learned: Tensor

    @property
    def residual(self) -> Tensor:
        return self.total - self.physics


class Dynamics(nn.Module):
    """d^n x / dt^n = f(t, x, theta) o r(x | z), with parameters and latents as arguments, never as state.

    The residual is masked to zero in equations that the user vouches for (`Physics.complete`), and blind to states and
    inputs that are not `among` those it may depend on. `profiles` (K, *cells) are those of its curves that are of the
    place.
    """

    scales_center: Tensor
    scales_spread: Tensor
    scales_top: Tensor
    scales_input_center: Tensor
    scales_input_spread: Tensor
    scales_velocity: Tensor
    scales_time_center: Tensor
    scales_time_spread: Tensor
    open: Tensor
    sees_phase: Tensor
    sees_inputs: Tensor
    profiles: Tensor

    def __init__(
        self, physics: Physics, scales: Scales, latents: int, settings: ResidualSettings, cells: tuple[int, ...] = ()
    ) -> None:
        super().__init__()
        self.physics = physics
        self.settings = settings
        self.composition = COMPOSITIONS[settings.composition]
        self.learns_velocity = physics.order == 2 and settings.kinematics == "learned"
        center, spread = scales.phase(physics.order)
        buffers = {
            "center": center,
            "spread": spread,
            "top": scales.top(physics.order),
            "velocity": scales.velocity,
        }
        buffers |= {"input_center": scales.input_center, "input_spread": scales.input_spread}
        buffers |= {"time_center": scales.time_center, "time_spread": scales.time_spread}
        for name, value in buffers.items():
            self.register_buffer(f"scales_{name}", value.clone(), persistent=False)
        closed = [name in physics.complete for name in physics.states]
        self.register_buffer("open", (~torch.tensor(closed)).float(), persistent=False)
        _check_among(physics, settings.among)
        for part, names in (("phase", physics.phase), ("inputs", physics.inputs)):
            visible = [settings.among is None or name in settings.among for name in names]
            self.register_buffer(f"sees_{part}", torch.tensor(visible).float(), persistent=False)
        self.curves = curves_of(physics, settings.curves or (), settings.among)
        placed = sum(curve.placed for curve in self.curves)
        if placed:
            self.profiles = nn.Parameter(torch.zeros(placed, *cells))
        states = len(physics.states)
        extra = latents + len(physics.inputs) + settings.sees_time
        extra += len(physics.free) * settings.sees_theta + states * self.composition.sees_physics
        self.field = FIELDS[settings.kind](
            len(physics.phase) + len(self.curves),
            extra,
            states,
            1 + self.learns_velocity,
            len(physics.grid),
            settings,
            latents,
        )

    def parts(self, t: Tensor, phase: Tensor, latents: Latents, u: Tensor | None = None) -> Parts:
        """The highest derivative at time (...), phase (..., order*S, *grid), latents (..., L) and (..., Z)."""
        return self.completed(t, phase, latents, u, self.known(t, phase, latents, u))

    def known(self, t: Tensor, phase: Tensor, latents: Latents, u: Tensor | None) -> Tensor:
        """What the physics alone gives (..., S, *grid)."""
        theta = self.physics.push(latents.eps) if latents.theta is None else latents.theta
        return self.physics.evaluate(t, phase, theta, u)

    def pushed(self, latents: Latents) -> Latents:
        """The latents with their parameters: worth it before the field is asked more than once."""
        return replace(latents, theta=self.physics.push(latents.eps))

    def completed(self, t: Tensor, phase: Tensor, latents: Latents, u: Tensor | None, known: Tensor) -> Parts:
        """The physics with what is learned; a pointwise residual needs no more of the grid than is asked for."""
        return self.composed(known, self.learned(t, phase, latents, u, known))

    def composed(self, known: Tensor, learned: Tensor) -> Parts:
        """Both in one field, from what each of them gives."""
        axes = len(self.physics.grid)
        *drift, residual = learned.chunk(2, -1 - axes) if self.learns_velocity else (learned,)
        total = self.composition(known, residual, _channels(self.scales_top, axes))
        moving = drift[0] * _channels(self.scales_velocity, axes) if drift else None
        return Parts(known, total, moving, learned)

    def learned(self, t: Tensor, phase: Tensor, latents: Latents, u: Tensor | None, known: Tensor) -> Tensor:
        """What the net gives (..., heads*S, *grid), in units of the data and zero in complete equations."""
        return self.said(self.visible(phase), t, latents, u, known)

    def said(self, state: Tensor, t: Tensor, latents: Latents, u: Tensor | None, known: Tensor) -> Tensor:
        """The same of a state that is `visible` already."""
        if self.closed and not (torch.is_grad_enabled() and self._learns):
            return torch.cat([torch.zeros_like(known)] * (1 + self.learns_velocity), -1 - len(self.physics.grid))
        learned = self.field(state, self._extra(t, latents, u, known))
        if not self.physics.complete:
            return learned
        return learned * _channels(self.open.repeat(1 + self.learns_velocity), len(self.physics.grid))

    @property
    def closed(self) -> bool:
        """Whether the user vouches for all equations: whatever the net says, none of it counts."""
        return set(self.physics.states) <= set(self.physics.complete)

    @property
    @torch.no_grad()
    def written(self) -> bool:
        """Whether what is learned is products alone: a formula has none of a net's ripples."""
        field = self.field
        products = field if isinstance(field, PolynomialField) else getattr(field, "products", None)
        return products is not None and bool(getattr(field, "netless", False))

    @property
    def _learns(self) -> bool:
        return any(weight.requires_grad for weight in self.field.parameters())

    def seen(
        self, t: Tensor, phase: Tensor, latents: Latents, u: Tensor | None, known: Tensor
    ) -> tuple[Tensor, Tensor]:
        """What the net sees: the state (..., C, *grid) with its curves, and all else beside it."""
        return self.visible(phase), self._extra(t, latents, u, known)

    def visible(self, phase: Tensor) -> Tensor:
        """What the net sees of a phase: its values in units of the data, and its curves."""
        axes = len(self.physics.grid)
        state = (phase - _channels(self.scales_center, axes)) / _channels(self.scales_spread, axes)
        if self.settings.among is not None:
            state = state * _channels(self.sees_phase, axes)
        if self.curves:
            state = torch.cat([state, self.curved(phase)], -1 - axes)
        return state

    def curved(self, phase: Tensor) -> Tensor:
        """The curves (..., K, *grid) of a phase (..., order*S, *grid)."""
        axes = len(self.physics.grid)
        columns = dict(zip(self.physics.phase, phase.unbind(-1 - axes), strict=True))
        like, profile = phase.select(-1 - axes, 0), iter(self.profiles if self.placed else ())
        parts = [
            next(profile).to(like).expand_as(like) if curve.placed else curve(columns[curve.of], self.physics.grid)
            for curve in self.curves
        ]
        return torch.stack(parts, -1 - axes)

    @property
    def placed(self) -> bool:
        """Whether it may depend on the place."""
        return any(curve.placed for curve in self.curves)

    def velocity(self, t: Tensor, phase: Tensor, latents: Latents, u: Tensor | None = None) -> Tensor:
        """d(phase)/dt, what a solver integrates."""
        return self.moved(phase, self.parts(t, phase, latents, u))

    def moved(self, phase: Tensor, parts: Parts) -> Tensor:
        """d(phase)/dt, from its highest derivative."""
        if self.physics.order == 1:
            return parts.total
        axis, states = -1 - len(self.physics.grid), len(self.physics.states)
        moving = phase.narrow(axis, states, states)
        moving = moving if parts.drift is None else moving + parts.drift
        return torch.cat([moving.movedim(axis, 0), parts.total.movedim(axis, 0)]).movedim(0, axis)

    def _extra(self, t: Tensor, latents: Latents, u: Tensor | None, known: Tensor) -> Tensor:
        """What the residual sees beside the state: (..., E, 1...) or, with the physics, (..., E, *grid)."""
        axes = len(self.physics.grid)
        columns = [latents.z]
        if u is not None:
            columns.append((u - self.scales_input_center) / self.scales_input_spread * self.sees_inputs)
        if self.settings.sees_time:
            clock = (t - self.scales_time_center) / self.scales_time_spread
            columns.append(clock[..., None].to(latents.z.dtype))
        columns += [latents.eps] * self.settings.sees_theta
        scalars = torch.cat(columns, -1) if len(columns) > 1 else latents.z
        extra = scalars.reshape(*scalars.shape, *(1,) * axes)
        if not self.composition.sees_physics:
            return extra
        seen = known / _channels(self.scales_top, axes)
        grid = known.shape[known.ndim - axes :]
        return torch.cat([extra.expand(*extra.shape[: extra.ndim - axes], *grid), seen], -1 - axes)


def _check_among(physics: Physics, among: tuple[str, ...] | None) -> None:
    names = physics.phase + physics.inputs
    for name in among or ():
        if name not in names:
            raise GreymatchError(
                f"`residual.among` must name some of {list(names)}; got {name!r}.{did_you_mean(name, names)}"
            )


def _channels(scale: Tensor, axes: int) -> Tensor:
    return scale.reshape(*scale.shape, *(1,) * axes)
