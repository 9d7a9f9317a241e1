"""The methods of an `EventLoop` that are the same in every driver, because they ask the member."""

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
    """The methods of an `EventLoop` that call the member."""

    member: Member

    @abstractmethod
    def now(self) -> float:
        """Return the time in seconds, by a clock of this machine that never goes back."""

    @property
    def seat(self) -> Seat:
        return self.member.seat

    @property
    def view(self) -> View | None:
        return self.member.view

    @property
    def is_ready(self) -> bool:
        """Return whether this process was ready in its newest view."""
        tip = self.view
        return tip is not None and self.member.ready_in == tip.id

    @property
    def is_frozen(self) -> bool:
        """Return whether the member has answered a ballot, so that its data must not change."""
        return self.member.is_frozen

    @property
    def position(self) -> Position | None:
        return self.member.record.position

    @property
    def older_electors(self) -> frozenset[str]:
        return self.member.older_electors

    def read(self) -> int:
        """Return the number under which reads are confirmed, 0 if they cannot be confirmed."""
        return self.member.read(self.now())

    def may_append(self, view: ViewId, seq: int) -> FrameVerdict:
        return self.member.may_append(view, seq)

    def tell(self, what: Input) -> None:
        self.member.tell(self.now(), what)
