from __future__ import annotations

from pathlib import Path

import pytest

from greymatch.cli.source import Source
from greymatch.errors import GreymatchError
from greymatch.settings import Settings
from greymatch.sweep.trial import Trial, main


def trial(**changes: object) -> Trial:
    return Trial(Source("pendulum"), Settings().updated(dict(changes)), dict(changes))


def test_names_tell_settings_apart_however_many_there_are() -> None:
    assert trial(**{"residual.width": 16}).name == "residual.width=16-seed0"
    long = {f"data.noise.some_state_with_a_long_name_{i}": 0.1 for i in range(4)}
    other = {**long, "data.noise.some_state_with_a_long_name_3": 0.2}
    assert trial(**long).name != trial(**other).name
    assert len(trial(**long).name) < 140


def test_a_program_with_nothing_to_do_ends_as_one_with_wrong_input(tmp_path: Path) -> None:
    assert main([str(tmp_path / "no.json")]) == 2


def test_a_result_of_other_settings_is_refused(tmp_path: Path) -> None:
    from greymatch.files import write_json

    one, other = trial(**{"residual.width": 16}), trial(**{"residual.width": 32})
    write_json(tmp_path / f"{one.name}.json", other.asked())
    with pytest.raises(GreymatchError, match="settings differ"):
        one.stored(tmp_path)
