"""The answers of `joinproto ask discovery.*`; `backend_questions.py` has those about backends.

Source: discovery, D1 to D6.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any

from attrs import evolve, frozen

from joinproto.ask.question import Answer, Question, Rule, question
from joinproto.codec.json_form import AtLeast
from joinproto.codec.strict import DoesNotFit
from joinproto.discovery import answers, cleanup, lint, lock
from joinproto.discovery.answers import Failed, Listed, Selected
from joinproto.discovery.backend_questions import BACKEND_QUESTIONS
from joinproto.discovery.boot import Rules, rules_of
from joinproto.discovery.keys import Owner
from joinproto.discovery.releases import LATEST, release
from joinproto.discovery.round import Decision, Properties, Round, decide, sort
from joinproto.discovery.rules import does
from joinproto.errors import UsageProblem


@frozen(kw_only=True)
class Told:
    """The answer of a backend, in one of three fields."""

    list: Annotated[tuple[str, ...] | None, "all nodes that it knows, in its order"] = None
    one: Annotated[str | None, "the one node that it selected"] = None
    error: Annotated[str | None, "why it could not answer"] = None

    def answer(self) -> answers.Answer:
        """Return the answer as one value; raises `DoesNotFit` unless exactly one field is set."""
        said = [one for one in (self.list, self.one, self.error) if one is not None]
        if len(said) != 1:
            raise DoesNotFit(
                "answer",
                f"expected exactly one of list, one and error, found {len(said)}",
                next="give one of them, and leave the others out",
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


@question(
    "discovery.conf",
    "A `rabbitmq.conf`, and the release that reads it.",
    release="4.1",
    plugins=[Owner.CONSUL.value],
    conf="cluster_formation.peer_discovery_backend = consul\n"
    "cluster_formation.randomized_startup_delay_range.max = 60\n",
)
def answer_conf(
    *,
    conf: Annotated[str, "the text of the file"],
    release: Annotated[str, "a release, such as 4.1 or 3.8.4"] = "head",
    plugins: Annotated[
        tuple[str, ...] | None, "the enabled plugins; null: all plugins that are needed"
    ] = None,
    environment: Annotated[Mapping[str, str], "the node's environment variables"] = (
        MappingProxyType({})
    ),
    node: Annotated[str | None, "the node's own name; null: not known"] = None,
) -> lint.Linted:
    """Return the effect of a rabbitmq.conf in a release, and the file's problems."""
    given = lint.LintInput(
        release=_release_of(release),
        plugins=None if plugins is None else frozenset(plugins),
        environment=environment,
        node=node,
    )
    return lint.lint(conf, given)


# -- booting ------------------------------------------------------------------------------


RELEASE = Annotated[str, "a release, such as 4.1 or 3.8.4; ours: our own rules"]
NODE = Annotated[str, "the node that boots"]
ANSWER = Annotated[Told, "the backend's answer"]
SEEN = Annotated[
    Mapping[str, Properties], "the nodes that answer, by name, with the booting node itself"
]


def _round(about: Round, release: str) -> Round:
    """Return the round with the facts that the release sets: tries, and the order by name."""
    if release == "ours":
        return about
    at = _release_of(release)
    tries = about.tries if does(at, "RETRIES") else 0
    return evolve(about, by_name=does(at, "BY_NAME"), tries=tries)


@question(
    "discovery.boot",
    "One round of the boot of a blank node.",
    release="4.1",
    node="rabbit@b",
    answer={"list": ["rabbit@a", "rabbit@b", "rabbit@c"]},
    seen={
        "rabbit@a": {"started": 1, "ready": True, "in_cluster": True},
        "rabbit@b": {"started": 2},
    },
)
def answer_boot(
    *,
    release: RELEASE = "head",
    node: NODE,
    answer: ANSWER,
    seen: SEEN,
    tries_left: Annotated[
        int | None, AtLeast(0), "rounds that are left after this one; null: without end"
    ] = 30,
    target_cluster_size_hint: Annotated[
        int, AtLeast(1), "the number of nodes that the cluster should have, by the setting"
    ] = 1,
    expected: Annotated[
        int | None,
        AtLeast(1),
        "the number of members (ours); null: the known nodes, or the hint if it is larger",
    ] = None,
    locked: Annotated[bool, "whether the node has the lock, or needs none"] = True,
    ignores_locks: Annotated[bool, "lock_acquisition_failure_mode = ignore"] = False,
) -> Decision:
    """One round of the boot of a blank node: which node it joins, or that it stands alone."""
    about = Round(
        me=node,
        answer=answer.answer(),
        seen=dict(seen),
        tries=tries_left,
        hint=target_cluster_size_hint,
        expected=expected,
        locked=locked,
        ignores_locks=ignores_locks,
    )
    return decide(_round(about, release), _rules(release))


@frozen(kw_only=True)
class SortAnswer(Answer):
    """The order in which a release prefers the nodes that answer."""

    order: Annotated[tuple[str, ...], "the nodes that answer, the preferred node first"]
    rule: Rule = "D3"


ORDER = {
    Rules.SEED: "nodes that have their tables, in the list's order, or by name since 3.8.4",
    Rules.REAL: "the larger cluster, then the earlier start, then the name",
    Rules.OURS: "members of a cluster, then the name, without the node itself",
}


@question(
    "discovery.sort",
    "The nodes that answer, and the release that sorts them.",
    release="4.1",
    node="rabbit@b",
    answer={"list": ["rabbit@a", "rabbit@b"]},
    seen={"rabbit@a": {"started": 2}, "rabbit@b": {"started": 1}},
)
def answer_sort(*, release: RELEASE = "head", node: NODE, answer: ANSWER, seen: SEEN) -> SortAnswer:
    """The order in which a release prefers the nodes that answer."""
    rules = _rules(release)
    about = Round(me=node, answer=answer.answer(), seen=dict(seen))
    return SortAnswer(order=sort(_round(about, release), rules), why=ORDER[rules])


# -- locks and cleanup --------------------------------------------------------------------


SECONDS = Annotated[int | None, AtLeast(0)]


@question(
    "discovery.lock",
    "Whether two nodes that start at once are kept apart, and how.",
    release="3.8",
    backend="aws",
)
def answer_lock(
    *,
    release: Annotated[str, "a release, such as 4.1 or 3.8.4"] = "head",
    backend: Annotated[str, "the value of peer_discovery_backend"],
    delay_min: Annotated[
        SECONDS, "randomized_startup_delay_range.min, seconds; null: not set"
    ] = None,
    delay_max: Annotated[
        SECONDS, "randomized_startup_delay_range.max, seconds; null: not set"
    ] = None,
) -> lock.Guarded:
    """Return a release's protection, with this backend, against two nodes that start at once."""
    return lock.guard(_release_of(release), backend, delay_min, delay_max)


@question(
    "discovery.cleanup",
    "One check of a cluster by one of its members.",
    release="4.1",
    members=["rabbit@a", "rabbit@b", "rabbit@c"],
    unseen={"rabbit@c": 10},
    answer={"error": "status 503"},
    only_log_warning=False,
)
def answer_cleanup(
    *,
    release: RELEASE = "head",
    members: Annotated[tuple[str, ...], "all members, with the checking member"],
    unseen: Annotated[
        Mapping[str, float], "the members that do not answer, and for how many seconds"
    ],
    answer: ANSWER,
    only_log_warning: Annotated[bool, "the setting of this name"] = True,
    patience: Annotated[
        float, AtLeast(0), "how many seconds a member must be away before it is removed (ours)"
    ] = 3600.0,
) -> cleanup.CleanupResult:
    """Return the outcome for members that are not seen."""
    unknown = sorted(set(unseen) - set(members))
    if unknown:
        raise DoesNotFit("unseen", f"{unknown[0]!r} is not a member", next="name members only")
    ours = release == "ours"
    about = cleanup.Check(
        members=tuple(dict.fromkeys(members)),
        unseen=dict(unseen),
        answer=answer.answer(),
        only_warns=only_log_warning,
        patience=patience,
        release=LATEST if ours else _release_of(release),
    )
    if not about.members:
        raise DoesNotFit("members", "the list is empty", next="name at least the checking member")
    return cleanup.check(about, "ours" if ours else "real")


QUESTIONS: tuple[Question[Any, Any], ...] = (
    answer_conf,
    answer_boot,
    answer_sort,
    answer_lock,
    answer_cleanup,
    *BACKEND_QUESTIONS,
)
