from __future__ import annotations

import tomllib
from dataclasses import replace

from greymatch.physics.physics import Physics
from greymatch.report.remake import as_toml, remake
from greymatch.settings import Settings
from greymatch.systems import pendulum


def test_settings_read_back_as_they_were() -> None:
    changes = {"residual.sees_theta": True, "matching.horizon": 1e-7, "training.device": 'a "b" \\ é', "window": 9}
    settings = Settings().updated(changes)
    assert Settings().updated(tomllib.loads(as_toml(settings))) == settings


def test_all_that_is_needed_is_there(make) -> None:
    evaluation = make()
    made = remake(evaluation, pendulum, "greymatch fit pendulum")
    assert made.command == "greymatch fit pendulum"
    assert "def still(t, x, p):" in made.physics
    assert "params.omega.high = 3.5" in made.physics
    assert "trajectories.train = 90" in made.record
    assert "training: 0" in made.seeds
    assert "test: 3 (100 trajectories)" in made.seeds
    for name in ("greymatch", "Python", "torch"):
        assert f"{name} " in made.versions


def test_physics_without_source_is_described(make) -> None:
    names: dict = {}
    exec("def typed(t, x, p): return {'angle': 0 * x.angle}", names)
    physics = Physics(names["typed"], ["angle"])
    evaluation = make()
    made = remake(replace(evaluation, model=replace(evaluation.model, physics=physics)), None, None)
    assert made.physics.startswith('name = "typed"')
    assert made.command == ""
