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
    """A message in the network."""

    sender: Annotated[str | None, Key("from"), "the sender; null: the network does not say"]
    to: Annotated[str | None, "the addressee; null: every other member"]
    content: Annotated[str, "the message's content"]


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
    message: Annotated[MessageText | None, "the message received, lost or doubled"]
    sent: Annotated[tuple[MessageText, ...], "messages that the step sends"]
    states: Annotated[States, "every member after the step, as in `initial`"]
    rules: Annotated[tuple[str, ...], "cases of tables that the step takes"] = ()
    detail: Annotated[str, "a split's one side, a joint step's events, a crash's place"] = ""
    together: Annotated[tuple[str, ...], "the members that take it, if several do"] = ()

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

    In a lasso the last step leads back to the state after step `loop_at` (0: the initial state).
    Without steps after `loop_at`, the run ends there, because no step is forced any more.
    """

    property: Annotated[str, "only with a run: the claim that it breaks"]
    kind: Kind
    initial: Annotated[
        States,
        """only with a run: its first state.  Member to attribute to text.  A durable attribute's
        name ends in `*`; a member that is down has the attribute `""` with the text `down`.""",
    ]
    steps: Annotated[tuple[Step, ...], Key("trace"), "only with a run: its steps"]
    loop_at: Annotated[
        Count | None,
        "only with a run: the step after which its cycle begins; null: no cycle",
    ] = None
    fairness: Annotated[str, "only with a run: why its cycle is fair"] = ""
    due_at: Annotated[
        Count | None,
        "only with a run: the step after which the premise of its claim is true; null: no premise",
    ] = None

    pictures: Annotated[
        tuple[str, ...],
        "only with a run: the world's own pictures, text or SVG: at first, and after each step",
    ] = ()


class FailedRun(Trace):
    """A run to a state in which a member's code fails; `property` names the failing step."""


Result = Literal["holds", "reached", "violated", "not-reached", "unknown"]


@define
class Growth:
    """The costs of one level of a search.

    `seconds`: the level's share of its job's time.  `sent`, `written`: bytes of rows exchanged, and
    of files; 0 where unknown.
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
    """The result for one claim.

    `result` is "unknown" if the search ended before the claim was judged, if no state or step put
    it to the test, or for a `sometimes` that may be reached beyond states that the world's `same`
    or `within` left out.
    """

    name: Annotated[str, "the claim's name"]
    kind: Annotated[Kind, "the claim's kind"]
    result: Annotated[Result, "the claim's result"]
    trace_length: Annotated[Count | None, "steps of the shortest run that breaks or reaches it"] = (
        None
    )
    premise_met: Annotated[bool | None, "whether its premise was ever true; null: no premise"] = (
        None
    )
    trace: Trace | None = None
    about: Annotated[str, "the claim in a sentence, if the world has one"] = ""


@frozen
class Coverage:
    """The coverage of a search."""

    actions: Annotated[Mapping[str, Times], "step, with the member that takes it, to times"] = (
        Factory(dict)
    )
    rules: Annotated[Mapping[str, Times], "case of a table to times"] = Factory(dict)
    never: Annotated[tuple[str, ...], "steps, cases and other parts that never occurred"] = ()
    void: Annotated[Mapping[str, str], "claims never put to the test, each with the reason"] = (
        Factory(dict)
    )
    shown: Annotated[
        Mapping[str, tuple[str, ...]],
        "if a `sometimes` was not reached: member, or member.attribute, to the texts shown",
    ] = Factory(dict)
    growing: Annotated[
        tuple[str, ...], "if a limit ended the search: attributes that took ever more values"
    ] = ()


@frozen(kw_only=True)
class Report:
    """The result of one check."""

    world: Annotated[str, "the world's name"]
    result: Annotated[Literal["holds", "violated", "incomplete"], "the result of all claims"]
    distinct: Annotated[Count, "distinct states"]
    generated: Annotated[Count, "steps found, also to known states; each beginning counts as one"]
    depth: Annotated[Count, "states on the longest of the shortest runs"]
    levels: Annotated[tuple[Count, ...], "distinct states at each depth"]
    seconds: Annotated[Seconds, "by the clock, without compiling"]
    cpu_seconds: Annotated[Seconds, "processor time"]
    peak_rss_bytes: Annotated[
        Count, "peak memory of the process; with Spark, of its processes on this machine"
    ]
    calls: Annotated[Count, "calls of members' code"]
    engine: Annotated[Literal["local", "spark"], "where the search ran"]
    method: Annotated[
        Literal["tables", "plain", "states"],
        """how the search ran: `tables` of members' answers, `plain` Python (a small world), or
        `states`, one by one (a world of one large member)""",
    ] = field(default="tables", kw_only=True, eq=False)
    reductions: Annotated[tuple[str, ...], "such as symmetry; empty: every state was visited"]
    fair_to: Annotated[
        tuple[str, ...], "steps that runs may not put off for ever, if a claim is about that"
    ] = field(default=(), kw_only=True)
    properties: Annotated[tuple[PropertyResult, ...], "every claim"]
    coverage: Annotated[Coverage, "The coverage."]
    members: Annotated[Count, "members of the world, as `--members` counts them"]
    expected: Annotated[Literal["holds", "violated"], "the required result"] = "holds"
    row_bits: Annotated[Count, "bits of a state's row"] = 0
    bytes_per_state: Annotated[
        float,
        AtLeast(0),
        Digits(1),
        "memory for a state: its row, and its place in the hash table",
    ] = 0.0
    beyond: Annotated[Count, "states from which the world's `within` lets no step be taken"] = 0
    numbered_bytes: Annotated[Count, "bytes of the tables, and of the values that have numbers"] = 0
    trace: Annotated[Trace | None, Merged(optional=True)] = None
    stopped_by: Annotated[str, "the limit that ended the search early, or empty"] = ""
    notes: Annotated[tuple[str, ...], "further notes"] = field(default=())
    about: Annotated[str, "the world in a sentence, if it has one"] = ""
