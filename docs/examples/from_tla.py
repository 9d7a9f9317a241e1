"""Two jugs, of three and of five litres: measure four.  The first model of many TLA+ courses."""

from joinproto.check import World, always_each


class Jugs:
    def __init__(self):
        self.small = self.big = 0

    def choices(self):
        yield from ("fill small", "fill big", "empty small", "empty big")
        yield from ("small to big", "big to small")

    def receive(self, event):
        match event:
            case "fill small":
                self.small = 3
            case "fill big":
                self.big = 5
            case "empty small":
                self.small = 0
            case "empty big":
                self.big = 0
            case "small to big":
                poured = min(self.small, 5 - self.big)
                self.small, self.big = self.small - poured, self.big + poured
            case "big to small":
                poured = min(self.big, 3 - self.small)
                self.small, self.big = self.small + poured, self.big - poured


def world() -> World:
    return World(
        name="two-jugs",
        members={"jugs": Jugs},
        properties=[always_each("not solved", lambda jugs: jugs.big != 4)],
        expected="violated",
    )
