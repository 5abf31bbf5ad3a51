from __future__ import annotations

import torch

from greymatch.bench.speed.reference_training import PlainLoop, WindowDataset, objective
from greymatch.bench.speed.stepping import network_for
from greymatch.matching.objective import Objective, Sample
from greymatch.matching.observed import interpolated
from greymatch.matching.path import Matched
from greymatch.models.network import Network
from greymatch.systems import lorenz, pendulum
from greymatch.systems.system import System

FEW = {"training.batch": 4, "encoder.width": 8, "residual.width": 8}


def prepared(system: System) -> tuple[Network, PlainLoop]:
    """Nets whose residual is not zero, and the loop that trains them."""
    data, settings = system.data("train", trajectories=3), system.settings().updated(FEW)
    network = network_for(system.physics, data, settings)
    torch.manual_seed(0)
    for weights in network.dynamics.field.parameters():
        torch.nn.init.normal_(weights, std=0.1)
    return network, PlainLoop(network, data, settings)


def as_sample(network: Network, batch: dict[str, torch.Tensor], order: int) -> Sample:
    """The same batch as our own loop has it."""
    from greymatch.bench.speed.reference_training import window_of

    points = [batch[f"derivative_{n}"] for n in range(order + 1)]
    matched = Matched(batch["at"], points[0], points[1], points[2] if order == 2 else None)
    features = network.features(window_of(batch))
    trusted = torch.ones_like(points[0], dtype=torch.bool)
    return Sample(features, matched, trusted, None, torch.arange(len(trusted)))


def test_the_plain_objective_is_ours() -> None:
    for system in (lorenz, pendulum):
        network, loop = prepared(system)
        order, batch = network.physics.order, next(loop.batches)
        noise = torch.full((len(network.physics.states),), 0.3)
        plain, errors = objective(network, batch, noise, torch.Generator().manual_seed(1))
        ours = Objective(network)(as_sample(network, batch, order), noise, torch.Generator().manual_seed(1))
        torch.testing.assert_close(plain, ours.total, rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(errors, ours.errors, rtol=1e-4, atol=1e-6)


def test_points_lie_on_our_path() -> None:
    data, settings = lorenz.data("train", trajectories=2), lorenz.settings()
    dataset = WindowDataset(data, settings, order=1)
    item = dataset[len(dataset) - 1]
    path = interpolated(data, settings, 1).at(torch.tensor([1]), torch.as_tensor(item["at"])[None])
    torch.testing.assert_close(torch.as_tensor(item["derivative_1"]), path.velocity[0].float(), rtol=1e-3, atol=1e-2)
    assert item["times"][-1] == data.times[1, -2], "the last window still has a future"


def test_the_plain_loop_learns() -> None:
    _, loop = prepared(pendulum)
    before = [weights.clone() for weights in loop.network.parameters()]
    losses = [loop.step() for _ in range(3)]
    assert all(torch.isfinite(torch.tensor(losses)))
    assert any(not torch.equal(old, new) for old, new in zip(before, loop.network.parameters(), strict=True))
