"""Links between brokers over their sessions: who is there, whom this one follows.

Each broker tells each other one what it is, as often as that changes.  A backup that hears of a
primary makes a link to it; frames of a link that is over are left out, by its name.

Source: hot standby, H2, H3, H8, H9.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from attrs import define, field, frozen

from joinproto.apps.standby.peers import Envelope, Peers
from joinproto.codec.json_form import encoded, read
from joinproto.errors import JoinprotoError, PeerError
from joinproto.net.addresses import Address
from joinproto.standby.backup import Following
from joinproto.standby.broker import Mark, Role, Store
from joinproto.standby.chain import seen
from joinproto.standby.events import Gone, Linked, Lost, Received, Superseded
from joinproto.standby.messages import Changed, Content, Copy, Join, Refuse, Subscribe, View
from joinproto.standby.promote import Peer
from joinproto.standby.wire import from_tree, to_tree

if TYPE_CHECKING:
    from joinproto.apps.standby.core import Core

log = logging.getLogger("joinproto.standby")

ASK_SECONDS = 1.0
"""How long a promotion waits for the answers of those to whom there is a session."""
SERVING = (Role.PRIMARY, Role.RECOVERING)
LENGTH_BYTES = 4


@define
class Other:
    """What another broker said of itself last."""

    public: Address
    role: Role = Role.CONNECTING
    standing: Role = Role.CONNECTING
    view: View = View()
    cluster: str | None = None
    mark: Mark | None = None
    answers: int = 0


@frozen
class Outgoing:
    """A message of the machine.  `parts`: the contents of the messages that it names."""

    to: str
    link: str
    content: Content
    parts: tuple[bytes, ...]


@define(eq=False)
class Links:
    """All of one broker."""

    core: Core
    peers: Peers = field(init=False)
    others: dict[str, Other] = field(factory=dict)
    _link: str = ""  # of this broker to its primary
    _joined: dict[str, str] = field(factory=dict)  # of backups to this broker
    _left: set[str] = field(factory=set)  # with whom there is no link until they say more
    _answered: asyncio.Event = field(factory=asyncio.Event)

    def __attrs_post_init__(self) -> None:
        """Have no session yet."""
        settings = self.core.settings
        self.peers = Peers(settings.mesh, settings.public, settings.timing, self)

    # -- what there is ---------------------------------------------------------------------

    @property
    def following(self) -> str | None:
        """Return whom this broker follows."""
        side = self.core.state.side
        return side.primary if isinstance(side, Following) else None

    @property
    def primary_address(self) -> Address | None:
        """Return where clients find the primary."""
        found = self._other_primary()
        return None if found is None else self.others[found].public

    @property
    def primary(self) -> str | None:
        """Return who serves, as far as it is known."""
        if self.core.serves:
            return self.core.settings.broker
        return self._other_primary()

    def _other_primary(self) -> str | None:
        there = {
            name: one.view.age
            for name, one in self.others.items()
            if one.role in SERVING and self._is_ours(one)
        }
        return max(there, key=lambda name: there[name]) if there else None

    def peers_told(self) -> tuple[Peer, ...]:
        """Return what the others said, as a promotion takes it; who is away says nothing."""
        return tuple(self._peer(name) for name in self.core.settings.others)

    def _peer(self, name: str) -> Peer:
        other = self.others.get(name)
        if other is None or not self._is_ours(other):
            return Peer(name=name, role=None)
        # H8: a backup that lost its primary is still better than who has only just started.
        stands = other.role is Role.CONNECTING and other.standing is Role.BACKUP
        return Peer(
            name=name,
            role=other.standing if stands else other.role,
            generation=other.view.generation,
            was_primary=other.view.primary == name,
        )

    def stores(self) -> dict[str, Store | None]:
        """Return what the stores of all brokers hold; None: it was not seen."""
        core = self.core
        mine, me = core.state, core.settings.broker
        found = {me: seen(me, mine.role, mine.standing, mine.mark, mine.view)}
        for name in core.settings.others:
            other = self.others.get(name)
            if other is None or other.mark is None or not self._is_ours(other):
                found[name] = None
            else:
                found[name] = seen(name, other.role, other.standing, other.mark, other.view)
        return found

    def cluster_of(self, view: View, teller: str | None) -> str | None:
        """Return the cluster to which this broker belongs once it keeps this view.

        `teller`: whom it followed when it heard of it.
        """
        kept = self.core.kept.cluster
        if kept is not None:
            return kept
        if view.primary == self.core.settings.broker:
            return token_hex(16)
        other = self.others.get(teller or view.primary)
        return None if other is None else other.cluster

    def _is_ours(self, other: Other) -> bool:
        """Return whether it is of this cluster, or of none yet."""
        kept = self.core.kept.cluster
        return None in (other.cluster, kept) or other.cluster == kept

    def unsent(self, name: str) -> int:
        """Return the bytes for a broker that the system has not taken yet."""
        return self.peers.unsent(name)

    # -- sessions (`Hears`) ----------------------------------------------------------------

    def met(self, name: str, public: Address) -> None:
        """There is a session with another broker."""
        self.others[name] = Other(public)
        self._left.discard(name)
        self._tell(name)

    def parted(self, name: str) -> None:
        """The session is gone."""
        self.others.pop(name, None)
        self._joined.pop(name, None)
        if self.core.serves:
            self.core.do(Gone(name))
        elif self.following == name:
            self.core.do(Lost())
        self.look()
        self._answered.set()

    def heard(self, name: str, envelope: Envelope) -> None:
        """Another broker says something."""
        try:
            match envelope.kind:
                case "state":
                    self._learned(name, envelope.facts)
                case "ask":
                    self._tell(name, answers=True)
                case "link":
                    self._received(name, envelope)
        except (JoinprotoError, KeyError, ValueError, TypeError) as error:
            log.error("%s sent a frame %s that is not one: %r", name, envelope.kind, error)
            self.peers.end(name)

    def _learned(self, name: str, facts: Mapping[str, Any]) -> None:
        other = self.others[name]
        before = (other.role, other.view)
        other.role, other.view = Role(facts["role"]), read(View, facts["view"])
        # Earlier versions did not say it.
        other.standing = Role(facts.get("standing", Role.CONNECTING.value))
        other.mark = None if facts.get("mark") is None else Mark(facts["mark"])
        other.cluster = facts["cluster"]
        other.public = Address.parse(facts["public"])
        other.answers += bool(facts["answers"])
        self._answered.set()
        if not self._is_ours(other):
            log.error("%s has a store of another cluster: %s", name, other.cluster)
            return
        if (other.role, other.view) != before:
            self._left.discard(name)
        serves = other.role in SERVING
        if self.core.serves and serves:
            self._met_primary(name, other)
        elif self.following is not None:
            is_over = not serves if self.following == name else self._is_younger(other)
            if is_over:
                self.core.do(Lost())
        self.look()

    def _is_younger(self, other: Other) -> bool:
        """Return whether it serves in a younger generation than the followed one."""
        mine = self.others.get(self.following or "")
        is_behind = mine is not None and other.view.generation > mine.view.generation
        return is_behind and other.role in SERVING

    def _met_primary(self, name: str, other: Other) -> None:
        """H2: two serve, for nothing fenced one of them."""
        mine = self.core.state.view
        if other.view.generation > mine.generation:
            self.core.do(Superseded(other.view))
        elif other.view.generation == mine.generation:
            # Each may have confirmed what the other one lacks: only an operator can choose.
            log.error(
                "%s is primary in generation %d, too: stop one of both", name, mine.generation
            )
            self.core.say("two primaries", other=name, generation=mine.generation)

    def look(self) -> None:
        """Follow a primary, if one is there that was not left."""
        if self.core.serves or self.following is not None or self.core.ended.is_set():
            return
        generation = self.core.state.view.generation
        there = [
            (other.view.age, name)
            for name, other in self.others.items()
            if other.role in SERVING and self._is_ours(other) and name not in self._left
        ]
        fits = [one for one in there if one[0][0] >= generation]
        if fits:
            self._link = token_hex(8)
            self.core.do(Linked(max(fits)[1]))

    def leave(self, name: str) -> None:
        """There is no link with this broker, until it says something new of itself."""
        self._joined.pop(name, None)
        self._left.add(name)

    def forget(self) -> None:
        """All links of backups to this broker are over."""
        self._joined.clear()

    # -- frames ----------------------------------------------------------------------------

    def link_of(self, to: str, content: Content) -> str:
        """Return the link on which this goes."""
        joined = self._joined.get(to, "")
        # Who is not primary answers on the link of who wanted to join.
        is_answer = self.core.serves or isinstance(content, Refuse)
        return joined if is_answer else self._link

    def bound(self, to: str, content: Content) -> Outgoing:
        """Return what the machine sends, for the link of now, with the contents of its messages."""
        bodies = self.core.bodies
        parts = tuple(bodies.body(queue, name) for queue, name in _messages(content))
        return Outgoing(to, self.link_of(to, content), content, parts)

    def send(self, one: Outgoing) -> None:
        """Send it."""
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
        elif name != self.following or link != self._link:
            return
        at = 0
        for queue, message in _messages(content):
            length = int.from_bytes(envelope.body[at : at + LENGTH_BYTES], "big")
            at += LENGTH_BYTES + length
            if at > len(envelope.body):
                raise PeerError("a frame without the contents of its messages")
            self.core.bodies.arrived(queue, message, envelope.body[at - length : at])
        self.core.do(Received(name, content))
        if isinstance(content, Subscribe):
            self.core.touched()  # there is something to copy
        self.look()

    def _tell(self, name: str, *, answers: bool = False) -> None:
        # What is on the disk: another broker may act on it.
        core, shown = self.core, self.core.shown
        facts = {
            "role": shown.role.value,
            "standing": shown.standing.value,
            "mark": shown.mark.value,
            "view": encoded(shown.view),
            "cluster": core.kept.cluster,
            "public": str(self.peers.public),
            "answers": answers,
        }
        self.peers.send(name, "state", facts)

    def tell_all(self) -> None:
        """Tell all what this broker is."""
        for name in self.peers.sessions:
            self._tell(name)

    def set_public(self, public: Address) -> None:
        """Have clients sent there from now on."""
        self.peers.public = public
        self.tell_all()

    async def ask_all(self) -> None:
        """Return when all to whom there is a session have answered, or do not."""
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
    """Yield queue and identity of each message whose content goes beside it."""
    match content:
        case Changed(changes=changes):
            for change in changes:
                for message in change.puts:
                    yield change.queue, message.id
        case Copy(queue=queue, messages=messages):
            for message in messages:
                yield queue, message.id
