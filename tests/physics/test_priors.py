from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from greymatch.errors import GreymatchError
from greymatch.physics.priors import (
    Fixed,
    LogNormal,
    Normal,
    Prior,
    TruncatedNormal,
    Uniform,
    as_prior,
    kl_to_standard_normal,
    prior_from,
)


def truncnorm(location: float, scale: float, low: float, high: float) -> Any:
    return stats.truncnorm((low - location) / scale, (high - location) / scale, location, scale)


CASES: dict[str, tuple[Prior, Any]] = {
    "normal": (Normal(-2.0, 0.5), stats.norm(-2.0, 0.5)),
    "lognormal": (LogNormal(3.0, 0.4), stats.lognorm(0.4, scale=3.0)),
    "uniform": (Uniform(0.785, 3.14), stats.uniform(0.785, 3.14 - 0.785)),
    "uniform off zero": (Uniform(100.1, 100.7), stats.uniform(100.1, 0.6)),
    "both cut": (TruncatedNormal(1.0, 2.0, -0.5, 2.0), truncnorm(1.0, 2.0, -0.5, 2.0)),
    "low cut": (TruncatedNormal(0.3, 0.2, low=0.0), truncnorm(0.3, 0.2, 0.0, math.inf)),
    "high cut": (TruncatedNormal(0.0, 1.0, high=0.7), truncnorm(0.0, 1.0, -math.inf, 0.7)),
    "upper tail": (TruncatedNormal(0.0, 1.0, 9.0, 11.0), truncnorm(0.0, 1.0, 9.0, 11.0)),
    "far upper tail": (TruncatedNormal(0.0, 0.1, low=2.5), truncnorm(0.0, 0.1, 2.5, math.inf)),
    "far lower tail": (TruncatedNormal(5.0, 0.1, high=2.5), truncnorm(5.0, 0.1, -math.inf, 2.5)),
}
PRIORS = {name: prior for name, (prior, _) in CASES.items()}
each_case = pytest.mark.parametrize(("prior", "truth"), CASES.values(), ids=CASES.keys())
each_prior = pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS.keys())
each_dtype = pytest.mark.parametrize("dtype", [torch.float32, torch.float64])

# torch 2.13's first forward-mode derivative scripts some functions of its own
forward_mode = pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")


@each_case
def test_quantiles_agree_with_scipy(prior: Prior, truth: Any) -> None:
    shares = [1e-12, 1e-6, 0.01, 0.3, 0.5, 0.9, 1 - 1e-6]
    np.testing.assert_allclose([prior.quantile(q) for q in shares], truth.ppf(shares), rtol=1e-9, atol=1e-15)
    assert (prior.quantile(0), prior.quantile(1)) == prior.support
    assert prior.support == pytest.approx(truth.support())


@each_case
def test_mean_and_std_agree_with_scipy(prior: Prior, truth: Any) -> None:
    assert prior.mean == pytest.approx(truth.mean(), rel=1e-9)
    assert prior.std == pytest.approx(truth.std(), rel=1e-6)  # scipy's own rounding, in the tails


def test_moments_of_a_narrow_cut_are_those_of_a_uniform() -> None:
    prior = TruncatedNormal(0.0, 1.0, 2.0, 2.0 + 1e-6)
    assert prior.std == pytest.approx(1e-6 / math.sqrt(12), rel=1e-6)
    assert prior.mean - 2.0 == pytest.approx(0.5e-6, rel=1e-5)


@each_case
def test_samples_follow_the_distribution(prior: Prior, truth: Any) -> None:
    draws = prior.sample((100, 200), torch.Generator().manual_seed(0)).double().numpy()
    assert draws.shape == (100, 200)
    assert stats.kstest(draws.ravel(), truth.cdf).pvalue > 1e-3
    assert abs(draws.mean() - prior.mean) < 5 * prior.std / math.sqrt(draws.size)
    assert draws.std() == pytest.approx(prior.std, rel=0.06)


def test_the_generator_decides_the_draws() -> None:
    prior = Uniform(0.0, 1.0)
    first, second = (prior.sample((5,), torch.Generator().manual_seed(s)) for s in (1, 1))
    other = prior.sample((5,), torch.Generator().manual_seed(2))
    assert torch.equal(first, second)
    assert not torch.equal(first, other)


@each_case
def test_pull_inverts_push_over_the_bulk(prior: Prior, truth: Any) -> None:
    theta = torch.tensor(truth.ppf(np.linspace(1e-4, 1 - 1e-4, 101)))
    torch.testing.assert_close(prior.push(prior.pull(theta)), theta, rtol=1e-12, atol=0)
    eps = torch.linspace(-4, 4, 81, dtype=torch.float64)
    torch.testing.assert_close(prior.pull(prior.push(eps)), eps, rtol=0, atol=1e-8)
    torch.testing.assert_close(prior.push(prior.pull(theta.float())), theta.float(), rtol=1e-5, atol=1e-7)


@each_prior
@each_dtype
def test_tails_stay_in_the_support_with_finite_gradients(prior: Prior, dtype: torch.dtype) -> None:
    eps = torch.linspace(-8, 8, 161, dtype=dtype, requires_grad=True)
    theta = prior.push(eps)
    (slope,) = torch.autograd.grad(theta.sum(), eps)
    low, high = torch.tensor(prior.support, dtype=dtype)
    assert theta.dtype == dtype
    assert theta.isfinite().all()
    assert (low <= theta).all()
    assert (theta <= high).all()
    assert slope.isfinite().all()
    assert (slope >= 0).all()
    assert (slope[40:121] > 0).all()  # |eps| <= 4


@each_dtype
def test_no_bounds_are_overstepped_by_rounding(dtype: torch.dtype) -> None:
    eps = torch.tensor([-40, -8, -6, 6, 8, 40], dtype=dtype)
    for low, width in np.random.default_rng(0).uniform([-2, 0], [2, 1], (200, 2)).tolist():
        for prior in (Uniform(low, low + width), TruncatedNormal(0.3, 1.7, low, low + width)):
            edges = torch.tensor(prior.support, dtype=dtype)
            assert edges[0] <= prior.push(eps).min(), prior
            assert prior.push(eps).max() <= edges[1], prior


@each_prior
@each_dtype
def test_pull_is_clipped_and_has_finite_gradients(prior: Prior, dtype: torch.dtype) -> None:
    low, high = (max(min(edge, 1e6), -1e6) for edge in prior.support)
    theta = torch.tensor([low - 1e6, low, prior.mean, high, high + 1e6], dtype=dtype, requires_grad=True)
    eps = prior.pull(theta)
    (slope,) = torch.autograd.grad(eps.sum(), theta)
    assert eps[[0, 4]].tolist() == [-8, 8]
    assert -8 <= eps[1] < -5  # the bound as float32 has it may lie just inside
    assert 5 < eps[3] <= 8
    assert abs(eps[2].item()) < 1
    assert slope.isfinite().all()
    assert slope[2] > 0


@forward_mode
@each_prior
def test_forward_and_reverse_mode_agree_with_a_difference_quotient(prior: Prior) -> None:
    eps = torch.tensor([-5.0, -2.0, -1e-3, 0.0, 0.5, 3.0, 5.0], dtype=torch.float64)
    _, slope = torch.func.jvp(prior.push, (eps,), (torch.ones_like(eps),))[:2]
    step = 1e-5
    quotient = (prior.push(eps + step) - prior.push(eps - step)) / (2 * step)
    torch.testing.assert_close(slope, quotient, rtol=1e-4, atol=1e-9)
    torch.testing.assert_close(torch.func.vmap(torch.func.grad(prior.push))(eps), slope)


def test_uncut_truncated_normal_is_the_normal_out_to_eight() -> None:
    eps = torch.linspace(-8, 8, 33, dtype=torch.float64)
    uncut = TruncatedNormal(1.0, 2.0)
    torch.testing.assert_close(uncut.push(eps), Normal(1.0, 2.0).push(eps), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(uncut.pull(1 + 2 * eps), eps, rtol=1e-12, atol=1e-12)


finite = st.floats(-50, 50)
positive = st.floats(1e-3, 20)
any_prior = st.one_of(
    st.builds(Normal, finite, positive),
    st.builds(LogNormal, positive, st.floats(0.01, 3)),
    st.builds(lambda low, width: Uniform(low, low + width), finite, positive),
    st.builds(
        lambda low, width, scale, cut: TruncatedNormal(low - cut * scale, scale, low, low + width),
        finite,
        st.one_of(positive, st.just(math.inf)),
        positive,
        st.floats(-10, 10),
    ),
)


@settings(max_examples=150, deadline=None)
@given(any_prior, st.floats(-4, 4), st.floats(0.01, 2))
def test_push_increases_and_pull_inverts_it(prior: Prior, eps: float, step: float) -> None:
    pair = torch.tensor([eps, min(eps + step, 4.01)], dtype=torch.float64)
    theta = prior.push(pair)
    low, high = prior.support
    assert low <= theta[0] < theta[1] <= high
    torch.testing.assert_close(prior.push(prior.pull(theta)), theta, rtol=1e-9, atol=1e-9)


@forward_mode
def test_fixed_has_no_latent_and_ignores_it() -> None:
    prior = Fixed(9.81)
    eps = torch.randn(2, 3, dtype=torch.float64)
    assert torch.equal(prior.push(eps), torch.full((2, 3), 9.81, dtype=torch.float64))
    assert torch.equal(prior.pull(torch.ones(4)), torch.zeros(4))
    value, slope = torch.func.jvp(prior.push, (eps,), (torch.ones_like(eps),))[:2]
    assert (value == 9.81).all()
    assert (slope == 0).all()
    assert (prior.latents, prior.mean, prior.std, prior.quantile(0.2)) == (0, 9.81, 0.0, 9.81)
    assert prior.sample((2,)).tolist() == pytest.approx([9.81, 9.81])
    assert Normal(0, 1).latents == 1


@pytest.mark.parametrize(("mean", "log_std"), [(0.0, 0.0), (1.5, -1.0), (-0.3, 0.4)])
def test_kl_agrees_with_integration_in_latent_coordinates(mean: float, log_std: float) -> None:
    posterior: Any = stats.norm(mean, math.exp(log_std))
    expected, _ = integrate.quad(
        lambda e: posterior.pdf(e) * (posterior.logpdf(e) - stats.norm.logpdf(e)), -12, 12, epsabs=1e-11
    )
    latent = torch.tensor([mean, log_std], dtype=torch.float64)
    assert kl_to_standard_normal(*latent).item() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("name", ["uniform", "lognormal", "both cut"])
def test_kl_is_the_same_in_physical_coordinates(name: str) -> None:
    _, truth = CASES[name]
    mean, log_std = torch.tensor(0.6, dtype=torch.float64), torch.tensor(-0.8, dtype=torch.float64)
    posterior: Any = stats.norm(mean.item(), math.exp(log_std.item()))

    def integrand(theta: float) -> float:
        # The posterior's density over theta, from scipy's distribution alone: p(eps) |d eps / d theta|.
        eps = stats.norm.ppf(truth.cdf(theta))
        log_density = posterior.logpdf(eps) + truth.logpdf(theta) - stats.norm.logpdf(eps)
        return math.exp(log_density) * (log_density - truth.logpdf(theta))

    expected, _ = integrate.quad(integrand, *truth.ppf([1e-9, 1 - 1e-9]), epsabs=1e-8, limit=200)
    assert kl_to_standard_normal(mean, log_std).item() == pytest.approx(expected, abs=1e-5)


def test_kl_is_elementwise_and_keeps_small_values_in_float32() -> None:
    log_std = torch.tensor([[1e-4], [0.0]])
    kl = kl_to_standard_normal(torch.tensor([0.0, 2.0, 3.0]), log_std)
    assert kl.shape == (2, 3)
    assert kl[0, 0].item() == pytest.approx(1e-8, rel=0.05, abs=0)
    assert kl[1].tolist() == [0.0, 2.0, 4.5]


@pytest.mark.parametrize("prior", [*PRIORS.values(), Fixed(-3)])
def test_description_survives_json(prior: Prior) -> None:
    text = json.dumps(prior.describe(), allow_nan=False)
    assert prior_from(json.loads(text)) == prior


def test_fields_become_plain_floats() -> None:
    prior = Uniform(np.float32(0.5), np.int64(2))  # pyright: ignore[reportArgumentType]
    assert prior == Uniform(0.5, 2.0)
    assert [type(edge) for edge in prior.support] == [float, float]
    assert len({prior, Uniform(0.5, 2.0)}) == 1


def test_as_prior() -> None:
    prior = Normal(0.0, 1.0)
    assert as_prior(prior) is prior
    assert as_prior(3) == Fixed(3.0)
    for bad in ("omega", None, True, Uniform, LogNormal):
        with pytest.raises(GreymatchError, match=r"must be a prior or a number.*Uniform\(0"):
            as_prior(bad)


BAD_ARGUMENTS = [
    (lambda: Normal(0, 0), r"Normal: `std` must be positive; got 0\.0\. .*Fixed"),
    (lambda: Normal(math.nan, 1), r"Normal: `mean` must be a finite number.*got nan"),
    (lambda: Normal(0, "1"), r"Normal: `std` must be a finite number.*got '1'"),  # pyright: ignore[reportArgumentType]
    (lambda: Normal(0, True), r"Normal: `std` must be a finite number.*got True"),
    (lambda: Normal(0, 10**400), r"Normal: `std` must be a finite number.*units"),
    (lambda: LogNormal(-1, 1), r"LogNormal: `median` must be positive; got -1\.0"),
    (lambda: LogNormal(1, 0), r"LogNormal: `log_std` must be positive"),
    (lambda: LogNormal(5.0, 100), r"must fit into float32; got 5\.0 and 100\.0\. .*spread of log"),
    (lambda: Uniform(2, 1), r"Uniform: `low` must be below `high`; got 2\.0 and 1\.0\. Swap"),
    (lambda: Uniform(1, 1), r"`low` must be below `high`"),
    (lambda: Uniform(0, math.inf), r"Uniform: `high` must be a finite number.*got inf"),
    (lambda: TruncatedNormal(0, 1, 3, 2), r"TruncatedNormal: `low` must be below `high`"),
    (lambda: TruncatedNormal(0, 1, math.inf), r"`low` must be below `high`; got inf"),
    (lambda: TruncatedNormal(0, 1, low=math.nan), r"TruncatedNormal: `low` must be a number.*got nan"),
    (lambda: TruncatedNormal(0, -1, 0, 1), r"`scale` must be positive"),
    (lambda: TruncatedNormal(0, 1, low=31), r"within 30 `scale` of `location`; got \[31\.0, inf\].*Uniform"),
    (lambda: Fixed(None), r"Fixed: `value` must be a finite number.*got None"),  # pyright: ignore[reportArgumentType]
    (lambda: Uniform(0, 1).quantile(95), r"`q` must lie in \[0, 1\]; got 95\.0\. .*divide by 100"),
    (
        lambda: prior_from({"kind": "uniform", "low": 0, "high": 1}),
        r"got 'uniform'. Did you mean 'Uniform'\?",
    ),
    (lambda: prior_from({"kind": "Uniform", "low": 0, "hight": 1}), r"got 'hight'. Did you mean 'high'\?"),
    (lambda: prior_from({"kind": "Uniform", "low": 0}), r"Uniform needs 'high'; got \{'low': 0\}"),
    (lambda: prior_from({"low": 0}), r"mapping with a 'kind'; got \{'low': 0\}.*LogNormal"),
    (lambda: prior_from(["Uniform"]), r"mapping with a 'kind'"),  # pyright: ignore[reportArgumentType]
]


@pytest.mark.parametrize(("build", "message"), BAD_ARGUMENTS, ids=[message for _, message in BAD_ARGUMENTS])
def test_bad_arguments_are_named(build: Any, message: str) -> None:
    with pytest.raises(GreymatchError, match=message):
        build()
