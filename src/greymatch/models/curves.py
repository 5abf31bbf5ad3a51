"""What a law may see of a state beside its value: how it bends and saturates and, of a field, how it slopes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from greymatch.errors import GreymatchError, did_you_mean
from greymatch.physics.operators import gradient, laplacian
from greymatch.physics.physics import Physics

ALONG = " along "
BOUNDARIES = ("periodic", "neumann", "dirichlet")
TINY = 1e-12
AND = "+"
_WRITTEN = re.compile(rf"(\w+)\((\w+)(?:{ALONG}(\w+(?:\{AND}\w+)*)(?: (\w+))?)?, ([^,()]+)\)")


@dataclass(frozen=True)
class Shape:
    """A function of x / scale and in what `words` it is told.

    The `scales` to try are parts of the usual size of x; for a `number` that has no unit, as an angle, scale 1 too. Of
    a field, x may be a `difference` of neighbours on the last axis, with a boundary, in units of cells; one that is
    `isotropic` makes sense as a sum over axes, too. What words say is the function times a `power` of the scale. One
    that is `placed` is of no state, but of the place on the grid: a number for each cell, which a model keeps.
    """

    words: str
    function: Callable[[Tensor], Tensor] = torch.clone
    scales: tuple[float, ...] = (1.0,)
    number: bool = False
    difference: Callable[[Tensor, str], Tensor] | None = None
    isotropic: bool = False
    power: float = 0.0
    placed: bool = False


_FINE = tuple(2.0**power for power in range(-5, 3))
SHAPES: dict[str, Shape] = {
    "abs": Shape("|{x}|", torch.abs, power=1.0),
    "root": Shape("sqrt({x})", lambda x: x.sign() * (x.abs() + TINY).sqrt(), power=0.5),
    "saturation": Shape("{x}/({s} + |{x}|)", lambda x: x / (1 + x.abs()), _FINE),
    "hill": Shape("{x}^2/({s}^2 + {x}^2)", lambda x: x.square() / (1 + x.square()), _FINE),
    "tanh": Shape("tanh({x}/{s})", torch.tanh, _FINE),
    "sin": Shape("sin({x}/{s})", torch.sin, (0.25, 0.5, 1.0), number=True),
    "cos": Shape("cos({x}/{s})", torch.cos, (0.25, 0.5, 1.0), number=True),
    "slope": Shape("d{x}/d{along}", difference=lambda x, boundary: gradient(x, (1.0,), boundary)[0], power=1.0),
    "bend": Shape(
        "d2{x}/d{along}2",
        difference=lambda x, boundary: laplacian(x, (1.0,), boundary),
        isotropic=True,
        power=1.0,
    ),
    "place": Shape("{x}({along})", placed=True),
}


@dataclass(frozen=True)
class Curve:
    """A `shape` of one state or velocity, in units of a scale: `tanh(v, 0.1)` is tanh(v / 0.1).

    That of neighbours goes `along` an axis of the grid with a boundary: `slope(u along x periodic, 0.2)`. Along
    several, as `bend(u along y+x periodic, 1)`, it is their sum. `place(s along y+x, 1)` is a profile s(y, x).
    """

    shape: str
    of: str
    scale: float
    along: tuple[str, str] | None = None

    def __str__(self) -> str:
        where = ALONG + " ".join(self.along).strip() if self.along else ""
        return f"{self.shape}({self.of}{where}, {self.scale:.12g})"

    @property
    def words(self) -> str:
        """As one writes it; the curve times its `unit`."""
        if self.placed:
            return SHAPES[self.shape].words.format(x=self.of, along=", ".join(self.axes))
        parts = [
            SHAPES[self.shape].words.format(x=self.of, s=f"{self.scale:.3g}", along=axis) for axis in self.axes or ("",)
        ]
        text = parts[0] if len(parts) == 1 else f"({' + '.join(parts)})"
        return text.replace(f"({self.of}/1)", f"({self.of})")

    @property
    def axes(self) -> tuple[str, ...]:
        """Along which it goes."""
        return tuple(self.along[0].split(AND)) if self.along else ()

    def fits(self, physics: Physics) -> bool:
        """Whether a physics has what it is of."""
        if self.placed:
            return self.axes == physics.grid
        return self.of in physics.phase and set(self.axes) <= set(physics.grid)

    @property
    def placed(self) -> bool:
        """Whether it is of the place, and of no state."""
        return SHAPES[self.shape].placed

    @property
    def scaled(self) -> bool:
        """Whether its form depends on the scale, or only its unit."""
        return len(SHAPES[self.shape].scales) > 1

    def times(self, factor: float) -> Curve:
        """With another scale, if its form depends on that."""
        return replace(self, scale=factor * self.scale) if self.scaled else self

    @property
    def unit(self) -> float:
        return self.scale ** SHAPES[self.shape].power

    def __call__(self, column: Tensor, grid: tuple[str, ...] = ()) -> Tensor:
        """Of a state (..., *grid)."""
        return self.bent(self.before(column, grid))

    def before(self, column: Tensor, grid: tuple[str, ...] = ()) -> Tensor:
        """What is bent: the state itself, or a difference of its neighbours."""
        difference = SHAPES[self.shape].difference
        if difference is None or self.along is None:
            return column
        places = [grid.index(axis) - len(grid) for axis in self.axes]
        parts = [difference(column.movedim(place, -1), self.along[1]).movedim(-1, place) for place in places]
        return torch.stack(parts).sum(0) if len(parts) > 1 else parts[0]

    def bent(self, column: Tensor) -> Tensor:
        return SHAPES[self.shape].function(column / self.scale)

    @staticmethod
    def read(text: str) -> Curve:
        """From its text."""
        found = _WRITTEN.fullmatch(text.strip())
        if found is None:
            raise GreymatchError(
                f"`residual.curves` must be written as 'tanh(x, 0.5)', 'slope(u along x periodic, 1)' or "
                f"'place(s along x, 1)'; got {text!r}."
            )
        shape, of, axis, boundary, scale = found.groups()
        _check_one_of("shapes", shape, SHAPES)
        kind = SHAPES[shape]
        if (axis is None) == (kind.difference is not None or kind.placed):
            raise GreymatchError(f"`residual.curves` must go along an axis if, and only if, they slope; got {text!r}.")
        if axis is not None:
            _check_one_of("boundaries", boundary or "", ("",) if kind.placed else BOUNDARIES)
        return Curve(shape, of, _positive(scale, text), None if axis is None else (axis, boundary or ""))


def curves_of(physics: Physics, texts: Sequence[str], among: Sequence[str] | None = None) -> tuple[Curve, ...]:
    """Of states and velocities of a physics, or those among them that a residual may depend on."""
    found = tuple(Curve.read(text) for text in texts)
    words = [curve.words for curve in found]
    if len(set(words)) < len(words):
        raise GreymatchError(f"`residual.curves` must differ from one another; got {list(texts)}. Leave some out.")
    for curve in found:
        seen = [name for name in physics.phase if among is None or name in among]
        for name in () if curve.placed else (curve.of,):
            _check_one_of("states or velocities", name, seen)
        for axis in curve.axes:
            _check_one_of("axes of the grid", axis, physics.grid)
        if curve.placed and not curve.fits(physics):
            raise GreymatchError(f"`residual.curves` must be of all places {list(physics.grid)}; got {str(curve)!r}.")
    return found


def _check_one_of(what: str, name: str, known: Sequence[str] | dict[str, Shape]) -> None:
    if name not in known:
        raise GreymatchError(
            f"`residual.curves` must have {what} among {list(known)}; got {name!r}.{did_you_mean(name, known)}"
        )


def _positive(text: str, whole: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise GreymatchError(f"`residual.curves` must have a scale above zero, as in 'tanh(x, 0.5)'; got {whole!r}.")
    return number
