"""Every Python block of the documentation runs, in order, page by page; every command line is one that exists."""

from __future__ import annotations

import re
import shlex
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

from greymatch.cli.app import app
from greymatch.settings import Settings

ROOT = Path(__file__).parents[2]
PAGES = [page for page in sorted((ROOT / "docs").rglob("*.md")) if "_build" not in page.parts]
PAGES += [page for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md") if page.exists()]
FENCE = re.compile(r"^```(?P<language>\w+)(?P<info>[^\n]*)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
MOST_NOT_RUN = 3


@dataclass(frozen=True)
class Block:
    """A fenced block: ```python runs, ```python no-run: reason does not."""

    line: int
    language: str
    info: str
    code: str

    @property
    def runs(self) -> bool:
        return not self.info.startswith("no-run")


def blocks(page: Path, *languages: str) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(text.count("\n", 0, match.start()) + 1, match["language"], match["info"].strip(), match["code"])
        for match in FENCE.finditer(text)
        if match["language"] in languages
    ]


def commands() -> list[Any]:
    """Each `greymatch ...` and `make ...` of the pages, as words."""
    found = []
    for page in PAGES:
        for block in blocks(page, "console", "bash"):
            lines = block.code.replace("\\\n", " ").splitlines()
            for words in (shlex.split(line.removeprefix("$ "), comments=True) for line in lines):
                if words and words[0] in ("greymatch", "make"):
                    found.append(pytest.param(words, id=f"{page.stem}-{block.line}-{'-'.join(words[:2])}"))
    return found


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.stem)
def test_python_blocks_run(page: Path) -> None:
    namespace: dict[str, Any] = {"__name__": "documentation"}
    for block in blocks(page, "python"):
        if block.runs:
            # blank lines before it, so that a traceback names the line of the page
            exec(compile("\n" * block.line + block.code, str(page), "exec"), namespace)


@pytest.mark.usefixtures("roughly")
def test_the_commands_of_the_first_ten_minutes_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the data of the page itself, with a training of a few steps."""
    monkeypatch.chdir(tmp_path)
    page = ROOT / "docs" / "your-own-data.md"
    exec(blocks(page, "python")[0].code, {})
    for words in (param.values[0] for param in commands() if str(param.id).startswith(f"{page.stem}-")):
        few = ["--steps", "4"] if words[1] == "fit" else []
        minutes = words.index("--minutes") if few else None
        asked = words if minutes is None else words[:minutes] + words[minutes + 2 :]
        found = CliRunner().invoke(app, [*asked[1:], *few])
        assert found.exit_code == 0, f"{shlex.join(words)}: {found.output}"
    assert (tmp_path / "forecast.png").stat().st_size > 0


def test_blocks_that_do_not_run_are_few_and_say_why() -> None:
    still = [block for page in PAGES for block in blocks(page, "python") if not block.runs]
    assert len(still) <= MOST_NOT_RUN
    assert all(re.fullmatch(r"no-run: .+", block.info) for block in still)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "toml")], ids=lambda page: page.stem)
def test_toml_blocks_are_settings(page: Path) -> None:
    for block in blocks(page, "toml"):
        Settings().updated(tomllib.loads(block.code))


@cache
def built() -> Any:
    return typer.main.get_command(app)


@pytest.mark.parametrize("words", commands())
def test_commands_exist(words: list[str]) -> None:
    if words[0] == "make":
        assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
        return
    command: Any = built()
    rest = words[1:]
    while rest and rest[0] in getattr(command, "commands", {}):
        command, rest = command.commands[rest[0]], rest[1:]
    if rest == ["--help"]:
        return
    assert not hasattr(command, "commands"), f"{' '.join(words)!r} names no command"
    command.make_context(" ".join(words), list(rest))  # parses the options, and raises where it cannot
