"""The command line as a whole: help, start-up, versions, and how errors end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import greymatch as gm
from greymatch.cli import data as data_command

COMMANDS = ("demo", "init", "check", "fit", "forecast", "infer", "report", "systems", "data", "settings", "bench")
HEAVY = ("torch", "numpy", "xarray", "pandas", "matplotlib", "pydantic", "scipy")
HELP = f"""
import sys
sys.argv = ["greymatch", "--help"]
from greymatch.cli import main
try:
    main()
finally:
    print(sorted(set({HEAVY!r}) & set(sys.modules)), file=sys.stderr)
"""


def test_help_lists_every_command(greymatch) -> None:
    done = greymatch("--help")
    assert done.code == 0
    assert all(f" {command} " in done.out for command in COMMANDS)


@pytest.mark.parametrize("command", [*COMMANDS[:-1], "bench table"])
def test_help_of_each_command_ends_with_an_example(greymatch, command: str) -> None:
    done = greymatch(*command.split(), "--help")
    assert done.code == 0
    assert "Example" in done.out
    assert f"greymatch {command}" in done.out.split("Example")[1]


def test_no_command_shows_help(greymatch) -> None:
    assert "Usage" in greymatch().out + greymatch().err


def test_version(greymatch) -> None:
    assert greymatch("--version").out == f"greymatch {gm.__version__}\n"


def test_help_starts_at_once_and_imports_nothing_heavy() -> None:
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-c", HELP], capture_output=True, text=True, check=True, timeout=60)
    assert done.stderr.strip() == "[]"
    assert time.monotonic() - began < 5  # far from the second it may take, for machines under load


@pytest.mark.parametrize("module", ["greymatch", "greymatch.cli"])
def test_module_runs_as_a_script(module: str) -> None:
    words = [sys.executable, "-m", module, "--version"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60, env=dict(os.environ))
    assert done.stdout.startswith("greymatch ")


@pytest.mark.parametrize(("typed", "meant"), [("forcast", "forecast"), ("setings", "settings")])
def test_unknown_command_is_a_usage_error_with_a_suggestion(greymatch, typed: str, meant: str) -> None:
    done = greymatch(typed)
    assert (done.code, done.out) == (2, "")
    assert meant in done.err


def test_unknown_option_is_a_usage_error(greymatch) -> None:
    done = greymatch("fit", "--minuts", 3)
    assert done.code == 2
    assert "--minutes" in done.err


def test_bad_input_is_told_without_traceback(greymatch, tmp_path: Path) -> None:
    done = greymatch("data", "pendulm", "--out", tmp_path / "a.nc")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: ")
    assert "'pendulum'" in done.err
    assert "Traceback" not in done.err


def test_bad_input_with_json_is_told_in_json_too(greymatch, tmp_path: Path) -> None:
    done = greymatch("data", "pendulm", "--out", tmp_path / "a.nc", "--json")
    assert done.code == 2
    assert "pendulum" in json.loads(done.out)["error"]
    assert "pendulum" in done.err


def test_ctrl_c_outside_of_training_ends_with_130(greymatch, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def interrupted(*words: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(data_command, "ready", interrupted)
    done = greymatch("data", "pendulum", "--out", tmp_path / "a.nc")
    assert done.code == 130
    assert "stopped" in done.err


def test_faults_of_ours_are_not_hidden(greymatch, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def faulty(*words: object) -> None:
        raise RuntimeError("a fault")

    monkeypatch.setattr(data_command, "ready", faulty)
    with pytest.raises(RuntimeError, match="a fault"):
        greymatch("data", "pendulum", "--out", tmp_path / "a.nc")
