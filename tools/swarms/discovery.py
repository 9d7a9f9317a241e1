"""Random runs of blank nodes that start by our rules, with the shipped clients.

The flows of Consul and etcd, the client that performs them (`BackendPort`), and `decide` are
shipped code.  These are simulated: the service, which may be down, fail to answer, or perform a
request without an answer; the network between nodes; and the founding by votes, where a node keeps
its vote on its disk.  A step is a round that a node decides, or an answer that a client's flow
takes.  The claims:

    there is at most one cluster
    when all links have healed, all nodes are started and the service answers, all nodes are in the
    cluster within `REST_SECONDS`, unless more nodes are listed than are expected, and a node has
    ended with this reason

A run ends early when all nodes are in one cluster, because no node decides anything then.  In some
runs fewer nodes are expected than exist.  In these no record lapses: a node that reads as many
records as it expects, but not those that its peers read, cannot know that there are more.

Source: discovery, D1 to D3.
"""

from __future__ import annotations

import asyncio
import json
from base64 import b64decode, b64encode
from random import Random
from typing import Any

from attrs import define, field, frozen

from joinproto.apps.discovery.port import BackendPort
from joinproto.discovery import round as rounds
from joinproto.discovery.answers import Failed
from joinproto.discovery.boot import Rules, Step
from joinproto.discovery.consul import Consul, ConsulBackend
from joinproto.discovery.contract import Backend
from joinproto.discovery.etcd3 import Etcd3, Etcd3Backend
from joinproto.discovery.exchange import Broken, Request, Response
from joinproto.discovery.round import Properties, Round, decide, named
from tools.swarms.virtual import VirtualLoop

REST_SECONDS = 120.0
STRANGER = "rabbit@z"


@frozen
class Found:
    """The result of one run.  `rounds`: decisions of nodes; `answers`: requests to the service.

    `refused`: the number of nodes that ended with a reason.
    """

    seed: int
    problem: str
    rounds: int
    answers: int
    seconds: float
    refused: int


@define
class Service:
    """The simulated Consul agent and etcd gateway.  `ill`: the share of bad answers.

    `requests`: their number.
    """

    chance: Random
    is_up: bool = True
    ill: float = 0.0
    requests: int = 0
    records: dict[str, int] = field(factory=dict)
    _revision: int = 0

    async def exchange(self, request: Request) -> Response | Broken:
        self.requests += 1
        await asyncio.sleep(self.chance.choice((0.0, 0.01, 0.3)))
        if not self.is_up:
            return Broken(why="no server listens")
        bad = self.chance.random() < self.ill
        if bad and self.chance.random() < 0.5:
            return self.chance.choice(
                (Broken(why="torn"), Response(status=500), Response(status=200))
            )
        answer = self._answer(request)
        await asyncio.sleep(self.chance.choice((0.0, 0.01, 2.0)))
        return Broken(why="done, and not said") if bad else answer

    def register(self, node: str) -> None:
        self._revision += 1
        self.records.setdefault(node, self._revision)

    def _answer(self, request: Request) -> Response:
        path, body = request.path, json.loads(request.body) if request.body else {}
        header: dict[str, Any] = {"header": {}}
        match path.split("/")[2:]:
            case ["kv", "put"]:
                self.register(json.loads(b64decode(body["value"]))["node"])
                return Response(status=200, body=json.dumps(header))
            case ["kv", "range"]:
                kvs = [
                    {
                        "value": b64encode(json.dumps({"node": node}).encode()).decode(),
                        "create_revision": str(number),
                    }
                    for node, number in self.records.items()
                ]
                return Response(status=200, body=json.dumps({**header, "kvs": kvs}))
            case ["agent", "service", "register"]:
                self.register(body["Meta"]["erlang-node-name"])
                return Response(status=200)
            case ["agent", "check", "pass", name]:
                node = name.removeprefix("service:rabbitmq:")
                return Response(status=200 if node in self.records else 404)
            case ["health", "service", _]:
                found = [
                    {
                        "Node": {"Node": "n"},
                        "Service": {"CreateIndex": number, "Meta": {"erlang-node-name": node}},
                        "Checks": [],
                    }
                    for node, number in self.records.items()
                ]
                return Response(status=200, body=json.dumps(found))
        raise AssertionError(f"{request} is not known here")


@define(eq=False)
class Node:
    """One node, with `cluster` and `vote` on its disk.  `why`: the reason why it ended, or ""."""

    name: str
    port: BackendPort
    run: Run
    cluster: str | None = None
    vote: str | None = None
    why: str = ""
    task: asyncio.Task[None] | None = None

    @property
    def is_up(self) -> bool:
        return self.task is not None and not self.why

    @property
    def properties(self) -> Properties:
        runs = self.cluster is not None
        return Properties(ready=runs, in_cluster=runs)

    def start(self) -> None:
        if self.task is None and not self.why:
            self.task = asyncio.ensure_future(self._boot())

    def kill(self) -> None:
        if self.task is not None:
            self.task.cancel()
            self.task = None

    async def _boot(self) -> None:
        pause = self.run.pause
        while isinstance(await self.port.register(), Failed):
            await pause()
        every = self.port.keep_alive_every
        lives = asyncio.get_running_loop().time() + (every or 0.0)
        while self.cluster is None and not self.why:
            await self._decide_round()
            if every and asyncio.get_running_loop().time() >= lives:
                lives += every
                await self.port.keep_alive()
            await asyncio.sleep(self.run.chance.choice((0.1, 1.0, 5.0)))
        while every and not self.why:
            await asyncio.sleep(every)
            await self.port.keep_alive()

    async def _decide_round(self) -> None:
        run = self.run
        answer = await self.port.list_nodes()
        seen = {one.name: one.properties for one in run.heard_by(self)}
        about = Round(me=self.name, answer=answer, seen=seen, tries=None, expected=run.expected)
        found = decide(about, run.rules)
        run.rounds += 1
        await run.pause()
        match found.step:
            case Step.JOIN:
                there = [one for one in run.heard_by(self) if one.name == found.node]
                self.cluster = there[0].cluster if there else None
            case Step.ALONE:
                self.cluster = self.name
            case Step.FOUND:
                self._ask_for_votes({self.name, *named(answer)})
            case Step.REFUSE:
                self.why = found.why

    def _ask_for_votes(self, names: set[str]) -> None:
        heard = [one for one in self.run.heard_by(self) if one.name in names]
        if any(one.cluster is not None for one in heard):
            return
        voters = [one for one in heard if one.vote in (None, self.name)]
        if self not in voters or len(voters) < rounds.majority_of(self.run.expected):
            return
        for one in voters:
            one.vote = self.name
        self.cluster = self.name


@define(eq=False)
class Run:
    """One run of one to five nodes with one backend.

    `expected`: how many nodes the configuration expects.
    """

    seed: int
    rules: Rules = Rules.OURS
    chance: Random = field(init=False)
    service: Service = field(init=False)
    nodes: dict[str, Node] = field(factory=dict)
    cut: set[str] = field(factory=set)
    expected: int = 0
    rounds: int = 0

    def __attrs_post_init__(self) -> None:
        self.chance = Random(self.seed)
        self.service = Service(self.chance)
        make = self.chance.choice((_consul, _etcd))
        for name in "abcde"[: self.chance.randint(1, 5)]:
            node = f"rabbit@{name}"
            self.nodes[node] = Node(node, BackendPort(make(node), self.service.exchange), self)
        self.expected = len(self.nodes)
        if self.expected > 2 and self.chance.random() < 0.2:
            self.expected -= self.chance.randint(1, 2)

    async def pause(self) -> None:
        await asyncio.sleep(self.chance.choice((0.0, 0.01, 0.5, 1.0, 5.0)))

    def heard_by(self, node: Node) -> list[Node]:
        """Return the nodes that answer this node, including itself."""
        side = node.name in self.cut
        return [one for one in self.nodes.values() if one.is_up and (one.name in self.cut) is side]

    async def play(self, events: int) -> str:
        try:
            for _ in range(events):
                self._do_event()
                await self.pause()
                if problem := self._two_clusters():
                    return problem
                if not self._outside():
                    return ""
            return await self._problem_at_rest()
        finally:
            for one in self.nodes.values():
                one.kill()

    def _do_event(self) -> None:
        one, service = self.chance.choice([*self.nodes.values()]), self.service
        kinds = ("start", "start", "kill", "cut", "heal", "service", "ill", "lapse", "stranger")
        match self.chance.choice(kinds):
            case "start":
                one.start()
            case "kill":
                one.kill()
            case "cut":
                self.cut = {name for name in self.nodes if self.chance.random() < 0.5}
            case "heal":
                self.cut = set()
            case "service":
                service.is_up = not service.is_up
            case "ill":
                service.ill = self.chance.choice((0.0, 0.2, 0.7))
            case "lapse" if one.port.keep_alive_every is not None and not self._are_too_many:
                service.records.pop(one.name, None)
            case "stranger" if self.chance.random() < 0.1:
                service.register(STRANGER)

    def _two_clusters(self) -> str:
        found = {one.cluster for one in self.nodes.values()} - {None}
        return f"two clusters: {sorted(map(str, found))}" if len(found) > 1 else ""

    async def _problem_at_rest(self) -> str:
        self.cut, self.service.is_up, self.service.ill = set(), True, 0.0
        loop = asyncio.get_running_loop()
        until = loop.time() + REST_SECONDS
        while loop.time() < until:
            for one in self.nodes.values():
                one.start()
            await asyncio.sleep(3.0)
            if self._two_clusters() or not self._outside():
                break
        has_refused = any(one.why for one in self.nodes.values())
        if has_refused and (STRANGER in self.service.records or self._are_too_many):
            return self._two_clusters()  # an operator would mend this, and restart the nodes
        stuck = [one.name for one in self._outside()]
        return self._two_clusters() or (f"stuck: {stuck}" if stuck else "")

    @property
    def _are_too_many(self) -> bool:
        return self.expected < len(self.nodes)

    def _outside(self) -> list[Node]:
        return [one for one in self.nodes.values() if one.cluster is None]


def _consul(node: str) -> Backend:
    return ConsulBackend(Consul(node=node))


def _etcd(node: str) -> Backend:
    return Etcd3Backend(Etcd3(node=node))


def run(seed: int, events: int, rules: Rules = Rules.OURS) -> Found:
    """Return the result of the run of a seed.  `rules`: other rules can make two clusters."""
    playing = Run(seed, rules)
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        problem = runner.run(playing.play(events))
        seconds = runner.get_loop().time()
    refused = sum(bool(one.why) for one in playing.nodes.values())
    return Found(seed, problem, playing.rounds, playing.service.requests, seconds, refused)
