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
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from greymatch.bench.consistency import consistency
from greymatch.bench.explained import explained
from greymatch.bench.history import curves, short
from greymatch.bench.jobs import run_folder
from greymatch.bench.plan import Run, system_named
from greymatch.bench.result import described, numbers, plain
from greymatch.bench.splits import NOISE_SEED, SPLITS, Splits, digests, splits_of
from greymatch.children import end_with_parent
from greymatch.errors import GreymatchError

if TYPE_CHECKING:
    from greymatch.data.trajectories import Trajectories
    from greymatch.evaluation import Evaluation
    from greymatch.models.greybox import GreyBox
    from greymatch.systems.system import System

STOPPED, WRONG_INPUT = 130, 2
METRICS = "metrics.jsonl"
NAMES = {"dynamics": "field", "next_point": "field"}


def perform(run: Run, out: Path, threads: int | None = None) -> dict[str, Any]:
    """Fit, score on the test split, write `out` and return it. A run cut short goes on where it stopped."""
    import torch

    from greymatch.files import write_json

    if threads:
        torch.set_num_threads(threads)
    began, data = time.monotonic(), splits_of(run)
    model, found = (_beside(run, out) if run.explain else None) or _fitted_and_scored(run, data, out)
    told = {"explanation": explained(model, data, system_named(run.system), run)} if run.explain else {}
    seconds = {"run_seconds": round(time.monotonic() - began, 1)}
    result = plain({**found, **run.asked(), "command": command(run, out), **told, **seconds})
    write_json(out, result)
    return result


def _beside(run: Run, out: Path) -> tuple[GreyBox, dict[str, Any]] | None:
    """Model and result of the same run without its explanation, if both are still there."""
    from greymatch.bench.jobs import result_file
    from greymatch.bench.stored import stored
    from greymatch.models.file import load
    from greymatch.training.run import MODEL

    alone = replace(run, explain=False)
    file = run_folder(result_file(alone, out.parent)) / MODEL
    found = stored(alone, out.parent) if file.exists() else None
    return None if found is None else (load(file), found)


def _fitted_and_scored(run: Run, data: Splits, out: Path) -> tuple[GreyBox, dict[str, Any]]:
    from greymatch.evaluation import evaluate

    made, system, folder = made_with(), system_named(run.system), run_folder(out)
    model = _fitted(run, system, data, folder)
    judged = time.monotonic()
    evaluation = evaluate(
        model, data.test, system.given, data.train, system, draws=run.members, seed=run.seed, truth=data.truth
    )
    return model, {
        "seed": run.seed,
        "seeds": _seeds(run, system),
        **made,
        **_protocol(system, data),
        **_training(model),
        **curves(folder / METRICS),
        **_scores(evaluation, run, data.truth),
        "consistency": consistency(model, data.test),
        "scoring_seconds": round(time.monotonic() - judged, 1),
    }


def command(run: Run, out: Path) -> str:
    """What makes the run again; a folder of data is named without the path to it."""
    named = replace(run, data=Path(run.data.name)) if run.data else run
    return shlex.join(["python", "-m", "greymatch.bench.run", *named.arguments(), "--out", out.name])


def _fitted(run: Run, system: System, data: Splits, folder: Path) -> GreyBox:
    from greymatch.training.fit import LAST, fit

    resume = (folder / LAST).exists()
    return fit(system.physics, data.train, data.val, settings=run.settings(), folder=folder, resume=resume)


def _seeds(run: Run, system: System) -> dict[str, int]:
    """Of training, of the draws, and of each split that was simulated."""
    simulated = {f"data.{name}": split.seed for name, split in system.splits.items() if name not in digests(run.data)}
    noise = {f"noise.{name}": seed for seed, name in enumerate(SPLITS, NOISE_SEED)} if run.noise else {}
    return {"training": run.seed, "forecast": run.seed, **simulated, **noise}


def _protocol(system: System, data: Splits) -> dict[str, Any]:
    """How many trajectories each split had, and which points of a test trajectory were given and scored."""
    return {
        "trajectories": {name: len(getattr(data, name)) for name in SPLITS},
        "points": {"given": system.given, "scored": int(data.test.lengths.max()) - system.given},
    }


def made_with() -> dict[str, Any]:
    """Versions and machine, for whoever wants to know where numbers come from."""
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
        "windows_per_second": short(record["steps"] * model.settings.training.batch / max(record["seconds"], 1e-9)),
        "weights": weights(model),
        "validation_error": record["validation_error"],
        "refined": record.get("refined", False),
        "assumed_noise": record.get("observation_noise", {}),
    }


def weights(model: GreyBox) -> dict[str, int]:
    """How many numbers each part of the network has learned."""
    parts = {NAMES.get(name, name): part for name, part in model.network.named_children()}
    counts = {name: sum(weight.numel() for weight in part.parameters()) for name, part in parts.items()}
    return counts | {"total": sum(weight.numel() for weight in model.network.parameters())}


def _scores(evaluation: Evaluation, run: Run, truth: Trajectories) -> dict[str, Any]:
    """The ensemble as `scores`, and `central`: the single forecast from the posterior's means."""
    from greymatch.forecast.scores import score

    central = evaluation.model.forecast(evaluation.seen, evaluation.forecast.times, draws=1, seed=run.seed)
    found = described(evaluation)
    return {**found, "central": numbers(score(central, truth))}


def main(arguments: Sequence[str] | None = None) -> int:
    asked = vars(_parser().parse_args(arguments))
    end_with_parent()
    out, threads = asked.pop("out"), asked.pop("threads")
    run = Run(**asked | {"changes": json.loads(asked["changes"])})
    try:
        result = perform(run, out, threads)
    except GreymatchError as error:
        print(f"error: {error}", file=sys.stderr)
        return WRONG_INPUT
    except KeyboardInterrupt:
        return STOPPED
    print(f"{run.name}: forecast MSE {result['scores']['mse']}, written to {out}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m greymatch.bench.run", description=__doc__)
    parser.add_argument("--system", required=True)
    parser.add_argument("--method", default="vgb-dm")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--changes", default="{}", help="settings on top of the preset, as a JSON object")
    parser.add_argument("--draws", type=int, help="members of a forecast; by default what suits the system")
    parser.add_argument("--label", default="", help="tells this variant of a run from others")
    parser.add_argument("--train", type=int, help="learn from the first so many trajectories")
    parser.add_argument("--val", type=int, help="validate on the first so many trajectories")
    parser.add_argument("--test", type=int, help="judge by the first so many trajectories")
    parser.add_argument("--data", type=Path, help="folder with files that replace simulated splits")
    parser.add_argument("--noise", type=float, default=0.0, help="noise on all observations, relative to the spread")
    parser.add_argument("--explain", action="store_true", help="judge what the model says was missing, too")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--out", type=Path, required=True, help="the result file, .json")
    return parser


if __name__ == "__main__":
    sys.exit(main())
