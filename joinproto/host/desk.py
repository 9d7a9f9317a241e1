"""The desk brings a member's questions to the outside register, and the answers to the member.

At most one write and one read are under way.  Of the questions that wait, only the latest of each
kind is sent, so a register that hangs collects no questions.  A missing answer is not
reported: the member asks again with its next heartbeat, or closes in time.

Source: join protocol, 3.7.
"""

from __future__ import annotations

from functools import partial

import anyio
from attrs import define, evolve, field

from joinproto.host.engine import Engine
from joinproto.host.inbox import Signal
from joinproto.host.ports import Call, Inbox, Register
from joinproto.join.inputs import RegisterFree, RegisterSays
from joinproto.join.messages import CompareAndSet, NoSuccessor, ReadRegister
from joinproto.join.view import View

Question = CompareAndSet | ReadRegister


@define(eq=False)
class Slot:
    """The latest question of one kind.  `question`: None once it is sent."""

    question: Question | None = None
    bell: Signal = field(factory=Signal)


@define(eq=False)
class Desk:
    """The desk of one member: its questions to the register, and the answers."""

    engine: Engine
    register: Register
    inbox: Inbox
    writes: Slot = field(factory=Slot)
    reads: Slot = field(factory=Slot)

    @classmethod
    def of(cls, engine: Engine, register: Register, inbox: Inbox) -> Desk:
        """Return the desk to which this engine brings its questions from now on."""
        desk = cls(engine, register, inbox)
        engine.asks = desk.take
        return desk

    def take(self, question: Question) -> None:
        """Take a question, to be sent soon; never waits."""
        slot = self.writes if isinstance(question, CompareAndSet) else self.reads
        before = slot.question
        if isinstance(before, ReadRegister) and isinstance(question, ReadRegister):
            # Reads wait for the former question; the answer to this later question counts for them.
            question = evolve(question, question=question.question or before.question)
        slot.question = question
        slot.bell.ring()

    async def run(self) -> None:
        """Ask until cancelled."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._serve, self.writes)
            tasks.start_soon(self._serve, self.reads)

    async def _serve(self, slot: Slot) -> None:
        while True:
            question, slot.question = slot.question, None
            if question is None:
                await slot.bell.wait()
                continue
            try:
                await self._ask(question)
            except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                return  # the member has ended

    async def _ask(self, question: Question) -> None:
        found: View | NoSuccessor | None
        if isinstance(question, CompareAndSet):
            found = await self.register.chosen(question.parent, question.view)
        else:
            found = await self.register.successor(question.parent)
        if isinstance(found, View):
            await self.inbox.send(Call(partial(self.engine.tell, RegisterSays(found))))
        elif isinstance(found, NoSuccessor) and isinstance(question, ReadRegister):
            free = RegisterFree(question.parent, question.asked, question.question)
            await self.inbox.send(Call(partial(self.engine.tell, free)))
