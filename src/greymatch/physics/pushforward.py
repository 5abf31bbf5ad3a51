"""What a prior is: a smooth increasing push of one standard normal latent, and the checks priors share."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from numbers import Real
from typing import Any, ClassVar, Protocol, TypeGuard, runtime_checkable

import torch
from torch import Tensor

from greymatch.errors import GreymatchError

LATENT_LIMIT = 8.0  # a standard normal leaves +-8 once in 1e15 draws
_LARGEST = 1e37  # eight spreads of this still fit into float32


@runtime_checkable
class Prior(Protocol):
    """theta = push(eps), eps ~ N(0, 1): what every prior can do.

    ```python
    prior = gm.Uniform(0.5, 2.0)
    theta = prior.push(torch.randn(100))
    eps = prior.pull(theta)  # clipped to +-8 at and beyond the edge of the support
    ```

    `push` is smooth and strictly increasing, so a Gaussian over `eps` is a posterior over `theta` that never
    leaves the support, and its KL to the prior is `kl_to_standard_normal`, whatever the prior.

    Not for parameters that depend on each other: every parameter has its own latent.
    """

    @property
    def latents(self) -> int: ...
    @property
    def mean(self) -> float: ...
    @property
    def std(self) -> float: ...
    @property
    def support(self) -> tuple[float, float]: ...
    def push(self, eps: Tensor) -> Tensor: ...
    def pull(self, theta: Tensor) -> Tensor: ...
    def sample(self, shape: tuple[int, ...], generator: torch.Generator | None = None) -> Tensor: ...
    def quantile(self, q: float) -> float: ...
    def describe(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Pushforward(ABC):
    """What all priors share; `mean` and `std` are fields in some and properties in others."""

    _may_be_infinite: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        for field in fields(self):
            infinite = field.name in self._may_be_infinite
            value = _number(type(self).__name__, field.name, getattr(self, field.name), infinite)
            object.__setattr__(self, field.name, value)
        self._check()

    @abstractmethod
    def _check(self) -> None:
        """Raise unless the fields, numbers by now, agree with each other."""

    @property
    def latents(self) -> int:
        """How many latents the parameter has: one, or none when it is fixed."""
        return 1

    @property
    @abstractmethod
    def support(self) -> tuple[float, float]:
        """The lowest and the highest value; either may be infinite."""

    @abstractmethod
    def push(self, eps: Tensor) -> Tensor:
        """The parameter at each standard normal latent."""

    @abstractmethod
    def pull(self, theta: Tensor) -> Tensor:
        """The latent of each parameter, in [-8, 8]: the inverse of `push`."""

    def sample(self, shape: tuple[int, ...], generator: torch.Generator | None = None) -> Tensor:
        """Independent draws, on the generator's device."""
        device = generator.device if generator is not None else None
        return self.push(torch.randn(shape, generator=generator, device=device))

    def quantile(self, q: float) -> float:
        """The value below which a share q of the prior lies."""
        q = _number(type(self).__name__, "q", q)
        if not 0 <= q <= 1:
            raise GreymatchError(f"`q` must lie in [0, 1]; got {q}. For a percentage divide by 100.")
        if q in (0, 1):
            return self.support[int(q)]
        return self.push(torch.special.ndtri(torch.tensor(q, dtype=torch.float64))).item()

    def describe(self) -> dict[str, Any]:
        """Plain JSON values for `prior_from`; an infinite bound is left out, since JSON has no infinity."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {"kind": type(self).__name__, **{k: v for k, v in values.items() if math.isfinite(v)}}


def is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, Real) and not isinstance(value, bool)


def _number(kind: str, name: str, value: object, infinite: bool = False) -> float:
    if is_number(value) and (abs(value) <= _LARGEST or (infinite and value in (-math.inf, math.inf))):
        return float(value)
    rule = "a number" if infinite else "a finite number"
    raise GreymatchError(
        f"{kind}: `{name}` must be {rule} of size up to 1e37; got {value!r}. "
        "Give a plain number, in units that keep it moderate."
    )


def check_positive(prior: Pushforward, name: str, value: float) -> None:
    if not value > 0:
        raise GreymatchError(
            f"{type(prior).__name__}: `{name}` must be positive; got {value}. For a known value use Fixed."
        )


def check_increasing(prior: Pushforward, low: float, high: float) -> None:
    if not low < high:
        raise GreymatchError(
            f"{type(prior).__name__}: `low` must be below `high`; got {low} and {high}. "
            "Swap them, or use Fixed for a known value."
        )


def within_limit(eps: Tensor) -> Tensor:
    return eps.clamp(-LATENT_LIMIT, LATENT_LIMIT)
