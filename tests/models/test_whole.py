from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from greymatch.errors import GreymatchError
from greymatch.models.greybox import GreyBox
from greymatch.models.whole import whole


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


def test_a_model_without_a_field_cannot_be_asked(build, waves):
    network = build(method="tfm")
    with pytest.raises(GreymatchError, match="Leave them out"):
        GreyBox(network.physics, network).forecast(waves(1, ()), [3.0], refine=True)
