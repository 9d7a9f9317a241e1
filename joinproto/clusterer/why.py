"""Each case of the tables as a sentence, for operators and for programs.

Source: Clusterer, U1 to U7.
"""

from __future__ import annotations

from joinproto.clusterer.config import Config, Held
from joinproto.clusterer.writing import as_erlang

WHY = {
    "not now": "a node that has not started, boots or has ended takes no config",
    "not valid": "the config is not valid",
    "in transition": "a transition is under way, which also takes a younger config",
    "the broker is paused": "another program has stopped the broker",
    "younger": "the config is younger than the node's own",
    "older": "the config is older than the node's own",
    "already applied": "the node has this very config already",
    "same version, other content": "the node has another config of the same version",
    "before the start": "the node has not started; it will tell the sender its config then",
    "booting, coeval": "its broker boots with this very config; it notes the sender's identity",
    "booting": "its broker boots; after the boot it will tell the sender its config",
    "younger, in transition": "the config is younger than the one that the node heads for",
    "coeval": "the node has this very config, and notes the sender's identity",
    "alone": "the config names this node alone",
    "adopted in silence": "it adopted the younger config without a restart, and keeps its data",
    "data kept": "its data go with the config, and it comes back with them",
    "data given up": "its data do not go with the config, so it must join",
    "left out": "the config does not name it; a younger config may name it again",
    "ready nodes have other data": "a node of the config was ready with other data, so it joined"
    " that node without its own data",
    "another is ready by itself": "another node is ready with this very config, and neither knows"
    " the other as a member: unless others joined both, there are two sets of data, until a younger"
    " config names as gospel the node whose data must survive",
    "a node is ready": "a node of the config was ready, and it went to that node",
    "a node is unreachable": "all other nodes must be up and joining; this is not true of {others}",
    "a node is not joining": "all other nodes must be joining; this is not true of {others}",
    "first, wiped": "the gospel is reset, and this node is the first disc node by name: it went"
    " first, without data",
    "first": "this node is the gospel: it went first, with its data",
    "another is first": "{others} goes first",
    "a ram node": "a ram node waits for a disc node: {others}",
    "a later one is away": "{others} ran longer, may have newer data, and cannot be reached",
    "no node ran longer": "no other node ran longer, so it went first",
    "no other comes back": "it waits for {others}, which ran when this node stopped",
    "others wait too": "it asks the others which nodes they await",
    "an answer is missing": "not all nodes have said yet which nodes they await",
    "its circle awaits a node outside": "{others} ran longer, and may have newer data",
    "another of its circle stopped later": "one of {others} saw it stop, and may have newer data",
    "its circle awaits itself alone": "the nodes that it awaited await it, too, so it went first",
    "another is to go first": "other nodes may have newer data, so it lets another node go first",
    "a lock is held by another": "{others} refused its lock, so it will ask again",
}


def reason(rule: str, case: str, others: frozenset[str]) -> str:
    """Return the reason for a node's state in a sentence, with the rule and the case."""
    return f"{said(case, others)} ({rule} {case})"


def said(case: str, others: frozenset[str] = frozenset()) -> str:
    """Return the case in a sentence.  `others`: the nodes that it is about."""
    return WHY.get(case, case).format(others=" and ".join(sorted(others)) or "another node")


def both_contents(has: Config, given: Config) -> str:
    """Return why a config is refused if the node has another config of the same version."""
    one, other = as_erlang(Held(has)), as_erlang(Held(given))
    return f"the node has\n{one}and was given\n{other}give the config a higher version"
