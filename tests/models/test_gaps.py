from __future__ import annotations

import numpy as np
import torch

from greymatch.data.windows import Window
from greymatch.models.gaps import bridged, lines
from greymatch.models.motion import Motion


def window_of(times: list[float], values: list[float], mask: list[bool]) -> Window:
    numbers = torch.tensor([values], dtype=torch.float64)[..., None]
    return Window(torch.tensor([times], dtype=torch.float64), numbers, torch.tensor([mask])[..., None], None)


def wave(share: float, states: int = 2) -> Window:
    """Sines on uneven times, of which a share is missing from each state."""
    generator = torch.Generator().manual_seed(0)
    times = (0.2 * torch.rand(50, 26, generator=generator, dtype=torch.float64) + 0.1).cumsum(1)
    phase = torch.arange(states) + times[..., None]
    mask = torch.rand(phase.shape, generator=generator) > share
    return Window(times, phase.sin().masked_fill(~mask, 9.0), mask, None)


def test_gaps_are_filled_by_lines_on_uneven_times_and_held_at_the_ends():
    window = window_of(
        [0, 1, 2, 4, 8, 9, 10], [-9, 2, -9, -9, 16, 5, -9], [False, True, False, False, True, True, False]
    )
    assert lines(window).flatten().tolist() == [2, 2, 4, 8, 16, 5, 5]


def test_each_state_and_pixel_is_filled_on_its_own():
    generator = torch.Generator().manual_seed(0)
    times = torch.rand(3, 12, generator=generator, dtype=torch.float64).cumsum(1)
    values = torch.randn(3, 12, 2, 4, generator=generator, dtype=torch.float64)
    mask = torch.rand(values.shape, generator=generator) < 0.4
    mask[:, 6] = True
    found = lines(Window(times, values, mask, None))
    for row in range(3):
        for state in range(2):
            for pixel in range(4):
                known = mask[row, :, state, pixel]
                line = np.interp(times[row], times[row][known], values[row, known, state, pixel])
                np.testing.assert_allclose(found[row, :, state, pixel], line, atol=1e-12)


def test_without_gaps_nothing_is_touched():
    window = window_of([0, 1], [3, 4], [True, True])
    assert bridged(window).values is window.values
    assert bool(bridged(window).known.all())


def test_a_short_gap_in_a_polynomial_is_filled_exactly():
    times = [0.0, 1.0, 2.5, 3.0, 4.5, 5.0, 6.0, 7.0]
    values = [t**5 - 3 * t**2 for t in times]
    mask = [True, True, True, False, True, True, True, True]
    found = bridged(window_of(times, [v if seen else -9.0 for v, seen in zip(values, mask, strict=True)], mask))
    np.testing.assert_allclose(found.values.flatten(), values, rtol=1e-10)
    assert bool(found.known.all())


def test_ends_and_long_gaps_are_not_known():
    times = [float(t) for t in range(16)]
    mask = [False, *[True] * 5, *[False] * 5, *[True] * 5]
    found = bridged(window_of(times, times, mask))
    assert found.known.flatten().tolist() == mask
    np.testing.assert_allclose(found.values.flatten(), [1.0, *times[1:]])


def test_few_observations_are_joined_by_lines():
    mask = [True, True, False, True, True, True]
    found = bridged(window_of([0, 1, 2, 3, 4, 5], [0, 1, -9, 3, 4, 5], mask))
    assert found.known.flatten().tolist() == mask
    assert found.values.flatten().tolist() == [0, 1, 2, 3, 4, 5]


def test_derivatives_beside_gaps_are_nearly_those_without():
    window = wave(0.1)
    motion = Motion.of(window, stencil=7)
    truth = (torch.arange(2) + window.times[..., None]).cos().float()
    inner = motion.known.amin(2, keepdim=True).unfold(1, 7, 1).amin(-1)[:, :, 0].bool()
    error = (motion.first - truth)[:, 3:-3][inner].abs()
    assert float(error.quantile(0.9)) < 1e-4
    assert float(motion.known.mean()) > 0.97


def test_rows_are_filled_alike_alone_and_together():
    window = wave(0.2)
    one = Window(window.times[7:8], window.values[7:8], window.mask[7:8], None)
    torch.testing.assert_close(bridged(one).values, bridged(window).values[7:8])
