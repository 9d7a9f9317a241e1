"""A lease: two clients and a server with clocks of one speed.  From when does a client count?"""

from joinproto.check import (
    NOT_ENABLED,
    Message,
    Send,
    Together,
    World,
    always_pair,
    sometimes,
)

LEASE = 2
ENDS = 5  # clocks stop here, so that the search ends


class Clock:
    def __init__(self):
        self.now = 0

    def tick(self):
        if self.now == ENDS:
            return NOT_ENABLED
        self.now += 1
        return None


class Server(Clock):
    def __init__(self):
        super().__init__()
        self.until = 0

    def receive(self, event):
        match event:
            case "tick":
                return self.tick()
            case Message(client, "a lease, please") if self.now >= self.until:
                self.until = self.now + LEASE
                return [Send(client, "granted")]
            case _:
                return NOT_ENABLED  # a request stays under way until the lease has ended

    def shows(self):
        return False


class Client(Clock):
    def __init__(self, careful):
        super().__init__()
        self.careful = careful
        self.asked = None
        self.until = 0

    def choices(self):
        if self.asked is None:
            yield "ask"

    def receive(self, event):
        match event:
            case "tick":
                return self.tick()
            case "ask":
                self.asked = self.now
                return [Send("server", "a lease, please")]
            case Message(_, "granted"):
                self.until = (self.asked if self.careful else self.now) + LEASE
                return None
            case _:
                return NOT_ENABLED

    def shows(self):
        return self.now < self.until


def world(careful: bool = False) -> World:
    clients = ("c1", "c2")
    members = {"server": Server, **{name: lambda: Client(careful) for name in clients}}
    return World(
        name="lease",
        members=members,
        together=[Together("time passes", dict.fromkeys(members, "tick"))],
        properties=[
            always_pair("one holder", lambda one, other: not (one and other), among=clients),
            sometimes("a holder", lambda view: any(view.values())),
        ],
    )
