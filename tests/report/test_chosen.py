from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from greymatch.report.chosen import spread_over_errors, trajectory_errors


def test_errors_of_trajectories_average_to_the_nmse(make) -> None:
    evaluation = make(states=("angle", "speed"))
    assert trajectory_errors(evaluation).mean() == pytest.approx(evaluation.scores.nmse)


def test_choice_spans_best_to_worst_at_even_ranks(make) -> None:
    evaluation = make(trajectories=21)
    chosen = spread_over_errors(evaluation, 6)
    errors = trajectory_errors(evaluation)
    assert [one.rank for one in chosen] == [1, 5, 9, 13, 17, 21]
    assert chosen[0].row == errors.argmin()
    assert chosen[-1].row == errors.argmax()
    assert [one.nmse for one in chosen] == sorted(one.nmse for one in chosen)
    assert "best" in chosen[0].remark
    assert "worst" in chosen[-1].remark


def test_a_trajectory_without_members_is_the_worst(make) -> None:
    chosen = spread_over_errors(make(failed=30))
    assert chosen[-1].row == 0
    assert chosen[-1].nmse == np.inf


def test_trajectories_without_observations_are_left_out(make) -> None:
    evaluation = make(trajectories=3)
    mask = evaluation.test.mask.clone()
    mask[1, 8:] = False
    test = replace(evaluation.test, mask=mask, values=torch.where(mask, evaluation.test.values, 0.0))
    assert {one.row for one in spread_over_errors(replace(evaluation, test=test))} == {0, 2}


def test_one_trajectory_is_the_only_one(make) -> None:
    (one,) = spread_over_errors(make(trajectories=1))
    assert "only" in one.remark
