"""A learned residual read as a formula: which terms it has, and how large the data say that they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from greymatch.errors import GreymatchError, did_you_mean
from greymatch.explain.distil import Distilled, distil
from greymatch.explain.explanation import Coefficient, Explanation
from greymatch.explain.own_words import without_own_words
from greymatch.explain.profile import profiles_of
from greymatch.explain.settle import few, settle
from greymatch.explain.terms import Term, candidates, curved
from greymatch.models.sparse import Fit, simplest
from greymatch.physics.physics import Physics

if TYPE_CHECKING:
    from greymatch.data.trajectories import Trajectories
    from greymatch.models.greybox import GreyBox
    from greymatch.models.network import Network

NEGLIGIBLE = 1e-3  # of an equation's speed: less is the net's error, no term
FOLLOWS = 0.7  # least correlation of a coefficient with what it is said to follow


def explain(
    model: GreyBox, data: Trajectories, degree: int = 3, among: Sequence[str] | None = None, seed: int = 0
) -> Explanation:
    """The residual of `model` as a sparse polynomial of `degree` in states, velocities and inputs, and in the curves of
    these that it sees; of a field, in profiles over its grid.

    ```python
    explanation = model.explain(train)
    print(explanation)            # angle'' = known - ... angle_dot
    better = explanation.refit(train)
    ```

    The residual tells the terms, the data their coefficients, for each trajectory its own. `among` names what the
    missing part may depend on, by default what the model's was let depend on. Not for a residual with neighbours on
    a grid, nor one that is not added.
    """
    network, data = model.network, few(data.trimmed().to("cpu"), model.settings.window)
    distilled = distil(network, data.to(model.device), seed)
    names = _variables(network.physics, among or network.settings.residual.among)
    bent = [one.words for one in network.dynamics.curves if one.of in names or (one.placed and not among)]
    terms = candidates(names, degree) + curved(names, bent)
    design = torch.stack([term.values(distilled.columns) for term in terms], -1)
    said = replace(
        _said(network, distilled, terms, design),
        profiles=profiles_of(network.dynamics, data),
        doubts=dict(zip(network.physics.free, network.blind.tolist(), strict=True)),
        error=model.record.get("validation_error"),
    )
    sizes = dict(zip(terms, design.square().mean(0).sqrt().tolist(), strict=True))
    speeds = dict(zip(network.physics.states, distilled.speed.tolist(), strict=True))
    data, latents = data.select(distilled.rows.tolist()), _latents(network, distilled)
    measured = _measured(said, data, latents)
    weighty = _weighty(measured, sizes, speeds)
    return measured if weighty.names == measured.names else _measured(weighty, data, latents)


def _said(network: Network, distilled: Distilled, terms: list[Term], design: Tensor) -> Explanation:
    """The terms that the residual is made of, with the coefficients that it gives them."""
    found, ignored, written = {}, {}, network.dynamics.written
    for index, state in enumerate(network.physics.states):
        target = distilled.residual[:, :, index]
        share = float(target.square().mean().sqrt() / distilled.speed[index].clamp_min(1e-300))
        says = share > (NEGLIGIBLE if written else max(NEGLIGIBLE, float(network.noise[index])))
        fit = simplest(design.expand(len(target), -1, -1), target) if says else _nothing(target)
        found[state] = without_own_words(fit, distilled, design, index)
        ignored[state] = 0.0 if found[state].kept else share
    return Explanation(
        known=network.physics,
        missing={state: _coefficients(fit, terms) for state, fit in found.items()},
        fidelity={state: 1 - fit.unexplained**2 for state, fit in found.items()},
        ignored=ignored,
        settings=network.settings,
    )


def _weighty(said: Explanation, sizes: Mapping[Term, float], speeds: Mapping[str, float]) -> Explanation:
    """Without the terms that do next to nothing by the data, where they are of such `sizes`: the net's ripples."""

    def kept(state: str, one: Coefficient) -> bool:
        return float(one.values.abs().median()) * sizes[one.term] > NEGLIGIBLE * speeds[state]

    missing = {state: tuple(one for one in ones if kept(state, one)) for state, ones in said.missing.items()}
    return replace(said, missing=missing)


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
    if not said.priors:
        return said
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
