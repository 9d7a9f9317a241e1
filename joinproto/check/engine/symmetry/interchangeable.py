"""Checks that the code of members, monitor and claims treats interchangeable members alike.

The code of the renamed member must give the renamed outcome, choose among the renamed steps and
show the renamed values.  The monitor must treat the renamed event as it treats the original, claims
must give the same verdict, and messages must expire alike (`Expiry.require_alike`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from joinproto.check.asking import ask
from joinproto.check.engine.shapes import Ints
from joinproto.check.engine.symmetry.renamed import StateRenamer, renamed_shown
from joinproto.check.engine.tables.tables import Tables
from joinproto.check.freeze import freeze, rename, thaw
from joinproto.check.local import LocalState, freeze_event, rename_event, thaw_event
from joinproto.check.problems import ModelProblem
from joinproto.check.properties import ON_FAIR_RUNS
from joinproto.check.view import View
from joinproto.check.world import World

if TYPE_CHECKING:
    from joinproto.check.engine.claims.judge import Claim, Judge


def refuse_claims_about_names(world: World, names: list[str]) -> None:
    """Raise `ModelProblem` if the world itself tells interchangeable members apart."""
    if len(names) < 2:
        raise ModelProblem(
            f"world {world.name} names fewer than two interchangeable members",
            next="run it with --no-symmetry, or name more: World(interchangeable=[...])",
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


def _order_problem(what: str) -> ModelProblem:
    return ModelProblem(
        f"{what} depends on the order of the members of a joint step",
        next="let the order make no difference, or run with --no-symmetry",
    )


def changes(name: str) -> ModelProblem:
    """Return the error of a claim that tells interchangeable members apart."""
    return ModelProblem(
        f"property {name!r} changes when members are renamed",
        next="make it the same for interchangeable members, or run with --no-symmetry",
    )


class CodeComparison:
    """Compares answers of the code with its answers for renamed members, each once.

    `maps`: for each swap of neighbours, its renaming; `swap_field`: int64, shape (swaps, fields),
    as `swapped_fields` returns it.
    """

    def __init__(
        self,
        tables: Tables,
        names: list[str],
        maps: list[dict[str, str]],
        swap_field: Ints,
    ) -> None:
        self.tables, self.names = tables, names
        self.maps, self.swap_field = maps, swap_field
        self.renamed = StateRenamer(maps)
        self._checked = 0
        self._heard = 0
        self._compared: set[Any] = set()
        self._joint_seen = 0
        self._joint: set[tuple[int, int]] = set()
        self._orders: set[Any] = set()
        self._chosen = [0] * tables.members
        self._shown = [0] * (tables.members + (tables.monitor >= 0))
        tables.code_comparison = self

    def check(self) -> None:
        """Compare new table entries; raises `ModelProblem`."""
        self._check_code()
        self._check_choices()
        self._check_monitor()
        self._check_order()

    def check_shown(self) -> None:
        """Compare the observations of new states with the observations of their images.

        If messages expire, the horizons are compared as well.
        """
        tables = self.tables
        for field, checked in enumerate(self._shown):
            values = tables.values[field].values
            self._shown[field] = len(values)
            for state in values[checked:]:
                for j, names in enumerate(self.maps):
                    to = int(self.swap_field[j, field])
                    image = self.renamed.state(j, state)
                    wanted = renamed_shown(self._shown_of(field, state), names)
                    if self._shown_of(to, image) != wanted:
                        raise self._not_alike(field, j, "their observations differ")
                    if tables.world.expiry is not None and (
                        self._number_of("horizon", field, state)
                        != self._number_of("horizon", to, image)
                    ):
                        raise self._not_alike(field, j, "their horizons differ")

    def _number_of(self, what: str, field: int, state: LocalState) -> int:
        per_value = self.tables.per_value
        number = self.tables.values[field].of[state]
        return int(per_value.arrays[what][per_value.off[field] + number])

    def _shown_of(self, field: int, state: LocalState) -> Any:
        return self.tables.shown[field].values[self._number_of("shown", field, state)]

    def images(self, field: int, number: int) -> list[tuple[int, int]]:
        """Return, for each swap of neighbours, the renamed observation: (field, number)."""
        shown = self.tables.shown
        found = []
        for j, names in enumerate(self.maps):
            to = int(self.swap_field[j, field])
            found.append((to, shown[to].of[renamed_shown(shown[field].values[number], names)]))
        return found

    def check_whole(self, claims: Sequence[Claim], view: View, flags: int) -> None:
        """Refuse claims about the whole world whose answer changes for a renamed view."""
        for _, other in self.swapped_views(view):
            for claim in claims:
                item = claim.property
                for part, bit in ((item.holds, claim.bit), (item.premise, claim.premise_bit)):
                    if part is not None and ask(item, part, other()) != bool(flags >> bit & 1):
                        raise changes(item.name)

    def check_claims(
        self, judge: Judge, known: int, before: Sequence[int], counts: Sequence[int]
    ) -> None:
        """Refuse claims about one member or two whose verdict changes for renamed members.

        Only new entries are compared: findings from number `known` on, observations from `before`
        on.  With an observation, all its images are new.
        """
        broken = judge.broken
        for (one, number, two, other), names in judge.tables.claimed.since(known).items():
            images = zip(self.images(one, number), self.images(two, other), strict=True)
            for image in images:
                for name in set(names).difference(broken.get((*image[0], *image[1]), ())):
                    raise changes(name)
        for claim in judge.local:
            item = claim.property
            for field in judge.fields_of(item) if item.kind == "sometimes" else ():
                for number in range(before[field], counts[field]):
                    wanted = judge.satisfies(item, field, number)
                    if any(
                        judge.satisfies(item, *image) != wanted
                        for image in self.images(field, number)
                    ):
                        raise changes(item.name)

    def _check_monitor(self) -> None:
        tables = self.tables
        for state, events, after in tables.heard[self._heard :]:
            other = self._unlike(
                (state, events),
                after,
                lambda cell, j: (self.renamed.state(j, cell[0]), rename(cell[1], self.maps[j])),
                lambda cell: tables.codes.after_events(*cell),
                lambda state, j: self.renamed.state(j, state),
            )
            if other is not None:
                raise self._not_alike(tables.monitor, other[1], "the monitor tells them apart")
        self._heard = len(tables.heard)

    def _check_order(self) -> None:
        """Refuse joint steps in which the order of members matters, because renaming changes it."""
        tables = self.tables
        for step in tables.joint_steps[self._joint_seen :]:
            alike = [name for name in step.events if name in self.names]
            for name in alike if len(alike) > 1 else ():
                field = tables.number_of[name]
                self._joint.add((field, tables.columns[field].of[freeze_event(step.events[name])]))
        self._joint_seen = len(tables.joint_steps)
        if not self._joint:
            return
        joint = [
            outcome
            for outcome, (field, _, column) in zip(
                tables.outcomes, tables.outcome_cell, strict=True
            )
            if (field, column) in self._joint
        ]
        if tables.fifo and any(one.cost for one in joint) and any(one.sent for one in joint):
            raise _order_problem("the loss of messages to a member that crashes")
        recorded = {one.recorded for one in joint if one.recorded}
        heard = {(state, events): after for state, events, after in tables.heard}
        hear = tables.codes.after_events
        for (state, one), after in heard.items():
            for other in recorded if one in recorded else ():
                if (after, other) in heard and (state, one, other) not in self._orders:
                    self._orders.add((state, one, other))
                    if hear(hear(state, other), one) != heard[after, other]:
                        raise _order_problem("the monitor's state after the recorded events")

    def _not_alike(self, field: int, j: int, found: str) -> ModelProblem:
        one, other = self.names[j], self.names[j + 1]
        if field < self.tables.members:
            one = self.tables.names[field]
            other = self.tables.names[int(self.swap_field[j, field])]
        return ModelProblem(
            f"{one} and {other} are not interchangeable: {found} when {self.names[j]} and"
            f" {self.names[j + 1]} are exchanged",
            next="take them out of `interchangeable`, or run with --no-symmetry",
        )

    def _check_choices(self) -> None:
        tables = self.tables
        for field in range(tables.members):
            values = tables.values[field].values
            while self._chosen[field] < len(values):
                state = values[self._chosen[field]]
                self._chosen[field] += 1
                code = tables.codes.members[field]
                # Counted, because the same choice offered twice makes two steps.
                own = Counter((choice.event, choice.fair) for choice in code.choices(state))
                for j, names in enumerate(self.maps):
                    other = tables.codes.members[int(self.swap_field[j, field])]
                    theirs = other.choices(self.renamed.state(j, state))
                    renamed = Counter(
                        (rename_event(event, names), fair) for event, fair in own.elements()
                    )
                    if Counter((choice.event, choice.fair) for choice in theirs) != renamed:
                        raise self._not_alike(field, j, "their choices differ")

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
            other = self._unlike(
                (field, state, event),
                tuple(tables.outcomes[first : last + 1]),
                self._image,
                lambda cell: tables.codes.members[cell[0]].run(*cell[1:]) or (),
                lambda outcomes, j: tuple(self.renamed.outcome(j, one) for one in outcomes),
            )
            if other is not None:
                (field, _, event), j = other
                found = f"{thaw_event(event)} has another outcome"
                raise self._not_alike(field, j, found)

    def _image(self, cell: Any, j: int) -> Any:
        (field, state, event), names = cell, self.maps[j]
        to = int(self.swap_field[j, field])
        return to, self.renamed.state(j, state), rename_event(event, names)

    def _unlike(
        self,
        cell: Any,
        answer: Any,
        image: Callable[[Any, int], Any],
        ask: Callable[[Any], Any],
        renamed: Callable[[Any, int], Any],
    ) -> tuple[Any, int] | None:
        """Return a cell of the orbit, and the swap after which its answer differs, or None.

        The whole orbit is asked, because the search itself asks only about one state of an orbit.
        """
        if cell in self._compared:
            return None
        answers = {cell: answer}
        waiting = [cell]
        compared = set()
        for one in waiting:
            for j in range(len(self.maps)):
                other = image(one, j)
                if other in compared:
                    continue  # a swap is its own inverse, so this pair was compared already
                if other not in answers:
                    answers[other] = ask(other)
                    waiting.append(other)
                wanted = renamed(answers[one], j)
                if self._comparable(answers[other]) != self._comparable(wanted):
                    return one, j
            compared.add(one)
        self._compared.update(answers)
        return None

    def _comparable(self, answer: Any) -> Any:
        """Return the compared parts of outcomes, or of a monitor's state."""
        if isinstance(answer, LocalState):
            return answer
        found = []
        for one in answer:
            sent = one.sent if self.tables.fifo or len(one.sent) < 2 else Counter(one.sent)
            found.append((one.after, sent, one.recorded, one.cost))
        return found

    def swapped_views(
        self, view: View, *, every: bool = False
    ) -> Iterator[tuple[dict[str, str], Callable[[], View]]]:
        """Yield each other view to which renaming leads from `view`: the renaming, and a function
        that returns the view.

        A claim must have the same answer for all these views, and joint steps must be renamed, too.
        All renamings are needed, because the search keeps one state of an orbit.  `every`: yield a
        view again for each further sequence of swaps that leads to it.
        """
        first = self._frozen(view)
        known = {first}
        waiting: list[tuple[dict[str, str], Any]] = [({name: name for name in self.names}, first)]
        for names, image in waiting:
            for swap in self.maps:
                moved = self._swapped(image, swap)
                whose = {name: swap.get(to, to) for name, to in names.items()}
                is_new = moved not in known
                if is_new:
                    known.add(moved)
                    waiting.append((whose, moved))
                if is_new or every:
                    yield whose, partial(self._view, moved, has_disks=bool(view.disk))

    def _frozen(self, view: View) -> Any:
        disks = [view.disk[name] for name in view] if view.disk else [None] * len(view)
        pairs = zip(map(freeze, view.values()), map(freeze, disks), strict=True)
        return tuple(pairs), freeze(view.split), freeze(view.monitor)

    def _swapped(self, image: Any, swap: dict[str, str]) -> Any:
        pairs, split, monitor = image
        numbers = [self.tables.number_of[swap.get(name, name)] for name in self.tables.names]
        moved = tuple(renamed_shown(pairs[at], swap) for at in numbers)
        return moved, rename(split, swap), renamed_shown((monitor, None), swap)[0]

    def _view(self, image: Any, *, has_disks: bool) -> View:
        pairs, split, monitor = image
        shown = tuple(thaw(one) for one, _ in pairs)
        disks = tuple(thaw(disk) for _, disk in pairs) if has_disks else ()
        return View(self.tables.names, shown, disks, thaw(monitor), thaw(split))
