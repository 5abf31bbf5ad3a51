from __future__ import annotations

from pathlib import Path

import pytest

from greymatch.report import build

MODEL = ("run/model.safetensors", "--physics", "swing.py:physics")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict:
    """What the page was asked to be about; drawing it is tested elsewhere."""
    seen: dict = {}

    def write_report(evaluation, path, **about):
        seen.update(about, evaluation=evaluation)
        Path(path).write_text("<html>")
        return Path(path)

    monkeypatch.setattr(build, "write_report", write_report)
    return seen


def test_report_on_the_users_own_data(greymatch, user: Path) -> None:
    done = greymatch("report", *MODEL, "--data", "test.nc", "--draws", 3, "--out", "pages/report.html", "--json")
    assert done.code == 0, done.err
    assert (user / "pages/report.html").read_text().lstrip().lower().startswith("<!doctype html")
    assert set(done.json["references"]) == {"hold", "zero", "physics only"}
    assert set(done.json["parameters"]) == {"omega"}


def test_report_gives_what_the_page_can_tell(greymatch, user: Path, asked: dict) -> None:
    (user / "train.nc").write_bytes((user / "test.nc").read_bytes())
    done = greymatch("report", *MODEL, "--data", "test.nc", "--train", "train.nc", "--given", 12, "--draws", 2)
    assert done.code == 0, done.err
    assert "per-time mean" in done.out
    assert asked["metrics"] == Path("run/metrics.jsonl")
    assert asked["evaluation"].history.times.shape[1] == 12
    assert asked["advice"].explanation.equations.startswith("angle'' = known")


def test_report_explains_only_where_it_can_and_is_let(greymatch, user: Path, asked: dict) -> None:
    (user / "train.nc").write_bytes((user / "test.nc").read_bytes())
    for words in (("--train", "train.nc", "--no-explain"), ()):
        done = greymatch("report", *MODEL, "--data", "test.nc", *words, "--draws", 2)
        assert done.code == 0, done.err
        assert asked["advice"] is None


def test_data_without_truth_have_no_parameter_errors(greymatch, user: Path, asked: dict) -> None:
    words = ("--data", "train.csv", "--trajectory", "id", "--time", "t", "--draws", 2, "--json")
    done = greymatch("report", *MODEL, *words)
    assert done.code == 0, done.err
    assert done.json["parameters"] == {}
    assert asked["evaluation"].history.times.shape[1] == 10  # the model's window


def test_report_on_a_system_takes_its_own_data(greymatch, small_system, user: Path, asked: dict) -> None:
    done = greymatch("report", *MODEL, "--system", "pendulum", "--draws", 2, "--json")
    assert done.code == 0, done.err
    assert set(done.json["references"]) == {
        "hold",
        "zero",
        "per-time mean",
        "physics only",
        "true equations, mean parameters",
    }


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "needs --data FILE, or --system NAME"),
        (["--data", "tset.nc"], "Did you mean 'test.nc'"),
        (["--data", "test.nc", "--out", "report.pdf"], "must end in .html"),
        (["--data", "test.nc", "--given", "2"], "Give a longer history"),
    ],
)
def test_report_refuses(greymatch, user: Path, words: list[str], told: str) -> None:
    done = greymatch("report", *MODEL, *words)
    assert done.code == 2
    assert told in done.err
