"""Where the other rooms are, and how they become importable.

`models`, `proofs`, `spark_explore` and `tools` keep these names everywhere, but they are
no top-level packages of an installation: a wheel carries them as data in
`joinproto/_rooms/`, a checkout has them beside `joinproto/`.  A program that embeds a
member never calls this module, so in it `import models` finds that program's own package.

Who does call it, the command line and `joinproto.checking`, gets the folder as the first
entry of `sys.path`.  First, because `python -m joinproto` puts the working folder in
front, and many working folders have a `models` or a `tools`.  On `sys.path` and not
behind an import hook, because multiprocessing hands `sys.path` to the children it spawns,
and hands them no hooks.
"""

import sys
import warnings
from importlib.machinery import PathFinder
from pathlib import Path

from joinproto.errors import EnvironmentProblem

ROOMS = ("models", "proofs", "spark_explore", "tools")


def rooms_folder() -> Path:
    """Return the folder that holds the rooms; also what a worker needs on PYTHONPATH."""
    package = Path(__file__).resolve().parent
    installed = package / "_rooms"
    if installed.is_dir():
        return installed
    checkout = package.parent
    # Both conditions: site-packages may well hold somebody's `tools`, but no project file.
    if (checkout / "pyproject.toml").is_file() and (checkout / "tools").is_dir():
        return checkout
    raise EnvironmentProblem(
        f"this installation of joinproto lacks its rooms ({', '.join(ROOMS)}):"
        f" expected them in {installed}",
        next="pip install --force-reinstall joinproto",
    )


def open_rooms(*, warn_of_hidden: bool = False) -> Path:
    """Make the rooms importable in this process and its children; return their folder.

    Raises EnvironmentProblem if a foreign package of the same name is loaded already: the
    two cannot both be `models` in one process.  With `warn_of_hidden`, warns of a package
    that could still have been imported and from now on cannot.  Calling twice is harmless.
    """
    folder = rooms_folder()
    for room in ROOMS:
        _refuse_if_foreign(room, folder)
    if warn_of_hidden:
        for room in ROOMS:
            _warn_if_hidden(room, folder)
    if sys.path[:1] != [str(folder)]:
        sys.path.insert(0, str(folder))
    return folder


def _refuse_if_foreign(room: str, folder: Path) -> None:
    module = sys.modules.get(room)
    if module is None:
        return
    places = [*getattr(module, "__path__", ()), getattr(module, "__file__", None) or "nowhere"]
    if Path(places[0]).resolve() != folder / room:
        raise EnvironmentProblem(
            f"another package named {room} is loaded already, from {places[0]};"
            f" joinproto needs its own, from {folder / room}",
            next=f"rename that package, or keep what imports it and joinproto.checking"
            f" in two programs (joinproto itself needs no {room})",
        )


def _warn_if_hidden(room: str, folder: Path) -> None:
    spec = PathFinder.find_spec(room)
    # Without an origin it is a bare folder: most projects have a `tools` folder without
    # a line of Python in it, and nobody imports those.
    if spec is None or spec.origin is None or Path(spec.origin).resolve().parent == folder / room:
        return
    warnings.warn(
        f"from now on `import {room}` finds joinproto's {room}, not {spec.origin};"
        f" rename that package if this program needs it",
        stacklevel=4,  # _warn_if_hidden, open_rooms, joinproto.checking, its importer
    )
