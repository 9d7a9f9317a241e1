"""Judges claims, each evaluated once for each distinct observation or combination of observations.

Claims about one member or a pair cost a few look-ups for each state.  Claims about the whole world
are evaluated once for each combination; combinations are numbered in a row set of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
from attrs import define

from joinproto.check.asking import ask, guard, is_within
from joinproto.check.engine.claims.combinations import Combinations
from joinproto.check.engine.claims.pairs import Pairs, ValueNumbers
from joinproto.check.engine.claims.reading import Readings, view_of
from joinproto.check.engine.claims.renamed import RenamedViews, ask_renamed, listed_steps
from joinproto.check.engine.claims.watching import watch
from joinproto.check.engine.rows.bits import has_bit
from joinproto.check.engine.rows.threads import Workers
from joinproto.check.engine.shapes import Flags, Ints, Keys, Rows
from joinproto.check.engine.tables.claimed import (
    BreakingObservations,
    ClaimVerdicts,
    Key,
    is_kept,
    places_of,
)
from joinproto.check.engine.tables.tables import Tables
from joinproto.check.memory import Budget, LimitMet
from joinproto.check.problems import ModelProblem
from joinproto.check.properties import Property
from joinproto.check.step_claims import StepClaim
from joinproto.check.view import DOWN, View

_PIECE = 1 << 14
"""The number of combinations that are evaluated at once."""


@define
class Claim:
    """One property as the judge evaluates it; `bit`: its place in a combination's flags."""

    property: Property
    bit: int = -1
    premise_bit: int = -1
    meanwhile_bit: int = -1
    premise_met: bool = False
    asked: StepClaim | None = None  # if the claim is that the world implements another world

    def is_mapped(self, view: View) -> bool:
        """Return whether a view stands for a state that the abstract world can reach."""
        item, asked = self.property, self.asked
        assert asked is not None
        return bool(guard(f"property {item.name!r}", partial(asked.is_state, view)))


def _give_bits(claims: list[Claim]) -> int:
    """Give each claim about the whole world its bits, one after the other; return their number.

    A claim that a world implements another has a bit: whether a state is one of the abstract world.
    """
    bits = 0
    for claim in claims:
        item = claim.property
        if item.abstract is not None:
            claim.bit, bits = bits, bits + 1
            claim.asked = StepClaim(item)
        if item.scope != "world":
            continue
        claim.bit, bits = bits, bits + 1
        if item.premise is not None:
            claim.premise_bit, bits = bits, bits + 1
        if item.meanwhile is not None:
            claim.meanwhile_bit, bits = bits, bits + 1
    return bits


class Judge:
    """Finds the rows that break or reach a property."""

    def __init__(self, tables: Tables, budget: Budget) -> None:
        self.tables = tables
        world = tables.world
        self.claims = [Claim(item) for item in world.properties]
        bits = _give_bits(self.claims)
        if (asked := bits + (world.within is not None)) > 64:
            raise ModelProblem(
                f"world {world.name} has {asked} claims about whole views, counting premises and"
                " `within`, and a search takes at most 64",
                next="check some of them in a second world; a claim about one member,"
                " always_each(...), is not counted",
            )
        self.local = [
            claim for claim in self.claims if claim.property.scope not in ("world", "step")
        ]
        self.whole = [claim for claim in self.claims if claim.property.scope == "world"]
        self.implementing = [claim for claim in self.claims if claim.asked is not None]
        asked_whole = bool(self.whole or self.implementing)
        self.combines = asked_whole or world.together is not None
        self.steps = [claim for claim in self.claims if claim.property.scope == "step"]
        # The parts of a view: members, monitor, environment, and links if the world shows them.
        self.parts = tables.queue_field + tables.queue_count * world.show_links
        self.within_bit = bits
        self.combines |= world.within is not None
        self._budget = budget
        self._combinations = Combinations(self.parts, budget)
        self.flags: Keys = np.zeros(64, np.uint64)
        self.evaluated = 0  # the number of combinations whose `flags` are known
        self.go_on: Callable[[], None] = lambda: None  # raises `LimitMet` if a limit is met
        # The members, and the monitor if there is one: the subjects of local claims.
        self.watched = tables.members + (tables.monitor >= 0)
        names = [claim.property.name for claim in self.local if is_kept(claim.property)]
        if tables.claimed.names != tuple(names) or len(tables.claimed.counts) != self.watched:
            tables.claimed = ClaimVerdicts(names, self.watched)
        self._pairs: dict[str, Pairs] = {}
        self._ids = ValueNumbers(tables.shown, self.watched)
        self._seen_sets: list[set[int]] = [set() for _ in range(self.watched)]
        self._seen_now = np.zeros(1, np.bool_)
        self._readings: Readings | None = None
        self._bits: list[int] = []
        self.workers: Workers | None = None
        self.renamed: RenamedViews | None = None

    @property
    def bytes_used(self) -> int:
        return self._combinations.bytes_used + self.flags.nbytes

    # -- claims about one member or two ------------------------------------------------

    def refresh(self) -> None:
        """Evaluate the local claims on every observation met since the last call."""
        tables = self.tables
        counts = [len(tables.shown[f]) for f in range(self.watched)]
        claimed = tables.claimed
        before = claimed.counts
        if counts == before:
            return
        known = len(claimed)
        try:
            for claim in self.local:
                if claim.property.kind == "always":
                    self._ask_about_new(claim.property, before, counts)
            if tables.code_comparison is not None:
                tables.code_comparison.check_claims(self, known, before, counts)
        except BaseException:
            # A search that continues after this, as on Spark, evaluates all these again.
            claimed.forget(known)
            raise
        claimed.counts = counts

    @property
    def broken(self) -> dict[Key, list[str]]:
        """The observations that break local claims, with these claims, in the order found."""
        return self.tables.claimed.broken

    @property
    def breaking_observations(self) -> BreakingObservations:
        """All observations found to break a local claim, as the compiled loops read them."""
        return self.tables.claimed.breaking_observations

    def ask_ahead(self) -> None:
        """Evaluate the local claims on new observations, and leave errors to the next `refresh`."""
        with suppress(ModelProblem, LimitMet):
            self.refresh()

    def places(self, item: Property) -> list[tuple[int, int]]:
        """Return the pairs of watched fields that a local claim sees, as `places_of` does."""
        return places_of(item, self.tables.names, self.watched)

    def fields_of(self, item: Property) -> list[int]:
        """Return the watched fields that a claim about one member (or the monitor) is about."""
        return [field for field, _ in self.places(item)]

    def satisfies(self, item: Property, field: int, number: int) -> bool:
        """Return whether an observation satisfies a claim about one member; `DOWN` never does."""
        shown = self._shown(field, number)
        return shown is not DOWN and ask(item, item.holds, shown)

    def _ask_about_new(self, item: Property, before: list[int], counts: list[int]) -> None:
        """Evaluate `item` on each new observation, or on each pair with a new observation."""
        found = [np.empty((0, 4), np.int64)]
        for field, other in self.places(item):
            if field == other:
                for number in range(before[field], counts[field]):
                    shown = self._shown(field, number)
                    if shown is not DOWN and not ask(item, item.holds, shown):
                        found.append(np.array([[field, number, field, number]]))
                continue
            pairs = self._pairs.setdefault(item.name, Pairs(item, self._ids, self._budget))
            for numbers, others in pairs.broken(field, other, before, counts):
                self.go_on()
                fields = (np.full(len(numbers), at) for at in (field, other))
                found.append(np.column_stack([*fields, numbers, others])[:, [0, 2, 1, 3]])
        self.tables.claimed.add(item.name, np.concatenate(found))

    def _shown(self, field: int, number: int) -> Any:
        return self.tables.shown[field][number].shown

    def watch(self, rows: Rows, begin: int, end: int) -> Ints:
        """Return the rows that break a claim about one member or a pair."""
        self.refresh()
        breaking = self.breaking_observations
        bad, seen = watch(self.tables, breaking, rows, begin, end, self.workers)
        self.mark(breaking.by_field(seen))
        self._seen_now = seen
        return bad

    def mark(self, seen: Sequence[Iterable[int]]) -> None:
        """Note the numbers of the observations seen, by watched field."""
        for marks, numbers in zip(self._seen_sets, seen, strict=True):
            marks.update(numbers)

    def reaches(self, claim: Claim, seen: Sequence[Iterable[int]]) -> bool:
        """Return whether a seen observation satisfies a claim about one member."""
        item = claim.property
        here = ((field, number) for field in self.fields_of(item) for number in seen[field])
        return any(self.satisfies(item, *one) for one in here)

    @property
    def seen_numbers(self) -> list[set[int]]:
        """The numbers of the observations seen, by watched field."""
        return self._seen_sets

    def seen(self, member: int) -> list[Any]:
        """Return the observations of the member that were seen, `DOWN` included."""
        return [self._shown(member, number) for number in sorted(self._seen_sets[member])]

    def reached(self, claim: Claim, rows: Rows, begin: int, end: int) -> Ints:
        """Return the rows just watched that show an observation which satisfies `claim`."""
        item, tables, layout = claim.property, self.tables, self.tables.layout
        found = [np.empty(0, np.int64)]
        breaking = self.breaking_observations
        for member in self.fields_of(item):
            begins = int(breaking.base[member])
            seen = np.flatnonzero(self._seen_now[begins : begins + breaking.counts[member]])
            wanted = [number for number in seen.tolist() if self.satisfies(item, member, number)]
            if not wanted:
                continue
            first = tables.per_value.off[member]
            # In pieces, because a level may be as large as memory allows.
            for at in range(begin, end, 1 << 16):
                upto = min(end, at + (1 << 16))
                local = layout.values(rows[at:upto], member)
                shown = tables.per_value.arrays["shown"][first + local]
                found.append(at + np.flatnonzero(np.isin(shown, wanted)))
        return np.unique(np.concatenate(found))

    def breaking(self, claim: Claim, rows: Rows, bad: Ints) -> Ints:
        """Return the rows of `bad` (numbers of rows just watched) that break a local claim."""
        if len(bad) == 0:
            return bad
        tables, wrong, known = self.tables, rows[bad], self.broken
        shown = np.empty((len(bad), self.watched), np.int32)
        for field in range(self.watched):
            at = tables.per_value.off[field] + tables.layout.values(wrong, field)
            shown[:, field] = tables.per_value.arrays["shown"][at]
        every, which = np.unique(shown, axis=0, return_inverse=True)
        places, name = self.places(claim.property), claim.property.name
        broken = [
            any(name in known.get((f, at[f], g, at[g]), ()) for f, g in places)
            for at in every.tolist()
        ]
        return bad[np.array(broken, np.bool_)[which.reshape(-1)]]

    # -- claims about the world --------------------------------------------------------

    def number(
        self,
        rows: Rows,
        begin: int,
        end: int,
        picked: Ints | None = None,
    ) -> Ints:
        """Return the number of each row's combination; evaluate the claims on new combinations."""
        self._combinations.make_room(self._shown_counts())
        numbers = self._combinations.number(self.tables, rows, begin, end, picked)
        self._ask_new()
        return numbers

    def number_shown(self, shown: Ints) -> Ints:
        """Return the same as `number`, for combinations given by numbers of observations."""
        self._combinations.make_room(self._shown_counts())
        numbers = self._combinations.add(shown)
        self._ask_new()
        return numbers

    def _shown_counts(self) -> list[int]:
        return [len(shown) for shown in self.tables.shown[: self.parts]]

    def have_bit(self, numbers: Ints, bit: int) -> Flags:
        """Return whether the flags of each of these combinations have this bit."""
        return has_bit(self.flags[numbers], bit)

    def view(self, number: int) -> View:
        """Return the view of one combination."""
        return view_of(self.tables, self._combinations.shown(number))

    def _fix_joint(self, times: int) -> None:
        """Give this many further combinations their joint steps, the same for all combinations."""
        tables = self.tables
        if tables.joint["first"].count == 0 and times:
            # These steps are the same for all views, so any view will do.
            steps = guard("together", partial(listed_steps, tables.world.joint_steps, self.view(0)))
            tables.add_joint(steps)
            times -= 1
        if times:
            for name in ("first", "counts"):
                same = tables.joint[name]
                same.extend(np.full(times, same.array[0], same.array.dtype))

    def questions(self) -> Iterator[tuple[int, Callable[[View], int]]]:
        """Yield the questions about each combination: the bit of the answer, and the function.

        Bit -1: the answer is the number of a list of joint steps.
        """
        for claim in self.whole:
            item = claim.property
            parts = (item.holds, item.premise, item.meanwhile)
            bits = (claim.bit, claim.premise_bit, claim.meanwhile_bit)
            for part, bit in zip(parts, bits, strict=True):
                if part is not None:
                    yield bit, partial(ask, item, part)
        for claim in self.implementing:
            yield claim.bit, claim.is_mapped
        world = self.tables.world
        if world.within is not None:
            yield self.within_bit, partial(is_within, world.within)
        if world.together is not None and callable(world.together):
            yield -1, self._list_joint

    def _list_joint(self, view: View) -> int:
        listed = self.tables.world.joint_steps
        steps = guard("together(view)", partial(listed_steps, listed, view))
        return self.tables.joint_lists.number(steps)

    def _read_new(self, count: int) -> None:
        """Answer the questions about combinations up to `count`, each once for the values read."""
        if self._readings is None:
            questions = list(self.questions())
            self._bits = [bit for bit, _ in questions]
            self._readings = Readings(self.tables, [asked for _, asked in questions])
        while self.evaluated < count:
            self.go_on()
            end = min(count, self.evaluated + _PIECE)
            shown = self._combinations.shown_from(self.evaluated, end)
            answers = self._readings.answers(shown, self.go_on)
            flags = np.zeros(end - self.evaluated, np.uint64)
            for bit, given in zip(self._bits, answers.T, strict=True):
                if bit >= 0:
                    flags |= given.astype(np.uint64) << np.uint64(bit)
                else:
                    self.tables.joint_lists.give(given)
            for claim in self.whole:
                if claim.premise_bit >= 0 and not claim.premise_met:
                    claim.premise_met = bool(has_bit(flags, claim.premise_bit).any())
            self.flags[self.evaluated : end] = flags
            self.evaluated = end

    def _ask_new(self) -> None:
        count = self._combinations.count
        if len(self.flags) < count:
            grown = np.zeros(max(count, 2 * len(self.flags)), np.uint64)
            grown[: self.evaluated] = self.flags[: self.evaluated]
            self.flags = grown
        together = self.tables.world.together
        fixed = together is not None and not callable(together)
        if fixed and self.renamed is None:
            self._fix_joint(count - self.evaluated)
            if not (self.whole or self.implementing) and self.tables.world.within is None:
                self.evaluated = count
                return
        if self.renamed is None and self.tables.code_comparison is None:
            self._read_new(count)
        else:
            ask_renamed(self, count)
