"""The package as users get it: built, installed into an empty environment, and run.

The commands run in a project that has packages named `models`, `proofs`, `tests` and `tools` of
its own, as many projects have; its model imports them.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import tarfile
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest
from attrs import frozen

from joinproto import __version__
from tools.bench.pythons import newer_python
from tools.faults.nodes import until
from tools.faults.ports import free_ports

pytestmark = pytest.mark.landing

ROOT = Path(__file__).resolve().parents[2]
PROJECT = Path(__file__).parent / "stranger"
"""A user's project: a model that imports packages of common names, and one with mistakes."""

PACKAGES = {
    "joinproto": ROOT / "joinproto",
    "joinproto_claims": ROOT / "proofs" / "joinproto_claims",
    "joinproto_worlds": ROOT / "models" / "joinproto_worlds",
    "spark_explore": ROOT / "spark_explore",
}


@frozen
class Installation:
    """A virtual environment with our wheel, and the folder of a user's project."""

    python: str
    script: str
    folder: Path

    def run(self, *command: str, expected: int = 0) -> subprocess.CompletedProcess[str]:
        """Run `command` in the folder, without variables for Python; check its exit code."""
        clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        done = subprocess.run(
            command, cwd=self.folder, env=clean, capture_output=True, text=True, check=False
        )
        assert expected == done.returncode, done.stdout + done.stderr
        return done


def build(target: str, source: Path, out: Path) -> Path:
    """Build one file with the installed hatchling, which downloads no package."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(out)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
    assert 0 == done.returncode, done.stdout + done.stderr
    (built,) = out.iterdir()
    return built


def install(wheel: Path, place: Path, *, extra: str, python: str = sys.executable) -> Installation:
    """Install `wheel` with `extra`, and the dependencies that pip finds, into a new environment."""
    subprocess.run([python, "-m", "venv", str(place / "env")], check=True)
    programs = place / "env" / "bin"
    wanted = f"{wheel}[{extra}]" if extra else str(wheel)
    command = [str(programs / "python"), "-m", "pip", "install", "--quiet", wanted]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    assert 0 == done.returncode, done.stdout + done.stderr

    folder = place / "project"
    shutil.copytree(PROJECT, folder)
    return Installation(str(programs / "python"), str(programs / "joinproto"), folder)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel, built from the checkout."""
    return build("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def base(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """Return an installation without extras: that of a broker or an operator."""
    return install(wheel, tmp_path_factory.mktemp("base"), extra="")


@pytest.fixture(scope="module")
def with_check(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """Return an installation with `[check]`: that of a user who searches a world."""
    return install(wheel, tmp_path_factory.mktemp("check"), extra="check")


@pytest.fixture(scope="module")
def with_amqtt(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """Return an installation with `[amqtt]`, which can also run a member."""
    return install(wheel, tmp_path_factory.mktemp("amqtt"), extra="amqtt")


@pytest.fixture(params=["script", "module"])
def command(request: pytest.FixtureRequest, base: Installation) -> list[str]:
    """Return each way to start joinproto; `-m` puts the folder, with its `tools`, first."""
    return [base.script] if request.param == "script" else [base.python, "-m", "joinproto"]


def names_in(wheel: Path) -> list[str]:
    """Return the paths in a wheel."""
    return zipfile.ZipFile(wheel).namelist()


def test_the_wheel_holds_exactly_the_files_of_our_packages(wheel: Path) -> None:
    """No top-level package has a name that a user's package may have, such as `tools`."""
    wanted = {
        f"{name}/{file.relative_to(folder).as_posix()}"
        for name, folder in PACKAGES.items()
        for file in folder.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }

    names = {name for name in names_in(wheel) if ".dist-info/" not in name}

    assert wanted == names
    assert "joinproto/py.typed" in names


@pytest.mark.needs("Python 3.12")
def test_a_newer_python_searches_and_shows_help(wheel: Path, tmp_path: Path) -> None:
    """pip chooses the newest versions of the packages that fit Python 3.12 or later."""
    newer = install(wheel, tmp_path, extra="check", python=newer_python() or sys.executable)

    searched = newer.run(newer.script, "check", "two-phase-commit", "--members", "5")
    helped = newer.run(newer.script, "recover", "--help")

    assert "8,832 distinct" in searched.stdout
    assert "pick" in helped.stdout


def test_the_source_archive_builds_a_wheel_with_the_same_files(wheel: Path, tmp_path: Path) -> None:
    """The archive also has the files with which an auditor repeats the checks."""
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


def test_an_editable_install_copies_no_module(tmp_path: Path) -> None:
    """Python would run a copy in site-packages, even after an edit of the checkout."""
    names = names_in(build("wheel:editable", ROOT, tmp_path))

    assert {"_joinproto.pth"} == {name for name in names if ".dist-info/" not in name}


@pytest.mark.parametrize("kind", ["wheel", "wheel:editable"])
def test_the_installed_command_shows_an_edited_world(kind: str, tmp_path: Path) -> None:
    """After the edit, the wheel or the editable wheel is built and installed again."""
    checkout = tmp_path / "checkout"
    shutil.copytree(ROOT, checkout, ignore=shutil.ignore_patterns(".*", "__pycache__", "tests"))
    entries = checkout / "models" / "joinproto_worlds" / "classics" / "entries.py"
    env = tmp_path / "env"
    subprocess.run([sys.executable, "-m", "venv", str(env)], check=True)
    # The packages that joinproto needs are those of this test's environment.
    (site,) = (env / "lib").glob("python*/site-packages")
    ours = Path(pytest.__file__).resolve().parents[1]
    (site / "dependencies.pth").write_text(f"{ours}\n")

    def about() -> str:
        python = str(env / "bin" / "python")
        built = build(kind, checkout, tmp_path / f"built{len(list(tmp_path.iterdir()))}")
        pip = (python, "-m", "pip", "install", "--quiet", "--no-deps", "--force-reinstall")
        subprocess.run([*pip, str(built)], check=True)
        done = subprocess.run(
            [python, "-m", "joinproto", "models", "--json"],
            cwd=tmp_path,
            check=True,
            capture_output=True,
            text=True,
        )
        return str(json.loads(done.stdout)["worlds"][0]["about"])

    before = about()
    entries.write_text(entries.read_text().replace(before, "edited"))

    assert "edited" == about()


def test_the_command_starts_alongside_packages_of_the_same_name(
    base: Installation, command: list[str]
) -> None:
    """The folder is a project with packages `tools` and `models` of its own."""
    version = base.run(*command, "--version")
    usage = base.run(*command, "--help")

    assert f"joinproto {__version__}\n" == version.stdout
    assert usage.stdout.startswith("Usage: joinproto ")


def test_a_usage_error_is_one_json_object(base: Installation, command: list[str]) -> None:
    """An error is `{"error": {"code", "message", "next"}}`, exit code 2."""
    done = base.run(*command, "no-such-command", "--json", expected=2)

    assert done.stdout.startswith('{"error": {"code": 2, "message": "No such command')
    assert "" == done.stderr


@pytest.mark.parametrize("first", ["models, proofs, tests, tools", "joinproto.check"])
def test_a_program_imports_its_own_packages_and_ours(base: Installation, first: str) -> None:
    """The order of the imports does not matter."""
    imports = ("models, proofs, tests, tools", "joinproto.check")
    (other,) = {*imports} - {first}
    (base.folder / "broker.py").write_text(
        f"import {first}\nimport {other}\n"
        "print(*(one.__file__ for one in (models, proofs, tests, tools)))\n"
        "print(joinproto.check.World.__module__)\n"
    )

    done = base.run(base.python, "broker.py")

    names = ("models", "proofs", "tests", "tools")
    own = [str(base.folder / name / "__init__.py") for name in names]
    assert [*own, "joinproto.check.world"] == done.stdout.split()


def test_the_former_name_of_check_works_with_a_warning(base: Installation) -> None:
    """The names in it are the same objects."""
    program = (
        "import joinproto.checking as old, joinproto.check as new\n"
        "assert all(getattr(old, name) is getattr(new, name) for name in new.__all__)"
    )

    done = base.run(base.python, "-W", "always", "-c", program)

    assert "DeprecationWarning: joinproto.checking is called joinproto.check now" in done.stderr


SEARCH = ("check", "two-phase-commit", "--members", "5", "--json")


@pytest.mark.parametrize("start", ["script", "module"])
def test_the_installed_command_searches_alongside_packages_of_the_same_name(
    with_check: Installation, start: str
) -> None:
    """The whole search runs from the wheel, in a folder with packages `models` and `tools`."""
    command = [with_check.script] if start == "script" else [with_check.python, "-m", "joinproto"]

    done = with_check.run(*command, *SEARCH)

    report = json.loads(done.stdout)
    assert 2**5 + 4**5 + 6**5 == report["distinct"]
    assert "holds" == report["result"]


@pytest.mark.parametrize("start", ["script", "module"])
def test_a_model_imports_packages_of_its_project(with_check: Installation, start: str) -> None:
    """`my_model.py` imports `models`, `proofs`, `tests` and `tools` of the project."""
    command = [with_check.script] if start == "script" else [with_check.python, "-m", "joinproto"]

    done = with_check.run(*command, "check", "my_model.py", "--json")

    assert ("holds", 3) == (json.loads(done.stdout)["result"], json.loads(done.stdout)["distinct"])


def test_a_failing_world_of_the_installed_command_exits_1(with_check: Installation) -> None:
    done = with_check.run(with_check.script, "check", "note-partition", expected=1)

    assert "no_split_brain" in done.stdout


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_child_process_can_search(with_check: Installation, method: str) -> None:
    """A notebook or a test runner may check several worlds at once."""
    (with_check.folder / "searching.py").write_text(
        "import multiprocessing\n"
        "from joinproto.check import check, load_world\n"
        "def distinct(members):\n"
        "    return check(load_world('two-phase-commit', members=members)).distinct\n"
        "if __name__ == '__main__':\n"
        f"    with multiprocessing.get_context('{method}').Pool(2) as pool:\n"
        "        print(pool.map(distinct, [3, 4]))\n"
    )

    done = with_check.run(with_check.python, "searching.py")

    assert "[288, 1568]" == done.stdout.strip()


@pytest.mark.parametrize(
    ("words", "package", "extra"),
    [
        ("check two-phase-commit --members 6", "numba", "check"),
        ("simulate two-phase-commit", "numba", "check"),
        ("prove", "z3", "prove"),
        ("node --config node.toml", "anyio", "run"),
        ("status --config node.toml", "anyio", "run"),
        ("standby run --config node.toml", "anyio", "standby"),
        ("standby status --config node.toml", "anyio", "standby"),
        ("reconcile run --url http://localhost:1", "httpx", "reconcile"),
        ("reconcile simulate --queues 100 --nodes 10 --picture a.svg", "matplotlib", "plot"),
        ("reconcile simulate --queues 100 --nodes 10 --out runs", "pyspark", "spark"),
        ("discovery list rabbitmq.conf", "anyio", "discovery"),
        ("discovery boot rabbitmq.conf --node a", "anyio", "discovery"),
    ],
)
def test_a_command_without_its_extra_says_which_to_install(
    base: Installation, words: str, package: str, extra: str
) -> None:
    """Every command prints the same two lines and ends with exit code 4."""
    (base.folder / "node.toml").write_text('member = "a"\n')
    (base.folder / "rabbitmq.conf").write_text(
        "cluster_formation.peer_discovery_backend = consul\n"
        "cluster_formation.consul.host = localhost\n"
    )

    done = base.run(base.script, *words.split(), expected=4)

    wanted = f"joinproto: {package} is not installed\n  next: pip install 'joinproto[{extra}]'\n"
    assert done.stderr.endswith(wanted)


def test_with_the_extra_amqtt_alone_the_broker_of_the_documents_runs(
    with_amqtt: Installation,
) -> None:
    """`status` and `shutdown` work on the broker, too."""
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


@pytest.mark.parametrize("example", ["embedded.py", "driven.py", "replicated.py", "mqtt_broker.py"])
def test_a_strict_type_checker_accepts_each_example(with_amqtt: Installation, example: str) -> None:
    """`docs/api.md`: all types are complete.  The checker reads the installed wheel."""
    done = _mypy(with_amqtt, ROOT / "docs" / "examples" / example)

    assert (0, "Success: no issues found in 1 source file\n") == (done.returncode, done.stdout)


def test_a_strict_type_checker_finds_a_wrong_call(with_amqtt: Installation, tmp_path: Path) -> None:
    """The test above can fail: the names of `joinproto` are not `Any`."""
    program = tmp_path / "wrong.py"
    program.write_text(
        "from joinproto import Config, Member, StoreRecord, open_store\n"
        "record: StoreRecord = open_store('data')\n"
        "serves: int = Member.start('now', Config(), record, seed=1).view\n"
    )

    done = _mypy(with_amqtt, program)

    kinds = {line.rpartition("[")[2] for line in done.stdout.splitlines() if ": error: " in line}
    assert {"arg-type]", "assignment]", "call-arg]"} == kinds


def test_a_strict_type_checker_finds_the_mistakes_of_a_model(with_check: Installation) -> None:
    """The model has five mistakes, each in a line that names its error; only these are found."""
    text = (PROJECT / "mistakes.py").read_text("utf-8").splitlines()
    wanted = {
        (number, line.rpartition("# error: ")[2])
        for number, line in enumerate(text, start=1)
        if "# error: " in line
    }

    done = _mypy(with_check, with_check.folder / "mistakes.py")
    right = _mypy(with_check, with_check.folder / "my_model.py")

    found = {
        (int(line.split(":")[1]), line.rpartition("[")[2].rstrip("]"))
        for line in done.stdout.splitlines()
        if ": error: " in line
    }
    assert 5 == len(wanted)
    assert wanted == found, done.stdout
    assert 0 == right.returncode, right.stdout


def _mypy(installed: Installation, program: Path) -> subprocess.CompletedProcess[str]:
    """Run our mypy on a program with the packages of an installation."""
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
