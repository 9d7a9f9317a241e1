"""The desk: a member's questions to an outside register, and the answers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import anyio

from joinproto.host.desk import Desk
from joinproto.join.inputs import RegisterFree, RegisterSays
from joinproto.join.messages import CompareAndSet, NoSuccessor, ReadRegister
from joinproto.join.view import View
from tests.join.pictures import views

CHAIN = views("F C X")


class Register:
    """A register in which F has the successor C, and C has none.  `asked`: its questions."""

    def __init__(self) -> None:
        self.asked: list[tuple[object, ...]] = []

    async def chosen(self, parent: object, view: View) -> View:
        self.asked.append((parent, view))
        return view

    async def successor(self, parent: object) -> View | NoSuccessor:
        self.asked.append((parent,))
        return CHAIN["C"] if parent == CHAIN["F"].id else NoSuccessor()


def test_each_question_reaches_the_register_and_its_answer_the_member() -> None:
    """3.7: one write, one read of a view with a successor, and one of a view without."""
    answers: list[object] = []
    register, engine = Register(), SimpleNamespace(tell=answers.append, asks=None)
    first, second, last = (CHAIN[word] for word in "FCX")
    anyio.run(_ask_three_questions, engine, register, first, second, last)

    assert [(second.id, last), (first.id,), (second.id,)] == register.asked
    assert [RegisterSays(last), RegisterSays(second), RegisterFree(second.id, 2.0, 7)] == answers


async def _ask_three_questions(
    engine: Any, register: Any, first: View, second: View, last: View
) -> None:
    sender, receiver = anyio.create_memory_object_stream[Any](9)
    desk = Desk.of(engine, register, cast("Any", sender))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(desk.run)
        for question in (
            CompareAndSet(second.id, last),
            ReadRegister(first.id, 1.0),
            ReadRegister(second.id, 2.0, 7),
        ):
            engine.asks(question)
            with anyio.fail_after(60):
                (await receiver.receive()).function()
        tasks.cancel_scope.cancel()
    sender.close()
    receiver.close()
