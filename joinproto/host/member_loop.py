"""The part of an event loop that the member itself answers, whatever drives the member."""

from __future__ import annotations

from abc import ABC, abstractmethod

from attrs import define

from joinproto.join.frames import FrameVerdict
from joinproto.join.ids import ViewId
from joinproto.join.inputs import Input
from joinproto.join.member import Member
from joinproto.join.view import Position, Seat, View


@define(eq=False)
class MemberLoop(ABC):
    """The part of an `EventLoop` that is the member's own."""

    member: Member

    @abstractmethod
    def now(self) -> float:
        """Return the seconds by a clock of this machine that never goes back."""

    @property
    def seat(self) -> Seat:
        return self.member.seat

    @property
    def view(self) -> View | None:
        return self.member.view

    @property
    def is_ready(self) -> bool:
        """Return whether this member was ready in its tip, in this process."""
        tip = self.view
        return tip is not None and self.member.ready_in == tip.id

    @property
    def is_frozen(self) -> bool:
        """Return whether it has answered a ballot, so that its data stands still."""
        return self.member.is_frozen

    @property
    def position(self) -> Position | None:
        return self.member.record.position

    @property
    def older_electors(self) -> frozenset[str]:
        return self.member.older_electors

    def read(self) -> int:
        """Return the number under which these reads are confirmed, 0 if they cannot be."""
        return self.member.read(self.now())

    def may_append(self, view: ViewId, seq: int) -> FrameVerdict:
        return self.member.may_append(view, seq)

    def tell(self, what: Input) -> None:
        self.member.tell(self.now(), what)
