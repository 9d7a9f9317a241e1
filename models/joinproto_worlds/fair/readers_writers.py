"""Readers that may be inside together, and writers that must be inside alone.

Source: Courtois, Heymans and Parnas, "Concurrent control with readers and writers".  If readers
may always enter while readers are in, a writer can wait for ever, and strong fairness does not
help: a reader can always be inside.  If no reader enters while a writer waits, a single writer gets
in by weak fairness.  One of two writers can be quicker each time, so they need strong fairness of
entering.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from attrs import define

from joinproto.check.events import NOT_ENABLED, Maybe
from joinproto.check.fairness import EACH_STEP, strong
from joinproto.check.properties import always, leads_to, no_deadlock, sometimes
from joinproto.check.view import View
from joinproto.check.world import Together, World


@define
class Process:
    phase: str = "idle"

    def choices(self) -> Iterator[Any]:
        if self.phase == "idle":
            yield Maybe("ask")
        if self.phase == "in":
            yield "leave"

    def receive(self, event: Any) -> Any:
        if event == "enter" and self.phase != "waits":
            return NOT_ENABLED
        self.phase = {"ask": "waits", "enter": "in", "leave": "idle"}[event]
        return None

    def shows(self) -> str:
        return self.phase


def build(
    members: int = 2, *, writers: int = 1, writers_first: bool = True, strongly: bool = False
) -> World:
    """Return the world of 1 to 6 readers.  `writers`: how many writers there are; `writers_first`:
    no reader enters while a writer waits; `strongly`: entering is strongly fair.
    """
    readers = [f"r{i}" for i in range(1, members + 1)]
    writing = [f"w{i}" for i in range(1, writers + 1)]

    def steps(view: View) -> Iterator[Together]:
        shown = [view[name] for name in writing]
        if "in" in shown:
            return
        empty = all(view[name] != "in" for name in readers)
        for name in writing if empty else ():
            yield Together(f"{name} enters", {name: "enter"})
        for name in () if writers_first and "waits" in shown else readers:
            yield Together(f"{name} enters", {name: "enter"})

    def one_kind(view: View) -> bool:
        inside = [name[0] for name, phase in view.items() if phase == "in"]
        return inside.count("w") <= 1 and set(inside) != {"r", "w"}

    everybody = [*readers, *writing]
    entering = [strong(f"{name} enters") for name in everybody if strongly]
    return World(
        name="readers-writers",
        members=dict.fromkeys(everybody, Process),
        together=steps,
        fairness=[EACH_STEP, *entering],
        properties=[
            always("a writer is in alone", one_kind),
            leads_to(
                "a writer that waits gets in",
                lambda view: view["w1"] == "waits",
                lambda view: view["w1"] == "in",
            ),
            no_deadlock("a process can go on"),
            sometimes(
                "all readers are in at once",
                lambda view: all(view[name] == "in" for name in readers),
            ),
        ],
        about="readers may be in together, a writer is in alone",
    )
