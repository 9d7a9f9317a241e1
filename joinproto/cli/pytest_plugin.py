"""Collect worlds as tests of pytest: `joinproto_worlds = ["worlds/*.py"]` in its configuration.

Each claim of a world is an item.  A violated claim fails and shows its run; an undetermined claim
is an error, so that it never passes.  A world with `expected="violated"` is one item, which passes
if the world is violated.  A world is searched once, when the first of its items runs.

pytest loads this module in every project on a machine.  So it imports only pytest at its top, and
does nothing if `joinproto_worlds` is not set.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from glob import glob
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from joinproto.check.loaded import Loaded
    from joinproto.cli.reports.verdicts import Finding

WORLDS, SECONDS = "joinproto_worlds", "joinproto_max_seconds"
SECONDS_MAX = 60.0
WIDTH_MAX = 100

_NO_WORLDS = ("__init__.py", "conftest.py")
"""Files that a `*` leaves out."""

_SECONDS = pytest.StashKey[float]()
_Wanted = dict[Path, tuple[str, set[str]]]
_WANTED = pytest.StashKey[_Wanted]()
"""For each file: its module name ("": the file is loaded by its path), and the names of its worlds
(empty: all worlds).
"""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the settings of the configuration file."""
    about = "worlds to check: files, also with * and **, or modules; FILE.py::NAME for one world"
    parser.addini(WORLDS, about, type="args", default=[])
    parser.addini(SECONDS, f"longest search of one world; default {SECONDS_MAX:g}", default="")


def pytest_configure(config: pytest.Config) -> None:
    """Find the files with worlds, and let pytest collect them wherever they lie."""
    listed = config.getini(WORLDS)
    if not listed:
        return
    config.stash[_SECONDS] = _seconds(config.getini(SECONDS))
    wanted = config.stash[_WANTED] = _wanted(config.rootpath, listed)
    if config.args_source is pytest.Config.ArgsSource.ARGS:
        return  # the command line names files: only these files are collected
    collected = [_absolute(config.invocation_params.dir / one) for one in config.args]
    for file in wanted:
        if not any(file.is_relative_to(place) for place in collected):
            config.args.append(str(file))


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Return the collector of a file with worlds; None for any other file."""
    if file_path not in parent.config.stash.get(_WANTED, {}):
        return None
    found: WorldFile = WorldFile.from_parent(parent, path=file_path)
    return found


def _seconds(text: object) -> float:
    try:
        found = float(str(text) or SECONDS_MAX)
    except ValueError:
        found = 0.0
    if not found > 0:  # this also refuses "nan", which no clock ever reaches
        raise pytest.UsageError(f"{SECONDS} takes a number of seconds above 0, not {text}")
    return found


def _wanted(root: Path, listed: list[str]) -> _Wanted:
    found: _Wanted = {}
    whole = set[Path]()
    for entry in map(str, listed):
        target, _, name = entry.partition("::")
        module = "" if target.endswith(".py") or "/" in target else target
        # Unlike Path.glob, glob takes an absolute path as well.
        files = [_file_of(module)] if module else glob(str(root / target), recursive=True)  # noqa: PTH207
        kept = [file for file in map(_absolute, files) if _may_have_worlds(file, target)]
        if not kept:
            raise pytest.UsageError(f"{WORLDS}: there is no file {target or entry} in {root}")
        for file in sorted(kept):
            found.setdefault(file, (module, set()))[1].add(name)
            if not name:
                whole.add(file)
    for file in whole:
        found[file][1].clear()  # one entry may name some worlds, and another entry all worlds
    return found


def _may_have_worlds(file: Path, target: str) -> bool:
    """Return whether `file` is a file; a `*` also leaves out the files in `_NO_WORLDS`."""
    return file.is_file() and ("*" not in target or file.name not in _NO_WORLDS)


def _absolute(path: str | Path) -> Path:
    """Return a path as pytest writes it: absolute, without `..`, and with links unresolved."""
    return Path(os.path.abspath(path))  # noqa: PTH100  resolve() follows links


def _file_of(module: str) -> str:
    try:
        spec = importlib.util.find_spec(module)
    except ImportError:
        spec = None
    if spec is None or not spec.has_location or spec.origin is None:
        raise pytest.UsageError(
            f"{WORLDS}: there is no module {module}\nnext: write a file as path/to/file.py, or add"
            " the module's folder to pythonpath"
        )
    return spec.origin


class WorldFile(pytest.File):
    """A file with worlds."""

    def collect(self) -> Iterator[pytest.Collector]:
        """Yield the worlds that the configuration names; if it names none, all worlds."""
        from joinproto.check.files import load_module, worlds_in

        module, names = self.config.stash[_WANTED][self.path]
        with _raised_as(self.CollectError):
            loaded = importlib.import_module(module) if module else load_module(str(self.path))[0]
            found = sorted(names) or worlds_in(loaded)
        if not found:
            raise self.CollectError(
                f"{self.path} defines no world\nnext: annotate the function that returns a world"
                f" with `-> World`, or remove the file from {WORLDS}"
            )
        for name in found:
            yield WorldNode.from_parent(self, name=name, module=loaded)


class WorldNode(pytest.Collector):
    """A world of a module; its claims are items."""

    def __init__(self, *, module: ModuleType, **more: Any) -> None:
        super().__init__(**more)
        self._module = module
        self._loaded: Loaded | None = None
        self._found: dict[str, Finding] | Exception | None = None

    def collect(self) -> Iterator[pytest.Item]:
        """Yield an item for each claim, or a single item if the world must be violated."""
        from joinproto.check.files import load_from
        from joinproto.check.tracebacks import short

        with _raised_as(self.CollectError):
            target = f"{short(self.path)}::{self.name}"
            self._loaded = load_from(self._module, self.path, target, {})
        world = self._loaded.world
        names = [item.name for item in world.properties]
        for name in names if world.expected == "holds" else ["must be violated"]:
            yield ClaimItem.from_parent(self, name=name)

    def judged(self, name: str) -> Finding:
        """Return the search's result for an item; the first call searches the world."""
        if self._found is None:
            try:
                self._found = self._search()
            except Exception as error:  # noqa: BLE001  raised for each item
                self._found = error
        if isinstance(self._found, Exception):
            raise self._found
        return self._found[name]

    def _search(self) -> dict[str, Finding]:
        from joinproto.check.small_first import check
        from joinproto.cli.reports.verdicts import Outcome

        assert self._loaded is not None
        with self._loaded.at_work():
            report = check(self._loaded.world, seconds_max=self.config.stash[_SECONDS])
        outcome = Outcome(report, self._loaded, self._loaded.world.expected)
        return {item.name: item for item in outcome.findings()}


class _Violated(Exception):
    """A claim is violated; the message has the claim's words and its run."""


class ClaimItem(pytest.Item):
    """A claim of a world."""

    parent: WorldNode

    def setup(self) -> None:
        """Search the world; an undetermined claim is an error."""
        with _raised_as(pytest.fail.Exception, pytrace=False):
            found = self.parent.judged(self.name)
        if found.verdict == "undetermined":
            pytest.fail(f"{self.name}: {found.words}", pytrace=False)

    def runtest(self) -> None:
        """Fail if the claim is not as expected."""
        found = self.parent.judged(self.name)
        if not found.is_as_expected:
            raise _Violated(self._failure_text(found))

    def _failure_text(self, found: Finding) -> str:
        from joinproto.cli.show.chart import chart

        trace = None if found.claim is None else found.claim.trace
        if trace is None:
            return f"{self.name}: {found.words}"
        return chart(trace, width=min(self.config.get_terminal_writer().fullwidth, WIDTH_MAX))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the run of a violated claim, and pytest's own text for any other error."""
        if isinstance(excinfo.value, _Violated):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return the file of the item, and the names of its world and claim."""
        return self.path, None, f"{self.parent.name}: {self.name}"


@contextmanager
def _raised_as(kind: Callable[..., BaseException], **more: Any) -> Iterator[None]:
    """Turn a `JoinprotoError` into an error of pytest with its message and its advice."""
    try:
        yield
    except Exception as error:
        from joinproto.errors import JoinprotoError

        if not isinstance(error, JoinprotoError):
            raise
        words = f"{error.message}\nnext: {error.next}" if error.next else error.message
        raise kind(words, **more) from None
