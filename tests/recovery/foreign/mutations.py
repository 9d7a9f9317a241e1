"""Random damage to files, like that by disks, copies and people."""

from __future__ import annotations

import random
import re

from tools.histories.trees import Sparse

LENGTHS = (1, 8, 64, 600)
PAGE_BYTES = 512
LIMITS = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF)
"""Lengths at which readers often fail."""
KINDS = (
    *("flip", "flip", "flip", "byte", "digit", "blank", "page", "noise", "cut", "drop", "copy"),
    *("swap", "repeat", "limit", "gone"),
)


def mutated(tree: Sparse, chance: random.Random, names: str = ".") -> tuple[str, str, Sparse]:
    """Mutate one file of a directory; return the mutation, the file's name and the new directory.

    `names`: a pattern; only files whose names begin with it are changed.
    """
    files = [name for name, data in tree.files.items() if data and re.match(names, name)]
    name = chance.choice(sorted(files))
    data, size = bytearray(tree.files[name]), tree.sizes[name]
    at = chance.randrange(len(data))
    end = min(at + chance.choice(LENGTHS), len(data))
    kind = chance.choice(KINDS)
    match kind:
        case "flip":
            data[at] ^= 1 << chance.randrange(8)
        case "byte":
            data[at] = chance.choice((0, 1, 127, 128, 255))
        case "digit":
            data[at : at + 1] = chance.choice((b"0", b"9", b"-", b"11"))
        case "blank":
            data[at:end] = bytes(end - at)
        case "page":
            at -= at % PAGE_BYTES
            end = min(at + chance.choice((1, 8)) * PAGE_BYTES, len(data))
            data[at:end] = bytes(end - at)
        case "noise":
            data[at:end] = chance.randbytes(end - at)
        case "cut":
            del data[at:]
            size = at
        case "drop":
            del data[at:end]
        case "copy":
            to = chance.randrange(len(data))
            data[to : to + end - at] = data[at:end]
        case "swap":
            size_of = max((end - at) // 2, 1)
            to = chance.randrange(max(len(data) - size_of, 1))
            one, other = data[at : at + size_of], data[to : to + size_of]
            data[at : at + len(other)], data[to : to + len(one)] = other, one
        case "repeat":
            data[end:end] = data[at:end]
        case "limit":
            width = chance.choice((1, 2, 4, 8))
            number = chance.choice(LIMITS) & ((1 << 8 * width) - 1)
            data[at : at + width] = number.to_bytes(width, chance.choice(("big", "little")))
        case _:
            return "gone", name, tree.without(name)
    return f"{kind} at {at} to {end}", name, tree.with_file(name, bytes(data), size)
