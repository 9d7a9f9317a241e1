"""Who founds the cluster?  First try: a member that hears no other."""

from joinproto.check import NOT_ENABLED, Broadcast, Message, Send, World, always_pair, sometimes


class Member:
    def __init__(self, name):
        self.name = name
        self.phase = "looking"

    def start(self):
        return [Broadcast("is anybody there")]

    def choices(self):
        if self.phase == "looking":
            yield "wait no longer"

    def receive(self, event):
        match event:
            case "wait no longer":
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


def world(members: int = 2) -> World:
    names = [f"m{number}" for number in range(1, members + 1)]
    return World(
        name="who-founds",
        members={name: lambda name=name: Member(name) for name in names},
        properties=[
            always_pair("one founder", lambda one, other: {one, other} != {"founder"}),
            sometimes("a member joined", lambda view: "joined" in view.values()),
        ],
    )
