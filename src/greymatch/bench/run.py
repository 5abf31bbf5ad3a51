"""One run of a benchmark, one result file: `python -m greymatch.bench.run --system pendulum --out FILE.json`."""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from greymatch.bench.plan import Run, system_named
from greymatch.bench.result import described, numbers, plain
from greymatch.errors import GreymatchError

if TYPE_CHECKING:
    from greymatch.evaluation import Evaluation
    from greymatch.models.greybox import GreyBox
    from greymatch.systems.system import System

STOPPED, WRONG_INPUT = 130, 2


def perform(run: Run, out: Path, threads: int | None = None) -> dict[str, Any]:
    """Fit, score on the test split, write `out` and return it. A run cut short goes on where it stopped."""
    import torch

    from greymatch.evaluation import evaluate
    from greymatch.files import write_json

    if threads:
        torch.set_num_threads(threads)
    began = time.monotonic()
    system, folder = system_named(run.system), run_folder(out)
    train, validation, test = (system.data(split, trajectories=run.trajectories) for split in ("train", "val", "test"))
    model = _fitted(run, system, train, validation, folder)
    evaluation = evaluate(model, test, system.given, train, system, draws=run.draws, seed=run.seed)
    result = {
        **run.asked(),
        "seed": run.seed,
        "seeds": {"training": run.seed, "forecast": run.seed} | {f"data.{k}": s.seed for k, s in system.splits.items()},
        "command": command(run, out),
        **_made_with(),
        **_training(model),
        "run_seconds": round(time.monotonic() - began, 1),
        **_scores(evaluation, run),
    }
    write_json(out, plain(result))
    return plain(result)


def run_folder(out: Path) -> Path:
    """Where the checkpoints of the run that `out` is the result of lie."""
    return out.with_suffix("")


def command(run: Run, out: Path) -> str:
    return shlex.join(["python", "-m", "greymatch.bench.run", *run.arguments(), "--out", str(out)])


def _fitted(run: Run, system: System, train: Any, validation: Any, folder: Path) -> GreyBox:
    from greymatch.training.fit import LAST, fit

    resume = (folder / LAST).exists()
    return fit(system.physics, train, validation, settings=run.settings(), folder=folder, resume=resume)


def _made_with() -> dict[str, Any]:
    import torch

    from greymatch import __version__

    return {
        "greymatch": __version__,
        "commit": _commit(),
        "machine": {
            "cores": cores(),
            "threads": torch.get_num_threads(),
            "torch": torch.__version__,
            "python": platform.python_version(),
            "system": f"{platform.system()} {platform.machine()}",
        },
    }


def _commit() -> str | None:
    """The commit of the source tree this runs from, with a plus when it was changed since; None outside of one."""
    here = ["git", "-C", str(Path(__file__).parent)]
    try:
        head = subprocess.run([*here, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
        changed = subprocess.run([*here, "status", "--porcelain", "."], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return head.stdout.strip() + "+" * bool(changed.stdout)


def cores() -> int:
    """The processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _training(model: GreyBox) -> dict[str, Any]:
    record = model.record
    return {
        "training_seconds": record["seconds"],
        "steps": record["steps"],
        "parameter_count": record["parameters"],
        "validation_error": record["validation_error"],
    }


def _scores(evaluation: Evaluation, run: Run) -> dict[str, Any]:
    """The ensemble as `scores`, and `central`: the single forecast from the posterior's means."""
    from greymatch.forecast.scores import score

    model, test = evaluation.model, evaluation.test
    central = model.forecast(evaluation.history, evaluation.forecast.times, draws=1, seed=run.seed)
    found = described(evaluation)
    return {**found, "central": numbers(score(central, test))}


def main(arguments: Sequence[str] | None = None) -> int:
    asked = _parser().parse_args(arguments)
    run = Run(asked.system, asked.method, asked.seed, json.loads(asked.changes), asked.draws, asked.trajectories)
    try:
        result = perform(run, asked.out, asked.threads)
    except GreymatchError as error:
        print(f"error: {error}", file=sys.stderr)
        return WRONG_INPUT
    except KeyboardInterrupt:
        return STOPPED
    print(f"{run.name}: forecast MSE {result['scores']['mse']}, written to {asked.out}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m greymatch.bench.run", description=__doc__)
    parser.add_argument("--system", required=True)
    parser.add_argument("--method", default="vgb-dm")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--changes", default="{}", help="settings on top of the preset, as a JSON object")
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--trajectories", type=int, default=None, help="cut every split down to so many")
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--out", type=Path, required=True, help="the result file, .json")
    return parser


if __name__ == "__main__":
    sys.exit(main())
