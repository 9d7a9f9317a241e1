"""The rounds of a waiting node: ask all others, combine their answers, decide.

Source: Clusterer, U1, U4, U5, U7; the real transitioner.
"""

from __future__ import annotations

from attrs import frozen

from joinproto.clusterer import locking
from joinproto.clusterer.beginning import begin, config_messages, ended, rested, succeed
from joinproto.clusterer.booting import boot, store_members
from joinproto.clusterer.config import Age, Held, Notes, compare
from joinproto.clusterer.identities import combined, data_of, fits, is_apart, known, tidy, was_out
from joinproto.clusterer.messages import (
    NO_NODES,
    AskAwaited,
    AskStatus,
    Awaited,
    Boot,
    Locked,
    Reported,
    Send,
    ServiceTold,
    Told,
)
from joinproto.clusterer.polling import blockers, choose, leader, may_go, seen_by
from joinproto.clusterer.state import OpenRound, RoundKind, State, Step, Why
from joinproto.clusterer.status import Status
from joinproto.clusterer.tables import (
    JOINERS,
    RAN,
    ROUND,
    Fits,
    Next,
    OtherConfigs,
    Round,
    WaitingPeer,
)
from joinproto.machine.compiled import members_of
from joinproto.machine.values import evolve


def ask(state: State, token: int, *, yields: bool = False) -> Step:
    """Return the step that asks all other nodes of the config, unless a round is under way."""
    if state.round is not None or not state.waits:
        return Step(state)
    others = state.config_now.config.nodes - {state.who.me}
    round_ = OpenRound(what=RoundKind.STATUS, token=token, left=others)
    asked = tuple(Send(node, AskStatus(state.identity, token)) for node in sorted(others))
    return Step(evolve(state, round=round_, yields=yields), asked)


def heard(state: State, sender: str, token: int, answer: Reported | None) -> Step:
    """Return the step after an answer, or (`answer` None) when an answer can no longer come."""
    round_ = state.round
    if isinstance(answer, Locked):
        return locking.answered(state, sender, token, granted=answer.granted)
    if round_ is None or round_.token != token or sender not in round_.left:
        return Step(state)
    found: Told | ServiceTold | frozenset[str] | None = None
    match round_.what, answer:
        case RoundKind.LOCKS, None:
            return locking.answered(state, sender, token, granted=True)
        case RoundKind.STATUS, Told():
            found = answer
        case RoundKind.SERVICES, ServiceTold():
            found = answer
        case RoundKind.AWAITED, Awaited(_, nodes):
            found = nodes
        case ((RoundKind.STATUS | RoundKind.SERVICES | RoundKind.AWAITED), None):
            pass
        case _:
            return Step(state)  # an answer to an earlier round with the same number
    round_ = evolve(round_, left=round_.left - {sender}, answers=(*round_.answers, (sender, found)))
    state = evolve(state, round=round_)
    if round_.left:
        return Step(state)
    if round_.what is RoundKind.SERVICES:
        return boot(Step(state))
    return _judged(state) if round_.what is RoundKind.STATUS else _decide_by_graph(state)


@frozen
class Folded:
    """The combined answers of a round of statuses.

    `row`: the row for the table.  `youngest`: the youngest config as received.  `merged`: our
    config with the identities from the answers.  `older`: the nodes with older configs.
    """

    row: OtherConfigs
    youngest: Held
    merged: Held
    older: tuple[str, ...]


def _judged(state: State) -> Step:
    answers = {
        name: said for name, said in sorted(state.round_now.answers) if isinstance(said, Told)
    }
    if state.who.rules.crashes and any(
        said.held is not None and said.held.ids.get(name) is None for name, said in answers.items()
    ):
        return ended(Step(state), "it crashed: a node's config lacks that node's own identity")
    found = folded(state, answers)
    case = ROUND.choose((found.row,), 0)
    match case.outcome:
        case Round.STOP:
            return ended(Step(state), "two configs of one version differ")
        case Round.ADOPT:
            return begin(Step(state), found.youngest)
        case Round.TELL:
            messages = config_messages(found.older, found.merged)
            return rested(evolve(state, held=found.merged)).then(*messages)
    if state.who.rules.ours and _changes_fit(state, found.merged, answers):
        return begin(Step(state), found.merged)
    state = evolve(state, held=found.merged)
    seen = seen_by(state, {name: said.status for name, said in answers.items()})
    ready = {
        name: said.held.ids.get(name)
        for name, said in answers.items()
        if said.status is Status.READY and said.held is not None
    }
    strange = {name for name, its in ready.items() if _is_strange(state, its, answers[name])}
    if strange == ready.keys():  # one ready node with our data is enough to keep these data
        seen = tuple(evolve(one, strange=one.name in strange) for one in seen)
    leads = leader(state.config_now.config)
    return _decided(state, seen, ready.get(leads) or next(iter(ready.values()), None))


def _changes_fit(state: State, merged: Held, answers: dict[str, Told]) -> bool:
    """Return whether the answers change whether this node may keep its data (ours).

    A joining node may learn that its data are the gospel's.  Otherwise: b and c joined a while they
    were cut off from each other; a ends; b is given a config with gospel c, and gives up its own
    data, which are c's and newer.  A gospel that joins does not count here: it goes first, with a
    new set of data.  A rejoining node may learn that a node with its data went on without it, or
    that the gospel has other data by now.
    """
    achieved = state.achieved
    if achieved is None or state.blank:
        return False
    is_ours = fits(merged, achieved, state.who.me, state.who.rules).outcome is Fits.COMPATIBLE
    if state.status is Status.REJOINING:
        out = goes_without(state, achieved, answers) or is_apart(merged, achieved, state.who.me)
        return out and not is_ours
    gospel = answers.get(merged.config.gospel or "")
    return is_ours and (gospel is None or gospel.status is not Status.JOINING)


def goes_without(state: State, achieved: Held, answers: dict[str, Told]) -> bool:
    """Return whether a ready node with the same data went on without this node (ours)."""
    mine = data_of(state.identity)
    return mine is not None and any(
        said.status is Status.READY
        and said.held is not None
        and was_out(said.held, achieved, state.who.me)
        and data_of(said.held.ids.get(name)) == mine
        for name, said in answers.items()
    )


def folded(state: State, answers: dict[str, Told]) -> Folded:
    """Return the combined answers."""
    held = state.config_now
    youngest, older, conflict, younger = held, [], False, False
    for name, said in answers.items():
        if said.held is None:
            continue
        to_ours = compare(said.held.config, held.config)
        to_youngest = compare(said.held.config, youngest.config)
        conflict |= Age.INVALID in (to_ours, to_youngest)
        if to_youngest is Age.YOUNGER:
            youngest, younger = said.held, True
        if to_ours is Age.OLDER:
            older.append(name)
    merged = _merged(state, held, answers)
    if younger and not state.who.rules.ours:
        youngest = evolve(youngest, ids=merged.ids)
    row = OtherConfigs(conflict=conflict, younger=younger, older=bool(older))
    return Folded(row, youngest, merged, tuple(older))


def learned(state: State, sender: str, remote: Held, *, achieved: bool) -> Held:
    """Return our config with the facts from a node that is ready with an older config (ours).

    Without these facts: the gospel was reset while this node was off.  Before its round ends, this
    node sends its config to a ready node that has the new gospel's data.  The config names the
    former gospel, so all nodes give up the new gospel's data.
    """
    if not (achieved and state.waits and state.who.rules.ours):
        return state.config_now
    return _merged(state, state.config_now, {sender: Told(0, remote, Status.READY)})


def _merged(state: State, held: Held, answers: dict[str, Told]) -> Held:
    """Return our config with the identities from the answers.

    The other variants take each node's identity from that node, whatever the age of its config.
    Ours takes all identities that a ready node knows, unless its config is older than our last
    achieved one.  From other nodes with our config, it takes only identities that were unknown.
    The config's note about this node stays.
    """
    me = state.who.me
    mine = (held.ids.get(me) if state.who.rules.ours else None) or state.identity
    before = -1 if state.achieved is None else state.achieved.config.version
    ready: dict[str, Held] = {}
    for name, said in answers.items():
        if said.held is None:
            continue
        if not state.who.rules.ours:
            own = said.held.ids.get(name)
            if own is not None:
                held = evolve(held, ids=held.ids.with_(name, own))
            continue
        coeval = said.held.config == held.config
        if said.status is Status.READY and said.held.config.version >= max(before, 1):
            ready[name] = said.held
            held = evolve(held, ids=told_by_ready(said.held, held))
            if coeval:
                held = evolve(held, since=combined(said.held.since, held.since))
        elif coeval:
            held = evolve(held, ids=held.ids.over(said.held.ids))
            at = said.held.since.get(name)
            if at is not None and name == held.config.gospel and said.status is Status.JOINING:
                held = evolve(held, since=combined(Notes(((name, at),)), held.since))
    return tidy(evolve(held, ids=of_themselves(ready, held)), me, mine)


def of_themselves(ready: dict[str, Held], held: Held) -> Notes[str]:
    """Return our identities, with the identities that ready nodes give themselves (ours).

    Otherwise: the gospel b was reset, and is ready by itself; c, which knew the former b, is ready
    with the former data.  a, which joins b, reads c's answer last, and notes the identity of the
    former b.  Then no node seems to run with the data that a must join, and a asks again for ever.
    """
    said = {name: one for name, its in ready.items() if (one := its.ids.get(name)) is not None}
    return Notes.of(said).over(held.ids)


def told_by_ready(said: Held, held: Held) -> Notes[str]:
    """Return a ready node's identities, except where our own note is later (ours).

    Otherwise: a founds a new set, which c misses; both are ready; b joins a, and takes over c's
    outdated note about a.
    """
    return known(said.ids, held.ids)


def _is_strange(state: State, its: str | None, said: Told) -> bool:
    """Return whether a ready node has other data than this node (ours)."""
    if not state.who.rules.ours or said.held is None:
        return False
    mine = data_of(state.identity)
    if mine is None:  # identities of an earlier version
        return said.held.ids.get(state.who.me) != state.identity
    return data_of(its) != mine


def _decided(state: State, seen: tuple[WaitingPeer, ...], source: str | None) -> Step:
    """Act by the join or rejoin table.  `source`: the identity of a ready node, or None."""
    me = next(at for at, one in enumerate(seen) if not one.other)
    case = choose(state.status, seen, me)
    state = evolve(state, why=Why(case.label, case.name), waits_for=NO_NODES)
    if state.status is Status.REJOINING:
        joining = frozenset(seen[at].name for at in members_of(JOINERS, seen, me))
        ran = frozenset(seen[at].name for at in members_of(RAN, seen, me))
        state = evolve(state, awaited=ran - joining, joining=joining)
    match case.outcome:
        case Next.JOIN:
            return succeed(Step(state), Boot.JOIN, wipes=True, source=source)
        case Next.FOUND:
            return succeed(Step(state), Boot.FOUND)
        case Next.FOUND_EMPTY:
            return succeed(Step(state), Boot.FOUND, wipes=True)
        case Next.BOOT:
            return succeed(Step(state), Boot.OWN)
        case Next.LOCK:
            return locking.begin_locking(state)
        case Next.ASK:
            return _ask_awaited(state, seen)
    return rested(
        evolve(state, waits_for=blockers(state.config_now.config, seen, case, state.awaited))
    )


def _ask_awaited(state: State, seen: tuple[WaitingPeer, ...]) -> Step:
    token = state.round_now.token
    others = frozenset(one.name for one in seen if one.other and one.status is Status.REJOINING)
    asked = OpenRound(what=RoundKind.AWAITED, token=token, left=others)
    sends = tuple(Send(node, AskAwaited(token)) for node in sorted(others))
    return Step(evolve(state, round=asked), sends)


def _decide_by_graph(state: State) -> Step:
    """Go if no node of this node's circle awaits a node outside it: U5."""
    answers = state.round_now.answers
    said = {name: nodes for name, nodes in answers if isinstance(nodes, frozenset)}
    complete = len(said) == len(answers)
    graph = {state.who.me: state.awaited or NO_NODES, **said}
    found = may_go(graph, state.who.me, state.who.rules, complete=complete)
    if state.who.rules.crashes and complete and not found.in_cycle:
        return ended(Step(state), "it crashed: its wait-for graph has no circle")
    state = evolve(state, why=Why(found.case.label, found.case.name), waits_for=NO_NODES)
    if found.case.outcome is not Next.LOCK:
        later = (state.awaited or NO_NODES) - found.earlier
        return rested(evolve(state, waits_for=later))
    record = state.record
    known = store_members(Step(state), evolve(record, ran=record.ran - found.earlier))
    return known.and_then(locking.begin_locking(known.state))
