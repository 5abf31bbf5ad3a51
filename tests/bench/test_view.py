from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from greymatch.bench.view import protocol_notes, write_view
from greymatch.bench.views import BENCHMARKS


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_benchmark_writes_its_files(name: str, result: Any, tmp_path: Path) -> None:
    results = [result("vgb-dm", 1.0), result("vgb-dm", 3.0, seed=1), result("vbb-dm", 2.0), result("gb-dm", None)]
    results += [result("vgb-dm", 1.0, label=label) for label in ("whole", "net")]  # of an ablation
    written = write_view(name, BENCHMARKS[name].view(results), results, tmp_path, {"quick": False})
    assert {path.name for path in written.files} == {path.name for path in tmp_path.iterdir()}
    assert {f"{name}.{suffix}" for suffix in ("json", "csv", "md", "png")} <= {path.name for path in written.files}
    assert json.loads((tmp_path / f"{name}.json").read_text()) == written.content
    assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert f"]({name}.png)" in (tmp_path / f"{name}.md").read_text()


@pytest.mark.parametrize("name", BENCHMARKS)
def test_nothing_to_show_is_said_and_not_a_crash(name: str, tmp_path: Path) -> None:
    write_view(name, BENCHMARKS[name].view([]), [], tmp_path, {})
    assert "There are no results yet." in (tmp_path / f"{name}.md").read_text()


def test_short_runs_are_labelled_in_every_text(result: Any, tmp_path: Path) -> None:
    results = [result("vgb-dm", 1.0)]
    for quick in (True, False):
        content = write_view("elbo", BENCHMARKS["elbo"].view(results), results, tmp_path, {"quick": quick}).content
        assert ("Short runs" in (tmp_path / "elbo.md").read_text()) is quick
        assert any("Short runs" in note for note in content["notes"]) is quick


def test_notes_tell_time_draws_and_data_that_were_given(result: Any) -> None:
    field = result("vgb-dm", 1.0, system="reaction_diffusion", draws=5, training_seconds=99.6, data={"train": "abc"})
    notes = "\n".join(protocol_notes([result("vgb-dm", 1.0), field]))
    assert "2 runs; training took 10 to 100 s each, on 1 CPU thread." in notes
    assert "pendulum 100, reaction_diffusion 5" in notes
    assert "reaction_diffusion: train read from a file (digest abc)." in notes
