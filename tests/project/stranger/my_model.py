"""A model that imports packages of its own project."""

from collections.abc import Iterator

from joinproto.check import NOT_ENABLED, Effects, World, always_each, sometimes_one
from models import PHASES
from proofs import NAME
from tests import MEMBERS
from tools import names


class Worker:
    def __init__(self) -> None:
        self.phase = PHASES[0]
        self.count = 0

    def choices(self) -> Iterator[str]:
        if self.count < 2:
            yield "work"

    def receive(self, event: str) -> Effects:
        if event != "work":
            return NOT_ENABLED
        self.phase = PHASES[1]
        self.count += 1
        return None


def world(members: int = MEMBERS) -> World:
    return World(
        name="workers",
        members=dict.fromkeys(names(members), Worker),
        properties=[
            always_each("at most twice", lambda one: one.count <= 2),
            sometimes_one(NAME, lambda one: one.phase == "works"),
        ],
    )
