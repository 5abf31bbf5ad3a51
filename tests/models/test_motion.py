from __future__ import annotations

import numpy as np
import torch

from greymatch.data.windows import Window
from greymatch.models.motion import Motion, fill_gaps


def window_of(times: list[float], values: list[float], mask: list[bool]) -> Window:
    numbers = torch.tensor([values], dtype=torch.float64)[..., None]
    return Window(torch.tensor([times], dtype=torch.float64), numbers, torch.tensor([mask])[..., None], None)


def test_gaps_are_filled_by_lines_on_uneven_times_and_held_at_the_ends():
    window = window_of(
        [0, 1, 2, 4, 8, 9, 10], [-9, 2, -9, -9, 16, 5, -9], [False, True, False, False, True, True, False]
    )
    assert fill_gaps(window).flatten().tolist() == [2, 2, 4, 8, 16, 5, 5]


def test_each_state_and_pixel_is_filled_on_its_own():
    generator = torch.Generator().manual_seed(0)
    times = torch.rand(3, 12, generator=generator, dtype=torch.float64).cumsum(1)
    values = torch.randn(3, 12, 2, 4, generator=generator, dtype=torch.float64)
    mask = torch.rand(values.shape, generator=generator) < 0.4
    mask[:, 6] = True
    found = fill_gaps(Window(times, values, mask, None))
    for row in range(3):
        for state in range(2):
            for pixel in range(4):
                known = mask[row, :, state, pixel]
                line = np.interp(times[row], times[row][known], values[row, known, state, pixel])
                np.testing.assert_allclose(found[row, :, state, pixel], line, atol=1e-12)


def test_without_gaps_nothing_is_touched():
    window = window_of([0, 1], [3, 4], [True, True])
    assert fill_gaps(window) is window.values


def test_a_parabola_has_its_own_derivatives_whatever_the_origin_of_time():
    times = torch.tensor([[0.0, 0.1, 0.25, 0.3, 0.5, 0.8, 0.9]], dtype=torch.float64) + 1e6
    since = times - 1e6
    values = (3 * since**2 - since)[..., None]
    motion = Motion.of(Window(times, values, torch.ones_like(values, dtype=torch.bool), None), stencil=5)
    torch.testing.assert_close(motion.first[..., 0], (6 * since - 1).float(), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(motion.second[..., 0], torch.full((1, 7), 6.0), rtol=1e-3, atol=1e-3)
