"""The parts of a state that an expression reads, found from its text alone.

The answer is the same in all states that agree in these parts, so one of them is asked.  If the
text does not show which parts of a member are read, because the whole member is compared or given
to a function, all of the member counts as read.
"""

from __future__ import annotations

import ast

from attrs import frozen

_WHOLE = frozenset({"links", "under_way", "connected"})
_VALUES = frozenset({"values", "items"})


@frozen
class Reads:
    """The parts that an expression reads.

    `members`: their names; None means all members.  `attributes`: the attributes of observations;
    None means all.  `disk`, `monitor`, `split`: whether these are read.  `is_known`: False means
    that any part may be read.
    """

    members: frozenset[str] | None
    attributes: frozenset[str] | None
    disk: bool = False
    monitor: bool = False
    split: bool = False
    is_known: bool = True


ANYTHING = Reads(None, None, disk=True, monitor=True, split=True, is_known=False)


def reads_of(text: str, members: tuple[str, ...]) -> Reads:
    """Return the parts of a state that an expression reads, if `predicate_of` accepts it."""
    tree = ast.parse(text.strip(), mode="eval")
    above = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    if any(isinstance(node, ast.Lambda) for node in ast.walk(tree)):
        return ANYTHING
    reading = _Reading(above, frozenset(members))
    for node in ast.walk(tree):
        if isinstance(node, ast.comprehension):
            reading.bind(node)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            reading.take(node)
    if not reading.is_known:
        return ANYTHING
    return Reads(
        None if reading.all_members else frozenset(reading.read),
        None if reading.is_whole else frozenset(reading.attributes),
        disk="disk" in reading.others,
        monitor="monitor" in reading.others,
        split="split" in reading.others,
    )


class _Reading:
    """Collects the uses of names.  `above`: a node to the node that it is part of."""

    def __init__(self, above: dict[ast.AST, ast.AST], members: frozenset[str]) -> None:
        self.above, self.members = above, members
        self.is_known, self.all_members, self.is_whole = True, False, False
        self.read: set[str] = set()
        self.attributes: set[str] = set()
        self.others: set[str] = set()
        self.bound: set[str] = set()  # names that stand for observations

    def bind(self, node: ast.comprehension) -> None:
        """Note the names of a comprehension that stand for observations."""
        self.bound.update(_bound_by(node))

    def take(self, node: ast.Name) -> None:
        """Note the parts that one use of a name reads."""
        name = node.id
        if name in self.members or name in self.bound:
            if name in self.members:
                self.read.add(name)
            self._observation(node)
        elif name in ("view", "up"):
            self._views(node)
        elif name == "count":
            self._count(node)
        elif name in ("disk", "monitor", "split"):
            self.others.add(name)

    def _observation(self, node: ast.expr) -> None:
        """Note which attributes of an observation are read."""
        match self.above[node]:
            case ast.Attribute(attr=name):
                self.attributes.add(name)
            case ast.Compare(left, [ast.Is() | ast.IsNot()], [other]) if _has_down(left, other):
                pass
            case _:
                self.is_whole = True

    def _views(self, node: ast.Name) -> None:
        """Note which parts are read of all members, or of a member by its name."""
        self.all_members = True
        above = self.above[node]
        match above:
            case ast.Subscript(value=value) if value is node:
                self._observation(above)
            case ast.Call(ast.Name("len")):
                pass
            case ast.Compare(_, [ast.In() | ast.NotIn()], [other]) if other is node:
                pass
            case ast.comprehension(iter=over) if over is node:
                pass
            case ast.Attribute(attr=name) if name in _WHOLE and node.id == "view":
                self.is_known = False
            case ast.Attribute(attr="disk" | "monitor" | "split" as name) if node.id == "view":
                self.others.add(name)
            case ast.Attribute(attr=name) if name in _VALUES:
                self._over(above)
            case _:
                self.is_whole = True
                if node.id == "view":
                    self.is_known = False

    def _over(self, method: ast.AST) -> None:
        """Note the parts that `view.values()` and the like read: whole members, unless iterated."""
        call = self.above[method]
        place = self.above.get(call)
        is_read_by_name = isinstance(place, ast.comprehension) and (
            place.iter is call and bool(_bound_by(place))
        )
        self.is_whole |= not is_read_by_name

    def _count(self, node: ast.Name) -> None:
        self.all_members = True
        match self.above[node]:
            case ast.Call(func, [ast.Constant(str(name)), _], []) if func is node:
                self.attributes.add(name.split(".")[0])
            case _:
                self.is_whole = True


def _bound_by(node: ast.comprehension) -> list[str]:
    """Return the name that stands for an observation in `for ... in view.values()`."""
    match node.iter, node.target:
        case ast.Call(ast.Attribute(ast.Name("view" | "up"), "values"), [], []), ast.Name(name):
            return [name]
        case (
            ast.Call(ast.Attribute(ast.Name("view" | "up"), "items"), [], []),
            ast.Tuple([ast.Name(), ast.Name(name)]),
        ):
            return [name]
    return []


def _has_down(one: ast.expr, other: ast.expr) -> bool:
    return any(isinstance(node, ast.Name) and node.id == "DOWN" for node in (one, other))
