"""Runs built by hand: one for each feature that a presentation must be able to show.

No search found these runs, and no world needs to have them.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import define, field

from joinproto.check.properties import Kind
from joinproto.check.report import (
    Coverage,
    MessageText,
    PropertyResult,
    Report,
    Step,
    Trace,
)

DOWN = {"": "down"}

States = dict[str, dict[str, str]]


@define
class Run:
    """Collects steps: each takes the states before it and names its changes."""

    states: States
    steps: list[Step] = field(factory=list)
    initial: States = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.initial = {name: dict(values) for name, values in self.states.items()}

    def step(
        self,
        action: str,
        member: str | None = None,
        message: MessageText | None = None,
        *,
        sent: tuple[MessageText, ...] = (),
        now: Mapping[str, Mapping[str, str]] | None = None,
        whole: Mapping[str, Mapping[str, str]] | None = None,
        rules: tuple[str, ...] = (),
        detail: str = "",
    ) -> None:
        """Add a step.  `now`: attributes that change; `whole`: members' new states."""
        self.states = {name: dict(values) for name, values in self.states.items()}
        for name, values in (whole or {}).items():
            self.states[name] = dict(values)
        for name, values in (now or {}).items():
            self.states[name] |= values
        self.steps.append(Step(action, member, message, sent, self.states, rules, detail))

    def trace(
        self, name: str, kind: Kind = "always", *, loop_at: int | None = None, fairness: str = ""
    ) -> Trace:
        """Return the run as a trace of the property `name`."""
        return Trace(name, kind, self.initial, tuple(self.steps), loop_at, fairness)


def message(sender: str, to: str | None, content: str) -> MessageText:
    """Return a message."""
    return MessageText(sender, to, content)


def exchange() -> Trace:
    """Two-phase commit with one vote too few: a plain exchange of messages, five steps."""
    run = Run(
        {
            "rm1": {"state": "working"},
            "rm2": {"state": "working"},
            "tm": {"needed": "1", "prepared": "{}", "decision": "undecided"},
        }
    )
    prepared = message("rm1", "tm", "prepared rm1")
    commit = message("tm", None, "commit")
    run.step("prepare", "rm1", sent=(prepared,), now={"rm1": {"state": "prepared"}})
    run.step("choose to abort", "rm2", now={"rm2": {"state": "aborted"}})
    run.step("receive", "tm", prepared, now={"tm": {"prepared": "{rm1}"}})
    run.step("commit", "tm", sent=(commit,), now={"tm": {"decision": "commit"}})
    run.step("receive", "rm1", commit, now={"rm1": {"state": "committed"}})
    return run.trace("consistent")


def crash_and_restart() -> Trace:
    """A member forgets unwritten data, and a message comes too late."""
    run = Run(
        {
            "a": {"phase": "waiting", "tip": "-", "tip*": "-", "promised": "0", "promised*": "0"},
            "b": DOWN | {"tip*": "-", "promised*": "0"},
        }
    )
    hello = message("a", "b", "hello(1)")
    answer = message("b", "a", "promise(1)")
    run.step(
        "start",
        "b",
        whole={
            "b": {"phase": "waiting", "tip": "-", "promised": "0", "tip*": "-", "promised*": "0"}
        },
    )
    run.step("propose", "a", sent=(hello,), now={"a": {"promised": "1", "promised*": "1"}})
    run.step(
        "crash while receiving",
        "b",
        hello,
        sent=(answer,),
        whole={"b": DOWN | {"tip*": "-", "promised*": "0"}},
        rules=("V3", "V4"),
        detail="after effect 1",
    )
    run.step("receive", "a", answer, now={"a": {"phase": "chosen", "tip": "v1", "tip*": "v1"}})
    run.step(
        "start",
        "b",
        whole={
            "b": {"phase": "waiting", "tip": "-", "promised": "0", "tip*": "-", "promised*": "0"}
        },
    )
    run.step("crash", "a", whole={"a": DOWN | {"tip*": "v1", "promised*": "1"}})
    run.step("wipe the disk", "a", whole={"a": DOWN | {"tip*": "-", "promised*": "0"}})
    return run.trace("promise_kept")


def split_and_heal() -> Trace:
    """A network splits and heals; a message is doubled, and one copy of it is lost."""
    run = Run({name: {"view": "v0", "serves": "no"} for name in ("a", "b", "c")})
    ask = message("a", "c", "ask")
    ask_b = message("a", "b", "ask")
    run.step("suspect", "a", sent=(ask_b, ask), now={"a": {"view": "v1"}})
    run.step("split", detail="off a b")
    run.step("receive", "b", ask_b, now={"b": {"view": "v1", "serves": "yes"}})
    run.step("duplicate", None, ask)
    run.step("lose", None, ask)
    run.step("serve", "c", now={"c": {"serves": "yes"}})
    run.step("heal")
    run.step("receive", "c", ask)
    return run.trace("no_split_brain")


def lasso() -> Trace:
    """Two members hand the turn back and forth and never finish."""
    run = Run({"ping": {"has": "yes", "done": "no"}, "pong": {"has": "no", "done": "no"}})
    to, fro = message("ping", "pong", "turn"), message("pong", "ping", "turn")
    run.step("begin", "ping", now={"ping": {"done": "soon"}})
    run.step("pass", "ping", sent=(to,), now={"ping": {"has": "no"}})
    run.step("receive", "pong", to, now={"pong": {"has": "yes"}})
    run.step("pass", "pong", sent=(fro,), now={"pong": {"has": "no"}})
    run.step("receive", "ping", fro, now={"ping": {"has": "yes"}})
    return run.trace(
        "finished", "eventually", loop_at=1, fairness="every step that stays possible is taken"
    )


def stuck() -> Trace:
    """A lasso without a cycle: the run ends."""
    run = Run({"a": {"phase": "waiting"}, "b": {"phase": "waiting"}})
    run.step("give up", "a", now={"a": {"phase": "gone"}})
    return run.trace("active", "eventually", loop_at=1, fairness="nothing more can happen")


def together() -> Trace:
    """Three of four members take a step at the same moment."""
    run = Run({name: {"view": "-", "ready": "no"} for name in ("a", "b", "c", "d")})
    run.step(
        "agree",
        now={name: {"view": "v1", "ready": "yes"} for name in ("a", "b", "d")},
        detail="a: view(v1), b: view(v1), d: view(v1)",
    )
    return run.trace("one_successor")


def five_members() -> Trace:
    """A longer run of five members with long names and long values, 25 steps."""
    names = [f"broker-{place}" for place in ("oslo", "paris", "quito", "rabat", "sofia")]
    run = Run(
        {name: {"phase": "waiting", "heard": "{}", "view": "-", "view*": "-"} for name in names}
    )
    heard: dict[str, set[str]] = {name: set() for name in names}
    for sender in names[:3]:
        hello = message(sender, None, f"hello from {sender}, clean, tip 7f3a")
        run.step("announce", sender, sent=(hello,), now={sender: {"phase": "announced"}})
        for to in names:
            if to != sender:
                heard[to].add(sender)
                known = "{" + ", ".join(sorted(heard[to])) + "}"
                run.step("receive", to, hello, now={to: {"heard": known}}, rules=("I1",))
    run.step("split", detail="off " + " ".join(names[:2]))
    run.step("crash", names[0], whole={names[0]: DOWN | {"view*": "-"}})
    for name in names[1:4]:
        run.step(
            "go active",
            name,
            now={name: {"phase": "active", "view": "v1", "view*": "v1"}},
            rules=("I4", "I8"),
        )
    run.step("heal")
    run.step(
        "start",
        names[0],
        whole={names[0]: {"phase": "waiting", "heard": "{}", "view": "-", "view*": "-"}},
    )
    late = message(names[0], None, f"hello from {names[0]}, clean, tip 7f3a")
    run.step("announce", names[0], sent=(late,), now={names[0]: {"phase": "announced"}})
    run.step("receive", names[4], late, now={names[4]: {"phase": "active"}})
    run.step("shut down", names[4], now={names[4]: {"phase": "closed"}})
    return run.trace("waits_for_n")


def odd() -> Trace:
    """Contents that would break a page, a terminal or a program that trusts them."""
    nasty = "</script><b>&\"'\\ $title {0} %s"
    moving = "line\nbreak\ttab\x1b[31mred\x00 \u202eback\u2028 \ud800 漢字 e\u0301 👩‍🚀"
    run = Run(
        {
            "<m&1>": {"<b>": nasty, "": moving, "empty": ""},
            "größe '2'": {"say": "", "x*": moving},
        }
    )
    sent = message("<m&1>", "größe '2'", nasty + moving)
    run.step('<i onclick="x">', "<m&1>", sent=(sent,), now={"<m&1>": {"<b>": moving}})
    run.step("receive", "größe '2'", sent, now={"größe '2'": {"say": nasty}})
    run.step("split", detail="who knows")
    return run.trace('odd "name" </title>')


def nothing() -> Trace:
    """A property that is violated in the initial state."""
    return Run({"a": {"phase": "waiting"}}).trace("never so")


ALL = {
    "exchange": exchange,
    "crash_and_restart": crash_and_restart,
    "split_and_heal": split_and_heal,
    "lasso": lasso,
    "stuck": stuck,
    "together": together,
    "five_members": five_members,
    "odd": odd,
    "nothing": nothing,
}


def report(trace: Trace | None, world: str = "two-phase-commit") -> Report:
    """Return a report that holds `trace`, with something in every field."""
    violated = trace is not None
    properties = [
        PropertyResult("committed", "sometimes", "reached", 7),
        PropertyResult("aborted", "sometimes", "unknown" if violated else "not-reached"),
        PropertyResult("waits for all", "always", "holds", premise_met=False),
    ]
    if trace is not None:
        properties.insert(
            0, PropertyResult(trace.property, trace.kind, "violated", len(trace.steps), trace=trace)
        )
    return Report(
        world=world,
        result="violated" if violated else "holds",
        distinct=8_832,
        generated=58_146,
        depth=17,
        levels=(1, 3, 6, 10),
        seconds=0.41,
        cpu_seconds=0.523,
        peak_rss_bytes=98_234_112,
        calls=1_204,
        engine="local",
        reductions=("symmetry of rm1, rm2",),
        properties=tuple(properties),
        coverage=Coverage(
            actions={"prepare (rm1)": 1_024, "receive (tm)": 512, "abort (tm)": 0},
            rules={"I1": 300, "I4": 2, "I6": 0},
            never=("case of a table: I6", "step: abort (tm)"),
        ),
        members=3 if trace is None else len(trace.initial),
        row_bits=48,
        bytes_per_state=16.02,
        trace=trace,
        notes=("messages are a set that only grows",),
    )
