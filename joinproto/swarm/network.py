"""The network: members' messages are lost, doubled, late or out of order, and connections break.

Messages of the members' logs travel in order on a connection, and are lost only with it.  Both
sides are told of a lost connection, each at its own time.  The fate of a message is drawn from the
seed and its link, so that one link does not disturb another.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache, partial
from random import Random
from typing import TYPE_CHECKING

from attrs import define, field

from joinproto.host.ports import Channel
from joinproto.join.messages import Confirm, Confirmed, JoinMessage
from joinproto.join.wire import LATEST, encode
from joinproto.swarm.scenario import Scenario

if TYPE_CHECKING:
    from joinproto.swarm.simulation import Simulation

OLD_KEPT = 200
"""The most messages from one member to another that may come again at any time."""


@define(eq=False)
class _Connection:
    """A connection of two members.

    `knows`: the members that know of the connection, and do not know of its loss.
    """

    knows: set[str] = field(factory=set)
    is_broken: bool = False
    arrives: dict[str, float] = field(factory=dict)  # when the last bytes arrive at each side


@define(eq=False)
class Network:
    """The network.  `deaf`: pairs (member, a member from which it receives no messages)."""

    scenario: Scenario
    simulation: Simulation
    deaf: set[tuple[str, str]] = field(factory=set)
    is_mended: bool = False
    _connections: dict[str, _Connection] = field(factory=dict)
    _calling: set[str] = field(factory=set)
    _sent: dict[tuple[str, str], list[object]] = field(factory=dict)
    _chances: dict[tuple[str, str, str], Random] = field(factory=dict)

    # -- links ---------------------------------------------------------------------------------

    def cut(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Let the first of each pair no longer hear the second."""
        for member, peer in pairs:
            self.deaf.add((member, peer))
            self.lose(member, peer)

    def mend(self, *, apart: Iterable[str] = ()) -> None:
        """Make all links whole again, except those of pairs such as "ab" in `apart`."""
        both = [way for pair in apart for way in ((pair[0], pair[1]), (pair[1], pair[0]))]
        self.deaf.clear()
        self.cut(both)
        self.connect_all()

    def connect_all(self) -> None:
        """Connect the members that run, hear each other, and are not connected."""
        names = self.scenario.members
        for at, one in enumerate(names):
            for two in names[at + 1 :]:
                if self._may_connect(one, two) and one + two not in self._calling:
                    self._calling.add(one + two)
                    seconds = self.scenario.delay * (0.5 + self._chance(one, two).random())
                    self.simulation.later(seconds, partial(self._connect, one, two))

    def _may_connect(self, one: str, two: str) -> bool:
        return (
            one + two not in self._connections
            and self.simulation.is_up(one)
            and self.simulation.is_up(two)
            and (one, two) not in self.deaf
            and (two, one) not in self.deaf
        )

    def _connect(self, one: str, two: str) -> None:
        self._calling.discard(one + two)
        if not self._may_connect(one, two):
            return
        made = self._connections[one + two] = _Connection()
        for member, peer in ((one, two), (two, one)):
            if not made.is_broken:
                made.knows.add(member)
                self.simulation.tell_up(member, peer)

    def lose(self, one: str, two: str) -> None:
        """Break the connection of two members, if any; each notices it at its own time."""
        pair = _pair(one, two)
        lost = self._connections.get(pair)
        if lost is None or lost.is_broken:
            return
        lost.is_broken = True
        for member, peer in ((one, two), (two, one)):
            seconds = self._chance(member, peer).random() * self.scenario.notice
            self.simulation.later(seconds, partial(self._notice, pair, lost, member, peer))

    def give_up(self, member: str, seconds: float) -> None:
        """Report `member` as lost to all others connected to it, and as found later.

        This happens if one end of a connection is replaced while the other end hangs.
        """
        for other in self.scenario.members:
            lost = self._connections.get(_pair(member, other))
            if lost is not None and not lost.is_broken and lost.knows == {member, other}:
                lost.knows.discard(other)
                self.simulation.tell_down(other, member)
                self.simulation.later(seconds, partial(self._find, lost, other, member))

    def _find(self, lost: _Connection, member: str, peer: str) -> None:
        if not lost.is_broken and self.simulation.is_up(member):
            lost.knows.add(member)
            self.simulation.tell_up(member, peer)

    def _notice(self, pair: str, lost: _Connection, member: str, peer: str) -> None:
        lost.knows = {name for name in lost.knows if self.simulation.is_up(name)}
        if member in lost.knows:
            lost.knows.discard(member)
            self.simulation.tell_down(member, peer)
        if not lost.knows and self._connections.get(pair) is lost:
            del self._connections[pair]
            self.connect_all()

    def ended(self, name: str) -> None:
        """Break all connections of `name`, whose process has ended."""
        for pair, connection in list(self._connections.items()):
            if name in pair:
                self.lose(*pair)
                connection.knows.discard(name)

    # -- messages ------------------------------------------------------------------------------

    def send(self, sender: str, to: str, channel: Channel, content: object) -> None:
        """Carry `content` to `to`, if the sender knows of a connection."""
        connection = self._connections.get(_pair(sender, to))
        if connection is None or sender not in connection.knows:
            return
        if channel is Channel.HOST:
            self._carry(connection, sender, to, content)
            return
        scenario = self.scenario
        # Questions have their own random numbers, so that they change little for other messages.
        is_question = isinstance(content, Confirm | Confirmed)
        chance = self._chance(sender, to, "questions" if is_question else "")
        if scenario.as_bytes:
            content = _encoded(content)
        if self.is_mended or chance.random() >= scenario.loss:
            self._bring(self._delay(chance), sender, to, content)
        if self.is_mended:
            return
        if chance.random() < scenario.twice:
            self._bring(self._delay(chance) * 2, sender, to, content)
        if chance.random() < scenario.late:
            self._bring(chance.uniform(1.0, 40.0) * scenario.patience, sender, to, content)
        if scenario.old:
            self._bring_an_old_one(sender, to, content)

    def _bring_an_old_one(self, sender: str, to: str, content: object) -> None:
        chance = self._chance(sender, to, "old")
        sent = self._sent.setdefault((sender, to), [])
        # A random message is replaced, so that the kept messages are of all ages.
        if len(sent) < OLD_KEPT:
            sent.append(content)
        else:
            sent[chance.randrange(OLD_KEPT)] = content
        if chance.random() < self.scenario.old:
            self._bring(self._delay(chance), sender, to, chance.choice(sent))

    def _bring(self, seconds: float, sender: str, to: str, content: object) -> None:
        def arrive() -> None:
            if (to, sender) not in self.deaf:
                self.simulation.deliver(to, sender, Channel.MEMBER, content)

        self.simulation.later(seconds, arrive)

    def _carry(self, connection: _Connection, sender: str, to: str, content: object) -> None:
        def arrive() -> None:
            if not connection.is_broken:
                self.simulation.deliver(to, sender, Channel.HOST, content)

        delay = self._delay(self._chance(sender, to))
        now = self.simulation.now
        at = max(now + delay, connection.arrives.get(to, 0.0))
        connection.arrives[to] = at
        self.simulation.later(at - now, arrive)

    def _delay(self, chance: Random) -> float:
        is_slow = not self.is_mended and chance.random() < self.scenario.slow
        usual = 0.8 if self.scenario.is_steady else chance.expovariate(1.0)
        return self.scenario.delay * (0.2 + usual + (20.0 if is_slow else 0.0))

    def _chance(self, sender: str, to: str, what: str = "") -> Random:
        found = self._chances.get((sender, to, what))
        if found is None:
            made = Random(f"{self.scenario.seed} {sender}>{to}{what}")
            found = self._chances[sender, to, what] = made
        return found


def _pair(one: str, two: str) -> str:
    return one + two if one < two else two + one


@lru_cache(maxsize=256)
def _encoded(message: JoinMessage) -> bytes:
    # The same message goes to several peers, one after another.
    return encode(message, speaks=LATEST)
