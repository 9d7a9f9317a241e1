"""The facts in a store of etcd, or of a controller of Kafka: a member of one Raft group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated

from attrs import field, frozen

from joinproto.codec.json_form import Absent, filled
from joinproto.pick.raft import Configuration, RaftLog


def add_term(terms: list[tuple[int, int]], index: int, term: int) -> None:
    """Add an entry to `terms`, each term's first entry; it replaces entries from `index` on."""
    while terms and terms[-1][0] >= index:
        terms.pop()
    if not terms or terms[-1][1] != term:
        terms.append((index, term))


@frozen(kw_only=True)
class Term:
    """A term of the log's entries."""

    index: Annotated[int, "index of its first known entry"]
    term: Annotated[int, "its number"]


@frozen(kw_only=True)
class RaftFacts:
    """The end of a member's log, its promises, and its voters."""

    cluster: Annotated[str, "the cluster's id"] = ""
    member: Annotated[str, "the member's id"] = ""
    term: Annotated[int, "the last term that it knows"] = 0
    vote: Annotated[str, "the member that it voted for in that term"] = ""
    last_term: Annotated[int, "term of its last entry"] = 0
    last_index: Annotated[int, "its last entry"] = 0
    commit: Annotated[int, "entries up to it are known to be committed"] = 0
    configurations: Annotated[tuple[Configuration, ...], "the voters, the newest last"] = ()
    terms: Annotated[
        tuple[Term, ...], Absent(()), "terms of its entries (etcd), the newest last"
    ] = ()
    names: Annotated[Mapping[str, str], "members by their ids"] = field(factory=dict)
    revision: Annotated[int | None, "revision of its database (etcd)"] = None
    applied: Annotated[int | None, "the last entry in its database (etcd)"] = None
    release: Annotated[str, "the cluster's release, as it is written"] = ""
    damaged: Annotated[str, "why it does not count towards a majority"] = ""
    blank: Annotated[
        bool, Absent(False), "true: no entry was ever written, or it was formatted again"
    ] = False

    def log(self, name: str) -> RaftLog:
        """Return the facts in the form in which `joinproto.pick.raft` judges them."""
        terms = tuple((one.index, one.term) for one in self.terms)
        return filled(RaftLog, self, name=name, terms=terms)

    @property
    def newest(self) -> Configuration:
        """Return the newest configuration; one without voters if the member knows none."""
        return self.configurations[-1] if self.configurations else Configuration(index=0)

    def named(self, members: Iterable[str]) -> str:
        """Return the names of the members with these ids; an id without a name stays."""
        return " ".join(self.names.get(one, one) for one in sorted(members))
