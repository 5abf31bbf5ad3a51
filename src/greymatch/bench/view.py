"""What a benchmark shows of a set of results, and the files it leaves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from greymatch.bench.sheet import Sheet
from greymatch.bench.summary import Result, by_system

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHORT_WARNING = (
    "**Short runs** (`--quick`): the real data and protocol, but a small fraction of the training time, one seed and "
    "few trajectories to validate on and be judged by. They show that everything works and roughly who leads, not what "
    "a method can reach."
)


@dataclass(frozen=True)
class View:
    """Sheets by name (the first has the name of the benchmark), remarks, and a picture if one helps."""

    sheets: Mapping[str, Sheet]
    notes: Sequence[str] = ()
    draw: Callable[[], Figure] | None = None
    alt: str = ""


@dataclass(frozen=True)
class Written:
    """What a view became: the JSON content and the files."""

    content: dict[str, Any]
    files: list[Path] = field(default_factory=list)


def write_view(name: str, view: View, results: Sequence[Result], folder: Path, about: dict[str, Any]) -> Written:
    """NAME.json, NAME.md, NAME.png and a .csv for each sheet, in `folder`."""
    notes = [*([SHORT_WARNING] if about.get("quick") else []), *view.notes, *protocol_notes(results)]
    return write_sheets(name, replace(view, notes=notes, draw=view.draw if results else None), folder, about)


def write_sheets(name: str, view: View, folder: Path, about: dict[str, Any]) -> Written:
    """The same, with no notes but those of the view."""
    from greymatch.bench.pictures import save
    from greymatch.files import write_bytes, write_json

    content = {**about, "notes": list(view.notes), **{sheet: table.plain() for sheet, table in view.sheets.items()}}
    files = [folder / f"{name}{suffix}" for suffix in (".json", ".md")]
    write_json(files[0], content)
    picture = f"![{view.alt}]({name}.png)\n\n" if view.draw else ""
    write_bytes(files[1], (_tables(view) + picture + _listed(view.notes)).encode())
    for sheet, table in view.sheets.items():
        files.append(folder / (f"{name}.csv" if sheet == name else f"{name}-{sheet}.csv"))
        write_bytes(files[-1], table.comma_separated().encode())
    if view.draw:
        files.append(folder / f"{name}.png")
        save(view.draw, files[-1])
    return Written(content, files)


def _tables(view: View) -> str:
    return "".join(f"**{table.title}**\n\n{table.markdown()}\n" for table in view.sheets.values())


def _listed(notes: Sequence[str]) -> str:
    return "".join(f"- {note}\n" for note in notes)


def protocol_notes(results: Sequence[Result]) -> list[str]:
    """How long and on what the runs were made, told by the results themselves."""
    if not results:
        return ["There are no results yet."]
    seconds = [result["training_seconds"] for result in results]
    draws = {system: runs[0]["draws"] for system, runs in by_system(results).items()}
    told = ", ".join(f"{system} {count}" for system, count in draws.items())
    threads = " or ".join(sorted({str(result["machine"]["threads"]) for result in results}))
    return [
        f"{len(results)} runs; training took {min(seconds):.0f} to {max(seconds):.0f} s each, on {threads} CPU thread.",
        f"Members of a forecast: {told}. `MSE` is that of their mean.",
        *_given(results),
    ]


def _given(results: Sequence[Result]) -> list[str]:
    """Which splits were not simulated."""
    found = {
        f"{result['system']}: {split} read from a file (digest {digest})": None
        for result in results
        for split, digest in result["data"].items()
    }
    return [f"{text}." for text in found]
