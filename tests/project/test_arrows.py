"""The arrows: which room may import which, and which packages from outside.

    joinproto <- models <- { proofs, spark_explore } <- tools         tests see all

Read the two tables first.  A place is a folder, or one file where a single file has an
arrow of its own; a file belongs to the longest place that holds it.  A file of a place
that no table knows fails the test: whoever adds a folder decides what it may use.

The files are read, never imported.  An editable install puts the whole checkout on
`sys.path`, so a wrong import works for every developer and fails for every user.
"""

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest
from attrs import frozen

from hatch_build import STAYS

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("joinproto", "models", "proofs", "spark_explore", "tools")
ERRORS = "joinproto.errors"

SPEAK_AMQP = tuple(
    f"joinproto.standby.serving.{name}" for name in ("amqp", "amqp_bytes", "engine", "transacting")
)
"""The only files of the product that need Proton; the command gives them to the broker."""

# Place -> the places it may import; a name covers everything below it, itself included.
OURS: Mapping[str, set[str]] = {
    # The errors import nothing, so that what decides can raise them, too.
    "joinproto.errors": set(),
    # Terms, decision tables and machines: no rule of any system.
    "joinproto.tables": {"joinproto.tables", ERRORS},
    "joinproto.join": {"joinproto.join", "joinproto.tables", ERRORS},
    # Which store is the latest: of this protocol's stores, and of others'.
    "joinproto.pick": {"joinproto.pick", "joinproto.join", "joinproto.tables", ERRORS},
    # The note as it is written, and Qpid: to compare with, in `decide` and in worlds.
    "joinproto.reference": {"joinproto.reference", "joinproto.tables", ERRORS},
    "joinproto.store": {"joinproto.store", "joinproto.join", "joinproto.tables", ERRORS},
    "joinproto.drivers": {
        "joinproto.drivers",
        "joinproto.store",
        "joinproto.join",
        "joinproto.tables",
        ERRORS,
    },
    # A log behind a member, without sockets; `node` and `contrib` put it to use.
    "joinproto.log": {
        "joinproto.log",
        "joinproto.array_form",
        "joinproto.drivers",
        "joinproto.store",
        "joinproto.join",
        "joinproto.tables",
        ERRORS,
    },
    # Members, logs and stores in one process, without their sockets and sleeps; only `tools`
    # imports it, and whoever has members of their own.
    "joinproto.swarm": {
        "joinproto.swarm",
        "joinproto.log",
        "joinproto.drivers",
        "joinproto.store",
        "joinproto.join",
        "joinproto.tables",
        ERRORS,
    },
    # Questions and answers in JSON; it names the systems' questions and imports none of them
    # before one is asked.
    "joinproto.ask": {"joinproto.ask", "joinproto.json_form", ERRORS},
    "joinproto.discovery": {
        "joinproto.discovery",
        "joinproto.erlang_terms",
        "joinproto.ask",
        "joinproto.json_form",
        "joinproto.tables",
        ERRORS,
    },
    "joinproto.standby": {
        "joinproto.standby",
        "joinproto.ask",
        "joinproto.json_form",
        "joinproto.tables",
        ERRORS,
    },
    # Its stores on disk, and the broker as a process; only `tools` imports the latter.
    "joinproto.standby.keeping": {
        "joinproto.standby",
        "joinproto.log",
        "joinproto.store",
        "joinproto.json_form",
        ERRORS,
    },
    "joinproto.standby.serving": {
        "joinproto.standby",
        "joinproto.drivers",
        "joinproto.store",
        # The manager that is built in is a member with a log.
        "joinproto.join",
        "joinproto.log",
        # The frame of a process: its end, its control socket, what it tells a service manager.
        "joinproto.node.control",
        "joinproto.node.ending",
        "joinproto.node.exits",
        "joinproto.node.http",
        "joinproto.node.notify",
        "joinproto.node.stopped",
        "joinproto.toml_file",
        "joinproto.json_form",
        "joinproto.__version__",
        ERRORS,
    },
    **{place: {"joinproto.standby.serving"} for place in SPEAK_AMQP},
    # What asks the servers; the register of the view chain keeps views as members write them.
    "joinproto.discovery.clients": {"joinproto.discovery", "joinproto.join", ERRORS},
    "joinproto.reconcile": {
        "joinproto.reconcile",
        "joinproto.ask",
        "joinproto.json_form",
        "joinproto.tables",
        ERRORS,
    },
    "joinproto.clusterer": {
        "joinproto.clusterer",
        "joinproto.erlang_terms",
        "joinproto.ask",
        "joinproto.json_form",
        "joinproto.tables",
        ERRORS,
    },
    "joinproto.clusterer.keeping": {
        "joinproto.clusterer",
        "joinproto.json_form",
        "joinproto.store",
        ERRORS,
    },
    # A node as a process: TCP, time, and the services that it manages.
    "joinproto.clusterer.running": {
        "joinproto.clusterer",
        "joinproto.ask",
        "joinproto.drivers",
        "joinproto.toml_file",
        "joinproto.json_form",
        ERRORS,
    },
    # Its doing part: HTTP, the broker's tools, a file.
    "joinproto.reconcile.broker": {
        "joinproto.reconcile",
        "joinproto.ask",
        "joinproto.json_form",
        "joinproto.tables",
        ERRORS,
    },
    # A member as a process; only `tools` imports it.
    "joinproto.node": {
        "joinproto.node",
        # It finds its peers by a backend; the clients need an extra, and are opened late.
        "joinproto.discovery",
        "joinproto.log",
        "joinproto.drivers",
        "joinproto.store",
        "joinproto.join",
        "joinproto.tables",
        "joinproto.toml_file",
        "joinproto.json_form",
        "joinproto.__version__",
        ERRORS,
    },
    "joinproto.recovery": {
        "joinproto.recovery",
        "joinproto.pick",
        # The format of our own journal, to see where a store's frames end: it takes the base
        # install only, as the rest of `log` does not.
        "joinproto.log.journal",
        # The stores of hot standby, and which of them is the best.
        "joinproto.standby.best",
        "joinproto.standby.broker",
        "joinproto.standby.keeping",
        "joinproto.standby.messages",
        "joinproto.store",
        "joinproto.join",
        "joinproto.tables",
        "joinproto.toml_file",
        "joinproto.json_form",
        "joinproto.__version__",
        ERRORS,
    },
    "joinproto.contrib": {"joinproto"},
    "joinproto.rooms": {ERRORS},
    # What is printed says so in its types; nothing is known of who prints.
    "joinproto.erlang_terms": set(),
    "joinproto.json_form": set(),
    "joinproto.array_form": set(),
    "joinproto.checking": {"joinproto.rooms", "models"},
    # All commands, and the search of `recover rehearse`, which the recovery tool may not import:
    # it has to run where there is nothing but the base install.
    "joinproto.__main__": {"joinproto", "tools.cli.main", "tools.cli.rehearse"},
    "joinproto": {"joinproto"},
    # The rest of models is neutral: proofs read it where there is no NumPy.  The engine
    # is reached from two files, when a search or a walk starts (see LAZY).
    "models.engine": {"joinproto", "models"},
    "models.check": {"joinproto", "models"},
    "models.simulate": {"joinproto", "models"},
    "models": {"joinproto", "models"},
    "proofs": {"joinproto", "models", "proofs"},
    "spark_explore": {"joinproto", "models", "spark_explore"},
    "tools": set(ROOMS),
}

# Taken back from the table above: place -> what it may not import after all.
EXCEPT: Mapping[str, set[str]] = {
    "joinproto.discovery": {"joinproto.discovery.clients"},
    "joinproto": {"joinproto.__main__", "joinproto.checking"},
    "joinproto.standby": {"joinproto.standby.keeping", "joinproto.standby.serving"},
    "joinproto.standby.serving": {*SPEAK_AMQP},
    "joinproto.contrib": {"joinproto.__main__", "joinproto.checking", "joinproto.node"},
    "models": {"models.engine", "joinproto.checking"},
    "models.engine": {"joinproto.checking"},
    "models.check": {"joinproto.checking"},
    "models.simulate": {"joinproto.checking"},
    "proofs": {"models.engine", "joinproto.checking"},
    "spark_explore": {"joinproto.checking"},
}

# Permitted only inside a function, so not when the file is imported.
LAZY: Mapping[str, set[str]] = {
    "joinproto.__main__": {"tools"},
    "models.check": {"models.engine"},
    "models.simulate": {"models.engine"},
}

PURE = (
    "joinproto.clusterer",
    "joinproto.discovery",
    "joinproto.join",
    "joinproto.pick",
    "joinproto.reconcile",
    "joinproto.reference",
    "joinproto.standby",
    "joinproto.tables",
)
"""What decides: no I/O, clock or chance."""

BASE = {"attr", "attrs", "cattrs", "click", "transitions"}
ARRAYS = {"numpy", "numba", "llvmlite", "scipy"}

# Place -> packages from outside (the standard library is everybody's).
THEIRS: Mapping[str, set[str]] = {
    "joinproto.errors": set(),
    **{place: {"attr", "attrs", "transitions"} for place in PURE},
    "joinproto.store": {"attr", "attrs", "cattrs"},
    "joinproto.clusterer.keeping": {"attr", "attrs"},
    "joinproto.standby.keeping": {"attr", "attrs"},
    "joinproto.standby.serving": {"attr", "attrs", "cattrs", "anyio", "prometheus_client"},
    **{place: {"attr", "attrs", "proton"} for place in SPEAK_AMQP},
    "joinproto.clusterer.running": {"attr", "attrs"},
    "joinproto.drivers": BASE | {"anyio", "prometheus_client"},
    "joinproto.log": {"attr", "attrs"},
    "joinproto.swarm": {"attr", "attrs"},
    "joinproto.ask": {"attr", "attrs", "cattrs", "fastjsonschema"},
    "joinproto.reconcile.broker": {"attr", "attrs", "httpx", "prometheus_client"},
    "joinproto.node": BASE | {"anyio", "prometheus_client", "uvicorn"},
    # From the base install alone: operators run it on broken machines.
    "joinproto.recovery": BASE,
    "joinproto.discovery.clients": {"attr", "attrs", "anyio", "dns", "httpx"},
    "joinproto.contrib": BASE | {"amqtt", "anyio", "prometheus_client"},
    "joinproto.rooms": set(),
    "joinproto.json_form": {"attrs", "cattrs"},
    "joinproto.array_form": {"attrs"},
    "joinproto.erlang_terms": {"attrs"},
    "joinproto.checking": set(),
    "joinproto.__main__": {"click"},
    "joinproto": BASE,
    "models.engine": BASE | ARRAYS,
    "models.check": BASE,
    "models.simulate": BASE,
    "models": BASE,
    "proofs": BASE | {"z3"},
    "spark_explore": BASE | ARRAYS | {"pandas", "py4j", "pyarrow", "pyspark"},
    # `tools.mutate` runs the unit tests, and counts which lines they run; the benchmark runs two
    # checkers beside ours.
    "tools": BASE
    # boto3, httpx: the servers of boots.
    | {"boto3", "httpx"}
    | {"anyio", "coverage", "hypothesis", "matplotlib", "prometheus_client", "pyarrow", "pytest"}
    | {"minicheck", "musil", "proton", "rich"},
}

# No I/O, clock or randomness in what decides: time and chance are arguments.
NOT_WHERE_DECIDED = {
    "asyncio", "concurrent", "datetime", "fcntl", "glob", "http", "io", "logging",
    "multiprocessing", "os", "pathlib", "random", "secrets", "select", "shutil", "signal",
    "socket", "sqlite3", "ssl", "subprocess", "sys", "tempfile", "threading", "time",
    "urllib", "uuid",
}  # fmt: skip


@frozen
class Import:
    """One imported module: its full name, where, and whether only inside a function."""

    name: str
    line: int
    lazy: bool


@cache
def imports(source: str) -> tuple[Import, ...]:
    """Return all imports in `source`; `from a import b` counts as `a.b`.

    Whether `b` is a module or a name cannot be told without importing; for the arrows
    it makes no difference, because a place covers everything below it.
    """
    return tuple(_imports(ast.parse(source), lazy=False))


def _imports(node: ast.AST, *, lazy: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        inside = lazy or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        # `if TYPE_CHECKING:` never runs, so it is as late as can be.
        if isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            inside = True
        match child:
            case ast.Import():
                yield from (Import(name.name, child.lineno, lazy) for name in child.names)
            case ast.ImportFrom():
                module = "." * child.level + (child.module or "")
                for name in child.names:
                    yield Import(f"{module}.{name.name}", child.lineno, lazy)
            case ast.Call(args=[ast.Constant(value=str(name)), *_]) if ast.unparse(
                child.func
            ).endswith(("import_module", "__import__")):
                yield Import(name, child.lineno, lazy)
        yield from _imports(child, lazy=inside)


def problems(module: str, source: str) -> list[str]:
    """Return what is wrong with the imports of `module` (a dotted name), one line each."""
    if not any(covers(place, module) for place in OURS):
        return [f"{module}: no row in the tables of {Path(__file__).name}"]
    place = max((p for p in OURS if covers(p, module)), key=len)
    if place == "joinproto" and module.count(".") > 1:
        return [f"{module}: a new folder of joinproto needs its row in {Path(__file__).name}"]
    return [
        f"{module}, line {found.line}: {reason}"
        for found in imports(source)
        if (reason := refusal(place, found))
    ]


def refusal(place: str, found: Import) -> str:
    """Return why `place` may not have this import; empty if it may."""
    top = found.name.partition(".")[0]
    if not top:
        return f"{found.name}: write the full name"
    if top in sys.stdlib_module_names:
        if place in PURE and top in NOT_WHERE_DECIDED:
            return f"{place} may not import {top}: time, chance and I/O are its caller's"
        return ""
    if top not in ROOMS:
        if top in THEIRS[place]:
            return ""
        return f"{place} may not import {top}, a package from outside"
    if any(covers(p, found.name) for p in EXCEPT.get(place, ())):
        return f"{place} may not import {found.name}"
    # `import joinproto` or `from joinproto import errors` reach below what they name.
    if not any(covers(p, found.name) for p in OURS[place]):
        return f"{place} may not import {found.name}"
    if any(covers(p, found.name) for p in LAZY.get(place, ())) and not found.lazy:
        return f"{place} may import {found.name} only inside a function"
    return ""


def covers(place: str, module: str) -> bool:
    """Say whether `module` is `place` or lies below it."""
    return f"{module}.".startswith(f"{place}.")


def test_no_rule_can_be_left_out_from_inside() -> None:
    """Searches and storms leave rules out from outside (`models/mutations`): nothing in the
    product, and no configuration of it, knows that one could."""
    words = re.compile("left_out|mutant", re.IGNORECASE)

    found = [
        path.relative_to(ROOT).as_posix()
        for path in sorted((ROOT / "joinproto").rglob("*.py"))
        if words.search(path.read_text("utf-8"))
    ]

    assert [] == found


def dotted(path: Path) -> str:
    """Return the module name of a file of the checkout."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_every_import_follows_the_arrows() -> None:
    """joinproto <- models <- { proofs, spark_explore } <- tools."""
    files = [file for room in ROOMS for file in sorted((ROOT / room).rglob("*.py"))]

    found = [line for file in files for line in problems(dotted(file), file.read_text("utf-8"))]

    assert [] == found, "\n".join(found)


def test_nothing_that_is_installed_imports_what_stays_in_the_checkout() -> None:
    """The wheel carries no benchmark, no torture: a command must never be in need of them."""
    stays = {place.removesuffix(".py").replace("/", ".") for place in STAYS}
    files = [file for room in ROOMS for file in sorted((ROOT / room).rglob("*.py"))]

    found = [
        f"{dotted(file)} imports {found.name}"
        for file in files
        if not any(covers(place, dotted(file)) for place in stays)
        for found in imports(file.read_text("utf-8"))
        if any(covers(place, found.name) for place in stays)
    ]

    assert [] == found


def test_the_tables_name_the_same_places() -> None:
    """Whoever adds a place says both what of ours and what of theirs it may use."""
    assert OURS.keys() == THEIRS.keys()
    assert OURS.keys() >= EXCEPT.keys() | LAZY.keys()


def test_main_reaches_tools_by_exactly_two_imports() -> None:
    """The CLI entry reaches `tools` by two lazy imports; nothing else of joinproto does."""
    source = (ROOT / "joinproto" / "__main__.py").read_text("utf-8")

    reached = [found for found in imports(source) if covers("tools", found.name)]

    expected = ["tools.cli.main.cli", "tools.cli.rehearse.rehearse_restart"]
    assert [(name, True) for name in expected] == [(found.name, found.lazy) for found in reached]


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("joinproto.join.member", "import tools"),
        ("joinproto.join.member", "import time"),
        ("joinproto.join.member", "import cattrs"),
        ("joinproto.join.member", "from joinproto.store import metadata"),
        ("joinproto.join.member", "from joinproto import store"),
        ("joinproto.join.member", "from . import tables"),
        ("joinproto.store.metadata", "from joinproto.drivers import threads"),
        ("joinproto.recovery.pick", "def pick():\n    import numpy"),
        ("joinproto.recovery.pick", "import joinproto.checking"),
        ("joinproto.node", "from joinproto import checking"),
        ("joinproto.standby.serving.core", "import proton"),
        ("joinproto.standby.serving.core", "from joinproto.standby.serving import amqp"),
        ("joinproto.newfolder.file", "import ast"),
        ("joinproto.__main__", "from tools.cli.main import cli"),
        ("joinproto.__main__", "def f():\n    from tools import draw"),
        ("joinproto.errors", "import joinproto.join"),
        ("models.world", "import numpy"),
        ("models.world", "def f():\n    import models.engine.search"),
        ("models.world", "from models import engine"),
        ("models.world", "if TYPE_CHECKING:\n    import proofs"),
        ("models.world", "from joinproto.checking import World"),
        ("models.check", "from models.engine import search"),
        ("models.check", "def f():\n    import numpy"),
        ("models.engine.search", "import rich"),
        ("proofs.claims", "from models.engine import search"),
        ("proofs.claims", "import spark_explore"),
        ("proofs.claims", "importlib.import_module('pyspark')"),
        ("spark_explore.levels", "import z3"),
        ("tools.draw", "import z3"),
        ("tools.draw", "import tests.helpers"),
        ("elsewhere.file", "import ast"),
    ],
)
def test_a_wrong_import_is_found(module: str, source: str) -> None:
    """A test that cannot fail proves nothing: each of these must be refused."""
    assert 1 == len(problems(module, source))


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("joinproto.join.member", "import enum\nimport attrs\nfrom joinproto.join import view"),
        ("joinproto.join.member", "from joinproto.errors import MisuseError"),
        ("joinproto.__main__", "def f():\n    from tools.cli.main import cli"),
        ("models.check", "def f():\n    from models.engine import search"),
        ("models.check", "if TYPE_CHECKING:\n    from models.engine import search"),
        ("models.engine.search", "import numpy\nimport models.world\nimport joinproto.join"),
        ("spark_explore.levels", "import pyspark\nimport models.engine.search"),
        ("proofs.claims", "import z3\nfrom models import World"),
        ("tools.cli.check", "import rich\nimport proofs.claims\nimport joinproto.join"),
    ],
)
def test_a_right_import_is_let_through(module: str, source: str) -> None:
    """The other side: the tables forbid no more than they say."""
    assert [] == problems(module, source)
