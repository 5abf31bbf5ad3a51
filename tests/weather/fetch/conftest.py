"""A server on this machine alone, which knows ranges, and breaks connections when told to."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


@dataclass
class Site:
    """Files by path, and how the server behaves."""

    files: dict[str, bytes] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    breaks: list[int] = field(default_factory=list)  # bytes after which each of the next answers ends
    failures: list[int] = field(default_factory=list)  # statuses of the next answers
    ranges: bool = True
    asked: list[tuple[str, str | None]] = field(default_factory=list)  # path and range of each request
    sent: int = 0
    url: str = ""


def handler(site: Site) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.asked.append((self.path, self.headers.get("Range")))
            if site.failures:
                return self.send_error(site.failures.pop(0))
            content = site.files.get(self.path)
            if content is None:
                return self.send_error(404)
            start = self._start(content)
            if start >= len(content):
                return self.send_error(416)
            self._answer(content, start)
            return None

        def _start(self, content: bytes) -> int:
            wanted = self.headers.get("Range")
            same = self.headers.get("If-Range") in (None, version(content))
            return int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and same and site.ranges else 0

        def _answer(self, content: bytes, start: int) -> None:
            self.send_response(206 if start else 200)
            self.send_header("ETag", version(content))
            self.send_header("Content-Length", str(len(content) - start))
            for name, value in site.headers.items():
                self.send_header(name, value)
            self.end_headers()
            body = content[start:]
            body = body[: site.breaks.pop(0)] if site.breaks else body
            site.sent += len(body)
            self.wfile.write(body)
            self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            return None

    return Handler


def version(content: bytes) -> str:
    return f'"{hashlib.md5(content).hexdigest()}"'


@pytest.fixture
def site() -> Iterator[Site]:
    served = Site()
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler(served))
    served.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield served
    server.shutdown()
    server.server_close()
    thread.join()
