"""The reader of hot standby's stores, and the verdict on which of several stores is the best.

A broker that starts reads its store with the same code.  H10 (`joinproto/standby/best.py`) is the
verdict.

Source: hot standby, H10.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from attrs import evolve

from joinproto.apps.standby.keeping import form
from joinproto.apps.standby.keeping.form import KIND, BrokerRecord, slot_of
from joinproto.apps.standby.keeping.views import FRAMES, last_view
from joinproto.durable.envelope import Validity
from joinproto.durable.record import Slot, Slots, refusal
from joinproto.pick.candidate import LastView, State
from joinproto.pick.findings import MissingStore
from joinproto.pick.pick import Pick
from joinproto.pick.table import Verdict
from joinproto.recovery.found import Fact, Found, Raw
from joinproto.recovery.frames import Run, too_short
from joinproto.recovery.judged import FormatVerdict, pick_of
from joinproto.recovery.words import and_, collect_on, stores_in, typed
from joinproto.standby.best import Best, best
from joinproto.standby.broker import Mark
from joinproto.standby.messages import View

NAMES = (*form.NAMES, FRAMES)
FORMER = "a former primary may have more messages"
STATES = {Mark.CLEAN: State.CLEAN, Mark.DIRTY: State.DIRTY, Mark.EMPTY: State.EMPTY}


def read(raw: Raw) -> Found:
    """Return the contents of a broker's directory; never raises, whatever the bytes are."""
    refused_files = [f"{n}: {raw.file(n).problem}" for n in NAMES if raw.file(n).problem]
    if refused_files:
        return Found.of(raw, State.UNREADABLE, *refused_files)
    slots = Slots(*(slot_of(Path(raw.path) / name, raw.file(name).data) for name in form.NAMES))
    refused = refusal(slots, KIND)
    kept = slots.current.contents
    if refused is not None or kept is None:
        state = {Validity.NEWER: State.NEWER, Validity.ABSENT: State.NONE}.get(
            slots.current.validity, State.CORRUPT
        )
        if state is State.NONE and slots.previous.validity is not Validity.ABSENT:
            state = State.CORRUPT
        known = kept or slots.previous.contents
        said = str(refused).partition("\n")[0]
        member = "" if known is None else known.broker
        return Found.of(raw, state, said, member=member, facts=_slot_facts(slots))
    state = STATES[kept.mark]
    frames_problem = _frames_problem(raw, kept)
    if frames_problem:
        is_unread = raw.journal is not None and raw.journal.is_unread
        state = State.UNREADABLE if is_unread else State.CORRUPT
    chain_problem = "" if _chain(raw) is not None else f"{FRAMES}: its beginning is damaged"
    if chain_problem:
        state = State.CORRUPT
    return Found.of(
        raw,
        state,
        chain_problem,
        frames_problem,
        raw.lock_problem,
        member=kept.broker,
        cluster=kept.cluster or "",
        seq=_position(raw, kept),
        last_view=LastView(
            members=frozenset(kept.view.members), number=kept.view.generation or None
        )
        if kept.cluster is not None
        else None,
        facts=_facts(raw, slots.current, kept),
    )


def kept_of(found: Found) -> BrokerRecord | None:
    """Return the metadata of a store, None if it cannot be read."""
    if not found.state.is_readable:
        return None
    return slot_of(Path(found.path), found.raw.file(NAMES[0]).data).contents


def chain_of(stores: Sequence[Found]) -> View:
    """Return the last view of the built-in manager; a view without members if it is outside."""
    chains = [view for one in stores if (view := _chain(one.raw)) is not None]
    return max(chains, key=lambda view: view.age, default=View())


def _chain(raw: Raw) -> View | None:
    """Return the last view of the manager's chain in a directory; None if it is damaged."""
    return last_view(raw.file(FRAMES).data or b"")


def _frames_problem(raw: Raw, kept: BrokerRecord) -> str:
    """Return why the messages cannot be believed, "" if they can; a broker judges the same way."""
    if raw.journal is None:
        return "" if kept.cluster is None else "frames.log is not there: its messages are gone"
    problem = raw.journal.problem or too_short(raw.journal.runs, kept.frames)
    return f"frames.log: {problem}" if problem else ""


def _position(raw: Raw, kept: BrokerRecord) -> int:
    return sum(run.last - run.first + 1 for run in _runs(raw, kept.view.generation))


def _runs(raw: Raw, generation: int) -> list[Run]:
    """Return the runs of frames of one generation in the journal."""
    view = f"{generation:064x}"
    return [run for run in (raw.journal.runs if raw.journal else ()) if run.view == view]


def _facts(raw: Raw, slot: Slot[BrokerRecord], kept: BrokerRecord) -> tuple[Fact, ...]:
    facts = [
        Fact("broker", kept.broker),
        Fact("cluster", kept.cluster or "none yet: it never followed a primary"),
        Fact("state", kept.mark.value),
        Fact("generation", str(kept.view.generation)),
        Fact("was", _former_role(kept)),
        Fact("up to date", ", ".join(kept.view.members) or "none"),
        Fact("brokers", ", ".join(kept.brokers) or "not known"),
        Fact("position", f"{_position(raw, kept)} in its generation"),
        Fact("writes", str(slot.generation)),
    ]
    for one in kept.history:
        said = (one.when, one.what, one.who, one.host, one.why)
        facts.append(Fact("history", ", ".join(word for word in said if word)))
    facts += [
        Fact("leftover", f"{name}: left by a write that did not end") for name in raw.leftovers
    ]
    return tuple(facts)


def _slot_facts(slots: Slots[BrokerRecord]) -> tuple[Fact, ...]:
    found = []
    for name, slot in zip(form.NAMES, (slots.current, slots.previous), strict=True):
        said = slot.validity.value
        if slot.contents is not None:
            said += f", generation {slot.contents.view.generation}, {slot.contents.mark.value}"
        found.append(Fact(name, said))
    return tuple(found)


# -- which store is the best ---------------------------------------------------------------


def verdict_on(
    stores: Sequence[Found], *, lost: Collection[str], words: Sequence[str]
) -> FormatVerdict:
    """Return the verdict about stores of hot standby: the store of the last primary is the best.

    `lost`: brokers whose stores are lost.  `words`: the words of the command line, which the next
    command repeats.
    """
    readable = [(one, kept) for one in stores if (kept := kept_of(one)) is not None]
    names = [kept.broker for _, kept in readable]
    known = {name for _, kept in readable for name in (*kept.brokers, *kept.view.members)}
    absent = sorted(known - set(names))
    missing = tuple(absent) or tuple(one.name for one in stores if not one.state.is_readable)
    chain = chain_of(stores)
    found = best([kept.store(one.seq or 0) for one, kept in readable], missing, chain)
    clusters = {kept.cluster for _, kept in readable if kept.cluster is not None}
    verdict, case = _verdict(stores, names, clusters, found)
    latest: tuple[str, ...] = ()
    if found.store is not None and verdict in (Verdict.PROVEN, Verdict.UNPROVEN):
        chosen = [item for item in readable if item[1].broker == found.store.name]
        ahead = [one for one, _ in _may_have_more(chosen[0], readable)] if len(chosen) == 1 else []
        latest = tuple(one.name for one in (*(one for one, _ in chosen), *ahead))
        if ahead:
            found = _with_rivals(found, [one.member for one in ahead])
            verdict, case = Verdict.UNPROVEN, found.case
    pick = pick_of(
        stores,
        verdict,
        rule="H10",
        case=case,
        latest=latest,
        missing=tuple(MissingStore(name, "", may_know_more=True) for name in missing),
    )
    return FormatVerdict(
        pick=pick,
        sentence=_sentence(pick, found),
        lines=(*(f"{one.name}: {_line(kept)}" for one, kept in readable), *_chain_lines(chain)),
        not_examined=(
            "the content of the messages: only the numbers of the actions were read",
            "whether a broker runs on a machine that is not named here",
        ),
        next=_next(pick, found, stores, words, lost),
    )


def _may_have_more(
    chosen: tuple[Found, BrokerRecord], readable: Sequence[tuple[Found, BrokerRecord]]
) -> list[tuple[Found, BrokerRecord]]:
    """Return stores of earlier generations that may have confirmed messages that `chosen` lacks."""
    return [
        item
        for item in readable
        if item[1].cluster is not None
        and item[1].view.generation < chosen[1].view.generation
        and not _covers(chosen, item, readable)
    ]


def _covers(
    one: tuple[Found, BrokerRecord],
    former: tuple[Found, BrokerRecord],
    readable: Sequence[tuple[Found, BrokerRecord]],
) -> bool:
    """Return whether `one` has all messages confirmed in the generation in which `former` ended.

    This is so if `one` has as many frames of that generation.  It is also so if `one` was promoted
    in the next generation and is in the last view that `former` wrote, because each member of a
    view has every confirmed message.  Or a store of a generation in between has all these messages,
    and `one` has all messages that were confirmed in the generation in which that store ended.
    Otherwise: a is cut off, drops the others from its view, and confirms alone; b is promoted, and
    a is not fenced.
    """
    generation = former[1].view.generation
    if _last(former[0], generation) <= _last(one[0], generation):
        return True
    if generation >= one[1].view.generation:
        return False
    follows = one[1].is_primary and one[1].view.generation == generation + 1
    if follows and one[1].broker in former[1].view.members:
        return True
    return any(
        _covers(other, former, readable) and _covers(one, other, readable)
        for other in readable
        if generation < other[1].view.generation < one[1].view.generation
    )


def _last(found: Found, generation: int) -> int:
    """Return the number of the last frame of a generation in a store, 0 if it has none."""
    return max((run.last for run in _runs(found.raw, generation)), default=0)


def _with_rivals(found: Best, names: Sequence[str]) -> Best:
    best_one = "" if found.store is None else found.store.name
    why = (
        f"{found.why}; but {and_(names)}, which ended in an earlier generation, may have confirmed"
        f" messages that {best_one} lacks: the primary of that generation was not fenced, or an"
        " older store was promoted by hand"
    )
    return evolve(found, proven=False, case=FORMER, why=why)


def _verdict(
    stores: Sequence[Found], names: Sequence[str], clusters: Collection[str], found: Best
) -> tuple[Verdict, str]:
    if any(one.state is State.IN_USE for one in stores):
        return Verdict.IN_USE, "a process has a store open"
    if not names:
        return Verdict.CORRUPT, "no store can be read"
    if len(clusters) > 1:
        return Verdict.DIFFERENT_CLUSTERS, "stores of several clusters"
    if len(set(names)) < len(names):
        return Verdict.UNPROVEN, "a store is there twice"
    if found.case == "two primaries":
        return Verdict.DIVERGED, found.case
    if found.store is None and not found.needs:
        return Verdict.CLEAN, "all are empty"
    if found.store is None:
        return Verdict.UNPROVEN, found.case
    return (Verdict.PROVEN if found.proven else Verdict.UNPROVEN), found.case


def _former_role(kept: BrokerRecord) -> str:
    if kept.cluster is None:
        return "nothing yet"
    if kept.is_primary:
        return "primary"
    if kept.is_member:
        return f"backup of {kept.view.primary}, up to date"
    return f"backup of {kept.view.primary}, not up to date"


def _line(kept: BrokerRecord) -> str:
    if kept.cluster is None:
        return f"{kept.broker} never followed a primary"
    others = ", ".join(name for name in kept.view.members if name != kept.broker)
    return (
        f"{kept.broker} was {_former_role(kept)}, in generation {kept.view.generation}, view"
        f" {kept.view.number}; also up to date: {others or 'none'}"
    )


def _chain_lines(chain: View) -> tuple[str, ...]:
    if not chain.members:
        return ()
    members = ", ".join(chain.members)
    said = f"{chain.primary} is primary in generation {chain.generation}, view {chain.number}"
    return (f"the chain of views ends with one in which {said}; only {members} may be promoted",)


def _sentence(pick: Pick, found: Best) -> str:
    match pick.verdict:
        case Verdict.CORRUPT:
            return "Not one of these stores can be read."
        case Verdict.CLEAN:
            return "Every store is empty, so there is no message to recover."
        case Verdict.PROVEN:
            return f"{found.why}: it must become the primary, and that is proven."
        case Verdict.UNPROVEN if pick.case == "a store is there twice":
            return "Two of these stores are of one broker: one of them is an old state or a copy."
    return f"{found.why}. Nothing is proven."


def _next(
    pick: Pick, found: Best, stores: Sequence[Found], words: Sequence[str], lost: Collection[str]
) -> str:
    """Return the next command to type, or the next step in words."""
    best_one = "" if found.store is None else found.store.name
    chosen = [one for one in stores if one.name in pick.latest and one.member == best_one]
    match pick.verdict:
        case Verdict.CORRUPT:
            return (
                "look for other copies of these stores; starting the brokers with empty directories"
                " loses all messages, so save these directories first"
            )
        case Verdict.CLEAN:
            return "start the brokers, and have the manager promote one"
        case Verdict.DIVERGED:
            return (
                "copy these directories, look at the messages that each of the two confirmed, and"
                " choose one; then pick again without the directory of the other, with --lost and"
                " its name; next time, fence the former primary"
            )
        case Verdict.UNPROVEN if {item.member for item in pick.findings.missing} - set(lost):
            names = ", ".join(item.member for item in pick.findings.missing)
            return collect_on(f"the hosts of {names}")
    if not chosen:
        return "look for the stores that are not here yet, and pick again with them"
    one = chosen[0]
    first, loss = "", ""
    if found.case == FORMER:
        first = (
            "copy all these directories first, and look at the messages that each broker has"
            " confirmed; then "
        )
        loss = f", which loses the messages that the others have and {one.member} lacks"
    also = "" if found.proven else " --unproven"
    others = [
        word for word in stores_in(words) if word != one.path and not one.path.endswith(f"/{word}")
    ]
    if one.state is State.DIRTY:
        rest = " ".join(map(typed, others))
        run_this = f"{first}run this{loss}: " if first else ""
        return f"{run_this}joinproto recover mark-clean{also} {typed(one.path)} {rest}".rstrip()
    return f"{first}start the brokers, and promote {one.member} first{loss}"
