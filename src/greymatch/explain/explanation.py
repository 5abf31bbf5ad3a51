"""The missing part in words: known + missing, with what each coefficient is worth and how it varies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from greymatch.errors import GreymatchError
from greymatch.explain.profile import spoken
from greymatch.explain.terms import Term
from greymatch.models.curves import Curve, curves_of
from greymatch.physics.physics import Physics
from greymatch.physics.priors import Normal, Prior
from greymatch.settings import Settings

if TYPE_CHECKING:
    import xarray as xr

    from greymatch.data.trajectories import Trajectories
    from greymatch.models.greybox import GreyBox

VARIED, LEAST = 0.2, 3  # of a coefficient's size, and trajectories that say nothing of how it varies
SMALL = 0.02  # of an equation's motion: a residual that is larger and has no terms is there, but cannot be read
FEW = 6  # terms of an equation: more can be bent to anything, and are no law
ROOM = 3.0  # by which a coefficient's prior is wider than its spread between trajectories


@dataclass(frozen=True)
class Coefficient:
    """One term of one equation, with its coefficient for each trajectory (N,).

    `follows` names the latent or parameter it goes with, and the correlation; None if it goes with none.
    """

    term: Term
    values: Tensor
    follows: tuple[str, float] | None

    @property
    def middle(self) -> float:
        return float(self.values.median())

    @property
    def spread(self) -> float:
        """Between trajectories, as a standard deviation; a few that went astray do not count."""
        return float(self.values.quantile(0.84) - self.values.quantile(0.16)) / 2

    @property
    def doubt(self) -> str:
        """In words, where it differs much between trajectories and goes with nothing, as that of a wrong term does."""
        if self.follows is not None or len(self.values) < LEAST or self.spread <= VARIED * abs(self.middle):
            return ""
        name = self.term.text
        such = f", such as {name} |{name}| for {name}" if name.isidentifier() else ""
        return (
            f"differs much between trajectories and follows nothing: the term may have another form{such}, or noise "
            "hides its size"
        )

    def prior(self) -> Normal:
        return Normal(self.middle, max(ROOM * self.spread, 0.05 * abs(self.middle), 1e-12))


@dataclass(frozen=True)
class Explanation:
    """What the residual of a model says, as a sum of a few terms in each equation.

    `missing` holds the terms of each state's equation, none where the physics was all there is; `fidelity` the part
    of the learned residual's variance that they explain: it says nothing of how true that is. `physics` is the known
    part with the missing one in it, `profiles` holds what depends on the place, as `profiles["s(x)"]`. `doubts` are
    standard deviations of what the model knew not to know of the physics' parameters, in units of their priors', and
    `error` is that of its forecasts of validation data.
    """

    known: Physics
    missing: dict[str, tuple[Coefficient, ...]]
    fidelity: dict[str, float]
    ignored: dict[str, float]
    settings: Settings
    profiles: dict[str, xr.DataArray] = field(default_factory=dict)
    doubts: dict[str, float] = field(default_factory=dict)
    error: float | None = None

    @property
    def names(self) -> dict[tuple[str, Term], str]:
        """The parameter of the completed physics that each term's coefficient becomes."""
        pairs = [(state, one.term) for state, terms in self.missing.items() for one in terms]
        once = [term.identifier for _, term in pairs]
        found = {}
        for state, term in pairs:
            place = "" if once.count(term.identifier) == 1 else f"{state}_"
            found[state, term] = f"c_{place}{term.identifier}"
        return found

    @property
    def priors(self) -> dict[str, Prior]:
        """Of the new parameters, as the residual has their coefficients, with room."""
        names = self.names
        return {names[state, one.term]: one.prior() for state, terms in self.missing.items() for one in terms}

    @property
    def physics(self) -> Physics:
        """The known physics with the terms found, their coefficients as parameters; no equation is left open."""
        return self.completed(self.priors)

    def refit(self, data: Trajectories, validation: Trajectories | None = None) -> GreyBox:
        """The completed physics as a model: what its parameters are, by all of `data`, and forecasts without a net.

        Without `validation`, some of the trajectories are held out, as in `fit`.
        """
        from greymatch.explain.refit import refit
        from greymatch.training.stock import parts

        return refit(self, *parts(data.to("cpu"), validation, self.settings.training.seed))

    def completed(self, priors: Mapping[str, Prior]) -> Physics:
        known = self.known
        taken = sorted(set(priors) & set(known.params))
        if taken:
            raise GreymatchError(f"the physics already has parameters {taken}; rename them before `explain`.")
        return Physics(
            Completed(
                known,
                {state: tuple(one.term for one in terms) for state, terms in self.missing.items()},
                self.names,
                curves_of(known, self.settings.residual.curves or ()),
                {name: torch.from_numpy(profile.values) for name, profile in self.profiles.items()},
            ),
            known.states,
            {**known.params, **priors},
            known.order,
            known.inputs,
            known.grid,
            complete=known.states,
            name=f"{known.name}-explained",
        )

    @property
    def equations(self) -> str:
        """Known + missing, a line for each state, with the coefficients of the middle trajectory."""
        return "\n".join(self._equation(state) for state in self.known.states)

    def _equation(self, state: str) -> str:
        terms = "".join(f" {_signed(one.middle)} {one.term.text}" for one in self.missing[state])
        mark = "'" * self.known.order
        return f"{state}{mark} = known{terms}"

    def __str__(self) -> str:
        lines = []
        for state in self.known.states:
            terms = self.missing[state]
            lines.append(self._equation(state))
            lines += [f"    {one.term.text}: {said}" for one in terms for said in (_spoken(one), one.doubt) if said]
            if terms:
                lines.append(f"    fidelity {self.fidelity[state]:.4f} to the learned residual")
                lines += [f"    {_no_law(len(terms))}"] if len(terms) > FEW else []
            elif self.ignored[state] > 0:
                lines.append(f"    {_silent(self.ignored[state], self.known.grid)}")
        lines += [f"{name}: {spoken(profile)}" for name, profile in self.profiles.items()]
        return "\n".join(lines)


@dataclass(frozen=True)
class Completed:
    """The right-hand side of a completed physics: the user's function with the terms found added to it."""

    known: Physics
    terms: Mapping[str, tuple[Term, ...]]
    names: Mapping[tuple[str, Term], str]
    curves: tuple[Curve, ...] = ()
    profiles: Mapping[str, Tensor] = field(default_factory=dict)

    def __call__(self, t: Any, x: Any, p: Any, u: Any = None) -> dict[str, Any]:
        given = self.known.function(t, x, p, u) if self.known.inputs else self.known.function(t, x, p)
        columns = {name: getattr(x, name) for name in self.known.phase}
        like = columns[self.known.phase[0]]
        columns |= {name: getattr(u, name) + torch.zeros_like(like) for name in self.known.inputs}
        columns |= {name: profile.to(like).expand_as(like) for name, profile in self.profiles.items()}
        bent = [one for one in self.curves if not one.placed]
        columns |= {one.words: one(columns[one.of], self.known.grid) * one.unit for one in bent}
        return {
            state: given[state]
            + sum(getattr(p, self.names[state, term]) * term.values(columns) for term in self.terms[state])
            for state in self.known.states
        }


def _signed(value: float) -> str:
    return f"{'-' if value < 0 else '+'} {abs(value):.4g}"


def _no_law(count: int) -> str:
    return (
        f"{count} terms are a fit of what was seen, not a law: do not read them one by one, nor trust them beyond it; "
        "the learned residual is such a sum itself, and its fidelity no proof"
    )


def _silent(share: float, grid: tuple[str, ...]) -> str:
    said = f"the residual is {share:.2g} of the motion there"
    if share < SMALL:
        return f"{said}: none"
    place = f"; it may depend on the place ({', '.join(grid)}) otherwise than by a profile" if grid else ""
    return f"{said}, but no few terms can be read from it: train longer, or name what it may depend on (`among`){place}"


def _spoken(one: Coefficient) -> str:
    said = f"{one.middle:.4g}, {one.spread:.2g} between trajectories"
    return said if one.follows is None else f"{said}, follows {one.follows[0]} (correlation {one.follows[1]:.2f})"
