"""What the residual owes the parameters, where both are known by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from greymatch.models.credit import FARTHEST, TOLERABLE, Credit, _Said, credit
from greymatch.models.dynamics import Parts
from greymatch.models.evidence import Evidence
from greymatch.models.latents import Latents
from greymatch.physics.operators import laplacian

ROWS, POINTS = 10, 30


class Field:
    """Stands for a field x' = (2 + 0.4 eps) y + r_x, y' = (V - x) (1 + 0.2 eps) + r_y with any residual."""

    scales_top = torch.tensor([2.0, 5.0])
    scales_spread = torch.tensor([1.0, 3.0])
    scales_input_spread = torch.tensor([2.0])
    sees_phase, sees_inputs = torch.ones(2), torch.ones(1)
    physics: Any = SimpleNamespace(grid=(), states=("x", "y"))
    curves = ()

    def __init__(self, residual: Any, free: tuple[bool, bool] = (True, True)) -> None:
        self.residual, self.open = residual, torch.tensor(free).float()

    def double(self) -> Field:
        return self

    def known(self, t: Tensor, phase: Tensor, latents: Latents, u: Tensor) -> Tensor:
        (x, y), eps = phase.unbind(2), latents.eps
        return torch.stack([(2 + 0.4 * eps[..., 0]) * y, (1 + 0.2 * eps[..., 1]) * (u[..., 0] - x)], 2)

    def parts(self, t: Tensor, phase: Tensor, latents: Latents, u: Tensor) -> Parts:
        known = self.known(t, phase, latents, u)
        learned = torch.stack(self.residual(*phase.unbind(2), u[..., 0], latents.z[..., 0]), 2)
        return Parts(known, known + learned, None, learned)


def evidence(seed: int = 0) -> Evidence:
    generator = torch.Generator().manual_seed(seed)
    phase = torch.randn(ROWS, POINTS, 2, generator=generator)
    inputs = torch.randn(ROWS, POINTS, 1, generator=generator)
    times = torch.arange(POINTS).double().repeat(ROWS, 1)
    nothing = torch.zeros_like(phase)
    return Evidence(times, phase, nothing, nothing, torch.ones(ROWS, POINTS, 1), inputs)


def owed(residual: Any, free: tuple[bool, bool] = (True, True), shown: Evidence | None = None) -> Credit:
    latents = Latents(torch.zeros(ROWS, 2), torch.linspace(-1, 1, ROWS)[:, None])
    return credit(Field(residual, free), shown or evidence(), latents, torch.zeros(2))  # pyright: ignore[reportArgumentType]


def zero(x: Tensor) -> Tensor:
    return torch.zeros_like(x)


def test_what_the_physics_could_have_said_is_owed_to_each_trajectory():
    found = owed(lambda x, y, u, z: (0.3 * z * y, -0.1 * (u - x)))
    torch.testing.assert_close(found.owed[:, 0], 0.3 / 0.4 * torch.linspace(-1, 1, ROWS), atol=1e-5, rtol=0)
    torch.testing.assert_close(found.owed[:, 1], torch.full((ROWS,), -0.5), atol=1e-5, rtol=0)
    assert float(found.doubt.max()) < 1e-5


@pytest.mark.parametrize(
    "missing",
    [
        lambda x, y, u, z: (zero(x), -(0.7 + z) * y),
        lambda x, y, u, z: (0.5 * x * y, 3 * y - 0.2 * y**3),
        lambda x, y, u, z: (1.0 + zero(x), x.square() * y),
    ],
)
def test_a_missing_term_is_the_residuals_own_even_if_it_moves_with_the_physics(missing: Any):
    shown = evidence()
    shown.phase[..., 0] = -shown.phase[..., 1] + 0.3 * shown.phase[..., 0]  # V - x and y move together
    plain = owed(missing, shown=shown)
    torch.testing.assert_close(plain.owed, torch.zeros(ROWS, 2), atol=1e-4, rtol=0)

    def mixture(x: Tensor, y: Tensor, u: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
        own = missing(x, y, u, z)
        return own[0] + 0.1 * y, own[1] + 0.1 * (u - x)

    mixed = owed(mixture, shown=shown)
    torch.testing.assert_close(mixed.owed, torch.tensor([[0.25, 0.5]]).expand(ROWS, 2), atol=1e-4, rtol=0)
    assert float(mixed.doubt.max()) < 1e-4


def test_what_no_few_terms_explain_leaves_doubt_about_the_parameters_it_touches():
    found = owed(lambda x, y, u, z: (zero(x), torch.sin(7 * x * y)))
    assert float(found.doubt[:, 0].max()) < 1e-6
    assert float(found.doubt[:, 1].min()) > 0.5
    assert float(found.paid()[:, 1].abs().max()) < 0.02


def test_what_lies_below_the_noise_of_the_field_needs_no_term():
    wiggle = 0.01

    def learned(x: Tensor, y: Tensor, u: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
        return 0.5 + wiggle * (x**3 - x * x), zero(x)

    latents = Latents(torch.zeros(ROWS, 2), torch.zeros(ROWS, 1))
    said = _Said.of(Field(learned), evidence(), latents)  # pyright: ignore[reportArgumentType]
    rows = torch.arange(ROWS)
    assert len(said.chosen(rows, 0.0)) == 3
    assert said.chosen(rows, wiggle**2) == [(0, 0)]


def test_an_equation_that_is_complete_has_no_terms_of_its_own():
    found = owed(lambda x, y, u, z: (0.2 * y + 0.1 * x, zero(x)), free=(False, True))
    assert float(found.doubt[:, 0].min()) > 0.05  # x is no term there: nothing but the physics may speak


def test_what_was_not_seen_does_not_count():
    shown = evidence()
    shown.seen[:, ::2] = 0.0
    shown.phase[:, ::2] = 1e3
    found = owed(lambda x, y, u, z: (0.2 * y, zero(x)), shown=shown)
    torch.testing.assert_close(found.owed[:, 0], torch.full((ROWS,), 0.5), atol=1e-5, rtol=0)


def test_half_is_paid_where_the_doubt_is_tolerable_and_never_too_much():
    found = Credit(torch.tensor([[0.4, 50.0]]), torch.tensor([[TOLERABLE, 0.0]])).paid()
    np.testing.assert_allclose(found, [[0.2, FARTHEST]], rtol=1e-6)


def test_fields_owe_the_diffusion_they_hold():
    generator = torch.Generator().manual_seed(1)
    phase = torch.randn(4, 6, 1, 16, 16, generator=generator)

    class Diffusion(Field):
        scales_top, scales_spread, scales_input_spread = torch.ones(1), torch.ones(1), torch.ones(0)
        sees_phase = torch.ones(1)
        physics: Any = SimpleNamespace(grid=("y", "x"), states=("a",))

        def known(self, t: Tensor, phase: Tensor, latents: Latents, u: Tensor) -> Tensor:
            return (1 + latents.eps[..., None, None]) * laplacian(phase, (1.0, 1.0))

        def parts(self, t: Tensor, phase: Tensor, latents: Latents, u: Tensor) -> Parts:
            known = self.known(t, phase, latents, u)
            learned = 0.3 * laplacian(phase, (1.0, 1.0)) - 0.5 * phase
            return Parts(known, known + learned, None, learned)

    field, nothing = Diffusion(None), torch.zeros_like(phase)
    field.open = torch.ones(1)
    seen = torch.ones(4, 6, 1, 1, 1)
    shown = Evidence(torch.zeros(4, 6).double(), phase, nothing, nothing, seen, None)
    found = credit(field, shown, Latents(torch.zeros(4, 1), torch.zeros(4, 1)), torch.zeros(1))  # pyright: ignore[reportArgumentType]
    torch.testing.assert_close(found.owed, torch.full((4, 1), 0.3), atol=1e-4, rtol=0)
