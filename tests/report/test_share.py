from __future__ import annotations

from dataclasses import replace

from greymatch.report.figures import style
from greymatch.report.share import share, share_warning


def test_shares_are_drawn_and_told(make) -> None:
    evaluation = make(share=0.73)
    with style():
        plate = share(evaluation)
    assert plate is not None
    assert "angle 73 % (0.73 and 0.27)" in plate.caption
    assert "physics 0.73" in plate.panels[0].svg
    assert share_warning(evaluation) == ""


def test_the_reader_is_warned_when_the_residual_takes_over(make) -> None:
    evaluation = make(states=("angle", "speed"), share=0.8)
    evaluation.share["speed"]["share"] = 0.49
    assert "the equation of speed." in share_warning(evaluation)


def test_a_black_box_has_no_physics_to_blame(make) -> None:
    assert "uses no physics" in share_warning(make(method="vbb-dm", share=0.0))


def test_no_share_no_figure(make) -> None:
    nothing = {"angle": {"physics": float("nan"), "residual": float("nan"), "share": float("nan")}}
    assert share(replace(make(), share=nothing)) is None
