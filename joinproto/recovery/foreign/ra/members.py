"""The members of a Raft group of Ra, read from commands, snapshots and configurations."""

from __future__ import annotations

import re

from attrs import frozen

from joinproto.pick.raft import Configuration
from joinproto.recovery.foreign import external
from joinproto.recovery.foreign.text import NotAsWritten

MEMBERS_MAX = 1_000
CONFIG_BYTES_MAX = 1 << 20

_ATOM = r"(?:[a-z][\w@]*|'(?:[^'\\]|\\.)*')"
_SERVER = rf"\{{\s*({_ATOM})\s*,\s*({_ATOM})\s*\}}"
_UID = re.compile(r'(?<!\w)uid\s*=>\s*<<"([^"\\]*)">>')
_ID = re.compile(rf"(?<!\w)id\s*=>\s*{_SERVER}")
_FIRST = re.compile(rf"(?<!\w)initial_members\s*=>\s*\[((?:\s*,?\s*{_SERVER})*)\s*\]")
_FRIENDLY = re.compile(r'(?<!\w)friendly_name\s*=>\s*"((?:[^"\\]|\\.)*)"')
_MADE = re.compile(r"(?<!\w)created\s*=>\s*(\d{1,16})(?!\w)")
_OF_A_QUEUE = re.compile(r"queue '(.*)' in vhost '(.*)'", re.DOTALL)


@frozen
class Config:
    """`UID/config`: the configuration of this member when it was created.

    `queue`, `vhost`: "" if the group is not a queue.  `made`: when a first member of a queue was
    created, in milliseconds since 1970; 0 for later members and other groups.  One node creates all
    first members of a queue at one moment.
    """

    uid: bytes
    group: str
    node: str
    first: Configuration
    queue: str = ""
    vhost: str = ""
    made: int = 0


def config_in(name: str, data: bytes) -> Config:
    """Return a member's configuration from its Erlang text; raises `NotAsWritten`."""
    text = data[:CONFIG_BYTES_MAX].decode("utf-8", "replace")
    uid, own, first = _UID.search(text), _ID.search(text), _FIRST.search(text)
    if not text.rstrip().endswith("}.") or uid is None or own is None or first is None:
        raise NotAsWritten(f"{name}: is not as it was written, or was cut off")
    members = {_plain(node) for _, node in re.findall(_SERVER, first[1])}
    if len({*re.findall(_SERVER, first[1])} | {own.groups()}) > MEMBERS_MAX:
        raise NotAsWritten(f"{name}: has more than {MEMBERS_MAX} members")
    node = _plain(own[2])
    friendly, made = _FRIENDLY.search(text), _MADE.search(text)
    queue = _OF_A_QUEUE.fullmatch(friendly[1]) if friendly else None
    return Config(
        uid[1].encode(),
        _plain(own[1]),
        node,
        Configuration(index=0, voters=frozenset({*members, node})),
        queue=queue[1] if queue else "",
        vhost=queue[2] if queue else "",
        made=int(made[1]) if made and queue and node in members else 0,
    )


def _plain(atom: str) -> str:
    return re.sub(r"\\(.)", r"\1", atom[1:-1]) if atom.startswith("'") else atom


def change_in(name: str, command: bytes, *, index: int, term: int) -> Configuration | None:
    """Return the members from an entry on, None if the command does not change the members."""
    try:
        parts = external.parts_of(command, 3)
        if external.atom(parts[0]) != b"$ra_cluster_change":
            return None
        return configuration_of(parts[2], index=index, term=term)
    except NotAsWritten as error:
        raise NotAsWritten(f"{name}: a change of members: {error}") from None


def configuration_of(term_: bytes, *, index: int, term: int) -> Configuration:
    """Return the members in an Erlang list, or in a map with the role of each member."""
    if term_[:1] == b"t":
        listed = external.pairs_of(term_)
    else:
        listed = [(one, b"") for one in external.items_of(term_)]
    if len(listed) > MEMBERS_MAX:
        raise NotAsWritten(f"more than {MEMBERS_MAX} members")
    nodes = {server_of(one): _is_voter(said) for one, said in listed}
    return Configuration(
        index=index,
        term=term,
        voters=frozenset(node for node, votes in nodes.items() if votes),
        learners=frozenset(node for node, votes in nodes.items() if not votes),
    )


def server_of(term: bytes) -> str:
    """Return the node of a member's name, `{Group, Node}`."""
    parts = external.parts_of(term, 2)
    node = external.atom(parts[1])
    if not node:
        raise NotAsWritten("a member has no node")
    return node.decode("utf-8", "replace")


def _is_voter(peer: bytes) -> bool:
    """Return whether a member votes (`voter_status`, `membership`); without these it does."""
    if peer[:1] != b"t":
        return True
    for key, value in external.pairs_of(peer):
        if external.atom(key) == b"voter_status" and value[:1] == b"t":
            for what, said in external.pairs_of(value):
                if external.atom(what) == b"membership":
                    return external.atom(said) == b"voter"
    return True
