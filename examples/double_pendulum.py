"""From a single to a double pendulum: what a model of the one is worth to a model of the other.

Both lose energy to a friction that the physics does not know. The upper arm has the name that the single pendulum has,
so the residual that was learned for it is reused for this arm; what concerns the lower arm begins anew.

    python examples/double_pendulum.py              # about 3 minutes on one core; results/examples/double-pendulum.json
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

import greymatch as gm
from greymatch.bench.run import made_with
from greymatch.simulation.simulate import simulate

ARMS = ("angle", "lower")
OMEGA, XI = gm.Uniform(0.785, 3.14), gm.Uniform(0.6, 1.5)
TIMES = torch.linspace(0, 10, 101, dtype=torch.float64)
GIVEN = 26
RESULTS = Path(__file__).parents[1] / "results" / "examples"


def swing(t: Any, x: Any, p: Any) -> dict[str, Any]:
    """Two equal arms with equal masses at their ends, without friction; omega^2 is g over the length of an arm."""
    between = x.angle - x.lower
    c, s, weight = torch.cos(between), torch.sin(between), p.omega**2
    upper = weight * (torch.sin(x.lower) * c - 2 * torch.sin(x.angle)) - s * (c * x.angle_dot**2 + x.lower_dot**2)
    lower = 2 * weight * (torch.sin(x.angle) * c - torch.sin(x.lower)) + s * (2 * x.angle_dot**2 + c * x.lower_dot**2)
    return {"angle": upper / (2 - c**2), "lower": lower / (2 - c**2)}


def slowed(t: Any, x: Any, p: Any) -> dict[str, Any]:
    known = swing(t, x, p)
    return {"angle": known["angle"] - p.xi * x.angle_dot, "lower": known["lower"] - p.xi * x.lower_dot}


PHYSICS = gm.Physics(swing, ARMS, {"omega": OMEGA}, order=2)
TRUTH = gm.Physics(slowed, ARMS, {"omega": OMEGA, "xi": XI}, order=2)


def recorded(count: int, seed: int) -> gm.Trajectories:
    """Double pendulums let go at rest, each with its own length and friction."""
    rng = np.random.default_rng(seed)
    theta = TRUTH.push(torch.as_tensor(rng.standard_normal((count, 2))))
    start = np.concatenate([rng.uniform(-1, 1, (count, 2)), np.zeros((count, 2))], 1)
    values = simulate(TRUTH, torch.as_tensor(start), TIMES, theta)[:, :, :2]
    seen = torch.ones_like(values, dtype=torch.bool)
    truth = {"omega": theta[:, 0].numpy()}
    return gm.Trajectories(ARMS, TIMES.repeat(count, 1), values, seen, np.arange(count), truth=truth)


def single_pendulum(steps: int) -> gm.GreyBox:
    system = gm.systems.pendulum
    return gm.fit(system.physics, system.data("train").first(101), settings=settings(), steps=steps, quiet=True)


def settings() -> gm.Settings:
    """Nets alone: a friction that is a product would be found before training, and leave nothing to hand on."""
    changes = {"training.validations": 5, "training.batch": 64, "residual.products": 0}
    return gm.Settings(window=GIVEN).updated(changes)


def judged(
    data: gm.Trajectories, test: gm.Trajectories, start: gm.GreyBox | None, steps: int, seed: int
) -> list[float]:
    """MSE of forecasts on test data, and the error of omega relative to the prior's mean."""
    model = gm.fit(PHYSICS, data, settings=settings(), start=start, steps=steps, seed=seed, quiet=True)
    history = test.first(GIVEN)
    mse = gm.score(model.forecast(history, test.times[:, GIVEN:], draws=1), test).mse
    guessed = float(np.sqrt(np.mean((test.truth["omega"] - OMEGA.mean) ** 2)))
    return [mse, model.infer(history).rmse(test.truth)["omega"] / guessed]


def main(
    budgets: tuple[int, ...], seeds: int, trajectories: int, single_steps: int
) -> dict[int, dict[str, list[float]]]:
    """Median over seeds, by budget: with a random start, and with the single pendulum's model."""
    single, train, test = single_pendulum(single_steps), recorded(trajectories, 1), recorded(trajectories // 2, 9)
    found: dict[int, dict[str, list[float]]] = {}
    print("steps  start             forecast MSE  error of omega")
    for steps in budgets:
        found[steps] = {}
        for name, start in (("at random", None), ("single pendulum", single)):
            runs = [judged(train, test, start, steps, seed) for seed in range(seeds)]
            mse, error = found[steps][name] = np.median(runs, 0).tolist()
            print(f"{steps:5}  {name:16}  {mse:12.2e}  {error:14.3f}", flush=True)
    return found


def write(found: dict[int, dict[str, list[float]]], seeds: int, folder: Path) -> None:
    """The medians as JSON and as a table, with what the start gains in forecast MSE."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [
        "| steps | MSE, start at random | MSE, from the single pendulum | gain | error of omega, each |",
        "|---" * 5 + "|",
    ]
    for steps, ((plain, missed), (warm, left)) in ((steps, tuple(kinds.values())) for steps, kinds in found.items()):
        lines.append(f"| {steps} | {plain:.2e} | {warm:.2e} | {plain / warm:.1f} | {missed:.3f}, {left:.3f} |")
    lines += ["", f"Medians over {seeds} seeds; the error of omega is relative to that of the prior's mean."]
    (folder / "double-pendulum.md").write_text("\n".join(lines) + "\n")
    made = {"command": f"python examples/double_pendulum.py --seeds {seeds}", **made_with(), "seeds": seeds}
    made["settings"] = settings().model_dump()
    text = json.dumps(made | {"columns": ["mse", "omega"], "steps": found}, indent=1)
    (folder / "double-pendulum.json").write_text(text + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    result = main(budgets=(25, 50, 150), seeds=asked.seeds, trajectories=100, single_steps=400)
    write(result, asked.seeds, RESULTS)
