"""The page as a whole: it parses, stands alone, and lets no one's text become markup."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

import pytest

from greymatch.report.build import write_report
from greymatch.systems import pendulum

SECTIONS = (
    "summary",
    "forecasts",
    "parameters",
    "missing",
    "trust",
    "learning",
    "leads",
    "table",
    "share",
    "failures",
    "remake",
)
VOID = {"meta", "br", "img", "link", "input", "hr"}
EVIL = "<script>alert(1)</script>"


@dataclass
class Page(HTMLParser):
    """What a browser would see."""

    source: str
    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    text: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.feed(self.source)
        self.close()

    def handle_starttag(self, tag, attrs) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data) -> None:
        self.text.append(data)

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.text).split())

    def all(self, attribute: str) -> list[str]:
        return [attrs[attribute] or "" for _, attrs in self.tags if attribute in attrs]


def written(evaluation, path: Path, **options) -> Page:
    return Page(write_report(evaluation, path, **options).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("report")


@pytest.fixture
def full(make, folder: Path) -> Page:
    """A page with everything on it, and text from someone who means harm."""
    path = folder / "full.html"
    if not path.exists():
        metrics = folder / "metrics.jsonl"
        records = [{"step": s, "elapsed": s / 8, "matching": 4.0, "forecast_mse": 1.0 / s} for s in (100, 500, 600)]
        metrics.write_text("\n".join(json.dumps(record) for record in records))
        evaluation = make(
            failed=4,
            states=("angle", "speed"),
            labels=[EVIL, '"><img src="http://example.org/x">', *"cdefghi"],
            units={"angle": "<b>rad</b>", "time": "' onload='x"},
        )
        write_report(evaluation, path, evaluation.test, pendulum, metrics, f"greymatch {EVIL}", f"Title {EVIL}")
    return Page(path.read_text(encoding="utf-8"))


def test_page_is_whole_and_has_every_section(full: Page) -> None:
    assert full.open == []
    ids = full.all("id")
    assert len(ids) == len(set(ids))
    assert set(SECTIONS) <= set(ids)
    assert {link[1:] for link in full.all("href") if link.startswith("#")} <= set(ids)


def test_nothing_comes_from_elsewhere(full: Page) -> None:
    links = [link for name in ("src", "href", "xlink:href", "data", "srcset", "action") for link in full.all(name)]
    assert all(link.startswith(("#", "data:image/png;base64,")) for link in links)
    assert not {"script", "iframe", "object", "embed", "img", "base"} & {tag for tag, _ in full.tags}
    assert all(target.startswith("#") for target in re.findall(r"url\(([^)]*)\)", full.source))
    assert "@import" not in full.source
    (policy,) = [attrs["content"] for tag, attrs in full.tags if attrs.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None
    assert "default-src 'none'" in policy


def test_text_of_users_stays_text(full: Page) -> None:
    assert not any(name.startswith("on") for _, attrs in full.tags for name in attrs)
    for text in (f"Title {EVIL}", f"greymatch {EVIL}", f"Trajectory {EVIL}", "angle (<b>rad</b>)"):
        assert text in full.words


def test_figures_and_tables_can_be_read_aloud(full: Page) -> None:
    drawings = [attrs for tag, attrs in full.tags if tag == "svg" and "aria-hidden" not in attrs]
    assert len(drawings) >= 10
    assert all(attrs["role"] == "img" and attrs["aria-label"] for attrs in drawings)
    assert all(attrs.get("scope") in ("col", "row") for tag, attrs in full.tags if tag == "th")


def test_page_is_small_and_leaves_nothing_beside_it(full: Page, folder: Path) -> None:
    assert len(full.source.encode()) < 1_000_000
    assert sorted(path.name for path in folder.glob(".*")) == []


def test_works_with_the_evaluation_alone(make, tmp_path: Path) -> None:
    page = written(make(known=False, trajectories=1), tmp_path / "new" / "page.html")
    assert page.open == []
    assert "No metrics of the run were given" in page.words
    assert "waves: model report" in page.words


def test_black_box_on_a_grid(make, tmp_path: Path) -> None:
    evaluation = make(trajectories=2, grid=(5, 6), states=("u",), method="vbb-dm", draws=3)
    page = written(evaluation, tmp_path / "page.html")
    assert "The model infers no parameters." in page.words
    assert "on a grid of 5 × 6" in page.words


def test_two_threads_write_at_once(make, tmp_path: Path) -> None:
    evaluation = make(trajectories=1)
    paths = [tmp_path / f"{name}.html" for name in "ab"]
    with ThreadPoolExecutor(2) as pool:
        pages = [page.read_text() for page in pool.map(lambda path: write_report(evaluation, path), paths)]
    first, second = (re.sub(r"Written by greymatch, [^.]*", "", page) for page in pages)
    assert first == second
