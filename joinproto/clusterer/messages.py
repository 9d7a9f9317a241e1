"""What a node is told, what nodes send each other, and what a node has its host do.

Source: Clusterer, U7; the real one's messages.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from attrs import frozen

from joinproto.clusterer.config import Config, Held
from joinproto.clusterer.status import Status

NOBODY: frozenset[str] = frozenset()


@frozen(kw_only=True)
class Record:
    """What lies on a node's disk: `ran` are the members that ran at the last stop, itself too.

    `blank`: the data that the stored config speaks of were given up, and no others came.
    """

    stored: Held | None = None
    identity: str | None = None
    members: frozenset[str] = NOBODY
    ran: frozenset[str] = NOBODY
    blank: bool = False


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

    `yields`: another node is to go first this time, as its host knows.
    """

    token: int
    record: Record
    yields: bool = False


@frozen
class Receive:
    """A message arrives."""

    sender: str
    content: Any


@frozen
class Silence:
    """No answer can come from this node to what was asked with `token`."""

    node: str
    token: int


@frozen
class Apply:
    """An operator's config; None: it is not valid."""

    config: Config | None


@frozen
class Booted:
    """The broker runs."""


@frozen
class BootFailed:
    """The broker did not boot; it is tried again."""


@frozen
class Paused:
    """Something else stopped the broker, or lets it run again (partition handling)."""

    paused: bool


@frozen
class Down:
    """A node is gone, or cannot be reached any more."""

    node: str


@frozen
class Poke:
    """Two seconds have passed since somebody was found to be gone."""


@frozen
class TimeUp:
    """The shutdown timer of this number has run out."""

    number: int


# -- messages --------------------------------------------------------------------------------


@frozen
class AskStatus:
    """Asks for config and status; says who asks."""

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
    """Asks a rejoining node whom it awaits."""

    token: int


@frozen
class Awaited:
    """The answer; None: not known yet, or it is not rejoining."""

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


# -- effects ---------------------------------------------------------------------------------


@frozen
class Send:
    """Sends a message."""

    to: str
    content: Any


@frozen
class Keep:
    """Stores the config with this node's own identity, durably, before what follows."""

    held: Held
    identity: str


@frozen
class Wipe:
    """Throws this node's data away, and what it knows of members."""


@frozen
class StopBroker:
    """Stops the broker; the node goes on."""


class Boot(Enum):
    """How the broker boots."""

    JOIN = "join"  # without data, into the cluster of the nodes that run
    FOUND = "found"  # as the first one, with the data at hand if there are any
    OWN = "own"  # with own data, beside members that run
    FIRST = "first"  # with own data, waiting for nobody


@frozen
class BootBroker:
    """Boots the broker.  `nodes`: of the config.  `forget`: members that do not count any more."""

    how: Boot
    nodes: frozenset[str]
    forget: frozenset[str] = NOBODY


@frozen
class Arm:
    """Starts the shutdown timer anew; `seconds` None: it never runs out."""

    seconds: int | None
    number: int


class Reply(Enum):
    """What an operator is told."""

    BEGINS = "beginning transition"
    IN_TRANSITION = "accepted, a transition is under way"
    OLDER = "refused: older than the current config"
    SAME = "refused: already applied"
    OTHER = "refused: same version, other content"
    INVALID = "refused: not a valid config"
    NOT_NOW = "refused: cannot be applied now"
    BROKER = "refused: the broker does not run"
    OFF = "no answer: the node is off"


@frozen
class Answer:
    """Answers the operator."""

    reply: Reply


@frozen
class Off:
    """Ends the node's process."""

    why: str
