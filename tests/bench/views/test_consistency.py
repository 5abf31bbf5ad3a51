from __future__ import annotations

from typing import Any

import pytest

from greymatch.bench.views.consistency import collapsed, view


@pytest.mark.parametrize(
    ("cv", "ratio", "verdict"),
    [(0.001, 1.0, True), (0.001, 0.1, False), (0.4, 1.0, False)],
    ids=["steady and useless", "steady and right", "not steady"],
)
def test_collapsed(cv: float, ratio: float, verdict: bool) -> None:
    assert collapsed(cv, ratio, spread=0.35) is verdict


def test_the_verdict_stands_in_its_row(result: Any) -> None:
    right, useless = result("vgb-dm", 1.0), result("physvae", 1.0)
    useless["consistency"]["omega"] |= {"rmse": 0.67}
    rows = view([right, useless]).sheets["consistency"].rows
    assert [row["verdict"] for row in rows] == ["", "collapsed"]
