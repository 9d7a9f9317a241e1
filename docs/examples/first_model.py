"""Three members elect one of them; each votes once, and a vote must survive a crash."""

from joinproto.check import (
    NOT_ENABLED,
    Broadcast,
    Faults,
    Message,
    Persist,
    World,
    always_pair,
    sometimes_one,
)


class Voter:
    persistent = ("voted_for",)  # survives a crash, as it was at the last Persist

    def __init__(self, name, majority):
        self.name = name
        self.majority = majority
        self.voted_for = None
        self.votes = frozenset()

    def choices(self):
        if self.voted_for is None:
            yield "stand for election"

    def receive(self, event):
        match event:
            case "stand for election":
                return self.vote(self.name)
            case Message(sender, ("vote", candidate)):
                if candidate == self.name:
                    self.votes |= {sender}
                    return None
                return NOT_ENABLED if self.voted_for is not None else self.vote(candidate)

    def vote(self, candidate):
        self.voted_for = candidate
        if candidate == self.name:
            self.votes |= {self.name}
        return [Persist(), Broadcast(("vote", candidate))]  # take Persist() out, and see

    def shows(self):
        return self.name if len(self.votes) >= self.majority else None


def world(members: int = 3, crashes: int = 1):
    names = [f"m{number}" for number in range(1, members + 1)]
    return World(
        name="first-model",
        members={name: lambda name=name: Voter(name, members // 2 + 1) for name in names},
        faults=Faults(crashes=crashes),
        properties=[
            always_pair("one leader", lambda one, other: one is None or other is None),
            sometimes_one("a leader", lambda leader: leader is not None),
        ],
    )
