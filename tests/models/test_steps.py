"""Steps through windows with gaps."""

from __future__ import annotations

import torch

from greymatch.data.windows import Window
from greymatch.models.steps import MOST, Steps

TIMES = torch.tensor([[0.0, 0.1, 0.2, 0.3, 0.7], [5.0, 5.1, 5.3, 5.4, 5.5]], dtype=torch.float64)


def test_every_point_is_reached_after_as_many_steps_as_its_gap_asks_for():
    steps = Steps.of(TIMES, 2)
    assert steps.ends.tolist() == [[0, 2, 4, 6, 14], [0, 2, 6, 8, 10]]
    torch.testing.assert_close(steps.stages.gather(1, 2 * steps.ends), TIMES)
    torch.testing.assert_close(steps.reached(steps.stages[:, ::2, None])[..., 0], TIMES)


def test_steps_are_as_long_as_one_another_and_then_have_no_length():
    lengths = Steps.of(TIMES, 2).stages[:, ::2].diff(dim=1)
    torch.testing.assert_close(lengths[0], torch.full((14,), 0.05, dtype=torch.float64))
    torch.testing.assert_close(lengths[1, :10], torch.full((10,), 0.05, dtype=torch.float64))
    assert bool((lengths[1, 10:] == 0).all())


def test_a_gap_of_any_length_costs_no_more_than_so_many_steps():
    steps = Steps.of(torch.tensor([[0.0, 1.0, 2.0, 1e6]], dtype=torch.float64), 2)
    assert steps.ends.tolist() == [[0, 2, 4, 4 + MOST]]


def test_a_window_is_stepped_through_as_if_alone():
    together, alone = Steps.of(TIMES, 3), Steps.of(TIMES[1:], 3)
    count = alone.stages.shape[1]
    torch.testing.assert_close(together.stages[1:, :count], alone.stages)
    assert together.ends[1:].tolist() == alone.ends.tolist()


def test_inputs_between_points_are_those_of_a_cubic():
    times = torch.tensor([[0.0, 0.1, 0.3, 0.4, 0.7]], dtype=torch.float64)

    def push(t: torch.Tensor) -> torch.Tensor:
        return (1 + t - 3 * t**2 + 2 * t**3)[..., None]

    values, steps = torch.zeros(1, 5, 1), Steps.of(times, 2)
    at = steps.inputs(Window(times, values, values.bool(), push(times)))
    assert at is not None
    torch.testing.assert_close(at.double(), push(steps.stages), atol=1e-6, rtol=0)
