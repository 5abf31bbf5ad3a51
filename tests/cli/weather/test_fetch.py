from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

CONTENT = b"CDF" * 5000


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        return None


@pytest.fixture
def mirror(tmp_path: Path) -> Iterator[str]:
    """A mirror that has nothing but the constants."""
    (tmp_path / "served" / "constants").mkdir(parents=True)
    (tmp_path / "served" / "constants" / "constants_5.625deg.nc").write_bytes(CONTENT)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path / "served")))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_what_the_mirror_has_arrives_and_what_it_lacks_is_told(greymatch, mirror: str, tmp_path: Path) -> None:
    done = greymatch("weather", "fetch", "--out", tmp_path / "wb", "--from", mirror, "--fields", "t2m")
    assert done.code == 2
    assert "2m_temperature_5.625deg.zip answered 404" in done.err
    assert "constants_5.625deg.nc  100 %" in done.err
    assert (tmp_path / "wb" / "constants" / "constants_5.625deg.nc").read_bytes() == CONTENT


def test_a_wrong_checksum_is_told(greymatch, mirror: str, tmp_path: Path) -> None:
    (tmp_path / "sums").write_text("0" * 64 + "  constants_5.625deg.nc\n")
    asked = ("--out", tmp_path / "wb", "--from", mirror, "--checksums", tmp_path / "sums", "--quiet")
    done = greymatch("weather", "fetch", *asked)
    assert done.code == 2
    assert "sha256 differs" in done.err


@pytest.mark.parametrize(
    ("option", "value", "message"), [("--years", "2018-2006", "such as 2006-2018"), ("--fields", "z50", "among z500")]
)
def test_bad_options_are_told(greymatch, tmp_path: Path, option: str, value: str, message: str) -> None:
    done = greymatch("weather", "fetch", "--out", tmp_path, option, value)
    assert (done.code, message in done.err) == (2, True)


@pytest.mark.parametrize("command", ["fetch", "simulate"])
def test_help_ends_with_an_example(greymatch, command: str) -> None:
    done = greymatch("weather", command, "--help")
    assert done.code == 0
    assert f"greymatch weather {command}" in done.out.split("Example")[1]
