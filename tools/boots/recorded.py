"""Small servers with real sockets that answer as Consul and Kubernetes' API did when recorded.

No package has either, so these servers replace them.  Their answers have the recorded methods,
paths, fields and statuses, and tests with them do not show more than that.
"""

from __future__ import annotations

import json
import threading
import time
from abc import ABC, abstractmethod
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from attrs import define, field

Answer = tuple[int, Any]


@define(eq=False)
class Recorded(ABC):
    """A server's state under one lock.  `seen`: method, path and headers of each request."""

    lock: threading.Condition = field(factory=threading.Condition)
    index: Iterator[int] = field(factory=lambda: count(1))
    seen: list[tuple[str, str, dict[str, str]]] = field(factory=list)
    port: int = 0

    def asked(self, method: str, target: str, headers: dict[str, str], body: str) -> Answer:
        """Record a request, and return the answer."""
        parts = urlsplit(target)
        path = [unquote(one) for one in parts.path.strip("/").split("/")]
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        with self.lock:
            self.seen.append((method, target, headers))
            return self.answer(method, path, query, body)

    @abstractmethod
    def answer(self, method: str, path: list[str], query: dict[str, str], body: str) -> Answer:
        """Return the status, and the answer as a JSON tree."""


@define(eq=False)
class ConsulServer(Recorded):
    """One Consul agent: services by id, sessions, keys."""

    services: dict[str, dict[str, Any]] = field(factory=dict)
    status: dict[str, str] = field(factory=dict)
    sessions: set[str] = field(factory=set)
    keys: dict[str, dict[str, Any]] = field(factory=dict)

    def answer(self, method: str, path: list[str], query: dict[str, str], body: str) -> Answer:
        match method, path:
            case "PUT", ["v1", "agent", "service", "register"]:
                tree = json.loads(body)
                before = self.services.get(tree["ID"], {})
                tree["CreateIndex"] = before.get("CreateIndex", next(self.index))
                self.services[tree["ID"]] = tree
                self.status[tree["ID"]] = tree.get("Check", {}).get("Status", "passing")
                return 200, None
            case "PUT", ["v1", "agent", "service", "deregister", name]:
                if self.services.pop(name, None) is None:
                    return 404, f"Unknown service ID {name!r}"
                return 200, None
            case "PUT", ["v1", "agent", "check", "pass", check]:
                if check.removeprefix("service:") not in self.services:
                    return 404, f"Unknown check ID {check!r}"
                self.status[check.removeprefix("service:")] = "passing"
                return 200, None
            case "GET", ["v1", "health", "service", name]:
                return 200, [*self._healthy(name, query)]
            case "PUT", ["v1", "session", "create"]:
                session = f"session-{next(self.index)}"
                self.sessions.add(session)
                return 200, {"ID": session}
            case "PUT", ["v1", "session", "renew", session]:
                return (200, [{"ID": session}]) if session in self.sessions else (404, "gone")
            case "PUT", ["v1", "session", "destroy", session]:
                self.sessions.discard(session)
                for entry in self.keys.values():
                    if entry.get("Session") == session:
                        del entry["Session"]
                        entry["ModifyIndex"] = next(self.index)
                self.lock.notify_all()
                return 200, True
            case _, ["v1", "kv", *key]:
                return self._answer_key(method, "/".join(key), query, body)
        return 404, "no such path"

    def _healthy(self, name: str, query: dict[str, str]) -> Iterator[dict[str, Any]]:
        for one in self.services.values():
            status = self.status[one["ID"]]
            if one["Name"] != name or ("passing" in query and status != "passing"):
                continue
            if "tag" in query and query["tag"] not in one.get("Tags", ()):
                continue
            service = {key: one.get(key) for key in ("ID", "Meta", "CreateIndex", "Port")}
            yield {
                "Node": {"Node": "machine"},
                "Service": service | {"Address": one.get("Address", "")},
                "Checks": [{"Status": "passing"}, {"Status": status}],
            }

    def _answer_key(self, method: str, key: str, query: dict[str, str], body: str) -> Answer:
        there = self.keys.get(key)
        if method == "GET":
            until = time.monotonic() + float(query.get("wait", "0s").rstrip("s"))
            while there and there["ModifyIndex"] == int(query.get("index", -1)):
                left = until - time.monotonic()
                if left <= 0 or not self.lock.wait(left):
                    break
                there = self.keys.get(key)
            return (200, [there]) if there else (404, None)
        if method == "DELETE":
            for one in [one for one in self.keys if one.startswith(key) and "recurse" in query]:
                del self.keys[one]
            return 200, True
        if "cas" in query and there is not None:
            return 200, False
        entry = dict(there or {})
        if "acquire" in query:
            session = query["acquire"]
            if session not in self.sessions or entry.get("Session") not in (None, session):
                return 200, False
            entry["Session"] = session
        if "release" in query and entry.pop("Session", None) != query["release"]:
            return 200, False
        entry["Value"] = b64encode(body.encode()).decode()
        entry["ModifyIndex"] = next(self.index)
        self.keys[key] = entry
        self.lock.notify_all()
        return 200, True


@define(eq=False)
class K8sServer(Recorded):
    """Endpoints, leases and events of one namespace; callers without the `token` are refused."""

    token: str = "a-token"
    endpoints: dict[str, Any] = field(factory=dict)
    leases: dict[str, dict[str, Any]] = field(factory=dict)
    events: list[dict[str, Any]] = field(factory=list)

    def answer(self, method: str, path: list[str], query: dict[str, str], body: str) -> Answer:
        del query
        if self.seen[-1][2].get("authorization") != f"Bearer {self.token}":
            return 403, {"kind": "Status", "code": 403}
        match method, path:
            case "GET", ["api", "v1", "namespaces", _, "endpoints", name]:
                if name not in self.endpoints:
                    return 404, {"kind": "Status", "code": 404}
                return 200, {"kind": "Endpoints", "subsets": self.endpoints[name]}
            case "POST", ["api", "v1", "namespaces", _, "events"]:
                self.events.append(json.loads(body))
                return 201, {"kind": "Event"}
            case _, ["apis", "coordination.k8s.io", "v1", "namespaces", _, "leases", *name]:
                return self._answer_lease(method, name, body)
        return 404, {"kind": "Status", "code": 404}

    def _answer_lease(self, method: str, name: list[str], body: str) -> Answer:
        tree = json.loads(body) if body else {}
        if method == "POST":
            if tree["metadata"]["name"] in self.leases:
                return 409, {"kind": "Status", "reason": "AlreadyExists"}
            return 201, self._store_lease(tree)
        there = self.leases.get(name[0])
        if there is None:
            return 404, {"kind": "Status", "code": 404}
        version = there["metadata"]["resourceVersion"]
        if method == "PUT":
            if tree["metadata"]["resourceVersion"] != version:
                return 409, {"kind": "Status", "reason": "Conflict"}
            return 200, self._store_lease(tree)
        if method == "DELETE":
            if tree["preconditions"]["resourceVersion"] != version:
                return 409, {"kind": "Status", "reason": "Conflict"}
            del self.leases[name[0]]
        return 200, there

    def _store_lease(self, lease: dict[str, Any]) -> dict[str, Any]:
        lease["metadata"]["resourceVersion"] = str(next(self.index))
        self.leases[lease["metadata"]["name"]] = lease
        return lease


def written(tree: Any) -> str:
    """Return the body of an answer: text, or a tree as JSON."""
    if tree is None:
        return ""
    return tree if isinstance(tree, str) else json.dumps(tree)


@contextmanager
def serving(state: Recorded, tls: Any = None) -> Iterator[None]:
    """Serve this state on a free port (`state.port`).  `tls`: a server's context."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _handle(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(length).decode()
            if len(body.encode()) < length:
                self.close_connection = True  # an incomplete request gets no answer
                return
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, tree = state.asked(self.command, self.path, headers, body)
            text = written(tree).encode()
            with suppress(OSError):  # the caller has gone
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

        do_GET = do_PUT = do_POST = do_DELETE = _handle  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    state.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
