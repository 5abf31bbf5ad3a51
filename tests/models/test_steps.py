"""Steps through windows with gaps."""

from __future__ import annotations

import torch

from greymatch.data.windows import Window
from greymatch.models.steps import FEWER, MOST, Steps, widest_gaps

TIMES = torch.tensor([[0.0, 0.1, 0.2, 0.3, 0.7], [5.0, 5.1, 5.3, 5.4, 5.5]], dtype=torch.float64)


def window(times: torch.Tensor, inputs: torch.Tensor | None = None) -> Window:
    values = torch.zeros(*times.shape, 1)
    return Window(times, values, values.bool(), inputs)


def test_steps_lead_from_each_point_to_the_next():
    stages = Steps.of(window(TIMES), 2).stages
    torch.testing.assert_close(stages[..., 0], TIMES[:, :-1])
    torch.testing.assert_close(stages[..., -1], TIMES[:, 1:])
    lengths = stages.diff(dim=2)
    torch.testing.assert_close(lengths, lengths[..., :1].expand_as(lengths))


def test_there_are_as_many_as_the_widest_gap_asks_for():
    assert Steps.of(window(TIMES), 2).count == 8
    assert Steps.of(window(TIMES[:, :-1]), 2).count == 4
    assert Steps.of(window(TIMES[:1, :-1]), 2).count == 2
    assert widest_gaps(TIMES).tolist() == [4, 2]


def test_windows_that_do_not_exist_have_no_gaps():
    times = torch.tensor([[0.0, 1.0, 2.0], [0.0, 1.0, torch.inf], [torch.inf] * 3], dtype=torch.float64)
    assert widest_gaps(times).tolist() == [1, 1, 1]


def test_a_gap_of_any_length_costs_no_more_than_so_many_steps():
    assert Steps.of(window(torch.tensor([[0.0, 1.0, 2.0, 1e6]], dtype=torch.float64)), 2).count == MOST


def test_moves_are_found_in_a_third_of_the_steps_however_wide_a_gap_is():
    for gap in (1.0, 2.0, 4.0, 30.0, 1e6):
        steps = Steps.of(window(torch.tensor([[0.0, 1.0, 2.0, 2.0 + gap]], dtype=torch.float64)), 12)
        assert FEWER * steps.fewer().count == steps.count


def test_half_as_many_are_half_as_many_however_wide_a_gap_is():
    for gap in (1.0, 2.0, 4.0, 30.0, 1e6):
        shown = window(torch.tensor([[0.0, 1.0, 2.0, 2.0 + gap]], dtype=torch.float64))
        assert 2 * Steps.of(shown, 12, coarseness=2).count == Steps.of(shown, 12).count


def test_inputs_between_points_are_those_of_a_cubic():
    times = torch.tensor([[0.0, 0.1, 0.3, 0.4, 0.7]], dtype=torch.float64)

    def push(t: torch.Tensor) -> torch.Tensor:
        return (1 + t - 3 * t**2 + 2 * t**3)[..., None]

    steps = Steps.of(window(times, push(times)), 2)
    assert steps.inputs is not None
    torch.testing.assert_close(steps.inputs.double(), push(steps.stages), atol=1e-6, rtol=0)
