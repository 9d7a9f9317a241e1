"""The kinds of histories of Galera: each function plays events that the seed draws."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from joinproto.recovery.foreign.text import NULL_UUID
from tools.histories.galera_nodes import FREEZE, THAW, interrupted
from tools.histories.galera_play import Play, listed


def stops(play: Play) -> None:
    """Every node is stopped in order."""
    play.everyday()
    if play.perhaps(0.3):
        play.stop(play.one(play.primary))
        play.stop_together(*play.primary)
        return
    for node in play.shuffled(play.primary):
        if play.perhaps():
            play.write()
        play.stop(node)


def power(play: Play) -> None:
    """All nodes are killed at once, during writes."""
    play.everyday()
    with play.writes(*play.primary):
        play.nodes.servers.kill(*play.primary)
        play.note("all killed at one moment")
    play.primary = []


def kills(play: Play) -> None:
    """A node is killed and the majority continues; then all end."""
    play.write()
    play.kill(play.one(play.primary))
    play.write()
    if play.perhaps(0.3):
        play.kill(play.one(play.primary))  # one of two nodes is no majority
    play.end()


def hang(play: Play) -> None:
    """A node hangs and the majority continues; then all end."""
    with play.writes(*play.primary):
        play.hang(play.one(play.primary))
    play.write()
    if play.perhaps():
        play.power_cut()
    play.end()


def cut(play: Play) -> None:
    """A node is cut off and the majority continues; then all end."""
    play.write()
    play.cut(play.one(play.primary))
    play.write()
    if play.perhaps(0.3):
        play.stop(play.others[0])
    play.end()


def forced(play: Play) -> None:
    """A node is cut off and made primary by hand; the majority continues, too."""
    play.write()
    node = play.one(play.primary)
    play.cut(node)
    if play.perhaps(0.8):
        play.write()
    play.force(node, writes=play.perhaps(0.7))
    if play.perhaps():
        play.power_cut()
        return
    if play.perhaps(0.3):
        play.stop(node)
    play.end()


def forced_five(play: Play) -> None:
    """Two of five nodes are cut off and perhaps made primary by hand; the others continue."""
    play.write()
    few = play.random.sample(play.primary, 2)
    many = [node for node in play.primary if node not in few]
    # Only one side runs at a time, so neither hears the other.
    play.hang(*few)
    if play.perhaps(0.8):
        play.write()
    play.nodes.signal(FREEZE, *many)
    play.nodes.signal(THAW, *few)
    play.nodes.hold_still(*few)
    play.note(f"{listed(few)} came back, and do not reach {listed(many)}")
    if play.perhaps(0.8):
        play.force(*few, writes=play.perhaps(0.7))
    play.nodes.servers.kill(*few, *many)
    play.primary, play.others = [], []
    play.note("all killed at one moment")


def founded(play: Play) -> None:
    """All end; a node, perhaps not the last, founds a cluster; the others join or stay away."""
    play.write()
    order = play.shuffled(play.primary)
    for node in order[:-1]:
        play.stop(node)
        play.write()
    play.end()
    play.found(play.one(order[:-1] if play.perhaps(0.8) else order))
    if play.primary:
        if play.perhaps(0.7):
            play.write()
        for node in play.random.sample(play.down, play.random.randint(0, 1)):
            play.back(node)
            play.write()
    play.end()


def away(play: Play) -> None:
    """Nodes go away and come back; then all end."""
    for _ in range(2):
        node = play.one(play.primary)
        (play.stop if play.perhaps() else play.kill)(node)
        play.write()
        play.back(node)
    play.end()


def wiped(play: Play) -> None:
    """All end; then a node's disk is lost: its directory is missing, empty, or newly installed."""
    play.everyday()
    play.write()
    play.end()
    node = play.one([*play.nodes.nodes])
    data = play.nodes.data(node)
    play.nodes.remove(data)
    which = play.random.randrange(3)
    if which == 0:
        play.gone.add(node)
        play.note(f"the disk of {node} is gone")
    elif which == 1:
        play.nodes.make(data)
        play.note(f"the disk of {node} is gone; an empty directory is in its place")
    else:
        play.nodes.copy(play.nodes.fresh, data)
        play.note(f"the disk of {node} is gone; mariadb-install-db made a new directory")


def old_copy(play: Play) -> None:
    """A node's directory is replaced by an older copy of it."""
    play.write()
    node = play.one(play.primary)
    if play.perhaps():
        play.stop(node)
    else:
        play.kill(node)
    copy = play.nodes.root / "old"
    play.nodes.copy(play.nodes.data(node), copy)
    play.write()
    play.back(node)
    play.write()
    play.end()
    play.nodes.remove(play.nodes.data(node))
    copy.rename(play.nodes.data(node))
    play.note(f"the directory of {node} replaced by a copy from the time it was down")


def transfer(play: Play) -> None:
    """A node is killed while the state is, perhaps, copied to it; the others continue."""
    play.write()
    node = play.one(play.primary)
    play.stop(node)
    play.write()
    if play.perhaps():
        play.nodes.remove(play.nodes.data(node))
        play.nodes.copy(play.nodes.fresh, play.nodes.data(node))
        play.note(f"the disk of {node} is gone; mariadb-install-db made a new directory")
    state = play.nodes.data(node) / "grastate.dat"
    if state.exists() and play.perhaps():
        state.write_bytes(re.sub(rb"(uuid: +)\S+", rb"\1" + NULL_UUID.encode(), state.read_bytes()))
        play.note(f"{node} names no history any more")
    else:
        state.unlink(missing_ok=True)
        play.note(f"{node} has no grastate.dat any more")
    text = interrupted(play.nodes, node, after_seconds=play.random.uniform(0.0, 0.3))
    was_during = NULL_UUID in text or not text
    play.note(
        f"{node} started and killed, {'in' if was_during else 'outside'} the transfer of the state"
    )
    play.nodes.go_on(*play.primary)
    play.write()
    play.end()


def mixed(play: Play) -> None:
    """Several everyday events are played."""
    for _ in range(play.random.randint(2, 4)):
        play.everyday()
    play.end()


KINDS: Mapping[str, Callable[[Play], None]] = {
    "stops": stops,
    "power": power,
    "kills": kills,
    "hang": hang,
    "cut": cut,
    "forced": forced,
    "forced-five": forced_five,
    "founded": founded,
    "away": away,
    "wiped": wiped,
    "old-copy": old_copy,
    "transfer": transfer,
    "mixed": mixed,
}
FIVE = ("forced-five",)
