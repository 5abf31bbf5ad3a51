"""The missing part in words: known + missing, with what each coefficient is worth and how it varies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from greymatch.errors import GreymatchError, did_you_mean
from greymatch.explain.distil import Distilled, distil
from greymatch.explain.settle import few, settle
from greymatch.explain.sparse import Fit, simplest
from greymatch.explain.terms import Term, candidates
from greymatch.physics.physics import Physics
from greymatch.physics.priors import Normal, Prior
from greymatch.settings import Settings

if TYPE_CHECKING:
    from greymatch.data.trajectories import Trajectories
    from greymatch.models.greybox import GreyBox
    from greymatch.models.network import Network

NEGLIGIBLE, NOISES = 1e-3, 3.0  # of an equation's speed, and of the field's own error: less is that error, no term
FOLLOWS = 0.7  # least correlation of a coefficient with what it is said to follow
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

    def prior(self) -> Normal:
        return Normal(self.middle, max(ROOM * self.spread, 0.05 * abs(self.middle), 1e-12))


@dataclass(frozen=True)
class Explanation:
    """What the residual of a model says, as a sum of a few terms in each equation.

    `missing` holds the terms of each state's equation, none where the physics was all there is; `fidelity` the part
    of the residual's variance that they explain. `physics` is the known part with the missing one in it.
    """

    known: Physics
    missing: dict[str, tuple[Coefficient, ...]]
    fidelity: dict[str, float]
    ignored: dict[str, float]
    settings: Settings

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

        Without `validation`, a tenth of the trajectories is held out.
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
                known, {state: tuple(one.term for one in terms) for state, terms in self.missing.items()}, self.names
            ),
            known.states,
            {**known.params, **priors},
            known.order,
            known.inputs,
            known.grid,
            complete=known.states,
            name=f"{known.name}-explained",
        )

    def __str__(self) -> str:
        lines = []
        for state in self.known.states:
            mark = "'" * self.known.order
            terms = self.missing[state]
            lines.append(f"{state}{mark} = known" + "".join(f" {_signed(one.middle)} {one.term.text}" for one in terms))
            lines += [f"    {one.term.text}: {_spoken(one)}" for one in terms]
            if terms:
                lines.append(f"    fidelity {self.fidelity[state]:.4f}")
            elif self.ignored[state] > 0:
                lines.append(f"    the residual is {self.ignored[state]:.2g} of the motion there: none")
        return "\n".join(lines)


@dataclass(frozen=True)
class Completed:
    """The right-hand side of a completed physics: the user's function with the terms found added to it."""

    known: Physics
    terms: Mapping[str, tuple[Term, ...]]
    names: Mapping[tuple[str, Term], str]

    def __call__(self, t: Any, x: Any, p: Any, u: Any = None) -> dict[str, Any]:
        given = self.known.function(t, x, p, u) if self.known.inputs else self.known.function(t, x, p)
        columns = {name: getattr(x, name) for name in self.known.phase}
        like = columns[self.known.phase[0]]
        columns |= {name: getattr(u, name) + torch.zeros_like(like) for name in self.known.inputs}
        return {
            state: given[state]
            + sum(getattr(p, self.names[state, term]) * term.values(columns) for term in self.terms[state])
            for state in self.known.states
        }


def explain(
    model: GreyBox, data: Trajectories, degree: int = 3, among: Sequence[str] | None = None, seed: int = 0
) -> Explanation:
    """The residual of `model` as a sparse polynomial of `degree` in states, velocities and inputs.

    ```python
    explanation = model.explain(train)
    print(explanation)            # angle'' = known - ... angle_dot
    better = explanation.refit(train)
    ```

    The residual tells the terms, the data their coefficients, for each trajectory its own. `among` names what the
    missing part may depend on, by default what the model's was let depend on. Not for a residual with neighbours on
    a grid, nor one that is not added.
    """
    network, data = model.network, few(data.trimmed().to("cpu"))
    distilled = distil(network, data.to(model.device), seed)
    terms = candidates(_variables(network.physics, among or network.settings.residual.among), degree)
    design = torch.stack([term.values(distilled.columns) for term in terms], -1)
    found, ignored = {}, {}
    for index, state in enumerate(network.physics.states):
        target = distilled.residual[:, :, index]
        share = float(target.square().mean().sqrt() / distilled.speed[index].clamp_min(1e-300))
        says = share > max(NEGLIGIBLE, NOISES * float(network.noise[index]))
        found[state] = simplest(design.expand(len(target), -1, -1), target) if says else _nothing(target)
        ignored[state] = 0.0 if found[state].kept else share
    said = Explanation(
        known=network.physics,
        missing={state: _coefficients(fit, terms) for state, fit in found.items()},
        fidelity={state: 1 - fit.unexplained**2 for state, fit in found.items()},
        ignored=ignored,
        settings=network.settings,
    )
    return _measured(said, data.select(distilled.rows.tolist()), _latents(network, distilled)) if said.priors else said


def _nothing(target: Tensor) -> Fit:
    return Fit((), target.new_zeros(len(target), 0), 1.0)


def _variables(physics: Physics, among: Sequence[str] | None) -> tuple[str, ...]:
    names = physics.phase + physics.inputs
    for name in among or ():
        if name not in names:
            raise GreymatchError(f"`among` must name some of {list(names)}; got {name!r}.{did_you_mean(name, names)}")
    return tuple(among) if among else names


def _coefficients(fit: Fit, terms: list[Term]) -> tuple[Coefficient, ...]:
    pairs = zip(fit.kept, fit.coefficients.unbind(1), strict=True)
    return tuple(Coefficient(terms[number], values, None) for number, values in pairs)


def _latents(network: Network, distilled: Distilled) -> dict[str, Tensor]:
    """What a coefficient might follow (N,), by name."""
    found = {f"z{i + 1}": column for i, column in enumerate(distilled.latents.z.unbind(1))}
    return found | dict(zip(network.physics.free, distilled.latents.eps.unbind(1), strict=True))


def _measured(said: Explanation, data: Trajectories, latents: Mapping[str, Tensor]) -> Explanation:
    """The same terms with the coefficients that the data give them."""
    values, names = settle(said.completed, said.priors, said.settings, data).values, said.names

    def measured(state: str, one: Coefficient) -> Coefficient:
        found = values[names[state, one.term]]
        return Coefficient(one.term, found, _followed(found, latents))

    missing = {state: tuple(measured(state, one) for one in terms) for state, terms in said.missing.items()}
    return replace(said, missing=missing)


def _followed(values: Tensor, latents: Mapping[str, Tensor]) -> tuple[str, float] | None:
    """What a coefficient goes with most closely, if it varies at all."""
    if len(values) < 3 or float(values.std()) < 1e-3 * float(values.abs().mean()):
        return None
    pairs = {
        name: float(torch.corrcoef(torch.stack([values, column.double()]))[0, 1]) for name, column in latents.items()
    }
    found = {name: one for name, one in pairs.items() if abs(one) >= FOLLOWS}
    best = max(found, key=lambda name: abs(found[name]), default=None)
    return None if best is None else (best, found[best])


def _signed(value: float) -> str:
    return f"{'-' if value < 0 else '+'} {abs(value):.4g}"


def _spoken(one: Coefficient) -> str:
    said = f"{one.middle:.4g}, {one.spread:.2g} between trajectories"
    return said if one.follows is None else f"{said}, follows {one.follows[0]} (correlation {one.follows[1]:.2f})"
