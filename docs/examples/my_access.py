"""Readers and writers of a variable: the variable is a member, and each access a joint step."""

from joinproto.check import NOT_ENABLED, Maybe, Together, World, always_pair, sometimes_one


class Access:
    def __init__(self):
        self.readers = 0
        self.writes = False

    def receive(self, event):
        match event:
            case "read" if not self.writes:
                self.readers += 1
            case "write" if not self.writes and self.readers == 0:
                self.writes = True
            case "leave" if self.writes:
                self.writes = False
            case "leave":
                self.readers -= 1
            case _:
                return NOT_ENABLED
        return None


class Process:
    def __init__(self):
        self.phase = "idle"

    def choices(self):
        if self.phase == "idle":
            yield Maybe("wants to read")
            yield Maybe("wants to write")

    def receive(self, event):
        match event:
            case "leave":
                is_possible = self.phase in ("read", "write")
            case "read" | "write":
                is_possible = self.phase == f"wants to {event}"
            case _:
                is_possible = self.phase == "idle"
        if not is_possible:
            return NOT_ENABLED
        self.phase = "idle" if event == "leave" else event
        return None

    def shows(self):
        return self.phase


def world(processes: int = 3) -> World:
    names = [f"p{number}" for number in range(1, processes + 1)]
    return World(
        name="access",
        members={**dict.fromkeys(names, Process), "access": Access},
        together=[
            Together(f"{name}: {action}", {name: action, "access": action})
            for name in names
            for action in ("read", "write", "leave")
        ],
        properties=[
            always_pair(
                "a writer is alone",
                lambda one, other: one != "write" or other not in ("read", "write"),
                among=names,
            ),
            sometimes_one("a member writes", lambda phase: phase == "write", among=names),
        ],
    )
