"""A few members with a simple group layer, for stories.

All hear the same agreed set, in the same order; updates arrive whole; a frame reaches every active
member of the group at once.  Crashes take state that was not persisted.
"""

from collections.abc import Iterator

from joinproto.machine.vocabulary import Phase, Store
from joinproto.reference.effects import (
    Abort,
    Acknowledge,
    AskForUpdate,
    DiskRecord,
    Effect,
    Exit,
    Persist,
)
from joinproto.reference.events import (
    Agreed,
    ClientWrite,
    Event,
    Leave,
    MarkClean,
    OrderlyShutdown,
    Start,
    UpdateDone,
)
from joinproto.reference.note.member import NoteMember
from joinproto.reference.note.readings import AS_WRITTEN, Readings
from joinproto.reference.qpid.member import QpidMember
from joinproto.reference.tabled import Identity, TabledMember

EMPTY = DiskRecord(Store.EMPTY)


class Cluster:
    """Members by name, the contents of each one's disk, and the members of the group."""

    def __init__(
        self,
        rules: type[TabledMember] = NoteMember,
        *,
        readings: Readings = AS_WRITTEN,
        wait_for: int = 1,
    ) -> None:
        self.rules = rules
        self.readings = readings
        self.wait_for = wait_for
        self.disk: dict[str, DiskRecord] = {}
        self.members: dict[str, TabledMember] = {}
        self.asked: dict[str, tuple[str, ...]] = {}
        self.acknowledged: list[object] = []
        self.effects: list[Effect] = []
        self._stamps: Iterator[int] = iter(range(1, 1_000))

    def start(self, *names: str, store: Store = Store.EMPTY) -> None:
        """Start members, new ones with this store, and let all agree on the group."""
        for name in names:
            kept = self.disk.setdefault(name, DiskRecord(store))
            me = Identity(name, wait_for=self.wait_for)
            if self.rules is QpidMember:
                self.members[name] = QpidMember(me, kept)
            else:
                self.members[name] = NoteMember(me, kept, self.readings)
            self.asked.pop(name, None)
            self.give(name, Start(stamp=next(self._stamps)))
        self.agree()

    def agree(self) -> None:
        """Tell all members which members run, until no status changes."""
        while True:
            view = tuple(self.members[name].status for name in sorted(self.members))
            event = Agreed(view, next(self._stamps))
            for name in sorted(self.members):
                if name in self.members and self.members[name].can(event):
                    self.give(name, event)
            left = {name for name, member in self.members.items() if ended(member)}
            for name in left:
                del self.members[name]
            if view == tuple(self.members[name].status for name in sorted(self.members)):
                return

    def update(self, *names: str) -> None:
        """Deliver the updates of these members (or of all), from their first living source."""
        for name in names or sorted(self.asked):
            source = next((it for it in self.asked.pop(name) if it in self.members), None)
            if source is not None:
                it = self.members[source]
                self.give(name, UpdateDone(it.me.id, it.initial, it.final, it.data))
        self.agree()

    def write(self, frame: str) -> None:
        """Write a frame as a client to all active members."""
        for name, member in self.members.items():
            if member.phase is Phase.ACTIVE:
                self.give(name, ClientWrite(frame))

    def crash(self, *names: str) -> None:
        """End members at once; the others agree on the remaining members."""
        for name in names:
            del self.members[name]
            self.asked.pop(name, None)
        self.agree()

    def leave(self, name: str) -> None:
        """Stop one member; the others agree on the remaining members."""
        self.give(name, Leave())
        self.crash(name)

    def shutdown(self, final: int | None = None) -> None:
        """Shut down the whole cluster."""
        for name in sorted(self.members):
            self.give(name, OrderlyShutdown(final))
        self.members.clear()
        self.asked.clear()

    def mark(self, name: str, final: int | None = None) -> None:
        """Mark a stopped member's store clean, as the operator."""
        make = QpidMember if self.rules is QpidMember else NoteMember
        self._perform(name, make(Identity(name), self.disk[name]), MarkClean(final))

    def give(self, name: str, event: Event) -> None:
        """Give one member an event."""
        self._perform(name, self.members[name], event)

    def phases(self) -> dict[str, str]:
        """Return the phase of every member that runs."""
        return {name: member.phase.value for name, member in sorted(self.members.items())}

    def _perform(self, name: str, member: TabledMember, event: Event) -> None:
        for effect in member.receive(event):
            self.effects.append(effect)
            match effect:
                case Persist(kept):
                    self.disk[name] = kept
                case AskForUpdate(sources):
                    self.asked[name] = sources
                case Acknowledge(frame):
                    self.acknowledged.append(frame)
                case Abort() | Exit():
                    self.asked.pop(name, None)


def ended(member: TabledMember) -> bool:
    """Return whether the process is gone."""
    return member.phase in (Phase.ABORTED, Phase.STOPPED)
