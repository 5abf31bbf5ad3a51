"""A physics from the user's own Python file."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from greymatch.errors import GreymatchError, did_you_mean

if TYPE_CHECKING:
    from greymatch.physics.physics import Physics


def load_physics(text: str) -> Physics:
    """The `Physics` that FILE.py:NAME names, or the only one in FILE.py. The file is run: the user named it."""
    from greymatch.physics.physics import Physics

    path, name = _split(text)
    module = _run(path)
    known = [key for key, value in vars(module).items() if isinstance(value, Physics)]
    if name is None:
        name = _only(known, path)
    if not hasattr(module, name):
        raise GreymatchError(
            f"`--physics` asks for {name!r}, which {str(path)!r} does not define; of kind Physics it has "
            f"{known or 'nothing'}.{did_you_mean(name, known)}"
        )
    found = getattr(module, name)
    if not isinstance(found, Physics):
        raise GreymatchError(
            f"`--physics` must name a Physics; {name!r} in {str(path)!r} is of type {type(found).__name__}. "
            f"Write {name} = gm.Physics(function, states=[...]), or name one of {known}."
        )
    return found


def _only(known: list[str], path: Path) -> str:
    if len(known) != 1:
        raise GreymatchError(
            f"`--physics` without a name takes the only Physics of a file; {str(path)!r} has {known or 'none'}. "
            f"Write one, physics = gm.Physics(...), or name it: --physics {path}:NAME."
        )
    return known[0]


def parted(text: str) -> tuple[str, str | None]:
    """FILE.py:NAME in its two parts; None without a name."""
    file, _, name = text.rpartition(":")
    return (text, None) if text.endswith(".py") else (file, name)


def _split(text: str) -> tuple[Path, str | None]:
    file, name = parted(text)
    if not file.endswith(".py") or not (name is None or name.isidentifier()):
        raise GreymatchError(f"`--physics` must be FILE.py:NAME, such as swing.py:physics; got {text!r}.")
    path = Path(file)
    if not path.is_file():
        beside = [other.name for other in path.parent.glob("*.py")]
        raise GreymatchError(f"`--physics`: no file {file!r}.{did_you_mean(path.name, beside)}")
    return path, name


def _run(path: Path) -> ModuleType:
    name = f"_greymatch_user_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise GreymatchError(f"`--physics`: {str(path)!r} cannot be loaded as Python.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickles in the file look for their module here
    sys.path.insert(0, str(path.resolve().parent))  # what it imports from beside it
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise GreymatchError(
            f"`--physics`: running {str(path)!r} failed{_line(error, path)}: {_text(error)}"
        ) from error
    finally:
        sys.path.remove(str(path.resolve().parent))
    return module


def _line(error: BaseException, path: Path) -> str:
    if isinstance(error, SyntaxError) and error.lineno:
        return f" at line {error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename).resolve() == path.resolve()]
    return f" at line {lines[-1]}" if lines else ""


def _text(error: BaseException) -> str:
    return "".join(traceback.format_exception_only(error)).strip().splitlines()[-1]
