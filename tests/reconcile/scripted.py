"""A management API on a real socket that answers as a test sets, and tools that note their calls.

The broker is simulated; HTTP, processes and the state file are real.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from attrs import define, field

TOOL = """#!/bin/sh
# Called: --node NODE --quiet VERB --vhost=/ [--formatter=json] -- QUEUE [MEMBER]
cd "{folder}"
verb=$4
while [ "$1" != -- ]; do shift; done
echo "$verb $2 $3" >>calls
case "$verb" in *_status) exec cat "./$2.json" ;; esac
if [ -e "on-$verb" ]; then . "./on-$verb"; fi
"""


@define
class Broker:
    """A broker that answers by a script.

    `answers`: by path, the answer that is sent instead of the value: a status, or bytes.
    """

    folder: Path
    nodes: list[dict[str, Any]] = field(factory=list)
    queues: dict[str, dict[str, Any]] = field(factory=dict)
    answers: dict[str, int | bytes] = field(factory=dict)
    asked: list[str] = field(factory=list)
    url: str = ""

    def set_nodes(self, names: str, down: str = "") -> None:
        self.nodes = [{"name": one, "running": one not in down} for one in names + down]

    def set_members(
        self, name: str, members: str, *, online: str | None = None, at: int = 9
    ) -> None:
        """Set the nodes with a replica, in the API and in the answer of the leader, the first."""
        up = members if online is None else online
        self.queues[name] = {
            "name": name,
            "vhost": "/",
            "type": "quorum",
            "leader": members[0],
            "members": list(members),
            "online": list(up),
            "arguments": {},
        }
        self.set_leader_answer(name, members, online=up, at=at)

    def set_leader_answer(
        self, name: str, members: str, *, online: str | None = None, at: int = 9, file: str = ""
    ) -> None:
        """Set the leader's answer; a node that is not online has no index."""
        up = members if online is None else online
        status = [
            {
                "Node Name": one,
                "Raft State": "leader" if one == members[0] else "follower",
                "Log Index": at if one == members[-1] else 9,
                "Commit Index": 9,
            }
            if one in up
            else {"Node Name": one, "Raft State": "noproc", "Log Index": "", "Commit Index": ""}
            for one in members
        ]
        (self.folder / (file or f"{name}.json")).write_text(json.dumps(status))

    def set_tool(self, verb: str, script: str) -> None:
        """Set a tool's behaviour for a call with this verb."""
        (self.folder / f"on-{verb}").write_text(script)

    @property
    def tool(self) -> Path:
        return self.folder / "tool"

    @property
    def calls(self) -> list[str]:
        """Return the calls that change a queue."""
        file = self.folder / "calls"
        lines = file.read_text().splitlines() if file.exists() else []
        return [line for line in lines if "_status" not in line]


@contextmanager
def scripted(folder: Path) -> Iterator[Broker]:
    """Yield a broker whose API listens."""
    broker = Broker(folder)
    broker.tool.write_text(TOOL.format(folder=folder))
    broker.tool.chmod(0o700)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            broker.asked.append(path)
            value = broker.nodes if path == "/api/nodes" else list(broker.queues.values())
            answer = broker.answers.get(path, 200)
            whole = json.dumps(value).encode()
            body = answer if isinstance(answer, bytes) else whole
            # If the bytes begin the true answer, it is sent as one that was cut off.
            length = len(whole if whole.startswith(body) else body)
            self.send_response(200 if isinstance(answer, bytes) else answer)
            self.send_header("Content-Length", str(length))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    broker.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield broker
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
