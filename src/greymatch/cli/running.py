"""The folder of a run as the command line leaves it: how to go on with it, and how to start over."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from greymatch.cli.columns import COMMAND
from greymatch.cli.guard import STOPPED
from greymatch.cli.source import Source
from greymatch.errors import GreymatchError

if TYPE_CHECKING:
    from greymatch.models.greybox import GreyBox
    from greymatch.settings import Settings
    from greymatch.training.progress import Meter, Moment

MACHINES = ("training.devices", "training.nodes", "training.strategy", "training.parts")  # may differ in a run


@dataclass(frozen=True)
class Command:
    """What `fit` was told, enough to go on with it."""

    source: Source
    settings: Settings

    def begin(self, folder: Path) -> None:
        """Write it, but not over the words of a run under way; what cannot be written leaves nothing."""
        from greymatch.training.run import Lock

        with Lock(folder):
            try:
                self.write(folder)
            except GreymatchError:
                sweep(folder)
                raise

    def write(self, folder: Path) -> None:
        from greymatch import __version__
        from greymatch.files import write_json

        tree = {"greymatch": __version__, **self.source.absolute().said(), "settings": self.settings.model_dump()}
        write_json(folder / COMMAND, tree)

    @staticmethod
    def read(folder: Path) -> Command:
        from greymatch.settings import Settings

        path = folder / COMMAND
        if not path.is_file():
            raise GreymatchError(f"`--resume`: {str(folder)!r} holds no run of `greymatch fit`: no {COMMAND} there.")
        try:
            tree = json.loads(path.read_text())
            return Command(Source.of(tree), Settings(**tree["settings"]))
        except (json.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
            raise GreymatchError(f"{str(path)!r} is not what `greymatch fit` wrote ({error!r}). Start anew.") from None

    def on_other_machines(self, changes: dict[str, Any]) -> Command:
        """The same with as many processes as are asked for now, or were launched."""
        from greymatch.training.device import Launched

        usual = dict.fromkeys(("training.devices", "training.nodes"), 1) if Launched.here().count > 1 else {}
        asked = {key: value for key, value in changes.items() if key in MACHINES}
        return replace(self, settings=self.settings.updated({**usual, **asked}))

    def check_same(self, source: Source, changes: dict[str, Any]) -> None:
        """Options given beside --resume must say what the run was started with."""
        mine = self.source.said()
        other = [f"--{name}" for name, value in source.absolute().said().items() if mine.get(name) != value]
        wanted = self.settings.updated(changes)
        changes = {key: value for key, value in changes.items() if key not in MACHINES}
        other += [key for key in changes if wanted != self.settings and _differs(wanted, self.settings, key)]
        if other:
            raise GreymatchError(
                f"a resumed run must be the same run; not as in its {COMMAND}: {', '.join(other)}. "
                "Leave that out, or start a new run with another --out."
            )


def _differs(one: Settings, other: Settings, key: str) -> bool:
    values: list[Any] = [one, other]
    for part in key.split("."):
        values = [getattr(value, part) for value in values]
    return values[0] != values[1]


class Wordless:
    """A meter that leaves the words about a stop to the command, which knows better how to go on."""

    def __init__(self, inner: Meter) -> None:
        self._inner = inner

    def show(self, moment: Moment) -> None:
        self._inner.show(moment)

    def say(self, text: str) -> None:
        from greymatch.training.session import STOPPED

        if not text.startswith(STOPPED):
            self._inner.say(text)

    def close(self) -> None:
        self._inner.close()


def train(how: Callable[[Meter], GreyBox], quiet: bool, again: list[str]) -> GreyBox:
    """The model that `how` fits; when it is stopped, `again` are the words that go on with it."""
    from greymatch.training.progress import meter

    shown = Wordless(meter(quiet))
    try:
        return how(shown)
    except KeyboardInterrupt:
        shown.close()
        typer.echo(f"stopped; nothing is lost. Go on with:\n  {shlex.join(again)}", err=True)
        raise typer.Exit(STOPPED) from None
    finally:
        shown.close()


def started(folder: Path) -> bool:
    """Whether there is a checkpoint to go on from."""
    from greymatch.training.loop import LAST

    return (folder / LAST).exists()


def forget(folder: Path) -> None:
    """Remove the run in `folder`: the files a fit writes, no others, and the folder if nothing else is in it."""
    from greymatch.training.loop import BEST, LAST
    from greymatch.training.run import METRICS, MODEL, PLAN, Lock

    if folder.is_dir():
        with Lock(folder):
            for name in (LAST, BEST, PLAN, COMMAND, MODEL, METRICS):
                (folder / name).unlink(missing_ok=True)
            sweep(folder)


def sweep(folder: Path) -> None:
    """Remove a folder with nothing in it but the lock that we hold."""
    from greymatch.training.run import LOCK

    if {path.name for path in folder.iterdir()} <= {LOCK}:
        with suppress(OSError):
            (folder / LOCK).unlink(missing_ok=True)
            folder.rmdir()
