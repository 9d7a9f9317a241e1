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

# What measures, tortures and documents the project is run from a checkout, as its tests are: no
# command imports it (tests/project/test_arrows.py), so no installation carries it.
STAYS = (
    "tools/bench",
    "tools/boots",
    "tools/cli/schema.py",
    "tools/compile_loops.py",
    "tools/docs.py",
    "tools/docs_api.py",
    "tools/docs_tables.py",
    "tools/failover",
    "tools/faults",
    "tools/fixtures",
    "tools/mutate",
    "tools/soundness",
    "tools/spark_archive.py",
    "tools/torture",
    "tools/torture.py",
    "tools/torture_clusterer.py",
)


class RoomsHook(BuildHookInterface[Any]):
    """Adds the rooms, without what stays, to a standard wheel, and nothing to an editable one."""

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
                path = file.relative_to(self.root)
                if file.is_file() and travels(path):
                    target = Path("joinproto", "_rooms", path)
                    build_data["force_include"][str(file)] = target.as_posix()


def travels(path: Path) -> bool:
    """Say whether the wheel carries `path` (from the checkout): not what a run left, nor STAYS."""
    left = "__pycache__" in path.parts or any(part.startswith(".") for part in path.parts)
    return not left and not any(path.is_relative_to(place) for place in STAYS)
