"""The imports that each package may have, of our packages and of packages from outside.

    errors <- machine, codec <- systems <- durable, net, host <- apps          tests see all
    joinproto.check, joinproto.prove <- models, proofs, spark_explore <- joinproto.cli <- tools

Read the tables `OURS` and `THEIRS` first.  A place is a folder, or a single file with an arrow of
its own; a file belongs to the longest place that holds it.  A file of a place that no table knows
fails the test: a change that adds a folder decides its allowed imports.

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

ROOT = Path(__file__).resolve().parents[2]
PLACES = ("joinproto", "models", "proofs", "spark_explore", "tools")
"""Folders of the checkout."""
OUR_NAMES = ("joinproto", "joinproto_claims", "joinproto_worlds", "spark_explore", "tools")
"""Packages that these folders hold."""

ERRORS = "joinproto.errors"
MACHINE = "joinproto.machine"
CODEC = "joinproto.codec"
DURABLE = "joinproto.durable"
NET = "joinproto.net"
HOST = "joinproto.host"

SPEAK_AMQP = tuple(f"joinproto.apps.standby.{name}" for name in ("amqp", "engine", "transacting"))
"""The only files of the product that need Proton; the command gives them to the broker."""

ENGINE: Mapping[str, set[str]] = {
    # Folder of the engine -> which other parts of it that folder may import: only those above it.
    "rows": set(),
    "tables": {"rows"},
    "claims": {"rows", "tables"},
    "symmetry": {"rows", "tables", "claims"},
    "expansion": {"rows", "tables", "symmetry"},
    "space": {"rows", "tables", "claims", "symmetry", "expansion", "stopping"},
    "checkpoint": {"rows", "tables", "claims", "symmetry"},
    "search": {"rows", "claims", "symmetry", "expansion", "space", "checkpoint", "stopping"},
    "runs": {"rows", "tables", "claims", "symmetry", "search", "stopping"},
    "liveness": {"rows", "tables", "claims", "search", "runs"},
}
# Imported for types or inside a function: to report a run that broke a claim, to look for a lasso.
ENGINE_LATE: Mapping[str, set[str]] = {
    "tables": {"symmetry"},
    "checkpoint": {"search"},
    "search": {"runs"},
    "runs": {"liveness"},
}
_ENGINE = "joinproto.check.engine"
_PARTS = {*ENGINE, "stopping"}
"""The parts of the engine but `shapes.py`, which has types alone: every part may import it."""

# Place -> the places it may import, besides itself and the errors; a name covers all below it.
OURS: Mapping[str, set[str]] = {
    # The errors import no module of ours, so that deciding code can raise them, too.
    ERRORS: set(),
    # Terms, decision tables and machines: no rule of any system.
    MACHINE: set(),
    # Classes that are printed have annotated types, and do not import the printer.
    CODEC: set(),
    "joinproto.join": {MACHINE, CODEC},
    # Which store is the latest: of this protocol's stores, and of other brokers' stores.
    "joinproto.pick": {"joinproto.join", MACHINE, CODEC},
    # The note as it is written, and Qpid: `decide` and worlds compare with them.
    "joinproto.reference": {MACHINE},
    # Questions and answers in JSON; it imports a system's questions when one of them is asked.
    "joinproto.ask": {CODEC},
    **{
        f"joinproto.{system}": {"joinproto.ask", CODEC, MACHINE}
        for system in ("discovery", "standby", "reconcile", "clusterer")
    },
    DURABLE: {CODEC},
    # Records of the journal hold positions of views; a survey of them has a store's metadata.
    "joinproto.durable.journal": {DURABLE, "joinproto.join", CODEC},
    "joinproto.store": {"joinproto.join", MACHINE, DURABLE, CODEC},
    # Links between members: addresses, frames, proofs, TLS.
    NET: {"joinproto.join", CODEC, HOST},
    # A member with real time, network and disk.
    HOST: {
        "joinproto.__version__",
        "joinproto.join",
        "joinproto.store",
        MACHINE,
        DURABLE,
        CODEC,
        NET,
    },
    # A log behind a member, without sockets.
    "joinproto.log": {"joinproto.join", "joinproto.store", MACHINE, DURABLE, CODEC, HOST, NET},
    # Members, logs and stores in one process, without their sockets and sleeps.
    "joinproto.swarm": {
        *("joinproto.join", "joinproto.log", "joinproto.store"),
        *(MACHINE, DURABLE, CODEC, HOST, NET),
    },
    # The operator's tool: our stores, and those of hot standby.
    "joinproto.recovery": {
        *("joinproto.pick", "joinproto.join", "joinproto.store", "joinproto.__version__"),
        *("joinproto.standby", "joinproto.apps.standby.keeping", MACHINE, DURABLE, CODEC),
    },
    # A system as a process.
    "joinproto.apps.node": {
        *("joinproto.join", "joinproto.store", "joinproto.log", "joinproto.discovery"),
        *("joinproto.apps.discovery", "joinproto.__version__", MACHINE, DURABLE, CODEC, HOST, NET),
    },
    "joinproto.apps.standby": {
        # The manager that is built in is a member with a log.
        *("joinproto.standby", "joinproto.join", "joinproto.store", "joinproto.log", MACHINE),
        *("joinproto.apps.node.stopped", "joinproto.__version__", DURABLE, CODEC, HOST, NET),
    },
    "joinproto.apps.standby.keeping": {
        *("joinproto.standby", "joinproto.log", "joinproto.store", DURABLE, CODEC)
    },
    **{place: {"joinproto.apps.standby"} for place in SPEAK_AMQP},
    # Clients of the servers; the register of the view chain keeps views as members write them.
    "joinproto.apps.discovery": {"joinproto.discovery", "joinproto.join", CODEC},
    "joinproto.apps.clusterer": {
        *("joinproto.clusterer", "joinproto.ask", "joinproto.machine.step"),
        *(CODEC, HOST, NET, DURABLE),
    },
    # The contents of RabbitMQ's tables, by the readers of the operator's tool.
    "joinproto.apps.clusterer.definitions": {
        *("joinproto.apps.clusterer", "joinproto.pick", "joinproto.recovery", NET)
    },
    "joinproto.apps.reconcile": {"joinproto.reconcile", "joinproto.ask", CODEC, MACHINE, DURABLE},
    "joinproto.apps.contrib": {"joinproto"},
    "joinproto.apps": set(),
    # The checker knows no system.  Only the files below import its engine, when a search or a walk
    # starts, because proofs use the rest without NumPy.
    "joinproto.check": {CODEC},
    **{
        place: {"joinproto.check", CODEC}
        for place in (_ENGINE, *(f"{_ENGINE}.{p}" for p in ENGINE))
    },
    "joinproto.check.check": {"joinproto.check"},
    "joinproto.check.simulate": {"joinproto.check", CODEC},
    "joinproto.check.bounded": {"joinproto.check"},
    "joinproto.check.chance": {"joinproto.check", CODEC},
    "joinproto.check.cover": {"joinproto.check", CODEC},
    "joinproto.check.catalogue": {"joinproto.check", "joinproto_worlds.entries"},
    # Walking through a world: the core imports the checker only; the page's server imports it.
    "joinproto.explore": {"joinproto.check", MACHINE, CODEC},
    "joinproto.explore.server": {"joinproto.explore"},
    # A separate process, with the engine.
    "joinproto.explore.deep": {"joinproto.explore", "joinproto.check"},
    "joinproto.prove": {"joinproto.check", "joinproto.join", MACHINE, CODEC},
    "joinproto.prove.second": {"joinproto.prove"},
    "joinproto.cli": {"joinproto", "joinproto_claims", "joinproto_worlds", "spark_explore"},
    # The plugins that pytest loads in each of its runs.
    "joinproto.cli.pytest_plugin": {"joinproto"},
    # Earlier names.
    "joinproto.checking": {"joinproto"},
    "joinproto.__main__": {"joinproto"},
    "joinproto": {"joinproto"},
    "joinproto_worlds": {"joinproto"},
    "joinproto_claims": {"joinproto", "joinproto_worlds"},
    "spark_explore": {"joinproto"},
    "tools": {*OUR_NAMES},
}

_COMMANDS = {"joinproto.__main__", "joinproto.cli"}

# Exceptions to the table above: place -> the places that it must not import.
EXCEPT: Mapping[str, set[str]] = {
    "joinproto": {*_COMMANDS, "joinproto.check"},
    "joinproto.standby": {"joinproto.apps.standby"},
    "joinproto.apps.standby": {*SPEAK_AMQP},
    "joinproto.apps.contrib": {*_COMMANDS, "joinproto.check"},
    "joinproto.check": {_ENGINE},
    **{
        f"{_ENGINE}.{part}": {
            f"{_ENGINE}.{other}"
            for other in _PARTS - {part} - others - ENGINE_LATE.get(part, set())
        }
        for part, others in ENGINE.items()
    },
    "joinproto.check.catalogue": {"joinproto.check.engine"},
    "joinproto.explore": {_ENGINE},
    "joinproto.prove": {"joinproto.check.engine"},
    "joinproto_worlds": {*_COMMANDS, "joinproto.check.engine", "joinproto.prove"},
    "joinproto_claims": {*_COMMANDS, "joinproto.check.engine"},
    "spark_explore": {*_COMMANDS, "joinproto.prove"},
}

# Place -> the places that it may import only inside a function, not when it is imported itself.
LAZY: Mapping[str, set[str]] = {
    **{f"{_ENGINE}.{p}": {f"{_ENGINE}.{q}" for q in late} for p, late in ENGINE_LATE.items()},
    "joinproto.__main__": {"joinproto.cli", "joinproto.recovery"},
    "joinproto.check.check": {"joinproto.check.engine"},
    "joinproto.check.simulate": {"joinproto.check.engine"},
    "joinproto.check.bounded": {"joinproto.check.engine"},
    "joinproto.check.chance": {"joinproto.check.engine"},
    "joinproto.check.cover": {"joinproto.check.engine"},
    "joinproto.check.catalogue": {"joinproto_worlds"},
    "joinproto.cli.pytest_plugin": {"joinproto"},
    "joinproto.explore.deep": {_ENGINE},
}

PURE = (
    "joinproto.clusterer",
    "joinproto.discovery",
    "joinproto.join",
    "joinproto.pick",
    "joinproto.reconcile",
    "joinproto.reference",
    "joinproto.standby",
    MACHINE,
)
"""Packages that decide, without I/O, clock or chance."""

ATTRS = {"attr", "attrs"}
BASE = {*ATTRS, "click", "transitions"}
ARRAYS = {"numpy", "numba", "llvmlite", "scipy"}

# Place -> the packages from outside that it may import; all may import the standard library.
THEIRS: Mapping[str, set[str]] = {
    ERRORS: set(),
    **{place: ATTRS | {"transitions"} for place in PURE},
    CODEC: ATTRS,
    DURABLE: ATTRS,
    "joinproto.durable.journal": ATTRS,
    NET: ATTRS | {"anyio"},
    "joinproto.store": ATTRS,
    HOST: BASE | {"anyio", "prometheus_client", "uvicorn"},
    "joinproto.log": ATTRS,
    "joinproto.swarm": ATTRS,
    "joinproto.ask": ATTRS,
    # From the base install alone: operators run it on broken machines.
    "joinproto.recovery": BASE,
    "joinproto.apps": set(),
    "joinproto.apps.node": BASE | {"anyio", "prometheus_client"},
    "joinproto.apps.standby": ATTRS | {"anyio", "prometheus_client"},
    "joinproto.apps.standby.keeping": ATTRS,
    **{place: ATTRS | {"proton"} for place in SPEAK_AMQP},
    "joinproto.apps.clusterer": ATTRS | {"anyio"},
    "joinproto.apps.clusterer.definitions": set(),
    "joinproto.apps.reconcile": ATTRS | {"httpx", "prometheus_client"},
    "joinproto.apps.discovery": ATTRS | {"anyio", "dns", "httpx"},
    "joinproto.apps.contrib": BASE | {"amqtt", "anyio", "prometheus_client"},
    "joinproto.checking": set(),
    "joinproto.__main__": {"click"},
    "joinproto": BASE,
    "joinproto.check": BASE,
    **dict.fromkeys((_ENGINE, *(f"{_ENGINE}.{p}" for p in ENGINE)), BASE | ARRAYS),
    "joinproto.check.check": BASE,
    "joinproto.check.simulate": BASE,
    "joinproto.check.bounded": BASE,
    "joinproto.check.chance": BASE,
    "joinproto.check.cover": BASE,
    "joinproto.check.catalogue": ATTRS,
    "joinproto.explore": BASE,
    "joinproto.explore.server": ATTRS | {"starlette", "uvicorn"},
    "joinproto.explore.deep": BASE | ARRAYS,
    "joinproto.prove": BASE | {"z3"},
    "joinproto.prove.second": ATTRS | {"cvc5"},
    "joinproto.cli": BASE | {"anyio", "prometheus_client", "matplotlib", "pyarrow"},
    "joinproto.cli.pytest_plugin": {"pytest"},
    "joinproto_worlds": BASE,
    "joinproto_claims": BASE | {"z3"},
    "spark_explore": BASE | ARRAYS | {"duckdb", "pandas", "py4j", "pyarrow", "pyspark"},
    # `tools.mutate` runs the unit tests, and counts which lines they run; the benchmark runs two
    # checkers alongside ours; boto3, httpx: the servers of boots; mkdocs: the site.
    "tools": BASE
    | {
        "anyio",
        "boto3",
        "cattrs",
        "coverage",
        "httpx",
        "hypothesis",
        "matplotlib",
        "minicheck",
        "mkdocs",
        "musil",
    }
    | {"prometheus_client", "proton", "pyarrow", "pytest"},
}

# No I/O, clock or randomness in deciding code: time and chance are arguments.
NOT_WHERE_DECIDED = {
    "asyncio", "concurrent", "datetime", "fcntl", "glob", "http", "io", "logging",
    "multiprocessing", "os", "pathlib", "random", "secrets", "select", "shutil", "signal",
    "socket", "sqlite3", "ssl", "subprocess", "sys", "tempfile", "threading", "time",
    "urllib", "uuid",
}  # fmt: skip


@frozen
class Import:
    """An import.  `name`: the full name of the module; `lazy`: whether it is inside a function."""

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
        # `if TYPE_CHECKING:` never runs, so an import in it counts as lazy.
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
    """Return the forbidden imports of `module` (a dotted name), one line each."""
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
    """Return the reason why `place` may not have this import, or ""."""
    top = found.name.partition(".")[0]
    if not top:
        return f"{found.name}: is a relative import; write the full name"
    if top in sys.stdlib_module_names:
        if place in PURE and top in NOT_WHERE_DECIDED:
            return f"{place} may not import {top}: time, chance and I/O are its caller's"
        return ""
    if top not in OUR_NAMES:
        if top in THEIRS[place]:
            return ""
        return f"{place} may not import {top}, a package from outside"
    if any(covers(p, found.name) for p in EXCEPT.get(place, ())):
        return f"{place} may not import {found.name}"
    # `import joinproto` or `from joinproto import errors` reach below what they name.
    allowed = {place, *OURS[place], *(() if place == ERRORS else (ERRORS,))}
    if not any(covers(p, found.name) for p in allowed):
        return f"{place} may not import {found.name}"
    if any(covers(p, found.name) for p in LAZY.get(place, ())) and not found.lazy:
        return f"{place} may import {found.name} only inside a function"
    return ""


def test_the_engine_has_an_order() -> None:
    """The table has each part, and each part may import only parts above it."""
    folder = ROOT / "joinproto" / "check" / "engine"
    above = {"shapes", "stopping"}
    for part, others in ENGINE.items():
        assert others <= above, part
        above.add(part)

    there = {path.stem for path in folder.iterdir() if path.stem not in ("__init__", "__pycache__")}
    assert there == above


def covers(place: str, module: str) -> bool:
    """Return whether `module` is `place` or lies below it."""
    return f"{module}.".startswith(f"{place}.")


def test_no_module_of_the_product_mentions_a_mutant() -> None:
    """Searches and storms leave rules out from outside (`models/joinproto_worlds/mutations`), so no
    setting of a broker can do it."""
    words = re.compile("left_out|mutant", re.IGNORECASE)

    found = [
        path.relative_to(ROOT).as_posix()
        for path in sorted((ROOT / "joinproto").rglob("*.py"))
        if path.relative_to(ROOT / "joinproto").parts[0] not in ("check", "explore", "prove", "cli")
        if words.search(path.read_text("utf-8"))
    ]

    assert [] == found


def dotted(path: Path) -> str:
    """Return the module name of a file of the checkout."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    if parts[0] in ("models", "proofs"):
        parts = parts[1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_every_import_follows_the_arrows() -> None:
    files = [file for top in PLACES for file in sorted((ROOT / top).rglob("*.py"))]

    found = [line for file in files for line in problems(dotted(file), file.read_text("utf-8"))]

    assert [] == found, "\n".join(found)


def test_the_tables_name_the_same_places() -> None:
    """A change that adds a place gives its allowed imports of both kinds."""
    assert OURS.keys() == THEIRS.keys()
    assert OURS.keys() >= EXCEPT.keys() | LAZY.keys()


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("joinproto.join.member", "import tools"),
        ("joinproto.join.member", "import time"),
        ("joinproto.join.member", "import cattrs"),
        ("joinproto.join.member", "from joinproto.store import metadata"),
        ("joinproto.join.member", "from joinproto import store"),
        ("joinproto.join.member", "from . import tables"),
        ("joinproto.store.metadata", "from joinproto.host import threads"),
        ("joinproto.recovery.pick", "def pick():\n    import numpy"),
        ("joinproto.recovery.pick", "import joinproto.check"),
        ("joinproto.apps.node", "from joinproto import check"),
        ("joinproto.apps.standby.core", "import proton"),
        ("joinproto.apps.standby.core", "from joinproto.apps.standby import amqp"),
        ("joinproto.newfolder.file", "import ast"),
        ("joinproto.__main__", "from joinproto.cli.main import cli"),
        ("joinproto.__main__", "def f():\n    from tools import draw"),
        ("joinproto.errors", "import joinproto.join"),
        ("joinproto.check.world", "import numpy"),
        ("joinproto.check.world", "def f():\n    import joinproto.check.engine.search"),
        ("joinproto.check.world", "from joinproto.check import engine"),
        ("joinproto.check.world", "if TYPE_CHECKING:\n    import joinproto_claims"),
        ("joinproto.check.world", "from joinproto.join import view"),
        ("joinproto_worlds.join.world", "from joinproto.cli import output"),
        ("joinproto.check.check", "from joinproto.check.engine import search"),
        ("joinproto.check.check", "def f():\n    import numpy"),
        ("joinproto.check.engine.search", "import rich"),
        (
            "joinproto.check.engine.rows.layout",
            "from joinproto.check.engine.tables import kernel",
        ),
        (
            "joinproto.check.engine.tables.tables",
            "import joinproto.check.engine.symmetry",
        ),
        ("joinproto.check.engine.claims.judge", "from joinproto.check.engine import search"),
        ("joinproto_claims.claims", "from joinproto.check.engine import search"),
        ("joinproto_claims.claims", "import spark_explore"),
        ("joinproto_claims.claims", "importlib.import_module('pyspark')"),
        ("spark_explore.levels", "import z3"),
        ("tools.draw", "import z3"),
        ("tools.draw", "import tests.helpers"),
        ("elsewhere.file", "import ast"),
    ],
)
def test_a_wrong_import_is_found(module: str, source: str) -> None:
    """The test of all files can fail: each of these imports is refused."""
    assert 1 == len(problems(module, source))


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("joinproto.join.member", "import enum\nimport attrs\nfrom joinproto.join import view"),
        ("joinproto.join.member", "from joinproto.errors import MisuseError"),
        ("joinproto.__main__", "def f():\n    from joinproto.cli.main import cli"),
        ("joinproto.check.check", "def f():\n    from joinproto.check.engine import search"),
        (
            "joinproto.check.check",
            "if TYPE_CHECKING:\n    from joinproto.check.engine import search",
        ),
        ("joinproto.check.engine.runs.paths", "from joinproto.check.engine.search import Search"),
        (
            "joinproto.check.engine.search",
            "import numpy\nimport joinproto.check.world",
        ),
        ("spark_explore.levels", "import pyspark\nimport joinproto.check.engine.search"),
        ("joinproto_claims.claims", "import z3\nfrom joinproto.check import World"),
        (
            "joinproto.cli.commands.check",
            "import click\nimport joinproto_claims.claims\nimport joinproto.join",
        ),
    ],
)
def test_a_permitted_import_is_accepted(module: str, source: str) -> None:
    """The tables do not forbid more than necessary."""
    assert [] == problems(module, source)
