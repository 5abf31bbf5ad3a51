from __future__ import annotations

import torch

from greymatch.matching.next_point import bridged


def test_the_bridge_has_the_moments_of_a_brownian_bridge():
    count = 200_000
    start, end = torch.full((count, 1), -1.0), torch.full((count, 1), 3.0)
    points, part = bridged(start, end, 0.5, torch.Generator().manual_seed(0))
    assert float(part.min()) >= 0
    assert float(part.max()) < 1
    torch.testing.assert_close(part.mean(), torch.tensor(0.5), rtol=0, atol=0.005)
    torch.testing.assert_close(part.var(), torch.tensor(1 / 12), rtol=0.02, atol=0)
    for low in (0.0, 0.2, 0.45, 0.7, 0.9):
        here = (part >= low) & (part < low + 0.1)
        tau, off = part[here], points[here, 0] - (-1 + 4 * part[here])
        assert abs(float(off.mean())) < 0.01
        torch.testing.assert_close(off.var(), 0.25 * (tau * (1 - tau)).mean(), rtol=0.05, atol=0)


def test_without_noise_points_lie_on_the_line():
    start, end = torch.randn(50, 2, 4), torch.randn(50, 2, 4)
    points, part = bridged(start, end, 0.0, torch.Generator().manual_seed(0))
    torch.testing.assert_close(points, start + part[:, None, None] * (end - start))
