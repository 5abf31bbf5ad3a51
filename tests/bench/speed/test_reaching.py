from __future__ import annotations

import json
from pathlib import Path

from greymatch.bench.speed.reaching import Reached, reaching
from greymatch.systems import pendulum


def kept(folder: Path, seed: int, seconds: list[float], errors: list[float], **more: object) -> None:
    curve = {"seconds": seconds, "mse": errors}
    run = {"system": "pendulum", "curve": curve, **more}
    (folder / f"pendulum-vgb-dm-{more.get('label', '')}{seed}.json").write_text(json.dumps(run))


def test_the_time_is_that_of_the_first_validation_below_the_target(tmp_path: Path) -> None:
    target = pendulum.paper_mse["vgb-dm"]
    kept(tmp_path, 0, [1.0, 2.0, 3.0], [2 * target, target, target / 2])
    kept(tmp_path, 1, [1.0, 2.0, 3.0], [2 * target, 2 * target, target / 2])
    kept(tmp_path, 2, [0.1], [0.0], label="no-penalty")
    assert list(reaching(tmp_path)) == [Reached("pendulum", target, 2, [2.0, 3.0])]


def test_a_median_of_which_half_is_missing_is_unknown() -> None:
    assert Reached("pendulum", 0.1, 2, [1.0]).middle is None
    assert Reached("pendulum", 0.1, 3, [1.0, 2.0]).middle == 1.5
