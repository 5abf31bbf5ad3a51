from __future__ import annotations

import base64
import hashlib
from pathlib import Path

import numpy as np
import pytest

from greymatch.errors import GreymatchError
from greymatch.weather.fetch.digest import Digest, read_digests
from greymatch.weather.fetch.download import ATTEMPTS, Item, download
from greymatch.weather.meter import Silent

CONTENT = np.random.default_rng(0).bytes(3_000_000)


class Counting(Silent):
    def __init__(self) -> None:
        self.begun: list[tuple[int | None, int]] = []
        self.seen = 0

    def begin(self, name: str, total: int | None, done: int = 0) -> None:
        self.begun.append((total, done))

    def advance(self, by: int) -> None:
        self.seen += by


@pytest.fixture
def item(site, tmp_path: Path) -> Item:
    site.files["/big.zip"] = CONTENT
    return Item(f"{site.url}/big.zip", tmp_path / "deep" / "big.zip")


def fetched(item: Item) -> bool:
    """Whether the file is there, whole, and nothing else is."""
    return item.path.read_bytes() == CONTENT and [one.name for one in item.path.parent.iterdir()] == ["big.zip"]


def test_a_file_arrives_with_its_progress(item: Item) -> None:
    meter = Counting()
    download(item, meter)
    assert fetched(item)
    assert (meter.begun, meter.seen) == ([(len(CONTENT), 0)], len(CONTENT))


def test_a_connection_dropped_in_the_middle_is_resumed_by_range(site, item: Item) -> None:
    site.breaks = [1_000_000, 500_000]
    meter = Counting()
    download(item, meter, pause=0)
    assert fetched(item)
    assert [asked for _, asked in site.asked] == [None, "bytes=1000000-", "bytes=1500000-"]
    assert site.sent == len(CONTENT)  # nothing twice
    assert meter.begun[-1] == (len(CONTENT), 1_500_000)


def test_a_later_call_goes_on_where_an_earlier_one_gave_up(site, item: Item) -> None:
    site.breaks = [100_000] * ATTEMPTS
    with pytest.raises(GreymatchError, match="600000 bytes are kept"):
        download(item, Silent(), pause=0)
    assert not item.path.exists()
    download(item, Silent(), pause=0)
    assert fetched(item)
    assert site.sent == len(CONTENT)


def test_a_file_that_changed_in_between_is_fetched_anew(site, item: Item) -> None:
    site.files["/big.zip"] = CONTENT[::-1]
    site.breaks = [100_000] * ATTEMPTS
    with pytest.raises(GreymatchError, match="broke off"):
        download(item, Silent(), pause=0)
    site.files["/big.zip"] = CONTENT
    download(item, Silent(), pause=0)
    assert fetched(item)


def test_a_server_without_ranges_is_asked_for_everything(site, item: Item) -> None:
    site.ranges = False
    site.breaks = [1_000_000]
    download(item, Silent(), pause=0)
    assert fetched(item)
    assert site.sent == len(CONTENT) + 1_000_000


def test_what_is_there_is_not_asked_for_again(site, item: Item) -> None:
    download(item, Silent())
    download(item, Silent())
    assert len(site.asked) == 1


def test_passing_faults_are_tried_again_and_lasting_ones_are_told(site, item: Item) -> None:
    site.failures = [503, 429]
    download(item, Silent(), pause=0)
    assert fetched(item)
    gone = Item(f"{site.url}/nothing", item.path.with_name("nothing"))
    with pytest.raises(GreymatchError, match="nothing answered 404"):
        download(gone, Silent(), pause=0)


def test_a_damaged_file_is_refused(site, item: Item) -> None:
    wrong = Item(item.url, item.path, Digest("sha256", hashlib.sha256(b"other").hexdigest()))
    with pytest.raises(GreymatchError, match="sha256 differs"):
        download(wrong, Silent())
    assert not list(item.path.parent.iterdir())
    right = Item(item.url, item.path, Digest("sha256", hashlib.sha256(CONTENT).hexdigest()))
    download(right, Silent())
    assert fetched(item)


@pytest.mark.parametrize("kind", ["md5", "sha256"])
def test_the_digest_that_a_server_tells_is_checked(site, item: Item, kind: str) -> None:
    def told(content: bytes) -> dict[str, str]:
        value = base64.b64encode(hashlib.new(kind, content).digest()).decode()
        return {"x-goog-hash": f"crc32c=AAAA==,md5={value}"} if kind == "md5" else {"Repr-Digest": f"sha-256=:{value}:"}

    site.headers = told(b"other")
    with pytest.raises(GreymatchError, match=f"{kind} differs"):
        download(item, Silent())
    site.headers = told(CONTENT)
    download(item, Silent())
    assert fetched(item)


def test_only_http_is_fetched(tmp_path: Path) -> None:
    with pytest.raises(GreymatchError, match="must begin with http"):
        download(Item("file:///etc/hosts", tmp_path / "hosts"), Silent())


def test_lists_of_digests_are_read(tmp_path: Path) -> None:
    one, two = hashlib.sha256(b"1").hexdigest(), hashlib.sha512(b"2").hexdigest()
    (tmp_path / "sums").write_text(f"{one}  a/one.zip\n{two.upper()} *two.zip\n")
    assert read_digests(tmp_path / "sums") == {"one.zip": Digest("sha256", one), "two.zip": Digest("sha512", two)}
    (tmp_path / "sums").write_text("not a digest")
    with pytest.raises(GreymatchError, match="got 'not a digest'"):
        read_digests(tmp_path / "sums")
