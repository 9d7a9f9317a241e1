"""Each case of the tables as a sentence, for operators and for programs.

Source: Clusterer, U1 to U7.
"""

from __future__ import annotations

from joinproto.clusterer.config import Config, Held
from joinproto.clusterer.writing import as_erlang

WHY = {
    "not now": "a node that has not started, boots or has ended takes no config",
    "not valid": "the config is not valid",
    "in transition": "a transition is under way, which takes a younger config over",
    "the broker is paused": "something else has stopped the broker",
    "younger": "the config is younger than the one it holds",
    "older": "the config is older than the one it holds",
    "already applied": "it holds this very config",
    "same version, other content": "it holds another config of the same version",
    "before the start": "it has not started, and will tell the sender what it holds then",
    "booting, coeval": "its broker boots with this very config, and it notes who sent it",
    "booting": "its broker boots, and it will tell the sender what it holds then",
    "younger, in transition": "the config is younger than the one that it heads for",
    "coeval": "it holds this very config, and notes who sent it",
    "alone": "the config is this node alone",
    "adopted in silence": "it took the younger config over without a restart: its data go with it",
    "data kept": "its data go with the config, and it comes back with them",
    "data given up": "its data do not go with the config, and it is to join",
    "left out": "the config does not name it; it may be taken into another one",
    "ready nodes have other data": "a node of the config was ready with data of others, and it"
    " went to that one without its own",
    "another is ready by itself": "another node is ready with this very config, and neither knows"
    " the other as a member: unless others joined both, there are two sets of data, until a younger"
    " config names as gospel whose are to survive",
    "a node is ready": "a node of the config was ready, and it went to that one",
    "a node is unreachable": "all nodes must be there and joining, and {others} cannot be reached",
    "a node is not joining": "all others must be joining, and {others} is not",
    "first, wiped": "the gospel is reset, and its name is the least: it went first, without data",
    "first": "it is the gospel: it went first, with its data",
    "another is first": "{others} goes first",
    "a ram node": "a ram node waits for a disc node: {others}",
    "a later one is away": "{others} ran longer than it, may have newer data, and is away",
    "no node ran longer": "no node ran longer than it: it went",
    "no other comes back": "{others} ran when it stopped and is not yet ready",
    "others wait too": "it asks the others which nodes they await",
    "an answer is missing": "not all nodes have said yet which nodes they await",
    "its circle awaits a node outside": "{others} ran longer, and may have newer data",
    "another of its circle stopped later": "of {others} one saw it stop, and may have newer data",
    "its circle awaits itself alone": "those that it awaited await it, too: it went",
    "another is to go first": "its data are not all that there are, so it lets another one go",
    "a lock is held by another": "{others} was about to go when it wanted to",
}


def reason(rule: str, case: str, others: frozenset[str]) -> str:
    """Return the reason of a node's state in a sentence, with the rule and the case."""
    return f"{said(case, others)} ({rule} {case})"


def said(case: str, others: frozenset[str] = frozenset()) -> str:
    """Return the case in a sentence."""
    return WHY.get(case, case).format(others=" and ".join(sorted(others)) or "another node")


def both_contents(has: Config, given: Config) -> str:
    """Return why a config is refused whose version the node has with another content."""
    one, other = as_erlang(Held(has)), as_erlang(Held(given))
    return f"the node has\n{one}and was given\n{other}give the config a higher version"
