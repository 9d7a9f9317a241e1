"""The outside register of the join worlds: an atomic compare-and-set for each view."""

from __future__ import annotations

from typing import Any, ClassVar

from attrs import define

from joinproto.check.events import NOT_ENABLED, Persist, Record, Send
from joinproto.check.events import Message as Arrived
from joinproto.join.view import View
from joinproto_worlds.join.words import Cas, ChosenView, Says


@define
class Register:
    """`chosen`: what it holds.  It does not fail."""

    persistent: ClassVar[tuple[str, ...]] = ("chosen",)

    chosen: frozenset[View] = frozenset()
    forgets: bool = False

    def receive(self, event: Any) -> Any:
        if not isinstance(event, Arrived) or not isinstance(event.content, Cas):
            return NOT_ENABLED
        view = event.content.view
        there = next((item for item in self.chosen if item.parent == view.parent), None)
        if there is not None and not self.forgets:
            return [Send(event.sender, Says(there))]
        self.chosen |= {view}
        return [Persist(), Record(ChosenView(view.id)), Send(event.sender, Says(view))]

    def shows(self) -> str:
        return "register"

    def story(self) -> dict[str, Any]:
        chain = sorted(self.chosen, key=lambda view: view.number)
        return {"chosen": ", ".join(str(view.id) for view in chain) or "-"}
