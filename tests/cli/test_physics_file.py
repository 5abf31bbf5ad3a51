from __future__ import annotations

import sys
from pathlib import Path

import pytest

from greymatch.cli.physics_file import load_physics
from greymatch.errors import GreymatchError

PHYSICS = 'import greymatch as gm\nphysics = gm.Physics(lambda t, x, p: {"a": -x.a}, states=["a"])\nnumber = 3\n'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "decay.py"
    path.write_text(PHYSICS)
    return path


def test_names_a_physics_in_a_file(file: Path) -> None:
    assert load_physics(f"{file}:physics").states == ("a",)


def test_the_only_physics_of_a_file_needs_no_name(file: Path) -> None:
    assert load_physics(str(file)).states == ("a",)


@pytest.mark.parametrize("more", ["other = physics\n", "del physics\n"])
def test_several_or_none_need_one(file: Path, more: str) -> None:
    file.write_text(PHYSICS + more)
    with pytest.raises(GreymatchError, match="takes the only Physics of a file"):
        load_physics(str(file))


def test_file_may_import_from_beside_it_and_leaves_the_path_alone(file: Path) -> None:
    (file.parent / "greymatch_test_rates.py").write_text("STATE = 'a'\n")
    file.write_text("from greymatch_test_rates import STATE\n" + PHYSICS)
    before = list(sys.path)
    assert load_physics(f"{file}:physics").states == ("a",)
    assert sys.path == before


@pytest.mark.parametrize("text", ["decay.txt", "decay:physics", "decay.py:", "decay.py:a b", ":physics", ""])
def test_the_form_is_file_and_name(text: str) -> None:
    with pytest.raises(GreymatchError, match=r"must be FILE\.py:NAME"):
        load_physics(text)


def test_missing_file_suggests_one_beside_it(file: Path) -> None:
    with pytest.raises(GreymatchError, match=r"Did you mean 'decay\.py'"):
        load_physics(f"{file.with_name('decy.py')}:physics")


def test_missing_name_suggests_a_physics(file: Path) -> None:
    with pytest.raises(GreymatchError, match="Did you mean 'physics'"):
        load_physics(f"{file}:phisics")


def test_name_must_be_a_physics(file: Path) -> None:
    with pytest.raises(GreymatchError, match=r"'number' in .* is of type int.*\['physics'\]"):
        load_physics(f"{file}:number")


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (["", "1 / 0"], "at line 2: ZeroDivisionError"),
        (["x = ("], "at line 1: SyntaxError"),
        (["import greymatch_no_such_module"], "at line 1: ModuleNotFoundError"),
        (["", "", "raise SystemExit(3)"], "at line 3: SystemExit: 3"),
        (["import greymatch as gm", "gm.Physics(3, states=['a'])"], "at line 2: greymatch.errors.GreymatchError"),
    ],
)
def test_errors_in_the_file_name_their_line(file: Path, lines: list[str], told: str) -> None:
    file.write_text("\n".join(lines))
    with pytest.raises(GreymatchError, match=told):
        load_physics(f"{file}:physics")
