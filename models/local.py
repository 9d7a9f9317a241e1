"""One member, one step: the only place where the checker calls a member's code.

A local state is what one member is: running or not, its attributes, and what its disk
holds.  Everything here is a value; the engine numbers these values, and the reference
search uses them as they are.
"""

from __future__ import annotations

import enum
import traceback
from collections.abc import Callable, Hashable, Iterable
from typing import Any, Literal, NoReturn

from attrs import field, frozen

from models.events import (
    NOT_ENABLED,
    Broadcast,
    Maybe,
    Persist,
    Record,
    Rule,
    Send,
    plain,
)
from models.freeze import freeze, thaw
from models.problems import ModelProblem
from models.view import DOWN, Seen
from models.world import World


@frozen(cache_hash=True)
class LocalState:
    """`values`: the attributes in order, empty when stopped; `disk`: the durable ones."""

    up: bool
    values: tuple[Hashable, ...]
    disk: tuple[Hashable, ...]


Cost = Literal["", "crash", "wipe"]


@frozen
class Outcome:
    """What one step of a member leads to.

    `sent`: (addressee or None for all others, content) in order.  `cost`: the fault's
    budget it spends.  `effects`: how many effects were performed before the crash, or None.
    """

    after: LocalState
    sent: tuple[tuple[str | None, Hashable], ...] = ()
    recorded: tuple[Hashable, ...] = ()
    cost: Cost = ""
    effects: int | None = None
    rules: tuple[str, ...] = ()


@frozen
class Choice:
    """A step a member may take by itself; `fair`: weak fairness forces it."""

    event: Hashable
    fair: bool = True
    fault: bool = False


class Lifecycle(enum.Enum):
    """An event of the world itself.  No names to exchange in it: renaming leaves it alone."""

    START = "start"
    CRASH = "crash"
    WIPE = "wipe the disk"

    def __str__(self) -> str:
        return self.value


START, CRASH, WIPE = Lifecycle


@frozen
class Offline:
    """An event that reaches a stopped member's disk: the operator's tools."""

    event: Hashable


def _attributes(member: object) -> tuple[str, ...]:
    fields = getattr(type(member), "__attrs_attrs__", ())
    names = [item.name for item in fields]
    # A class that is derived from an attrs class without being one has more than its fields.
    names += [name for name in getattr(member, "__dict__", {}) if name not in names]
    for kind in reversed(type(member).__mro__):
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__", *names) and hasattr(member, name):
                names.append(name)
    return tuple(names)


class MemberCode:
    """A member's class at work on local states; `calls` counts calls of its methods."""

    def __init__(self, world: World, name: str, make: Callable[[], Any]) -> None:
        self.name = name
        self.others = tuple(other for other in world.members if other != name)
        self.calls = 0
        self._make = make
        self._show = world.show
        self._show_disk = world.show_disk
        self._restarts = world.faults.restarts
        self._crash_points = world.faults.crashes > 0
        self._wipes = world.faults.wipes > 0
        fresh = self._guarded("making the member", make)
        self._class = type(fresh)
        if not callable(getattr(fresh, "receive", None)):
            raise self._problem(f"{self._class.__qualname__} has no method receive(event)")
        self.names = _attributes(fresh)
        self.persistent = tuple(getattr(fresh, "persistent", ()))
        for item in self.persistent:
            if item not in self.names:
                raise self._problem(f"persistent names {item!r}, which is no attribute")
        self._at = tuple(self.names.index(item) for item in self.persistent)
        self._plain = not hasattr(fresh, "__dict__")
        self._has_choices = callable(getattr(fresh, "choices", None))
        self._has_start = callable(getattr(fresh, "start", None))
        self._has_shows = callable(getattr(fresh, "shows", None))
        self._has_story = callable(getattr(fresh, "story", None))
        self._has_offline = callable(getattr(fresh, "offline", None))
        self._empty = self._disk(self._values(fresh))

    # -- objects and values ------------------------------------------------------------

    def _values(self, member: Any) -> tuple[Hashable, ...]:
        if not self._plain and (extra := set(_attributes(member)) ^ set(self.names)):
            raise self._comes_or_goes(min(extra))
        values = []
        for name in self.names:
            try:
                values.append(freeze(getattr(member, name)))
            except AttributeError as error:
                raise self._comes_or_goes(name) from error
            except ModelProblem as problem:
                raise self._problem(
                    f"attribute {name!r}: {problem.message}", next=problem.next
                ) from problem
            except RecursionError as error:
                raise self._problem(
                    f"attribute {name!r} holds itself, or is nested too deeply",
                    next="hold flat values",
                ) from error
        return tuple(values)

    def _disk(self, values: tuple[Hashable, ...]) -> tuple[Hashable, ...]:
        return tuple([values[at] for at in self._at])

    def _object(self, values: tuple[Hashable, ...]) -> Any:
        member = object.__new__(self._class)
        put = object.__setattr__
        for name, value in zip(self.names, values, strict=True):
            put(member, name, thaw(value))
        return member

    def _from_disk(self, disk: tuple[Hashable, ...]) -> Any:
        member = self._guarded("making the member", self._make)
        for name, value in zip(self.persistent, disk, strict=True):
            object.__setattr__(member, name, thaw(value))
        return member

    # -- what can happen ---------------------------------------------------------------

    def before_start(self) -> LocalState:
        """Return the member as it lies on disk before anything happened."""
        return LocalState(False, (), self._empty)

    def choices(self, local: LocalState) -> tuple[Choice, ...]:
        """Return the steps the member may take by itself, the world's faults included."""
        found: list[Choice] = []
        if not local.up:
            if self._restarts or local.disk == self._empty:
                found.append(Choice(START))
            if self._wipes and local.disk != self._empty:
                found.append(Choice(WIPE, fair=False, fault=True))
            return tuple(found)
        if self._has_choices:
            self.calls += 1
            member = self._object(local.values)
            for item in self._guarded("choices()", lambda: tuple(member.choices() or ())):
                whim = isinstance(item, Maybe)
                event = freeze(item.event if whim else item)
                found.append(Choice(event, fair=not whim))
        if self._crash_points:
            found.append(Choice(CRASH, fair=False, fault=True))
        return tuple(found)

    def run(self, local: LocalState, event: Hashable) -> tuple[Outcome, ...] | None:
        """Return the outcomes of `event` in `local`, or None where it cannot happen.

        The first is the step itself; the others are crashes in the middle of it.
        """
        if isinstance(event, Lifecycle):
            if event is CRASH:
                return (Outcome(LocalState(False, (), local.disk), cost="crash"),)
            if event is WIPE:
                return (Outcome(LocalState(False, (), self._empty), cost="wipe"),)
            member = self._from_disk(local.disk)
            effects = member.start if self._has_start else tuple
            return self._perform(member, local, effects, "start()")
        if isinstance(event, Offline):
            return self._offline(local, event.event)
        if not local.up:
            return None
        member = self._object(local.values)
        return self._perform(member, local, lambda: member.receive(event), "receive()")

    def _offline(self, local: LocalState, event: Hashable) -> tuple[Outcome, ...] | None:
        if local.up:
            return None
        if not self._has_offline:
            raise self._problem(f"{self._class.__qualname__} has no method offline(event)")
        member = self._from_disk(local.disk)
        self.calls += 1
        rules: list[str] = []

        def call() -> bool:
            answer = member.offline(event)
            if answer is NOT_ENABLED:
                return False
            # Whatever it changed is durable at once; what remains to hear are its rules.
            rules.extend(item.label for item in answer or () if type(item) is Rule)
            return True

        if not self._guarded("offline()", call):
            return None
        after = LocalState(False, (), self._disk(self._values(member)))
        return (Outcome(after, rules=tuple(rules)),)

    def _perform(
        self, member: Any, local: LocalState, call: Callable[[], Any], what: str
    ) -> tuple[Outcome, ...] | None:
        self.calls += 1
        sent: list[tuple[str | None, Hashable]] = []
        recorded: list[Hashable] = []
        rules: list[str] = []
        disk = local.disk
        # (effects performed, sent, recorded, disk) after each prefix: the crash points.
        points: list[tuple[int, int, int, tuple[Hashable, ...]]] = []
        done = 0
        try:
            answer = call()
            if answer is NOT_ENABLED:
                return None
            if answer is not None:
                if not isinstance(answer, Iterable):
                    raise self._problem(
                        f"{what} returned {answer!r}", next="return effects, None or NOT_ENABLED"
                    )
                for effect in answer:
                    if type(effect) is Send:
                        sent.append((self._addressee(effect.to), freeze(effect.content)))
                    elif type(effect) is Broadcast:
                        sent.append((None, freeze(effect.content)))
                    elif type(effect) is Persist:
                        disk = tuple([freeze(getattr(member, name)) for name in self.persistent])
                    elif type(effect) is Record:
                        recorded.append(freeze(effect.event))
                    elif type(effect) is Rule:
                        rules.append(effect.label)
                        continue
                    else:
                        raise self._problem(
                            f"{effect!r} is no effect",
                            next="yield Send, Broadcast, Persist, Record or Rule",
                        )
                    done += 1
                    if self._crash_points:
                        points.append((done, len(sent), len(recorded), disk))
        except ModelProblem as problem:
            if problem.place:
                raise
            raise self._problem(f"in an effect: {problem.message}", next=problem.next) from problem
        except Exception as error:  # noqa: BLE001  told to the modeller, with its place
            self._raise(error, what)
        values = self._values(member)
        labels = tuple(rules)
        step = Outcome(LocalState(True, values, disk), tuple(sent), tuple(recorded), rules=labels)
        if not points:
            return (step,)
        outcomes = [step]
        seen = {(local.disk, 0, 0), (disk, len(sent), len(recorded))}
        for done, sends, records, durable in points:
            # Only what differs from a crash before the step, or right after it.
            if (durable, sends, records) not in seen:
                seen.add((durable, sends, records))
                after = LocalState(False, (), durable)
                outcomes.append(
                    Outcome(
                        after, tuple(sent[:sends]), tuple(recorded[:records]), "crash", done, labels
                    )
                )
        return tuple(outcomes)

    def _addressee(self, name: str) -> str:
        if name != self.name and name not in self.others:
            raise self._problem(
                f"a message is sent to {name!r}, which is no member",
                next="members are " + ", ".join((self.name, *self.others)),
            )
        return name

    # -- what it shows -----------------------------------------------------------------

    def shows(self, local: LocalState) -> Hashable:
        """Return what properties see of the running member, or `DOWN`."""
        if not local.up:
            return DOWN
        if self._show is None and not self._has_shows:
            return Seen(tuple(zip(self.names, local.values, strict=True)))
        member = self._object(local.values)
        show = self._show
        what = "shows()" if show is None else "show(member)"
        return freeze(self._guarded(what, member.shows if show is None else lambda: show(member)))

    def shows_disk(self, local: LocalState) -> Hashable:
        """Return what properties see of the disk, or None where the world shows none."""
        if self._show_disk is None:
            return None
        show = self._show_disk
        seen = Seen(tuple(zip(self.persistent, local.disk, strict=True)))
        return freeze(self._guarded("show_disk(disk)", lambda: show(seen)))

    def describe(self, local: LocalState) -> dict[str, str]:
        """Return the local state for a person: attribute to text; durable ones end in `*`.

        A member that has a method `story` says itself what its running state is called.
        """
        if not local.up:
            text = {"": "down"}
            text.update(
                {
                    f"{name}*": plain(value)
                    for name, value in zip(self.persistent, local.disk, strict=True)
                }
            )
            return text
        if self._has_story:
            story = self._guarded("story()", self._object(local.values).story)
            text = {name: plain(value) for name, value in story.items()}
        else:
            hidden = {"name", "me", "peers", "members", "others"}
            text = {
                name: plain(value)
                for name, value in zip(self.names, local.values, strict=True)
                if name not in hidden
            }
        for name, kept in zip(self.persistent, local.disk, strict=True):
            text[f"{name}*"] = plain(kept)
        return text

    # -- problems ----------------------------------------------------------------------

    def _guarded(self, what: str, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except ModelProblem:
            raise
        except Exception as error:  # noqa: BLE001  told to the modeller, with its place
            self._raise(error, what)

    def _raise(self, error: Exception, what: str) -> NoReturn:
        frames = traceback.extract_tb(error.__traceback__)
        place = next(
            (f"{f.filename}:{f.lineno}" for f in reversed(frames) if f.filename != __file__), ""
        )
        raise ModelProblem(
            f"member {self.name}: {what} raised {type(error).__name__}: {error}",
            next="a member answers every event it can get; NOT_ENABLED where it has no such step",
            place=place,
        ) from error

    def _comes_or_goes(self, name: str) -> ModelProblem:
        return self._problem(
            f"attribute {name!r} comes or goes while the member runs",
            next="set every attribute in __init__",
        )

    def _problem(self, message: str, *, next: str = "") -> ModelProblem:
        kind = getattr(self, "_class", None)
        place = ""
        code = getattr(getattr(kind, "receive", None), "__code__", None)
        if code is not None:
            place = f"{code.co_filename}:{code.co_firstlineno}"
        return ModelProblem(f"member {self.name}: {message}", next=next, place=place)


@frozen
class Codes:
    """The code of every member of a world, in the world's order, and of its monitor."""

    world: World
    names: tuple[str, ...]
    members: tuple[MemberCode, ...]
    monitor: MemberCode | None = field(default=None)

    @classmethod
    def of(cls, world: World) -> Codes:
        members = tuple(MemberCode(world, name, make) for name, make in world.members.items())
        monitor = None
        if world.monitor is not None:
            monitor = MemberCode(_without_faults(world), "monitor", world.monitor)
        return cls(world, tuple(world.members), members, monitor)

    @property
    def calls(self) -> int:
        every = (*self.members, self.monitor) if self.monitor else self.members
        return sum(code.calls for code in every)


def _without_faults(world: World) -> World:
    from attrs import evolve

    from models.faults import Faults

    return evolve(world, faults=Faults(), show=None, show_disk=None)
