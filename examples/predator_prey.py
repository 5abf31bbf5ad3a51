"""Hares and lynxes: Lotka and Volterra's equations, without the crowding that keeps hares in check.

The data are a table as a field station has it: uneven times, some counts missing, each site with its own rates.

    python examples/predator_prey.py              # half a minute of one core for each of three seeds
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

STATES = ["hares", "lynxes"]
RATES = {"attack": gm.Uniform(0.8, 1.4), "mortality": gm.Uniform(0.4, 0.9)}
GIVEN, SEEN = 25, 0.95


def hunted(t: Any, x: Any, p: Any) -> dict[str, Any]:
    """What we know: hares multiply at a rate of one, lynxes live off them."""
    eaten = p.attack * x.hares * x.lynxes
    return {"hares": x.hares - eaten, "lynxes": 0.6 * eaten - p.mortality * x.lynxes}


def crowded(t: Any, x: Any, p: Any) -> dict[str, Any]:
    """What happens: too many hares starve."""
    known = hunted(t, x, p)
    return known | {"hares": known["hares"] - p.crowding * x.hares**2}


PHYSICS = gm.Physics(hunted, STATES, RATES, complete=["lynxes"])
TRUTH = gm.Physics(crowded, STATES, RATES | {"crowding": gm.Uniform(0.1, 0.3)})


def table(sites: int, seed: int) -> pd.DataFrame:
    """One row for each site and count; the true rates stand beside them, for us to judge by."""
    rng = np.random.default_rng(seed)
    theta = TRUTH.push(torch.as_tensor(rng.standard_normal((sites, 3))))
    start = torch.as_tensor(rng.uniform(0.5, 1.5, (sites, 2)))
    clock = np.linspace(0, 20, 401)
    values = simulate(TRUTH, start, torch.as_tensor(clock), theta, substeps=4).numpy()
    tables = []
    for site in range(sites):
        at = np.sort(rng.choice(401, 101, replace=False))
        counts = np.where(rng.random((101, 2)) < SEEN, values[site, at], np.nan)
        rates = dict(zip(TRUTH.params, theta[site].tolist(), strict=True))
        tables.append(pd.DataFrame(counts, columns=STATES).assign(site=site, year=clock[at], **rates))
    return pd.concat(tables)


def read(path: Path) -> gm.Trajectories:
    """The counts; the true rates of each site beside them."""
    data = gm.read(path, states=STATES, trajectory="site", time="year", units={"time": "years", "hares": "1000"})
    rates = pd.read_csv(path).groupby("site", sort=False)[list(TRUTH.params)].first()
    return replace(data, truth={name: np.asarray(rates[name]) for name in rates})


def problem(folder: Path, sites: int = 150) -> Problem:
    table(sites, 1).to_csv(folder / "sites.csv", index=False)
    table(40, 9).to_csv(folder / "new_sites.csv", index=False)
    train, test = read(folder / "sites.csv"), read(folder / "new_sites.csv")
    return Problem("predator-prey", PHYSICS, TRUTH, train, test, GIVEN, {"residual.among": ("hares",), "window": GIVEN})


def figure(found: gm.Evaluation) -> Any:
    """Two forecasts, and the learned crowding beside the true one."""
    import matplotlib.pyplot as plt

    drawn, axes = plt.subplots(1, 3, figsize=(14, 3.6), layout="constrained")
    for axis, state in zip(axes, STATES, strict=False):
        found.forecast.plot(trajectory=0, state=state, truth=found.test, history=found.history, ax=axis)
    missing(axes[2], found)
    return drawn


def missing(axis: Any, found: gm.Evaluation) -> None:
    """The missing part of the hares' equation against their number, as learned and as it is, for three sites."""
    hares = torch.linspace(0.1, 2.5, 50)
    learned = missing_part(found, torch.stack([hares, torch.ones(50)], 1).expand(3, -1, -1))
    for site, crowding in enumerate(found.test.truth["crowding"][:3]):
        axis.plot(hares, learned[site, :, 0], color=f"C{site}", label=f"site {site}")
        axis.plot(hares, -crowding * hares**2, color=f"C{site}", ls=":")
    axis.set(xlabel="hares [1000]", ylabel="missing part of d hares / dt", title="learned; dotted: true")
    axis.legend(frameon=False)


if __name__ == "__main__":
    main(__doc__, problem, figure)
