"""What every example ends in: models of several seeds beside the trivial references, as a JSON file and a table."""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

import greymatch as gm
from greymatch.bench.run import made_with
from greymatch.forecast.references import physics_only

RESULTS = Path(__file__).parents[1] / "results" / "examples"
SCORES = ("mse", "nmse", "crps", "coverage")


@dataclass(frozen=True)
class Problem:
    """What is known, what is true, and recordings to learn from and to be judged by: the first `given` points of each
    test recording are shown. `choices` are settings that the user chose; all others come from the data."""

    name: str
    physics: gm.Physics
    truth: gm.Physics
    train: gm.Trajectories
    test: gm.Trajectories
    given: int
    choices: dict[str, Any]

    def fitted(self, minutes: float, seed: int, steps: int | None = None) -> gm.GreyBox:
        """A model after so many minutes of one core."""
        wanted = {"training.clock": "processor", "training.minutes": minutes, "training.steps": steps, **self.choices}
        settings = gm.suited(self.physics, self.train).updated(wanted)
        return gm.fit(self.physics, self.train, settings=settings, seed=seed, quiet=True)

    def judged(self, model: gm.GreyBox, draws: int) -> gm.Evaluation:
        return gm.evaluate(model, self.test, self.given, self.train, draws=draws)


def compared(problem: Problem, minutes: float, seeds: int, draws: int = 50, steps: int | None = None) -> dict[str, Any]:
    """The result of one run for each seed, beside what needs no learning; the last model stays in `evaluation`."""
    runs, found = [], None
    for seed in range(seeds):
        found = problem.judged(problem.fitted(minutes, seed, steps), draws)
        runs.append(scores(found.scores) | {"parameters": found.parameters(), "seed": seed})
        print(f"seed {seed}: MSE {found.scores.mse:.2e}", flush=True)
    assert found is not None
    references = {name: scores(one) for name, one in found.references.items()}
    complete = physics_only(problem.truth, found.history, problem.test.times[:, problem.given :])
    references["true equations, mean parameters"] = scores(gm.score(complete, problem.test))
    words = f"python examples/{problem.name.replace('-', '_')}.py --minutes {minutes:g} --seeds {seeds}"
    made = {"example": problem.name, "command": words, **made_with(), "settings": found.model.settings.model_dump()}
    return {"result": made | {"minutes": minutes, "runs": runs, "references": references}, "evaluation": found}


def missing_part(found: gm.Evaluation, phase: torch.Tensor, inputs: torch.Tensor | None = None) -> np.ndarray:
    """The learned part (N, M, S, *grid) for the first N test recordings, at points `phase` (N, M, order * S, *grid)."""
    network, count = found.model.network, len(phase)
    history = replace(found.history.select(slice(count)), noise=found.model.noise)
    clock = history.times[:, :1].expand(count, phase.shape[1])
    with torch.no_grad():
        latents = network.central(network.observe(history)).latents
        return network.dynamics.parts(clock, phase.float(), latents.over(phase.shape[1]), inputs).residual.numpy()


def scores(found: Any) -> dict[str, float | None]:
    """None for the coverage of a single forecast, which has none."""
    values = {name: float(getattr(found, name)) for name in SCORES}
    return {name: None if np.isnan(value) else value for name, value in values.items()}


def table(result: dict[str, Any]) -> str:
    """Forecasts and parameters in Markdown, best first; means over the seeds."""
    runs = result["runs"]
    rows = {
        f"**greymatch**, {len(runs)} seed{'s' * (len(runs) > 1)}": {name: _mean(runs, name) for name in SCORES}
    } | result["references"]
    best = sorted(rows.items(), key=lambda row: row[1]["mse"])
    lines = ["| | MSE | MSE / variance | CRPS | 90 % coverage |", "|---|---|---|---|---|"]
    lines += [f"| {name} | {' | '.join(_number(row[one]) for one in SCORES)} |" for name, row in best]
    spread = ", ".join(_number(run["mse"]) for run in runs)
    lines += ["", f"MSE of each seed: {spread}. Training: {result['minutes']:g} minutes of one core each.", ""]
    lines += [
        "| parameter | RMSE | of the prior's mean | ratio | within 90 % intervals |",
        "|---|---|---|---|---|",
    ]
    return "\n".join(lines + [_parameter(name, runs) for name in runs[0]["parameters"]]) + "\n"


def _parameter(name: str, runs: list[dict[str, Any]]) -> str:
    found = [run["parameters"][name] for run in runs]
    error, guess, covered = (_mean(found, key) for key in ("rmse", "prior_rmse", "coverage"))
    return f"| {name} | {_number(error)} | {_number(guess)} | {_number(error / guess)} | {_number(covered)} |"


def _mean(rows: list[dict[str, Any]], key: str) -> float:
    return float(np.mean([row[key] for row in rows]))


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def write(result: dict[str, Any], figure: Any, folder: Path = RESULTS) -> None:
    """NAME.json, NAME.png, and NAME.md that shows both."""
    folder.mkdir(parents=True, exist_ok=True)
    name = result["example"]
    (folder / f"{name}.json").write_text(json.dumps(result, indent=1, allow_nan=False) + "\n")
    figure.savefig(folder / f"{name}.png", dpi=110)
    (folder / f"{name}.md").write_text(f"{table(result)}\n![forecasts and the missing term]({name}.png)\n")
    print(table(result))


def ran(
    make: Callable[..., Problem],
    draw: Callable[[gm.Evaluation], Any],
    minutes: float,
    seeds: int,
    out: Path,
    **more: Any,
) -> dict[str, Any]:
    """Make the files, learn from them, judge, and write what was found."""
    with tempfile.TemporaryDirectory() as folder:
        found = compared(make(Path(folder), **more.pop("data", {})), minutes, seeds, **more)
    write(found["result"], draw(found["evaluation"]), out)
    return found["result"]


def main(text: str | None, make: Callable[..., Problem], draw: Callable[[gm.Evaluation], Any], **more: Any) -> None:
    """The command line of an example."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=0.5, help="of one core, for each seed")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the result, table and figure")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    ran(make, draw, asked.minutes, asked.seeds, asked.out, **more)
