from __future__ import annotations

import json
from pathlib import Path

import pytest

MODEL = ("run/model.safetensors", "--physics", "swing.py:physics", "--data", "test.nc")


def test_explain_says_known_and_missing(greymatch, user: Path) -> None:
    done = greymatch("explain", *MODEL)
    assert done.code == 0, done.err
    assert "angle'' = known" in done.out
    assert ("refit(data)" in done.out) == ("fidelity" in done.out)  # only where a term was found


def test_the_file_holds_what_is_printed_as_json(greymatch, user: Path) -> None:
    done = greymatch("explain", *MODEL, "--degree", 2, "--out", "missing.json", "--json")
    assert done.code == 0, done.err
    assert json.loads((user / "missing.json").read_text()) == done.json
    assert set(done.json["angle"]) == {"fidelity", "residual_ignored", "terms"}


@pytest.mark.parametrize(
    ("words", "told"), [(["--among", "angle,speed"], "'speed'"), (["--out", "missing.txt"], "must end in .json")]
)
def test_wrong_words_are_told(greymatch, user: Path, words: list[str], told: str) -> None:
    done = greymatch("explain", *MODEL, *words)
    assert done.code == 2
    assert told in done.err
