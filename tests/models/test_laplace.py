"""The posterior of single windows, where the field is simple enough to know it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import Tensor

from greymatch.data.windows import last_window
from greymatch.explain.settle import untrained
from greymatch.models.evidence import Evidence
from greymatch.models.laplace import LEAST_NOISE, Laplace, laplace, root_of
from greymatch.models.latents import Latents
from greymatch.physics.physics import Physics
from greymatch.physics.priors import Normal
from greymatch.settings import Settings

NOISE = torch.tensor([0.02, 0.05])
UNIT = torch.tensor([[1.5, 2.0]]).expand(12, 2)


@pytest.fixture
def asked(known) -> Callable[..., tuple[Laplace, Evidence]]:
    """`asked(start=(eps, z), change=...)`: the posterior of each of the 12 windows, and the evidence it is from."""
    network, data, _, _ = known

    def ask(start: tuple[float, float] = (0.0, 0.0), change: Callable[[Evidence], Evidence] = lambda e: e):
        evidence = change(Evidence.of(last_window(data.first(15), 12), 5, 1))
        return laplace(network.dynamics, evidence, told(torch.tensor([start] * 12), free=1), UNIT, NOISE), evidence

    return ask


def told(mean: Tensor, free: int) -> Laplace:
    """The encoder's answer, with a standard deviation of 0.1."""
    return Laplace(mean, torch.diag_embed(torch.full_like(mean, 0.1)), mean[:, 0], free)


def bayesian_regression(evidence: Evidence, row: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of (eps, z) in b' = -(2 + 0.4 eps) a - (0.5 + 0.5 z) b + e, with a prior of N(0, 1)."""
    a, b = evidence.phase[row].double().numpy().T
    rows = np.stack([-0.4 * a, -0.5 * b], 1)
    aim = evidence.top[row, :, 1].double().numpy() + 2 * a + 0.5 * b
    field = float(UNIT[row, 1]) ** 2 * (float(NOISE[1]) ** 2 + LEAST_NOISE**2)
    variance = field + evidence.doubt[row, :, 1].double().numpy() ** 2
    covariance = np.linalg.inv(np.eye(2) + (rows.T / variance) @ rows)
    return covariance @ (rows.T @ (aim / variance)), covariance


def test_a_window_tells_its_parameter_and_what_the_physics_lacks(known):
    network, data, k, d = known
    network.refined.fill_(1.0)
    with torch.no_grad():
        found = network.central(network.look(last_window(data.first(15), 12))).latents
    torch.testing.assert_close(2 + 0.4 * found.eps[:, 0].double(), k, atol=2e-3, rtol=0)
    torch.testing.assert_close(0.5 + 0.5 * found.z[:, 0].double(), d, atol=2e-3, rtol=0)


def test_a_linear_field_with_small_errors_has_the_posterior_of_bayesian_regression(asked):
    unsure = 0.2 * torch.rand(12, 12, 2, generator=torch.Generator().manual_seed(0))
    law, evidence = asked(change=lambda e: replace(e, doubt=unsure))
    for row in range(12):
        mean, covariance = bayesian_regression(evidence, row)
        std = np.sqrt(covariance.diagonal())
        np.testing.assert_allclose((law.mean[row].numpy() - mean) / std, 0, atol=0.03)
        np.testing.assert_allclose(law.root[row] @ law.root[row].mT, covariance, rtol=0.03, atol=1e-5)


def test_where_it_starts_does_not_matter_in_a_linear_field(asked):
    one, other = asked()[0], asked(start=(-1.0, 1.5))[0]
    torch.testing.assert_close(one.mean, other.mean, atol=1e-3, rtol=0)
    torch.testing.assert_close(one.root, other.root, atol=1e-3, rtol=1e-2)


def test_the_solution_is_where_it_stays(asked):
    mean = asked()[0].mean[4]
    again = asked(start=mean.tolist())[0].mean[4]
    torch.testing.assert_close(again, mean, atol=1e-4, rtol=0)


def test_a_point_that_the_field_gets_wrong_is_outvoted(asked):
    def astray(evidence: Evidence) -> Evidence:
        top = evidence.top.clone()
        top[:, 6] += 100.0
        return replace(evidence, top=top)

    law, other = asked()[0], asked(change=astray)[0]
    assert float((law.mean - other.mean).abs().max()) < 0.05
    mean, _ = bayesian_regression(astray(asked()[1]), 0)
    assert abs(mean - law.mean[0].numpy()).max() > 1, "which least squares would not do"


def test_draws_have_its_covariance(asked):
    law, _ = asked()
    drawn = law.sample(20000, torch.Generator().manual_seed(0))
    draws = torch.cat([drawn.eps, drawn.z], 1).reshape(20000, 12, 2)
    white = torch.linalg.solve(law.root, (draws - law.mean)[..., None])[..., 0]
    assert float(white.mean(0).abs().max()) < 5 / 20000**0.5
    moment = torch.einsum("nbi,nbj->bij", white, white) / 20000
    torch.testing.assert_close(moment, torch.eye(2).expand(12, 2, 2), atol=0.05, rtol=0)


@pytest.mark.parametrize("factor", [0.5, 1.0, 3.0, 1e3])
def test_what_the_data_told_is_widened_and_the_prior_stays(asked, factor: float):
    law, _ = asked()

    def precision(root: Tensor) -> Tensor:
        return (root @ root.mT).double().inverse()

    prior = torch.eye(2, dtype=torch.float64)
    wanted = prior + (precision(law.root) - prior) / factor**2
    torch.testing.assert_close(precision(law.widened(factor).root), wanted, rtol=1e-3, atol=1e-3)


def test_a_start_has_no_prior_and_is_widened_in_full(asked):
    law, _ = asked()
    root = torch.block_diag(*law.root[:1], torch.tensor([[7.0]]))[None]
    both = Laplace(torch.zeros(1, 3), root, law.misfit[:1], law.free, phases=1)
    covariance = (lambda r: r @ r.mT)(both.widened(3.0).root)[0]
    assert float(covariance[2, 2]) == pytest.approx(21.0**2, rel=1e-5)
    assert float(covariance[:2, :2].diagonal().max()) < 1


def test_each_window_is_asked_by_itself(asked):
    order = torch.randperm(12, generator=torch.Generator().manual_seed(1))

    def shuffled(evidence: Evidence) -> Evidence:
        parts = {name: getattr(evidence, name)[order] for name in ("times", "phase", "top", "doubt", "seen")}
        return Evidence(**parts, inputs=None)

    law, other = asked()[0].select(order), asked(change=shuffled)[0]
    torch.testing.assert_close(other.mean, law.mean, atol=1e-5, rtol=0)
    torch.testing.assert_close(other.root, law.root)


def test_what_was_not_seen_tells_nothing(asked):
    def gap(evidence: Evidence, value: float) -> Evidence:
        seen, top = evidence.seen.clone(), evidence.top.clone()
        seen[:, 3], top[:, 3] = 0.0, value
        return replace(evidence, seen=seen, top=top)

    one, other = (asked(change=lambda e, value=value: gap(e, value))[0] for value in (0.0, 1e3))
    assert torch.equal(one.mean, other.mean)
    whole = asked()[0]
    spread = [law.root.square().sum((1, 2)) for law in (one, whole)]
    assert bool((spread[0] > spread[1]).all())


def no_number(evidence: Evidence) -> Evidence:
    phase = evidence.phase.clone()
    phase[7, 2] = torch.nan
    return replace(evidence, phase=phase)


def hardly_seen(evidence: Evidence) -> Evidence:
    seen = evidence.seen.clone()
    seen[7, 3:] = 0.0
    return replace(evidence, seen=seen)


@pytest.mark.parametrize("change", [no_number, hardly_seen])
def test_of_a_window_that_cannot_be_asked_the_answer_of_the_encoder_stands(asked, change):
    law = asked(start=(0.3, -0.2), change=change)[0]
    torch.testing.assert_close(law.mean[7], torch.tensor([0.3, -0.2]))
    torch.testing.assert_close(law.root[7], torch.diag(torch.full((2,), 0.1)))
    whole = asked(start=(0.3, -0.2))[0]
    others = torch.arange(12) != 7
    assert torch.equal(law.mean[others], whole.mean[others])


class Field:
    """Stands for dynamics x' = f(eps) all over a grid."""

    settings = SimpleNamespace(convolves=False)
    open = torch.ones(1)

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        self.function = function

    def posterior(self, first: Tensor, grid: tuple[int, ...], seen: float) -> Laplace:
        """From windows of five points that all show the derivative `seen`, with an error of 1."""
        still = torch.zeros(len(first), 5, 1, *grid)
        evidence = Evidence(torch.zeros(len(first), 5), still, still + seen, still, torch.ones_like(still), None)
        start, one = told(first[:, None], free=1), torch.ones(1)
        return laplace(self, evidence, start, one.expand(len(first), 1), one)  # pyright: ignore[reportArgumentType]

    def pushed(self, latents: Latents) -> Latents:
        return latents

    def known(self, times: Tensor, phase: Tensor, latents: Latents, inputs: None) -> Tensor:
        return torch.zeros_like(phase)

    def visible(self, phase: Tensor) -> Tensor:
        return phase

    def said(self, state: Tensor, times: Tensor, latents: Latents, inputs: None, known: Tensor) -> Tensor:
        eps = latents.eps.reshape(*latents.eps.shape[:2], *(1,) * (state.ndim - 2))
        return self.function(eps).expand_as(state)

    def composed(self, known: Tensor, learned: Tensor) -> SimpleNamespace:
        return SimpleNamespace(total=learned)


def test_the_answer_is_never_less_likely_than_the_start():
    def cost(eps: Tensor) -> Tensor:
        return 10 * ((torch.sin(6 * eps) - 0.7).square() / 2).log1p() + eps.square()

    first = torch.linspace(-3, 3, 301)
    found = Field(lambda eps: torch.sin(6 * eps)).posterior(first, (), seen=0.7).mean[:, 0]
    assert bool((cost(found) <= cost(first) + 1e-4).all())
    assert float((cost(found) < 0.9 * cost(first)).float().mean()) > 0.5


def test_slopes_by_all_latents_at_once_are_those_by_each(asked, monkeypatch: pytest.MonkeyPatch):
    together, _ = asked((0.3, -0.2))
    monkeypatch.setattr("greymatch.models.laplace.FEW", 0)
    each, _ = asked((0.3, -0.2))
    torch.testing.assert_close(together.mean, each.mean, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(together.root, each.root, atol=1e-5, rtol=1e-3)


def test_a_frame_of_neighbours_counts_for_the_root_of_its_pixels():
    field, start = Field(lambda eps: eps), torch.zeros(1)
    for cells in (1, 4, 32):  # of the last, only some are asked
        precision = float(field.posterior(start, (cells, cells), seen=0.0).root) ** -2
        assert precision - 1 == pytest.approx(5 * cells, rel=1e-4)


def test_laws_are_joined_and_chosen_row_by_row():
    generator = torch.Generator().manual_seed(0)
    one, two = (
        Laplace(torch.randn(n, 3, generator=generator), torch.randn(n, 3, 3, generator=generator), torch.arange(n), 2)
        for n in (4, 2)
    )
    chosen = Laplace.joined([one, two]).select(torch.tensor([5, 0]))
    assert torch.equal(chosen.mean, torch.stack([two.mean[1], one.mean[0]]))
    assert torch.equal(chosen.root, torch.stack([two.root[1], one.root[0]]))
    latents = chosen.latents()
    assert (latents.eps.shape, latents.z.shape) == ((2, 2), (2, 1))
    assert torch.equal(latents.z[0], two.mean[1, 2:])


def test_slopes_that_are_no_numbers_spoil_no_other_window():
    found = Field(lambda eps: eps.clamp_min(0).sqrt()).posterior(torch.tensor([0.0, 1.0]), (), seen=1.0)
    assert bool(found.mean.isfinite().all() & found.root.isfinite().all())
    assert 0.5 < float(found.mean[1]) < 1


def test_physics_alone_is_trusted_further_than_a_learned_field(recording):
    """x' = -a x says nothing wrong: its window tells a to the error of the stencil, whatever the prior says."""
    physics = Physics(lambda t, x, p: {"x0": -p.a * x.x0}, ["x0"], {"a": Normal(1.0, 0.1)}, name="decay")
    a, times = torch.tensor([0.72, 1.05], dtype=torch.float64), torch.arange(14, dtype=torch.float64) * 0.05
    data = recording(times.repeat(2, 1).tolist(), torch.exp(-a[:, None] * times).tolist())
    spreads = []
    for complete in ([], ["x0"]):
        known = Physics(physics.function, ["x0"], physics.params, complete=complete, name="decay")
        network = untrained(known, Settings(window=12), data, torch.zeros(1))
        latents = network.settings.encoder.latents + 1
        with torch.no_grad():
            law = network.ask(
                network.evidence(last_window(data, 12)), told(torch.zeros(2, latents), 1), torch.ones(2, 1)
            )
        spreads.append(float(law.root[:, 0, 0].max()))
        if complete:
            torch.testing.assert_close(known.push(law.latents().eps)[:, 0].double(), a, rtol=1e-5, atol=0)
    assert spreads[1] < 0.1 * spreads[0]


def test_parameters_are_released_as_if_data_had_told_more(seed: int):
    """Of a normal law, whose posterior with another noise is known in closed form."""
    generator = torch.Generator().manual_seed(seed)
    slopes, told = torch.randn(40, 2, generator=generator).double(), torch.randn(40, generator=generator).double()

    def posterior(noise: float) -> Laplace:
        precision = slopes.mT @ slopes / noise**2 + torch.eye(2)
        mean = torch.linalg.solve(precision, slopes.mT @ told / noise**2)
        return Laplace(mean[None], root_of(precision[None]), torch.zeros(1), free=2)

    claimed, sure = posterior(1.0), posterior(0.3)
    moved = claimed.released(torch.full((2,), 0.3))
    torch.testing.assert_close(claimed.mean + moved, sure.mean, rtol=1e-9, atol=1e-12)
    assert torch.equal(claimed.released(torch.ones(2)), torch.zeros(1, 2).double())


def test_nothing_is_released_farther_than_it_was_in_doubt():
    """What data hardly tell would else be blown up with all its rounding errors."""
    law = Laplace(torch.tensor([[0.01, 2.0]]), torch.diag(torch.tensor([0.999999, 0.1]))[None], torch.zeros(1), free=2)
    moved = law.released(torch.full((2,), 1e-5))
    assert (moved.abs() <= law.spread).all()
    assert moved[0, 1] == pytest.approx(2.0 * 0.1**2 / (1 - 0.1**2), rel=1e-4)


def test_a_law_without_its_start_keeps_that_of_the_latents():
    generator = torch.Generator().manual_seed(0)
    law = Laplace(
        torch.randn(3, 5, generator=generator), torch.randn(3, 5, 5, generator=generator), torch.zeros(3), 1, 2
    )
    alone = law.startless()
    torch.testing.assert_close(alone.mean, law.mean[:, :3])
    torch.testing.assert_close(alone.root @ alone.root.mT, (law.root @ law.root.mT)[:, :3, :3])
