"""Build hook: puts the other rooms into the wheel, as data of `joinproto`.

`models`, `proofs`, `spark_explore` and `tools` are packages with common names.  At
the top level of somebody's site-packages they would hide, or be hidden by, the
packages of the same name that many programs have.  So the wheel carries them under
`joinproto/_rooms/`, and `joinproto/rooms.py` puts that folder on `sys.path` when the
command line or `joinproto.checking` needs it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# Kept equal to joinproto.rooms.ROOMS by tests/project/test_repository.py; not
# imported from there, because the build environment holds no dependencies.
ROOMS = ("models", "proofs", "spark_explore", "tools")


class RoomsHook(BuildHookInterface[Any]):
    """Adds every file of every room to a standard wheel, and nothing to an editable one."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Fill `force_include` (source path -> path in the wheel)."""
        if version != "standard":
            # An editable install reads the rooms from the checkout.  A copy left in
            # site-packages would go stale, and nobody would know which one ran.
            return
        for room in ROOMS:
            folder = Path(self.root, room)
            if not folder.is_dir():
                self.app.display_warning(f"this wheel lacks the room {room}: no folder {folder}")
            for file in sorted(folder.rglob("*")):
                if file.is_file() and is_source(file.relative_to(folder)):
                    target = Path("joinproto", "_rooms", room, file.relative_to(folder))
                    build_data["force_include"][str(file)] = target.as_posix()


def is_source(path: Path) -> bool:
    """Say whether `path` (relative to its room) was written, not left by a run."""
    return "__pycache__" not in path.parts and not any(p.startswith(".") for p in path.parts)
