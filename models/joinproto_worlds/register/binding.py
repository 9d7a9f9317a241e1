"""Whether a ballot of the register's worlds found one accepted view, or had to choose."""

from __future__ import annotations

from collections.abc import Iterator

from joinproto.join.choice_messages import Promise
from joinproto.join.chooser import Chooser

ONE = "one acceptance binds"
FORMER, LATTER = "two acceptances, the former binds", "two acceptances, the one heard last binds"
CANDIDATES = (ONE, FORMER, LATTER)
"""Cases of a ballot.  A search tries the choice of the latest acceptance only if two are heard, so
a report lists the cases that never occurred.
"""


def binds(before: Chooser, heard: object, after: Chooser) -> Iterator[str]:
    """Yield the case in which a chooser is bound by an acceptance that this answer reports."""
    attempt, then = before.attempt, after.attempt
    if not isinstance(heard, Promise) or heard.accepted is None:
        return
    if attempt is None or then is None or heard.ballot != attempt.ballot or attempt.proposed:
        return
    if attempt.bound is None:
        yield ONE
    elif attempt.bound.view != heard.accepted.view:
        yield FORMER if then.bound == attempt.bound else LATTER
