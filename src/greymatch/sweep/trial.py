"""One fit of a sweep, one result file; of the data only those to learn from and to validate on are looked at."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from greymatch.bench.jobs import result_file, run_folder
from greymatch.children import end_with_parent
from greymatch.errors import GreymatchError

if TYPE_CHECKING:
    from greymatch.cli.source import Source
    from greymatch.settings import Settings

FORMAT = 1
LONGEST = 100
STOPPED, WRONG_INPUT = 130, 2


@dataclass(frozen=True)
class Trial:
    """What is fitted, with all settings; `changes` are those that the sweep goes over."""

    source: Source
    chosen: Settings
    changes: dict[str, Any]

    @property
    def name(self) -> str:
        """Readable, and the same whatever else the sweep holds."""
        text = ",".join(f"{key}={value}" for key, value in self.changes.items()).replace("/", "_")
        if len(text) > LONGEST:
            text = f"{text[:LONGEST]}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
        return f"{text or self.source.name}-seed{self.chosen.training.seed}"

    def settings(self) -> Settings:
        return self.chosen

    def asked(self) -> dict[str, Any]:
        """What a result must agree with to be the result of this trial."""
        settings = self.chosen.model_dump(mode="json")
        return {"format": FORMAT, "source": self.source.absolute().said(), "settings": settings}

    def stored(self, folder: Path) -> dict[str, Any] | None:
        from greymatch.bench.stored import check_asked, read_result

        path = result_file(self, folder)
        found = read_result(path, FORMAT)
        if found is not None:
            check_asked(path, found, self.asked())
        return found

    def told(self, result: dict[str, Any]) -> str:
        from greymatch.bench.watch import number

        return f"validation error {number(result['validation_error'])}"

    def words(self, out: Path) -> list[str]:
        """The folder holds what `greymatch fit` would have left there, and is all that the program needs."""
        from greymatch.cli.running import Command

        folder = run_folder(out)
        folder.mkdir(parents=True, exist_ok=True)
        Command(self.source, self.chosen).write(folder)
        return ["-m", "greymatch.sweep.trial", str(out)]


def perform(out: Path) -> dict[str, Any]:
    """Fit what the folder of `out` tells, write `out` and return it; a fit cut short goes on where it stopped."""
    from greymatch.bench.result import plain
    from greymatch.cli.running import Command, started
    from greymatch.files import write_json
    from greymatch.training.fit import fit

    folder = run_folder(out)
    told = Command.read(folder)
    problem = told.source.open()
    model = fit(
        problem.physics,
        problem.data,
        problem.validation,
        settings=told.settings,
        start=told.source.start,
        folder=folder,
        resume=started(folder),
    )
    kept = ("validation_error", "validation_coverage", "steps", "best_step", "seconds", "parameters")
    record = {key: model.record[key] for key in kept if key in model.record}
    trial = Trial(told.source, told.settings, {})
    result = plain({**trial.asked(), **record})
    write_json(out, result)
    return result


def main(arguments: Sequence[str]) -> int:
    (out,) = arguments
    end_with_parent()
    try:
        perform(Path(out))
    except GreymatchError as error:
        print(f"error: {error}", file=sys.stderr)
        return WRONG_INPUT
    except KeyboardInterrupt:
        return STOPPED
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
