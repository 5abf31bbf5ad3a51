from __future__ import annotations

from typing import Any

from greymatch.bench.summary import Summary
from greymatch.bench.views.elbo import view


def test_terms_are_means_over_seeds_and_absent_ones_stay_empty(result: Any) -> None:
    first, second = result("vgb-dm", 1.0), result("vgb-dm", 1.0)
    second["terms"]["curve"]["kl_z"] = [1.0, 4.0, None]
    sheet = view([first, second]).sheets["elbo"]
    assert sheet.rows[0]["kl_z"] == Summary(3.0, 2**0.5, 2)
    cells = dict(zip(sheet.heads, sheet.cells(0), strict=True))
    assert (cells["kl_theta"], cells["sensitivity"]) == ("4 ± 0", "")
