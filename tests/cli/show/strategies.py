"""Hypothesis strategies for traces, with texts of any characters."""

from __future__ import annotations

from typing import get_args

from hypothesis import strategies as st

from joinproto.check.properties import Kind
from joinproto.check.report import MessageText, Step, Trace

# The texts include lone surrogates and control characters, because a model may have them.
texts = st.text(st.characters(), max_size=12)
names = st.text(st.characters(), min_size=1, max_size=8)
ACTIONS = (
    "receive",
    "start",
    "crash",
    "crash while receiving",
    "lose",
    "duplicate",
    "split",
    "heal",
    "",
)
KINDS = (*get_args(Kind), "")


@st.composite
def any_trace(draw: st.DrawFn) -> Trace:
    """Draw a trace, which need not make sense."""
    members = draw(st.lists(names, min_size=1, max_size=5, unique=True))
    someone = st.sampled_from(members)
    attributes = st.dictionaries(texts, texts, max_size=3)
    states = st.fixed_dictionaries(dict.fromkeys(members, attributes))
    messages = st.builds(MessageText, st.none() | someone, st.none() | someone, texts)
    steps = st.builds(
        Step,
        st.sampled_from(ACTIONS) | texts,
        st.none() | someone,
        st.none() | messages,
        st.lists(messages, max_size=2).map(tuple),
        states,
        st.lists(texts, max_size=2).map(tuple),
        texts | st.lists(someone).map(lambda side: f"off {' '.join(side)}"),
    )
    taken = tuple(draw(st.lists(steps, max_size=5)))
    loop_at = draw(st.none() | st.integers(0, len(taken)))
    return Trace(
        draw(texts), draw(st.sampled_from(KINDS)), draw(states), taken, loop_at, draw(texts)
    )
