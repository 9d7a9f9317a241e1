"""Find worlds by an operator's own words, in any order and any common form of a word.

A world has the words of its name, its description and its mutants.  A world of an incident also has
the words of the paragraph about it, and other words that people use for it.  The fewer worlds have
a word, the more it counts.  A word that no world has counts nothing, because people write about
more than the fault.  A long word that no world has is first tried as a known word with one typing
error, because people in trouble type in haste.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import pairwise
from math import log

from joinproto.check.entry import Entry

FOUND_MAX = 8
"""The most worlds that are found by single words; each incident counts once."""

SHARE_MIN = 0.3
"""A world must have at least this share of the weight of all known words of the query."""

SHARE_OF_BEST_MIN = 0.6
"""A world must also have at least this share of the nearest world's score."""

WORDS_MIN = 2
"""A world must have at least this many words of the query, because one word tells too little."""

SYSTEM_FACTOR = 2
"""The name of a world's own system counts this many times, since people know their system."""

TYPING_ERROR_LETTERS_MIN = 6
"""An unknown word of at least this many letters may be a known word with one typing error."""

PAIR_SCORE = 1.0
"""The extra score for two words in a row that are also in a row in a world's text."""

_COMMON = """a about after again all already also and another any are as at be been before being
both but by came can cannot cant come could couldn did didn didnt do does doesnt don dont each even
ever every everything for from get give given go got had happen has have haven how however i if in
into is isn isnt it its itself just keep know let like ll made make many may me might more most
much my no none not nothing now of off on once one only onto or other our out over own put ran re
really run said same saw say seem should show since so some somehow someone something still such
take than that the their them then there these they thing think this though through to too took try
turn until up us use ve very was wasn wasnt we well went were what when where which while who whole
whose why will with without won wont would wouldn yet you your"""

_SYNONYMS = (
    "disk volume pvc pv storage store datadir ssd drive",
    "empty blank wipe zero gone vanish disappear erase fresh scratch rebuilt wiped delete",
    "primary master leader",
    "replica standby slave secondary follower backup",
    "restart reboot recreate reschedule redeploy start bounce",
    "mariadb galera mysql percona wsrep grastate innodb mysqld",
    "promote failover elect election takeover",
    "node pod member server broker box machine vm host instance controller",
    "partition cut isolate isolated network switch flap flaky blip glitch netsplit link",
    "outage crash kill die dead died down crashloop crashloopbackoff",
    "lose lost losing loss missing",
    "rabbitmq rabbit rabbitmqctl mnesia",
    "mongodb mongo mongod mongosh",
    "opensearch elasticsearch elastic es eck",
    "postgresql postgres patroni pg psql patronictl",
    "kubernetes k8s kubectl",
    "etcd etcdctl etcdutl",
    "kafka kraft strimzi",
    "redpanda rpk",
    "pacemaker pcs crm corosync",
    "cockroachdb cockroach crdb",
    "zookeeper zk",
    "cassandra scylla scylladb",
    "2 two",
    "3 three",
    "4 four",
    "5 five",
    "artemis activemq amq",
    "jetstream nats",
    "region datacenter dc coast zone",
    "write wrote written",
    "remove kick evict forget",
    "charge bill billing",
    "clock ntp time chrony chronyd ntpd",
    "see hear reach contact unreachable",
    "copy sync synced synchronize resync replicate",
    "bootstrap initiate found form",
    "wrong bad incorrect",
    "rejoin readd join",
    "shrink shrunk",
    "old older oldest stale outdated",
    "bigger higher highest largest biggest",
    "chart helm playbook ansible script",
)
"""Each row has words that count as one; a product's tools and other names count as the product."""
_GENERIC = "cluster operator set chart charm billing"
"""Words in the names of systems that do not tell one system from another."""
_IGNORED = frozenset(_COMMON.split())
_CANONICAL = {word: group.split()[0] for group in _SYNONYMS for word in group.split()}


def text_of(item: Entry) -> str:
    """Return all texts of a world."""
    return " ".join((item.name, item.about, *item.mutants, item.happened, item.spoken))


def system_of(item: Entry) -> str:
    """Return the system of an incident, from the start of its paragraph; "" for other worlds."""
    return item.happened.partition(": ")[0]


def worlds_that_say(query: str, items: Iterable[Entry]) -> tuple[list[Entry], list[Entry]]:
    """Return the worlds with the text `query`, incidents first; and other worlds with its words.

    There are no others if `query` is one word that a world has, or if enough worlds have the text.
    """
    every = list(items)
    exact = [item for item in every if query.lower() in text_of(item).lower()]
    exact.sort(key=lambda item: not item.link)
    found = {_incident_or_name(item) for item in exact}
    if exact and (len(query.split()) == 1 or len(found) >= FOUND_MAX):
        return exact, []
    near = nearest_worlds(query, every)
    return exact, [item for item in near if _incident_or_name(item) not in found]


def nearest_worlds(query: str, items: Iterable[Entry]) -> list[Entry]:
    """Return at most `FOUND_MAX` worlds with words of `query`, nearest first.

    Of the worlds of one incident, the first is returned.
    """
    first: dict[str, Entry] = {}
    words_of: dict[str, set[str]] = {}
    pairs_of: dict[str, set[tuple[str, str]]] = {}
    for item in items:
        key = _incident_or_name(item)
        first.setdefault(key, item)
        words_of.setdefault(key, set()).update(_words(text_of(item)))
        pairs_of.setdefault(key, set()).update(_pairs(text_of(item)))
    counts = Counter(word for words in words_of.values() for word in words)
    systems = {key: _words(system_of(item)) - _GENERIC_WORDS for key, item in first.items()}
    in_order = [_spelled(word, counts) for word in _in_order(query)]
    weights = {
        word: log(1 + len(first) / counts[word]) for word in sorted({*in_order}) if counts[word]
    }
    least = SHARE_MIN * sum(weights.values())
    pairs = {*pairwise(in_order)}
    scored = []
    for at, (key, words) in enumerate(words_of.items()):
        common = [word for word in weights if word in words]
        own = systems[key]
        score = sum(weights[word] * (SYSTEM_FACTOR if word in own else 1) for word in common)
        if len(common) >= WORDS_MIN and score >= least:
            score += PAIR_SCORE * len(pairs & pairs_of[key])
            # With equal scores incidents come first, and then shorter texts.
            scored.append((-score, not first[key].link, len(words), at, key))
    scored.sort()
    near = [key for score, *_, key in scored if score <= SHARE_OF_BEST_MIN * scored[0][0]]
    return [first[key] for key in near[:FOUND_MAX]]


def _incident_or_name(item: Entry) -> str:
    """Return the paragraph of a world's incident; for a world without one, the world's name."""
    return item.happened or item.name


def _words(text: str) -> set[str]:
    return set(_in_order(text))


def _pairs(text: str) -> set[tuple[str, str]]:
    return set(pairwise(_in_order(text)))


@cache
def _in_order(text: str) -> tuple[str, ...]:
    """Return the words of a text in their order, each as its canonical form."""
    words = (_stem(word.lower()) for word in _split(text))
    return tuple(one for word in words if (one := _CANONICAL.get(word, word)) not in _IGNORED)


def _split(text: str) -> Iterator[str]:
    """Yield words and numbers; for a name such as OffsetOutOfRange, also the words in it."""
    for word in re.findall(r"[A-Za-z][A-Za-z0-9]+|\d+", text):
        yield word
        parts = re.split(r"(?<=[a-z])(?=[A-Z][a-z])", word)
        if len(parts) > 1:
            yield from parts


def _spelled(word: str, known: Mapping[str, int]) -> str:
    """Return `word`, or the most frequent known word that differs from it by one typing error."""
    if word in known or len(word) < TYPING_ERROR_LETTERS_MIN or word.isdigit():
        return word
    words = [one for one in (*known, *_CANONICAL) if _is_one_slip(word, one)]
    alike = {_CANONICAL.get(one, one) for one in words}
    return max(alike, key=lambda one: (known.get(one, 0), one), default=word)


def _is_one_slip(word: str, other: str) -> bool:
    """Return whether a letter after the first is wrong, missing, extra or swapped with the next.

    Of two words of one length, the last letters must agree, too.
    """
    if word[0] != other[0] or abs(len(word) - len(other)) > 1:
        return False
    if len(word) == len(other) and word[-1] != other[-1]:
        return False
    while word and other and word[0] == other[0]:
        word, other = word[1:], other[1:]
    while word and other and word[-1] == other[-1]:
        word, other = word[:-1], other[:-1]
    return max(len(word), len(other)) <= 1 or (len(word) == 2 and word == other[::-1])


def _stem(word: str) -> str:
    if word in _IGNORED:
        return word
    for ending in ("ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word.removesuffix(ending)
            break
    return word


_CANONICAL.update({_stem(word): group for word, group in list(_CANONICAL.items())})
_GENERIC_WORDS = _words(_GENERIC)
