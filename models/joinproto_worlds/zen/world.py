"""Founding, elections and commits of a cluster: Elasticsearch's published model.

Source: elastic/elasticsearch-formal-models, `ZenWithTerms` (Apache-2.0), with founding as its
pull requests #36 (founding is a step) and #41 (a quorum is enough) add it; written here anew.  A
node founds with the quorum that it has found of the initial nodes.  Strangers, which are names that
no node has and that never vote, stand for the other nodes, so that the quorums of any two such
configurations still intersect.  Messages are a set that only grows.

As published: 3 nodes, 2 values, terms to 2, versions to 3 (2 in terms up to 1), 15 messages in the
set, runs from each initial configuration.  Differences:

* The initial value is always the first value: no rule reads a value, so the second is symmetric.
  All nodes begin with version 0 (#40 lets them begin with others).
* The published text of #41 was not at hand.  Here a founder takes any quorum of the initial nodes,
  also if it is none of them.  `founding="same"` is #36: all found with the same configuration.
* Bounds of terms and versions are guards.  States with more than 15 messages are judged, are
  counted as `beyond`, and have no steps; the published model judges but does not count them.
* A monitor remembers publications, their ancestors and commits.  The published claims use a
  relation of descent and the messages instead.  Two claims are stronger here: "one value"
  claims that no version is published twice in a term, and a commit must have a quorum of the
  configuration before it among the counted votes.

Unless `forgets=False`, data without any further use is forgotten.  This merges states that have the
same continuations:

* messages that their addressee can never take again (`last_use` in `node.py`), because its term, or
  the version that it has accepted in its term, is past them;
* the accepted value, which no rule reads, and the nodes to found with, once a node has a
  configuration;
* the configuration published last, and the votes for it, once it is committed.

`tests/models/slow_zen.py` is the published model a second time, as one set of messages.  Without
forgetting both have the same states, level by level.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from joinproto.check.properties import Property, always_each, always_monitor, sometimes_monitor
from joinproto.check.view import View
from joinproto.check.world import World
from joinproto_worlds.zen import history
from joinproto_worlds.zen.history import History
from joinproto_worlds.zen.node import Node, last_use
from joinproto_worlds.zen.rules import Rules, subsets


def build(
    members: int = 3,
    mutant: str | None = None,
    terms: int = 2,
    versions: int = 3,
    values: int = 2,
    messages: int = 15,
    founders: int = 0,
    founding: str = "quorum",
    *,
    forgets: bool = True,
) -> World:
    """Return the world of `members` nodes.

    `messages`: the most messages in the set, 0 for any number.  `founders`: how many initial nodes
    there are, 0 for any number.  Other arguments: see `Rules`.
    """
    names = [f"n{i}" for i in range(1, members + 1)]
    rules = Rules(frozenset(names), terms, versions, values, founding, forgets, mutant)
    initials = [one for one in subsets(rules.names) if founders in (0, len(one))]

    def expiry(sender: str | None, to: str | None, content: Any) -> Any:
        assert to is not None
        return last_use(rules, to, content)

    def within(view: View) -> bool:
        return bool(view.monitor.messages <= messages)

    return World(
        name="zen-founding",
        members={name: partial(Node, name, rules) for name in names},
        beginnings=[{name: {"initial": one} for name in names} for one in initials],
        monitor=partial(History, messages > 0),
        within=within if messages else None,
        expiry=expiry if forgets else None,
        interchangeable=names,
        properties=[*claims(), *occurrences(rules)],
        about="nodes found a cluster with the quorum that they have found, and elect masters",
    )


def claims() -> list[Property]:
    """Return the claims of the published model, in its order."""
    return [
        always_each("a node is consistent", lambda shown: shown == "in order"),
        always_monitor("one master in a term", history.has_one_master),
        always_monitor("one value in a version of a term", lambda past: not past.twice),
        always_monitor("descent is ordered", history.is_ordered),
        always_monitor("what is later builds on what is committed", history.builds_on_committed),
        always_monitor("what is committed is one line", history.is_one_line),
        always_monitor(
            "what is committed begins with the initial value", history.descends_from_initial
        ),
        always_monitor(
            "commits have a quorum of the configuration before", lambda past: not past.short
        ),
        always_monitor("a later term goes on behind it", history.later_terms_go_on),
    ]


def occurrences(rules: Rules) -> list[Property]:
    """Return the situations that must be reachable, because claims are vacuous without them."""
    found = [sometimes_monitor("something is committed", lambda past: bool(past.commits))]
    if rules.terms > 1 and rules.versions > 2:
        found += [
            sometimes_monitor("a later configuration commits", history.has_changed),
            sometimes_monitor("two nodes are masters", history.has_two_masters),
            sometimes_monitor("a later term commits upon what is committed", history.has_a_chain),
        ]
    if rules.founding == "quorum" and len(rules.names) > 2:
        # The quorum of two nodes is both, so there are no strangers.
        found.append(sometimes_monitor("strangers are in what commits", history.has_strangers))
    return found
