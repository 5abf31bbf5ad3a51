from __future__ import annotations

import base64
import re

import pytest

from greymatch.report.chosen import spread_over_errors
from greymatch.report.figures import style
from greymatch.report.frames import frames


@pytest.mark.parametrize(
    ("grid", "pictures"),
    [((6, 9), 12), ((12,), 3), ((2, 3, 4), 12)],
    ids=["plane: truth, mean and error at 4 times", "line: over time", "space: a slice"],
)
def test_fields_are_shown_as_pictures_inside_the_page(make, grid, pictures) -> None:
    evaluation = make(trajectories=2, states=("u",), grid=grid, draws=4)
    with style():
        plate = frames(evaluation, spread_over_errors(evaluation, 1))
    links = re.findall(r'href="([^#"][^"]*)"', plate.panels[0].svg)
    colour_bars = 3
    assert len(links) == pictures + colour_bars
    for link in links:
        head, data = link.split(",", 1)
        assert head == "data:image/png;base64"
        assert base64.b64decode(data).startswith(b"\x89PNG")


def test_members_that_failed_leave_holes_not_errors(make) -> None:
    evaluation = make(trajectories=2, states=("u",), grid=(4, 4), draws=3, failed=3)
    with style():
        plate = frames(evaluation, spread_over_errors(evaluation, 2))
    assert plate.panels[-1].remark == "worst of 2, NMSE ∞"
