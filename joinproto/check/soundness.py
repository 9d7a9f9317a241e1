"""Checks of a world's parts before a search: their types, and settings that contradict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from joinproto.check.beginnings import unsound_beginnings
from joinproto.check.fairness import unsound_fairness
from joinproto.check.faults import Faults, is_of_links
from joinproto.check.network import FifoLinks, MessageBag, MessageSet
from joinproto.check.problems import kind_words
from joinproto.check.properties import Property
from joinproto.check.same import unsound_same

SPLIT_MEMBERS_MAX = 16
"""The most members of which every split is tried; one member more doubles their number."""


def unsound(world: Any) -> Iterator[tuple[str, str]]:
    """Yield pairs of text: a wrong or useless setting, and the expected one."""
    if not isinstance(world.name, str):
        yield f"name is {world.name!r}", "a text"
    if not isinstance(world.members, Mapping):
        yield (
            f"members is {kind_words(world.members)}",
            "a dict of name to a function that makes the member",
        )
        return
    for name, make in world.members.items():
        if not isinstance(name, str):
            yield f"a member is named {name!r}", "a text for a name"
        elif not callable(make):
            wanted = f"a function that makes it: lambda: {type(make).__name__}(...)"
            yield f"member {name} is {kind_words(make)}", wanted
    for name in ("properties", "fairness", "interchangeable", "labels", "beside"):
        if isinstance(getattr(world, name), Iterator):
            found = f"{name} is {kind_words(getattr(world, name))}, which can be read only once"
            yield found, "a list"
            return
    for item in world.properties:
        if not isinstance(item, Property):
            yield f"a property is {kind_words(item)}", "always(...), sometimes(...) and the like"
            continue
        if item.among == ():
            yield (
                f"property {item.name!r} is among no members",
                "at least one member, or a property without `among`",
            )
        asked: tuple[Any, ...] = (item.holds, *item.asks)
        for call in asked:
            if not callable(call):
                yield (
                    f"property {item.name!r} asks {kind_words(call)}",
                    "a function of observations",
                )
        if item.abstract is not None and not isinstance(item.abstract, type(world)):
            yield (
                f"property {item.name!r} is compared with {kind_words(item.abstract)}",
                "a World(...)",
            )
        elif item.abstract is not None:
            for name in ("same", "within"):
                if getattr(item.abstract, name) is not None:
                    yield (
                        f"property {item.name!r} is compared with a world that has {name}",
                        f"an abstract world without {name}, with all its states and steps",
                    )
    networks = (MessageSet, MessageBag, FifoLinks)
    if not isinstance(world.network, networks):
        yield f"network is {kind_words(world.network)}", "MessageSet(), MessageBag() or FifoLinks()"
    elif isinstance(world.network, MessageSet) and not world.network.with_sender:
        yield from _unsound_without_senders(world.network, world.faults)
    if not isinstance(world.faults, Faults):
        yield f"faults is {kind_words(world.faults)}", "Faults(crashes=1) and the like"
    if world.start not in ("up", "down"):
        yield f"start is {world.start!r}", '"up" or "down"'
    for name in ("monitor", "show", "show_disk", "together", "within", "same", "picture"):
        value = getattr(world, name)
        if name == "together" and isinstance(value, (list, tuple)):
            continue
        if value is not None and not callable(value):
            also = ", or a list of Together(...)" if name == "together" else ""
            yield f"{name} is {kind_words(value)}", f"a function{also}"
    if world.show_links and isinstance(world.network, MessageSet):
        found = "show_links with a MessageSet, in which every message stays under way"
        yield found, "FifoLinks() or MessageBag(), or a monitor to which members Record messages"
    yield from unsound_same(world)
    yield from unsound_fairness(world.fairness, world.members)
    if world.beginnings is not None:
        yield from unsound_beginnings(world.beginnings, world.members)
    for name in ("interchangeable", "labels", "beside"):
        value = getattr(world, name)
        if isinstance(value, str) or not all(isinstance(item, str) for item in value):
            yield f"{name} is {value!r}", "a list of texts"
    if isinstance(world.faults, Faults):
        yield from _idle_budgets(world.faults, world.network)
        yield from _impossible_faults(world.faults, set(world.members))
        strangers = sorted(map(str, set(world.faults.spared) - set(world.members)))
        if strangers:
            yield f"spared names {', '.join(strangers)}", "members of this world"
    if isinstance(world.faults, Faults) and world.faults.splits is not None:
        yield from _unsound_splits(world.faults.splits, set(world.members))


def _unsound_without_senders(network: MessageSet, faults: Any) -> Iterator[tuple[str, str]]:
    """Yield the settings that need messages with senders, in a network without senders."""
    if network.broadcasts == "one":
        found = (
            'MessageSet(with_sender=False, broadcasts="one"): a broadcast to all others needs a'
            " sender"
        )
        yield found, 'broadcasts="each", which is a message to each other member'
    if isinstance(faults, Faults) and faults.partitions:
        found = (
            f"partitions={faults.partitions} with MessageSet(with_sender=False):"
            " a split delays messages by their senders"
        )
        yield found, "no partitions, or a MessageSet() with senders"


def _idle_budgets(faults: Faults, network: Any) -> Iterator[tuple[str, str]]:
    """Yield budgets of faults that have no effect in this network."""
    if isinstance(network, MessageSet):
        for name, count in (("losses", faults.losses), ("duplicates", faults.duplicates)):
            if count:
                found = (
                    f"{name}={count} has no effect in a MessageSet, which may lose and double"
                    " every message"
                )
                yield found, f"no {name}, or network=MessageBag()"
    if isinstance(network, FifoLinks) and faults.duplicates:
        found = f"duplicates={faults.duplicates} has no effect in FifoLinks, which never double"
        yield found, "no duplicates, or network=MessageBag()"


def _impossible_faults(faults: Faults, members: set[str]) -> Iterator[tuple[str, str]]:
    """Yield budgets that cannot be spent."""
    for name in ("crashes", "wipes"):
        if getattr(faults, name) and members and members <= set(faults.spared):
            yield f"{name}={getattr(faults, name)}, and every member is spared", f"no {name}"
    if faults.partitions and (len(members) < 2 or faults.splits == ()):
        found = f"partitions={faults.partitions}, and no split is possible"
        yield found, "two members or more, and `splits` left out or not empty"
    if faults.partitions and faults.splits is None and len(members) > SPLIT_MEMBERS_MAX:
        found = f"partitions={faults.partitions}: {len(members)} members can be split in"
        found += f" {2 ** (len(members) - 1) - 1:,} ways"
        yield found, f"splits=(...) with the splits to try, or at most {SPLIT_MEMBERS_MAX} members"


def _unsound_splits(splits: Any, members: set[str]) -> Iterator[tuple[str, str]]:
    wanted = "a tuple of frozensets, each the members on one side, or links_cut(...)"
    if not isinstance(splits, tuple) or not all(isinstance(side, frozenset) for side in splits):
        yield f"splits is {splits!r}", wanted
        return
    for side in splits:
        if is_of_links(side):
            named = {name for pair in side for name in pair}
            if strangers := sorted(map(str, named - members)):
                yield f"a split cuts a link of {strangers[0]!r}, which is not a member", wanted
            continue
        strangers = sorted(map(str, side - members))
        if strangers:
            yield f"a split names {strangers[0]!r}, which is not a member", wanted
        if not side or side == members:
            yield f"a split has {'all members' if side else 'no members'} on one side", wanted
