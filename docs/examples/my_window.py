"""A sender that looks at the line: it sends only while less than `window` words are under way."""

from joinproto.check import (
    NOT_ENABLED,
    FifoLinks,
    Message,
    Send,
    Together,
    World,
    always,
    eventually,
    sometimes,
)


class Sender:
    def __init__(self):
        self.sent = 0

    def receive(self, event):
        if event != "send" or self.sent == 3:
            return NOT_ENABLED
        self.sent += 1
        return [Send("b", self.sent)]


class Receiver:
    def __init__(self):
        self.got = 0

    def receive(self, event):
        if not isinstance(event, Message):
            return NOT_ENABLED
        self.got = event.content
        return None


def world(window: int = 1) -> World:
    def steps(view):
        # The guard sees the whole view: messages under way, and the observations of all members.
        if view.under_way(sender="a", to="b") < window:
            yield Together("a sends", {"a": "send"})

    return World(
        name="window",
        members={"a": Sender, "b": Receiver},
        network=FifoLinks(),
        show_links=True,
        together=steps,
        properties=[
            always("the window is kept", lambda view: view.under_way(to="b") <= window),
            sometimes("the window is full", lambda view: view.under_way(to="b") == window),
            eventually("all words arrive", lambda view: view["b"].got == 3),
        ],
    )
