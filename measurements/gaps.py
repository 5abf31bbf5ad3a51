"""The pendulum with 30 % of its samples removed at random, beside the complete recordings, at equal time.

Points are removed from training, validation and history alike, so that every recording has its own uneven times. Both
models are judged by the complete test recordings, from 2.5 s on.

    python measurements/gaps.py                   # half a minute of one core for each fit, three seeds
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

import greymatch as gm
from greymatch.bench.run import made_with

RESULTS = Path(__file__).parents[1] / "results" / "measurements"
REMOVED, SHOWN = 0.3, 2.5
# a history of 26 points is left with about 18, and seldom with fewer than 12
THINNED = {"window": 18, "shortest": 12}


def thinned(data: gm.Trajectories, seed: int) -> gm.Trajectories:
    """The recordings without 30 % of their points, but for the one at 2.5 s, from which forecasts start."""
    rng, (count, points) = np.random.default_rng(seed), data.times.shape
    chance = rng.random((count, points))
    chance[(data.times - SHOWN).abs().numpy() < 1e-6] = -1
    kept = torch.as_tensor(np.sort(np.argsort(chance, 1)[:, : round((1 - REMOVED) * points)], 1))
    values = data.values.gather(1, kept[..., None].expand(-1, -1, data.values.shape[2]))
    return replace(
        data, times=data.times.gather(1, kept), values=values, mask=torch.ones_like(values, dtype=torch.bool)
    )


def judged(gaps: bool, minutes: float, seed: int, steps: int | None = None) -> dict[str, float]:
    """Forecast MSE on complete test recordings, and the error of omega relative to the prior's mean."""
    system = gm.systems.pendulum
    train, val, test = (system.data(split) for split in ("train", "val", "test"))
    told = {"training.minutes": minutes, "training.steps": steps, "training.clock": "processor"}
    settings = system.settings().updated(told | (THINNED if gaps else {}))
    if gaps:
        train, val = thinned(train, 1), thinned(val, 2)
    model = gm.fit(system.physics, train, val, settings=settings, seed=seed, quiet=True)
    history = (thinned(test, 3) if gaps else test).until(SHOWN)
    times = test.times[0, test.times[0] > SHOWN + 1e-6]
    mse = gm.score(model.forecast(history, times, draws=1), test).mse
    prior = system.physics.params["omega"].mean
    error = model.infer(history).rmse({"omega": test.truth["omega"]})["omega"]
    return {"mse": mse, "omega": error / float(np.sqrt(np.mean((test.truth["omega"] - prior) ** 2)))}


def compared(minutes: float, seeds: int, steps: int | None = None) -> dict[str, Any]:
    """Each kind of data, each seed."""
    runs: dict[str, list[dict[str, float]]] = {"complete": [], "30 % removed": []}
    for seed in range(seeds):
        for (kind, found), gaps in zip(runs.items(), (False, True), strict=True):
            found.append(judged(gaps, minutes, seed, steps))
            print(f"seed {seed}, {kind}: {found[-1]}", flush=True)
    middle = {kind: float(np.median([run["mse"] for run in found])) for kind, found in runs.items()}
    made = {"command": f"python measurements/gaps.py --minutes {minutes:g} --seeds {seeds}", **made_with()}
    return made | {"minutes": minutes, "runs": runs, "ratio": middle["30 % removed"] / middle["complete"]}


def table(result: dict[str, Any]) -> str:
    lines = ["| pendulum | forecast MSE of each seed | omega's error over the prior's |", "|---|---|---|"]
    for kind, runs in result["runs"].items():
        errors, omegas = (", ".join(f"{run[key]:.2e}" for run in runs) for key in ("mse", "omega"))
        lines.append(f"| {kind} | {errors} | {omegas} |")
    lines += [
        "",
        f"Ratio of the median MSEs: {result['ratio']:.2f}, after {result['minutes']:g} minutes of one core each.",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=0.5, help="of one core, for each fit")
    parser.add_argument("--seeds", type=int, default=3)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    result = compared(asked.minutes, asked.seeds)
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "gaps.json").write_text(json.dumps(result, indent=1) + "\n")
    (RESULTS / "gaps.md").write_text(table(result))
    print(table(result))
