from __future__ import annotations

import math

import pytest
import torch

from greymatch.errors import GreymatchError
from greymatch.models.curves import SHAPES, Curve, curves_of
from greymatch.physics.physics import Physics

PHYSICS = Physics(lambda t, x, p: {"u": 0 * x.u}, ["u"], grid=("y", "x"))
WRITTEN = [
    f"{name}(u{' along x neumann' if shape.difference else ''}, 0.25)"
    for name, shape in SHAPES.items()
    if not shape.placed
]


@pytest.mark.parametrize("text", WRITTEN)
def test_a_curve_is_what_its_text_says(text: str):
    assert str(Curve.read(text)) == text


def test_curves_have_the_values_that_their_words_have():
    x = torch.tensor([0.5, 3.0], dtype=torch.float64)
    for shape, words, wanted in (
        ("abs", "|v|", [0.5, 3.0]),
        ("root", "sqrt(v)", [math.sqrt(0.5), math.sqrt(3)]),
        ("saturation", "v/(2 + |v|)", [0.2, 0.6]),
        ("hill", "v^2/(2^2 + v^2)", [0.25 / 4.25, 9 / 13]),
        ("tanh", "tanh(v/2)", [math.tanh(0.25), math.tanh(1.5)]),
        ("sin", "sin(v/2)", [math.sin(0.25), math.sin(1.5)]),
    ):
        curve = Curve(shape, "v", 2.0)
        assert curve.words == words
        assert (curve(x) * curve.unit).tolist() == pytest.approx(wanted)


def test_odd_curves_stay_odd_below_zero():
    x = torch.tensor([-4.0, 4.0])
    for shape in ("root", "saturation", "tanh", "sin"):
        low, high = Curve(shape, "v", 1.0)(x).tolist()
        assert low == pytest.approx(-high)


@pytest.mark.parametrize("axis", [0, 1])
def test_slopes_and_bends_of_a_wave_are_waves(axis: int):
    """In units of cells, with an error of second order."""
    count = 64
    place = 2 * math.pi * torch.arange(count, dtype=torch.float64) / count
    wave = torch.sin(place)[:, None].expand(count, 5)
    along = torch.cos(place)[:, None].expand(count, 5)
    wave, along = (part if axis == 0 else part.mT for part in (wave, along))
    slope, bend = (Curve(shape, "u", 1.0, (("y", "x")[axis], "periodic")) for shape in ("slope", "bend"))
    cell = 2 * math.pi / count
    torch.testing.assert_close(slope(wave, ("y", "x")) / cell, along, atol=2e-3, rtol=0)
    torch.testing.assert_close(bend(wave, ("y", "x")) / cell**2, -wave, atol=2e-3, rtol=0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tnah(u, 1)", "Did you mean 'tanh'"),
        ("tanh(w, 1)", "states or velocities"),
        ("tanh(u, 0)", "above zero"),
        ("tanh(u)", "must be written as"),
        ("tanh(u along x periodic, 1)", "if, and only if"),
        ("slope(u, 1)", "if, and only if"),
        ("slope(u along z periodic, 1)", "axes of the grid"),
        ("bend(u along x+z periodic, 1)", "axes of the grid"),
        ("slope(u along x periodical, 1)", "Did you mean 'periodic'"),
    ],
)
def test_errors_say_what_is_wrong(text: str, said: str):
    with pytest.raises(GreymatchError, match=said):
        curves_of(PHYSICS, [text])


def test_curves_that_are_told_in_the_same_words_are_refused():
    with pytest.raises(GreymatchError, match="must differ"):
        curves_of(PHYSICS, ["slope(u along x periodic, 1)", "slope(u along x neumann, 1)"])


def test_a_residual_has_no_curves_of_what_it_may_not_depend_on():
    with pytest.raises(GreymatchError, match=r"among \[\]; got 'u'"):
        curves_of(PHYSICS, ["tanh(u, 1)"], among=["push"])


def test_a_curve_fits_where_its_state_and_its_axis_are():
    flat = Physics(lambda t, x, p: {"u": 0 * x.u}, ["u"], grid=("x",))
    assert Curve.read("slope(u along x periodic, 1)").fits(flat)
    assert not Curve.read("slope(u along y periodic, 1)").fits(flat)
    assert not Curve.read("tanh(w, 1)").fits(flat)


def test_bends_along_several_axes_add_up():
    cells, one = torch.meshgrid(torch.arange(12.0), torch.arange(9.0), indexing="ij")
    field = 0.5 * cells**2 + 1.5 * one**2 + cells * one
    both = Curve.read("bend(u along y+x neumann, 2)")
    found = both(field, ("y", "x"))[1:-1, 1:-1]
    torch.testing.assert_close(found, torch.full_like(found, (1.0 + 3.0) / 2))
    assert both.words == "(d2u/dy2 + d2u/dx2)"
    assert Curve.read(str(both)) == both
