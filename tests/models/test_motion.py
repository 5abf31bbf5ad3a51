from __future__ import annotations

import torch

from greymatch.data.windows import Window
from greymatch.models.motion import Motion


def window_of(times: list[float], values: list[float], mask: list[bool]) -> Window:
    numbers = torch.tensor([values], dtype=torch.float64)[..., None]
    return Window(torch.tensor([times], dtype=torch.float64), numbers, torch.tensor([mask])[..., None], None)


def test_a_parabola_has_its_own_derivatives_whatever_the_origin_of_time():
    times = torch.tensor([[0.0, 0.1, 0.25, 0.3, 0.5, 0.8, 0.9]], dtype=torch.float64) + 1e6
    since = times - 1e6
    values = (3 * since**2 - since)[..., None]
    motion = Motion.of(Window(times, values, torch.ones_like(values, dtype=torch.bool), None), stencil=5)
    torch.testing.assert_close(motion.first[..., 0], (6 * since - 1).float(), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(motion.second[..., 0], torch.full((1, 7), 6.0), rtol=1e-3, atol=1e-3)
