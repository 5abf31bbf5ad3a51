"""A mass on a spring, shaken by a measured force and slowed by a friction that nobody wrote down.

The data are a logger's: one table for each run of the test bench, with displacement and force in its columns.

    python examples/spring_friction.py            # half a minute of one core for each of three seeds
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from judging import Problem, main, missing_part

import greymatch as gm
from greymatch.simulation.simulate import simulate

STIFFNESS = {"stiffness": gm.LogNormal(4.0, 0.5)}
TIMES = np.linspace(0, 20, 201)
GIVEN = 51


def driven(t: Any, x: Any, p: Any, u: Any) -> dict[str, Any]:
    """What we know, for a mass of one kilogram."""
    return {"displacement": u.force - p.stiffness * x.displacement}


def rubbing(t: Any, x: Any, p: Any, u: Any) -> dict[str, Any]:
    """What happens: oil and dry friction."""
    speed = x.displacement_dot
    return {"displacement": driven(t, x, p, u)["displacement"] - p.oil * speed - p.dry * torch.tanh(4 * speed)}


PHYSICS = gm.Physics(driven, ["displacement"], STIFFNESS, order=2, inputs=["force"])
TRUTH = gm.Physics(
    rubbing,
    ["displacement"],
    STIFFNESS | {"oil": gm.Uniform(0.1, 0.4), "dry": gm.Uniform(0.1, 0.4)},
    order=2,
    inputs=["force"],
)


def force(rng: np.random.Generator, runs: int) -> Any:
    """A shaker that plays three tones, other ones in each run."""
    size, pitch, phase = rng.uniform([0.3, 0.5, 0], [1.0, 3.0, 2 * np.pi], (3, runs, 3)).transpose(2, 0, 1)

    def play(t: torch.Tensor) -> torch.Tensor:
        tones = torch.as_tensor(size) * torch.sin(torch.as_tensor(pitch) * t + torch.as_tensor(phase))
        return tones.sum(0)[:, None]

    return play


def record(folder: Path, runs: int, seed: int) -> None:
    """One file for each run, as a logger writes them; the stiffness that was weighed out stands in a file beside."""
    rng = np.random.default_rng(seed)
    theta = TRUTH.push(torch.as_tensor(rng.standard_normal((runs, 3))))
    play = force(rng, runs)
    start = torch.as_tensor(np.stack([rng.uniform(-1, 1, runs), np.zeros(runs)], 1))
    path = simulate(TRUTH, start, torch.as_tensor(TIMES), theta, play)[:, :, 0].numpy()
    forces = np.stack([play(torch.full((runs,), t)).numpy()[:, 0] for t in TIMES], 1)
    folder.mkdir()
    for run in range(runs):
        columns = {"time [s]": TIMES, "displacement [m]": path[run], "force [N]": forces[run]}
        pd.DataFrame(columns).to_csv(folder / f"run{run:03}.csv", index=False)
    pd.DataFrame(theta.numpy(), columns=list(TRUTH.params)).to_csv(folder.with_suffix(".truth.csv"), index=False)


def read(folder: Path) -> gm.Trajectories:
    data = gm.read(folder, states=["displacement"], inputs=["force"])
    truth = pd.read_csv(folder.with_suffix(".truth.csv"))
    return replace(data, truth={name: truth[name].to_numpy() for name in truth})


def problem(folder: Path, runs: int = 150) -> Problem:
    record(folder / "runs", runs, 1)
    record(folder / "new_runs", 40, 9)
    train, test = read(folder / "runs"), read(folder / "new_runs")
    choices = {"residual.among": ("displacement_dot",)}
    return Problem("spring-friction", PHYSICS, TRUTH, train, test, GIVEN, choices)


def figure(found: gm.Evaluation) -> Any:
    """A forecast, and the learned friction beside the true one."""
    import matplotlib.pyplot as plt

    drawn, (left, right) = plt.subplots(1, 2, figsize=(12, 3.6), layout="constrained", width_ratios=(2, 1))
    found.forecast.plot(trajectory=0, truth=found.test, history=found.history, ax=left)
    speed = torch.linspace(-1.5, 1.5, 60)
    learned = missing_part(found, torch.stack([0 * speed, speed], 1).expand(3, -1, -1), torch.zeros(3, 60, 1))
    for run, (oil, dry) in enumerate(zip(found.test.truth["oil"][:3], found.test.truth["dry"][:3], strict=True)):
        right.plot(speed, learned[run, :, 0], color=f"C{run}", label=f"run {run}")
        right.plot(speed, -oil * speed - dry * torch.tanh(4 * speed), color=f"C{run}", ls=":")
    right.set(xlabel="speed [m/s]", ylabel="friction [N]", title="learned; dotted: true")
    right.legend(frameon=False)
    return drawn


if __name__ == "__main__":
    main(__doc__, problem, figure)
