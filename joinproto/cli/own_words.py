"""Worlds by what a person says of his own case: words, in any order, of any common form.

A world has the words of its name, its sentence, its mutants and, where it is an incident, of the
paragraph that tells it.  A word counts the more, the fewer worlds have it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from math import log

from joinproto.check.entry import Entry

FOUND_MAX = 8
"""So many worlds at most are shown, of one incident one."""

PART_MIN = 0.35
"""Of the weight of all words that are asked for, a world must have this part."""

_COMMON = """a all and another any are as at be been before both but by can cannot could did do does
each everything for from get got had happened has have how i if in into is it its just like my no
none not nothing of off on one or our out over own say says see so some still such than that the
their them then there these they this to too up us very was we went were what when where which while
who why will with would you"""

_SAME = (
    "disk volume pvc pv storage store datadir",
    "empty blank wipe zero gone vanish disappear erase",
    "primary master leader",
    "replica standby slave secondary follower backup",
    "restart reboot recreate reschedule redeploy start",
    "mariadb galera mysql percona",
    "promote failover elect",
    "node pod member server broker",
    "partition cut isolate network switch",
    "outage crash kill die",
)
_WITHOUT = frozenset(_COMMON.split())
_CLASS = {word: group.split()[0] for group in _SAME for word in group.split()}


def text_of(item: Entry) -> str:
    """Return all that is said of a world, in small letters."""
    return " ".join((item.name, item.about, *item.mutants, item.happened)).lower()


def nearest_worlds(said: str, items: Iterable[Entry]) -> list[Entry]:
    """Return the worlds that have most of the words, the nearest first; of each incident one."""
    first: dict[str, Entry] = {}
    words_of: dict[str, set[str]] = {}
    for item in items:
        about = item.happened or item.name
        first.setdefault(about, item)
        words_of.setdefault(about, set()).update(_words(text_of(item)))
    have = Counter(word for words in words_of.values() for word in words)
    asked = {word: log(1 + len(first) / (have[word] or 1)) for word in _words(said)}
    scored = []
    for at, (about, words) in enumerate(words_of.items()):
        common = [word for word in asked if word in words]
        score = sum(asked[word] for word in common)
        if len(common) >= 2 and score >= PART_MIN * sum(asked.values()):
            scored.append((-score, at, about))
    return [first[about] for *_, about in sorted(scored)[:FOUND_MAX]]


def _words(text: str) -> set[str]:
    words = {_stem(word) for word in re.findall(r"[a-z][a-z0-9]+|\d+", text.lower())}
    return {_CLASS.get(word, word) for word in words} - _WITHOUT


def _stem(word: str) -> str:
    if word in _WITHOUT:
        return word
    for ending in ("ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word.removesuffix(ending)
            break
    return word


_CLASS.update({_stem(word): group for word, group in list(_CLASS.items())})
