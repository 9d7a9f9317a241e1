"""A bank's server and its clients, and a specification that observes them: P's tutorial."""

from joinproto.check import (
    NOT_ENABLED,
    FifoLinks,
    Message,
    Record,
    Send,
    World,
    always_monitor,
    leads_to,
    sometimes_monitor,
)


class Server:
    """`machine BankServer`.  A careless server pays any amount."""

    def __init__(self, balance, careless):
        self.balance = balance
        self.careless = careless

    def receive(self, event):
        match event:
            case Message(client, ("withdraw", amount)):
                granted = self.careless or amount <= self.balance
                if granted:
                    self.balance -= amount
                return [Record(("paid", amount if granted else 0)), Send(client, granted)]
        return NOT_ENABLED


class Client:
    """`machine Client`: `waits` is its state WaitForResponse."""

    def __init__(self, rounds):
        self.rounds = rounds
        self.waits = False

    def choices(self):
        if self.rounds and not self.waits:
            yield "withdraw"

    def receive(self, event):
        match event:
            case "withdraw":
                self.rounds, self.waits = self.rounds - 1, True
                return [Send("server", ("withdraw", 2))]
            case Message("server", _):
                self.waits = False
        return None


class Paid:
    """`spec BankBalanceIsAlwaysCorrect observes ePaid`: it receives events, and has no choices."""

    def __init__(self):
        self.total = 0

    def receive(self, event):
        _, amount = event
        self.total += amount


def world(members: int = 2, careless: bool = False) -> World:
    clients = [f"client{number}" for number in range(1, members + 1)]
    return World(
        name="bank-server",
        members={"server": lambda: Server(5, careless)}
        | {name: lambda: Client(2) for name in clients},
        network=FifoLinks(),
        monitor=Paid,
        properties=[
            always_monitor("no more than there is", lambda paid: paid.total <= 5),
            sometimes_monitor("one is paid", lambda paid: paid.total > 0),
            leads_to(
                "who asks is answered",
                lambda view: view["client1"].waits,
                lambda view: not view["client1"].waits,
            ),
        ],
        expected="violated" if careless else "holds",
    )
