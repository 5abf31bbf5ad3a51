"""A front that spreads: diffusion is known, growth behind the front is not (Fisher's equation, its reaction missing).

The data are a NetCDF file of fields on a line, as a camera or another simulator gives them.

    python examples/spreading_front.py            # half a minute of one core for each of three seeds
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
import xarray as xr
from judging import Problem, main, missing_part

import greymatch as gm
from greymatch.simulation.simulate import simulate

POINTS, STEP = 40, 0.4
TIMES = np.linspace(0, 5, 51)
GIVEN = 16
SPREADING = {"diffusivity": gm.Uniform(0.2, 0.8)}


def diffusing(t: Any, x: Any, p: Any) -> dict[str, Any]:
    """What we know: it diffuses, and nothing crosses the walls."""
    return {"density": p.diffusivity * gm.laplacian(x.density, (STEP,), "neumann")}


def growing(t: Any, x: Any, p: Any) -> dict[str, Any]:
    """What happens: it also grows, until the place is full."""
    return {"density": diffusing(t, x, p)["density"] + p.growth * x.density * (1 - x.density)}


PHYSICS = gm.Physics(diffusing, ["density"], SPREADING, grid=["x"])
TRUTH = gm.Physics(growing, ["density"], SPREADING | {"growth": gm.Uniform(0.5, 1.5)}, grid=["x"])


def record(path: Path, cases: int, seed: int) -> None:
    """Fields over (trajectory, time, x) that start as two bumps, with the truth beside them."""
    rng = np.random.default_rng(seed)
    theta = TRUTH.push(torch.as_tensor(rng.standard_normal((cases, 2))))
    place = STEP * (np.arange(POINTS) + 0.5)
    middle, width, size = rng.uniform([2, 0.5, 0.1], [14, 1.5, 0.6], (2, cases, 3)).transpose(2, 0, 1)[..., None]
    start = torch.as_tensor((size * np.exp(-(((place - middle) / width) ** 2))).sum(0).clip(0, 0.9)[:, None])
    values = simulate(TRUTH, start, torch.as_tensor(TIMES), theta, substeps=4)[:, :, 0].numpy()
    fields = {"density": (("trajectory", "time", "x"), values, {"units": "1"})}
    truth = {name: ("trajectory", theta[:, i].numpy()) for i, name in enumerate(TRUTH.params)}
    xr.Dataset(fields | truth, {"time": TIMES, "x": place}).to_netcdf(path, engine="h5netcdf")


def problem(folder: Path, cases: int = 60) -> Problem:
    record(folder / "fronts.nc", cases, 1)
    record(folder / "new_fronts.nc", 24, 9)
    train, test = (gm.read(folder / name, states=["density"]) for name in ("fronts.nc", "new_fronts.nc"))
    # growth must hold at densities that few histories reach; and small batches, for many steps in little time
    choices = {"residual.kind": "polynomial", "training.batch": 16}
    return Problem("spreading-front", PHYSICS, TRUTH, train, test, GIVEN, choices)


def figure(found: gm.Evaluation) -> Any:
    """The truth, the forecast's mean and its error as pictures, and the learned growth beside the true one."""
    import matplotlib.pyplot as plt

    drawn, axes = plt.subplots(1, 4, figsize=(15, 3.4), layout="constrained")
    truth = found.test.values[0, GIVEN:, 0].numpy()
    mean = found.forecast.mean()["density"][0].values
    pictures = {"truth": truth, "forecast": mean, "error": mean - truth}
    for axis, (title, field) in zip(axes, pictures.items(), strict=False):
        shown = axis.imshow(field, aspect="auto", origin="lower", extent=(0, POINTS * STEP, TIMES[GIVEN], TIMES[-1]))
        axis.set(title=title, xlabel="x", ylabel="time")
        drawn.colorbar(shown, ax=axis)
    growth(axes[3], found)
    return drawn


def growth(axis: Any, found: gm.Evaluation) -> None:
    density = torch.linspace(0, 1, POINTS)
    learned = missing_part(found, density.expand(3, 1, 1, -1))
    for case, rate in enumerate(found.test.truth["growth"][:3]):
        axis.plot(density, learned[case, 0, 0], color=f"C{case}", label=f"case {case}")
        axis.plot(density, rate * density * (1 - density), color=f"C{case}", ls=":")
    axis.set(xlabel="density", ylabel="growth", title="learned; dotted: true")
    axis.legend(frameon=False)


if __name__ == "__main__":
    main(__doc__, problem, figure, draws=16)
