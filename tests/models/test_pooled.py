"""Laws of several windows put together, against observations that were never cut into windows."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from greymatch.models.laplace import Laplace, root_of
from greymatch.models.pooled import pooled

ROWS, WINDOWS, LATENTS, POINTS = 3, 5, 4, 6
EVERY = torch.ones(ROWS, WINDOWS, dtype=torch.bool)


def observed(seed: int) -> tuple[Tensor, Tensor]:
    """Slopes (N, n, P, K) of linear observations by the latents, and what was observed (N, n, P) with noise of one."""
    chance = torch.Generator().manual_seed(seed)
    slopes = torch.randn(ROWS, WINDOWS, POINTS, LATENTS, generator=chance, dtype=torch.float64)
    truth = torch.randn(ROWS, 1, LATENTS, 1, generator=chance, dtype=torch.float64)
    noise = torch.randn(ROWS, WINDOWS, POINTS, generator=chance, dtype=torch.float64)
    return slopes, (slopes @ truth)[..., 0] + noise


def law_of(slopes: Tensor, seen: Tensor) -> Laplace:
    """That of a standard normal prior and observations (..., P)."""
    precision = torch.eye(LATENTS, dtype=torch.float64) + slopes.mT @ slopes
    mean = torch.linalg.solve(precision, (slopes.mT @ seen[..., None])[..., 0])
    return Laplace(mean, root_of(precision), torch.ones(len(mean)), free=2)


def covariance(law: Laplace) -> Tensor:
    return law.root @ law.root.mT


def test_windows_say_together_what_all_their_observations_say(seed: int):
    slopes, seen = observed(seed)
    whole = law_of(slopes.flatten(1, 2), seen.flatten(1))
    found = pooled(law_of(slopes.flatten(0, 1), seen.flatten(0, 1)), EVERY)
    torch.testing.assert_close(found.mean, whole.mean)
    torch.testing.assert_close(covariance(found), covariance(whole))


def test_only_windows_that_are_heard_count_and_none_leave_the_prior(seed: int):
    slopes, seen = observed(seed)
    heard = EVERY.clone()
    heard[0, 1:], heard[1] = False, False
    parts = law_of(slopes.flatten(0, 1), seen.flatten(0, 1))
    found = pooled(parts, heard)
    torch.testing.assert_close(found.mean[0], parts.mean[0])
    assert bool((found.mean[1] == 0).all())
    torch.testing.assert_close(covariance(found)[1], torch.eye(LATENTS, dtype=torch.float64))


def test_the_order_of_windows_does_not_matter(seed: int):
    slopes, seen = observed(seed)
    order = torch.randperm(WINDOWS, generator=torch.Generator().manual_seed(seed))
    one, other = (
        pooled(law_of(a.flatten(0, 1), b.flatten(0, 1)), EVERY)
        for a, b in ((slopes, seen), (slopes[:, order], seen[:, order]))
    )
    torch.testing.assert_close(one.mean, other.mean)
    torch.testing.assert_close(covariance(one), covariance(other))


@pytest.mark.parametrize("size", [1.0, 1e12])
def test_what_one_window_knows_to_many_digits_hides_nothing_of_what_none_knows(seed: int, size: float):
    slopes, seen = observed(seed)
    slopes, seen = size * slopes, size * seen
    slopes[..., 3] = 0.0
    found = pooled(law_of(slopes.flatten(0, 1), seen.flatten(0, 1)), EVERY)
    torch.testing.assert_close(covariance(found)[:, 3, 3], torch.ones(ROWS, dtype=torch.float64), atol=1e-3, rtol=0)
    known = torch.linalg.lstsq(slopes.flatten(1, 2)[..., :3], seen.flatten(1)[..., None]).solution[..., 0]
    torch.testing.assert_close(found.mean[:, :3], known, atol=1.0 / size if size > 1 else 0.2, rtol=0)


def test_the_misfit_is_that_of_the_typical_window_that_is_heard():
    slopes, seen = observed(0)
    parts = law_of(slopes.flatten(0, 1), seen.flatten(0, 1))
    heard = EVERY.clone()
    heard[:, 4] = False
    parts.misfit.copy_(torch.tensor([1.0, 2.0, 2.0, 3.0, 90.0]).repeat(ROWS))
    assert pooled(parts, heard).misfit.tolist() == [2.0] * ROWS
