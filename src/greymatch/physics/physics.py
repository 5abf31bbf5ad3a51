"""`Physics`: the known part of the dynamics, as the user writes it."""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from greymatch.errors import GreymatchError, did_you_mean
from greymatch.physics.priors import Prior, as_prior
from greymatch.physics.views import View, over_grid, split_scalars, split_states

Function = Callable[..., Mapping[str, Tensor | float]]


@dataclass(frozen=True, init=False)
class Physics:
    """The known right-hand side: dx/dt = f(t, x, p) for order 1, d2x/dt2 = f(t, x, p) for order 2.

    ```python
    def swing(t, x, p):
        return {"angle": -p.omega**2 * torch.sin(x.angle)}

    physics = Physics(swing, states=["angle"], params={"omega": Uniform(0.785, 3.14)}, order=2)
    ```

    `x.angle` is a tensor over the batch (and over the grid, for fields); `p.omega` broadcasts against it.
    Order 2 adds `x.angle_dot`. With `inputs=["voltage"]` the function takes a fourth argument, `u.voltage`.
    `grid=("y", "x")` names the grid axes of fields. `complete=["angle"]` names equations that the learned
    residual must not touch.

    Not for stochastic or delay equations: the function sees the present state alone.
    """

    function: Function
    states: tuple[str, ...]
    params: dict[str, Prior] = field(hash=False)
    order: int
    inputs: tuple[str, ...]
    grid: tuple[str, ...]
    complete: tuple[str, ...]
    name: str

    def __init__(
        self,
        function: Function,
        states: Sequence[str],
        params: Mapping[str, Prior | float] | None = None,
        order: int = 1,
        inputs: Sequence[str] = (),
        grid: Sequence[str] = (),
        complete: Sequence[str] = (),
        name: str | None = None,
    ) -> None:
        if not callable(function):
            raise GreymatchError(f"`function` must be callable as f(t, x, p); got {function!r}.")
        put = object.__setattr__
        put(self, "function", function)
        put(self, "states", _names("states", states, at_least=1))
        put(self, "params", {key: as_prior(value) for key, value in _priors(params).items()})
        put(self, "order", order)
        put(self, "inputs", _names("inputs", inputs))
        put(self, "grid", _names("grid", grid))
        put(self, "complete", _names("complete", complete))
        put(self, "name", name or getattr(function, "__name__", type(function).__name__))
        self._check_declaration()

    def _check_declaration(self) -> None:
        _names("params", tuple(self.params))
        if isinstance(self.order, bool) or self.order not in (1, 2):
            raise GreymatchError(f"`order` must be 1 or 2; got {self.order!r}.")
        for name in self.complete:
            if name not in self.states:
                raise GreymatchError(
                    f"`complete` must name states; got {name!r}, states are {list(self.states)}."
                    f"{did_you_mean(name, self.states)}"
                )
        clash = set(self.states) & {f"{name}_dot" for name in self.states}
        if self.order == 2 and clash:
            raise GreymatchError(f"`states` of order 2 must not end in another's '_dot'; got {sorted(clash)}.")
        self._check_signature()

    def _check_signature(self) -> None:
        wanted = 4 if self.inputs else 3
        try:
            inspect.signature(self.function).bind(*range(wanted))
        except TypeError:
            form = "f(t, x, p, u)" if self.inputs else "f(t, x, p)"
            raise GreymatchError(
                f"`function` {self.name!r} must take {form}{' because `inputs` are declared' * bool(self.inputs)}; "
                f"got {self.name}{inspect.signature(self.function)}."
            ) from None
        except ValueError:  # a builtin without a signature: the first call will tell
            return

    @property
    def phase(self) -> tuple[str, ...]:
        """Names of the full state that a solver carries: positions, then velocities for order 2."""
        return self.states + tuple(f"{name}_dot" for name in self.states) * (self.order - 1)

    @property
    def free(self) -> tuple[str, ...]:
        """Parameters to be inferred (all but the fixed ones)."""
        return tuple(name for name, prior in self.params.items() if prior.latents)

    def push(self, eps: Tensor) -> Tensor:
        """Parameters in physical units (..., P) from latent coordinates (..., L) of the free ones."""
        latent = iter(eps.unbind(-1))
        parts = [
            prior.push(next(latent) if prior.latents else eps.new_zeros(eps.shape[:-1]))
            for prior in self.params.values()
        ]
        return torch.stack(parts, -1) if parts else eps.new_zeros((*eps.shape[:-1], 0))

    def pull(self, theta: Tensor) -> Tensor:
        """Latent coordinates (..., L) of parameters in physical units (..., P)."""
        pairs = zip(self.params.values(), theta.unbind(-1), strict=True)
        parts = [prior.pull(value) for prior, value in pairs if prior.latents]
        return torch.stack(parts, -1) if parts else theta.new_zeros((*theta.shape[:-1], 0))

    def evaluate(self, t: Tensor, x: Tensor, theta: Tensor, u: Tensor | None = None) -> Tensor:
        """The known highest derivative (..., S, *grid) at time (...), phase (..., order*S, *grid)."""
        axes = len(self.grid)
        views = [
            over_grid(t, axes),
            View("state", split_states(x, self.phase, axes)),
            View("parameter", split_scalars(theta, tuple(self.params), axes)),
        ]
        if self.inputs:
            if u is None:
                raise GreymatchError(f"physics {self.name!r} needs inputs {list(self.inputs)}; none were given.")
            views.append(View("input", split_scalars(u, self.inputs, axes)))
        returned = self.function(*views)
        self._check_keys(returned)
        shape = x.select(-1 - axes, 0).shape
        parts = [self._full(name, returned[name], shape, x) for name in self.states]
        return torch.stack(parts, -1 - axes) if len(parts) > 1 else parts[0].unsqueeze(-1 - axes)

    def _check_keys(self, returned: object) -> None:
        if not isinstance(returned, Mapping):
            raise GreymatchError(
                f"physics function {self.name!r} must return a dict with keys {list(self.states)}; "
                f"got {type(returned).__name__}."
            )
        missing = [name for name in self.states if name not in returned]
        extra = [str(name) for name in returned if name not in self.states]
        if missing or extra:
            kind = "accelerations" if self.order == 2 else "time derivatives"
            hint = did_you_mean(extra[0], self.states) if extra else ""
            raise GreymatchError(
                f"physics function {self.name!r} must return {kind} under the keys {list(self.states)}; "
                f"missing {missing or 'none'}, extra {extra or 'none'}.{hint}"
            )

    def _full(self, name: str, value: Tensor | float, shape: torch.Size, like: Tensor) -> Tensor:
        tensor = value if isinstance(value, Tensor) else torch.as_tensor(value)
        if tensor.shape == shape and tensor.dtype == like.dtype and tensor.device == like.device:
            return tensor
        if tensor.is_complex():
            raise GreymatchError(
                f"physics function {self.name!r} must return real numbers; those of state {name!r} are complex. "
                "Take .real, or split it into two states."
            )
        try:
            return tensor.to(like.device, like.dtype).expand(shape)
        except RuntimeError:
            raise GreymatchError(
                f"physics function {self.name!r} returned shape {tuple(tensor.shape)} for state {name!r}; it must "
                f"be {tuple(shape)}, the shape of x.{name}. Use only elementwise and grid operations on x, p and u."
            ) from None

    def describe(self) -> dict[str, Any]:
        """What a model file keeps of the physics: everything but the function itself."""
        return {
            "name": self.name,
            "states": list(self.states),
            "params": {key: prior.describe() for key, prior in self.params.items()},
            "order": self.order,
            "inputs": list(self.inputs),
            "grid": list(self.grid),
            "complete": list(self.complete),
        }


def _priors(params: Mapping[str, Prior | float] | None) -> Mapping[str, Prior | float]:
    if params is not None and not isinstance(params, Mapping):
        raise GreymatchError(f"`params` must map names to priors, such as {{'k': Uniform(0, 1)}}; got {params!r}.")
    return params or {}


def _names(argument: str, names: Sequence[str], at_least: int = 0) -> tuple[str, ...]:
    if isinstance(names, str):
        raise GreymatchError(f"`{argument}` must be a list of names; got the text {names!r}. Write [{names!r}].")
    found = tuple(names)
    for name in found:
        if not isinstance(name, str) or not name.isidentifier() or name.startswith("_") or keyword.iskeyword(name):
            raise GreymatchError(
                f"`{argument}` must be plain names (letters, digits, '_', no keyword), as in x.name; got {name!r}."
            )
    if len(set(found)) < len(found) or len(found) < at_least:
        rule = f"at least {at_least} and no name twice" if at_least else "no name twice"
        raise GreymatchError(f"`{argument}` must hold {rule}; got {list(found)}.")
    return found
