"""The operators of a module of TLA+, and values as its text."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from joinproto.check.network import FifoLinks, MessageSet
from joinproto.check.properties import Property
from joinproto.check.world import World

_PAIRS_MAX = 64
"""A function of more pairs is written in two halves if `text_of` is asked to do so."""

Value = Any
"""A number, a tuple or list (a sequence), a set, or a dict (a function, not inside another)."""


def text_of(value: Value, *, halved: bool = False) -> str:
    """Return a value as an expression; unordered collections are sorted, by text.

    `halved`: write a long function as the union of two halves, as TLC reads a union by recursion.
    """

    def pairs(items: list[tuple[Value, Value]]) -> str:
        if halved and len(items) > _PAIRS_MAX:
            middle = len(items) // 2
            return f"({pairs(items[:middle])}) @@ ({pairs(items[middle:])})"
        return " @@ ".join(f"{text(key)} :> {text(item)}" for key, item in items)

    text = partial(text_of, halved=halved)
    match value:
        case int():
            return str(value)
        case tuple() | list():
            return f"<<{', '.join(map(text, value))}>>"
        case set() | frozenset():
            return "{" + ", ".join(sorted(map(text, value))) + "}"
        case dict() if value:
            return pairs([*value.items()])
    return "<<>>"  # the function with an empty domain


def invariant(at: int, item: Property) -> str:
    """Return the name of a claim's invariant, which for a `sometimes` says: it is never reached."""
    return f"{'Claim' if item.kind == 'always' else 'Never'}_{at}"


def module(world: World, name: str, claims: Sequence[Property], constants: Sequence[str]) -> str:
    """Return the module: variables, actions, claims.

    `claims`: claims about states; their numbers are from 1.
    """
    lines = [
        f"---- MODULE {name} ----",
        f"(* {_comment(world.about or world.name)}",
        "",
        "   The answers of members' code are data, in the constants; local states of members,",
        "   contents of messages and surroundings have numbers.  Members:",
        *(f"   {at} {_comment(member)}" for at, member in enumerate(world.members, 1)),
        "*)",
        "EXTENDS Naturals, Sequences, FiniteSets, TLC",
        f"CONSTANTS {', '.join(constants)}",
        "VARIABLE now",
        "",
        f"Members == 1..{len(world.members)}",
        _network(world),
        _STEPS.replace("DELIVERED", _OF_SET if isinstance(world.network, MessageSet) else _OF_LINKS)
        .replace("HEAR", _HEAR if "Hearing" in constants else "Hear(mon, heard) == mon")
        .replace("KEPT", _KEPT if "Stamps" in constants else "Kept(states) == states")
        .replace("FIRST_NET", "f[4]" if isinstance(world.network, MessageSet) else _FIRST_LINKS)
        .replace("JOINT", _joint(world) if "Joint" in constants else "Joined == FALSE"),
    ]
    for at, item in enumerate(claims, 1):
        holds = f"{at} \\notin Says[Key(now)]"
        lines.append(f"{invariant(at, item)} == {holds}  \\* {_comment(item.name)}")
    return "\n".join([*lines, "====", ""])


def _comment(text: str) -> str:
    return " ".join(text.replace("(*", "( *").replace("*)", "* )").split())


def _joint(world: World) -> str:
    """Return the joint steps one by one, because not every checker supports recursion there."""
    whole = "{now}"
    for at in range(1, len(world.members) + 1):
        whole = f"Then({whole}, way, {at})"
    return _JOINT.replace("WHOLE", whole)


def _network(world: World) -> str:
    network = world.network
    if isinstance(network, MessageSet):
        sender = "i" if network.with_sender else "0"
        return _SET.replace("SENDER", sender)
    is_fifo = isinstance(network, FifoLinks)
    full = "FALSE" if network.capacity is None else f"Size(link) >= {network.capacity}"
    text = (_FIFO if is_fifo else _BAG) + _LINKS
    waits = "TRUE" if network.when_full == "wait" else "FALSE"
    text = f"\nWaits == {waits}{text}"
    return text.replace("FULL", full).replace("IS_LOST", "o[4] = 1" if is_fifo else "FALSE")


_SET = r"""
\* A message is <<sender, addressee, content>>; addressee 0: all others.
Into(net, i, o) == {net \cup {<<SENDER, o[2][k][1], o[2][k][2]>> : k \in 1..Len(o[2])}}
Addressees(m) == IF m[2] = 0 THEN Members \ {m[1]} ELSE {m[2]}
"""

_FIFO = r"""
\* A link is a sequence of contents, the oldest first.
Add(link, c) == Append(link, c)
Size(link) == Len(link)
Deliverable(link) == IF link = <<>> THEN {} ELSE {Head(link)}
Without(link, c) == Tail(link)
"""

_BAG = r"""
\* A link is a set of <<content, number among equal contents>>.
Alike(link, c) == Cardinality({p \in link : p[1] = c})
Add(link, c) == link \cup {<<c, 1 + Alike(link, c)>>}
Size(link) == Cardinality(link)
Deliverable(link) == {p[1] : p \in link}
Without(link, c) == link \ {<<c, Alike(link, c)>>}
"""

_LINKS = r"""IsFull(link) == FULL
To(i, sent) == IF sent[1] = 0 THEN Members \ {i} ELSE {sent[1]}
Full(net, i, to) == {j \in to : IsFull(net[i][j])}
Added(net, i, to, c) ==
  [a \in Members |-> [b \in Members |->
    IF a = i /\ b \in to THEN Add(net[a][b], c) ELSE net[a][b]]]
PutOne(net, i, sent, to) ==
  IF Waits /\ Full(net, i, to) # {} THEN {}
  ELSE {Added(net, i, to \ Full(net, i, to), sent[2])}
RECURSIVE Put(_, _, _, _)
Put(nets, i, sent, lost) ==
  IF sent = <<>> THEN nets
  ELSE Put(UNION {PutOne(net, i, Head(sent), To(i, Head(sent)) \ lost) : net \in nets},
           i, Tail(sent), lost)
\* A crash of a member with queues: messages under way to it are lost with its connections.
Emptied(net, i) == [a \in Members |-> [b \in Members |-> IF b = i THEN <<>> ELSE net[a][b]]]
Into(net, i, o) == IF IS_LOST THEN Put({Emptied(net, i)}, i, o[2], {i}) ELSE Put({net}, i, o[2], {})
"""

_HEAR = r"""RECURSIVE Hear(_, _)
Hear(mon, heard) ==
  IF heard = <<>> THEN mon ELSE Hear(Hearing[<<mon, Head(heard)>>], Tail(heard))"""

_FIRST_LINKS = "[a \\in Members |-> [b \\in Members |-> f[4][a][b]]]"

_KEPT = r"""Useful(state, m) ==
  Stamps[m] = {} \/ \E p \in Stamps[m] : Horizon[p[1]][state.local[p[1]]] <= p[2]
Kept(states) ==
  {[state EXCEPT !.net = {m \in state.net : Useful(state, m)}] : state \in states}"""

_JOINT = r"""\* A joint step is a sequence of <<member, outcome>>.
Then(states, way, k) ==
  IF k > Len(way) THEN states
  ELSE UNION {After(state, way[k][1], way[k][2]) : state \in states}
AfterAll(way) == WHOLE
Joined == \E way \in Joint[Key(now)] : now' \in Kept(AfterAll(way))"""

_STEPS = r"""
\* The parts of a state that claims and joint steps see.
Key(state) == state.local \o <<state.mon, Split[state.env]>>
Reaches(a, b) == <<a, b>> \notin Cut[now.env]
HEAR
\* An outcome is <<local state after it, messages sent, events recorded, fault>>.
After(state, i, o) ==
  LET env == IF o[4] = 0 THEN state.env ELSE Spend[o[4]][state.env]
  IN IF env = 0 THEN {}
     ELSE {[local |-> [state.local EXCEPT ![i] = o[1]], mon |-> Hear(state.mon, o[3]),
            env |-> env, net |-> net] : net \in Into(state.net, i, o)}
KEPT

Init == \E k \in 1..Len(First) :
  LET f == First[k] IN now = [local |-> f[1], mon |-> f[2], env |-> f[3], net |-> FIRST_NET]
Chosen == \E i \in Members : \E o \in Own[i][now.local[i]] : now' \in Kept(After(now, i, o))
Environment == \E e \in Moves[now.env] : now' = [now EXCEPT !.env = e]
DELIVERED
JOINT
Next == Chosen \/ Delivered \/ Environment \/ Joined
"""

_OF_SET = r"""Delivered ==
  \E m \in now.net : \E i \in Addressees(m) :
    Reaches(m[1], i) /\ \E o \in Hears[i][<<now.local[i], m[1], m[3]>>] :
      now' \in Kept(After(now, i, o))"""

_OF_LINKS = r"""Delivered ==
  \E a \in Members : \E b \in Members : \E c \in Deliverable(now.net[a][b]) :
    LET rest == [now EXCEPT !.net = [@ EXCEPT ![a] = [@ EXCEPT ![b] = Without(@, c)]]]
        lost == Spend[3][now.env]
        twice == Spend[4][now.env]
    IN \/ Reaches(a, b) /\ \E o \in Hears[b][<<now.local[b], a, c>>] :
            now' \in Kept(After(rest, b, o))
       \/ lost # 0 /\ now' = [rest EXCEPT !.env = lost]
       \/ twice # 0 /\ IsFull(now.net[a][b]) /\ ~Waits /\ now' = [now EXCEPT !.env = twice]
       \/ twice # 0 /\ ~IsFull(now.net[a][b]) /\ now' =
            [now EXCEPT !.env = twice,
                        !.net = [@ EXCEPT ![a] = [@ EXCEPT ![b] = Add(@, c)]]]"""
