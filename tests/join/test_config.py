"""The configurations that a member may be started with."""

from __future__ import annotations

import pytest

from joinproto.errors import MisuseError
from tests.join.bus import config


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"wait_for": 1}, "majority"),
        ({"is_transient": True}, "forget its promises"),
        ({"found_with": 1}, "found_with"),
        ({"found_with": 4}, "found_with"),
        ({"patience": 0}, "patience"),
        ({"heartbeat": -1}, "heartbeat"),
        ({"wait_for": 0}, "wait_for"),
        ({"wait_for": 0, "outside": True}, "wait_for"),
        ({"wait_for": True, "outside": True}, "wait_for"),
        ({"electors": ""}, "electors"),
        ({"options": ""}, "options"),
        ({"cluster_name": ""}, "cluster_name"),
    ],
)
def test_a_faulty_configuration_is_refused(options: dict[str, object], why: str) -> None:
    with pytest.raises((MisuseError, ValueError), match=why):
        config("a", **options)  # type: ignore[arg-type]


def test_a_member_must_have_a_name() -> None:
    with pytest.raises(ValueError, match="member: found ''"):
        config("")


@pytest.mark.parametrize(
    ("electors", "least"), [(1, 1), (2, 2), (3, 2), (4, 3), (5, 4), (6, 4), (7, 5), (8, 6), (9, 6)]
)
def test_founders_that_could_found_two_clusters_are_refused(electors: int, least: int) -> None:
    """The founders that are asked must share a member with a majority of an earlier FOUND."""
    names = "abcdefghi"[:electors]
    for few in range(1, least):
        with pytest.raises(MisuseError, match=f"found_with is {few}"):
            config("a", electors=names, wait_for=electors, found_with=few)

    for enough in range(least, electors + 1):
        config("a", electors=names, wait_for=electors, found_with=enough)
