"""Links between brokers over their sessions: which links exist, and which primary is followed.

Each broker reports its state to all others whenever the state changes.  A backup that hears of a
primary makes a link to it.  Each link has a name, by which frames of earlier links are ignored.

Source: hot standby, H2, H3, H8, H9.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from attrs import define, evolve, field, frozen

from joinproto.apps.standby.peers import Envelope, Peers
from joinproto.codec.json_form import encoded, read
from joinproto.errors import JoinprotoError, PeerError
from joinproto.net.addresses import Address
from joinproto.standby.events import Gone, Linked, Received
from joinproto.standby.messages import (
    Changed,
    Content,
    Copy,
    Join,
    Refuse,
    Subscribe,
    View,
    from_tree,
    to_tree,
)
from joinproto.standby.peers import (
    PeerReport,
    PeerReports,
    cluster_of,
    learned,
    met,
    parted,
    said_by,
    to_follow,
)

if TYPE_CHECKING:
    from joinproto.apps.standby.core import Core

log = logging.getLogger("joinproto.standby")

ASK_SECONDS = 1.0
"""The most seconds that a promotion waits for the answers of brokers with a session."""
LENGTH_BYTES = 4


@define
class Other:
    """Another broker.  `public`: its address for clients; `answers`: how often it has answered."""

    public: Address
    answers: int = 0


@frozen
class Outgoing:
    """A frame that the machine sends.  `parts`: the contents of the messages that it names."""

    to: str
    link: str
    content: Content
    parts: tuple[bytes, ...]


@define(eq=False)
class Links:
    """All links of one broker."""

    core: Core
    peers: Peers = field(init=False)
    others: dict[str, Other] = field(factory=dict)  # brokers with a session
    _around: PeerReports = field(init=False)
    _link: str = ""  # the link of this broker to its primary
    _joined: dict[str, str] = field(factory=dict)  # the links of backups to this broker
    _answered: asyncio.Event = field(factory=asyncio.Event)

    def __attrs_post_init__(self) -> None:
        """Make the sessions; none is connected yet."""
        settings = self.core.settings
        self.peers = Peers(settings.mesh, settings.public, settings.timing, self)
        self._around = PeerReports(others=dict.fromkeys(settings.others))

    # -- state -----------------------------------------------------------------------------

    @property
    def around(self) -> PeerReports:
        """Return the known states of the other brokers."""
        return evolve(self._around, cluster=self.core.kept.cluster)

    @property
    def primary_address(self) -> Address | None:
        """Return the primary's address for clients; None if no other broker is known to serve."""
        found = self.around.primary()
        return None if found is None else self.others[found].public

    @property
    def primary(self) -> str | None:
        """Return the broker that serves; None if none is known."""
        return self.core.settings.broker if self.core.serves else self.around.primary()

    def cluster_of(self, view: View, teller: str | None) -> str | None:
        """Return the cluster to which this broker belongs once it keeps this view."""
        return cluster_of(self.core.state, self.around, view, teller, drawn=token_hex(16))

    # -- sessions --------------------------------------------------------------------------

    def session_began(self, name: str, public: Address) -> None:
        """Handle a new session with a broker.  `public`: its address for clients."""
        self.others[name] = Other(public)
        self._around = met(self.around, name)
        self._tell(name)

    def session_ended(self, name: str) -> None:
        """Handle the end of the session with a broker."""
        self.others.pop(name, None)
        self._around = parted(self.around, name)
        self._joined.pop(name, None)
        self.core.do(Gone(name))
        self.follow_primary()
        self._answered.set()

    def received(self, name: str, envelope: Envelope) -> None:
        """Handle a frame of another broker."""
        try:
            match envelope.kind:
                case "state":
                    self._learned(name, envelope.facts)
                case "ask":
                    self._tell(name, answers=True)
                case "link":
                    self._received(name, envelope)
        except (JoinprotoError, KeyError, ValueError, TypeError) as error:
            log.error("%s sent a malformed frame %s: %r", name, envelope.kind, error)
            self.peers.end(name)

    def _learned(self, name: str, facts: Mapping[str, Any]) -> None:
        other = self.others[name]
        said: PeerReport = read(PeerReport, facts)
        other.public = Address.parse(facts["public"])
        other.answers += bool(facts["answers"])
        self._around = met(self.around, name, said)
        self._answered.set()
        found = learned(self.core.state, self.around, name)
        if found.problem:
            log.error("%s", found.problem)
        if found.is_rival:
            self.core.say("two primaries", other=name, generation=said.view.generation)
        if found.event is not None:
            self.core.do(found.event)
        self.follow_primary()

    def follow_primary(self) -> None:
        """Follow a primary if there is one that this broker has not left."""
        found = None if self.core.ended.is_set() else to_follow(self.core.state, self.around)
        if found is not None:
            self._link = token_hex(8)
            self.core.do(Linked(found))

    def leave(self, name: str) -> None:
        """End the link with a broker, until that broker reports a new state."""
        self._joined.pop(name, None)
        self._around = evolve(self.around, left=self.around.left | {name})

    def forget(self) -> None:
        """End all links of backups to this broker."""
        self._joined.clear()

    # -- frames ----------------------------------------------------------------------------

    def link_of(self, to: str, content: Content) -> str:
        """Return the name of the link on which a message is sent."""
        joined = self._joined.get(to, "")
        # A broker that is not primary refuses on the link of the broker that wanted to join.
        is_answer = self.core.serves or isinstance(content, Refuse)
        return joined if is_answer else self._link

    def frame_for(self, to: str, content: Content) -> Outgoing:
        """Return a frame for the present link, with the contents of the messages that it names."""
        bodies = self.core.bodies
        parts = tuple(bodies.body(queue, name) for queue, name in _messages(content))
        return Outgoing(to, self.link_of(to, content), content, parts)

    def send(self, one: Outgoing) -> None:
        """Send a frame."""
        body = b"".join(len(part).to_bytes(LENGTH_BYTES, "big") + part for part in one.parts)
        facts = {"link": one.link, "content": to_tree(one.content)}
        self.peers.send(one.to, "link", facts, body)

    def _received(self, name: str, envelope: Envelope) -> None:
        link, content = envelope.facts["link"], from_tree(envelope.facts["content"])
        if isinstance(content, Join):
            if content.name != name:
                raise PeerError(f"{name} joins as {content.name}")
            self._joined[name] = str(link)
        elif self.core.serves:
            if link != self._joined.get(name):
                return
        elif name != self.core.state.follows or link != self._link:
            return
        at = 0
        for queue, message in _messages(content):
            length = int.from_bytes(envelope.body[at : at + LENGTH_BYTES], "big")
            at += LENGTH_BYTES + length
            if at > len(envelope.body):
                raise PeerError("the frame ends before the contents of its messages do")
            self.core.bodies.arrived(queue, message, envelope.body[at - length : at])
        self.core.do(Received(name, content))
        if isinstance(content, Subscribe):
            self.core.schedule_turn_end()  # there are messages to copy
        self.follow_primary()

    def _tell(self, name: str, *, answers: bool = False) -> None:
        # Only durable facts are sent, because another broker may act on them.
        said = said_by(self.core.shown, self.core.kept.cluster)
        facts = {
            **encoded(said),
            "public": str(self.peers.public),
            "answers": answers,
        }
        self.peers.send(name, "state", facts)

    def tell_all(self) -> None:
        """Send all brokers this broker's state."""
        for name in self.peers.sessions:
            self._tell(name)

    def set_public(self, public: Address) -> None:
        """Send clients to this address from now on."""
        self.peers.public = public
        self.tell_all()

    async def ask_all(self) -> None:
        """Ask all brokers for their states; return when all answered, or after `ASK_SECONDS`."""
        asked = {name: other.answers for name, other in self.others.items()}
        for name in asked:
            self.peers.send(name, "ask", {})
        end = self.core.now() + ASK_SECONDS
        while (left := end - self.core.now()) > 0 and any(
            name in self.others and self.others[name].answers == count
            for name, count in asked.items()
        ):
            self._answered.clear()
            try:
                await asyncio.wait_for(self._answered.wait(), left)
            except TimeoutError:
                return


def _messages(content: Content) -> Iterator[tuple[str, str]]:
    """Yield queue and identity of each message whose contents are sent with this message."""
    match content:
        case Changed(changes=changes):
            for change in changes:
                for message in change.puts:
                    yield change.queue, message.id
        case Copy(queue=queue, messages=messages):
            for message in messages:
                yield queue, message.id
