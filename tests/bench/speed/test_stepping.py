from __future__ import annotations

from pathlib import Path

import torch

from greymatch.bench.speed.stepping import loop_for, settle
from greymatch.systems import pendulum

FEW = {"training.batch": 4, "encoder.width": 8, "residual.width": 8}


def test_a_step_is_one_of_the_real_loop(tmp_path: Path) -> None:
    data = pendulum.data("train", trajectories=3)
    loop = loop_for(pendulum.physics, data, pendulum.settings().updated(FEW), tmp_path)
    losses = [loop.step() for _ in range(2)]
    assert loop.state.step == 2
    assert all(loss._asdict()["kl_theta"] is not None for loss in losses), "windows are encoded"


def test_a_settled_loop_encodes_nothing(tmp_path: Path) -> None:
    data = pendulum.data("train", trajectories=3)
    loop = settle(loop_for(pendulum.physics, data, pendulum.settings().updated(FEW), tmp_path))
    encoder = [weights.clone() for weights in loop.network.encoder.parameters()]
    assert loop.step()._asdict()["kl_theta"] is None
    assert all(torch.equal(old, new) for old, new in zip(encoder, loop.network.encoder.parameters(), strict=True))
