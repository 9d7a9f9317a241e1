"""The errors that joinproto raises on purpose, and their exit codes.

    JoinprotoError
    ├── UsageProblem         2   a bad command line or a bad model: the caller corrects it
    ├── LimitReached         3   stopped before the end: states, time, memory
    ├── EnvironmentProblem   4   the machine lacks or refuses something: an extra, a server, a file
    ├── MisuseError          2   the embedder broke a duty
    ├── PeerError            1   another member sent something that no member may send
    └── StoreError           1   a store on disk cannot be used: the operator acts
        ├── StoreMissing         no store in this directory
        ├── StoreExists          a store is there, where a new one was to be made
        ├── StoreInUse           another process has the store open
        ├── StoreNewer           a newer version of joinproto wrote the store
        ├── StoreForeign         joinproto did not write the file
        ├── StoreCorrupt         the content is damaged, or older than the last content written
        ├── StoreUnreadable      the system gave an error instead of the content
        └── StoreWriteFailed     a write failed; the message names the record on disk

A message names the found and the expected value; `next` is the advice.  A code can be given at the
raise where a command has a list of its own, as `joinproto recover` has.  The list of
`joinproto node` is in `joinproto/host/process/exits.py`.  Exit code 10 belongs to no class: it is
for errors that were *not* raised on purpose.

This module imports none of ours, so that every package may use it, also one that decides.
"""

from collections.abc import Iterable


class JoinprotoError(Exception):
    """Root of all errors that joinproto raises on purpose."""

    default_code = 2

    def __init__(self, message: str, *, next: str = "", code: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.next = next
        self.code = self.default_code if code is None else code

    def __str__(self) -> str:
        return f"{self.message}\n  next: {self.next}" if self.next else self.message


class UsageProblem(JoinprotoError):
    """The command line, or the model it names, is wrong."""

    default_code = 2


class LimitReached(JoinprotoError):
    """A limit ended the work; the findings so far hold, the rest is unknown."""

    default_code = 3


class EnvironmentProblem(JoinprotoError):
    """The machine lacks or refuses something; the same command works once that is mended."""

    default_code = 4


class MisuseError(JoinprotoError):
    """The program that embeds a member broke one of its duties."""

    default_code = 2


class PeerError(JoinprotoError):
    """Another member sent something that no correct member sends."""

    default_code = 1


class StoreError(JoinprotoError):
    """A store on disk is foreign, damaged, in use, or another than expected."""

    default_code = 1


class StoreMissing(StoreError):
    """There is no store in this directory, or no such directory."""


class StoreExists(StoreError):
    """There is a store, or the remains of one, where a new one was to be made."""


class StoreInUse(StoreError):
    """Another process has the store open, or took it away from this one."""


class StoreNewer(StoreError):
    """The store was written in a format that this version does not read."""


class StoreForeign(StoreError):
    """A file has the name of a store's file, and joinproto did not write it."""


class StoreCorrupt(StoreError):
    """The store's content is damaged, or older than the last content that was written."""


class StoreUnreadable(StoreError):
    """The system gave an error where the store was to be read, locked or looked for."""


class StoreWriteFailed(StoreError):
    """A write of the store failed, and is not tried again; the message names the record on disk."""


# Top-level import name -> the extras that bring it; none: the base install does.
EXTRAS_OF = {
    "attr": (),
    "attrs": (),
    "click": (),
    "transitions": (),
    "numpy": ("check",),
    "numba": ("check",),
    "llvmlite": ("check",),
    "scipy": ("check",),
    "z3": ("prove",),
    "cvc5": ("second",),
    "pyspark": ("spark",),
    "py4j": ("spark",),
    "pandas": ("spark",),
    "pyarrow": ("query", "spark"),
    "duckdb": ("query",),
    "anyio": ("run", "discovery", "standby"),
    "prometheus_client": ("run", "reconcile", "standby"),
    "uvicorn": ("run", "standby", "web"),
    "starlette": ("web",),
    "httpx": ("discovery", "reconcile"),
    "dns": ("discovery",),
    "amqtt": ("amqtt",),
    "proton": ("standby",),
    "matplotlib": ("plot",),
}


def not_installed(package: str, command: str = "") -> EnvironmentProblem:
    """Return the problem of a command that lacks a package from outside (see `EXTRAS_OF`)."""
    return EnvironmentProblem(f"{package} is not installed", next=_to_install(package, command))


def missing_extra(error: ImportError, command: str = "") -> EnvironmentProblem | None:
    """Return the problem to show for `error`, or None if no extra would cure it.

    None means that one of our own modules did not import: a bug, to be shown as one.
    """
    # pyspark raises its own kind of ImportError, without a name, for a missing pandas.
    package = (error.name or type(error).__module__).partition(".")[0]
    if package.startswith("joinproto") and ".pyz/" in __file__:
        return EnvironmentProblem(
            "this file lacks the packages of that command", next="pip install 'joinproto[check]'"
        )
    if package not in EXTRAS_OF:
        return None
    if isinstance(error, ModuleNotFoundError) and error.name == package:
        return not_installed(package, command)
    return EnvironmentProblem(
        f"{package} does not load: {error}", next=_to_install(package, command)
    )


def _to_install(package: str, command: str) -> str:
    """Return the command that installs a package: the extra of the command, where several bring
    it.
    """
    extras = EXTRAS_OF[package]
    extra = command if command in extras else "".join(extras[:1])
    return f"pip install 'joinproto[{extra}]'" if extra else "pip install joinproto"


def nearest(name: str, names: Iterable[str], *, cutoff: float = 0.6) -> str:
    """Return the name in `names` that is most like `name`; "" if none is like it."""
    from difflib import get_close_matches  # inside: it is rarely wanted, and slow to load

    return next(iter(get_close_matches(name, list(names), n=1, cutoff=cutoff)), "")


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return "did you mean NAME? " with the nearest of `names`; "" if none is like `name`."""
    near = nearest(name, names)
    return f"did you mean {near}? " if near else ""
