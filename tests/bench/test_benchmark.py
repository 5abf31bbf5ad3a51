from __future__ import annotations

import pytest

from greymatch.bench.benchmark import Choice


@pytest.mark.parametrize(("asked", "judged"), [(40, (40, 10)), (None, (None, None)), (2, (2, 1))])
def test_fewer_fields_than_trajectories_are_judged(asked: int | None, judged: tuple[int | None, int | None]) -> None:
    choice = Choice(["pendulum", "reaction_diffusion"], ["vgb-dm"], [0], test=asked)
    assert tuple(choice.run(system, "vgb-dm", 0).test for system in choice.systems) == judged
