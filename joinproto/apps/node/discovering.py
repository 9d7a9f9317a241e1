"""A node that finds its peers: registers itself, lists nodes in rounds, and reports its waits.

The table `discovery-ours` decides the next step after a round (docs/discovery.md).  Until the table
says *found*, the member has placeholders for electors, so it cannot found a cluster.  An existing
cluster can admit it in that time.  After *found* the member restarts in the same process with the
listed nodes as electors.  All of them must answer before a view is proposed.  A majority must vote
for the view (join protocol, 3.4), or the register takes the first proposal (3.7).
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager

import anyio
from attrs import define, evolve, field

from joinproto.apps.discovery.opened import opened, opened_register
from joinproto.apps.discovery.port import Port
from joinproto.apps.discovery.resolver import Resolver
from joinproto.apps.discovery.successors import Successors
from joinproto.apps.node.discovery_file import Discovery
from joinproto.apps.node.status import Discovered
from joinproto.discovery.answers import Answer, Failed, Listed
from joinproto.discovery.boot import Rules, Step
from joinproto.discovery.round import Properties, Round, decide, named
from joinproto.errors import UsageProblem
from joinproto.host.cluster import Cluster
from joinproto.join.view import names_of
from joinproto.net.tcp import TcpTransport

log = logging.getLogger("joinproto.node")

LIST_SECONDS = 30.0
"""Seconds for one round with all of its requests."""
UNREGISTER_SECONDS = 3.0
REFUSED_ROUNDS, REFUSED_SECONDS = 5, 5.0
"""A node that no member answers gives up after this many rounds and seconds of too long lists."""
BOUND_ROUNDS = 4
"""The additional rounds before a member founds, if it has already answered another founding."""
STEADY_ROUNDS = 2
"""Rounds with the same list before the electors are changed."""
SOON_SECONDS, MAX_SECONDS = 0.3, 60.0
AWAY_SHOWN = 8
CALLED_MAX = 64
"""The most listed members that are called in one round; the next round calls the next members."""
MISSED_MAX = 10
"""Rounds in which a member is still called after it left the list; it may be listed again."""
CALM = 5
"""A member that has a view lists nodes this many times less often than one without a view."""


@define(eq=False)
class PeerDiscovery:
    """A node that finds its peers.

    `electors`: the nodes that were found, None before that.  `seen`: the result of the last round.
    `record`: the result of registering this node, in words.
    """

    about: Discovery
    member: str
    port: Port
    successors: Successors | None
    electors: frozenset[str] | None = None
    seen: Discovered = field(init=False)
    record: str = "not registered yet"
    _rounds: dict[str, int] = field(factory=dict)
    _calls: int = 0
    _unlisted: dict[str, int] = field(factory=dict)
    _last: tuple[str, ...] | None = None
    _missed: anyio.Event = field(factory=anyio.Event)

    def __attrs_post_init__(self) -> None:
        self.seen = Discovered(
            backend=self.about.backend.backend.removeprefix("rabbit_peer_discovery_"),
            register=None if self.successors is None else "outside",
            expected=self.about.expected,
            listed=None,
            step=Step.WAIT,
            rule="D1",
            case="the backend was not asked yet",
            why="the backend is asked, and has not answered yet",
            record=self.record,
        )

    # -- registering ---------------------------------------------------------------------------

    async def keep_registered(self) -> None:
        """Register this node and keep its record alive until cancelled; then remove the record."""
        if not self.port.registers:
            self._recorded("this backend registers no node", is_well=True)
            await anyio.sleep_forever()
        try:
            is_there = False
            while True:
                got = await (self.port.keep_alive() if is_there else self.port.register())
                every = self.port.keep_alive_every
                if isinstance(got, Failed):
                    self._recorded(f"not registered: {got.why}" if not is_there else got.why)
                    await anyio.sleep(self.about.interval)
                    continue
                if got.again:
                    log.warning("discovery: this node's record was gone, and was written again")
                self._recorded("registered", is_well=True)
                is_there = True
                self._missed = anyio.Event()
                with anyio.move_on_after(every):
                    # The service lost the record, or did not write it although it reported success.
                    await self._missed.wait()
                    log.warning("discovery: registers again, because this node is not in the list")
                    is_there = False
                    await anyio.sleep(self.about.interval)
        finally:
            with anyio.move_on_after(UNREGISTER_SECONDS, shield=True):
                got = await self.port.unregister()
                log.info("discovery: %s", got if isinstance(got, Failed) else "unregistered")

    def _recorded(self, what: str, *, is_well: bool = False) -> None:
        if what != self.record:
            self.record = what
            (log.info if is_well else log.warning)("discovery: %s", what)

    # -- looking -------------------------------------------------------------------------------

    async def look(self, cluster: Cluster, transport: TcpTransport) -> None:
        """List nodes round after round until the member must restart with `electors`.

        Raises `UsageProblem` if only an operator can help.
        """
        while True:
            answer: Answer = Failed(f"no whole answer within {LIST_SECONDS:g} s")
            with anyio.move_on_after(LIST_SECONDS):
                answer = await self.port.list_nodes()
            self._call(answer, cluster, transport)
            if isinstance(answer, Listed) and self.member not in answer.nodes:
                self._missed.set()
            if cluster.engine.member.view is not None:
                self._tell(Step.JOIN, "D5", "it is in a cluster", "it knows its view", answer)
                await anyio.sleep(CALM * self.about.interval)
                continue
            if self._decided(answer, cluster, transport):
                return
            # The list is complete and only connections are missing, so the next round comes soon.
            soon = self.seen.case == "no majority answers"
            await anyio.sleep(min(self.about.interval, SOON_SECONDS if soon else MAX_SECONDS))

    def _decided(self, answer: Answer, cluster: Cluster, transport: TcpTransport) -> bool:
        seen = {name: Properties() for name in (self.member, *transport.peers)}
        about = Round(
            me=self.member, answer=answer, seen=seen, tries=None, expected=self.about.expected
        )
        found = decide(about, Rules.OURS)
        peers = transport.peers
        self._tell(found.step, found.case.label, found.case.name, found.why, answer, peers)
        last = max(REFUSED_ROUNDS, REFUSED_SECONDS / self.about.interval)
        if found.step is Step.REFUSE and self._for(found.step.value) >= last:
            names = ", ".join(named(answer))
            raise UsageProblem(
                f"{found.why}, and no member of a cluster answers: {names}; nothing was founded",
                next="remove the records of nodes that are gone, or set discovery.expected to"
                " the number of nodes, the same number in all files",
            )
        if found.step is not Step.REFUSE:
            self._rounds.pop(Step.REFUSE.value, None)
        if found.step is not Step.FOUND:
            return False
        electors = frozenset(named(answer))
        if electors == self.electors:
            return False
        # This member has answered another member's founding and may soon be part of that cluster.
        # If it restarted now, it would delay that founding.
        bound = cluster.engine.member.record.promised is not None
        rounds = self._for(" ".join(sorted(electors)))
        if rounds < (STEADY_ROUNDS if self.electors else 1) + (BOUND_ROUNDS if bound else 0):
            return False
        log.info("discovery: founds with %s", ", ".join(sorted(electors)))
        self._rounds.clear()
        self.electors = electors
        return True

    def _for(self, what: str) -> int:
        """Count this round as one of `what`; return the number of such rounds in a row."""
        self._rounds = {what: self._rounds.get(what, 0) + 1}
        return self._rounds[what]

    def _call(self, answer: Answer, cluster: Cluster, transport: TcpTransport) -> None:
        """Connect to the listed members; forget members that are no longer listed.

        D5: a member of a cluster knows the others from its view, not from the backend.
        """
        view = cluster.engine.member.view
        seats = frozenset() if view is None else view.members | view.electors
        known = names_of(seats)
        wanted = [one for one in named(answer) if one != self.member and "@" in one]
        if len(wanted) > CALLED_MAX:
            log.warning("discovery: %d names are listed; %d at a time", len(wanted), CALLED_MAX)
            at = self._calls * CALLED_MAX % len(wanted)
            self._calls += 1
            wanted = [*wanted, *wanted][at : at + CALLED_MAX]
        away = transport.called - {*wanted, *known, *transport.peers}
        self._unlisted = {name: self._unlisted.get(name, 0) + 1 for name in away}
        for name in away:
            if self._unlisted[name] > MISSED_MAX:
                transport.forget(name)
        for name in (*wanted, *(one for one in sorted(known) if "@" in one)):
            transport.call(name, self.about.address(name))

    def _tell(
        self,
        step: Step,
        rule: str,
        case: str,
        why: str,
        answer: Answer,
        peers: Collection[str] = (),
    ) -> None:
        listed = answer.nodes if isinstance(answer, Listed) else None
        away = [one for one in listed or () if one not in (self.member, *peers)]
        if away and step in (Step.WAIT, Step.FOUND):
            shown = ", ".join(away[:AWAY_SHOWN])
            why += f"; no connection to {shown}{', ...' if len(away) > AWAY_SHOWN else ''}"
        if listed is not None and self.member not in listed and step is not Step.JOIN:
            why += f"; {self.member} itself is not"
        self.seen = evolve(
            self.seen, listed=listed, step=step, rule=rule, case=case, why=why, record=self.record
        )
        now = (step.value, rule, case, why)
        if now != self._last:
            self._last = now
            is_well = step in (Step.JOIN, Step.FOUND)
            tell: Callable[..., None] = log.info if is_well else log.warning
            tell("discovery, %s: %s (%s): %s", step.value, rule, case, why)


@asynccontextmanager
async def open_discovery(about: Discovery, member: str) -> AsyncIterator[PeerDiscovery]:
    """Open the backend, and the register if one is configured."""
    where = about.nameserver
    resolver = None if where is None else Resolver(servers=(where.host,), port=where.port)
    async with opened(about.backend, resolver=resolver) as port:
        if about.register is None:
            yield PeerDiscovery(about, member, port, None)
            return
        async with opened_register(about.register) as successors:
            yield PeerDiscovery(about, member, port, successors)
