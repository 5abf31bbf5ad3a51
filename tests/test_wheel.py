"""The wheel, not the source tree, is what users get: build it, install it alone, use it."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from importlib.metadata import Distribution, PathDistribution, distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

pytestmark = pytest.mark.timeout(900)
ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Environment:
    """An environment that holds the wheel and its pinned dependencies, and nothing else."""

    root: Path

    @property
    def scripts(self) -> Path:
        return self._path("scripts")

    @property
    def packages(self) -> Path:
        return self._path("purelib")

    def _path(self, name: str) -> Path:
        base = str(self.root)
        return Path(sysconfig.get_path(name, "venv", {"base": base, "platbase": base}))

    def run(self, *command: str) -> str:
        return run(str(self.scripts / command[0]), *command[1:], cwd=self.root)


def run(*command: str, cwd: Path, seconds: float = 120) -> str:
    done = subprocess.run(command, cwd=cwd, env=clean_environ(), capture_output=True, text=True, timeout=seconds)
    assert done.returncode == 0, f"{command} failed:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def clean_environ() -> Mapping[str, str]:
    """The process environment less what could let another greymatch in."""
    return {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), cwd=ROOT)
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    made = Environment(tmp_path_factory.mktemp("environment"))
    venv.create(made.root, symlinks=os.name != "nt")
    if os.name != "nt":
        link(dependencies(wheel), made.packages)
    pip = (sys.executable, "-m", "pip", "--python", str(made.scripts / "python"), "--disable-pip-version-check")
    run(*pip, "install", "--quiet", "-c", str(ROOT / "constraints.txt"), str(wheel), cwd=made.root, seconds=600)
    return made


def dependencies(wheel: Path) -> Collection[Distribution]:
    """What the wheel asks for, and that in turn, as far as it is installed here as pinned: pip fetches the rest."""
    (metadata,) = [part for part in zipfile.Path(wheel).iterdir() if part.name.endswith(".dist-info")]
    found: dict[tuple[str, ...], Distribution] = {}
    collect(PathDistribution(metadata), set(), installed_as_pinned(), found)
    return found.values()


def collect(
    asking: Distribution, extras: set[str], here: Mapping[str, Distribution], found: dict[tuple[str, ...], Distribution]
) -> None:
    for need in map(Requirement, asking.requires or ()):
        applies = need.marker is None or any(need.marker.evaluate({"extra": extra}) for extra in ("", *extras))
        name = canonicalize_name(need.name)
        key = (name, *sorted(need.extras))
        if applies and name in here and key not in found:
            found[key] = here[name]
            collect(here[name], need.extras, here, found)


def installed_as_pinned() -> Mapping[str, Distribution]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = {canonicalize_name(pin.name): pin for pin in map(Requirement, (x for x in lines if x and x[0] != "#"))}
    here = {canonicalize_name(one.name): one for one in distributions()}
    return {name: one for name, one in here.items() if name in pins and one.version in pins[name].specifier}


def link(packages: Collection[Distribution], folder: Path) -> None:
    """As if installed: to copy them takes a minute or more."""
    for package in packages:
        for name in {file.parts[0] for file in package.files or ()} - {"..", "__pycache__"}:
            if not (folder / name).exists():
                (folder / name).symlink_to(str(package.locate_file(name)))


def test_wheel_holds_the_whole_package_and_nothing_else(wheel: Path) -> None:
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    source = ROOT / "src"
    tree = {p.relative_to(source).as_posix() for p in source.rglob("*") if is_packaged(p)}
    assert "greymatch/py.typed" in names
    assert names == tree


def is_packaged(path: Path) -> bool:
    return path.is_file() and "__pycache__" not in path.parts


def test_wheel_carries_the_licence(wheel: Path) -> None:
    (name,) = [n for n in zipfile.ZipFile(wheel).namelist() if n.endswith("/LICENSE")]
    assert zipfile.ZipFile(wheel).read(name) == (ROOT / "LICENSE").read_bytes()


def test_an_installed_package_is_all_one_needs(environment: Environment, tmp_path: Path) -> None:
    """In one test, so that one installation serves all wherever tests run."""
    _knows_its_version(environment)
    assert "Usage" in environment.run("greymatch", "--help")
    _fits_forecasts_and_reports(environment, tmp_path)


def _knows_its_version(environment: Environment) -> None:
    code = "import greymatch; print(greymatch.__file__); print(greymatch.__version__)"
    file, version = environment.run("python", "-W", "error", "-c", code).splitlines()
    assert Path(file).is_relative_to(environment.packages)
    assert version == tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


def _fits_forecasts_and_reports(environment: Environment, tmp_path: Path) -> None:
    code = f"""
import greymatch as gm
system = gm.systems.pendulum
train, test = (system.data(split, trajectories=6, points=60) for split in ("train", "test"))
settings = system.preset.updated({{"window": 10, "residual.products": 0}})
model = gm.fit(system.physics, train, steps=5, quiet=True, settings=settings)
model.save(r"{tmp_path / "swing.safetensors"}")
again = gm.load(r"{tmp_path / "swing.safetensors"}")
print(gm.write_report(gm.evaluate(again, test, 10, draws=3), r"{tmp_path / "report.html"}"))
"""
    assert environment.run("python", "-c", code).strip() == str(tmp_path / "report.html")
    assert "The honest table" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_everything_the_package_imports_is_declared() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    optional = [need for extra in declared["optional-dependencies"].values() for need in extra]
    names = {
        re.split(r"[<>=!~\[ ;]", need)[0].replace("-", "_").lower() for need in declared["dependencies"] + optional
    }
    imported = set()
    for file in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                imported.add(node.module.split(".")[0])
    assert imported - set(sys.stdlib_module_names) - {"greymatch"} <= names
