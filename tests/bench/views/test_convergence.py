from __future__ import annotations

from typing import Any

import pytest

from greymatch.bench.views.convergence import seconds_to, view

CURVE = {"seconds": [1.0, 2.0, 3.0, 4.0], "mse": [0.5, None, 0.1, 0.2]}


@pytest.mark.parametrize(("target", "seconds"), [(0.5, 1.0), (0.3, 3.0), (0.1, 3.0), (0.05, None), (None, None)])
def test_seconds_to_is_the_first_time_at_or_below(target: float | None, seconds: float | None) -> None:
    assert seconds_to(CURVE, target) == seconds


def test_a_method_has_the_median_time_and_none_if_half_never_arrive(result: Any) -> None:
    def curve(*mse: float) -> dict[str, list[float]]:
        return {"seconds": [1.0, 2.0, 3.0], "step": [1.0, 2.0, 3.0], "mse": list(mse)}

    fast, slow, never = curve(1.0, 1e-3, 1e-4), curve(1.0, 1.0, 1e-3), curve(1.0, 1.0, 1.0)
    runs = [result("vgb-dm", 1.0, curve=one) for one in (fast, slow, never)]
    (row,) = view(runs).sheets["convergence"].rows
    assert (row["seconds_to_ours"], row["reached_ours"]) == (3.0, "2 of 3")  # the paper's is 2.83e-3
    (row,) = view(runs[1:]).sheets["convergence"].rows
    assert (row["seconds_to_ours"], row["reached_ours"]) == (None, "1 of 2")
