from __future__ import annotations

import pytest

from greymatch.bench.speed.processes import COUNT, processes
from greymatch.bench.speed.sizes import Sizes


@pytest.mark.slow
def test_both_numbers_of_processes_take_their_steps(tiny: Sizes) -> None:
    (found,) = processes(tiny)
    assert f"{COUNT} processes" in found.case
    assert len(found.ours) == len(found.plain) == 1
    assert min(*found.ours, *found.plain) > 0
