"""Members drawn in a few letters, so that a whole set fits on one line of a test.

    "cXF oX e t"   clean with signatures X and F, dirty of X, empty, none (transient)
    "*oX"          active
    "oX/2"         its own wait-for is 2
    "oX!"          has an option that the others have not
    "oX+"          has the state (ready)

A dirty store may have a final signature, too: "oXG".  Ids are a, b, c, ... in order.
"""

import re
from collections.abc import Iterator
from functools import cache
from itertools import combinations_with_replacement, product

from attrs import evolve

from joinproto.machine.vocabulary import Status, Store

STORES = {"c": Store.CLEAN, "o": Store.DIRTY, "e": Store.EMPTY, "t": Store.NONE}
PICTURE = re.compile(r"(\*?)([coet])([A-Z]?)([A-Z]?)(\+?)(!?)(?:/(\d+))?")


def members(picture: str, wait_for: int = 1) -> tuple[Status, ...]:
    """Return the statuses that `picture` draws; each waits for `wait_for`."""
    return tuple(
        _status(chr(ord("a") + at), text, wait_for) for at, text in enumerate(picture.split())
    )


def _status(name: str, text: str, wait_for: int) -> Status:
    found = PICTURE.fullmatch(text)
    assert found, f"no picture of a member: {text!r}"
    active, store, initial, final, ready, option, own = found.groups()
    return Status(
        name,
        STORES[store],
        initial=initial or None,
        final=final or None,
        active=bool(active),
        ready=bool(active or ready),
        options=(("compression", "true"),) if option else (),
        wait_for=int(own or wait_for),
    )


KINDS = ("t", "e", "cXF", "cXG", "cYF", "oX", "oXG", "oY")


@cache
def small_worlds(*, up_to: int = 3) -> tuple[tuple[Status, ...], ...]:
    """Return every set of up to 3 members of KINDS, active or not, options equal or not, N 1 to 3.

    The order of members is left out: the note's rules do not look at it.
    """
    return tuple(_small_worlds(up_to))


def _small_worlds(up_to: int) -> Iterator[tuple[Status, ...]]:
    one = [
        f"{active}{kind}{option}" for kind, active, option in product(KINDS, ("", "*"), ("", "!"))
    ]
    for size in range(1, up_to + 1):
        for pictures in combinations_with_replacement(one, size):
            found = members(" ".join(pictures))
            for wait_for in range(1, up_to + 1):
                yield tuple(evolve(status, wait_for=wait_for) for status in found)
