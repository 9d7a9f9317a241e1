"""The shipped join protocol, where a policy chooses one of the stores after the power has failed.

In each state of a join world the power may fail everywhere at once.  The operator then has the
stores of all members, or of some, as they are on the disks, and the policy is asked which of them
founds the cluster.  Its choice is compared with the frames that were committed so far.
"""

from __future__ import annotations

from functools import cache, lru_cache, partial
from itertools import combinations
from typing import Any

from attrs import evolve

from joinproto.check import View, World, always, sometimes
from joinproto.check.catalogue import entry
from joinproto.recovery.found import Fact, Format, Found, Raw, State
from joinproto.recovery.judgement import store_result
from joinproto.recovery.own import state_of
from joinproto.recovery.policy.asked import Questioner, StateQuestion
from joinproto.recovery.policy.question import Question
from joinproto_worlds.join import world as join
from joinproto_worlds.join.pick import Disk, Stores, shown_disk, stores_of
from joinproto_worlds.policy.asking import TIMED_OUT

PATH = "/var/lib/broker"
CHOSEN_MAX = 65_536
"""The most sets of disks whose choices are cached."""


def world(asker: Questioner) -> World:
    """Return the world of three members, where a second view leaves one member out.

    The view serves without that member, so stores differ in their frames without any crash.
    """
    return _asking("join-pick-some", asker, "policy-joinproto", partitions=0)


def world_of_two(asker: Questioner) -> World:
    """Return the world of two members with two crashes, after which one serves alone.

    Either store may have the later view, and the highest sequence number may be that of a frame
    that was never committed.
    """
    return _asking("join-pick", asker, "policy-joinproto-two")


def _asking(bounds: str, asker: Questioner, name: str, **given: Any) -> World:
    """Return the world with the bounds of the entry `bounds`, except those that are `given`."""
    item = entry(bounds)
    base = join.build(**{"members": item.usual, **item.given, **given})
    claims = [
        always("no acknowledged frame is lost", partial(_nothing_lost, asker)),
        sometimes("it chooses a store", partial(_is_chosen, asker)),
    ]
    return evolve(base, name=name, show_disk=shown_disk, properties=claims)


def _nothing_lost(asker: Questioner, view: View) -> bool:
    """Return whether the policy's choice has every committed frame, whichever stores answer."""
    committed = frozenset(view.monitor.committed)
    return all(committed <= kept for kept in _chosen(asker, stores_of(view), committed))


def _is_chosen(asker: Questioner, view: View) -> bool:
    return bool(_chosen(asker, stores_of(view), frozenset(view.monitor.committed)))


@lru_cache(maxsize=CHOSEN_MAX)
def _chosen(
    asker: Questioner, stores: Stores, committed: frozenset[object]
) -> tuple[frozenset[object], ...]:
    """Return the frames of each store that the policy chooses, for each set of stores that answer.

    Cached, because many states have the same disks.
    """
    chosen = []
    names = tuple(name for name, _ in stores)
    disks = dict(stores)
    for count in range(1, len(stores) + 1):
        for given in combinations(stores, count):
            safe = frozenset(name for name, disk in given if committed <= frozenset(disk.frames))
            answer = asker.answer(evolve(_about(names, given, stores), safe=safe))
            if answer in disks:
                chosen.append(frozenset(disks[answer].frames))
    return tuple(chosen)


@cache
def _about(names: tuple[str, ...], given: Stores, stores: Stores) -> StateQuestion:
    """Return the question of an operator who has the stores `given` of all `stores`."""
    found = tuple(_found(name, disk) for name, disk in given)
    silent = tuple(name for name in names if name not in dict(given))
    if not silent:
        return _asked(names, found)
    return evolve(
        _asked(names, found, silent),
        truth=partial(_about, names, stores, stores),
        blank=partial(_asked, names, (*found, *map(_blank, silent))),
    )


def _asked(
    names: tuple[str, ...], found: tuple[Found, ...], silent: tuple[str, ...] = ()
) -> StateQuestion:
    question = Question(
        ask="choose-founder",
        nodes=names,
        stores=tuple(map(store_result, found)),
        unknown=dict.fromkeys(silent, TIMED_OUT),
    )
    return StateQuestion(question=question, found=found)


def _blank(name: str) -> Found:
    raw = Raw(path=PATH, host=name, format=Format.JOINPROTO)
    return Found.of(raw, State.NONE, "there is no store here")


def _found(name: str, disk: Disk) -> Found:
    record = disk.record
    return Found.of(
        Raw(path=PATH, host=name, format=Format.JOINPROTO),
        state_of(record),
        member=name,
        cluster=str(record.lineage.initial or ""),
        record=record,
        seq=None if record.position is None else record.position.seq,
        facts=(Fact("views", str(record.lineage.length)),),
    )
