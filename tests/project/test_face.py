"""The public names, and that examples and documents import only these."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import joinproto
from joinproto import check, simulating
from tools import docs
from tools.faults.ports import free_ports

ROOT = Path(__file__).resolve().parents[2]
PUBLIC = {
    "joinproto": joinproto.__all__,
    "joinproto.check": check.__all__,
    "joinproto.simulating": simulating.__all__,
}
IMPORT = re.compile(
    r"^ *(?:from joinproto\S* import (?:\([^)]*\)|.*)|import joinproto.*)$", re.MULTILINE
)


def private_names(text: str) -> list[str]:
    """Return the non-public names that a text with Python code imports."""
    return [name for found in IMPORT.finditer(text) for name in _refused(found[0].strip())]


def _refused(line: str) -> Iterator[str]:
    for node in ast.parse(line).body:
        if isinstance(node, ast.ImportFrom):
            known = PUBLIC.get(node.module or "", ())
            yield from (f"{node.module}.{n.name}" for n in node.names if n.name not in known)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name not in PUBLIC)


def readable() -> list[Path]:
    """Return the texts from which a reader copies code: the examples and the documents."""
    return [*sorted((ROOT / "docs" / "examples").glob("*.py")), *docs.documents()]


@pytest.mark.parametrize("path", readable(), ids=lambda path: str(path.name))
def test_examples_and_documents_import_public_names_only(path: Path) -> None:
    """`joinproto.__all__`: "Everything else may change without notice"."""
    assert [] == private_names(path.read_text("utf-8"))


@pytest.mark.parametrize(
    "text",
    [
        "from joinproto.store.handle import open_store",
        "Like this:\n\n    from joinproto import Member, Chooser\n",
        "from joinproto import (\n    Member,\n    Outbox,\n)\n",
        "import joinproto.net.tcp",
        "from joinproto.check import Search",
    ],
)
def test_an_import_of_a_private_name_is_found(text: str) -> None:
    """The test above can fail."""
    assert 1 == len(private_names(text))


def test_every_public_name_can_be_imported() -> None:
    names: dict[str, object] = {}

    exec("from joinproto import *", names)  # noqa: S102 - this line needs `__all__`

    assert set(joinproto.__all__) <= names.keys()


def test_type_checkers_and_the_interpreter_know_the_same_names() -> None:
    """A type checker reads `if TYPE_CHECKING` in `joinproto/__init__.py`; Python, `__getattr__`."""
    tree = ast.parse((ROOT / "joinproto" / "__init__.py").read_text("utf-8"))
    conditions = [part for part in tree.body if isinstance(part, ast.If)]
    (typed,) = (part for part in conditions if ast.unparse(part.test) == "TYPE_CHECKING")

    places = {
        name.name: node.module
        for node in typed.body
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    }

    assert {f"joinproto.{place}" for place in joinproto._PLACES} == set(places.values())
    assert {name: f"joinproto.{place}" for name, place in joinproto._PLACE_OF.items()} == places
    assert {*places, "__version__"} == set(joinproto.__all__)
    assert sorted(joinproto.__all__) == list(joinproto.__all__)


LOGGED = """
from pathlib import Path
import sys
import anyio
from joinproto import (
    Address, Application, Closing, Cluster, Config, Entry, Host, JournalFrame, Network, Position,
    ReplicatedLog, TcpTransport, View, open_disk,
)

class Kept(Application):
    def apply(self, frame: JournalFrame) -> None:
        print(Entry.of(frame.data).body.decode())
    def opened(self, view: View) -> None: ...
    def closed(self, why: Closing) -> None: ...

async def main(path: Path, port: int) -> None:
    disk = open_disk(path / "a", "a", "demo")
    place, alone = Address("127.0.0.1", port), frozenset("a")
    log = ReplicatedLog(disk.journal, Kept())
    network = Network(
        member="a", cluster_name="demo", electors=alone, listen=place, addresses={"a": place}
    )
    host = Host(store=disk.store, transport=TcpTransport(network), service=log, transfer=log)
    config = Config(member="a", electors=alone, wait_for=1, cluster_name="demo")
    async with Cluster(config, host) as cluster:
        await cluster.wait_active(timeout=120)
        committed = anyio.Event()
        def done(at: Position) -> None:
            committed.set()
        log.submit(b"kept by all", done)
        await committed.wait()
    disk.close()

anyio.run(main, Path(sys.argv[1]), int(sys.argv[2]))
"""


def test_a_host_over_a_replicated_log_needs_public_names_only(tmp_path: Path) -> None:
    """The program runs a member, as the second program of `docs/embedding.md` does."""
    (port,) = free_ports(1)
    words = [sys.executable, "-c", LOGGED, str(tmp_path), str(port)]

    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)

    assert [] == private_names(LOGGED)
    assert "kept by all\n" == done.stdout


@pytest.mark.parametrize(("former", "now"), joinproto._FORMER.items())
def test_a_former_name_is_the_object_of_the_present_name(former: str, now: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"joinproto.{now}"):
        found = getattr(joinproto, former)

    assert found is getattr(joinproto, now)
    assert former not in joinproto.__all__


def test_an_unknown_name_raises_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Outbox'"):
        joinproto.Outbox  # noqa: B018 - the access is the test


def test_importing_joinproto_imports_no_other_module_of_ours() -> None:
    """Every command begins with this import, so it must be fast."""
    program = "import sys, joinproto; print(*sys.modules)"

    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )

    ours = [name for name in done.stdout.split() if name.startswith("joinproto")]
    assert ["joinproto"] == ours
    assert not {"anyio", "asyncio", "attr", "cattrs", "transitions"} & set(done.stdout.split())


def test_the_reference_describes_every_public_name_once() -> None:
    """`docs/api.md`; `python -m tools.docs` writes it, and `test_docs.py` compares."""
    text = (ROOT / "docs" / "api.md").read_text("utf-8")

    named = [name for found in re.findall(r"<!-- api: (.+) -->", text) for name in found.split()]

    assert sorted([*named, "__version__"]) == sorted(joinproto.__all__)


def test_the_reference_of_models_describes_every_name_once() -> None:
    """`python -m tools.docs` writes `docs/check/api.md`, too."""
    text = (ROOT / "docs" / "check" / "api.md").read_text("utf-8")

    named = [name for found in re.findall(r"<!-- check: (.+) -->", text) for name in found.split()]

    assert sorted(named) == sorted(check.__all__)
