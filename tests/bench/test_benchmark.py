from __future__ import annotations

import pytest

from greymatch.bench.benchmark import Choice


@pytest.mark.parametrize(("asked", "of_fields"), [((6, 40), (3, 10)), ((None, None), (None, None)), ((1, 2), (1, 1))])
def test_fewer_fields_than_trajectories_are_judged(
    asked: tuple[int | None, int | None], of_fields: tuple[int | None, int | None]
) -> None:
    choice = Choice(["pendulum", "reaction_diffusion"], ["vgb-dm"], [0], val=asked[0], test=asked[1])
    runs = [choice.run(system, "vgb-dm", 0) for system in choice.systems]
    assert [(run.val, run.test) for run in runs] == [asked, of_fields]
