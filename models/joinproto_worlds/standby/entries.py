"""The worlds of hot standby, each with its subject and expected result."""

from __future__ import annotations

from typing import Any

from joinproto.check.entry import Entry, Family

SCENES = Family("joinproto_worlds.standby.scenes:build", prefix="standby-")
CHASE = Family("joinproto_worlds.standby.chase:build")
ENTRANCE = Family("joinproto_worlds.standby.entrance:build")


def _scene(name: str, about: str, mutants: tuple[str, ...] = (), **given: Any) -> Entry:
    """Return the entry of a story that holds; its scene is `given`, or has the entry's name."""
    given.setdefault("scene", name)
    return SCENES(name, about, tier="long" if name in _LONG else None, mutants=mutants, **given)


_LONG = (
    *("ahead", "cut-off", "told-late", "two-promoted", "old-serves"),
    *("continues-halfway", "stopped-halfway", "dropped-halfway", "continues-wiped"),
    *(f"{name}-half-open" for name in ("left", "cut-off", "dropped", "continues")),
    *(f"{name}-half-open" for name in ("old-returns", "failback", "total")),
    *("total-power", "early-power", "dropped-power"),
    *("stopped", "continues", "early-halfway", "total-halfway", "left", "failback-wiped"),
    *("event-ahead", "dropped-built-in", "built-in-wiped", "shipped-waits", "stopped-dirty"),
)


HALFWAY: dict[str, dict[str, Any]] = {
    "total": {"manager": "last", "marks": "best"},
    "continues": {"manager": "built in"},
    "stopped": {"manager": "built in"},
    "dropped": {"manager": "built in"},
    "early": {},
}


HALF_OPEN: dict[str, dict[str, Any]] = {
    "failover": {},
    "failback": {},
    "old-returns": {},
    "total": {"manager": "last", "marks": "best"},
    "left": {"manager": "knowing", "marks": "left"},
    "cut-off": {"manager": "built in"},
    "dropped": {"manager": "built in"},
    "continues": {"manager": "built in"},
}
POWER = ("total", "early", "dropped")
"""Scenes of `HALFWAY` in which the power is cut, too."""


def _breaks(name: str, about: str, steps: int, scene: str, **given: Any) -> Entry:
    return SCENES(name, about, steps=steps, scene=scene, **given)


def _limit(limit: str, scene: str, about: str, steps: int) -> Entry:
    """Return the entry of a limit of the document: a story by the rules of its prototype."""
    return _breaks(limit, f"{limit[:3].upper()}: {about}", steps, scene, variant="seed")


STORIES: tuple[Entry, ...] = (
    _scene("start", "initial start: one is promoted, the other one follows", ("never-a-backup",)),
    _scene(
        "start-built-in",
        "the same with the manager that is built in",
        scene="start",
        manager="built in",
    ),
    _scene(
        "failover",
        "the primary fails, its backup is promoted",
        ("acknowledges-at-once", "transfers-at-once"),
    ),
    _scene("failback", "the failed one comes back and follows"),
    _scene(
        "failback-wiped", "the same, and its disk was lost meanwhile", scene="failback", wipes=1
    ),
    _scene(
        "failure-in-failback",
        "the primary fails while the other one still catches up: it is not promoted",
        ("level-at-once",),
    ),
    _breaks(
        "lm0",
        "the document: a broker that loses its primary forgets it was catching up, and is promoted",
        6,
        "failure-in-failback",
        variant="seed",
    ),
    _scene("old-returns", "the old primary is restarted while another one serves"),
    _scene(
        "cut-off",
        "the primary is cut off and never fenced; the manager is the one built in",
        manager="built in",
    ),
    _scene(
        "told-late",
        "the same, and the promoted broker hears of it after the chain has it",
        manager="built in",
    ),
    _breaks(
        "cut-off-outside",
        "the same with a manager outside: the old one confirms what the new one lacks",
        3,
        "cut-off",
        manager="unfenced",
    ),
    _scene(
        "two-promoted",
        "two are promoted while the old primary serves; the manager is the one built in",
        manager="built in",
    ),
    _scene(
        "old-serves",
        "the old primary is back in the network and still serves, another one is primary",
        ("no-generations",),
        manager="built in",
    ),
    _breaks(
        "two-promoted-outside",
        "the same with a manager outside",
        5,
        "two-promoted",
        manager="unfenced",
    ),
    _scene(
        "built-in",
        "the last view lists the brokers that are up to date, and only these are promoted",
        manager="built in",
    ),
    _scene(
        "built-in-wiped",
        "the same, and a disk is lost: a member of the view that copies anew is not promoted",
        ("promotes-who-catches-up",),
        scene="built-in",
        manager="built in",
        wipes=1,
    ),
    _breaks(
        "outside",
        "a manager outside promotes a broker that was never up to date, as none answers",
        3,
        "outside",
        manager="careless",
    ),
    _scene(
        "dropped-built-in",
        "a backup is dropped, then its primary fails; the manager is the one built in",
        ("drops-unrecorded", "transfers-at-once", "level-at-once"),
        scene="dropped",
        manager="built in",
    ),
    _breaks(
        "dropped-outside",
        "the same with a fencing manager outside: no broker is left that knows of the drop",
        4,
        "dropped",
    ),
    _scene(
        "total",
        "all have failed: the store that is proven to be the last is marked clean",
        ("dirty-serves",),
        manager="last",
        marks="best",
    ),
    _breaks(
        "total-wiped",
        "the same, and a disk is lost: a manager outside cannot tell it from a first start",
        6,
        "total",
        manager="last",
        marks="best",
        wipes=1,
    ),
    _breaks(
        "total-wrong",
        "the same, and any store is marked clean",
        6,
        "total",
        manager="last",
        marks="any",
    ),
    _scene(
        "left",
        "a primary goes on alone, dies and is marked clean; those that it left refuse, and run on",
        ("left-are-better",),
        manager="knowing",
        marks="left",
    ),
    _scene(
        "continues",
        "all have failed, and the one that is proven to be the last goes on by itself",
        ("waits-for-a-person",),
        manager="built in",
    ),
    _scene(
        "continues-wiped",
        "the same, and the disk of one is lost: its name is in the last view, and it refuses",
        ("empty-goes-on",),
        scene="continues",
        manager="built in",
        wipes=1,
    ),
    _scene(
        "stopped",
        "some stop in order, others fail; the manager is the one built in",
        manager="built in",
    ),
    _breaks(
        "stopped-outside",
        "the same with a manager outside: a clean store does not know what was confirmed since",
        5,
        "stopped",
        manager="last",
    ),
    _scene(
        "stopped-dirty",
        "all have failed, then one is started and stopped in order: its store stays dirty",
        ("stops-clean",),
        manager="last",
    ),
    *(
        _scene(
            f"{scene}-halfway",
            f"`standby-{scene}`, and a broker may die between any two effects of a step",
            ("confirms-before-it-keeps",) if scene in ("total", "continues") else (),
            scene=scene,
            halfway=True,
            **given,
        )
        for scene, given in HALFWAY.items()
    ),
    _scene(
        "declared-alone-power",
        "a primary without backups declares and is sent to; its power is cut, also within a write",
        ("unsynced", "declares-before-it-keeps"),
        scene="declared-alone",
        power=True,
        manager="last",
        marks="best",
    ),
    *(
        _scene(
            f"{scene}-half-open",
            f"`standby-{scene}`, and a connection ends at one end first: what was sent may arrive",
            ("former-link-heard",) if scene == "cut-off" else (),
            scene=scene,
            half_open=True,
            **given,
        )
        for scene, given in HALF_OPEN.items()
    ),
    *(
        _scene(
            f"{scene}-power",
            f"`standby-{scene}`, and the power is cut anywhere, also in the middle of a write",
            ("says-before-it-keeps",),
            scene=scene,
            power=True,
            **HALFWAY[scene],
        )
        for scene in POWER
    ),
    _scene("ahead", "a backup is ahead of the new primary (LM1)", ("by-number",)),
    _limit(
        "lm1", "ahead", "a surplus stays, and the message that has its number now is missing", 12
    ),
    _scene("wrap", "so many messages pass while a backup is away that numbers wrap (LM2)"),
    _limit("lm2", "wrap", "new messages are taken for old ones", 4),
    _scene(
        "transaction",
        "a transaction over two queues, and the primary fails (LM3)",
        ("transactions-apart",),
    ),
    _limit("lm3", "transaction", "a part of it is there", 4),
    _scene("acknowledged", "a message is taken, and the primary fails (LM4)"),
    _limit("lm4", "acknowledged", "what was acknowledged returns", 3),
    _scene(
        "early",
        "a new primary fails before the other backup is back (LM5)",
        ("confirms-early", "confirms-at-once"),
    ),
    _scene("shipped-waits", "the same by the shipped rules", scene="early", variant="real"),
    _limit("lm5", "early", "it has confirmed what no other broker has", 5),
    _scene("bindings", "an exchange and a binding are declared (LC1)", ("no-bindings",)),
    _limit("lc1", "bindings", "bindings are not mirrored", 4),
    _scene("declared", "a queue is declared, and the primary fails (LC2)", ("declares-at-once",)),
    _limit("lc2", "declared", "it was confirmed, and is gone", 3),
    _scene("deleted", "a queue is deleted while a backup is away (LC3)", ("keeps-what-is-gone",)),
    _limit("lc3", "deleted", "it stays at the backup", 11),
    _scene("event-ahead", "a declaration reaches one backup, another one is promoted (LC4)"),
    _limit("lc4", "event-ahead", "what was confirmed is gone at the new primary", 3),
    _scene("replaced", "a queue is deleted and declared anew while a backup is away (LC4)"),
    _limit("lc4-replaced", "replaced", "the backup keeps the old one", 11),
    _scene("chosen", "a queue that is not to be mirrored (LC5)", ("copies-everything",)),
    _limit("lc5", "chosen", "it is mirrored", 2),
    _scene(
        "overtaken",
        "a deletion overtakes the answer to a backup's query (LC6)",
        ("wiring-unnumbered",),
    ),
    _limit("lc6", "overtaken", "the deletion is lost", 12),
)
"""Stories of brokers by the machine that ships; see scenes.py."""

OTHERS: tuple[Entry, ...] = (
    CHASE(
        "standby-copied",
        "H5: messages come and go while a queue is copied from its back: it is caught up",
    ),
    CHASE("standby-chase", "the same from the front need never end", breaks=True, order="fifo"),
    ENTRANCE(
        "standby-entrance",
        "H11: a client goes from one address to the next until it is with the primary",
        mutants=("lets-everybody-in",),
    ),
)

ENTRIES: tuple[Entry, ...] = (*STORIES, *OTHERS)
