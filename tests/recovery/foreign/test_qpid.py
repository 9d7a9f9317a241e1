"""Qpid's store status; the files are made by hand from the documented layouts."""

import pytest

from joinproto.pick.pick import pick
from joinproto.pick.table import Verdict
from joinproto.recovery.foreign.text import NULL_UUID
from joinproto.recovery.found import Format, Found, State
from tests.recovery.foreign.directories import findings_in

CLUSTER = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
SHUTDOWN = "16fd2706-8baf-433b-82eb-8c7fada847da"
OTHER = "886313e1-3b8a-5372-9b90-0c9aee199e5d"


def status(text: str, *, path: str = "store") -> Found:
    return findings_in(Format.QPID, {"cluster/store.status": text}, path=path)


def test_a_shutdown_id_makes_a_store_clean() -> None:
    """The file has two lines: cluster-id and shutdown-id."""
    found = status(f"{CLUSTER}\n{SHUTDOWN}\n")

    assert State.CLEAN == found.state
    assert (CLUSTER, SHUTDOWN) == (found.cluster, found.final)
    assert () == found.problems


def test_a_null_shutdown_id_makes_a_store_dirty_and_unordered() -> None:
    """Ids can only be compared for equality."""
    found = status(f"{CLUSTER}\n{NULL_UUID}\n")

    assert State.DIRTY == found.state
    assert "" == found.final
    assert "of several dirty stores is the latest" in found.problems[0]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is empty"),
        (f"{CLUSTER}\n", "1 of 2 lines"),
        (CLUSTER, "1 of 2 lines"),
        (f"{CLUSTER}\n{SHUTDOWN[:-1]}", "is not a UUID"),
        (f"{NULL_UUID}\n{SHUTDOWN}\n", "cluster-id is null"),
        (f"{CLUSTER}\n{SHUTDOWN}\n{OTHER}\n", "3 lines"),
        (f"{CLUSTER.upper()}\n{SHUTDOWN}\n", "is not a UUID"),
        (f" {CLUSTER}\n{SHUTDOWN}\n", "is not a UUID"),
        (f"{CLUSTER}\r\n{SHUTDOWN}\r\n", "is not a UUID"),
        ("\N{LATIN SMALL LETTER E WITH ACUTE}\n", "not ASCII"),
        ("a\0b", "0x00"),
        ("\x1b[2J", "0x1b"),
    ],
)
def test_a_file_that_qpid_does_not_write_is_corrupt(text: str, problem: str) -> None:
    """The problem says what is wrong in the text."""
    found = status(text)

    assert State.CORRUPT == found.state
    assert problem in found.problems[0]


@pytest.mark.parametrize(
    ("files", "state", "seq"),
    [
        ({"cluster.uuid": CLUSTER, "shutdown.uuid": SHUTDOWN}, State.CLEAN, None),
        ({"cluster.uuid": CLUSTER, "shutdown.uuid": NULL_UUID}, State.DIRTY, None),
        ({"cluster.uuid": CLUSTER}, State.DIRTY, None),
        ({"cluster.uuid": CLUSTER, "config.seq": "12"}, State.DIRTY, 12),
        ({"cluster.uuid": CLUSTER, "config.seq": "12\n"}, State.DIRTY, 12),
        ({"cluster.uuid": CLUSTER, "config.seq": "-1"}, State.CORRUPT, None),
        ({"cluster.uuid": CLUSTER, "shutdown.uuid": ""}, State.CORRUPT, None),
        ({"cluster.uuid": CLUSTER, "shutdown.uuid": SHUTDOWN[:20]}, State.CORRUPT, None),
        ({"shutdown.uuid": SHUTDOWN}, State.CORRUPT, None),
        ({"config.seq": "3"}, State.CORRUPT, None),
    ],
)
def test_the_files_of_version_0_6_give_this_state(
    files: dict[str, str], state: State, seq: int | None
) -> None:
    """There are two files of 36 bytes; some builds also count the changes of membership."""
    found = findings_in(Format.QPID, {f"cluster/{name}": text for name, text in files.items()})

    assert state == found.state
    assert seq == found.seq


def test_the_older_files_alongside_a_store_status_are_ignored_and_reported() -> None:
    """0.8 and later do not read them."""
    found = findings_in(
        Format.QPID,
        {
            "cluster/store.status": f"{CLUSTER}\n{NULL_UUID}\n",
            "cluster/cluster.uuid": OTHER,
            "cluster/shutdown.uuid": SHUTDOWN,
        },
    )

    assert (State.DIRTY, CLUSTER) == (found.state, found.cluster)
    assert any("ignored" in fact.name for fact in found.facts)


def test_without_files_there_is_no_store() -> None:
    """A broker would treat this as an empty store, but a wrong path looks the same."""
    found = findings_in(Format.QPID, {})

    assert State.NONE == found.state
    assert "ran alone" in found.problems[0]


@pytest.mark.parametrize(
    ("shutdowns", "verdict"),
    [
        ((NULL_UUID, NULL_UUID), Verdict.UNPROVEN),
        ((SHUTDOWN, SHUTDOWN), Verdict.CLEAN),
        ((SHUTDOWN, OTHER), Verdict.DIVERGED),
    ],
)
def test_two_stores_are_equal_different_or_unordered(
    shutdowns: tuple[str, str], verdict: Verdict
) -> None:
    """No file shows which of two dirty stores is later."""
    found = [
        status(f"{CLUSTER}\n{last}\n", path=str(number)) for number, last in enumerate(shutdowns)
    ]

    assert verdict == pick([item.candidate for item in found]).verdict
