"""Nodes and their disks, writes and harm, and the system to which the nodes belong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from attrs import evolve, field, frozen

from joinproto.recovery.found import Found

CLIENTS = "clients"


@frozen(cache_hash=True)
class Node:
    """A node and its disk.

    `data`: the numbers of the writes on its disk.  `view`: the nodes that it last served with,
    itself included, each as NAME.STARTS; `number`: the number of that view.  `founded_by`: whether
    an operator ("hand") or the policy forced that view, "" if neither did.
    `disk`: a disk that is not mounted looks blank, and keeps its data.
    `is_clean`: the node was stopped in order.  `starts`: how often it was started.
    """

    name: str
    runs: bool = True
    serves: bool = True
    data: tuple[int, ...] = ()
    disk: Literal["whole", "blank", "unmounted", "removed"] = "whole"
    view: tuple[str, ...] = ()
    number: int = 1
    founded_by: Literal["", "hand", "policy"] = ""
    is_clean: bool = False
    starts: int = 1

    @property
    def looks_blank(self) -> bool:
        """Return whether the directory is empty; an unmounted disk may still have data."""
        return self.disk in ("blank", "unmounted")

    @property
    def at_hand(self) -> tuple[int, ...]:
        """Return the writes that the node has if it is started now."""
        return self.data if self.disk == "whole" else ()

    @property
    def entry(self) -> str:
        """Return the node's entry in views, NAME.STARTS."""
        return f"{self.name}.{self.starts}"


@frozen(cache_hash=True)
class Left:
    """How often each kind of event may still happen.

    `ends`: stops, kills and cuts.  `by_hand`: foundings by an operator.  `unmounted`: disks that
    are not mounted, so that the directory looks blank.  `asks`: questions to the policy.

    `all_answer`: no node is silent when an operator asks for a founder.
    """

    writes: int = 2
    ends: int = 3
    starts: int = 0
    wipes: int = 1
    by_hand: int = 1
    unmounted: int = 0
    asks: int = 1
    all_answer: bool = False


@frozen(cache_hash=True)
class Clients:
    """The facts about clients.  `acknowledged`: acknowledged writes, without those that a wipe took
    from the last disk, because no answer can bring them back.

    `harm`: the harm that the policy's last answer did.  `written`: the number of the last write.
    """

    acknowledged: tuple[int, ...] = ()
    harm: Literal["", "a write lost", "two clusters"] = ""
    written: int = 0
    left: Left = field(factory=Left)

    def spending(self, budget: str) -> Clients:
        """Return the clients after one event of this budget."""
        left = {budget: getattr(self.left, budget) - 1}
        return evolve(self, left=evolve(self.left, **left))


@frozen(kw_only=True, eq=False)
class System:
    """The system to which the nodes belong.

    `found`: returns its reader's findings in a node's directory; `together`: completes the
    findings of several nodes by each other.  `needs_majority`: nodes serve on only if they are a
    majority of their view, unless a node has left it in order.  `goes_alone`: whether a node that
    is down serves again without others when it is started.
    """

    name: str
    found: Callable[[Node], Found]
    together: Callable[[tuple[Found, ...]], tuple[Found, ...]] = lambda found: found
    needs_majority: bool
    goes_alone: Callable[[Node], bool]


@frozen
class Move:
    """An event in words, with every node that it changes, and the clients if it changes them."""

    words: str
    nodes: tuple[Node, ...] = ()
    clients: Clients | None = None


Nodes = Mapping[str, Node]


def name_of(entry: str) -> str:
    """Return the name of the node in an entry of a view."""
    return entry.rpartition(".")[0]
