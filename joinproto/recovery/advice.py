"""The texts of a verdict: the sentence, the next step, and the facts not examined.  No I/O."""

from __future__ import annotations

import errno
import re
from collections.abc import Collection, Sequence

from joinproto.join.ids import short
from joinproto.pick.candidate import shown_name
from joinproto.pick.pick import Pick
from joinproto.pick.table import MEMBER_MISSING, NOT_READ, OTHERS_MAY_HAVE_GONE_ON, Verdict
from joinproto.recovery.access import DISK
from joinproto.recovery.foreign.galera import STATE as GALERA_STATE
from joinproto.recovery.foreign.galera import has_state_file
from joinproto.recovery.foreign.gcache import FILE as CACHE
from joinproto.recovery.foreign.mnesia import LATEST
from joinproto.recovery.foreign.others import UnreadProgram, program_in
from joinproto.recovery.found import EMPTY, Format, Found, State
from joinproto.recovery.unused import takes_lost
from joinproto.recovery.words import WORDS_MAX, collect_on, has, quoted_arguments, stores_in, typed

RANDOM = re.compile("[0-9a-f-]{36,}")


def sentence(found: Pick, stores: Sequence[Found]) -> str:
    """Return the verdict in a sentence for the operator."""
    places = [_member_and_place(one) for one in stores if one.name in found.latest]
    bad = [one for one in stores if not one.state.is_readable]
    match found.verdict:
        case Verdict.PROVEN:
            return f"{places[0]} is the latest store, and it is proven."
        case Verdict.TIE if any(one.format is Format.RABBITMQ for one in stores):
            return f"{_and(places)} {_same_definitions(found, stores)}"
        case Verdict.TIE:
            return f"{_and(places)} have the same data, proven the latest: any of them is right."
        case Verdict.CLEAN if not places:
            return "Every store is empty: there is nothing to recover."
        case Verdict.CLEAN:
            marked = [
                _member_and_place(one)
                for one in stores
                if one.name in found.latest and one.state is State.CLEAN
            ]
            rest = [place for place in places if place not in marked]
            also = (
                f" {_and(rest)} {has(rest)} the same data, and did not learn of the close."
                if rest
                else ""
            )
            return f"{_and(marked)} {_is_or_are(marked)} clean: there is nothing to recover.{also}"
        case Verdict.CORRUPT if bad:
            names = _and([f"{_member_and_place(one)} ({state_of(one)})" for one in bad])
            return f"{names} cannot be read: {found.case}."
        case Verdict.CORRUPT:
            return "Two of these stores contradict each other: one is damaged or made by hand."
        case Verdict.DIFFERENT_CLUSTERS:
            count = len([one for one in found.groups if one.cluster is not None])
            return f"These are stores of {count} different clusters."
        case Verdict.DIVERGED:
            return (
                f"These stores have gone different ways: {found.case}; no store has all the data."
            )
        case Verdict.IN_USE:
            used = [one for one in stores if one.state is State.IN_USE]
            names = _and([_member_and_place(one) for one in used])
            return (
                f"{names} {_is_or_are(used)} in use, so no store is judged: if the cluster serves,"
                " it needs no recovery."
            )
    if found.case == NOT_READ:
        named = _and([f"{where} is of {one.name}" for one, where in _unread_stores(stores)])
        return f"{named}, whose stores joinproto cannot read: they are not judged."
    copies = [_member_and_place(one) for one in stores if one.name in _copies(found)]
    if len(copies) == 1:
        return f"{copies[0]} is an old state of its store: a backup was put in its place."
    if copies:
        return f"{_and(copies)} are copies of one member's store, or old states of one."
    if not places:
        return f"Not one of these stores can be called the latest: {found.case}."
    guess = (
        f"{_and(places)} {_is_or_are(places)} the latest of these stores, but that is not proven"
    )
    return f"{guess}: {found.case}."


def _unread_stores(stores: Sequence[Found]) -> list[tuple[UnreadProgram, str]]:
    """Return the program and the place of each store that joinproto cannot read."""
    return [
        (other, _member_and_place(one))
        for one in stores
        if one.state is State.UNKNOWN and (other := program_in(_top_names(one))) is not None
    ]


def _top_names(one: Found) -> list[str]:
    # A directory of an unknown format has names without bytes.
    named = one.raw.format is None
    return [file.name.partition("/")[0] for file in one.raw.files if named or not file.is_absent]


def _same_definitions(found: Pick, stores: Sequence[Found]) -> str:
    """Return in which sense the latest nodes of RabbitMQ are the same, in words."""
    tied = [one.node for one in stores if one.name in found.latest and one.node is not None]
    if all(node.definitions is not None for node in tied):
        return "have the same definitions, and none has more: any of them is right."
    return (
        "are the latest, and the same as far as these files show. A kill may have lost the last two"
        " seconds of changes on each. Only their tables show that, and they are not here: give the"
        " whole directories, or start each node alone on a copy and compare."
    )


def state_of(one: Found) -> str:
    """Return the state of a store that cannot be read; if it is UNREADABLE, with the reason."""
    is_refused = one.state is State.UNREADABLE and one.problems
    return f"{one.state.value}: {one.problems[0]}" if is_refused else one.state.value


def _lost_option(stores: Sequence[Found]) -> str:
    """Return the option by which the operator says that a store of this format is lost."""
    if takes_lost({one.format for one in stores}):
        return "--lost NAME"
    return "--nodes N, where N counts all nodes, also the lost one"


def _copies(found: Pick) -> set[str]:
    return {row.id for row in found.findings.rows if row.is_copy}


def next_step(
    found: Pick, stores: Sequence[Found], words: Sequence[str], *, nodes: int | None = None
) -> str:
    """Return the next command to type, or the next thing to do.

    `nodes`: how many nodes the cluster of another broker has; None if it was not given.
    """
    again = quoted_arguments(words)
    pending = bool(found.findings.pending)
    foreign = {one.format for one in stores} - {Format.JOINPROTO, None}
    match found.verdict:
        case Verdict.PROVEN | Verdict.TIE if foreign:
            return _start_foreign(found, stores)
        case Verdict.PROVEN | Verdict.TIE if pending:
            return "start all members: they complete the accepted view, and no mark is needed"
        case Verdict.PROVEN | Verdict.TIE:
            latest = [one.record for one in stores if one.name in found.latest]
            if any(record is not None and record.is_marked for record in latest):
                return "start all members: a restart from here is permitted already"
            return f"joinproto recover plan {again} -o plan.json"
        case Verdict.CLEAN if foreign and not found.latest:
            return "look for the stores that have data: these stores are of new or reset nodes"
        case Verdict.CLEAN if foreign:
            return _start_foreign(found, stores)
        case Verdict.CLEAN if not found.latest:
            return "start all members: they found a new cluster; or name the stores that have data"
        case Verdict.CLEAN:
            return "start all members as always"
        case Verdict.CORRUPT:
            bad = next((one for one in stores if not one.state.is_readable), None)
            if bad is not None and errno.EIO in bad.raw.errors:
                return DISK
            at = typed(bad.path) if bad else again
            if bad is not None and _lacks_its_state_file(bad):
                return (
                    f"copy {at}, as its rows may be the latest; on the copy: mariadbd"
                    " --wsrep-recover (or mysqld), which ends with WSREP: Recovered position:"
                    f" UUID:NUMBER; then joinproto recover pick {again} --position"
                    f" {at}=UUID:NUMBER   (if its rows are lost as well, pick without it and with"
                    f" {_lost_option(stores)})"
                )
            if bad is not None and EMPTY in bad.problems:
                return (
                    f"check the path {at}, and whether its disk is mounted (findmnt); if the"
                    f" store is lost, pick without it and with {_lost_option(stores)}"
                )
            return (
                f"joinproto recover inspect {at}   (shows its readable part; if the store is lost,"
                f" pick without it and with {_lost_option(stores)})"
            )
        case Verdict.DIFFERENT_CLUSTERS:
            return f"joinproto recover pick --cluster {_one_cluster(found, stores)} {again}"
        case Verdict.DIVERGED if Format.GALERA in foreign:
            return (
                "save all these directories; choose one side: the data that only other sides have"
                " are lost; empty the directories of the other sides before they join: by their"
                " numbers they would be let in, and keep different rows"
            )
        case Verdict.DIVERGED:
            return f"joinproto recover compare {again}   (shows the views that only one side has)"
        case Verdict.IN_USE:
            return (
                "look whether the cluster serves; if its members only wait for each other, stop all"
                " of them, then ask again"
            )
    if found.case == NOT_READ:
        return _unread_step(stores)
    if len(_copies(found)) == 1:
        former = "look for that store as it was before the backup replaced it"
        return f"{former}; if it is lost, pick the others with {_lost_option(stores)}"
    if _copies(found):
        return "find out which directory the member really ran on, and name only that one"
    if found.findings.missing:
        names = ", ".join(dict.fromkeys(item.member for item in found.findings.missing))
        return collect_on(f"the hosts of {names}")
    if Format.GALERA in foreign and any(
        one.seq is None and one.state in (State.DIRTY, State.CLEAN) for one in stores
    ):
        positions = " ".join(
            f"--position {typed(word)}=SEQNO" for word in stores_in(words)[:WORDS_MAX]
        )
        return (
            "on each node: mariadbd --wsrep-recover (or mysqld), which ends with WSREP:"
            f" Recovered position; then joinproto recover pick {again} {positions}"
        )
    if found.case == OTHERS_MAY_HAVE_GONE_ON and Format.GALERA in foreign and nodes is None:
        also = "; with the same --position" if any(one.raw.recovered for one in stores) else ""
        return (
            f"joinproto recover pick --nodes N {again}   (N: how many nodes the cluster has, which"
            f" their files do not say{also})"
        )
    if foreign:
        return "look in the broker's logs, as said above; these files do not show the latest store"
    return "look for the stores that are not here yet, and pick again with them"


def _unread_step(stores: Sequence[Found]) -> str:
    """Return the next step for stores of which some are of programs that joinproto cannot read."""
    advice = "; ".join(dict.fromkeys(one.advice for one, _ in _unread_stores(stores)))
    if not any(one.state.is_readable for one in stores):
        return advice
    left = [one.path for one in stores if one.state is State.UNKNOWN]
    out = "it" if len(left) == 1 else "them"
    are = _is_or_are(left)
    return f"only if {', '.join(left)} {are} of another cluster, leave {out} out; else {advice}"


def start_order_if_known(found: Pick, advice: str, lost: Collection[str]) -> str:
    """Return `advice`, the order in which RabbitMQ's nodes start; "" if it may be wrong."""
    missing = {item.member for item in found.findings.missing}
    # The order by the lists is wrong if other evidence is against it.
    is_lost = found.case in (OTHERS_MAY_HAVE_GONE_ON, MEMBER_MISSING) and missing <= set(lost)
    is_known = found.verdict in (Verdict.PROVEN, Verdict.TIE) or (is_lost and missing)
    return advice if is_known else ""


def plan_if_lost(found: Pick, lost: Collection[str], words: Sequence[str]) -> str:
    """Return the advice if all missing stores are lost, "" if that does not apply."""
    missing = found.findings.missing
    is_ours = found.findings.has_chain and found.verdict is Verdict.UNPROVEN and found.latest
    if not is_ours or not missing or not {item.member for item in missing} <= set(lost):
        return ""
    if found.loses_nothing:
        return f"joinproto recover plan --unproven {quoted_arguments(words)} -o plan.json"
    return (
        f"joinproto recover plan --electors NAME,NAME {quoted_arguments(words)} -o plan.json"
        "   (the data that only the lost stores had are lost)"
    )


def _one_cluster(found: Pick, stores: Sequence[Found]) -> str:
    """Return the word by which `--cluster` chooses one of the clusters.

    A random id is cut to its beginning.  Names and numbers are not cut, because those of several
    clusters may begin alike.
    """
    known = {one.cluster for one in stores if one.cluster}
    first = found.groups[0].cluster or min(known)
    return short(first).rstrip(".") if RANDOM.fullmatch(first) else typed(first)


def _lacks_its_state_file(one: Found) -> bool:
    """Return whether a node of Galera has data but no file with its history's id."""
    is_there = one.state not in (State.NONE, State.NEWER) and not one.raw.problem
    is_read = not one.raw.file(GALERA_STATE).problem
    return one.format is Format.GALERA and is_there and is_read and not has_state_file(one.raw)


def _start_foreign(found: Pick, stores: Sequence[Found]) -> str:
    first = next(one for one in stores if one.name in found.latest)
    if first.format is not Format.GALERA:
        return (
            f"start {_member_and_place(first)} first, as its broker's manual says; then the others"
        )
    file, mark = f"{typed(first.path)}/grastate.dat", ""
    if _lacks_its_state_file(first):
        # Without this file, the server would begin a new history.
        lines = f"version: 2.1, uuid: {first.cluster}, seqno: -1, safe_to_bootstrap: 1"
        mark = f"write {file} with the lines {lines}, then "
    elif first.fact("safe_to_bootstrap") != "1":
        mark = f"set safe_to_bootstrap: 1 in {file}, then "
    return (
        f"on {first.host}: {mark}start {_member_and_place(first)} with --wsrep-new-cluster"
        " (galera_new_cluster); then the others as always, one after the other"
    )


def not_examined(stores: Sequence[Found], *, outside: bool, nodes: int | None) -> tuple[str, ...]:
    """Return the facts that were not examined, one text each."""
    lines = []
    if nodes is None and any(one.format in (Format.QPID, Format.GALERA) for one in stores):
        lines.append(
            "whether these are all nodes of the cluster: their files do not list them; say how many"
            " there are with --nodes N"
        )
    if any(one.raft for one in stores):
        lines.append(
            "messages of classic queues and streams: only the queues' definitions were read; a"
            " quorum queue needs each node's directory at the path where it ran (elsewhere its"
            " messages are not found)"
        )
    elif any(one.format is Format.RABBITMQ for one in stores):
        lines.append(
            "messages: the verdict is about definitions (queues, exchanges, users, policies);"
            " a quorum queue needs a majority of its nodes, each with its directory at the path"
            " where it ran (elsewhere its messages are not found), and a mirrored queue has the"
            " messages of the first of its nodes that starts, synchronised or not"
        )
        lines += [
            f"the tables of {one.name}: {LATEST} is not among its files, so whether a kill took its"
            " last changes is not known"
            for one in stores
            if one.node is not None and one.node.definitions is None and not one.problems
        ]
    lines += [
        f"which write-sets {one.name} has: {CACHE} is not among its files, so its number may belong"
        " to another history than the numbers of the other stores"
        for one in stores
        if one.format is Format.GALERA and one.history is None and one.cluster
    ]
    ours = [found for found in stores if found.format is Format.JOINPROTO]
    read = [found for found in ours if found.state.is_readable]
    if ours and all(found.raw.journal is not None for found in read):
        lines.append("the content of the frames: only their numbers were read")
    elif ours:
        lines.append(
            "the frames themselves: only the stores' metadata was read; if the broker knows of"
            " later frames, give --position DIR=SEQ"
        )
    if ours:
        lines.append(
            "whether the register holds a successor of the newest view: if it does, other members"
            " continued"
            if outside
            else "whether an outside register (etcd, Consul) chooses the views of this cluster: if"
            " it does, say --register"
        )
    lines += [
        f"whether {found.name} is open in a process: {found.raw.lock_problem}"
        for found in stores
        if found.raw.lock_problem
    ]
    lines.append("whether a member runs on a machine that is not named here")
    return tuple(lines)


def _member_and_place(found: Found) -> str:
    return f"{shown_name(found.member)} ({found.name})" if found.member else found.name


def _and(words: Sequence[str]) -> str:
    if len(words) < 2:
        return "".join(words)
    if len(words) > 4:
        return f"{', '.join(words[:3])} and {len(words) - 3} others"
    return f"{', '.join(words[:-1])} and {words[-1]}"


def _is_or_are(words: Sequence[object]) -> str:
    return "is" if len(words) == 1 else "are"
