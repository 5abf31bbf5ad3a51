from __future__ import annotations

from pathlib import Path

import pytest

USER = ("--physics", "swing.py:physics", "--data", "train.csv", "--trajectory", "id", "--time", "t")


def test_it_says_what_was_understood_and_what_to_do_next(greymatch, user: Path) -> None:
    done = greymatch("check", *USER)
    assert done.code == 0, done.err
    assert "trajectories  16, 40 points each" in done.out
    assert "This can be fitted" in done.out
    words = " ".join(USER)
    assert done.out.rstrip().endswith(f"greymatch fit {words} --out runs/swing")


def test_the_next_command_runs(greymatch, user: Path) -> None:
    following = greymatch("check", *USER, "--set", "encoder.width=8", "--json").json["next"].split()
    done = greymatch(*following[1:], "--steps", 2, "--set", "training.batch=8")
    assert done.code == 0, done.err


def test_json_holds_facts_settings_and_findings(greymatch, user: Path) -> None:
    found = greymatch("check", *USER, "--json").json
    assert found["fits"] is True
    assert found["settings"]["window"]["value"] == 14
    assert {finding["level"] for finding in found["findings"]} <= {"problem", "warning", "note"}


def test_what_cannot_be_fitted_ends_with_2(greymatch, user: Path) -> None:
    text = (user / "swing.py").read_text().replace('{"angle": ', '{"angel": ')
    (user / "swing.py").write_text(text)
    done = greymatch("check", *USER)
    assert done.code == 2
    assert "problem: physics function 'swing' must return accelerations under the keys ['angle']" in done.out
    assert "Did you mean 'angle'" in done.out
    assert "Next" not in done.out


def test_settings_given_are_used_and_not_shown_as_chosen(greymatch, user: Path) -> None:
    (user / "a.toml").write_text("window = 9\n")
    found = greymatch("check", *USER, "--config", "a.toml", "--set", "shortest=7", "--json").json
    assert found["facts"]["window"].startswith("9 points")
    assert not found["settings"].keys() & {"window", "shortest"}
    assert found["next"].endswith("--config a.toml --set shortest=7")


def test_a_built_in_system_is_checked_by_name(greymatch, small_system) -> None:
    done = greymatch("check", "--system", "pendulum")
    assert done.code == 0
    assert done.out.rstrip().endswith("greymatch fit --system pendulum --out runs/pendulum")


@pytest.mark.parametrize("words", [(), ("--data", "train.csv"), ("--physics", "swing.py:physics")])
def test_both_physics_and_data_are_needed(greymatch, user: Path, words: tuple[str, ...]) -> None:
    done = greymatch("check", *words)
    assert done.code == 2
    assert "needs --system NAME, or both --physics FILE.py:NAME and --data FILE" in done.err
