"""What a law of few terms is judged by."""

from __future__ import annotations

from dataclasses import replace

from greymatch.data.join import join
from greymatch.data.trajectories import Trajectories


def judging(data: Trajectories, held_out: Trajectories, most: int) -> Trajectories:
    """Those held out, and as many as lack to `most` of those that were learned from: a law of few terms has nothing by
    heart, and few trajectories say little."""
    missing = most - len(held_out)
    alike = data.inputs is None or held_out.inputs is None or data.inputs.like(held_out.inputs)
    if missing <= 0 or not alike:
        return held_out
    parts = [replace(part, truth={}, units={}, epoch=None) for part in (held_out, data.select(slice(missing)))]
    return join(parts, ["validation", "data"])
