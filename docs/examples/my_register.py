"""A register with a copy on each of two members: is a read that asks one copy linearizable?"""

from joinproto.check import (
    NOT_ENABLED,
    Call,
    Message,
    Record,
    Return,
    Send,
    World,
    linearizable,
    register,
    sometimes,
)


class Copy:
    """The primary takes a write and sends it to the backup; the backup answers reads itself."""

    def __init__(self, name, waits):
        self.name = name
        # Whether the primary waits for the backup before it answers the client.
        self.waits = waits
        self.value = 0
        self.left = {"primary": ("write",), "backup": ("read", "read")}[name]
        self.is_writing = False

    def choices(self):
        if self.left and not self.is_writing:
            yield self.left[0]

    def receive(self, event):
        match event:
            case "write":
                self.value, self.left = 1, self.left[1:]
                self.is_writing = self.waits
                answer = [] if self.waits else [Record(Return(self.name, None))]
                return [Record(Call(self.name, ("write", 1))), Send("backup", 1), *answer]
            case "read":
                self.left = self.left[1:]
                return [
                    Record(Call(self.name, ("read",))),
                    Record(Return(self.name, self.value)),
                ]
            case Message("primary", value):
                self.value = value
                return [Send("primary", "has it")]
            case Message("backup", "has it"):
                if not self.is_writing:
                    return None
                self.is_writing = False
                return [Record(Return(self.name, None))]
            case _:
                return NOT_ENABLED

    def shows(self):
        return self.value


def world(waits: bool = False) -> World:
    orders = linearizable(register, initial=0)
    return World(
        name="register",
        members={name: lambda name=name: Copy(name, waits) for name in ("primary", "backup")},
        monitor=orders.monitor,
        properties=[
            orders.claim,
            sometimes("both have it", lambda view: set(view.values()) == {1}),
        ],
    )
