"""A model with five mistakes that a type checker finds."""

from joinproto.check import Message, Send, World, always_each, check


class Member:
    def receive(self, event: Message) -> list[Send | str]:
        return [Send("b", event.content), "a word"]


class Other:
    def receive(self, event: Message) -> list[Send]:
        return [Send(event.from_whom, 1)]  # error: attr-defined


def world() -> World:
    return World(  # error: call-arg
        name="mistakes",
        members={"a": Member, "b": Other},  # error: dict-item
        properties=[always_each("a claim", "not a function")],  # error: arg-type
        nonsense=3,
    )


report = check(world())
print(report.no_such_attribute)  # error: attr-defined
