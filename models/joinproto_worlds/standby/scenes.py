"""The scenes of hot standby: stories with their faults and claims, one for each known limit.

Source: hot standby, H1 to H10; LM1 to LM5, LC1 to LC6.
"""

from __future__ import annotations

from functools import cache, partial

from attrs import evolve, frozen

from joinproto.check.world import World
from joinproto.machine.world import copied
from joinproto.standby.broker import Variant
from joinproto.standby.catch_up import SEQUENCE
from joinproto.standby.events import Start
from joinproto.standby.machine import Broker
from joinproto.standby.messages import View
from joinproto.standby.primary_state import Who
from joinproto_worlds.standby.claims import claims, shown
from joinproto_worlds.standby.played import BUDGETS, Played, perform_op, settle
from joinproto_worlds.standby.ports import Act, Disk
from joinproto_worlds.standby.story import (
    AGAIN,
    BINDING,
    EXCHANGE,
    OTHER,
    QUEUE,
    SCRATCH,
    Manager,
    Op,
    Story,
    put,
    take,
)

_TAKEN_OVER = ("second", "done")


@frozen
class Scene:
    """A story, its claims, and the states that some run must reach."""

    story: Story
    claims: tuple[str, ...] = ("lost", "generation")
    reached: tuple[str, ...] = _TAKEN_OVER


_PAIR = Story(warm=2)
_THREE = Story(names="abc", warm=3, deaths=1, promotions=1)

SCENES: dict[str, Scene] = {
    "start": Scene(
        Story(names="ab", warm=0, promotions=1, ops=(Op(declares=OTHER),)),
        ("lost", "differs", "alone"),
        ("level", "done"),
    ),
    "failover": Scene(
        evolve(_PAIR, deaths=1, promotions=1, ops=(put("x"), take("x"), put("y"))),
        ("lost", "returned", "differs", "alone"),
    ),
    "failback": Scene(
        Story(
            warm=2, deaths=1, starts=1, promotions=1, before=(put("w"),), ops=(put("x"), put("y"))
        ),
        ("lost", "differs", "alone"),
        ("second", "level", "done"),
    ),
    "failure-in-failback": Scene(
        Story(warm=1, deaths=1, promotions=1, before=(put("w"),), ops=(put("x"),)),
        ("lost", "alone"),
        ("level", "done"),
    ),
    "old-returns": Scene(
        Story(warm=2, deaths=2, starts=1, promotions=2, ops=(put("x"), put("y"))), ("lost", "alone")
    ),
    "cut-off": Scene(Story(warm=2, cuts=1, promotions=1, heals=True, ops=(put("x"), put("y")))),
    "told-late": Scene(Story(warm=2, cuts=1, promotions=1, late=True, ops=(put("x"), put("y")))),
    "old-serves": Scene(
        Story(names="abc", warm=3, succeeded=True, deaths=1, promotions=1, ops=(put("x"),))
    ),
    "dropped": Scene(Story(warm=2, cuts=1, deaths=1, promotions=1, ops=(put("x"),))),
    "built-in": Scene(Story(warm=2, deaths=2, starts=1, promotions=1, ops=(put("x"),))),
    "outside": Scene(
        Story(warm=1, deaths=1, promotions=1, ops=(Op(declares=OTHER),)), ("lost",), ("done",)
    ),
    "two-promoted": Scene(
        Story(names="abc", warm=3, deaths=1, promotions=2, heals=False, ops=(put("x"),))
    ),
    "total": Scene(
        Story(warm=2, deaths=2, starts=1, promotions=1, cuts=1, heals=False, ops=(put("x"),))
    ),
    "left": Scene(
        Story(warm=2, cuts=1, deaths=1, starts=1, promotions=1, ops=(put("x"),)),
        ("lost", "generation", "stuck"),
    ),
    "continues": Scene(
        Story(
            warm=2, deaths=2, starts=2, promotions=1, able=("a",), continues=True, ops=(put("x"),)
        )
    ),
    "stopped": Scene(
        Story(
            warm=2, deaths=1, stops=1, starts=1, promotions=1, cuts=1, heals=False, ops=(put("x"),)
        )
    ),
    "stopped-dirty": Scene(
        Story(
            warm=2,
            deaths=2,
            stops=1,
            stops_late=True,
            starts=2,
            promotions=1,
            cuts=1,
            heals=False,
            ops=(put("x"),),
        ),
        ("lost", "generation"),
        ("done",),
    ),
    "ahead": Scene(  # LM1
        evolve(_THREE, ops=(put("x"), put("y"))), ("lost", "differs"), ("second", "level")
    ),
    "wrap": Scene(  # LM2
        Story(warm=2, cuts=1, before=(put("w"),), ops=(Op(passes=SEQUENCE // 2 + 5), put("x"))),
        ("differs",),
        ("level", "done"),
    ),
    "transaction": Scene(  # LM3
        Story(
            warm=2,
            deaths=1,
            promotions=1,
            before=(Op(declares=OTHER), put("w")),
            ops=(Op(puts=(("r", "x"), ("r", "y")), takes=(("q", "w"),)),),
        ),
        ("lost", "torn"),
    ),
    "acknowledged": Scene(  # LM4
        Story(warm=2, deaths=1, promotions=1, before=(put("w"),), ops=(take("w"),)), ("returned",)
    ),
    "early": Scene(  # LM5
        evolve(_THREE, deaths=2, promotions=2, patient=True, ops=(put("x"),)), ("lost",)
    ),
    "bindings": Scene(  # LC1
        evolve(_PAIR, ops=(Op(declares=EXCHANGE), Op(declares=BINDING))),
        ("differs",),
        ("level", "done"),
    ),
    "declared": Scene(  # LC2
        evolve(_PAIR, deaths=1, promotions=1, ops=(Op(declares=OTHER),)), ("lost",), _TAKEN_OVER
    ),
    "declared-alone": Scene(
        Story(
            names="a",
            warm=1,
            deaths=1,
            starts=1,
            promotions=1,
            ops=(Op(declares=OTHER), put("x"), take("x")),
        ),
        ("lost", "returned"),
    ),
    "deleted": Scene(  # LC3
        Story(warm=2, cuts=1, before=(Op(declares=OTHER),), ops=(Op(deletes=OTHER),)),
        ("differs",),
        ("level", "done"),
    ),
    "event-ahead": Scene(  # LC4
        evolve(_THREE, ops=(Op(declares=OTHER),)), ("lost", "differs"), ("second", "level")
    ),
    "replaced": Scene(  # LC4
        Story(
            warm=2,
            cuts=1,
            before=(Op(declares=OTHER),),
            ops=(Op(deletes=OTHER), Op(declares=AGAIN)),
        ),
        ("differs",),
        ("level", "done"),
    ),
    "chosen": Scene(  # LC5
        evolve(_PAIR, ops=(Op(declares=SCRATCH), Op(declares=OTHER))),
        ("unchosen",),
        ("level", "done"),
    ),
    "overtaken": Scene(  # LC6
        Story(warm=1, apart=True, before=(Op(declares=OTHER),), ops=(Op(deletes=OTHER),)),
        ("differs",),
        ("level", "done"),
    ),
}


@cache
def at_beginning(story: Story) -> Played:
    """Return the state in which the story begins, after the actions before played."""
    brokers = {
        name: Broker(
            who=Who(me=name, variant=story.variant, keeper=story.manager.keeper, order=story.order)
        )
        for name in story.names
    }
    keeps = story.manager if story.manager is Manager.BUILT_IN else Manager.UNFENCED
    at_first = evolve(story, manager=keeps, late=False, halfway=False, power=False, half_open=False)
    played = Played(at_first, None, brokers, View(), {})
    played.left["promotions"] = 9
    played.disk |= {name: Disk() for name in story.names}
    for name in story.names:
        played.tell(name, Start())
    first, *others = tuple(story.names)
    if story.warm:
        played.promote(first)
        for at, op in enumerate((Op(declares=QUEUE), *story.before)):
            perform_op(played, first, -1 - at, op)
        for name in others[: story.warm - 1]:
            played.receive(Act("connects to", name, first))
    settle(played)
    if story.succeeded:
        played.cut(first)
        played.promote(others[0])
        played.receive(Act("connects to", others[1], others[0]))
        settle(played)
        played.cut_off = ""
    played.plot, played.confirmed, played.newest = story, frozenset(), 0
    played.left = {name: getattr(story, name) for name in BUDGETS}
    played.rest()
    return played


def build(
    members: int = 1,
    mutant: str | None = None,
    *,
    scene: str = "failover",
    variant: str = "ours",
    manager: str = "careful",
    marks: str = "",
    halfway: bool = False,
    power: bool = False,
    half_open: bool = False,
    wipes: int = 0,
    backups: int = 0,
) -> World:
    """Return the world of a scene.

    `members`: 1, the story; the scene says how many brokers there are.  `marks`, `halfway`,
    `power`, `half_open`, `wipes`, `backups`: see `Story`.
    """
    chosen = SCENES[scene]
    story = evolve(
        chosen.story,
        variant=Variant(variant),
        manager=Manager(manager),
        marks=marks,
        halfway=halfway or power,
        power=power,
        half_open=half_open,
        wipes=wipes,
        backups=backups,
    )
    return World(
        name=f"standby-{scene}",
        members={"story": partial(_begin, story, mutant)},
        properties=claims((*chosen.claims, *(("unkept",) if power else ())), chosen.reached),
        show=shown,
        about="brokers, their links and their clients, in every order of what may happen",
    )


def _begin(story: Story, mutant: str | None) -> Played:
    return evolve(copied(at_beginning(story)), mutant=mutant)
