"""The question to a policy, as one line of JSON, and its possible answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, Literal, get_args

from attrs import field, frozen

from joinproto.codec.json_form import encoded
from joinproto.recovery.schema import Store

Ask = Literal["choose-founder", "may-i-start", "may-i-remove"]
ASKS: tuple[str, ...] = get_args(Ask)

WAIT = "wait"
REFUSE = "refuse"
FIXED: Mapping[str, tuple[str, ...]] = {
    "choose-founder": (WAIT, REFUSE),
    "may-i-start": ("found", "join", WAIT, REFUSE),
    "may-i-remove": ("yes", "no", WAIT),
}
"""The answers to each question, besides the name of a node (for `choose-founder` only)."""


@frozen(kw_only=True)
class Question:
    """One line on a policy's standard input."""

    ask: Annotated[Ask, "the kind of question"]
    nodes: Annotated[tuple[str, ...], "all nodes that the cluster is known to have"]
    node: Annotated[
        str | None, "may-i-start: the node that asks; may-i-remove: the node to remove; else null"
    ] = None
    stores: Annotated[tuple[Store, ...], "the stores, as `recover collect --json` prints them"]
    unknown: Annotated[
        Mapping[str, str], "node to why its store is not known: `timed-out`, `not-asked`"
    ] = field(factory=dict)
    reasons: Annotated[tuple[str, ...], "may-i-remove: the reason"] = ()

    @cached_property
    def line(self) -> str:
        """Return the question as one line of JSON, without a newline."""
        return json.dumps(encoded(self), separators=(",", ":"))

    def answer_of(self, text: str) -> str | None:
        """Return the answer in a line of the policy's output.

        None (JSON's null) means that the policy does not know the question.  An answer is a JSON
        string, or a plain word.  A node may be named by its host, its member or its store's name;
        its host is returned.  Raises `ValueError`, whose text names the expected values.
        """
        said = _answer_text(text)
        if said is None or said in FIXED[self.ask]:
            return said
        if self.ask == "choose-founder":
            chosen = [one for one in self.stores if said in (one.host, one.member, one.name)]
            if len(chosen) == 1:
                return chosen[0].host
        allowed = [*FIXED[self.ask], *(one.host for one in self.stores)]
        raise ValueError(f"expected one of {', '.join(allowed)}, found {said[:80]!r}")


def _answer_text(text: str) -> str | None:
    try:
        tree: Any = json.loads(text)
    except (ValueError, RecursionError):
        tree = text.strip()
    if isinstance(tree, dict):
        tree = tree.get("answer", tree)
    if tree is None or isinstance(tree, str):
        return tree
    raise ValueError(f"expected a string of JSON, found {text.strip()[:80]!r}")
