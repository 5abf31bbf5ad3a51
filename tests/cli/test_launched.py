from __future__ import annotations

from pathlib import Path

import pytest

from greymatch.cli import launched
from greymatch.training import launch
from greymatch.training.launch import Ended

DATA = ("--physics", "swing.py:physics", "--data", "train.csv", "--trajectory", "id", "--time", "t")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], int, Path]]:
    """What was to be launched, and never was: the second process falls."""
    found: list[tuple[list[str], int, Path]] = []

    def fall(words: list[str], count: int, folder: Path) -> Ended:
        found.append((words, count, folder))
        return Ended([0, -9], 1, None)

    monkeypatch.setattr(launch, "launch", fall)
    return found


def test_processes_that_are_asked_for_are_launched_and_a_fall_is_told(greymatch, user: Path, asked) -> None:
    done = greymatch("fit", *DATA, "--steps", 3, "--set", "window=10", "--devices", 2, "--out", "new")
    assert done.code == 2
    assert "process 2 of 2 was killed (SIGKILL)" in done.err
    assert "greymatch fit --resume new" in done.err
    ((words, count, folder),) = asked
    assert (count, folder) == (2, Path("new"))
    shared = ["--devices", "2", "--strategy", "ddp", "--set", "training.parts=1"]
    assert words[2:] == ["fit", "--resume", "new", *shared]


def test_a_run_goes_on_with_another_number_of_processes_and_parts(greymatch, user: Path, asked) -> None:
    how = ("--devices", 3, "--strategy", "fsdp", "--set", "training.parts=2")
    assert "process 2 of 2" in greymatch("fit", "--resume", "run", *how).err
    assert (asked[0][1], asked[0][0][-4:]) == (3, ["--strategy", "fsdp", "--set", "training.parts=2"])
    done = greymatch("fit", "--resume", "run", "--set", "residual.width=3")
    assert (done.code, "residual.width" in done.err) == (2, True)


def test_only_the_first_process_speaks(monkeypatch: pytest.MonkeyPatch) -> None:
    assert launched.first_process()
    monkeypatch.setenv("RANK", "1")
    assert not launched.first_process()


def test_an_unknown_strategy_is_refused(greymatch, user: Path) -> None:
    done = greymatch("fit", *DATA, "--strategy", "horovod", "--out", "new")
    assert done.code == 2
    assert "training.strategy" in done.err
