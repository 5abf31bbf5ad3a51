from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from greymatch.errors import GreymatchError
from greymatch.models.greybox import GreyBox
from greymatch.models.whole import whole, whole_amplitude


def test_all_of_a_recording_tells_more_than_its_last_window(known):
    network, data, k, _ = known
    model = GreyBox(network.physics, network)
    window, recording = (model.infer(data, draws=400, refine=True, whole=flag) for flag in (False, True))
    assert float(recording.draws.std(0).mean()) < 0.8 * float(window.draws.std(0).mean())
    torch.testing.assert_close(recording.draws.mean(0)[:, 0].double(), k, atol=0.01, rtol=0)


def test_recordings_of_different_lengths_are_each_told_as_if_alone(known):
    network, data, _, _ = known
    mask = data.mask.clone()
    mask[0, 20:], mask[5, 14:] = False, False
    ragged = replace(data, mask=mask)
    together = whole(network, ragged)
    for row in (0, 5, 7):
        alone = whole(network, ragged.select([row]))
        torch.testing.assert_close(together.mean[row], alone.mean[0], atol=1e-4, rtol=0)


def test_amplitudes_are_those_of_all_that_was_seen_whatever_fills_the_gaps(known):
    network, data, _, _ = known
    mask = data.mask.clone()
    mask[3, 10:20, 0] = False
    gappy = replace(data, mask=mask, values=data.values.masked_fill(~mask, 1e6))
    found = whole_amplitude(network, gappy)
    seen = torch.cat([data.values[3, :10, 0], data.values[3, 20:, 0]])
    floor = network.settings.matching.amplitude_floor
    expected = float(seen.std(unbiased=False)) / float(network.scales.spread[0])
    assert float(found[3, 0]) == pytest.approx((expected**2 + floor**2) ** 0.5, rel=1e-5)
    torch.testing.assert_close(found[:3], whole_amplitude(network, data)[:3])


def test_a_model_without_a_field_cannot_be_asked(build, waves):
    network = build(method="tfm")
    with pytest.raises(GreymatchError, match="Leave them out"):
        GreyBox(network.physics, network).forecast(waves(1, ()), [3.0], refine=True)
