"""Brokers in this process, in virtual time: confirmations, disks, copies and failover.

Source: hot standby, H2 to H5, H8 to H10.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from itertools import count
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import pytest
import trustme

from joinproto.apps.standby import settings
from joinproto.apps.standby.settings import Copying
from joinproto.net.framing import framed
from joinproto.net.security import Proofs
from joinproto.standby.broker import Role
from joinproto.standby.catch_up import Order
from tests.recovery.asking import ask_json
from tests.standby.inside import LocalBrokers, play

pytestmark = pytest.mark.usefixtures("no_sync")


def test_a_confirmed_message_is_there_when_another_broker_takes_over(tmp_path: Path) -> None:
    """H4: also without durability; it is marked as redelivered, as a client may have had it."""

    async def story(brokers: LocalBrokers) -> None:
        await brokers.pair()
        await brokers.publish("a", "1", "2", "3")
        await brokers.publish("a", "only in memory", durable=False)
        assert [("1", False)] == await brokers.consume("a", 1)
        await brokers.kill("a")

        assert "b" == await brokers.promote("b")

        found = await brokers.consume("b", 3)
        assert [("2", True), ("3", True), ("only in memory", True)] == found
        assert 2 == brokers.status("b")["generation"]

    play(tmp_path, "ab", story)


def test_a_dead_primary_that_comes_back_follows_the_new_primary(tmp_path: Path) -> None:
    """H9: it catches up, and may then be promoted again."""

    async def story(brokers: LocalBrokers) -> None:
        await brokers.pair()
        await brokers.publish("a", "1")
        await brokers.kill("a")
        await brokers.promote("b")
        await brokers.publish("b", "2")
        await brokers.start("a")

        assert await brokers.until_role("a", Role.BACKUP)
        assert {"q": 2} == brokers.status("a")["queues"]
        assert await brokers.until_in_view("b", "ab")
        await brokers.kill("b")
        assert "a" == await brokers.promote("a")
        assert ["1", "2"] == [body for body, _ in await brokers.consume("a", 2)]

    play(tmp_path, "ab", story)


def test_no_message_is_confirmed_that_a_backup_lacks(tmp_path: Path) -> None:
    """H4: a backup is cut off; before the next confirmation, the primary writes down that it goes
    on without this backup.  The backup catches up when it is back."""

    async def story(brokers: LocalBrokers) -> None:
        await brokers.pair()
        await brokers.publish("a", "0")
        brokers.loop.apart.add("b")
        began = brokers.loop.time()
        publishing = asyncio.create_task(brokers.publish("a", "1"))

        def goes_on_alone() -> bool:
            # Read in this order, a confirmation is seen only if it came while the backup counted.
            was_confirmed = publishing.done()
            is_alone: bool = ["a"] == brokers.status("a")["up_to_date"]
            assert is_alone or not was_confirmed
            return is_alone

        assert await brokers.until(goes_on_alone)
        assert brokers.loop.time() > began + 1.0
        await publishing
        brokers.loop.heal()
        assert await brokers.until_in_view("a", "ab")
        assert {"q": 2} == brokers.status("b")["queues"]

    play(tmp_path, "ab", story)


def test_after_a_total_failure_the_last_primary_serves_once_its_store_is_marked_clean(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """H10: both are killed; `recover pick` names the last primary, whose store is marked clean."""
    paths = [tmp_path / "a", tmp_path / "b"]

    async def story(brokers: LocalBrokers) -> None:
        await brokers.pair()
        await brokers.publish("a", "1", "2")
        for name in "ba":
            await brokers.kill(name)

        code, found = ask_json(capsys, "pick", *paths)
        await brokers.start()
        refused = await brokers.promote("a", "b")
        for name in "ab":
            await brokers.kill(name, orderly=True)
        for path in paths:
            # A broker that refused a promotion and stops in order keeps the mark of the crash.
            assert "dirty" == ask_json(capsys, "inspect", path)[1]["stores"][0]["state"]
        made = ask_json(capsys, "mark-clean", *paths)[1]["error"]["next"].rpartition(" ")[2]
        marked, _ = ask_json(capsys, "mark-clean", *paths, "--yes", "--plan-hash", made)
        await brokers.start()

        best = found["latest"][0].partition(":")[2]
        assert (0, "proven", str(paths[0])) == (code, found["verdict"], best)
        assert "" == refused
        assert 0 == marked
        assert "a" == await brokers.promote("a")
        assert ["1", "2"] == [body for body, _ in await brokers.consume("a", 2)]

    play(tmp_path, "ab", story)


def test_a_primary_that_was_cut_off_follows_the_younger_generation(tmp_path: Path) -> None:
    """H2: the old primary was not fenced; when it hears of the new one, it stops serving.

    Messages that it confirmed alone meanwhile would be lost, so a manager outside must fence.
    """

    async def story(brokers: LocalBrokers) -> None:
        await brokers.pair()
        await brokers.publish("a", "1")
        brokers.loop.apart.add("a")
        assert "b" == await brokers.promote("b")
        await brokers.publish("b", "2")
        assert brokers.cores["a"].serves
        brokers.loop.heal()

        assert await brokers.until_role("a", Role.BACKUP)

        assert await brokers.until_in_view("b", "ab")
        assert 2 == brokers.status("a")["generation"]
        assert ["1", "2"] == [body for body, _ in await brokers.consume("b", 2)]

    play(tmp_path, "ab", story)


def test_two_brokers_promoted_apart_have_one_generation_until_one_is_promoted_again(
    tmp_path: Path,
) -> None:
    """H2: neither may follow the other; an operator who keeps one loses the messages of the other.

    The conflict ends when both are demoted and one is promoted.
    """

    async def story(brokers: LocalBrokers) -> None:
        await brokers.start()
        assert "a" == await brokers.promote("a")
        assert await brokers.until_in_view("a", "abc")
        brokers.loop.apart.add("c")
        await brokers.kill("a")
        assert "b" == await brokers.promote("b")
        assert "c" == await brokers.promote("c")
        assert await brokers.until_role("c", Role.PRIMARY)
        brokers.loop.heal()
        assert await brokers.until(lambda: "c" in brokers.status("b")["peers"])

        assert not await brokers.until(lambda: not brokers.cores["b"].serves, seconds=10)
        assert brokers.cores["c"].serves
        await brokers.cores["c"].demote()
        assert not await brokers.until_role("c", Role.CATCHUP, seconds=10)
        assert "b" == brokers.status("c")["primary"]
        await brokers.cores["b"].demote()
        assert "b" == await brokers.promote("b")
        assert await brokers.until_role("c", Role.BACKUP)

        assert await brokers.until_in_view("b", "bc")
        assert 3 == brokers.status("b")["generation"]

    play(tmp_path, "abc", story)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"x", "a greeting that is not JSON"),
        (b"[1]\n", "a greeting without joinproto"),
        (b'{"kind": "hello", "version": 1, "broker": "b"}\n', "upgrade all brokers at once"),
    ],
    ids=["text", "list", "first-version"],
)
def test_a_malformed_greeting_ends_only_its_own_connection(
    tmp_path: Path, body: bytes, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The log has one line, with the reason."""
    caplog.set_level("INFO")

    async def story(brokers: LocalBrokers) -> None:
        await brokers.pair()
        stranger, _ = await brokers.loop.create_connection(asyncio.Protocol, "stranger-a")
        caplog.clear()
        stranger.write(framed(body))

        assert await brokers.until(lambda: not stranger.is_open, seconds=1)
        (said,) = caplog.messages
        assert said.startswith("refused ")
        assert why in said
        assert ["b"] == brokers.status("a")["peers"]
        assert Role.BACKUP is brokers.cores["b"].role

    play(tmp_path, "ab", story)


def test_brokers_with_a_secret_let_in_only_those_that_know_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def knows(secret: str) -> dict[str, Any]:
        (tmp_path / secret).write_text(secret * 8)
        (tmp_path / secret).chmod(0o600)
        return {"security": Proofs(secret_file=secret)}

    async def story(brokers: LocalBrokers) -> None:
        brokers.more = knows("ours")
        await brokers.start("a", "b")
        await brokers.promote("a")
        assert await brokers.until_in_view("a", "ab")
        brokers.more = knows("theirs")
        await brokers.start("c")

        assert not await brokers.until(lambda: brokers.status("c")["peers"] != [], seconds=10)

        assert "does not know the secret of this cluster" in caplog.text
        assert ["b"] == brokers.status("a")["peers"]

    play(tmp_path, "abc", story)


def test_brokers_with_tls_let_in_only_a_broker_that_its_certificate_names(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ca = trustme.CA()
    ca.cert_pem.write_to_path(str(tmp_path / "ca"))

    def shows(name: str) -> dict[str, Any]:
        issued = ca.issue_cert(name)
        issued.cert_chain_pems[0].write_to_path(str(tmp_path / f"{name}.pem"))
        issued.private_key_pem.write_to_path(str(tmp_path / f"{name}.key"))
        (tmp_path / f"{name}.key").chmod(0o600)
        return {"security": Proofs(certificate=f"{name}.pem", key=f"{name}.key", ca="ca")}

    async def story(brokers: LocalBrokers) -> None:
        for name, certificate in (("a", "a"), ("b", "b"), ("c", "other")):
            brokers.more = shows(certificate)
            await brokers.start(name)
        await brokers.promote("a")
        assert await brokers.until_in_view("a", "ab")
        await brokers.publish("a", "1")

        assert not await brokers.until(lambda: brokers.status("c")["peers"] != [], seconds=10)

        assert "its certificate names other" in caplog.text
        assert {"q": 1} == brokers.status("b")["queues"]

    play(tmp_path, "abc", story)


def test_messages_of_any_length_are_copied_and_followed(tmp_path: Path) -> None:
    """H4, H5: messages of 60 KB that were there before the backup, then many of 900 KB at once."""

    async def story(brokers: LocalBrokers) -> None:
        await brokers.pair()
        await brokers.kill("b")
        await brokers.publish("a", *["x" * 60_000] * 100)
        await brokers.start("b")
        assert await brokers.until_in_view("a", "ab")

        await brokers.publish("a", *["y" * 900_000] * 24)

        assert ["a", "b"] == brokers.status("a")["up_to_date"]
        assert {"q": 124} == brokers.status("b")["queues"]

    play(tmp_path, "ab", story)


@pytest.mark.parametrize("order", ["lifo", "fifo"])
def test_a_backup_catches_up_with_a_queue_under_load_only_from_the_back(
    tmp_path: Path, order: str
) -> None:
    """H5: more messages are published and taken than copied in the same time."""

    async def story(brokers: LocalBrokers) -> None:
        await brokers.start("a")
        await brokers.promote("a")
        await brokers.publish("a", *["x"] * 300)

        async def load() -> None:
            while True:
                await asyncio.gather(
                    brokers.publish("a", *["y"] * 30), brokers.consume("a", 30), asyncio.sleep(0.3)
                )

        loads = asyncio.create_task(load())
        await brokers.start("b")
        assert await brokers.until(lambda: brokers.status("a")["to_copy"] > 250)
        catches_up = await brokers.until_role("b", Role.BACKUP, seconds=6)
        left = brokers.status("a")["to_copy"]
        loads.cancel()

        assert (order == "lifo") == catches_up
        assert catches_up == (left == 0)
        assert catches_up or left > 250

    play(tmp_path, "ab", story, copying=Copying(order=Order(order), per_second=70.0))


def test_a_disk_that_hangs_for_five_seconds_delays_answers_but_drops_no_backup(
    tmp_path: Path,
) -> None:
    """H4: a session ends after 3 s of silence, but the event loop waits for no disk."""
    slow = [0.0]

    async def story(brokers: LocalBrokers) -> None:
        await brokers.start()
        await brokers.promote("a")
        assert await brokers.until_in_view("a", "abc")
        slow[0], began = 5.0, brokers.loop.time()

        await brokers.publish("a", "1", "2")

        # Five seconds each: the queue here, the queue there, and the messages on all disks at once.
        assert 15 <= brokers.loop.time() - began <= 16
        assert ["a", "b", "c"] == brokers.status("a")["up_to_date"]
        assert ["b", "c"] == brokers.status("a")["peers"]
        assert {"q": 2} == brokers.status("b")["queues"] == brokers.status("c")["queues"]

    play(tmp_path, "abc", story, sync=lambda: slow[0])


def test_a_queue_is_given_once_its_declaration_is_on_the_disk(tmp_path: Path) -> None:
    """LC2, H4: this holds for a primary without backups, too."""
    slow = [0.0]

    async def story(brokers: LocalBrokers) -> None:
        await brokers.start("a")
        await brokers.promote("a")
        core, given = brokers.cores["a"], asyncio.Event()
        slow[0], began = 5.0, brokers.loop.time()

        core.clients.queue("new", lambda _: given.set())
        assert not given.is_set()
        await given.wait()

        assert 4.9 < brokers.loop.time() - began
        assert "new" in core.disk.queues

    play(tmp_path, "ab", story, sync=lambda: slow[0])


def test_a_promotion_is_not_reported_to_others_before_it_is_on_the_disk(tmp_path: Path) -> None:
    """H2: the generation is durable before the broker serves; a crash before that forgets it."""
    slow = [0.0]

    async def story(brokers: LocalBrokers) -> None:
        await brokers.start("a", "b")
        slow[0] = 5.0
        promoting = asyncio.create_task(brokers.promote("a"))
        await asyncio.sleep(3)

        refusal = brokers.cores["a"].clients.refusal()
        assert refusal is not None
        assert not promoting.done()
        assert (False, 0) == (brokers.status("a")["serves"], brokers.status("a")["generation"])
        said = brokers.cores["b"].links.around.others["a"]
        assert said is not None
        assert Role.CONNECTING is said.role
        assert "a" == await promoting
        assert brokers.cores["a"].clients.refusal() is None
        await brokers.kill("a", orderly=True)
        slow[0] = 0.0
        await brokers.start("a")
        assert await brokers.until(lambda: brokers.status("a")["generation"] == 1)
        assert "clean" == brokers.status("a")["store"]

    play(tmp_path, "ab", story, sync=lambda: slow[0])


@pytest.mark.parametrize("is_slow", [False, True], ids=["quick", "slow"])
def test_no_confirmed_message_is_lost_while_the_primary_is_killed_twelve_times(
    tmp_path: Path, is_slow: bool
) -> None:
    """H4: a client publishes and consumes at each primary; a message that comes twice is marked.

    Quick disks take no time; slow ones take up to a second for each write.
    """
    random = Random(1)
    disks = Random(2)
    sync = (lambda: disks.choice((0.0, 0.01, disks.random()))) if is_slow else None
    confirmed: set[str] = set()
    delivered: list[tuple[str, bool]] = []

    async def story(brokers: LocalBrokers) -> None:
        numbers = map(str, count())
        await brokers.start()
        primary = await brokers.promote("a")

        async def works() -> None:
            while True:
                bodies = [next(numbers) for _ in range(random.randint(1, 20))]
                await brokers.publish(primary, *bodies)
                confirmed.update(bodies)
                await brokers.consume(primary, random.randint(1, len(bodies)), into=delivered)

        for _ in range(12):
            assert await brokers.until_in_view(primary, "abc")
            working = asyncio.create_task(works())
            await asyncio.sleep((10 if is_slow else 0.1) * random.random())
            working.cancel()
            await brokers.kill(primary)
            dead, primary = primary, await brokers.promote(*brokers.cores)
            assert await brokers.until_role(primary, Role.PRIMARY)
            await brokers.start(dead)
        await brokers.consume(primary, brokers.status(primary)["queues"]["q"], into=delivered)

    play(tmp_path, "abc", story, sync=sync)

    times = Counter(body for body, _ in delivered)
    unmarked = Counter(body for body, is_marked in delivered if not is_marked)
    assert len(confirmed) > 100
    assert confirmed <= times.keys()
    # With quick disks a message is taken, and its primary killed, before the backups know of it.
    assert is_slow or max(times.values()) > 1
    assert max(unmarked.values()) == 1


def test_a_broker_that_is_no_longer_primary_does_not_confirm_a_transaction(tmp_path: Path) -> None:
    """LM3: its disk is slow, so clients are still connected when it is no longer primary.

    Otherwise such a transaction would be confirmed and never stored.
    """
    slow = [0.0]

    async def story(brokers: LocalBrokers) -> None:
        await brokers.pair()
        await brokers.publish("a", "1")
        slow[0] = 5.0
        publishing = asyncio.create_task(brokers.publish("a", "2"))
        await asyncio.sleep(1)
        core, answers = brokers.cores["a"], list[str]()
        core.turn()
        assert {"q"} == core.clients.live.keys()

        core.clients.commit_whole([("q", b"3", True)], [], answers.append)

        assert ["this broker is no longer primary"] == answers
        publishing.cancel()
        slow[0] = 0.0
        assert await brokers.until(lambda: not core.clients.live)

    play(tmp_path, "ab", story, sync=lambda: slow[0])


def test_brokers_of_two_versions_work_together_or_refuse_each_other_by_name(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A broker of the next version speaks this one; one without a common version is refused."""
    caplog.set_level("INFO")

    async def story(brokers: LocalBrokers) -> None:
        for name, versions in (("a", (2, 2)), ("b", (2, 3)), ("c", (3, 3))):
            with mock.patch.object(settings, "VERSIONS", versions):
                await brokers.start(name)
        assert "a" == await brokers.promote("a")
        await brokers.publish("a", "1")

        assert await brokers.until_in_view("a", "ab")
        assert ["b"] == brokers.status("a")["peers"]
        assert Role.PRIMARY is not brokers.cores["c"].role
        assert any(
            "it speaks wire versions 2 to 2, c speaks 3 to 3" in said for said in caplog.messages
        )

    play(tmp_path, "abc", story)
