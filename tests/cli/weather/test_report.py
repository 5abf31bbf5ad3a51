from __future__ import annotations

import re
from pathlib import Path


def test_the_page_shows_all_sections(greymatch, trained: Path, atmosphere: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    words = ("--years", "2017", "--every", 400, "--leads", 12, "--out", page, "--json")
    done = greymatch("weather", "report", trained, "--data", atmosphere, *words)
    assert done.code == 0, done.err
    assert done.json["models"] == ["vgb-dm"]
    text = page.read_text()
    assert re.findall(r'<section id="(\w+)"', text) == ["leads", "errors", "forecast", "winds", "waves", "remake"]
    assert text.count("<svg") == 6
    assert "of 10 cells of field and lead" in text  # five fields, two leads
    assert "http://" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", text)


def test_models_of_one_method_are_told_apart(greymatch, trained: Path, atmosphere: Path, tmp_path: Path) -> None:
    other = tmp_path / "other" / "model.safetensors"
    other.parent.mkdir()
    other.write_bytes(trained.read_bytes())
    words = ("--years", "2017", "--every", 700, "--leads", 6, "--out", tmp_path / "page.html", "--json")
    done = greymatch("weather", "report", trained, other, "--data", atmosphere, *words)
    assert done.code == 0, done.err
    assert done.json["models"] == ["vgb-dm run", "vgb-dm other"]
