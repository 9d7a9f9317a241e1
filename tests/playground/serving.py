"""A plain file server on loopback that records requests."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


class RecordingHandler(SimpleHTTPRequestHandler):
    """A file server that logs only the requested paths, in `asked`."""

    asked: list[str]

    def __init__(self, *given: Any, asked: list[str], **more: Any) -> None:
        self.asked = asked
        super().__init__(*given, **more)

    def log_message(self, *_: Any) -> None:
        self.asked.append(self.path)


@contextmanager
def serve(folder: Path, asked: list[str]) -> Iterator[str]:
    """Serve a folder on loopback; yield its address."""
    handler = functools.partial(RecordingHandler, directory=str(folder), asked=asked)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()
