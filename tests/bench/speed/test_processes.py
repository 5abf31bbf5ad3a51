from __future__ import annotations

import json
from pathlib import Path

import pytest

from greymatch.bench.speed.processes import CASES, COUNT, FIELD, paced, processes
from greymatch.bench.speed.sizes import Sizes


@pytest.mark.slow
def test_both_numbers_of_processes_take_their_steps(tiny: Sizes) -> None:
    (found,) = processes(tiny, {FIELD: CASES[FIELD]})
    assert f"{COUNT} processes" in found.case
    assert len(found.ours) == len(found.plain) == 1
    assert min(*found.ours, *found.plain) > 0


def test_maps_of_nothing_set_the_pace_of_the_weather_preset(tmp_path: Path) -> None:
    paced("weather", 1, str(tmp_path / "took.json"))
    assert json.loads((tmp_path / "took.json").read_text()) > 0
