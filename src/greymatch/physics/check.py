"""Try the user's function on real rows before any training starts."""

from __future__ import annotations

import torch
from torch import Tensor

from greymatch.errors import GreymatchError
from greymatch.physics.physics import Physics


def check_physics(physics: Physics, t: Tensor, x: Tensor, u: Tensor | None = None, seed: int = 0) -> None:
    """Raise unless the function is finite, well shaped and row-wise on the rows `t` (B,), `x` (B, order*S, *grid).

    Parameters are drawn from the prior, so that a function which fails in a corner of its prior is found now.
    """
    generator = torch.Generator().manual_seed(seed)
    eps = torch.randn((len(t), len(physics.free)), generator=generator, dtype=x.dtype).to(x.device)
    theta = physics.push(eps)
    try:
        value = physics.evaluate(t, x, theta, u)
        _differentiate(physics, t, x, theta, u)
    except GreymatchError:
        raise
    except Exception as error:
        raise GreymatchError(
            f"physics function {physics.name!r} failed on a batch of {len(t)} rows of the data with "
            f"{type(error).__name__}: {error}. It must work on tensors; use torch functions, not math or numpy."
        ) from error
    _check_finite(physics, value, t, x, theta)
    _check_rowwise(physics, value, t, x, theta, u)
    _check_nested(physics, value, t, x, theta, u)


def _check_finite(physics: Physics, value: Tensor, t: Tensor, x: Tensor, theta: Tensor) -> None:
    bad = ~value.isfinite().reshape(*value.shape[:2], -1).all(-1)
    if not bad.any():
        return
    row, state = (int(i) for i in bad.nonzero()[0])
    at = _readable(physics.phase, x[row].reshape(len(physics.phase), -1).mean(1))
    params = _readable(tuple(physics.params), theta[row])
    raise GreymatchError(
        f"physics function {physics.name!r} must be finite over its prior; state {physics.states[state]!r} is not "
        f"at t={float(t[row]):.6g}, x={at}, p={params} ({int(bad.any(1).sum())} of {len(t)} rows). "
        "Narrow the prior or guard the expression."
    )


def _readable(names: tuple[str, ...], values: Tensor) -> dict[str, float]:
    return {name: float(f"{float(value):.6g}") for name, value in zip(names, values, strict=True)}


def _check_rowwise(physics: Physics, value: Tensor, t: Tensor, x: Tensor, theta: Tensor, u: Tensor | None) -> None:
    one = physics.evaluate(t[:1], x[:1], theta[:1], None if u is None else u[:1])
    if not _close(one[0], value[0], value):
        raise GreymatchError(
            f"physics function {physics.name!r} must treat rows of a batch independently; the first row alone "
            "gives another value than the first row of a batch. Avoid sums and means over the batch."
        )


def _check_nested(physics: Physics, value: Tensor, t: Tensor, x: Tensor, theta: Tensor, u: Tensor | None) -> None:
    """Training asks for many points of many windows at once, so there are two batch axes as often as one."""
    try:
        nested = physics.evaluate(t[None], x[None], theta[None], None if u is None else u[None])[0]
    except Exception as error:
        nested, why = None, f"fails with {type(error).__name__}: {error}"
    else:
        why = "gives other values"
    if nested is None or not _close(nested, value, value):
        raise GreymatchError(
            f"physics function {physics.name!r} must allow any number of batch axes; on the same rows with one more "
            f"it {why}. Count grid axes from the end, as in x.u.roll(1, dims=-1)."
        )


def _close(one: Tensor, other: Tensor, scale: Tensor) -> bool:
    return torch.allclose(one, other, rtol=1e-3, atol=1e-4 * float(scale.abs().max()))


def _differentiate(physics: Physics, t: Tensor, x: Tensor, theta: Tensor, u: Tensor | None) -> None:
    """Backwards in the parameters, as training does. Forwards nothing does: PyTorch takes seconds to prepare for it."""
    total = physics.evaluate(t, x, theta.detach().requires_grad_(), u).sum()
    if total.requires_grad:
        total.backward()
