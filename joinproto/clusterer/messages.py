"""Events of a node, messages between nodes, and effects for the host.

Source: Clusterer, U7; the messages of the real Clusterer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Annotated, TypeAlias

from attrs import field, frozen

from joinproto.clusterer.config import NOTHING, Config, Held, Notes
from joinproto.clusterer.status import Status
from joinproto.codec.json_form import Absent

NO_NODES: frozenset[str] = frozenset()


def _names(found: Iterable[str]) -> frozenset[str]:
    return frozenset(found)


@frozen(kw_only=True)
class Members:
    """The stored list of the nodes that a broker ran with, and whether the node's data count.

    `given_up`: the present data no longer count, even if they are still there.  `stopped`: the last
    run of the broker ended with an orderly stop; None if an earlier version wrote the record.
    """

    members: Annotated[
        frozenset[str], "the nodes of the broker's cluster, with the node itself"
    ] = field(default=NO_NODES, converter=_names)
    ran: Annotated[
        frozenset[str], "the nodes that ran when the broker ran last, with the node itself"
    ] = field(default=NO_NODES, converter=_names)
    given_up: Annotated[bool, "whether the present data must be deleted"] = False
    stopped: Annotated[bool | None, "whether the broker was stopped in order", Absent()] = None

    @property
    def is_doubtful(self) -> bool:
        """Return whether the data count, and the broker ended without a stop while others ran."""
        return self.stopped is False and not self.given_up and len(self.ran) > 1


@frozen(kw_only=True)
class Record:
    """The durable record of a node."""

    stored: Held | None = None
    identity: str | None = None
    members: Members = Members()


# -- events ----------------------------------------------------------------------------------


@frozen(kw_only=True)
class Start:
    """The node starts.

    `given`: the operator's config, or None; `fresh`: the node's identity if it has no stored one.
    """

    record: Record
    given: Config | None
    fresh: str


@frozen
class Tick:
    """Half a second or more has passed, so a waiting node begins a round.

    `token`: the number of the round, which no open round has.  `yields`: the host knows that
    another node must go first this time.
    """

    token: int
    yields: bool = False


@frozen
class Receive:
    """A message arrives."""

    sender: str
    content: Content


@frozen
class Silence:
    """The named node can no longer answer the question with this `token`."""

    node: str
    token: int


@frozen
class Apply:
    """An operator gives the node a config; None if it is not valid."""

    config: Config | None


@frozen
class Booted:
    """The broker runs."""


@frozen
class BootFailed:
    """The broker did not boot; the node tries again."""


@frozen
class Died:
    """The broker has ended, although its node has not stopped it."""

    why: str


@frozen
class Stop:
    """The operator wants the node's process to end."""

    why: str


@frozen
class Paused:
    """Another program stopped the broker, or started it again (partition handling)."""

    paused: bool


@frozen
class Down:
    """Another node has ended, or cannot be reached any more."""

    node: str


@frozen
class BrokerGone:
    """This node's broker saw that the broker of `node` stopped.

    Not every kind of broker reports this.
    """

    node: str


@frozen
class Poke:
    """A while has passed since another node was found to be gone, so it may be back."""


@frozen
class TimeUp:
    """The shutdown timer of this number has run out."""

    number: int


Event: TypeAlias = (
    Start | Tick | Receive | Silence | Apply | Booted | BootFailed | Died | Stop | Paused | Down
    | BrokerGone | Poke | TimeUp
)  # fmt: skip

# -- messages --------------------------------------------------------------------------------


@frozen
class AskStatus:
    """Asks for config and status.  `identity`: the identity of the node that asks."""

    identity: str
    token: int


@frozen
class Told:
    """The answer to `AskStatus`.  `held`: None before the start."""

    token: int
    held: Held | None
    status: Status


@frozen
class AskAwaited:
    """Asks a rejoining node which nodes it awaits."""

    token: int


@frozen
class Awaited:
    """The answer to `AskAwaited`.

    `nodes`: the awaited nodes; None if the node does not know them yet, or is not rejoining.
    """

    token: int
    nodes: frozenset[str] | None


@frozen
class NewConfig:
    """A config, which a node takes if it is younger.  `achieved`: the sender is ready with it."""

    held: Held
    achieved: bool = False


@frozen
class AskLock:
    """Asks a node for its lock."""

    token: int


@frozen
class Locked:
    """The answer to `AskLock`."""

    token: int
    granted: bool


@frozen
class Unlock:
    """Gives a lock back."""

    token: int


@frozen
class AskService:
    """Asks whether the broker of a node runs, and for the broker's own facts.

    `number`: the number of the round, or -1 for a question after the connection with that node has
    ended.
    """

    number: int


@frozen
class ServiceTold:
    """The answer to `AskService`.

    `version`: the version of the node's config; `says`: the broker's own facts.
    """

    number: int
    runs: bool
    version: int
    says: Notes[str] = NOTHING


Question: TypeAlias = AskStatus | AskAwaited | AskLock | AskService
Reported: TypeAlias = Told | Awaited | Locked | ServiceTold
Content: TypeAlias = Question | Reported | NewConfig | Unlock


QUESTION_OF: Mapping[type, type] = {
    Told: AskStatus,
    Awaited: AskAwaited,
    Locked: AskLock,
    ServiceTold: AskService,
}
"""The kind of question for each kind of answer."""


def token_of(content: Question | Reported) -> int:
    """Return the number by which an answer names its question."""
    return content.number if isinstance(content, AskService | ServiceTold) else content.token


# -- effects ---------------------------------------------------------------------------------


@frozen
class Send:
    """Sends a message."""

    to: str
    content: Content


@frozen
class TellService:
    """Answers `AskService`; the host adds the broker's own facts, or those on its disk."""

    to: str
    number: int
    version: int
    runs: bool


@frozen
class Keep:
    """Stores the config with this node's own identity, durably, before the next effects."""

    held: Held
    identity: str


@frozen
class KeepMembers:
    """Stores the list of members, durably, before the next effects."""

    members: Members


@frozen
class Wipe:
    """Deletes this node's data, and its broker's list of members."""


@frozen
class StopBroker:
    """Stops the broker; the node continues.  `leaves`: the new config does not name the node."""

    leaves: bool = False


class Boot(Enum):
    """The manner in which the broker boots."""

    JOIN = "join"  # without data, into the cluster of the nodes that run
    FOUND = "found"  # as the first node of a cluster, with the present data if there are any
    OWN = "own"  # with its own data, together with members that run
    FIRST = "first"  # with its own data, without waiting for other nodes


WITH_OTHERS = (Boot.JOIN, Boot.OWN)


@frozen
class BootBroker:
    """Boots the broker.

    `nodes`, `ram`: all nodes and the ram nodes of the config.  `forget`: nodes that are no longer
    members.  `members`: the nodes of the former cluster.  `running`: the nodes that run with the
    config, with the facts of each.  `went`: for each node that ran with this one last, its data, or
    None if it did not answer.
    """

    how: Boot
    nodes: frozenset[str]
    forget: frozenset[str] = NO_NODES
    ram: frozenset[str] = NO_NODES
    members: frozenset[str] = NO_NODES
    running: Notes[Notes[str]] = NOTHING
    went: Notes[Notes[str] | None] = NOTHING


@frozen
class BootNothing:
    """Reports `BootFailed` after a while: no node runs with which the broker could boot."""


@frozen
class Forget:
    """Makes the running broker forget former members, if necessary after these have ended."""

    nodes: frozenset[str]


@frozen
class Arm:
    """Starts the shutdown timer anew; with `seconds` None it never runs out."""

    seconds: int | None
    number: int


class Reply(Enum):
    """The answer to an operator."""

    BEGINS = "beginning transition"
    IN_TRANSITION = "accepted, a transition is under way"
    OLDER = "refused: older than the current config"
    SAME = "refused: already applied"
    OTHER = "refused: same version, other content"
    INVALID = "refused: not a valid config"
    NOT_NOW = "refused: cannot be applied now"
    BROKER = "refused: the broker does not run"
    OFF = "no answer: the node is off"

    @property
    def is_accepted(self) -> bool:
        return self in (Reply.BEGINS, Reply.IN_TRANSITION)


@frozen
class Answer:
    """Answers the operator.  `why`: details of a refusal, or ""."""

    reply: Reply
    why: str = ""


@frozen
class Off:
    """Ends the node's process.  `fails`: the process must be started again."""

    why: str
    fails: bool = False


Effect: TypeAlias = (
    Send | TellService | Keep | KeepMembers | Wipe | StopBroker | BootBroker | BootNothing | Forget
    | Arm | Answer | Off
)  # fmt: skip
