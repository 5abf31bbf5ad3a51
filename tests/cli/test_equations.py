from __future__ import annotations

import torch

from greymatch.cli.equations import equations
from greymatch.physics.physics import Physics
from greymatch.physics.priors import Uniform
from greymatch.systems import pendulum


def reaction(t, x, p):
    rate = p.k * x.a
    return {"a": -rate, "b": rate - torch.exp(x.b)}


def branching(t, x, p):
    if t.sum() > 0:
        return {"a": x.a}
    return {"a": -x.a}


def test_equations_are_read_from_the_source() -> None:
    assert equations(pendulum.physics) == ["angle'' = -omega^2 * sin(angle)"]


def test_helper_variables_are_told_with_the_equations() -> None:
    physics = Physics(reaction, ["a", "b"], {"k": Uniform(0.0, 1.0)})
    assert equations(physics) == ["a' = -rate", "b' = rate - exp(b)", "with rate = k * a"]


def test_a_function_that_cannot_be_read_so_gives_its_name() -> None:
    assert equations(Physics(branching, ["a"])) == ["branching(t, x, p)"]
    unseen: dict = {}
    exec("def hidden(t, x, p):\n    return {'a': x.a}", unseen)
    assert equations(Physics(unseen["hidden"], ["a"])) == ["hidden(t, x, p)"]
