"""A catalogue of bad input on the command line: each ends with code 2, one screen that names the fault, no files."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from greymatch.files import read_tensors, write_tensors
from greymatch.models.file import FORMAT
from greymatch.training.run import Lock

FIT = (
    "fit",
    "--physics",
    "swing.py:physics",
    "--data",
    "train.csv",
    "--trajectory",
    "id",
    "--time",
    "t",
    "--steps",
    "2",
)
MODEL = ("run/model.safetensors", "--physics", "swing.py:physics")
FORECAST = ("forecast", *MODEL, "--history", "test.nc", "--until", "1.0", "--to", "3.0", "--out", "out.nc")
INFER = ("infer", *MODEL, "--history", "test.nc", "--out", "out.csv")
REPORT = ("report", *MODEL, "--data", "test.nc", "--out", "out.html")
SCREEN = 2000  # characters

Change = Callable[[Path], object]


def tree(folder: Path) -> dict[str, bytes]:
    """Every file and its content, but for locks, which are empty, and what Python compiles."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {str(path): path.read_bytes() for path in files if path.name != ".lock" and path.suffix != ".pyc"}


def refused(greymatch: Any, folder: Path, words: tuple[object, ...], told: str) -> None:
    before = tree(folder)
    done = greymatch(*words)
    said = done.err + done.out
    assert done.code == 2, said
    assert told in said
    assert len(said) < SCREEN
    assert "Traceback" not in said
    assert tree(folder) == before


def replaced(old: str, new: str) -> Change:
    """swing.py with one thing in it changed."""

    def change(folder: Path) -> None:
        text = (folder / "swing.py").read_text()
        assert old in text
        (folder / "swing.py").write_text(text.replace(old, new))

    return change


EQUATION = '{"angle": -p.omega**2 * torch.sin(x.angle)}'
PRIOR = "gm.Uniform(0.785, 3.14)"
PHYSICS: list[tuple[str, Change, str]] = [
    ("syntax error", replaced("return {", "return {{"), "failed at line 5"),
    ("indentation", replaced("    return", "return"), "IndentationError"),
    ("fails when run", replaced("import torch\n", "import torch\n1 / 0\n"), "at line 2: ZeroDivisionError"),
    ("missing package", replaced("import torch\n", "import torchh\n"), "No module named 'torchh'"),
    ("exits", replaced("number = 3", "raise SystemExit(0)"), "SystemExit"),
    ("no such name", replaced("physics =", "physiks ="), "Did you mean 'physiks'"),
    ("no physics", replaced("physics = gm.Physics(swing,", "physics = dict("), "is of type dict"),
    ("wrong key", replaced('{"angle":', '{"angel":'), "Did you mean 'angle'"),
    ("missing state", replaced(EQUATION, "{}"), "missing ['angle'], extra none"),
    ("extra state", replaced(EQUATION, EQUATION[:-1] + ', "speed": x.angle}'), "extra ['speed']"),
    ("wrong shape", replaced(EQUATION, '{"angle": torch.ones(3)}'), "returned shape (3,) for state 'angle'"),
    ("not a number", replaced(EQUATION, '{"angle": torch.sqrt(-1 - x.angle**2)}'), "must be finite over its prior"),
    ("infinite in a corner", replaced("-p.omega**2", "1 / torch.relu(p.omega - 1)"), "must be finite over its prior"),
    ("returns a tensor", replaced(EQUATION, "-x.angle"), "must return a dict with keys ['angle']; got Tensor"),
    ("unknown parameter", replaced("p.omega**2", "p.omga**2"), "Did you mean 'omega'"),
    ("unknown state", replaced("x.angle)", "x.angel)"), "Did you mean 'angle'"),
    ("math for torch", replaced("torch.sin", "__import__('math').sin"), "use torch functions, not math or numpy"),
    ("mixes rows", replaced("torch.sin(x.angle)", "(x.angle - x.angle.mean())"), "treat rows of a batch independently"),
    ("writes to a view", replaced("    return", "    x.angle = 0\n    return"), "is read-only"),
    ("wrong signature", replaced("swing(t, x, p)", "swing(t, x)"), "must take f(t, x, p); got swing(t, x)"),
    ("prior upside down", replaced(PRIOR, "gm.Uniform(3.14, 0.785)"), "Uniform"),
    ("prior without spread", replaced(PRIOR, "gm.Normal(1.0, 0.0)"), "must be positive"),
    ("prior that is text", replaced(PRIOR, "'wide'"), "'wide'"),
    ("third order", replaced("order=2", "order=3"), "`order` must be 1 or 2; got 3"),
    ("states as text", replaced('states=["angle"]', 'states="angle"'), "must be a list of names"),
    ("state with a blank", replaced('states=["angle"]', 'states=["the angle"]'), "must be plain names"),
    ("state twice", replaced('states=["angle"]', 'states=["angle", "angle"]'), "no name twice"),
    ("complete misspelt", replaced("order=2", 'order=2, complete=["angel"]'), "`complete` must name states"),
    ("inputs not in the data", replaced("order=2", 'order=2, inputs=["push"]'), "must take f(t, x, p, u)"),
    ("fields for a table", replaced("order=2", 'order=2, grid=["x"]'), "grid axes ['x']"),
    ("other states", replaced('states=["angle"]', 'states=["tilt"]'), "`states` asks for 'tilt'"),
]


@pytest.mark.parametrize(("change", "told"), [pytest.param(*case[1:], id=case[0]) for case in PHYSICS])
def test_bad_physics(greymatch, user: Path, change: Change, told: str) -> None:
    change(user)
    refused(greymatch, user, (*FIT, "--out", "new"), told)
    assert not (user / "new").exists()


@pytest.mark.parametrize(
    ("physics", "told"),
    [
        ("none.py:physics", "no file 'none.py'"),
        ("none.py", "no file 'none.py'"),
        ("swing.txt:physics", "must be FILE.py:NAME"),
        ("run:physics", "must be FILE.py:NAME"),
        ("swing.py:number", "is of type int"),
    ],
)
def test_bad_names_of_physics(greymatch, user: Path, physics: str, told: str) -> None:
    refused(greymatch, user, ("fit", "--physics", physics, "--data", "train.csv"), told)
    refused(greymatch, user, ("check", "--physics", physics, "--data", "train.csv"), told)


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("residual.widht=3", "Did you mean 'residual.width'"),
        ("nothing=3", "unknown setting 'nothing'"),
        ("window", "must be KEY=VALUE"),
        ("window=", "must be a TOML scalar"),
        ("window=[3]", "must be one value"),
        ("window=1", "greater than or equal to 2; got 1"),
        ("window=2.5", "got 2.5"),
        ("shortest=50", "must not exceed 'window'"),
        ("training.batch=0", "greater than or equal to 1; got 0"),
        ("training.rate=-1", "greater than 0; got -1"),
        ("training.rate=nan", "got nan"),
        ("training.rate=inf", "got inf"),
        ("matching.horizon=inf", "got inf"),
        ("training.warmup=1.5", "less than 1; got 1.5"),
        ("training.minutes=0", "greater than 0; got 0"),
        ("training.precision=8", "got 8"),
        ("training.device=gpu", "must be auto, cpu, cuda or cuda:N; got 'gpu'"),
        ("training.device=cuda:99", "is not there"),
        ("encoder.kind=transformer", "'mlp', 'gru' or 'conv'; got 'transformer'"),
        ("residual.kind=conv", "needs physics with 1 to 3 grid axes; got 0"),
        ("residual.degree=9", "less than or equal to 5; got 9"),
        ("matching.interpolant=quartic", "`interpolant` must be one of"),
        ("matching.interpolant=linear", "has no acceleration to match"),
        ("matching.interpolant=lagrange", "must read like 'lagrange-5'"),
        ("matching.horizon=-2", "greater than 0; got -2"),
        ("window=40", "leave a future"),
        ("window=400", "leave a future"),
        ("method=vgb", "Did you mean 'vgb-dm'"),
    ],
)
def test_bad_settings(greymatch, user: Path, setting: str, told: str) -> None:
    refused(greymatch, user, (*FIT, "--set", setting, "--out", "new"), told)
    assert not (user / "new").exists()


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"[residual]\nwidht = 3\n", "Did you mean 'residual.width'"),
        (b"[residul]\nwidth = 3\n", "Did you mean 'residual.width'"),
        (b"window = \n", "must be a TOML file that can be read"),
        (b"window = 26\nwindow = 27\n", "must be a TOML file that can be read"),
        (b"window = '\xff\xfe'\n", "must be a TOML file that can be read"),
        (b"[window]\nsize = 3\n", "unknown setting 'window.size'"),
        (b"residual = 3\n", "residual"),
        (b"window = true\n", "window"),
    ],
)
def test_bad_settings_files(greymatch, user: Path, content: bytes, told: str) -> None:
    (user / "a.toml").write_bytes(content)
    refused(greymatch, user, (*FIT, "--config", "a.toml"), told)
    refused(greymatch, user, (*FIT, "--config", "."), "must be a TOML file that can be read")


def cut(part: float) -> Change:
    def change(folder: Path) -> None:
        path = folder / "run/model.safetensors"
        path.write_bytes(path.read_bytes()[: int(part * path.stat().st_size)])

    return change


def flipped(folder: Path) -> None:
    path = folder / "run/model.safetensors"
    content = bytearray(path.read_bytes())
    content[-50] ^= 1
    path.write_bytes(content)


def rewritten(**changes: Any) -> Change:
    def change(folder: Path) -> None:
        tensors, header = read_tensors(folder / "run/model.safetensors")
        write_tensors(folder / "run/model.safetensors", tensors, header | changes)

    return change


MODELS: list[tuple[str, Change, str]] = [
    ("empty", cut(0), "is not a whole greymatch file"),
    ("cut in its header", cut(0.01), "is not a whole greymatch file"),
    ("cut in its weights", cut(0.9), "is not a whole greymatch file"),
    ("tampered with", flipped, "was changed after it was written"),
    ("of a newer version", rewritten(format=FORMAT + 1), "Upgrade it"),
    ("of another kind", rewritten(kind="run"), "holds a 'run', not a model"),
    ("without settings", rewritten(settings=None), "lacks ['settings']"),
    ("with other shapes", rewritten(shapes={"window": 3}), "does not hold the model its header describes"),
    ("with unknown settings", rewritten(settings={"windw": 3}), "unknown setting 'windw'"),
    ("a table", lambda folder: (folder / "run/model.safetensors").write_text("a,b\n1,2\n"), "is not a whole"),
    ("gone", lambda folder: (folder / "run/model.safetensors").unlink(), "does not exist"),
    ("of other physics", replaced("0.785", "0.1"), "`physics` must be the one"),
]


@pytest.mark.parametrize("words", [FORECAST, INFER, REPORT], ids=lambda words: words[0])
@pytest.mark.parametrize(("change", "told"), [pytest.param(*case[1:], id=case[0]) for case in MODELS])
def test_bad_models(greymatch, user: Path, words: tuple[str, ...], change: Change, told: str) -> None:
    change(user)
    refused(greymatch, user, words, told)


@pytest.mark.parametrize(("change", "told"), [pytest.param(*case[1:], id=case[0]) for case in MODELS[:6]])
def test_bad_models_to_start_from(greymatch, user: Path, change: Change, told: str) -> None:
    change(user)
    refused(greymatch, user, (*FIT, "--start", "run/model.safetensors"), told)


def test_a_model_of_ones_own_physics_needs_it(greymatch, user: Path) -> None:
    refused(greymatch, user, ("infer", MODEL[0], "--history", "test.nc"), "--physics FILE.py:NAME")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("forcast",), "forecast"),
        (("fit", "--minuts", "3"), "--minutes"),
        (("fit", "--steps", "many"), "--steps"),
        ((*FIT, "more", "words"), "unexpected extra argument"),
        ((*FIT, "--seed", "1", "--set", "training.seed=2"), "say the same"),
        ((*FIT, "--system", "pendulum"), "leave out --physics"),
        ((*FIT, "--data", "nowhere.csv"), "no file 'nowhere.csv'"),
        ((*FIT, "--trajectory", "ids"), "Did you mean 'id'"),
        (("fit", "--resume", "nowhere"), "no command.json there"),
        (("forecast",), "Missing"),
        ((*FORECAST, "--times", "1:2:0.1"), "one of them"),
        ((*FORECAST[:-4], "--out", "out.nc"), "needs --times START:STOP:STEP or --to T"),
        ((*FORECAST, "--draws", "0"), "--draws"),
        ((*FORECAST, "--out", "test.nc"), "`--out` must not be the file that is read"),
        ((*INFER, "--out", "test.nc"), "`--out` must not be the file that is read"),
        ((*FIT, "--minutes", "inf"), "training.minutes"),
        ((*FIT, "--time", "id"), "`trajectory` and `time` must name two columns; got 'id' for both"),
        (("infer", "run", "--physics", "swing.py", "--history", "test.nc"), "'run' is a folder. Name the file"),
        ((*FORECAST, "--out", "out.docx"), "must end in"),
        ((*FORECAST, "--plot", "out.gif"), "must end in .png"),
        ((*FORECAST, "--until", "-5"), "empty"),
        ((*FORECAST, "--to", "0.5"), "must lie a step"),
        ((*INFER, "--level", "90"), "90"),
        ((*INFER, "--history", "nowhere.nc"), "no file 'nowhere.nc'"),
        ((*REPORT, "--given", "0"), "--given"),
        (("report", *MODEL), "needs --data FILE, or --system NAME"),
    ],
)
def test_bad_options(greymatch, user: Path, words: tuple[str, ...], told: str) -> None:
    refused(greymatch, user, words, told)


def test_a_second_run_in_the_same_folder_is_kept_out(greymatch, user: Path) -> None:
    (user / "busy").mkdir()
    with Lock(user / "busy"):
        refused(greymatch, user, (*FIT, "--out", "busy"), "is in use by another run")


@pytest.mark.parametrize("words", [FIT, FORECAST, INFER, REPORT], ids=lambda words: words[0])
def test_a_folder_that_cannot_be_made(greymatch, user: Path, words: tuple[str, ...]) -> None:
    place = "test.nc/new" if words is FIT else f"test.nc/{words[-1]}"
    refused(greymatch, user, (*words, "--out", place), "cannot be made")


@pytest.mark.parametrize("words", [INFER, REPORT, ("init", "tank")], ids=lambda words: words[0])
def test_a_full_disk_leaves_nothing_half_written(
    greymatch, user: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setattr(os, "fsync", full)
    refused(greymatch, user, words, "No space left on device")


def test_a_disk_that_fills_up_leaves_no_model(greymatch, user: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", full)
    refused(greymatch, user, (*FIT, "--out", "new"), "No space left on device")
    assert not (user / "new").exists()


def full(descriptor: int) -> None:
    raise OSError(28, "No space left on device")
