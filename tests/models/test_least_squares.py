from __future__ import annotations

import torch

from greymatch.models.least_squares import Reach, gauss_newton, ridge


def test_without_penalty_it_is_least_squares(seed):
    design, target = torch.rand(3, 20, 4, dtype=torch.float64), torch.rand(3, 20, dtype=torch.float64)
    found = ridge(design, target, torch.zeros(4, dtype=torch.float64), torch.full((3, 1), 20.0))
    torch.testing.assert_close(found, torch.linalg.lstsq(design, target[..., None]).solution[..., 0])


def test_the_penalty_is_that_of_another_observation(seed):
    """|A w - b|^2 / n + p |w + q|^2 is least squares with rows sqrt(n p) (w + q) added."""
    design, target = torch.rand(2, 20, 3, dtype=torch.float64), torch.rand(2, 20, dtype=torch.float64)
    penalty, pull = torch.tensor([0.1, 0.0, 0.3]).double(), torch.rand(2, 3, dtype=torch.float64)
    found = ridge(design, target, penalty, torch.full((2, 1), 20.0), pull)
    more = (20 * penalty).sqrt()
    rows = torch.cat([design, torch.diag(more).expand(2, 3, 3)], 1)
    aims = torch.cat([target, -more * pull], 1)
    torch.testing.assert_close(found, torch.linalg.lstsq(rows, aims[..., None]).solution[..., 0])


def test_columns_that_say_the_same_give_zero_not_nonsense():
    design = torch.ones(1, 5, 2)
    found = ridge(design, torch.ones(1, 5), torch.zeros(2), torch.full((1, 1), 5.0))
    assert bool(found.isfinite().all())


def test_parameters_of_a_curve_are_found_beside_a_linear_term():
    """y = exp(a x) + w x^2, which is linear in w alone."""
    x, truth = torch.linspace(0, 1, 30).double(), torch.tensor([[0.5], [-1.0]]).double()
    y = torch.exp(truth * x) + torch.tensor([[2.0], [3.0]]) * x**2

    def solve(at):
        slopes = x * torch.exp(at * x)
        design = torch.stack([slopes, (x**2).expand_as(slopes)], -1)
        return ridge(design, y - torch.exp(at * x), torch.full((2,), 1e-12).double(), torch.full((2, 1), 30.0))

    wide = Reach(torch.tensor([-4.0]), torch.tensor([4.0]), step=1.0)
    found, weights = gauss_newton(solve, torch.zeros(2, 1).double(), wide, 10)
    torch.testing.assert_close(found, truth, rtol=1e-4, atol=0)
    torch.testing.assert_close(weights[:, 0], torch.tensor([2.0, 3.0]).double(), rtol=1e-3, atol=0)
    near = Reach(torch.tensor([-0.25]), torch.tensor([0.25]))
    assert gauss_newton(solve, torch.zeros(2, 1).double(), near, 5)[0].tolist() == [[0.25], [-0.25]]


def test_a_step_goes_no_farther_than_allowed():
    short = Reach(torch.tensor([-9.0]), torch.tensor([9.0]), step=0.5)
    assert gauss_newton(lambda at: torch.ones(1, 1), torch.zeros(1, 1), short, 3)[0].item() == 1.5
