"""Random trees of views, and a slow comparison of two of their branches.

Unlike a real cluster, a tree has several successors of a view, and several roots, so that two
branches can differ.  No view is forgotten here, and data is a plain list of frames.
"""

from collections.abc import Sequence

from attrs import frozen
from hypothesis import strategies as st

from joinproto.join.ids import Digest, by_content, by_hash
from joinproto.join.lineage import Lineage, Order
from joinproto.join.position import PositionOrder
from joinproto.join.view import Kind, Position, Seat, View, change, close, found, restart

A, B, C = (Seat(name, f"{name}'") for name in "abc")


@frozen
class Tree:
    """All views; each comes after its parent."""

    views: tuple[View, ...]

    def path_of(self, view: View) -> tuple[View, ...]:
        """Return the views from the founding to this one."""
        path = [view]
        while path[0].parent is not None:
            path.insert(0, self.at(path[0].parent))
        return tuple(path)

    def at(self, view_id: object) -> View:
        """Return the view with this id."""
        return next(view for view in self.views if view.id == view_id)

    def lineage(self, view: View, *, keep: int = 1_000) -> Lineage:
        """Return the lineage of a store whose tip is `view`."""
        lineage = Lineage()
        for one in self.path_of(view):
            lineage = lineage.append(one, keep=keep)
        return lineage

    def data(self, position: Position | None) -> list[tuple[object, int]]:
        """Return every frame that a store at this position has, the first one first."""
        if position is None:
            return []
        before = self.data(self.at(position.view).position)
        return before + [(position.view, n) for n in range(len(before) + 1, position.seq + 1)]


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    """Return a tree of up to 14 views, mostly long branches."""
    digests: list[Digest] = [by_hash, by_content]
    digest = draw(st.sampled_from(digests))
    tree = Tree(())
    for number in range(draw(st.integers(1, 14))):
        nonce = str(number)
        # Counted from the end, so that the simplest tree is one long chain.
        back = draw(st.integers(0, len(tree.views))) if tree.views else 0
        if not tree.views or back == len(tree.views):
            view = found(
                members=[A, B, C],
                electors=[A, B],
                wait_for=1,
                options_digest="options",
                cluster_name="cluster",
                nonce=nonce,
                time=0,
                digest=digest,
            )
            tree = Tree((*tree.views, view))
            continue
        parent = tree.views[-1 - back]
        kinds = [Kind.CHANGE, Kind.CLOSE, Kind.RESTART] if parent.is_open else [Kind.RESTART]
        at = draw(positions(tree, parent)) if parent.is_open else parent.position
        match draw(st.sampled_from(kinds)):
            case Kind.CHANGE:
                members = draw(st.sampled_from([[A], [A, B], [A, B, C]]))
                view = change(
                    parent,
                    members=members,
                    position=at,
                    activated=True,
                    nonce=nonce,
                    time=0,
                    digest=digest,
                )
            case Kind.CLOSE:
                view = close(
                    parent, position=at, activated=True, nonce=nonce, time=0, digest=digest
                )
            case _:
                view = restart(
                    parent,
                    members=parent.members,
                    position=at,
                    wait_for=1,
                    options_digest="options",
                    nonce=nonce,
                    time=0,
                    digest=digest,
                )
        tree = Tree((*tree.views, view))
    return tree


def positions(tree: Tree, tip: View) -> st.SearchStrategy[Position | None]:
    """Return positions that a store with this tip may have: none, or a frame on its path."""
    possible: list[Position | None] = [None]
    for view in tree.path_of(tip):
        start = 0 if view.position is None else view.position.seq
        if view.is_open:
            possible += [Position(view.id, start + more) for more in (1, 2)]
    return st.sampled_from(possible)


def slow_compare(one: Sequence[View], other: Sequence[View]) -> tuple[Order, int]:
    """Return the relation of two whole paths, and how many views they have in common."""
    common = 0
    while common < min(len(one), len(other)) and one[common] == other[common]:
        common += 1
    if one == other:
        return Order.EQUAL, common
    if common == len(one):
        return Order.BEHIND, common
    if common == len(other):
        return Order.AHEAD, common
    return (Order.DIVERGED if common else Order.FOREIGN), common


def slow_compare_data(
    one: list[tuple[object, int]], other: list[tuple[object, int]]
) -> PositionOrder:
    """Return the relation of two lists of frames."""
    if one == other:
        return PositionOrder.EQUAL
    if one == other[: len(one)]:
        return PositionOrder.BEHIND
    if other == one[: len(other)]:
        return PositionOrder.AHEAD
    return PositionOrder.INCOMPARABLE
