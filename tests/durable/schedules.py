"""Random schedules of writes, and the claims at each call of the file system.

While a schedule runs, the disk is examined before each call: as it is when the power fails there,
and when the process alone ends.  The opened value must be the value that was reported
durable, or the value that is being written.  An opened value must still be there when the power
fails right after it.  Between the writes calls fail, the disk is full, and the process is killed
and started again.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from random import Random

from attrs import define, field

from joinproto.errors import JoinprotoError, StoreError, StoreWriteFailed
from joinproto.swarm.disk import Disk, Node
from tests.durable.kind import PLACE, Kind, Opened, Step, Value

ACTIONS = 6
AS_IT_WAS = "the journal is as it was"


def _lay_file(disk: Disk, name: str, data: bytes, *, durable: bool) -> None:
    """Put a file on the disk; if not durable, as an operator's `cp` does, without a sync."""
    folder = disk._walk(PLACE)
    node = Node(shown=bytearray(data), waiting=[0, (0, data)])
    folder.put(name, node)
    if durable:
        node.kept, node.waiting = bytearray(data), []
        folder.kept[name] = node


class WrongValue(AssertionError):
    """A durable value was lost, or a torn value was believed."""


class Killed(BaseException):
    """The process ends here.  Not an `Exception`, so no handler in the process stops it."""


@define
class Schedule:
    """A random schedule of writes.

    `legal`: the values that may be found now; None if no value was reported yet.  `looks`: at how
    many calls the disk was examined.  `choices`: at how many of these several values were legal.
    """

    kind: Kind
    seed: int
    chance: Random = field(init=False)
    disk: Disk = field(init=False)
    legal: set[Value] | None = None
    looks: int = 0
    choices: int = 0
    faults: list[str] = field(factory=list)
    _kill_in: int | None = None
    _is_dead: bool = False
    _goes_on: bool = False
    _is_copied: bool = False

    def __attrs_post_init__(self) -> None:
        self.chance = Random(f"{self.kind.name} {self.seed}")
        self.disk = Disk(self.chance)
        self.disk.make(PLACE)

    def run(self) -> Schedule:
        """Play the schedule; raises `WrongValue`."""
        if self.kind.bare is not None and self.chance.random() < 0.5:
            name, data, value = self.kind.bare
            self._is_copied = self.chance.random() < 0.5
            _lay_file(self.disk, name, data, durable=not self._is_copied)
            self.legal = None if self._is_copied else {value}
        opened: Opened | None = None
        for number in range(1, ACTIONS + 1):
            if opened is None:
                opened = self._open()
            if opened is not None:
                opened = self._do_step(opened, opened.step(self.chance, number), number)
            if opened is not None and self.chance.random() < 0.2:
                opened.close()
                self.disk.process_ends()
                opened = None
        return self

    # -- one write -----------------------------------------------------------------------------

    def _open(self) -> Opened | None:
        opened: list[Opened] = []
        if not self._play(
            lambda: opened.append(self.kind.open(self.disk)),
            faults=0.0 if self._may_be_torn else 0.1,
        ):
            return None
        self._require(opened[0].value, "opening")
        self.legal = {opened[0].value}
        return opened[0]

    def _do_step(self, opened: Opened, step: Step, number: int) -> Opened | None:
        if self.legal is not None:
            self.legal |= {step.after, *step.meanwhile}
        before = set(self.disk.failed)
        if self._play(step.do, faults=0.25, opened=opened, number=number):
            if opened.value != step.after:
                raise self._wrong_value(
                    f"says {opened.value} after a write of {step.after}, {before}"
                )
            self.legal = {step.after}
            return opened
        return opened if self._goes_on else None

    def _play(
        self,
        do: Callable[[], object],
        *,
        faults: float,
        opened: Opened | None = None,
        number: int = 0,
    ) -> bool:
        """Return whether `do` has returned; else it has failed, or the process was killed."""
        disk, chance = self.disk, self.chance
        disk.before = self._look
        self._goes_on = False
        self._kill_in = chance.randint(0, 30) if chance.random() < 0.15 else None
        if chance.random() < faults:
            disk.code = chance.choice((errno.EIO, errno.ENOSPC, errno.EACCES))
            disk.fails_in = chance.randint(0, 25)
        elif opened is not None and not self.kind.is_final and chance.random() < 0.3:
            disk.fails_at = "sync_directory"  # what follows must not overtake this write
        elif chance.random() < faults / 4:
            disk.capacity = sum(len(one.shown) for _, one in disk.files()) + chance.randint(0, 400)
        failed = len(disk.failed)
        try:
            do()
        except StoreError as error:
            if len(disk.failed) == failed:
                raise self._wrong_value(f"refused without a fault: {error}") from error
            if not error.next:
                raise self._wrong_value(f"does not say what to do next: {error}") from error
            self.faults.append(disk.failed[-1])
            if opened is not None and self.kind.is_final and AS_IT_WAS not in str(error):
                self._require_final(opened, number)
            if opened is not None and not self.kind.is_final and chance.random() < 0.5:
                disk.fails_in, disk.fails_at, disk.capacity = None, "", None
                self._goes_on = True  # the same process writes again
            else:
                disk.process_ends()
            return False
        except Killed:
            self._is_dead = False
            power = chance.random() < 0.5 and not self._may_be_torn
            self.disk = disk.copied(self._draw_keeps()) if power else disk.copied()
            return False
        except (JoinprotoError, OSError) as error:
            raise self._wrong_value(f"not a `StoreError`: {error!r}") from error
        finally:
            self._kill_in = None
            if disk.never_opened:
                raise self._wrong_value(f"used numbers that are not open: {disk.never_opened}")
        disk.fails_in, disk.fails_at, disk.capacity = None, "", None
        return True

    def _require_final(self, opened: Opened, number: int) -> None:
        """Require that no later write succeeds: a second sync would prove nothing."""
        calls: list[str] = []
        self.disk.before = calls.append
        self.disk.fails_in = self.disk.capacity = None
        for _ in range(8):
            step = opened.step(self.chance, number)
            if step.after == opened.value:
                continue
            try:
                step.do()
            except StoreWriteFailed:
                continue
            raise self._wrong_value("writes again after a fault in a write")

    # -- looking -----------------------------------------------------------------------------------

    def _look(self, call: str) -> None:
        if self._is_dead:
            raise Killed
        self.looks += 1
        after = self.disk.copied(self._draw_keeps() if self.chance.random() < 0.8 else None)
        try:
            found = self._value_on_disk(after, call)
        except WrongValue:
            if self._may_be_torn:
                return
            raise
        if self.legal is not None and len(self.legal) > 1:
            self.choices += 1
        self._require(found, call)
        again = after.copied(lambda: False)
        if (later := self._value_on_disk(again, call)) != found:
            raise self._wrong_value(f"{call}: {found} was found, and {later} after a loss of power")
        if self._kill_in is not None:
            self._kill_in -= 1
            if self._kill_in < 0:
                self._kill_in = None
                self._is_dead = True
                raise Killed

    @property
    def _may_be_torn(self) -> bool:
        """Return whether an operator has copied the file, and no process has opened it yet."""
        return self._is_copied and self.legal is None

    def _value_on_disk(self, disk: Disk, call: str) -> Value:
        try:
            opened = self.kind.open(disk)
        except StoreError as error:
            raise self._wrong_value(f"{call}: refused after it: {error}") from error
        opened.close()
        disk.process_ends()
        return opened.value

    def _draw_keeps(self) -> Callable[[], bool]:
        often = self.chance.choice((0.0, 0.5, 0.5, 1.0))
        return lambda: self.chance.random() < often

    def _require(self, found: Value, where: str) -> None:
        if self.legal is not None and found not in self.legal:
            raise self._wrong_value(f"{where}: found {found}, expected one of {self.legal}")

    def _wrong_value(self, what: str) -> WrongValue:
        return WrongValue(f"{self.kind.name}, seed {self.seed}: {what}")
