"""The catalogue of histories and times that cannot be forecast from, each refused with what to do instead."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from greymatch.data.signals import Signals
from greymatch.data.trajectories import Trajectories
from greymatch.errors import GreymatchError
from greymatch.forecast.rollout import rollout
from greymatch.models.greybox import GreyBox
from greymatch.physics.physics import Physics
from greymatch.physics.priors import Normal

ONE_SCREEN = 900  # characters
NAN, INF = float("nan"), float("inf")
WINDOW = 12
Change = Callable[[Trajectories], Trajectories]

driven = Physics(lambda t, x, p, u: {"a": p.k * u.push, "b": x.a}, ["a", "b"], {"k": Normal(1, 1)}, inputs=["push"])


def hidden(data: Trajectories, where: Any) -> Trajectories:
    mask = data.mask.clone()
    mask[where] = False
    return replace(data, mask=mask, values=data.values * mask)


def pushed(data: Trajectories, until: float, name: str = "push") -> Trajectories:
    times = torch.linspace(0, until, 9, dtype=torch.float64).repeat(len(data), 1)
    return replace(data, inputs=Signals((name,), times, times[..., None].sin(), "linear"))


HISTORIES: dict[str, tuple[Change, str]] = {
    "shorter than the window": (
        lambda d: d.first(5),
        r"at least \d+ points.*trajectory 0 has 5. Give a longer history",
    ),
    "one point": (lambda d: d.first(1), "trajectory 0 has 1. Give a longer history"),
    "a state unseen in the window": (
        lambda d: hidden(d, (3, slice(None), 1)),
        "'b' of trajectory 3 has no value there",
    ),
    "a trajectory unseen": (lambda d: hidden(d, 2), r"trajectory 2 has 0|observation of every trajectory; 2 has none"),
    "other states": (lambda d: replace(d, states=("a", "c")), r"must hold the states \['a', 'b'\].*got \['a', 'c'\]"),
    "states in another order": (lambda d: replace(d, states=("b", "a")), r"got \['b', 'a'\].*Read it with states="),
    "inputs that nothing asks for": (lambda d: pushed(d, 9.0), r"must carry the inputs \[\].*got \['push'\]"),
    "a grid": (
        lambda d: replace(d, values=d.values[..., None], mask=d.mask[..., None], grid=("x",)),
        r"must have the grid axes \[\].*got \['x'\]",
    ),
    "cut before its start": (lambda d: d.until(-1.0), r"`until\(-1\.0\)` leaves trajectory 0 empty"),
    "no points": (lambda d: d.first(0), "`points` must be at least 1; got 0"),
    "no such trajectory": (lambda d: d.select([99]), r"positions among the 12 trajectories; got array\(\[99\]\)"),
    "no trajectory": (lambda d: d.select([]), "must name at least one trajectory"),
    "values that are not finite": (lambda d: replace(d, values=d.values * NAN), "`values` must be finite; mark gaps"),
    "times that fall": (
        lambda d: replace(d, times=d.times.flip(1)),
        "`times` must increase; trajectory 0 has 2.8 after 2.9",
    ),
    "times that stay": (lambda d: replace(d, times=d.times * 0), "has 0 after 0 .*Sort it or drop duplicates"),
    "times that are missing": (
        lambda d: replace(d, times=d.times * NAN),
        "every trajectory needs at least one of `times`",
    ),
    "labels too few": (lambda d: replace(d, labels=d.labels[:3]), "one row for each of the 3 labels"),
    "mask of another shape": (lambda d: replace(d, mask=d.mask[:, :3]), "`values` and `mask` must be"),
    "input never sampled": (
        lambda d: replace(
            d, inputs=Signals(("u",), d.times, d.values[..., :1], mask=torch.zeros_like(d.mask[..., :1]))
        ),
        "every input must be known along every trajectory; 'u' has no value in trajectory 0. Fill it in",
    ),
}

TIMES: dict[str, tuple[Any, str]] = {
    "before the history ends": ([1.0, 4.0], r"last observed at 2\.9 and is asked at 1\. Ask for later times"),
    "falling": ([5.0, 4.0], "`times` must increase; trajectory 0 has 4 after 5"),
    "twice the same": ([4.0, 4.0], "has 4 after 4"),
    "none": ([], "not empty"),
    "not a number": ([NAN], "needs at least one of `times`"),
    "a number missing": ([3.0, NAN, 4.0], r"must be numbers, padded after the end only"),
    "words": (["soon"], "`times` must be numbers.*got .*'soon'"),
    "ragged": ([[3.0], [3.0, 4.0]], "`times` must be numbers.*Pad shorter rows with inf"),
    "for other trajectories": (np.full((5, 2), 4.0), r"one row for each of the 12 labels; got shape \(5, 2\)"),
    "endless": ([INF], "needs at least one of `times`"),
}


def refused(said: str, call: Callable[[], object]) -> None:
    with pytest.raises(GreymatchError) as caught:
        call()
    assert re.search(said, str(caught.value), re.DOTALL), str(caught.value)
    assert len(str(caught.value)) < ONE_SCREEN


@pytest.fixture
def model(damped: Any) -> GreyBox:
    return GreyBox(damped[0].physics, damped[0])


@pytest.mark.parametrize("case", HISTORIES)
def test_histories_that_cannot_be_used_are_refused(case, model, damped):
    change, said = HISTORIES[case]
    refused(said, lambda: model.forecast(change(damped[1]), [3.0, 3.5], draws=2))


@pytest.mark.parametrize("case", TIMES)
def test_times_that_cannot_be_forecast_are_refused(case, model, damped):
    times, said = TIMES[case]
    refused(said, lambda: model.forecast(damped[1], times, draws=2))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda d: pushed(d, 4.0),
            "'push' of trajectory 0 is known from 0 to 4, asked at 5. Give inputs over the whole",
        ),
        (lambda d: pushed(d, 2.0), "known from 0 to 2, asked at 2.9"),
        (lambda d: pushed(d, 9.0, "pull"), r"must hold the inputs of the physics, \['push'\]; it has \['pull'\]"),
        (lambda d: d, r"it has \[\]. Read them with `inputs="),
    ],
    ids=["end early", "end before the history", "other inputs", "no inputs"],
)
def test_inputs_that_do_not_reach_are_refused(change, said, damped):
    refused(said, lambda: rollout(driven, [1.0], change(damped[1]), [3.0, 5.0]))


def test_functions_reach_as_far_as_any_forecast(damped):
    history = damped[1].with_inputs({"push": lambda t: np.ones_like(t)})
    last = rollout(driven, [2.0], history, [3.9, 4.9]).draws[0, :, :, 0]
    torch.testing.assert_close(last[:, 1] - last[:, 0], torch.full((12,), 2.0).double())
