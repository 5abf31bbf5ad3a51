"""A model that was trained by the command."""

from __future__ import annotations

from pathlib import Path

import pytest

TINY = (
    "net.width=4",
    "net.source_width=4",
    "net.depth=1",
    "net.latents=4",
    "training.batch=4",
    "training.validations=1",
)


@pytest.fixture(scope="session")
def trained(greymatch, atmosphere: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model of a run of three steps."""
    out = tmp_path_factory.mktemp("weather") / "run"
    changes = [word for change in TINY for word in ("--set", change)]
    done = greymatch("weather", "train", "--data", atmosphere, "--out", out, "--steps", 3, *changes, "--json", "-q")
    assert done.code == 0, done.err
    assert done.json["steps"] == 3
    return Path(done.json["model"])
