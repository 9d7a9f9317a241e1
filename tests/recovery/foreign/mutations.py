"""Damage to files with bytes in them, drawn: what disks, copies and people do."""

from __future__ import annotations

import random
from collections.abc import Callable

from tools.histories.trees import Sparse

LONG = 600


def mutated(tree: Sparse, chance: random.Random) -> tuple[str, Sparse]:
    """Return what was done to one file of a directory, and the directory after it."""
    name = chance.choice(sorted(name for name, data in tree.files.items() if data))
    data, size = bytearray(tree.files[name]), tree.sizes[name]
    at = chance.randrange(len(data))
    end = min(at + chance.choice((1, 8, 64, LONG)), len(data))
    kind = chance.choice(("flip", "flip", "byte", "blank", "noise", "cut", "drop", "move", "gone"))
    match kind:
        case "flip":
            data[at] ^= 1 << chance.randrange(8)
        case "byte":
            data[at] = chance.choice((0, 1, 127, 128, 255))
        case "blank":
            data[at:end] = bytes(end - at)
        case "noise":
            data[at:end] = chance.randbytes(end - at)
        case "cut":
            del data[at:]
            size = at
        case "drop":
            del data[at:end]
        case "move":
            to = chance.randrange(len(data))
            data[to : to + end - at] = data[at:end]
        case _:
            return f"{name} is gone", tree.without(name)
    return f"{kind} {name} at {at} to {end}", tree.with_file(name, bytes(data), size)


def damages(
    tree: Sparse, *, count: int, seed: int, is_fine: Callable[[str, Sparse], bool]
) -> list[str]:
    """Return which of so many mutations are not judged as they are to be."""
    chance = random.Random(seed)
    drawn = (mutated(tree, chance) for _ in range(count))
    return [what for what, one in drawn if one != tree and not is_fine(what, one)]
