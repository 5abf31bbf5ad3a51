from __future__ import annotations

import json
import math
import sys
import types
from pathlib import Path

import pytest

from greymatch.training.tracker import JsonlTracker, TensorBoardTracker, WandbTracker


def logged(path: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_each_line_is_an_object_with_its_step(tmp_path: Path):
    tracker = JsonlTracker(tmp_path / "m.jsonl")
    tracker.log(1, {"total": 0.1 + 0.2})
    tracker.log(5, {"total": math.nan, "rate": 1e-30})
    tracker.close()
    first, second = logged(tmp_path / "m.jsonl")
    assert first == {"step": 1, "total": 0.1 + 0.2}
    assert (second["step"], second["rate"]) == (5, 1e-30)
    assert second["total"] is None


def test_lines_are_there_at_once(tmp_path: Path):
    tracker = JsonlTracker(tmp_path / "m.jsonl")
    tracker.log(1, {"a": 1.0})
    assert len(logged(tmp_path / "m.jsonl")) == 1
    tracker.close()


def test_a_new_run_starts_a_new_file(tmp_path: Path):
    (tmp_path / "m.jsonl").write_text('{"step": 1}\n')
    JsonlTracker(tmp_path / "m.jsonl").close()
    assert (tmp_path / "m.jsonl").read_text() == ""


def test_a_resumed_run_cuts_what_came_after_its_checkpoint_and_half_a_line(tmp_path: Path):
    path = tmp_path / "m.jsonl"
    path.write_text("".join(f'{{"step": {step}}}\n' for step in (1, 5, 10, 15)) + '{"step": 2')
    tracker = JsonlTracker(path, resume_from=10)
    tracker.log(12, {})
    tracker.close()
    assert [line["step"] for line in logged(path)] == [1, 5, 10, 12]


def test_a_line_cut_short_before_the_checkpoint_ends_what_is_kept(tmp_path: Path):
    path = tmp_path / "m.jsonl"
    path.write_text('{"step": 1}\n{"st\n{"step": 3}\n')
    JsonlTracker(path, resume_from=10).close()
    assert [line["step"] for line in logged(path)] == [1]


def test_resuming_without_a_file_starts_one(tmp_path: Path):
    tracker = JsonlTracker(tmp_path / "m.jsonl", resume_from=3)
    tracker.log(4, {"a": 1.0})
    tracker.close()
    assert logged(tmp_path / "m.jsonl") == [{"step": 4, "a": 1.0}]


class Recorder:
    """Stands for both services; what it is told is kept."""

    def __init__(self, *arguments: object, **named: object) -> None:
        self.told: list[object] = [*arguments, named]

    def add_scalar(self, name: str, value: float, step: int) -> None:
        self.told.append((name, value, step))

    def log(self, metrics: dict[str, float], step: int) -> None:
        self.told.append((metrics, step))

    def close(self) -> None:
        self.told.append("closed")

    finish = close


def test_tensorboard_gets_scalars(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", types.SimpleNamespace(SummaryWriter=Recorder))
    tracker = TensorBoardTracker(tmp_path)
    tracker.log(7, {"a": 1.0, "b": 2.0})
    tracker.close()
    assert tracker._writer.told == [str(tmp_path), {}, ("a", 1.0, 7), ("b", 2.0, 7), "closed"]  # pyright: ignore[reportAttributeAccessIssue]


def test_weights_and_biases_gets_the_metrics(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "wandb", types.SimpleNamespace(init=Recorder))
    tracker = WandbTracker(project="swings")
    tracker.log(7, {"a": 1.0})
    tracker.close()
    assert tracker._run.told == [{"project": "swings"}, ({"a": 1.0}, 7), "closed"]
