from __future__ import annotations

import pytest

from greymatch.diagnostics.points import Points
from greymatch.diagnostics.reliability import Reliability
from greymatch.diagnostics.verdict import Verdict, leans, sentence, verdict


@pytest.mark.parametrize(
    ("width", "word"),
    [(0.5, Verdict.OVER_CONFIDENT), (1.0, Verdict.HONEST), (2.0, Verdict.OVER_CAUTIOUS)],
)
@pytest.mark.parametrize("draws", [5, 100])  # 5 draws show no 90 % interval, yet one of 50 %
def test_the_word_fits_the_width(toy, width, word, draws):
    found = Reliability.of(Points.of(*toy(400, draws, width)))
    assert verdict(found) is word
    assert sentence(found).lower().startswith(word)


def test_the_sentence_has_the_figures(toy):
    found = Reliability.of(Points.of(*toy(4000, 100, 0.5)))
    told = sentence(found)
    assert f"intervals of 90 % hold {100 * found.at(0.9):.0f} % of the truth (right: 85 to 95 %)" in told
    assert f"those of 50 % hold {100 * found.at(0.5):.0f} %" in told
    assert "one side" not in told


def test_right_at_90_and_wrong_at_50_is_not_honest(toy):
    draws, truth = toy(1000, 100)
    # two of three truths at the centre, the third as far out as before
    middle = draws.mean(0).where(truth.abs() < 1.2, truth)
    found = Reliability.of(Points.of(draws, middle))
    assert abs(found.at(0.9) - 0.9) < 0.06
    assert verdict(found) is Verdict.OVER_CAUTIOUS
    assert sentence(found).startswith("Over-cautious in the middle: intervals of 50 % hold")


def test_a_pull_is_told(toy):
    found = Reliability.of(Points.of(*toy(400, 100, shift=-2.0)))
    assert leans(found)
    assert "above the median in 9" in sentence(found)
    assert not leans(Reliability.of(Points.of(*toy(4000, 100))))


def test_a_pull_is_told_even_where_intervals_are_wide_enough(toy):
    found = Reliability.of(Points.of(*toy(400, 200, width=1.35, shift=1.0)))
    assert abs(found.at(0.9) - 0.9) < 0.05
    assert leans(found)


@pytest.mark.parametrize(
    ("count", "draws", "why"), [(400, 1, "single draw"), (4, 50, "too few traj"), (400, 2, "2 draws")]
)
def test_too_little_is_not_judged(toy, count, draws, why):
    found = Reliability.of(Points.of(*toy(count, draws)))
    assert verdict(found) is Verdict.UNKNOWN
    assert why in sentence(found)


def test_few_trajectories_are_given_the_benefit_of_the_doubt(toy):
    draws, truth = toy(12, 200, 0.8)
    found = Reliability.of(Points.of(draws, truth))
    assert found.at(0.9) < 0.85
    assert verdict(found) is Verdict.HONEST
    assert sentence(found).startswith("Honest, as far as 12 trajectories can tell")
