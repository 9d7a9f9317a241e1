"""The package as its users get it: built, installed into an empty place, and run.

The commands run in a folder that has a `models` and a `tools` of its own, as many
projects have.  There the command must find our rooms, and the folder's own programs
must find theirs.
"""

import json
import os
import socket
import subprocess
import sys
import tarfile
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest
from attrs import frozen

from hatch_build import STAYS
from joinproto import __version__
from joinproto.rooms import ROOMS
from tools.bench.pythons import newer_python
from tools.faults.nodes import until
from tools.faults.ports import free_ports

pytestmark = pytest.mark.landing

ROOT = Path(__file__).resolve().parents[2]


@frozen
class Installed:
    """A virtual environment with our wheel, and a folder to run programs in."""

    python: str
    script: str
    folder: Path

    def run(self, *command: str, expected: int = 0) -> subprocess.CompletedProcess[str]:
        """Run `command` in the folder, with nothing of ours in its environment."""
        clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        done = subprocess.run(
            command, cwd=self.folder, env=clean, capture_output=True, text=True, check=False
        )
        assert expected == done.returncode, done.stdout + done.stderr
        return done


def build(target: str, source: Path, out: Path) -> Path:
    """Build one file with the installed hatchling, so that nothing is downloaded."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(out)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
    assert 0 == done.returncode, done.stdout + done.stderr
    (built,) = out.iterdir()
    return built


def install(wheel: Path, place: Path, *, extra: str, python: str = sys.executable) -> Installed:
    """Install `wheel` with `extra` into an empty environment, dependencies as pip finds them."""
    subprocess.run([python, "-m", "venv", str(place / "env")], check=True)
    programs = place / "env" / "bin"
    wanted = f"{wheel}[{extra}]" if extra else str(wheel)
    command = [str(programs / "python"), "-m", "pip", "install", "--quiet", wanted]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    assert 0 == done.returncode, done.stdout + done.stderr

    folder = place / "project"
    for name in ("models", "tools"):
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text(f'raise_if_ours = "{name} of the project"\n')
    return Installed(str(programs / "python"), str(programs / "joinproto"), folder)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel, built from the checkout."""
    return build("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def base(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Return an installation without extras: what a broker has, and an operator."""
    return install(wheel, tmp_path_factory.mktemp("base"), extra="")


@pytest.fixture(scope="module")
def with_check(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Return an installation with `[check]`: what who searches a world has."""
    return install(wheel, tmp_path_factory.mktemp("check"), extra="check")


@pytest.fixture(scope="module")
def with_amqtt(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Return an installation with `[amqtt]`: with all that runs a member, too."""
    return install(wheel, tmp_path_factory.mktemp("amqtt"), extra="amqtt")


@pytest.fixture(params=["script", "module"])
def command(request: pytest.FixtureRequest, base: Installed) -> list[str]:
    """Return both ways to start us; `-m` puts the folder, with its `tools`, first."""
    return [base.script] if request.param == "script" else [base.python, "-m", "joinproto"]


def names_in(wheel: Path) -> list[str]:
    """Return the paths in a wheel."""
    return zipfile.ZipFile(wheel).namelist()


def test_the_wheel_has_one_package_at_its_top(wheel: Path) -> None:
    """The rooms never become top-level packages of somebody's installation."""
    tops = {name.partition("/")[0] for name in names_in(wheel)}

    assert {"joinproto", f"joinproto-{__version__}.dist-info"} == tops


def test_the_wheel_holds_every_file_of_a_room_that_a_command_may_need(wheel: Path) -> None:
    """`joinproto/_rooms`: the rooms of the checkout without benchmark, torture and the like.

    That no command imports one of those is held by `test_arrows.py`.
    """
    files = [file.relative_to(ROOT) for room in ROOMS for file in (ROOT / room).rglob("*.py")]
    stays = {file for file in files if any(file.is_relative_to(place) for place in STAYS)}
    wanted = {f"joinproto/_rooms/{file.as_posix()}" for file in {*files} - stays}

    names = names_in(wheel)

    assert wanted == {name for name in names if "/_rooms/" in name and name.endswith(".py")}
    assert {place for place in STAYS if not (ROOT / place).exists()} == set()
    assert not [name for name in names if "__pycache__" in name]
    assert "joinproto/py.typed" in names


@pytest.mark.needs("Python 3.12")
def test_a_newer_python_searches_and_recovers(wheel: Path, tmp_path: Path) -> None:
    """3.12 or later, where it is there: the versions of its packages are the newest that fit."""
    newer = install(wheel, tmp_path, extra="check", python=newer_python() or sys.executable)

    searched = newer.run(newer.script, "check", "two-phase-commit", "--members", "5")
    helped = newer.run(newer.script, "recover", "--help")

    assert "8,832 distinct" in searched.stdout
    assert "pick" in helped.stdout


def test_the_source_archive_holds_everything_and_builds_the_same_wheel(
    wheel: Path, tmp_path: Path
) -> None:
    """An auditor repeats the checks from the archive alone."""
    archive = build("sdist", ROOT, tmp_path / "sdist")
    with tarfile.open(archive) as opened:
        # Python 3.11 takes no `filter` before 3.11.4.
        opened.extraction_filter = getattr(tarfile, "data_filter", None)
        opened.extractall(tmp_path / "source")
    source = tmp_path / "source" / f"joinproto-{__version__}"

    again = build("wheel", source, tmp_path / "again")

    for name in ("LICENSE", "Makefile", "CHANGELOG.md", ".ci/run", "tests/conftest.py"):
        assert (source / name).is_file(), name
    assert sorted(names_in(wheel)) == sorted(names_in(again))


def test_an_editable_install_copies_no_room(tmp_path: Path) -> None:
    """A copy in site-packages would go stale, and would be the one that runs."""
    names = names_in(build("wheel:editable", ROOT, tmp_path))

    assert not [name for name in names if "_rooms" in name]


def test_the_command_starts_beside_foreign_rooms(base: Installed, command: list[str]) -> None:
    """Not the folder's `tools`, which has no `cli`, but ours."""
    version = base.run(*command, "--version")
    usage = base.run(*command, "--help")

    assert f"joinproto {__version__}\n" == version.stdout
    assert usage.stdout.startswith("Usage: joinproto ")


def test_a_usage_error_is_one_json_object(base: Installed, command: list[str]) -> None:
    """An error is `{"error": {"code", "message", "next"}}`, exit code 2."""
    done = base.run(*command, "no-such-command", "--json", expected=2)

    assert done.stdout.startswith('{"error": {"code": 2, "message": "No such command')
    assert "" == done.stderr


def test_a_program_that_embeds_us_keeps_its_own_packages(base: Installed) -> None:
    """A broker sees nothing but `joinproto`."""
    (base.folder / "broker.py").write_text(
        "import joinproto, models, tools\nprint(models.__file__, tools.__file__)\n"
    )

    done = base.run(base.python, "broker.py")

    own = [str(base.folder / name / "__init__.py") for name in ("models", "tools")]
    assert own == done.stdout.split()


def test_no_room_is_importable_where_nobody_asked(base: Installed) -> None:
    """Without `joinproto.checking`, the name `proofs` is free for everybody."""
    done = base.run(base.python, "-c", "import joinproto, proofs", expected=1)

    assert "No module named 'proofs'" in done.stderr


def test_a_foreign_package_loaded_first_is_refused(base: Installed) -> None:
    """Two packages cannot both be `models` in one process: say so, name both."""
    done = base.run(base.python, "-c", "import models, joinproto.checking", expected=1)

    assert "another package named models is loaded already" in done.stderr
    assert str(base.folder / "models") in done.stderr


def test_a_foreign_package_in_reach_is_announced(base: Installed) -> None:
    """After `joinproto.checking`, `import models` finds ours: that is no silent change."""
    program = "from joinproto.rooms import open_rooms; open_rooms(warn_of_hidden=True)"

    done = base.run(base.python, "-W", "always", "-c", program)

    assert "from now on `import models` finds joinproto's models" in done.stderr


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_child_process_finds_our_rooms(base: Installed, method: str) -> None:
    """A spawned child starts with the folder first again, and inherits `sys.path`."""
    (base.folder / "parent.py").write_text(
        "import importlib.util, multiprocessing\n"
        "from joinproto.rooms import open_rooms\n"
        "if __name__ == '__main__':\n"
        "    print(open_rooms())\n"
        f"    with multiprocessing.get_context('{method}').Pool(1) as pool:\n"
        "        print(pool.apply(importlib.util.find_spec, ('models',)).origin)\n"
        "        print(pool.apply(importlib.util.find_spec, ('tools',)).origin)\n"
    )

    for start in (["parent.py"], ["-m", "parent"]):
        folder, *found = base.run(base.python, *start).stdout.split()

        assert "_rooms" in folder
        assert [f"{folder}/models/__init__.py", f"{folder}/tools/__init__.py"] == found


SEARCH = ("check", "two-phase-commit", "--members", "5", "--json")


@pytest.mark.parametrize("start", ["script", "module"])
def test_the_installed_command_searches_beside_foreign_rooms(
    with_check: Installed, start: str
) -> None:
    """The whole search, from the wheel, in a folder with packages called models and tools."""
    command = [with_check.script] if start == "script" else [with_check.python, "-m", "joinproto"]

    done = with_check.run(*command, *SEARCH)

    report = json.loads(done.stdout)
    assert 2**5 + 4**5 + 6**5 == report["distinct"]
    assert "holds" == report["result"]


def test_a_failing_world_of_the_installed_command_exits_1(with_check: Installed) -> None:
    done = with_check.run(with_check.script, "check", "note-partition", expected=1)

    assert "no_split_brain" in done.stdout


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_child_process_can_search(with_check: Installed, method: str) -> None:
    """A notebook or a test runner that checks several worlds at once."""
    (with_check.folder / "searching.py").write_text(
        "import multiprocessing\n"
        "from joinproto.checking import check, load_world\n"
        "def distinct(members):\n"
        "    return check(load_world('two-phase-commit', members=members)).distinct\n"
        "if __name__ == '__main__':\n"
        f"    with multiprocessing.get_context('{method}').Pool(2) as pool:\n"
        "        print(pool.map(distinct, [3, 4]))\n"
    )

    done = with_check.run(with_check.python, "searching.py")

    assert "[288, 1568]" == done.stdout.strip()


def test_a_search_without_its_extra_says_which_to_install(base: Installed) -> None:
    done = base.run(base.script, *SEARCH, expected=4)

    assert "joinproto[check]" in json.loads(done.stdout)["error"]["next"]


def test_with_the_extra_amqtt_alone_the_broker_of_the_documents_runs(
    with_amqtt: Installed,
) -> None:
    """And `status` and `shutdown` work on it; nothing else has to be installed."""
    installed = with_amqtt
    listen, clients, http = free_ports(3)
    config = installed.folder / "node.toml"
    config.write_text(
        'member = "a"\ncluster = "demo"\ndata = "data"\nelectors = ["a"]\nwait_for = 1\n'
        f'listen = "{listen}"\nclients = "{clients}"\nhttp = "{http}"\n'
    )
    program = ROOT / "docs" / "examples" / "mqtt_broker.py"
    words = (installed.script, "status", "--json", "--config", str(config))
    with (installed.folder / "log").open("wb") as log:
        broker = subprocess.Popen(
            [installed.python, str(program), str(config)], stderr=log, cwd=installed.folder
        )
    try:
        until(lambda: _serves(clients))
        found = json.loads(installed.run(*words).stdout)
        installed.run(installed.script, "shutdown", "--config", str(config))

        assert 0 == broker.wait(30)
    finally:
        broker.kill()
        broker.wait()
    assert ("a", True) == (found["member"], found["serves"])


@pytest.mark.parametrize("example", ["embedded.py", "driven.py", "mqtt_broker.py"])
def test_a_strict_type_checker_takes_a_program_from_outside(
    with_amqtt: Installed, example: str
) -> None:
    """`docs/api.md`: all types are complete.  The checker reads the installed wheel."""
    done = _mypy(with_amqtt, ROOT / "docs" / "examples" / example)

    assert (0, "Success: no issues found in 1 source file\n") == (done.returncode, done.stdout)


def test_a_strict_type_checker_finds_a_wrong_call(with_amqtt: Installed, tmp_path: Path) -> None:
    """The test above can fail: what comes from `joinproto` is not `Any`."""
    program = tmp_path / "wrong.py"
    program.write_text(
        "from joinproto import Config, Member, StoreRecord, open_store\n"
        "record: StoreRecord = open_store('data')\n"
        "serves: int = Member.start('now', Config(), record, seed=1).view\n"
    )

    done = _mypy(with_amqtt, program)

    kinds = {line.rpartition("[")[2] for line in done.stdout.splitlines() if ": error: " in line}
    assert {"arg-type]", "assignment]", "call-arg]"} == kinds


def _mypy(installed: Installed, program: Path) -> subprocess.CompletedProcess[str]:
    """Run our mypy on a program as it would be checked where the wheel is installed."""
    words = ["--strict", "--config-file=", "--cache-dir", str(installed.folder / "types")]
    return subprocess.run(
        [sys.executable, "-m", "mypy", *words, "--python-executable", installed.python, program],
        cwd=installed.folder,
        capture_output=True,
        text=True,
        check=False,
    )


def _serves(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False
