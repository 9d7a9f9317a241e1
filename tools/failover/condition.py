"""The guards of a manager outside, on real brokers: a manager that keeps them loses no message.

    python -m tools.failover.condition

One run keeps all three guards of docs/standby.md, although it promotes twice while the old primary
runs.  Three runs break one guard each, and lose a confirmed message.  The run `built-in` has such
cuts and promotions with brokers that promote themselves, and loses none.  Exit code 1 if a run ends
otherwise.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from proton import ConnectionException, Message, Timeout
from proton.utils import BlockingConnection

from joinproto.cli.validate.standby import validate_brokers
from tools.failover.manager import Manager, running
from tools.failover.storm import SECONDS, cut_off, promote_at_the_same_time, stopped

QUEUE = "q"


class CountingClient:
    """A client.  `confirmed`: the bodies of its confirmed messages."""

    def __init__(self, manager: Manager) -> None:
        self.manager = manager
        self.confirmed: list[str] = []

    def publish(self, broker: str, body: str, seconds: float = SECONDS) -> bool:
        """Publish a message at a broker; return whether it was confirmed."""
        url = self.manager.url(broker)
        try:
            connection = BlockingConnection(url, timeout=seconds, reconnect=False)
        except ConnectionException:
            return False
        try:
            connection.create_sender(QUEUE).send(Message(body=body, durable=True))
        except (ConnectionException, Timeout):
            return False
        else:
            self.confirmed.append(body)
            return True
        finally:
            _close(connection)

    def lost(self) -> list[str]:
        """Return the confirmed messages that the last primary lacks."""
        connection = BlockingConnection(
            self.manager.url(self.manager.wait_primary()), timeout=SECONDS, reconnect=False
        )
        receiver = connection.create_receiver(QUEUE, credit=100)
        found = []
        try:
            while True:
                found.append(receiver.receive(timeout=2).body)
                receiver.accept()
        except Timeout:
            pass
        _close(connection)
        return sorted({*self.confirmed} - {*found})


def _close(connection: BlockingConnection) -> None:
    with suppress(ConnectionException, Timeout):
        connection.close()


def _promote(manager: Manager, name: str) -> None:
    if manager.promote(name) != name:
        raise RuntimeError(f"{name} was not promoted: {manager.refusals[-1]}")


def _wait_until_left(manager: Manager, primary: str, *gone: str) -> None:
    """Wait until a primary's last view has none of these backups."""
    deadline = time.monotonic() + SECONDS
    while {*gone} & {*map(str, manager.status(primary).get("up_to_date", ()))}:  # type: ignore[call-overload]
        if time.monotonic() > deadline:
            raise RuntimeError(f"{primary} still waits for {gone}: {manager.status(primary)}")
        time.sleep(0.1)


def keeps(manager: Manager, client: CountingClient) -> None:
    """Promote two brokers in turn, each from the last view, while the old primaries run."""
    client.publish("a", "1")
    _promote(manager, "b")
    client.publish("b", "2")
    manager.wait_backup("c")
    _promote(manager, "c")
    client.publish("c", "3")


def breaks_first(manager: Manager, client: CountingClient) -> None:
    """Promote b, which is not in the last view, because a went on without b."""
    with cut_off(manager, "a"):
        _wait_until_left(manager, "a", "b", "c")
        client.publish("a", "1")
        _promote(manager, "b")


def breaks_second(manager: Manager, client: CountingClient) -> None:
    """Promote c from the earlier view, after b has gone on without c and died."""
    manager.kill("a")
    with cut_off(manager, "c"):
        _promote(manager, "b")
        _wait_until_left(manager, "b", "a", "c")
        client.publish("b", "1")
        manager.kill("b")
    _promote(manager, "c")


def breaks_third(manager: Manager, client: CountingClient) -> None:
    """Promote b rightly; then a, which was not stopped, goes on without b."""
    with cut_off(manager, "a"):
        _promote(manager, "b")
        _wait_until_left(manager, "a", "b", "c")
        client.publish("a", "1")
        client.publish("b", "2")


def built_in(manager: Manager, client: CountingClient) -> None:
    """Cut off or stop primaries and promote others, with brokers that promote themselves."""
    client.publish("a", "0")
    with cut_off(manager, "a"):
        others = [name for name in "abc" if name != manager.primary]
        promote_at_the_same_time(manager, others)
        client.publish("a", "1", seconds=5)
        client.publish(manager.wait_primary(but="a"), "2")
        promote_at_the_same_time(manager, others)
        client.publish(manager.wait_primary(but="a"), "3")
    manager.wait_backup("a")
    last = manager.wait_primary()
    with stopped(manager, last):
        client.publish(manager.wait_primary(but=last), "4")
    manager.wait_backup(last)


RUNS: Mapping[str, tuple[Callable[[Manager, CountingClient], None], bool]] = {
    "keeps": (keeps, False),
    "breaks-1": (breaks_first, True),
    "breaks-2": (breaks_second, True),
    "breaks-3": (breaks_third, True),
    "built-in": (built_in, False),
}
"""The runs by name, each with whether it must lose a message."""


def run(top: Path, name: str) -> dict[str, Any]:
    """Return the result of a run: its confirmed messages, and the lost ones among them."""
    actions, loses = RUNS[name]
    top.mkdir(exist_ok=True)
    own, more = name == "built-in", 'events = "events"'
    with running(Manager.of(top, "abc", more=more, built_in=own, cuts=True)) as manager:
        manager.start()
        if own:
            if not manager.wait_primary():
                raise RuntimeError("no broker has become primary")
        else:
            _promote(manager, "a")
        for backup in (one for one in "abc" if one != manager.primary):
            manager.wait_backup(backup)
        client = CountingClient(manager)
        actions(manager, client)
        lost = client.lost()
    claims = validate_brokers([top / "events"]).claims
    return {
        "about": (actions.__doc__ or "").strip(),
        "confirmed": client.confirmed,
        "lost": lost,
        "must_lose": loses,
        "claims_broken": [claim.name for claim in claims if claim.found],
    }


def main(names: Sequence[str] = ()) -> int:
    """Do the runs with these names, or all; print their results."""
    with TemporaryDirectory() as top:
        found = {name: run(Path(top) / name, name) for name in names or RUNS}
    print(json.dumps(found, indent=2))
    are_as_expected = all(
        bool(one[key]) is one["must_lose"]
        for one in found.values()
        for key in ("lost", "claims_broken")
    )
    return 0 if are_as_expected else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
