"""Chains drawn in a few letters, so that two lineages fit on two lines of a test.

    "F C X R"        FOUND, CHANGE, CLOSE, RESTART, each the successor of the one before
    "F C1 C2"        digits tell views apart: "F C1" and "F C2" are two successors of one view
    "F C:ab"         members a and b; by default those of the parent, and a, b and c for a FOUND
    "F C@F.5"        starts at the frame 5 of F; by default where its parent starts
    "F1 C", "F2 C"   two clusters

The same word at the same place after the same words is the same view.  N is 2.
"""

import re

from joinproto.join.ids import Digest, by_hash
from joinproto.join.lineage import VIEWS_KEPT, Lineage
from joinproto.join.view import Position, Seat, View, change, close, found, restart

WORD = re.compile(r"([FCXR]\d*)(?::([a-z]+))?(?:@([FCXR]\d*)\.(\d+))?")


def seats(names: str) -> frozenset[Seat]:
    """Return one seat for each letter; the store of `a` is `a'`."""
    return frozenset(Seat(name, f"{name}'") for name in names)


CLUSTER_NAME = "cluster"
"""The cluster's name in every chain that is drawn here."""


def views(picture: str, digest: Digest = by_hash, options: str = "options") -> dict[str, View]:
    """Return the views of a chain by their letter and digits, in their order."""
    drawn: dict[str, View] = {}
    parent: View | None = None
    for text in picture.split():
        match = WORD.fullmatch(text)
        if match is None:
            raise ValueError(f"not a view: {text!r}")
        word, names, at, seq = match.groups()
        position = None if parent is None else parent.position
        if at is not None:
            position = Position(drawn[at].id, int(seq))
        parent = _view(word, parent, names, position, digest, options)
        drawn[word if word not in drawn else f"{word}#{parent.number}"] = parent
    return drawn


def lineage(
    picture: str,
    *,
    keep: int = VIEWS_KEPT,
    digest: Digest = by_hash,
    options: str = "options",
) -> Lineage:
    """Return the lineage of a store that learned this chain and keeps the last `keep` views."""
    drawn = Lineage()
    for view in views(picture, digest, options).values():
        drawn = drawn.append(view, keep=keep)
    return drawn


def position(text: str, chain: str) -> Position | None:
    """Return the position that `text`, such as "C1.5", names on a chain; "-" is None."""
    if text == "-":
        return None
    word, _, seq = text.partition(".")
    return Position(views(chain)[word].id, int(seq))


def _view(
    word: str,
    parent: View | None,
    names: str | None,
    at: Position | None,
    digest: Digest,
    options: str,
) -> View:
    nonce = f"nonce of {word}"
    members = seats(names or "abc") if parent is None or names else parent.members
    if parent is None:
        if not word.startswith("F"):
            raise ValueError(f"a chain begins with F, not with {word}")
        return found(
            members=members,
            electors=members,
            wait_for=2,
            options_digest=options,
            cluster_name=CLUSTER_NAME,
            nonce=nonce,
            time=0,
            digest=digest,
        )
    if word.startswith("C"):
        return change(
            parent,
            members=members,
            position=at,
            activated=True,
            nonce=nonce,
            time=0,
            digest=digest,
        )
    if word.startswith("X"):
        return close(parent, position=at, activated=True, nonce=nonce, time=0, digest=digest)
    if word.startswith("R"):
        return restart(
            parent,
            members=members,
            position=at,
            wait_for=2,
            options_digest=options,
            nonce=nonce,
            time=0,
            digest=digest,
        )
    raise ValueError(f"only the first view is an F: {word}")
