"""Messages between a primary and a backup, and the parts that both store.

One link goes from a backup to the primary.  The primary numbers all that it sends on the link, from
1, whether it is a message, wiring or a view.  A backup reports the number up to which it has done
and stored everything.

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

    Only these brokers may be promoted.  `number`: counts the views of a generation.  `primary`: the
    broker whose view it is; it is a member, too.
    """

    generation: Annotated[int, AtLeast(0), "of the primary; 0: there was none yet"] = 0
    number: Annotated[int, AtLeast(0), "of the view in its generation"] = 0
    primary: Annotated[str, "of which broker it is; empty: none"] = ""
    members: Annotated[
        tuple[str, ...], "the brokers that are up to date, the primary too, in order"
    ] = ()

    def __attrs_post_init__(self) -> None:
        """Raise `ValueError` for values that no broker sends; no store with them could be read."""
        if self.generation < 0 or self.number < 0:
            raise ValueError(f"a view of generation {self.generation}, number {self.number}")

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
    name: Annotated[str, "of the queue or exchange; of a binding: exchange, queue and key"]
    id: Annotated[str, "its identity: another one after it was deleted and declared again"]
    says: Annotated[Level | None, "what it says of itself (H7); null: nothing"] = None
    level: Annotated[Level, "what of it replicates; the primary says"] = Level.ALL
    durable: Annotated[bool, "whether it survives a restart"] = False
    arguments: Annotated[str, "what else it was declared with, as text; not looked into"] = ""

    @property
    def key(self) -> tuple[str, str]:
        """Return the kind and name, which no two items share at one time."""
        return (self.kind.value, self.name)


@frozen(kw_only=True)
class Change:
    """A change of one queue: new messages at its back, and messages removed."""

    queue: Annotated[str, "its name"]
    puts: Annotated[tuple[Message, ...], "new messages, in their order"] = ()
    takes: Annotated[tuple[Message, ...], "messages that are gone"] = ()


# -- from the backup ---------------------------------------------------------------------------


@frozen(kw_only=True)
class Join:
    """The first message on a link: the broker's name, and the youngest view that it knows."""

    name: Annotated[str, "the backup"]
    view: Annotated[View, "the youngest one it knows"]
    default: Annotated[Default, "its own setting, which must be the primary's (H7)"]


@frozen(kw_only=True)
class Subscribe:
    """A backup asks for one queue, and names the messages of it that it has: H5, H9."""

    queue: Annotated[str, "its name"]
    id: Annotated[str, "its identity, as the wiring said"]
    has: Annotated[tuple[str, ...], "identities of the messages it has; empty by sequence"]
    last: Annotated[int | None, "the document: the last number it has; null: none"] = None


@frozen
class Has:
    """The backup has done and stored everything up to this number."""

    number: Annotated[int, AtLeast(1), "of the last message of this link"]


# -- from the primary --------------------------------------------------------------------------


@frozen(kw_only=True)
class Refuse:
    """The answer to a broker that may not join; the link ends."""

    rule: Annotated[str, "the rule that decided"]
    why: Annotated[str, "the reason, in a sentence"]
    view: Annotated[View, "the youngest one that the answering broker knows"]


@frozen(kw_only=True)
class Wired:
    """All wiring that replicates, and how many events it includes.

    It is the primary's first message on a link (H6).
    """

    view: Annotated[View, "of the primary, as last written down"]
    things: Annotated[tuple[WiringItem, ...], "exchanges, queues, bindings"]
    events: Annotated[int, AtLeast(0), "this many declarations and deletions are in it"]


@frozen(kw_only=True)
class Declared:
    """A queue, an exchange or a binding was declared."""

    event: Annotated[int, AtLeast(1), "its number among the declarations and deletions"]
    thing: Annotated[WiringItem, "what was declared"]


@frozen(kw_only=True)
class Deleted:
    """A queue, an exchange or a binding was deleted."""

    event: Annotated[int, AtLeast(1), "its number among the declarations and deletions"]
    thing: Annotated[WiringItem, "what was deleted"]


@frozen(kw_only=True)
class Surplus:
    """Messages of a queue that the backup has and the primary lacks; the backup drops them (H9)."""

    queue: Annotated[str, "its name"]
    drops: Annotated[tuple[str, ...], "identities; they need not be there any more"]
    next: Annotated[int, AtLeast(0), "the number of the queue's next message"]


@frozen(kw_only=True)
class Copy:
    """Messages that were in the queue before the backup asked for it, in the order of H5."""

    queue: Annotated[str, "its name"]
    messages: Annotated[tuple[Message, ...], "the last one is nearest to the front"]


@frozen(kw_only=True)
class CaughtUp:
    """The receiver has all earlier messages of this queue (H5)."""

    queue: Annotated[str, "its name"]


@frozen(kw_only=True)
class Changed:
    """A change of one queue, or of several queues in one transaction, done as a whole (LM3)."""

    changes: Annotated[tuple[Change, ...], "one for each queue"]


@frozen
class Viewed:
    """A view that was written down, or that the backup must write down (manager outside)."""

    view: Annotated[View, "the view"]


FromBackup: TypeAlias = Join | Subscribe | Has
FromPrimary: TypeAlias = Wired | Declared | Deleted | Surplus | Copy | CaughtUp | Changed | Viewed
Content: TypeAlias = FromBackup | FromPrimary | Refuse


# The messages of a link as JSON values, by their types: `[tag, fields]`.
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

    Raises `PeerError` for a malformed one.
    """
    match tree:
        case [str(tag), dict(fields)] if tag in KINDS:
            try:
                found: Content = read(KINDS[tag], fields)
                return found
            except Malformed as error:
                raise PeerError(
                    f"the fields of the message {tag!r} are not as expected: {error}",
                    next="see that both brokers run one version",
                ) from error
    raise PeerError(
        "what came is not a message of a link", next="see that a broker of this kind is there"
    )
