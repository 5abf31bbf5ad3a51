"""Priors of physical parameters, each a smooth increasing push of one standard normal latent."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any, ClassVar

import torch
from torch import Tensor

from greymatch.errors import GreymatchError, did_you_mean
from greymatch.physics.gaussian import cdf, cdf_of, inverse_cdf, mass_between, truncated_moments
from greymatch.physics.pushforward import (
    LATENT_LIMIT,
    Prior,
    Pushforward,
    check_increasing,
    check_positive,
    is_number,
    within_limit,
)

__all__ = [
    "Fixed",
    "LogNormal",
    "Normal",
    "Prior",
    "TruncatedNormal",
    "Uniform",
    "as_prior",
    "kl_to_standard_normal",
    "prior_from",
]

_FARTHEST = 30.0  # beyond 37 standard deviations there is no mass that a double can hold


@dataclass(frozen=True)
class Normal(Pushforward):
    """theta = mean + std * eps.

    ```python
    params = {"offset": gm.Normal(0.0, 2.5)}
    ```

    Not for a quantity that cannot be negative (`LogNormal`) or that has hard limits (`Uniform`,
    `TruncatedNormal`).
    """

    mean: float
    std: float

    def _check(self) -> None:
        check_positive(self, "std", self.std)

    @property
    def support(self) -> tuple[float, float]:
        return -math.inf, math.inf

    def push(self, eps: Tensor) -> Tensor:
        return self.mean + self.std * eps

    def pull(self, theta: Tensor) -> Tensor:
        return within_limit((theta - self.mean) / self.std)


@dataclass(frozen=True)
class LogNormal(Pushforward):
    """theta = median * exp(log_std * eps): half the mass is below `median`, log(theta) spreads by `log_std`.

    ```python
    params = {"diffusivity": gm.LogNormal(1e-3, 0.5)}
    ```

    A `log_std` of 0.1 is about 10 %; one of log(2) puts two thirds of the mass within a factor of two.

    Not for a quantity that may be zero or negative (`Normal`, `TruncatedNormal`).
    """

    median: float
    log_std: float

    def _check(self) -> None:
        check_positive(self, "median", self.median)
        check_positive(self, "log_std", self.log_std)
        if abs(math.log(self.median)) + LATENT_LIMIT * self.log_std > 87:
            raise GreymatchError(
                f"LogNormal: `median` * exp(+-8 * `log_std`) must fit into float32; got {self.median} and "
                f"{self.log_std}. `log_std` is the spread of log(theta): 0.1 means about 10 %."
            )

    @property
    def mean(self) -> float:
        """median * exp(log_std^2 / 2)."""
        return self.median * math.exp(self.log_std**2 / 2)

    @property
    def std(self) -> float:
        """mean * sqrt(exp(log_std^2) - 1)."""
        return self.mean * math.sqrt(math.expm1(self.log_std**2))

    @property
    def support(self) -> tuple[float, float]:
        return 0.0, math.inf

    def push(self, eps: Tensor) -> Tensor:
        return self.median * torch.exp(self.log_std * eps)

    def pull(self, theta: Tensor) -> Tensor:
        ratio = (theta / self.median).clamp_min(torch.finfo(theta.dtype).tiny)
        return within_limit(ratio.log() / self.log_std)


@dataclass(frozen=True)
class Uniform(Pushforward):
    """theta = low + (high - low) * Phi(eps), Phi the standard normal distribution function.

    ```python
    params = {"omega": gm.Uniform(0.785, 3.14)}
    ```

    Not for bounds that are only a guess: no data can move the parameter past them (`Normal`, `LogNormal`).
    """

    low: float
    high: float

    def _check(self) -> None:
        check_increasing(self, self.low, self.high)

    @property
    def mean(self) -> float:
        """(low + high) / 2."""
        return (self.low + self.high) / 2

    @property
    def std(self) -> float:
        """(high - low) / sqrt(12)."""
        return (self.high - self.low) / math.sqrt(12)

    @property
    def support(self) -> tuple[float, float]:
        return self.low, self.high

    def push(self, eps: Tensor) -> Tensor:
        # Measured from the nearer end, a value cannot round to outside the bounds.
        lower = eps < 0
        inside = (self.high - self.low) * cdf(torch.where(lower, eps, -eps))
        return torch.where(lower, self.low + inside, self.high - inside)

    def pull(self, theta: Tensor) -> Tensor:
        width = self.high - self.low
        return within_limit(inverse_cdf((theta - self.low) / width, (self.high - theta) / width))


@dataclass(frozen=True)
class TruncatedNormal(Pushforward):
    """N(location, scale^2) kept to [low, high]: theta = location + scale * Phi^-1((1 - w) Phi(a) + w Phi(b)),

    where w = Phi(eps), a = (low - location) / scale, b = (high - location) / scale; a bound may be infinite.
    `location` and `scale` are those of the normal before the cut, `mean` and `std` those of what is left.

    ```python
    params = {"friction": gm.TruncatedNormal(0.3, 0.2, low=0.0)}
    ```

    Not for a positive quantity known to within a factor (`LogNormal`): here the edge itself stays likely.
    """

    location: float
    scale: float
    low: float = -math.inf
    high: float = math.inf

    _may_be_infinite: ClassVar[tuple[str, ...]] = ("low", "high")

    def _check(self) -> None:
        check_positive(self, "scale", self.scale)
        check_increasing(self, self.low, self.high)
        a, b = self._cuts
        if max(a, -b) > _FARTHEST:
            raise GreymatchError(
                f"TruncatedNormal: [`low`, `high`] must come within {_FARTHEST:g} `scale` of `location`; got "
                f"[{self.low}, {self.high}] around {self.location} with scale {self.scale}. "
                "Move `location`, widen `scale`, or use Uniform."
            )

    @property
    def _cuts(self) -> tuple[float, float]:
        return (self.low - self.location) / self.scale, (self.high - self.location) / self.scale

    @property
    def mean(self) -> float:
        """The mean after the cut, exact to rounding."""
        return self.location + self.scale * truncated_moments(*self._cuts)[0]

    @property
    def std(self) -> float:
        """The standard deviation after the cut, exact to rounding."""
        return self.scale * truncated_moments(*self._cuts)[1]

    @property
    def support(self) -> tuple[float, float]:
        return self.low, self.high

    def push(self, eps: Tensor) -> Tensor:
        # In double, since the mass of a far interval underflows float32; both masses as sums of positive
        # terms, since 1 - Phi cancels in the upper tail.
        a, b = self._cuts
        to_low, to_high = cdf(-eps.double()), cdf(eps.double())
        below = cdf_of(a) * to_low + cdf_of(b) * to_high
        above = cdf_of(-a) * to_low + cdf_of(-b) * to_high
        theta = self.location + self.scale * inverse_cdf(below, above)
        return theta.to(eps.dtype).clamp(self.low, self.high)  # against rounding only

    def pull(self, theta: Tensor) -> Tensor:
        z = (theta.double() - self.location) / self.scale
        a, b = (torch.full_like(z, cut) for cut in self._cuts)
        z = z.clamp(a, b)
        below, above = mass_between(a, z), mass_between(z, b)
        mass = below + above
        return within_limit(inverse_cdf(below / mass, above / mass)).to(theta.dtype)


@dataclass(frozen=True)
class Fixed(Pushforward):
    """theta = value: a parameter that is known, so that it has no latent and nothing is inferred.

    ```python
    params = {"gravity": gm.Fixed(9.81)}  # or just 9.81
    ```

    Not for a value known only roughly: a narrow `Normal` says so and keeps the forecast's spread honest.
    """

    value: float

    def _check(self) -> None:
        """Any number will do."""

    @property
    def latents(self) -> int:
        return 0

    @property
    def mean(self) -> float:
        return self.value

    @property
    def std(self) -> float:
        return 0.0

    @property
    def support(self) -> tuple[float, float]:
        return self.value, self.value

    def push(self, eps: Tensor) -> Tensor:
        """The value, in the shape of `eps`."""
        return torch.full_like(eps, self.value)

    def pull(self, theta: Tensor) -> Tensor:
        """Zero, in the shape of `theta`."""
        return torch.zeros_like(theta)


_KINDS = {kind.__name__: kind for kind in (Normal, LogNormal, Uniform, TruncatedNormal, Fixed)}


def as_prior(value: object) -> Prior:
    """A prior as it is; a plain number as `Fixed`."""
    if isinstance(value, Prior) and not isinstance(value, type):
        return value
    if is_number(value):
        return Fixed(value)
    raise GreymatchError(
        f"A parameter must be a prior or a number; got {value!r}. Say, for example, Uniform(0.0, 1.0)."
    )


def prior_from(description: Mapping[str, Any]) -> Prior:
    """The prior that `describe()` described."""
    if not isinstance(description, Mapping) or "kind" not in description:
        raise GreymatchError(
            f"A prior's description must be a mapping with a 'kind'; got {description!r}. "
            f"The kinds are {', '.join(_KINDS)}."
        )
    name = str(description["kind"])
    if name not in _KINDS:
        hint = did_you_mean(name, _KINDS)
        raise GreymatchError(f"The 'kind' of a prior must be one of {', '.join(_KINDS)}; got {name!r}.{hint}")
    values = {key: value for key, value in description.items() if key != "kind"}
    _check_keys(_KINDS[name], values)
    return _KINDS[name](**values)


def kl_to_standard_normal(mean: Tensor, log_std: Tensor) -> Tensor:
    """KL(N(mean, std^2) || N(0, 1)) = (mean^2 + std^2 - 1) / 2 - log(std), elementwise, in nats.

    KL does not change under a smooth one-to-one map. With the posterior Gaussian in the latent `eps`, this is
    therefore also the KL from prior to posterior of the physical parameter: exact, and for every prior here.
    """
    return 0.5 * (mean.square() + torch.expm1(2 * log_std)) - log_std


def _check_keys(kind: type[Pushforward], values: Mapping[str, Any]) -> None:
    known = [field.name for field in fields(kind)]
    for key in values:
        if key not in known:
            hint = did_you_mean(str(key), known)
            raise GreymatchError(f"{kind.__name__} takes {', '.join(known)}; got {key!r}.{hint}")
    for field in fields(kind):
        if field.default is MISSING and field.name not in values:
            raise GreymatchError(f"{kind.__name__} needs {field.name!r}; got {dict(values)}. Add it.")
