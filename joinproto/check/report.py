"""The result of a check: plain values, for the terminal, JSON, pages and tests alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from attrs import Factory, define, field, frozen

from joinproto.check.properties import Kind
from joinproto.codec.json_form import AtLeast, Count, Digits, Key, Merged, Seconds

Times = Annotated[int, AtLeast(0), "times"]
States = Mapping[str, Mapping[str, str]]
"""Member to attribute to text."""


@frozen
class MessageText:
    """A message."""

    sender: Annotated[str | None, Key("from"), "the sender; null: the network does not say"]
    to: Annotated[str | None, "the addressee; null: every other member"]
    content: Annotated[str, "what it says"]


@frozen
class Step:
    """One step of a run.

    `action` may also be "crash while receiving" and the like, or the choice's own words.
    """

    action: Annotated[
        str,
        "`receive`, `start`, `crash`, `lose`, `duplicate`, `split`, `heal`, or its own words",
    ]
    member: Annotated[str | None, "the member that takes it; null: the network, or several members"]
    message: Annotated[MessageText | None, "received, lost or doubled"]
    sent: Annotated[tuple[MessageText, ...], "messages that it sends"]
    states: Annotated[States, "every member after the step, as in `initial`"]
    rules: Annotated[tuple[str, ...], "cases of tables that it takes"] = ()
    detail: Annotated[str, "a split's one side, a joint step's events, a crash's place"] = ""
    together: Annotated[tuple[str, ...], "the members that take it, where several do"] = ()

    @property
    def label(self) -> Annotated[str, "the whole step in words, as `Replay.step` takes them"]:
        """The step in words, the same on every run; unique among the steps of one state."""
        words = self.action
        if self.message is not None:
            to = "" if self.member else f" to {self.message.to or 'all'}"
            whose = "" if self.message.sender is None else f" from {self.message.sender}"
            words += f" {self.message.content}{whose}{to}"
        return f"{words} {self.detail}".rstrip()


@frozen
class Trace:
    """A run: the initial states, then the steps.

    In a lasso the last step leads back to where the cycle begins (0: the initial state), or the
    run ends there and nothing more can happen.
    """

    property: Annotated[str, "only with a run: the claim it breaks"]
    kind: Kind
    initial: Annotated[
        States,
        """only with a run: where it begins.  Member to attribute to text.  A durable attribute's
        name ends in `*`; a member that is down has the attribute `""` with the text `down`.""",
    ]
    steps: Annotated[tuple[Step, ...], Key("trace"), "only with a run: its steps"]
    loop_at: Annotated[
        Count | None,
        "only with a run: the step after which its cycle begins; null: it has none",
    ] = None
    fairness: Annotated[str, "only with a run: why its cycle is a fair one"] = ""
    due_at: Annotated[
        Count | None,
        "only with a run: the step after which the premise of its claim is true; null: no premise",
    ] = None

    pictures: Annotated[
        tuple[str, ...],
        "only with a run: the world's own pictures, text or SVG: at first, and after each step",
    ] = ()


class FailedRun(Trace):
    """A run to where a member's code does not answer; `property` says which step."""


Result = Literal["holds", "reached", "violated", "not-reached", "unknown"]


@define
class Growth:
    """One level of a search: what it cost.

    `seconds`: its share of its job's time.  `sent`, `written`: bytes of rows exchanged, and of
    files; 0 where unknown.
    """

    level: int
    new: int
    engine: str = "local"
    generated: int = 0
    seconds: float = 0.0
    sent: int = 0
    written: int = 0


@frozen
class PropertyResult:
    """One claim.

    `result` is "unknown" where the search ended before it was judged, and of a `sometimes` that
    may lie behind states that the world's `same` or `within` left out.
    """

    name: Annotated[str, "as the world names it"]
    kind: Annotated[Kind, "what is claimed"]
    result: Annotated[Result, "what was found"]
    trace_length: Annotated[Count | None, "steps of the shortest run that breaks or reaches it"] = (
        None
    )
    premise_met: Annotated[
        bool | None, "whether it was ever put to the test; null: it has no premise"
    ] = None
    trace: Trace | None = None
    about: Annotated[str, "what it claims, in a sentence, where the world says so"] = ""


@frozen
class Coverage:
    """The coverage of a search."""

    actions: Annotated[Mapping[str, Times], "step, with the member that takes it, to times"] = (
        Factory(dict)
    )
    rules: Annotated[Mapping[str, Times], "case of a table to times"] = Factory(dict)
    never: Annotated[tuple[str, ...], "what was never exercised"] = ()
    void: Annotated[
        Mapping[str, str], "claim that nothing put to a test, to the reason: its result is open"
    ] = Factory(dict)
    shown: Annotated[
        Mapping[str, tuple[str, ...]],
        "where a `sometimes` was not reached: member, or member.attribute, to the texts it showed",
    ] = Factory(dict)
    growing: Annotated[
        tuple[str, ...], "where a limit ended it: attributes that took ever more values"
    ] = ()


@frozen(kw_only=True)
class Report:
    """The result of one check."""

    world: Annotated[str, "its name"]
    result: Annotated[Literal["holds", "violated", "incomplete"], "of all claims together"]
    distinct: Annotated[Count, "distinct states"]
    generated: Annotated[
        Count, "steps found, those to known states included; each beginning is one"
    ]
    depth: Annotated[Count, "states on the longest of the shortest runs"]
    levels: Annotated[tuple[Count, ...], "distinct states at each depth"]
    seconds: Annotated[Seconds, "of the clock, without compiling"]
    cpu_seconds: Annotated[Seconds, "of the processor"]
    peak_rss_bytes: Annotated[
        Count, "the most memory it ever held; with Spark, all processes of it here together"
    ]
    calls: Annotated[Count, "calls of members' code"]
    engine: Annotated[Literal["local", "spark"], "where it was searched"]
    method: Annotated[
        Literal["tables", "plain", "states"],
        """how it was searched: `tables` of what members answer, `plain` Python (a small world), or
        `states`, one by one (a world of one member)""",
    ] = field(default="tables", kw_only=True, eq=False)
    reductions: Annotated[tuple[str, ...], "such as symmetry; empty: every state was visited"]
    fair_to: Annotated[
        tuple[str, ...], "what runs may not put off for ever, where a claim asks for it"
    ] = field(default=(), kw_only=True)
    properties: Annotated[tuple[PropertyResult, ...], "every claim"]
    coverage: Annotated[Coverage, "What was exercised."]
    members: Annotated[Count, "members of the world, as `--members` counts them"]
    expected: Annotated[Literal["holds", "violated"], "how the world must end"] = "holds"
    row_bits: Annotated[Count, "bits of what a state holds"] = 0
    bytes_per_state: Annotated[
        float,
        AtLeast(0),
        Digits(1),
        "memory for a state: its row, and its place in what finds it",
    ] = 0.0
    beyond: Annotated[Count, "states from which the world's `within` lets no step be taken"] = 0
    numbered_bytes: Annotated[
        Count, "bytes for what is numbered: tables, and values behind numbers"
    ] = 0
    trace: Annotated[Trace | None, Merged(optional=True)] = None
    stopped_by: Annotated[str, "the limit that ended it early, or empty"] = ""
    notes: Annotated[tuple[str, ...], "what else there is to know"] = field(default=())
    about: Annotated[str, "what the world shows, in a sentence, where it says so"] = ""
