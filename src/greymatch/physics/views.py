"""Named views: `x.angle`, `p.omega`, `u.voltage` over plain tensors."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from greymatch.errors import GreymatchError, did_you_mean


class View:
    """Read-only access by name to the parts of a tensor, as the user's function sees them.

    `View("state", {"angle": tensor}).angle` is that tensor, and so is `["angle"]`. A name that was not declared raises
    an error that lists the declared ones.
    """

    __slots__ = ("_parts", "_what")

    def __init__(self, what: str, parts: dict[str, Tensor]) -> None:
        object.__setattr__(self, "_what", what)
        object.__setattr__(self, "_parts", parts)

    def __getattr__(self, name: str) -> Tensor:
        if name.startswith("__"):
            raise AttributeError(name)
        parts: dict[str, Tensor] = object.__getattribute__(self, "_parts")
        if name not in parts:
            what = object.__getattribute__(self, "_what")
            raise GreymatchError(
                f"the physics function asks for {what} {name!r}, which was not declared; "
                f"declared: {', '.join(parts) or 'none'}.{did_you_mean(name, parts)}"
            )
        return parts[name]

    def __getitem__(self, name: str) -> Tensor:
        return self.__getattr__(str(name))

    def __setattr__(self, name: str, value: object) -> None:
        raise GreymatchError(f"the view of {self._what}s is read-only; got an assignment to {name!r}.")

    def __dir__(self) -> list[str]:
        return list(self._parts)

    def __repr__(self) -> str:
        return f"{self._what}s({', '.join(self._parts)})"


def split_states(x: Tensor, names: Sequence[str], grid_axes: int) -> dict[str, Tensor]:
    """Each name's slice of the state axis, which stands just before the grid axes."""
    return dict(zip(names, x.unbind(-1 - grid_axes), strict=True))


def split_scalars(values: Tensor, names: Sequence[str], grid_axes: int) -> dict[str, Tensor]:
    """Each name's slice of the last axis, with unit axes added so that it broadcasts over a grid."""
    return {name: over_grid(part, grid_axes) for name, part in zip(names, values.unbind(-1), strict=True)}


def over_grid(values: Tensor, grid_axes: int) -> Tensor:
    return values.reshape(values.shape + (1,) * grid_axes) if grid_axes else values
