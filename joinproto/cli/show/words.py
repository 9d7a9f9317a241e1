"""A run in words: one sentence for each step, then its changes, messages and faults.

Sentences are short main clauses in the present tense and begin with the member.  The exact label
of a step, as a replay takes it, is in `Step.label`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from joinproto.check.events import quoted
from joinproto.check.report import FailedRun, MessageText, Trace
from joinproto.cli.show.amounts import plural
from joinproto.cli.show.pieces import Line, Piece, Role, line, listed, visible
from joinproto.cli.show.story import (
    CRASH,
    RECEIVE,
    START,
    Change,
    Moment,
    Story,
)

BECOMES = " → "


OF_RUNS = {
    "eventually": "never comes true",
    "leads to": "never comes true",
    "until": "waits for ever",
    "infinitely often": "comes true no more",
    "eventually always": "is false again and again",
}
"""Kind of a claim about whole runs -> how a run breaks it."""


def headline(trace: Trace, *, world: str = "", members: int = 0) -> str:
    """Return the headline of a run, as one sentence without its full stop."""
    name = f"“{visible(trace.property)}”"
    where = f" in {visible(world)}" if world else ""
    where += f" with {plural(members, 'member')}" if members else ""
    steps = len(trace.steps)
    after = f"after {plural(steps, 'step')}" if steps else "in the initial state"
    if isinstance(trace, FailedRun):
        return f"{visible(trace.property)}, {after}{where}"
    match trace.kind:
        case "sometimes":
            return f"{name} is reached {after}{where}"
        case "until" if trace.loop_at is None:
            return f"{name} fails{where} {after}"
        case kind if kind in OF_RUNS:
            due = "is due and " if kind == "leads to" else ""
            loops = trace.loop_at is not None and trace.loop_at < steps
            end = _again(steps, trace.loop_at or 0) if loops else f"it ends {after}"
            return f"{name} {due}{OF_RUNS[kind]} in a run{where}: {end}"
        case "always possible":
            return f"{name} can never come true again {after}{where}"
        case "no deadlock":
            return f"{name} fails {after}{where}: nothing more can happen"
        case _:
            return f"{name} is violated {after}{where}"


def _again(steps: int, loop_at: int) -> str:
    """Return "5 steps, the last 4 repeat for ever"."""
    repeated = steps - loop_at
    repeat = "repeats for ever" if repeated == 1 else "repeat for ever"
    if not loop_at:
        return f"{plural(steps, 'step')} {repeat}"
    last = "the last one" if repeated == 1 else f"the last {repeated}"
    return f"{plural(steps, 'step')}, {last} {repeat}"


def verdict(trace: Trace) -> Line:
    """Return the remark on the property at the end of the run."""
    name = f"“{visible(trace.property)}”"
    if isinstance(trace, FailedRun):
        return line(Piece(f"here {visible(trace.property)}", Role.BAD))
    match trace.kind:
        case "sometimes":
            return line(Piece(f"here {name} is reached", Role.GOOD))
        case "until" if trace.loop_at is None:
            words = f"here {name}{_since(trace)} fails: too early"
        case kind if kind in OF_RUNS:
            words = f"{name}{_since(trace)} {OF_RUNS[kind]} in this run"
        case "always possible":
            words = f"from here {name} can never come true again"
        case "no deadlock":
            words = f"here nothing more can happen: {name} fails"
        case _:
            words = f"here {name} is violated"
    return line(Piece(words, Role.BAD))


def _since(trace: Trace) -> str:
    if trace.due_at is None:
        return ""
    return f", due after step {trace.due_at}," if trace.due_at else ", due at the outset,"


def sentence(moment: Moment, story: Story) -> Line:
    """Return the step that leads to `moment` as a sentence."""
    step = moment.step
    what = event_line(moment, story)
    if step is None or step.member is None:
        who = [_name("together"), Piece(": ")] if moment.is_joint else []
        return line(*who, *what.pieces)
    verb = what.pieces[0].role in (Role.START, Role.CRASH) or step.message is not None
    return line(_name(step.member), Piece(" " if verb else ": "), *what.pieces, member=step.member)


def event_line(moment: Moment, story: Story) -> Line:
    """Return the event, without the member that takes the step."""
    step = moment.step
    if step is None:
        return line(Piece("the initial state", Role.ACTION))
    acts, has_message = step.member is not None, step.message is not None
    if acts and has_message and step.action == RECEIVE:
        parts = [Piece("receives ", Role.ACTION), *_message(moment)]
    elif acts and not has_message and step.action == START:
        parts = [Piece("starts", Role.START)]
    elif acts and moment.crashes:
        rest = visible(step.action).removeprefix(CRASH)
        parts = [Piece(f"crashes{rest}", Role.CRASH)]
        if has_message:
            parts += [Piece(" "), *_message(moment)]
    elif moment.is_lost and has_message:
        parts = [Piece("the network loses ", Role.CRASH), *_message(moment)]
    elif moment.is_doubled and has_message:
        parts = [Piece("the network doubles ", Role.ACTION), *_message(moment)]
    elif moment.is_network and not has_message:
        parts = [Piece(f"the network {step.action}s", Role.SPLIT)]
        if moment.side:
            parts += [Piece(": "), *_sides(moment, story)]
    else:
        parts = [Piece(visible(step.action), Role.ACTION)]
        if has_message:
            parts += [Piece(" "), *_message(moment)]
    if step.detail and not (moment.is_network and moment.side):
        parts.append(Piece(f" {visible(step.detail)}"))
    return line(*parts, member=step.member)


def statements_of(moment: Moment) -> tuple[Line, ...]:
    """Return the step's changes, messages and rules, one statement each; () for moment 0."""
    step = moment.step
    if step is None:
        return ()
    found = [
        statement
        for name in moment.changed
        for statement in _lines_of_member(
            name,
            [one for one in moment.changes if (one.member, one.attribute) not in moment.fixed],
            moment.states.get(name, {}),
        )
    ]
    if not found:
        found.append(line(Piece("no member changes", Role.QUIET)))
    found += [_sends(message, step.member) for message in step.sent]
    if step.rules:
        times = Counter(step.rules)
        rules = ", ".join(
            visible(rule) + (f" ({number} times)" if number > 1 else "")
            for rule, number in times.items()
        )
        found.append(line(Piece(f"by {rules}", Role.QUIET), member=step.member))
    return tuple(found)


def in_one_line(moment: Moment) -> str:
    """Return the statements about a step in one line, with the names of members that do not act."""
    acts = None if moment.step is None else moment.step.member
    return "; ".join(
        item.text if item.member in (None, acts) else f"{visible(item.member)} {item.text}"
        for item in statements_of(moment)
    )


def initial_lines(story: Story) -> Iterator[Line]:
    """Yield the initial state in full; members in the same state share a line."""
    groups: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for name in story.members:
        values = tuple(story.trace.initial.get(name, {}).items())
        groups.setdefault(values, []).append(name)
    for values, names in groups.items():
        yield line(*listed([_name(name)] for name in names), ": ", *state_pieces(dict(values)))


def state_pieces(values: Mapping[str, str]) -> list[Piece]:
    """Return the whole state of a member, on one line."""
    if not values:
        return [Piece("nothing to show", Role.QUIET)]
    return listed(
        [_attribute(keys), Piece(f" {visible(values[keys[0]])}")]
        if keys[0]
        else [Piece(visible(values[""]), Role.CRASH)]
        for keys in _twins(values)
    )


def cycle_begins() -> Line:
    """Return the mark at the moment where the cycle begins."""
    return line(Piece("the cycle begins here", Role.CYCLE))


def cycle_ends(story: Story) -> Line | None:
    """Return the mark after the last step of a lasso: where the step leads, or that the run ends.

    None for a run without a loop.
    """
    begin, last = story.loop_at, len(story.trace.steps)
    if begin is None:
        return None
    if story.stops:
        return line(Piece("here the run ends: nothing more has to happen", Role.CYCLE))
    steps = f"step {last} repeats" if begin + 1 == last else f"steps {begin + 1} to {last} repeat"
    place = f"after step {begin}" if begin else "at the outset"
    return line(Piece(f"back to the state {place}: {steps} for ever", Role.CYCLE))


def closing(story: Story) -> Iterator[Line]:
    """Yield the remarks below the run."""
    yield verdict(story.trace)
    if story.under_way:
        under_way = (
            [*_message_parts(item.message), Piece(f" (sent in step {item.number})", Role.QUIET)]
            for item in story.under_way
        )
        yield line(Piece("still under way: ", Role.QUIET), *listed(under_way))


def fairness(trace: Trace) -> tuple[str, ...]:
    """Return the reasons why the cycle is fair."""
    return tuple(visible(reason) for reason in trace.fairness.split("; ") if reason)


def _lines_of_member(
    name: str, changes: Sequence[Change], after: Mapping[str, str]
) -> Iterator[Line]:
    """Yield the statements about one member; each of its changes is in one of them."""
    mine = {change.attribute: change for change in changes if change.member == name}
    down = mine.pop("", None)
    if down is not None and down.after is not None:
        lost = {key: change.before for key, change in mine.items() if change.after is None}
        kept = {key for key, text in lost.items() if text == after.get(f"{key}*")}
        yield line(
            Piece(f"is {visible(down.after)}", Role.CRASH),
            *_listing("; forgets ", {k: t for k, t in lost.items() if k not in kept}),
            *_listing("; keeps ", {f"{k}*": t for k, t in lost.items() if k in kept}),
            member=name,
        )
        mine = {key: change for key, change in mine.items() if change.after is not None}
    elif down is not None:
        fresh = {key: change.after for key, change in mine.items() if change.before is None}
        yield line(Piece("is up", Role.START), *_listing(" with ", fresh), member=name)
        mine = {key: change for key, change in mine.items() if change.before is not None}
    ends = {key: (change.before, change.after) for key, change in mine.items()}
    for keys in _twins(ends):
        yield line(_attribute(keys), *_old_and_new(mine[keys[0]]), member=name)


def _listing(words: str, values: Mapping[str, str | None]) -> list[Piece]:
    texts = {key: text for key, text in values.items() if text is not None}
    return [Piece(words), *state_pieces(texts)] if texts else []


def _old_and_new(change: Change) -> list[Piece]:
    if change.before is None:
        return [Piece(" is new: "), Piece(visible(change.after or ""), Role.NEW)]
    old = Piece(visible(change.before), Role.OLD)
    if change.after is None:
        return [Piece(" is gone, was "), old]
    return [Piece(" "), old, Piece(BECOMES), Piece(visible(change.after), Role.NEW)]


def _twins(values: Mapping[str, object]) -> Iterator[tuple[str, ...]]:
    """Yield the attributes; `x` and its durable `x*` come together if their values agree."""
    done: set[str] = set()
    for key, value in values.items():
        twin = f"{key}*"
        if key in done:
            continue
        if key and twin in values and values[twin] == value:
            done.add(twin)
            yield (key, twin)
        else:
            yield (key,)


def _attribute(keys: Sequence[str]) -> Piece:
    return Piece(", ".join(visible(key) for key in keys), Role.ATTRIBUTE)


def _sends(message: MessageText, member: str | None) -> Line:
    sender = message.sender
    return line(
        *([] if sender is None or sender == member else [_name(sender), Piece(" ")]),
        Piece("sends ", Role.ACTION),
        Piece(quoted(visible(message.content)), Role.MESSAGE),
        Piece(" to "),
        _name(message.to) if message.to is not None else Piece("all"),
        member=message.sender,
    )


def _message(moment: Moment) -> list[Piece]:
    """Return the message of the step, with its addressee if no member receives it."""
    step = moment.step
    assert step is not None
    assert step.message is not None
    parts = _message_parts(step.message, with_addressee=step.member is None)
    if moment.sent_in is not None:
        parts.append(Piece(f" (sent in step {moment.sent_in})", Role.QUIET))
    return parts


def _message_parts(message: MessageText, *, with_addressee: bool = True) -> list[Piece]:
    parts = [Piece(quoted(visible(message.content)), Role.MESSAGE)]
    if message.sender is not None:
        parts += [Piece(" from "), _name(message.sender)]
    if with_addressee:
        parts += [Piece(" to "), Piece("all") if message.to is None else _name(message.to)]
    return parts


def _sides(moment: Moment, story: Story) -> list[Piece]:
    one = [[_name(name)] for name in story.lifelines if name in moment.side]
    other = [[_name(name)] for name in story.lifelines if name not in moment.side]
    return [*listed(one), Piece(" (1) apart from "), *listed(other), Piece(" (2)")]


def _name(name: str) -> Piece:
    return Piece(visible(name), Role.NAME)
