"""Dijkstra's semaphore over a rendezvous channel, `chan sema = [0]`: from SPIN's manual."""

from joinproto.check import (
    NOT_ENABLED,
    Together,
    World,
    always_pair,
    infinitely_often,
    no_deadlock,
    strong,
    weak,
)


class Dijkstra:
    """`do :: (count == 1) -> sema!p; count = 0 :: (count == 0) -> sema?v; count = 1 od`."""

    def __init__(self):
        self.count = 1

    def receive(self, event):
        if self.count != (1 if event == "p" else 0):
            return NOT_ENABLED
        self.count = 1 - self.count
        return None


class User:
    """`do :: sema?p; critical = true; critical = false; sema!v od`."""

    def __init__(self):
        self.critical = False

    def receive(self, event):
        if self.critical != (event == "v"):
            return NOT_ENABLED
        self.critical = not self.critical
        return None


def handshakes(view):
    """A rendezvous is one step of two members; it exists only if both take it."""
    for name in view:
        if name != "dijkstra":
            for letter in "pv":
                yield Together(f"{name}: {letter}", {"dijkstra": letter, name: letter})


def world(members: int = 3, strongly: bool = True) -> World:
    users = [f"user{number}" for number in range(1, members + 1)]
    enters = strong if strongly else weak
    return World(
        name="semaphore",
        members={"dijkstra": Dijkstra} | dict.fromkeys(users, User),
        together=handshakes,
        fairness=[
            *(enters(f"{name}: p") for name in users),
            *(weak(f"{name}: v") for name in users),
        ],
        properties=[
            always_pair(
                "one is inside",
                lambda one, other: not (one.critical and other.critical),
                among=users,
            ),
            infinitely_often("the first user enters", lambda view: view["user1"].critical),
            no_deadlock("a process can go on"),
        ],
        expected="holds" if strongly else "violated",
    )
