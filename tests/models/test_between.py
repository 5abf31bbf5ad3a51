"""Inputs between the points of a window."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from greymatch.data.signals import Along, Signals
from greymatch.data.windows import Window
from greymatch.models.between import inputs_between

TIMES = torch.linspace(0, 2, 21, dtype=torch.float64)[None]
STAGES = TIMES[:, :-1, None] + 0.1 * torch.tensor([0.0, 0.25, 0.5, 1.0], dtype=torch.float64)


def window(samples: Tensor, **drive: object) -> Window:
    values = torch.zeros(*TIMES.shape, 1, dtype=torch.float64)
    signals = Signals(("u",), TIMES, samples, **drive)  # pyright: ignore[reportArgumentType]
    return Window(TIMES, values, values.bool(), samples, drive=Along(signals, torch.zeros(1, dtype=torch.long)))


def between(samples: Tensor, **drive: object) -> Tensor:
    found = inputs_between(window(samples, **drive), STAGES)
    assert found is not None
    return found[..., 0]


def test_smooth_inputs_are_told_by_many_points():
    found = between(TIMES.sin()[..., None])
    torch.testing.assert_close(found, STAGES.sin(), atol=1e-14, rtol=0)


def test_noisy_inputs_are_told_by_few():
    noise = torch.randn(TIMES.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    found = between((TIMES.sin() + 0.1 * noise)[..., None])
    assert (found - STAGES.sin()).abs().max() < 4 * 0.1  # many would swing out by their ends


def test_each_input_is_told_by_as_many_as_suit_it():
    noise = torch.randn(TIMES.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    both = torch.stack([TIMES.sin(), noise], -1)
    values = torch.zeros(*TIMES.shape, 1, dtype=torch.float64)
    found = inputs_between(Window(TIMES, values, values.bool(), both), STAGES)
    assert found is not None
    torch.testing.assert_close(found[..., 0], STAGES.sin(), atol=1e-14, rtol=0)
    torch.testing.assert_close(found[..., 1], between(noise[..., None]))


def test_what_is_held_has_not_jumped_before_the_next_point():
    samples = torch.arange(21.0, dtype=torch.float64)[None, :, None]
    torch.testing.assert_close(between(samples, kind="hold"), samples[:, :-1].expand_as(STAGES))


def test_straight_lines_have_corners():
    samples = (TIMES - 1).abs()[..., None]
    torch.testing.assert_close(between(samples, kind="linear"), (STAGES - 1).abs())


def test_functions_are_asked_and_other_inputs_are_not():
    samples = torch.stack([TIMES.cos(), TIMES.sin()], -1)
    values = torch.zeros(*TIMES.shape, 1, dtype=torch.float64)
    signals = Signals(("f", "s"), TIMES, samples, functions={"f": lambda t: np.sign(t - 1.05)})
    driven = Window(TIMES, values, values.bool(), samples, drive=Along(signals, torch.zeros(1, dtype=torch.long)))
    found = inputs_between(driven, STAGES)
    assert found is not None
    torch.testing.assert_close(found[..., 0], (STAGES - 1.05).sign())
    torch.testing.assert_close(found[..., 1], STAGES.sin(), atol=1e-14, rtol=0)


@pytest.mark.parametrize("length", [2, 3, 4, 5])
def test_short_windows_are_told_by_what_they_have(length: int):
    times = TIMES[:, :length]
    values = torch.zeros(1, length, 1, dtype=torch.float64)
    found = inputs_between(Window(times, values, values.bool(), 3 * times[..., None]), STAGES[:, : length - 1])
    assert found is not None
    torch.testing.assert_close(found[..., 0], 3 * STAGES[:, : length - 1])
