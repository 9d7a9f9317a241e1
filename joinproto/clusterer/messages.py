"""Events of a node, messages between nodes, and effects for the host.

Source: Clusterer, U7; the real one's messages.
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
    """Durable facts in addition to the config: the nodes that its broker ran with, and whether its
    data count.
    `given_up`: the present data no longer count, whether they are still there or not.
    `stopped`: since the broker ran last it was stopped in order; None if an earlier version did not
    say.
    """

    members: Annotated[frozenset[str], "of the broker's cluster, itself included"] = field(
        default=NO_NODES, converter=_names
    )
    ran: Annotated[
        frozenset[str], "the nodes that ran when the broker ran last, itself included"
    ] = field(default=NO_NODES, converter=_names)
    given_up: Annotated[bool, "the present data must be deleted"] = False
    stopped: Annotated[bool | None, "the broker was stopped in order", Absent()] = None

    @property
    def is_doubtful(self) -> bool:
        """Return whether the broker ended with others, or before them, and none of them knows."""
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
    """The node starts.  `fresh`: its identity if it is blank."""

    record: Record
    given: Config | None
    fresh: str


@frozen
class Tick:
    """Half a second has passed, or more; `token`: never used before in this run.

    `yields`: another node must go first this time, as its host knows.
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
    """No answer can come from this node to the question with `token`."""

    node: str
    token: int


@frozen
class Apply:
    """An operator's config; None if it is not valid."""

    config: Config | None


@frozen
class Booted:
    """The broker runs."""


@frozen
class BootFailed:
    """The broker did not boot; it is tried again."""


@frozen
class Died:
    """The broker has ended, and its node has not stopped it."""

    why: str


@frozen
class Stop:
    """The operator wants the node's process to end."""

    why: str


@frozen
class Paused:
    """Something else stopped the broker, or lets it run again (partition handling)."""

    paused: bool


@frozen
class Down:
    """A node is gone, or cannot be reached any more."""

    node: str


@frozen
class BrokerGone:
    """The broker of a node has stopped, as one's own sees it; not every kind of broker says so."""

    node: str


@frozen
class Poke:
    """Two seconds have passed since a node was found to be gone."""


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
    """Asks for config and status; names the node that asks."""

    identity: str
    token: int


@frozen
class Told:
    """The answer; before the start no config is known."""

    token: int
    held: Held | None
    status: Status


@frozen
class AskAwaited:
    """Asks a rejoining node which nodes it awaits."""

    token: int


@frozen
class Awaited:
    """The answer; None if not known yet, or it is not rejoining."""

    token: int
    nodes: frozenset[str] | None


@frozen
class NewConfig:
    """A config to be taken if it is younger.  `achieved`: the sender is ready with it."""

    held: Held
    achieved: bool = False


@frozen
class AskLock:
    """Wants the lock of a node."""

    token: int


@frozen
class Locked:
    """The lock is granted, or it is not."""

    token: int
    granted: bool


@frozen
class Unlock:
    """Gives a lock back."""

    token: int


@frozen
class AskService:
    """Asks whether the broker of a node runs, and for its own facts.

    `number`: of the round; -1 where a connection with that node has ended.
    """

    number: int


@frozen
class ServiceTold:
    """The answer.  `version`: of the config; `says`: only that kind of service knows."""

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
"""To each kind of answer its kind of question."""


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
    """Answers a question about the broker: with its own facts, or those of its disk."""

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
    """Throws this node's data away, and its broker's list of members."""


@frozen
class StopBroker:
    """Stops the broker; the node continues.  `leaves`: the next config does without it."""

    leaves: bool = False


class Boot(Enum):
    """The manner in which the broker boots."""

    JOIN = "join"  # without data, into the cluster of the nodes that run
    FOUND = "found"  # as the first one, with the present data if there are any
    OWN = "own"  # with own data, with members that run
    FIRST = "first"  # with own data, waiting for no node


WITH_OTHERS = (Boot.JOIN, Boot.OWN)


@frozen
class BootBroker:
    """Boots the broker.  `nodes`, `ram`: of the config.  `forget`: nodes that count no more.

    `members`: of the former cluster; `running`: the nodes that run with the config, with the facts
    of each. `went`: the data of the nodes that ran with it last, None of one that did not answer.
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
    """No node runs with which it could boot: after a while the boot has failed."""


@frozen
class Forget:
    """Has the broker, which runs, forget former members; maybe only once these are off."""

    nodes: frozenset[str]


@frozen
class Arm:
    """Starts the shutdown timer again; `seconds` None if it never runs out."""

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
    """Answers the operator.  `why`: more about a refusal, or ""."""

    reply: Reply
    why: str = ""


@frozen
class Off:
    """Ends the node's process.  `fails`: it must be started again."""

    why: str
    fails: bool = False


Effect: TypeAlias = (
    Send | TellService | Keep | KeepMembers | Wipe | StopBroker | BootBroker | BootNothing | Forget
    | Arm | Answer | Off
)  # fmt: skip
