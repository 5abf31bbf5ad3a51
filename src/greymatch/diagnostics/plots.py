"""The picture of a calibration, for notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from greymatch.diagnostics.reliability import Reliability
from greymatch.diagnostics.verdict import SURE


def plot_reliability(rows: Mapping[str, Reliability], ax: Any = None) -> Any:
    """Observed against nominal coverage, a line for each quantity; returns the axes."""
    import matplotlib.pyplot as plt

    ax = plt.subplots(figsize=(5, 4.5), layout="constrained")[1] if ax is None else ax
    fewest = min(rows.values(), key=lambda found: found.independent)
    level = np.linspace(0, 1, 101)
    slack = SURE * np.array([fewest.scatter(one) for one in level])
    ax.fill_between(level, level - slack, level + slack, color="grey", alpha=0.2, lw=0, label="chance")
    ax.plot([0, 1], [0, 1], color="black", lw=0.9, ls="--")
    for name, found in rows.items():
        ax.plot(found.levels, found.coverage, marker=".", label=name)
    ax.set(xlim=(0, 1), ylim=(0, 1.02), xlabel="level of the interval", ylabel="share of the truth inside")
    ax.legend(loc="best", frameon=False)
    return ax
