"""The peers that a node calls: listed peers, for a limited time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from joinproto.apps.node.discovering import CALLED_MAX, MISSED_MAX, PeerDiscovery
from joinproto.discovery.answers import Answer, Failed, Listed
from joinproto.net.addresses import Address


class Transport:
    """Records which members are called."""

    def __init__(self) -> None:
        self.called: frozenset[str] = frozenset()
        self.peers: list[str] = []

    def call(self, name: str, _: Address) -> None:
        self.called |= {name}

    def forget(self, name: str) -> None:
        self.called -= {name}


def calling(*answers: Answer) -> list[frozenset[str]]:
    """Return the members that are called after each of these answers to a node without a view."""
    about: Any = SimpleNamespace(
        backend=SimpleNamespace(backend="config"),
        expected=3,
        address=lambda _: Address("127.0.0.1", 1),
    )
    port: Any = None
    found, transport = PeerDiscovery(about, "n@me", port, None), Transport()
    cluster: Any = SimpleNamespace(engine=SimpleNamespace(member=SimpleNamespace(view=None)))
    seen = []
    for answer in answers:
        found._call(answer, cluster, transport)  # type: ignore[arg-type]
        seen.append(transport.called)
    return seen


def many(number: int, of: str = "h") -> Listed:
    return Listed(tuple(f"n@{of}{at}" for at in range(number)))


def test_names_that_change_with_each_answer_are_called_for_a_limited_time() -> None:
    """Otherwise a node would call more and more names."""
    seen = calling(*(many(50, f"r{round_}-") for round_ in range(100)))

    assert max(map(len, seen)) <= 50 * (MISSED_MAX + 2)


def test_all_members_of_a_long_list_are_called_in_turn() -> None:
    """A member may be anywhere in the list."""
    listed = many(20 * CALLED_MAX)
    seen = calling(*[listed] * 21)

    assert max(map(len, seen)) <= CALLED_MAX * (MISSED_MAX + 2)
    assert {*listed.nodes} == frozenset().union(*seen)


def test_an_answer_that_lacks_a_member_for_a_moment_ends_no_call() -> None:
    """A failure ends no call, either."""
    seen = calling(many(3), Listed(()), Failed("500"), many(3))

    assert [frozenset(many(3).nodes)] * 4 == seen
