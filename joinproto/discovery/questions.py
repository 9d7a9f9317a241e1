"""What `joinproto ask discovery.*` answers; of backends in `backend_questions.py`.

Source: discovery, D1 to D6.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from attrs import evolve, field, frozen

from joinproto.ask.question import Question, question
from joinproto.codec.json_form import AtLeast
from joinproto.codec.strict import DoesNotFit
from joinproto.discovery import cleanup, lint, lock
from joinproto.discovery.answers import Answer, Failed, Listed, Selected
from joinproto.discovery.asked import shaped
from joinproto.discovery.backend_questions import BACKEND_QUESTIONS
from joinproto.discovery.boot import Rules, Step, rules_of
from joinproto.discovery.cleanup import Action
from joinproto.discovery.found import Found
from joinproto.discovery.keys import Owner
from joinproto.discovery.problem import Problem
from joinproto.discovery.releases import LATEST, release
from joinproto.discovery.round import Properties, Round, decide, sort
from joinproto.discovery.rules import BY_NAME, RETRIES
from joinproto.errors import UsageProblem

RELEASE = "a release, as 4.1 or 3.8.4; ours: our own rules"


@frozen(kw_only=True)
class Told:
    """What a backend answered: one of the three."""

    list: Annotated[tuple[str, ...] | None, "all nodes it knows, in its order"] = None
    one: Annotated[str | None, "the one node that it selected"] = None
    error: Annotated[str | None, "why it could not answer"] = None

    def answer(self) -> Answer:
        """Return it as one value; raises `DoesNotFit` unless exactly one is said."""
        said = [one for one in (self.list, self.one, self.error) if one is not None]
        if len(said) != 1:
            raise DoesNotFit(
                "answer", "expected one of list, one and error", next="leave the others out"
            )
        if self.list is not None:
            return Listed(self.list)
        return Selected(self.one) if self.one is not None else Failed(self.error or "no reason")


def _release_of(text: str) -> Any:
    try:
        return release(text)
    except UsageProblem as error:
        raise DoesNotFit("release", error.message, next=error.next or "") from None


def _rules(text: str) -> Rules:
    return Rules.OURS if text == "ours" else rules_of(_release_of(text))


# -- settings -----------------------------------------------------------------------------


@frozen(kw_only=True)
class AskConf:
    """A `rabbitmq.conf`, and who reads it."""

    conf: Annotated[str, "the text of the file"]
    release: Annotated[str, "a release, as 4.1 or 3.8.4"] = "head"
    plugins: Annotated[
        tuple[str, ...] | None, "the plugins that are enabled; null: whatever is needed"
    ] = None
    environment: Annotated[Mapping[str, str], "variables of the node"] = field(factory=dict)
    node: Annotated[str | None, "the node's own name, where it is known"] = None

    def given(self) -> lint.LintInput:
        """Return who reads it; raises `DoesNotFit` for another release."""
        plugins = None if self.plugins is None else frozenset(self.plugins)
        return lint.LintInput(
            release=_release_of(self.release),
            plugins=plugins,
            environment=self.environment,
            node=self.node,
        )


@frozen(kw_only=True)
class ConfAnswer:
    """What becomes of the file."""

    starts: Annotated[bool, "whether a node with it starts"]
    settings: Annotated[tuple[Found, ...], "of discovery, in the order of the file"]
    problems: Annotated[tuple[Problem, ...], "in the order of their lines"]
    rule: Annotated[str, "the rule that decided"] = "D6"
    why: Annotated[str, "the reason, in a sentence"]


@question(
    "discovery.conf",
    release="4.1",
    plugins=[Owner.CONSUL.value],
    conf="cluster_formation.peer_discovery_backend = consul\n"
    "cluster_formation.randomized_startup_delay_range.max = 60\n",
)
def answer_conf(asked: AskConf) -> ConfAnswer:
    """What a release makes of the settings of a rabbitmq.conf, and what is wrong."""
    return conf_answer(lint.lint(asked.conf, asked.given()))


def conf_answer(found: lint.Linted) -> ConfAnswer:
    """Return what was found as it is answered."""
    errors = sum(one.severity.value == "error" for one in found.problems)
    others = len(found.problems) - errors
    return ConfAnswer(
        starts=found.starts,
        settings=found.settings,
        problems=found.problems,
        why=f"{errors} lines keep the node from starting; {others} other problems"
        if errors
        else f"it starts{_if(found.needs)}; {others} problems",
    )


def _if(plugins: tuple[str, ...]) -> str:
    are = "are" if len(plugins) > 1 else "is"
    return f", if {' and '.join(plugins)} {are} enabled" if plugins else ""


# -- booting ------------------------------------------------------------------------------


@frozen(kw_only=True)
class AskSort:
    """Those that answer, and whose order is asked for."""

    release: Annotated[str, RELEASE] = "head"
    node: Annotated[str, "the node that boots"]
    answer: Annotated[Told, "what the backend answered"]
    seen: Annotated[Mapping[str, Properties], "the nodes that answer, itself too, by name"]

    def round(self) -> Round:
        """Return it as a round."""
        return Round(me=self.node, answer=self.answer.answer(), seen=dict(self.seen))


@frozen(kw_only=True)
class AskBoot(AskSort):
    """One round of the boot of a blank node."""

    tries_left: Annotated[
        int | None, AtLeast(0), "rounds that are left after this one; null: without end"
    ] = 30
    target_cluster_size_hint: Annotated[int, AtLeast(1), "how many nodes are meant"] = 1
    expected: Annotated[
        int | None, AtLeast(1), "ours: how many members there will be; null: as many as listed"
    ] = None
    locked: Annotated[bool, "whether the lock was had, where one is taken"] = True
    ignores_locks: Annotated[bool, "lock_acquisition_failure_mode = ignore"] = False

    def round(self) -> Round:
        """Return it as a round."""
        return evolve(
            super().round(),
            tries=self.tries_left,
            hint=self.target_cluster_size_hint,
            expected=self.expected,
            locked=self.locked,
            ignores_locks=self.ignores_locks,
        )


def _round(asked: AskSort) -> Round:
    """Return the round as the release sees it."""
    about = asked.round()
    if asked.release == "ours":
        return about
    at = _release_of(asked.release)
    tries = about.tries if RETRIES.holds(at) else 0
    return evolve(about, by_name=BY_NAME.holds(at), tries=tries)


@frozen(kw_only=True)
class BootAnswer:
    """What the node does next."""

    step: Annotated[Step, "what the node does"]
    node: Annotated[str | None, "whom it joins"]
    order: Annotated[tuple[str, ...], "those that answer, the best first"]
    gave_up: Annotated[bool, "no try was left, and it stands alone for that"]
    rule: Annotated[str, "the rule that decided"]
    case: Annotated[str, "the case of the rules' table"]
    why: Annotated[str, "the reason, in a sentence"]


@question(
    "discovery.boot",
    release="4.1",
    node="rabbit@b",
    answer={"list": ["rabbit@a", "rabbit@b", "rabbit@c"]},
    seen={
        "rabbit@a": {"started": 1, "ready": True, "in_cluster": True},
        "rabbit@b": {"started": 2},
    },
)
def answer_boot(asked: AskBoot) -> BootAnswer:
    """One round of the boot of a blank node: whom it joins, or that it stands alone."""
    found = decide(_round(asked), _rules(asked.release))
    return shaped(BootAnswer, found, rule=found.case.label, case=found.case.name)


@frozen(kw_only=True)
class SortAnswer:
    """The order."""

    order: Annotated[tuple[str, ...], "those that answer, the best first"]
    rule: Annotated[str, "the rule that decided"] = "D3"
    why: Annotated[str, "the reason, in a sentence"]


ORDER = {
    Rules.SEED: "those that have their tables, in the list's order, or by name since 3.8.4",
    Rules.REAL: "the larger cluster, then the earlier start, then the name",
    Rules.OURS: "members of a cluster, then the name, without the node itself",
}


@question(
    "discovery.sort",
    release="4.1",
    node="rabbit@b",
    answer={"list": ["rabbit@a", "rabbit@b"]},
    seen={"rabbit@a": {"started": 2}, "rabbit@b": {"started": 1}},
)
def answer_sort(asked: AskSort) -> SortAnswer:
    """In which order a release prefers the nodes that answer."""
    rules = _rules(asked.release)
    return SortAnswer(order=sort(_round(asked), rules), why=ORDER[rules])


# -- locks and cleanup --------------------------------------------------------------------


@frozen(kw_only=True)
class AskLock:
    """Whether two nodes that start at once are kept apart, and how."""

    release: Annotated[str, "a release, as 4.1 or 3.8.4"] = "head"
    backend: Annotated[str, "as peer_discovery_backend has it"]
    delay_min: Annotated[
        int | None, AtLeast(0), "randomized_startup_delay_range.min, seconds; null: not set"
    ] = None
    delay_max: Annotated[
        int | None, AtLeast(0), "randomized_startup_delay_range.max, seconds; null: not set"
    ] = None


@frozen(kw_only=True)
class LockAnswer:
    """What is done against the race."""

    lock: Annotated[lock.Guard, "what keeps two nodes apart"]
    retries: Annotated[int | None, "tries for the lock; null: none is taken"]
    delay: Annotated[tuple[int, ...], "least and most seconds before the start; none: at once"]
    rule: Annotated[str, "the rule that decided"] = "D3"
    why: Annotated[str, "the reason, in a sentence"]


@question("discovery.lock", release="3.8", backend="aws")
def answer_lock(asked: AskLock) -> LockAnswer:
    """What a release does with this backend against two nodes that start at once."""
    found = lock.guard(_release_of(asked.release), asked.backend, asked.delay_min, asked.delay_max)
    return LockAnswer(lock=found.guard, retries=found.retries, delay=found.delay, why=found.why)


@frozen(kw_only=True)
class AskCleanup:
    """One check by one member."""

    release: Annotated[str, RELEASE] = "head"
    members: Annotated[tuple[str, ...], "all members, the checking one too"]
    unseen: Annotated[Mapping[str, float], "nodes that do not answer, and for how many seconds"]
    answer: Annotated[Told, "what the backend answered"]
    only_log_warning: Annotated[bool, "the setting"] = True
    patience: Annotated[float, AtLeast(0), "ours: seconds that one must be away"] = 3600.0


@frozen(kw_only=True)
class CleanupAnswer:
    """What becomes of them."""

    deed: Annotated[Action, "what is done"]
    nodes: Annotated[tuple[str, ...], "with whom"]
    rule: Annotated[str, "the rule that decided"]
    case: Annotated[str, "the case of the table"]
    why: Annotated[str, "the reason, in a sentence"]


@question(
    "discovery.cleanup",
    release="4.1",
    members=["rabbit@a", "rabbit@b", "rabbit@c"],
    unseen={"rabbit@c": 10},
    answer={"error": "status 503"},
    only_log_warning=False,
)
def answer_cleanup(asked: AskCleanup) -> CleanupAnswer:
    """What becomes of members that are not seen."""
    unknown = sorted(set(asked.unseen) - set(asked.members))
    if unknown:
        raise DoesNotFit("unseen", f"{unknown[0]!r} is not a member", next="name members only")
    ours = asked.release == "ours"
    about = cleanup.Check(
        members=tuple(dict.fromkeys(asked.members)),
        unseen=dict(asked.unseen),
        answer=asked.answer.answer(),
        only_warns=asked.only_log_warning,
        patience=asked.patience,
        release=LATEST if ours else _release_of(asked.release),
    )
    if not about.members:
        raise DoesNotFit("members", "there are none", next="name the checking member at least")
    found = cleanup.check(about, "ours" if ours else "real")
    case = found.case
    why = cleanup.WHY[case.name]
    return shaped(CleanupAnswer, found, deed=found.action, rule=case.label, case=case.name, why=why)


QUESTIONS: tuple[Question[Any, Any], ...] = (
    answer_conf,
    answer_boot,
    answer_sort,
    answer_lock,
    answer_cleanup,
    *BACKEND_QUESTIONS,
)
