from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

absent = importlib.util.find_spec("dinosaur") is None


@pytest.mark.skipif(not absent, reason="the dynamical core is installed")
def test_without_the_extra_the_way_to_it_is_told(greymatch, tmp_path: Path) -> None:
    done = greymatch("weather", "simulate", "--years", 1, "--out", tmp_path / "a")
    assert done.code == 2
    assert "pip install 'greymatch[simulate]'" in done.err
    assert not (tmp_path / "a").exists()
