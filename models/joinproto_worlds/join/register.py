"""The outside register of the join worlds: an atomic compare-and-set for each view."""

from __future__ import annotations

from typing import Any, ClassVar

from attrs import define

from joinproto.check.events import NOT_ENABLED, Persist, Record, Send
from joinproto.check.events import Message as Arrived
from joinproto.join.ids import ViewId
from joinproto.join.view import View
from joinproto_worlds.join.words import Ask, Cas, ChosenView, Free, Says


@define
class Register:
    """A register that never fails.  `chosen`: its views; `forgets`: it takes a second successor."""

    persistent: ClassVar[tuple[str, ...]] = ("chosen",)

    chosen: frozenset[View] = frozenset()
    forgets: bool = False

    def receive(self, event: Any) -> Any:
        match event:
            case Arrived(sender, Ask(parent)):
                successor = self._successor(parent)
                return [Send(sender, Free(parent) if successor is None else Says(successor))]
            case Arrived(sender, Cas(view)):
                successor = self._successor(view.parent)
                if successor is not None and not self.forgets:
                    return [Send(sender, Says(successor))]
                self.chosen |= {view}
                return [Persist(), Record(ChosenView(view.id)), Send(sender, Says(view))]
        return NOT_ENABLED

    def _successor(self, parent: ViewId | None) -> View | None:
        return next((item for item in self.chosen if item.parent == parent), None)

    def shows(self) -> str:
        return "register"

    def story(self) -> dict[str, Any]:
        chain = sorted(self.chosen, key=lambda view: view.number)
        return {"chosen": ", ".join(str(view.id) for view in chain) or "-"}
