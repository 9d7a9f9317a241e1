"""Whether members that are said to be interchangeable are: asked of all code that a search runs.

The code of the renamed member must give the renamed outcome, and choose among the renamed steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from models.engine.tables import Tables
from models.freeze import freeze, rename, thaw
from models.local import LocalState, Outcome, rename_event, thaw_event
from models.problems import ModelProblem
from models.properties import ON_FAIR_RUNS
from models.view import View
from models.world import World


def refuse_claims_about_names(world: World, names: list[str]) -> None:
    """Raise `ModelProblem` where the world itself tells interchangeable members apart."""
    if len(names) < 2:
        raise ModelProblem(
            f"world {world.name} says of no two members that they are interchangeable",
            next="run it with --no-symmetry, or name them: World(interchangeable=[...])",
        )
    if world.show_links:
        raise ModelProblem(
            f"world {world.name} shows its links, which name members",
            next="run it with --no-symmetry, or without show_links",
        )
    for item in world.properties:
        among = set(item.among or names)
        if among & set(names) and not set(names) <= among:
            raise ModelProblem(
                f"property {item.name!r} treats interchangeable members differently",
                next="let `among` name all of them or none, or run with --no-symmetry",
            )
        if item.kind in ON_FAIR_RUNS or item.scope == "step":
            about = "steps" if item.scope == "step" else "liveness"
            raise ModelProblem(
                f"property {item.name!r} is about {about}, which renaming does not keep",
                next="run it with --no-symmetry",
            )


class Interchange:
    """What of the members' code was compared so far.

    `maps`: for each swap of neighbours, who becomes whom; `swap_field`: int64, shape (swaps,
    fields), where a field's value goes.
    """

    def __init__(
        self,
        tables: Tables,
        names: list[str],
        maps: list[dict[str, str]],
        swap_field: npt.NDArray[np.int64],
    ) -> None:
        self.tables, self.names = tables, names
        self.maps, self.swap_field = maps, swap_field
        self._checked = 0
        self._chosen = [0] * tables.members

    def check(self) -> None:
        """Compare what is new in the tables; raises `ModelProblem`."""
        self._check_code()
        self._check_choices()

    def _check_choices(self) -> None:
        tables = self.tables
        for field in range(tables.members):
            values = tables.values[field].values
            while self._chosen[field] < len(values):
                state = values[self._chosen[field]]
                self._chosen[field] += 1
                code = tables.codes.members[field]
                own = {(choice.event, choice.fair) for choice in code.choices(state)}
                for j, names in enumerate(self.maps):
                    other = tables.codes.members[int(self.swap_field[j, field])]
                    theirs = other.choices(renamed_local(state, names))
                    renamed = {(rename_event(event, names), fair) for event, fair in own}
                    if {(choice.event, choice.fair) for choice in theirs} != renamed:
                        raise ModelProblem(
                            f"{code.name} and {other.name} are not interchangeable: they choose "
                            f"among other steps when {self.names[j]} and {self.names[j + 1]} "
                            "are exchanged",
                            next="take them out of `interchangeable`, or run with --no-symmetry",
                        )

    def _check_code(self) -> None:
        tables = self.tables
        while self._checked < len(tables.outcomes):
            first = self._checked
            last = first
            while not tables.out["last"].array[last]:
                last += 1
            self._checked = last + 1
            field, local, column = tables.outcome_cell[first]
            if local < 0:
                continue
            state = tables.values[field].values[local]
            event = tables.columns[field].values[column]
            for j, names in enumerate(self.maps):
                code = tables.codes.members[int(self.swap_field[j, field])]
                moved = code.run(renamed_local(state, names), rename_event(event, names))
                wanted = [renamed_outcome(o, names) for o in tables.outcomes[first : last + 1]]
                got = [self._comparable(o) for o in moved or ()]
                if [self._comparable(o) for o in wanted] != got:
                    raise ModelProblem(
                        f"{tables.names[field]} and {code.name} are not interchangeable: "
                        f"{thaw_event(event)} leads to something else when {self.names[j]} and "
                        f"{self.names[j + 1]} are exchanged",
                        next="take them out of `interchangeable`, or run with --no-symmetry",
                    )

    def _comparable(self, outcome: Outcome) -> tuple[Any, ...]:
        sent: Any = outcome.sent
        if not self.tables.fifo:
            sent = sorted(outcome.sent, key=repr)
        return outcome.after, list(sent), outcome.recorded, outcome.cost

    def swapped_views(self, view: View) -> list[tuple[dict[str, str], View]]:
        """Return the view with each two neighbours exchanged, and who is whom in it.

        A claim must say the same of it, and the joint steps be the renamed ones.
        """
        views = []
        for names in self.maps:
            order = [self.tables.number_of[names.get(name, name)] for name in view]
            shown = tuple(_renamed(view.values()[at], names) for at in order)
            disks: tuple[Any, ...] = ()
            if view.disk:
                every = list(view.disk.values())
                disks = tuple(_renamed(every[at], names) for at in order)
            split, monitor = _renamed(view.split, names), _renamed(view.monitor, names)
            other = View(tuple(view), shown, disks, monitor, split)
            views.append((names, other))
        return views


def renamed_local(value: LocalState, names: dict[str, str]) -> LocalState:
    return LocalState(value.up, rename(value.values, names), rename(value.disk, names), value.ended)


def renamed_outcome(outcome: Outcome, names: dict[str, str]) -> Outcome:
    return Outcome(
        renamed_local(outcome.after, names),
        tuple(
            (None if to is None else names.get(to, to), rename(content, names))
            for to, content in outcome.sent
        ),
        rename(outcome.recorded, names),
        outcome.cost,
    )


def _renamed(value: Any, names: dict[str, str]) -> Any:
    return thaw(rename(freeze(value), names))
