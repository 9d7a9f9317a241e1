"""Nodes and their disks, clients' knowledge, and the system to which the nodes belong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from attrs import evolve, field, frozen

from joinproto.recovery.found import Found

CLIENTS = "clients"


@frozen(cache_hash=True)
class Node:
    """A node and its disk.

    `data`: the writes on its disk, by number.  `view`: the nodes that it last served with, itself
    included, each as NAME.STARTS.  `number`: of that view.  `founded_by`: the node that forced it,
    where it was forced.
    `disk`: one that is not mounted looks blank, and has all that it had.
    `is_clean`: it was stopped in order.  `starts`: how often it was started.
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
        """Return whether its directory is empty, whatever is on its disk."""
        return self.disk in ("blank", "unmounted")

    @property
    def at_hand(self) -> tuple[int, ...]:
        """Return the writes that it has when it starts as it is."""
        return self.data if self.disk == "whole" else ()

    @property
    def entry(self) -> str:
        """Return its name in views."""
        return f"{self.name}.{self.starts}"


@frozen(cache_hash=True)
class Left:
    """The remaining budgets.

    `ends`: stops, kills and cuts.  `by_hand`: foundings by others.  `unmounted`: disks that are
    not mounted, so that the directory looks blank.

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
    """The knowledge of clients.  `acknowledged`: writes that some disk still has: no answer can
    bring back those that a wipe or a restored copy took from the last disk.

    `harm`: done by the policy's last answer.
    """

    acknowledged: tuple[int, ...] = ()
    harm: Literal["", "a write lost", "two clusters"] = ""
    written: int = 0
    left: Left = field(factory=Left)

    def spending(self, budget: str) -> Clients:
        """Return the clients with one less left of this budget."""
        left = {budget: getattr(self.left, budget) - 1}
        return evolve(self, left=evolve(self.left, **left))


@frozen(kw_only=True, eq=False)
class System:
    """The system to which the nodes belong.

    `found`: its reader's findings in a node's directory, as the node left it; `together`: its
    findings for several read together.  `needs_majority`: nodes that lose more than half of those
    they served with at once stop serving.  `goes_alone`: whether a node that is down serves again
    by itself when it is started alone.
    """

    name: str
    found: Callable[[Node], Found]
    together: Callable[[tuple[Found, ...]], tuple[Found, ...]] = lambda found: found
    needs_majority: bool
    goes_alone: Callable[[Node], bool]


@frozen
class Move:
    """Something that happens: in words, with every node that it changes."""

    words: str
    nodes: tuple[Node, ...] = ()
    clients: Clients | None = None


Nodes = Mapping[str, Node]


def name_of(entry: str) -> str:
    """Return the node's name in an entry of a view."""
    return entry.rpartition(".")[0]
