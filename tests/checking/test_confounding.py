"""Which parameters a missing term can pass for, on systems where it is known."""

from __future__ import annotations

import pytest

from greymatch.checking.confounding import PULLED, Confounded, confounding
from greymatch.checking.library import Column
from greymatch.checking.points import Points
from greymatch.physics.physics import Physics
from greymatch.systems import SYSTEMS, lorenz, pendulum, rlc


def confounded(physics: Physics, system: str) -> dict[str, Confounded]:
    data = SYSTEMS[system].data("train", trajectories=48)
    points = Points.of(physics, data, SYSTEMS[system].settings())
    return {one.parameter: one for one in confounding(points).confounded}


def terms(one: Confounded) -> set[tuple[str, str]]:
    return {(column.equation, column.term) for column in one.columns}


def test_the_inductance_is_pulled_by_the_missing_resistance():
    found = confounded(rlc.physics, "rlc")
    assert terms(found["L"]) == {("I", "U"), ("I", "V")}
    assert found["L"].r2 == pytest.approx(1.0, abs=1e-6)
    assert found["L"].pull > PULLED
    assert [(column.equation, column.term) for column in found["L"].others] == [("I", "I")]
    text = str(found["L"].finding())
    assert text.startswith("warning: 'L' is confounded")
    assert "U and V missing from the equation of 'I'" in text
    assert "I in the equation of 'I' moves along" in text


def test_the_capacitance_could_be_mistaken_but_nothing_pulls_it():
    found = confounded(rlc.physics, "rlc")["C"]
    assert terms(found) == {("U", "I")}
    assert found.pull < 0.1
    assert str(found.finding()).startswith("note: ")
    assert "complete=['U']" in found.finding().fix


def test_several_equations_and_terms_make_a_sentence():
    columns = Column("I", "U"), Column("I", "V"), Column("U", "I")
    note = Confounded("C", 0.99, columns, 0.0, ()).finding().what
    assert note.startswith(
        "a term in U and V missing from the equation of 'I', or in I missing from the equation of 'U' would look like"
    )
    warned = Confounded("C", 0.99, columns[:1], 1.0, columns[1:]).finding().what
    assert "V in the equation of 'I' and I in the equation of 'U' move along" in warned


def test_complete_equations_do_not_count():
    physics = replace_complete(rlc.physics, ("U",))
    assert set(confounded(physics, "rlc")) == {"L"}
    assert confounded(replace_complete(rlc.physics, ("U", "I")), "rlc") == {}


def test_a_swing_is_nearly_linear_in_its_angle_and_friction_pulls_little():
    found = confounded(pendulum.physics, "pendulum")["omega"]
    assert terms(found) == {("angle", "angle")}
    assert 0.97 < found.r2 < 0.9999
    assert found.pull < PULLED


def test_lorenz_misses_something_elsewhere():
    found = confounded(lorenz.physics, "lorenz")
    assert terms(found["sigma"]) == {("u", "u"), ("u", "v")}
    assert terms(found["beta"]) == {("w", "w")}
    assert all(one.pull < 0.3 for one in found.values())


def test_diffusion_is_no_combination_of_the_fields_themselves():
    assert confounded(SYSTEMS["reaction_diffusion"].physics, "reaction_diffusion") == {}


def replace_complete(physics: Physics, complete: tuple[str, ...]) -> Physics:
    known = physics.describe()
    del known["name"]
    return Physics(physics.function, **{**known, "params": physics.params, "complete": complete})
