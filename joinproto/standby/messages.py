"""Messages between a primary and a backup, and the parts that both store.

One link goes from a backup to the primary.  The primary numbers everything that it sends on the
link, from 1, except a refusal: changes of queues, wiring and views.  A backup reports the number up
to which it has done and stored everything.

Source: hot standby, H2, H4 to H6, H9.
"""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any, TypeAlias

from attrs import frozen

from joinproto.codec.json_form import AtLeast, encoded, read
from joinproto.codec.malformed import Malformed
from joinproto.errors import PeerError
from joinproto.standby.catch_up import Message
from joinproto.standby.replicates import Default, Level


@frozen(kw_only=True)
class View:
    """The brokers that have every confirmed message, as last written down (H4).

    Only these brokers may be promoted.
    """

    generation: Annotated[
        int, AtLeast(0), "the primary's generation; 0: there was no primary yet"
    ] = 0
    number: Annotated[int, AtLeast(0), "the number of the view in its generation"] = 0
    primary: Annotated[str, "the primary of this view; empty: there was none yet"] = ""
    members: Annotated[
        tuple[str, ...], "the brokers that are up to date, with the primary, sorted by name"
    ] = ()

    def __attrs_post_init__(self) -> None:
        """Raise `ValueError` for negative numbers, with which a stored view could not be read."""
        if self.generation < 0 or self.number < 0:
            raise ValueError(
                f"a view has generation {self.generation} and number {self.number};"
                " expected numbers from 0 on"
            )

    @property
    def age(self) -> tuple[int, int]:
        """Return the key by which views are sorted, the oldest first."""
        return (self.generation, self.number)


class Kind(Enum):
    """The kinds of wiring."""

    QUEUE = "queue"
    EXCHANGE = "exchange"
    BINDING = "binding"


@frozen(kw_only=True)
class WiringItem:
    """A queue, an exchange or a binding.

    `id`: differs between two items that had the same name at different times.
    """

    kind: Annotated[Kind, "queue, exchange or binding"]
    name: Annotated[
        str, "the name of the queue or exchange; of a binding: its exchange, queue and key"
    ]
    id: Annotated[str, "its identity, which changes if it is deleted and declared again"]
    says: Annotated[
        Level | None, "the level that it was declared with (H7); null: without a level"
    ] = None
    level: Annotated[Level, "the parts of it that replicate, as the primary decided"] = Level.ALL
    durable: Annotated[bool, "whether it survives a restart"] = False
    arguments: Annotated[
        str, "the other arguments of its declaration, as text that is not interpreted"
    ] = ""

    @property
    def key(self) -> tuple[str, str]:
        """Return the kind and name, which no two items share at one time."""
        return (self.kind.value, self.name)


@frozen(kw_only=True)
class Change:
    """A change of one queue: new messages and removed messages."""

    queue: Annotated[str, "the name of the queue"]
    puts: Annotated[tuple[Message, ...], "new messages, in their order"] = ()
    takes: Annotated[tuple[Message, ...], "removed messages"] = ()


# -- from the backup ---------------------------------------------------------------------------


@frozen(kw_only=True)
class Join:
    """The first message on a link: the broker's name, and the youngest view that it knows."""

    name: Annotated[str, "the backup"]
    view: Annotated[View, "the youngest view that it knows"]
    default: Annotated[Default, "its default level, which must be the same at the primary (H7)"]


@frozen(kw_only=True)
class Subscribe:
    """A backup asks for one queue, and names the queue's messages that it has: H5, H9."""

    queue: Annotated[str, "the name of the queue"]
    id: Annotated[str, "the identity of the queue, as the wiring gave it"]
    has: Annotated[
        tuple[str, ...], "the identities of its messages; empty if it asks by a number (LM1)"
    ]
    last: Annotated[
        int | None, "the last number that it has, if it asks by a number (LM1); else null"
    ] = None


@frozen
class Has:
    """The backup has done and stored everything up to this number."""

    number: Annotated[int, AtLeast(1), "the number of a message on this link"]


# -- from the primary --------------------------------------------------------------------------


@frozen(kw_only=True)
class Refuse:
    """The answer to a broker that may not join; the link ends."""

    rule: Annotated[str, "the rule that decided"]
    why: Annotated[str, "the reason, in a sentence"]
    view: Annotated[View, "the youngest view that the answering broker knows"]


@frozen(kw_only=True)
class Wired:
    """All wiring that replicates: the primary's first message on a link (H6)."""

    view: Annotated[View, "the primary's view, as last written down"]
    things: Annotated[tuple[WiringItem, ...], "exchanges, queues, bindings"]
    events: Annotated[int, AtLeast(0), "how many declarations and deletions the wiring includes"]


@frozen(kw_only=True)
class Declared:
    """A queue, an exchange or a binding was declared."""

    event: Annotated[int, AtLeast(1), "its number among the declarations and deletions"]
    thing: Annotated[WiringItem, "the declared item"]


@frozen(kw_only=True)
class Deleted:
    """A queue, an exchange or a binding was deleted."""

    event: Annotated[int, AtLeast(1), "its number among the declarations and deletions"]
    thing: Annotated[WiringItem, "the deleted item"]


@frozen(kw_only=True)
class Surplus:
    """Messages of a queue that the backup has and the primary lacks; the backup drops them (H9)."""

    queue: Annotated[str, "the name of the queue"]
    drops: Annotated[
        tuple[str, ...], "the messages' identities; the backup may have dropped some already"
    ]
    next: Annotated[int, AtLeast(0), "the number of the queue's next message"]


@frozen(kw_only=True)
class Copy:
    """Messages that were in the queue before the backup asked for it, in the order of H5."""

    queue: Annotated[str, "the name of the queue"]
    messages: Annotated[tuple[Message, ...], "the messages, in the order of the copy"]


@frozen(kw_only=True)
class CaughtUp:
    """The backup was sent all older messages of this queue (H5)."""

    queue: Annotated[str, "the name of the queue"]


@frozen(kw_only=True)
class Changed:
    """A change of one queue, or of several queues in one transaction, done as a whole (LM3)."""

    changes: Annotated[tuple[Change, ...], "one for each queue"]


@frozen
class Viewed:
    """A view that was written down or, with a manager outside, that the backup must write down."""

    view: Annotated[View, "the view"]


FromBackup: TypeAlias = Join | Subscribe | Has
FromPrimary: TypeAlias = Wired | Declared | Deleted | Surplus | Copy | CaughtUp | Changed | Viewed
Content: TypeAlias = FromBackup | FromPrimary | Refuse


# As a JSON value, a message of a link is `[tag, fields]`; the tag names its type.
#
# A message of a queue is sent without its content; the host sends the content itself.
#
# Source: hot standby, H4 to H6.

KINDS: dict[str, type] = {
    "join": Join,
    "subscribe": Subscribe,
    "has": Has,
    "refuse": Refuse,
    "wired": Wired,
    "declared": Declared,
    "deleted": Deleted,
    "surplus": Surplus,
    "copy": Copy,
    "caught-up": CaughtUp,
    "changed": Changed,
    "viewed": Viewed,
}
TAGS = {kind: tag for tag, kind in KINDS.items()}


def to_tree(content: Content) -> list[Any]:
    """Return a message as JSON values."""
    return [TAGS[type(content)], encoded(content)]


def from_tree(tree: Any) -> Content:
    """Return the message that these JSON values stand for.

    Raises `PeerError` for malformed values.
    """
    match tree:
        case [str(tag), dict(fields)] if tag in KINDS:
            try:
                found: Content = read(KINDS[tag], fields)
                return found
            except Malformed as error:
                raise PeerError(
                    f"the fields of the message {tag!r} are not as expected: {error}",
                    next="check that both brokers run the same version",
                ) from error
    raise PeerError(
        "received a value that is not a message between a primary and a backup",
        next="check that the other program is a broker of this kind and version",
    )
