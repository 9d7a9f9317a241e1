"""Three worlds of a switch: one holds, one is violated, one is undetermined."""

from joinproto.check import NOT_ENABLED, Message, Send, World, always, sometimes


class Button:
    """Sends its words to the lamp, one at each press."""

    def __init__(self, words):
        self.words = list(words)

    def choices(self):
        if self.words:
            yield "press"

    def receive(self, event):
        if event != "press":
            return NOT_ENABLED
        return [Send("lamp", self.words.pop(0))]

    def shows(self):
        return f"{len(self.words)} left"


class Lamp:
    def __init__(self):
        self.light = "off"

    def receive(self, event):
        match event:
            case Message(_, "on" | "off" as word):
                self.light = word
            case Message(_, word):
                self.light = f"broken by {word}"
            case _:
                return NOT_ENABLED
        return None

    def shows(self):
        return self.light


def _world(name, words, *more, within=None) -> World:
    return World(
        name=name,
        members={"button": lambda: Button(words), "lamp": Lamp},
        within=within,
        properties=[
            always("the lamp is whole", lambda view: "broken" not in view["lamp"]),
            *more,
        ],
    )


is_light = sometimes("it is light", lambda view: view["lamp"] == "on")


def good() -> World:
    return _world("good", ["on"], is_light)


def bad() -> World:
    return _world("bad", ["on", "blink"])


def unclear() -> World:
    """The bound is too narrow: no step is taken after the button was pressed."""
    return _world("unclear", ["on"], is_light, within=lambda view: view["button"] == "1 left")
