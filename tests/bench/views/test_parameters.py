from __future__ import annotations

from typing import Any

import pytest

from greymatch.bench.summary import Summary
from greymatch.bench.views.parameters import view


def test_errors_are_divided_by_the_priors_run_by_run(result: Any) -> None:
    first, second = result("vgb-dm", 1.0), result("vgb-dm", 3.0)
    second["parameters"]["omega"] |= {"rmse": 0.068}
    (row,) = view([first, second, result("vbb-dm", 1.0)]).sheets["parameters"].rows
    ratio = row["ratio"]
    assert isinstance(ratio, Summary)
    assert ratio.mean == pytest.approx((0.5 + 0.1) / 2)
    assert row["mse"] == Summary(2.0, 2**0.5, 2)
