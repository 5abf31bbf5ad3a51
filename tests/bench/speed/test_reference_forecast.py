from __future__ import annotations

import torch

from greymatch.bench.speed.reference_forecast import Ensemble, plain_rollout, tight_rollout
from greymatch.models.greybox import GreyBox


def test_the_plain_rollout_is_our_forecast(small_model: GreyBox, swings) -> None:
    _, held_out = swings
    history, times = held_out.select([0, 1]).first(12), held_out.times[0, 12:30]
    ensemble = Ensemble.drawn(small_model, history, draws=3)
    ours = small_model.forecast(history, times, draws=3, tolerance=1e-6).draws.flatten(0, 1)
    torch.testing.assert_close(plain_rollout(ensemble, times, 1e-6), ours, rtol=1e-3, atol=1e-3)


def test_a_tight_one_is_what_tighter_ones_come_close_to(small_model: GreyBox, swings) -> None:
    _, held_out = swings
    history, times = held_out.select([0]).first(12), held_out.times[0, 12:30]
    ensemble = Ensemble.drawn(small_model, history, draws=2)
    tight = tight_rollout(ensemble, times)
    loose, fine = (float((plain_rollout(ensemble, times, t) - tight).abs().max()) for t in (1e-2, 1e-5))
    assert tight.dtype == torch.float64
    assert fine < 0.1 * loose
