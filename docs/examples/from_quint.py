"""A bank without a check of withdrawals: the Quint tutorial's first specification, and mended."""

from joinproto.check import World, always_each, any_of, sometimes_one

ACCOUNTS = ("alice", "bob")
AMOUNTS = (1, 2)
MOST = 4


class Bank:
    def __init__(self, careful):
        self.careful = careful
        self.balances = dict.fromkeys(ACCOUNTS, 0)

    def choices(self):
        for account in ACCOUNTS:
            for amount in AMOUNTS:
                if self.balances[account] + amount <= MOST:
                    yield ("deposit", account, amount)
                if not self.careful or self.balances[account] >= amount:
                    yield ("withdraw", account, amount)

    def receive(self, event):
        kind, account, amount = event
        self.balances[account] += amount if kind == "deposit" else -amount


def world(careful: bool = False) -> World:
    return World(
        name="bank",
        members={"bank": lambda: Bank(careful)},
        beginnings=any_of({"bank": {"balances": [{"alice": 0, "bob": n} for n in range(3)]}}),
        properties=[
            always_each("no negatives", lambda bank: min(bank.balances.values()) >= 0),
            sometimes_one("a full account", lambda bank: MOST in bank.balances.values()),
        ],
        expected="holds" if careful else "violated",
    )
