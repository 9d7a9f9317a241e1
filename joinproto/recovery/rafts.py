"""The verdict about stores of members of one Raft group: etcd, or Kafka's controllers.

Source: `joinproto/pick/raft.py`; etcd 3.4 (`restartAsStandaloneNode`) for the entries that
`--force-new-cluster` drops.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from attrs import frozen

from joinproto.errors import UsageProblem
from joinproto.pick.findings import MissingStore
from joinproto.pick.raft import ASSUMED, RaftVerdict, judge
from joinproto.pick.table import NOT_READ, Verdict
from joinproto.recovery.foreign.etcd import release_numbers
from joinproto.recovery.found import Format, Found, State
from joinproto.recovery.judged import FormatVerdict, pick_of
from joinproto.recovery.words import and_, collect_on, has, typed

FORMATS = (Format.ETCD, Format.KRAFT)
TWICE = "a store is there twice"
BACK = "a store went back"
PARTED = "two branches"
EMPTY = "their logs are empty"
UNREAD = (State.CORRUPT, State.UNREADABLE)
NOT_EXAMINED = (
    "the data themselves: only the log, and a few facts about it, were read",
    "whether a member runs on a machine that is not named here",
)
MISSING = "a majority of the voters is not here"
MORE = "it may have entries that were acknowledged, and are in no store here"
ELSEWHERE = "look for other stores of this cluster, or for a snapshot"


def verdict_on(stores: Sequence[Found], *, lost: Collection[str] = ()) -> FormatVerdict:
    """Return the verdict about the stores of one product.

    `lost`: names or ids of members whose stores are lost for good, from `--lost`.

    Raises `UsageProblem` for a name in `lost` that is no known member, or whose store is here.
    """
    kind = next((one.format for one in stores if one.format in FORMATS), Format.ETCD)
    logs = [
        one.raft_log.log(one.name)
        for one in stores
        if one.raft_log is not None and one.raft_log.member
    ]
    found = judge(logs, at_commit=kind is Format.ETCD)
    names = {
        key: name for one in stores if one.raft_log for key, name in one.raft_log.names.items()
    }
    _refuse_unknown(lost, stores, {*names, *names.values(), *found.voters})
    verdict, case = _verdict(stores, found)
    missing = tuple(
        MissingStore(names.get(one, one), "", is_member=True, may_know_more=True, text=MORE)
        for one in found.missing
    )
    pick = pick_of(
        stores,
        verdict,
        rule="Raft",
        case=case,
        latest=found.latest,
        covering=found.latest if found.is_proven else (),
        missing=() if found.is_proven else missing,
        is_safe=found.is_proven,
    )
    texts = _VerdictTexts(kind, stores, found, verdict, case, names)
    sentence, after = texts.sentence_and_next(lost)
    return FormatVerdict(
        pick=pick,
        sentence=sentence,
        lines=tuple(texts.lines()),
        not_examined=NOT_EXAMINED,
        next=after,
    )


def _refuse_unknown(lost: Collection[str], stores: Sequence[Found], known: set[str]) -> None:
    """Raise `UsageProblem` if `lost` names an unknown member, or a member whose store is here."""
    here = {one.member for one in stores if one.member}
    for name in lost:
        if name in here:
            raise UsageProblem(
                f"--lost {name}: its store is here", next="leave out the option, or the store"
            )
        if known and name not in known:
            raise UsageProblem(
                f"--lost {name}: no member has this name",
                next=f"members are {', '.join(sorted({*known} - {''}))}",
            )


def _verdict(stores: Sequence[Found], found: RaftVerdict) -> tuple[Verdict, str]:
    if any(one.state is State.IN_USE for one in stores):
        return Verdict.IN_USE, "a process has a store open"
    if len({one.cluster for one in stores if one.cluster}) > 1:
        return Verdict.DIFFERENT_CLUSTERS, "stores of several clusters"
    if not found.latest and any(one.state in UNREAD for one in stores):
        return Verdict.CORRUPT, "no store can be read"
    if not found.latest and any(one.state is State.NEWER for one in stores):
        return Verdict.UNPROVEN, NOT_READ
    if not found.latest:
        return Verdict.UNPROVEN, EMPTY
    if found.branches:
        return Verdict.DIVERGED, PARTED
    if found.went_back:
        return Verdict.UNPROVEN, BACK
    if found.duplicates:
        return Verdict.UNPROVEN, TWICE
    if found.is_proven:
        return (Verdict.TIE if len(found.latest) > 1 else Verdict.PROVEN), "a majority is here"
    return Verdict.UNPROVEN, MISSING


@frozen
class _VerdictTexts:
    """The texts of a verdict.  `names`: the members' names by id."""

    kind: Format
    stores: Sequence[Found]
    found: RaftVerdict
    verdict: Verdict
    case: str
    names: dict[str, str]

    @property
    def best(self) -> list[Found]:
        return [one for one in self.stores if one.name in self.found.latest]

    def sentence_and_next(self, lost: Collection[str]) -> tuple[str, str]:
        """Return the verdict in a sentence, and the next thing to do."""
        best = and_([f"{one.member} ({one.name})" for one in self.best])
        match self.verdict:
            case Verdict.IN_USE | Verdict.DIFFERENT_CLUSTERS:
                return "", ""
            case Verdict.CORRUPT:
                said = "Not one of these stores can be read and has an entry in its log."
                return said, ELSEWHERE
            case Verdict.DIVERGED:
                return f"Two branches, and no log has all: {self.found.branches[0]}.", (
                    "save all these directories; one member was started alone by force, or a store"
                    " was put back, or restored from another snapshot. Choose a side, and pick"
                    " again with the stores of that side alone: entries that only the other side"
                    " acknowledged are lost"
                )
            case Verdict.PROVEN:
                return f"{best} has every committed entry, and it is proven.", self._start()
            case Verdict.TIE:
                said = f"{best} have every committed entry, and the same log: it is proven."
                return said, self._start()
        latest = f"{best} {has(self.best)} the latest log of these"
        if self.case == NOT_READ:
            return "These stores are of a newer release than joinproto knows.", (
                "start each member on its directory: a majority elects a member that has every"
                " committed entry; or use a joinproto that knows this release"
            )
        if self.case == EMPTY:
            said = (
                "The logs of these stores are empty: their members are new, or were wiped, and"
                " other stores have the data."
            )
            return said, ELSEWHERE
        if self.case == BACK:
            return f"Nothing is proven: {self.found.went_back[0]}.", (
                "if they were copied while a member ran, stop all members and copy again; else save"
                " all these directories, and find out which store was put back or wiped: its"
                " former contents may have entries that these lack"
            )
        if self.case == TWICE:
            return (
                f"{latest}, but two of these are stores of one member: an old state, or a copy.",
                "find out which directory the member really ran on, and name only that one",
            )
        said = (
            f"{latest}, but that is not proven: {self.found.needed} more of"
            f" {self._list(self.found.missing)} would make a majority, and may have more entries."
        )
        absent = [self.names.get(one, one) for one in self.found.missing]
        if absent and set(absent) <= set(lost):
            return said, self._forced()
        still = and_([name for name in absent if name not in lost])
        return said, collect_on(f"the hosts of {still}" if still else "the other hosts")

    def lines(self) -> list[str]:
        found, lines = self.found, [*self.found.branches, *self.found.went_back]
        if not self.best or self.verdict in (Verdict.IN_USE, Verdict.DIFFERENT_CLUSTERS):
            return lines
        lines.append(
            f"{self._list(found.voters)} vote, by the latest log here; a committed entry is in the"
            f" logs of {len(found.voters) // 2 + 1} of them"
        )
        if found.learners:
            lines.append(f"learners, which do not vote: {self._list(found.learners)}")
        counted = {
            one.raft_log.configurations[-1].voters
            for one in self.stores
            if one.raft_log is not None and one.raft_log.configurations
        }
        if len(counted) > 1:
            lines.append("the stores name different voters: the latest log counts")
        lines += [
            f"{one.member} ends at entry {facts.last_index} of term {facts.last_term}, and knows"
            f" that entries up to {facts.commit} are committed"
            for one in self.stores
            if (facts := one.raft_log) is not None and facts.member and not facts.damaged
        ]
        if found.uncertain:
            lines.append(
                f"entries {found.uncertain[0]} to {found.uncertain[-1]} may or may not have been"
                f" acknowledged; {and_([one.member for one in self.best])} {has(self.best)} them"
            )
        lines.append(f"assumed: {ASSUMED}")
        return lines

    def _start(self) -> str:
        whole = [
            one for one in self.stores if one.raft_log is not None and not one.raft_log.damaged
        ]
        voting = [one for one in whole if one.raft_log and one.raft_log.member in self.found.voters]
        names = and_([f"{one.member} ({one.name})" for one in voting])
        start = (
            f"start {names} as always, on these directories: they are a majority, and elect a"
            " member that has every committed entry; no acknowledged entry is lost"
        )
        if self.kind is not Format.ETCD:
            return start
        absent = "".join(
            f"; then, if it is lost: etcdctl member remove {one}" for one in self.found.missing
        )
        alone = [
            one
            for one in self.best
            if one.raft_log and one.raft_log.commit == one.raft_log.last_index
        ]
        if not alone:
            return start + absent
        return f"{start}{absent}; or, if only one can run: {_force(alone[0])}"

    def _forced(self) -> str:
        if self.kind is not Format.ETCD:
            return (
                "kafka-metadata-quorum cannot do this: the entries that only the lost controllers"
                " had are lost; save these directories before you format any of them"
            )
        one = max(self.best, key=lambda each: each.raft_log.commit if each.raft_log else 0)
        facts = one.raft_log
        assert facts is not None
        dropped = facts.last_index - facts.commit
        entries = "1 entry" if dropped == 1 else f"{dropped} entries"
        also = (
            f"; it drops {entries} after entry {facts.commit} that may be acknowledged"
            if dropped
            else ""
        )
        return f"{_force(one)}   (the entries that only the lost members had are lost{also})"

    def _list(self, members: Collection[str]) -> str:
        return and_(sorted(self.names.get(one, one) for one in members))


def _force(one: Found) -> str:
    """Return the command that makes a one-member cluster from this store, for its release.

    etcdutl reads the database only, so entries that are only in the log would be lost.
    """
    facts = one.raft_log
    has_tool = facts is not None and release_numbers(facts.release) >= (3, 5)
    if facts is not None and has_tool and facts.applied == facts.last_index:
        source = typed(f"{one.path}/member/snap/db")
        return (
            f"on {one.host}: etcdutl snapshot restore {source} --skip-hash-check --data-dir NEW,"
            " then etcd --data-dir NEW"
        )
    return f"on {one.host}: etcd --data-dir {typed(one.path)} --force-new-cluster"
