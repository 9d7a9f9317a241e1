"""Who founds the cluster?  Second try: the first of the configured members, and no other."""

from joinproto.check import (
    NOT_ENABLED,
    Broadcast,
    Faults,
    Message,
    Send,
    World,
    always_pair,
    eventually,
    sometimes,
)


class Member:
    def __init__(self, name, founder):
        self.name = name
        self.may_found = name == founder
        self.phase = "looking"

    def start(self):
        return [Broadcast("is anybody there")]

    def choices(self):
        if self.phase == "looking" and self.may_found:
            yield "found the cluster"

    def receive(self, event):
        match event:
            case "found the cluster":
                self.phase = "founder"
            case Message(sender, "is anybody there") if self.phase == "founder":
                return [Send(sender, "join me")]
            case Message(_, "join me") if self.phase == "looking":
                self.phase = "joined"
            case _:
                return NOT_ENABLED
        return None

    def shows(self):
        return self.phase


def world(members: int = 2, crashes: int = 1) -> World:
    names = [f"m{number}" for number in range(1, members + 1)]
    return World(
        name="who-founds",
        members={name: lambda name=name: Member(name, names[0]) for name in names},
        faults=Faults(crashes=crashes),
        properties=[
            always_pair("one founder", lambda one, other: {one, other} != {"founder"}),
            sometimes("a member joined", lambda view: "joined" in view.values()),
            eventually(
                "in the end all are in",
                lambda view: all(shown in ("founder", "joined") for shown in view.values()),
            ),
        ],
    )
