"""A lock for which two members compete: a member that waits gets it, if runs are strongly fair."""

from joinproto.check import (
    EACH_STEP,
    NOT_ENABLED,
    Maybe,
    Together,
    World,
    always_pair,
    leads_to,
    strong,
)


class Process:
    def __init__(self):
        self.phase = "idle"

    def choices(self):
        if self.phase == "idle":
            yield Maybe("ask")

    def receive(self, event):
        match event, self.phase:
            case "ask", "idle":
                self.phase = "waits"
            case "take", "waits":
                self.phase = "inside"
            case "give back", "inside":
                self.phase = "idle"
            case _:
                return NOT_ENABLED
        return None

    def shows(self):
        return self.phase


class Lock:
    def __init__(self):
        self.free = True

    def receive(self, event):
        if self.free != (event == "take"):
            return NOT_ENABLED
        self.free = not self.free
        return None


def world(members: int = 2, strongly: bool = False) -> World:
    names = [f"p{number}" for number in range(1, members + 1)]

    def steps(view):
        for name in names:
            for action in ("take", "give back"):
                yield Together(f"{name}: {action}", {name: action, "lock": action})

    return World(
        name="lock",
        members={**dict.fromkeys(names, Process), "lock": Lock},
        together=steps,
        fairness=[EACH_STEP, *(strong(f"{name}: take") for name in names if strongly)],
        properties=[
            always_pair("one at a time", lambda a, b: not a == b == "inside", among=names),
            leads_to(
                "a member that waits gets in",
                lambda view: view["p1"] == "waits",
                lambda view: view["p1"] == "inside",
            ),
        ],
    )
