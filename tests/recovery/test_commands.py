"""The commands as a person or a script uses them: exit codes, JSON, processes, terminals.

Source: recovery, "Commands", exit codes, `--json`; issue "recover", "Must show".
"""

from __future__ import annotations

import hashlib
import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joinproto.durable.envelope import Envelope, seal, unseal
from joinproto.durable.filesystem import RealFileSystem
from joinproto.recovery import info, writing
from joinproto.recovery.cli import COMMANDS
from joinproto.recovery.found import Format, Found, Raw, RawFile
from joinproto.recovery.gather import read
from joinproto.recovery.judgement import judge
from joinproto.recovery.schema import RESULT
from tests.cli.running import ROOT, run_apart
from tests.cli.schemas import faults, unexplained
from tests.recovery.asking import ask, ask_json, names, snapshot
from tests.recovery.disks import lay, put, record

DATA = Path(__file__).parent / "foreign" / "data"


def _three(tmp_path: Path) -> list[Path]:
    return list(lay(tmp_path, "F", a="F F.5", b="F F.4", c="F F.4").values())


# -- JSON ----------------------------------------------------------------------------------------


def test_every_command_but_rehearse_prints_one_object_as_the_schema_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`tests/recovery/test_rehearse.py` compares the object of `rehearse`."""
    paths = _three(tmp_path)
    plan = tmp_path / "plan.json"
    (tmp_path / "node.toml").write_text(
        'member = "a"\ncluster = "cluster"\ndata = "a"\nelectors = ["a"]\n'
    )
    objects = {}

    for words in (
        ("inspect", *paths),
        ("collect", *paths),
        ("compare", *paths),
        ("pick", *paths),
        ("pick", paths[0]),
        ("plan", *paths, "-o", plan),
    ):
        objects[words[0]] = ask_json(capsys, *words)[1]
    agreed = ("--yes", "--plan-hash", objects["plan"]["plan"]["hash"])
    objects["apply"] = ask_json(capsys, "apply", plan, *agreed)[1]
    objects["apply again"] = ask_json(capsys, "apply", plan, *agreed)[1]
    objects["undo"] = ask_json(capsys, "undo", paths[0])[1]
    objects["mark-clean"] = ask_json(capsys, "mark-clean", paths[0])[1]
    objects["verify"] = ask_json(capsys, "verify", "--config", tmp_path / "node.toml")[1]

    for name, found in objects.items():
        assert [] == list(faults(found, RESULT)), name
        assert [] == list(unexplained(found, RESULT)), name
    assert {*COMMANDS, "apply again"} - {"rehearse"} == objects.keys()


def test_a_failure_is_an_error_object(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The object has the exit code and the next step."""
    code, said = ask_json(capsys, "apply", tmp_path / "nothing")

    assert (1, 1) == (code, said["error"]["code"])
    assert said["error"]["next"]


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("pick",),
        ("mistyped",),
        ("pick", "--format", "mysql", "."),
        ("pick", "--position", "nowhere=5", "."),
        ("pick", "--position", "five", "."),
        ("verify", "--config", "/nothing/there"),
    ],
)
def test_a_bad_command_line_gives_exit_code_2(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """2: wrong usage."""
    assert 2 == ask(capsys, *words).code


# -- carried from other machines -----------------------------------------------------------------


def test_files_from_three_machines_give_the_same_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """collect carries the bytes, and the other machine judges everything again."""
    paths = _three(tmp_path)
    files = []
    for path in paths:
        done = ask(capsys, "collect", "--host", f"host-{path.name}", path)
        files.append(tmp_path / f"{path.name}.info")
        files[-1].write_text(done.out)
        assert 0 == done.code

    _, here = ask_json(capsys, "pick", *paths)
    code, there = ask_json(capsys, "pick", *files)
    mixed, _ = ask_json(capsys, "pick", paths[0], *files[1:])

    assert (0, 0) == (code, mixed)
    assert here["verdict"] == there["verdict"]
    assert [f"host-a:{paths[0]}"] == there["latest"]


def test_a_plan_from_another_machine_is_applied_where_the_store_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """apply runs on the machine of the picked store, and names stores that it cannot see."""
    paths = _three(tmp_path)
    files = []
    for path in paths:
        files.append(tmp_path / f"{path.name}.info")
        files[-1].write_text(ask(capsys, "collect", "--host", f"host-{path.name}", path).out)
    plan = tmp_path / "plan.json"
    _, planned = ask_json(capsys, "plan", *files, "-o", plan)
    monkeypatch.setattr("joinproto.recovery.cli_do.this_host", lambda: "host-a")

    done = ask(capsys, "apply", plan, "--yes", "--plan-hash", planned["plan"]["hash"])

    assert 0 == done.code
    assert "not examined again: host-b" in done.out


@pytest.mark.parametrize("keep", [0.0, 0.3, 0.9, 0.999])
def test_an_info_file_that_was_cut_off_is_refused(
    keep: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Bytes that were lost on the way are noticed: the exit code is 1."""
    text = ask(capsys, "collect", _three(tmp_path)[0]).out
    (tmp_path / "a.info").write_text(text[: int(len(text) * keep)])

    done = ask(capsys, "pick", tmp_path / "a.info")

    assert 1 == done.code
    assert "collect" in done.err


def test_a_full_disk_is_a_write_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The exit code is 9 if the disk is full, or if the directory of a plan does not exist."""
    paths = [str(path) for path in _three(tmp_path)]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "joinproto", "recover", "collect", paths[0]],
            cwd=ROOT,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    planned = ask(capsys, "plan", *paths, "-o", tmp_path / "no" / "plan.json")

    assert (9, 9) == (done.returncode, planned.code)
    assert "Traceback" not in done.stderr


def test_an_info_file_that_was_changed_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The checksum covers the host's name, too."""
    text = ask(capsys, "collect", "--host", "one", _three(tmp_path)[0]).out
    (tmp_path / "a.info").write_text(text.replace('"one"', '"two"'))

    assert 1 == ask(capsys, "pick", tmp_path / "a.info").code


def test_an_info_file_is_read_from_standard_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """kubectl exec, ssh: `joinproto recover collect DIR | joinproto recover pick -`."""
    collected = ask(capsys, "collect", _three(tmp_path)[0])

    done = run_apart("recover", "pick", "-", "--json", input=collected.out)

    assert 5 == done.code
    assert ["b", "c"] == [one["member"] for one in done.object["missing"]]


# -- nothing is changed --------------------------------------------------------------------------


class _ReadOnly(RealFileSystem):
    """A disk that refuses all writes."""

    def __getattribute__(self, name: str) -> object:
        if name in (
            "make_directory",
            "create",
            "open_to_update",
            "write",
            "truncate",
            "sync",
            "sync_directory",
            "rename",
            "unlink",
        ):
            raise AssertionError(f"{name} on a disk that is only looked at")
        return super().__getattribute__(name)


def test_look_only_reads_from_the_disk(tmp_path: Path) -> None:
    """Files are opened for reading only, and no lock file is made."""
    from joinproto.recovery.sources import look

    paths = _three(tmp_path)

    found = look([str(path) for path in paths], files=_ReadOnly())

    assert 3 == len(found.stores)
    with pytest.raises(AssertionError):
        writing.undo(paths[0], host="h", made={}, files=_ReadOnly())


def test_reading_commands_and_a_declined_mark_clean_change_no_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Contents, names and modification times of the whole directory stay the same."""
    paths = _three(tmp_path)
    (tmp_path / "a" / "joinproto" / "store.lock").unlink()
    before = snapshot(tmp_path)

    for command in ("inspect", "collect", "compare", "pick"):
        assert 0 == ask(capsys, command, *paths).code, command
    assert 8 == ask(capsys, "mark-clean", "--unproven", paths[0]).code

    assert before == snapshot(tmp_path)


@pytest.mark.needs("unshare", "root", "mounts")
def test_pick_works_on_a_read_only_mount(tmp_path: Path) -> None:
    """Operators mount a broken disk read-only."""
    _three(tmp_path / "disks")
    mount = tmp_path / "mount"
    mount.mkdir()
    script = (
        f"mount --bind {tmp_path / 'disks'} {mount} && mount -o remount,ro,bind {mount}"
        f" && ! touch {mount}/x 2>/dev/null"
        f" && exec {sys.executable} -m joinproto recover pick --json {mount}/a {mount}/b {mount}/c"
    )
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert 0 == done.returncode, done.stderr
    assert "proven" == json.loads(done.stdout)["verdict"]


# -- at a terminal -------------------------------------------------------------------------------


def _typed(words: list[str], text: str) -> tuple[int, str]:
    """Run a command at a terminal of its own, type `text`; return its exit code and output."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(ROOT)
        os.execv(sys.executable, [sys.executable, "-m", "joinproto", "recover", *words])
    said = b""
    is_typed = False
    while True:
        try:
            part = os.read(terminal, 4096)
        except OSError:
            break
        if not part:
            break
        said += part
        if b"type:" in said and not is_typed:
            os.write(terminal, text.encode() + b"\n")
            is_typed = True
    _, status = os.waitpid(child, 0)
    os.close(terminal)
    return os.waitstatus_to_exitcode(status), said.decode()


def test_the_operator_types_the_name_of_the_cluster(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """apply shows what changes, and asks for the cluster's name; 8: declined."""
    paths = [str(path) for path in _three(tmp_path)]
    plan = str(tmp_path / "plan.json")
    assert 0 == ask(capsys, "plan", *paths, "-o", plan).code

    declined, _ = _typed(["apply", plan], "yes")
    agreed, said = _typed(["apply", plan], "cluster")

    assert (8, 0) == (declined, agreed)
    assert "a permission to restart" in said


# -- no input breaks it --------------------------------------------------------------------------


def _found_of(data: bytes) -> Found:
    raw = Raw(
        path="/x",
        host="h",
        format=Format.JOINPROTO,
        files=(RawFile("joinproto/store.meta", data),),
    )
    found = read(raw)
    judgement = judge([found])
    assert isinstance(info.write([raw], tool="0"), str)
    assert (raw,) == info.read(info.write([raw], tool="0").encode(), name="x")
    if not found.state.is_readable:
        assert judgement.code != 0
    return found


WHOLE = seal(Envelope(1, b"{}"))


@settings(max_examples=150)
@given(st.binary(max_size=400))
def test_random_bytes_are_never_a_readable_store(data: bytes) -> None:
    """`pick` has no exit code 0 for such a store."""
    assert not _found_of(data).state.is_readable


@settings(max_examples=150)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
        lambda one: (
            st.lists(one, max_size=3) | st.dictionaries(st.text(max_size=8), one, max_size=3)
        ),
        max_leaves=8,
    )
)
def test_a_random_payload_with_a_right_checksum_is_never_a_readable_store(tree: object) -> None:
    """The file is whole, but another program wrote it."""
    data = seal(Envelope(3, json.dumps(tree).encode()))

    assert not _found_of(data).state.is_readable


def test_a_store_that_was_changed_field_by_field_is_judged(tmp_path: Path) -> None:
    """The metadata files have a right checksum, but one field or element has another value."""
    path = put(tmp_path / "a", "a", record("a", "C1 C1.6", "F C1:ab@F.5"))
    envelope = unseal((path / "joinproto" / "store.meta").read_bytes())
    assert isinstance(envelope, Envelope)
    tree = json.loads(envelope.payload)
    random = Random(6)
    readable = 0

    for _ in range(600):
        changed = json.loads(json.dumps(tree))
        place = changed
        while isinstance(place, dict | list) and place:
            key = random.choice(list(place) if isinstance(place, dict) else range(len(place)))
            if isinstance(place[key], dict | list) and place[key] and random.random() < 0.7:
                place = place[key]
                continue
            place[key] = random.choice(
                [None, 0, -1, 2**70, "", "x", "a'", True, [], {}, "\x1b[31m", tree["initial"]]
            )
            break
        readable += _found_of(seal(Envelope(2, json.dumps(changed).encode()))).state.is_readable

    # Some fields may have another value: a store id, a nonce that is in no hash, a mark.
    assert 0 < readable < 300


@settings(max_examples=100)
@given(
    st.binary(max_size=200)
    | st.builds(
        lambda tree: json.dumps({"joinproto-info": 1, **tree}).encode(),
        st.dictionaries(
            st.sampled_from(["stores", "sha256", "tool"]), st.text() | st.lists(st.none())
        ),
    )
)
def test_any_info_file_is_refused_or_read(data: bytes) -> None:
    """No content of the file leads to a traceback."""
    from joinproto.errors import StoreError

    try:
        found = info.read(data, name="x")
    except StoreError:
        return

    assert isinstance(found, tuple)


def test_an_info_file_with_a_right_checksum_and_wrong_fields_is_refused() -> None:
    """The file is whole, but `collect` did not write it."""
    from joinproto.errors import StoreError

    malformed: tuple[object, ...] = ("x", [1], [{}], [{"path": 1}], [{"path": "a", "files": 3}])
    for stores in malformed:
        tree = {"joinproto-info": 1, "tool": "0", "stores": stores}
        text = json.dumps(tree, sort_keys=True, separators=(",", ":"))
        tree["sha256"] = hashlib.sha256(text.encode()).hexdigest()

        with pytest.raises(StoreError):
            info.read(json.dumps(tree).encode(), name="x")


def test_names_from_a_disk_cannot_command_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Control characters of a path, a host, a file or a lock are not printed."""
    raw = Raw(
        path="/x\x1b[2J",
        host="h\x07",
        format=Format.JOINPROTO,
        files=(RawFile("joinproto/store.meta", b"joinproto store\nformat 1\n\x1b[31m{"),),
        lock_problem="\x1b]0;x\x07",
    )
    (tmp_path / "a.info").write_text(info.write([raw], tool="0"))

    for command in ("inspect", "pick", "compare"):
        done = ask(capsys, command, tmp_path / "a.info")

        assert "\x1b" not in done.out + done.err, command
        assert "\x07" not in done.out + done.err, command


# -- fast, and from the base install -------------------------------------------------------------


def test_help_imports_few_packages() -> None:
    """`joinproto recover --help` imports click, but none of the large packages."""
    done = run_apart("recover", "--help", python=("-X", "importtime"))
    modules = {line.rpartition("|")[2].strip().partition(".")[0] for line in done.err.splitlines()}

    assert 0 == done.code
    assert {"click"} <= modules
    assert set() == modules & {"attr", "cattrs", "transitions", "numpy", "models", "tools"}


def test_picking_needs_the_base_install_only(tmp_path: Path) -> None:
    """`pick` works without NumPy, Z3 or Spark, because operators run it on broken machines."""
    paths = [str(path) for path in _three(tmp_path)]

    done = run_apart("recover", "pick", *paths, python=("-X", "importtime"))
    modules = {line.rpartition("|")[2].strip().partition(".")[0] for line in done.err.splitlines()}

    assert 0 == done.code
    assert set() == modules & {"numpy", "numba", "scipy", "z3", "models", "tools"}


def test_each_command_has_help_with_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    """The example is a call of this command."""
    for name in COMMANDS:
        done = ask(capsys, name, "--help")

        assert 0 == done.code, name
        assert f"joinproto recover {name}" in done.out.partition("Example")[2], name


def test_pick_takes_300_stores(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One .info file has the stores of 300 members."""
    chain = "F " + " ".join(f"C{number}" for number in range(1, 10))
    raws = []
    for number in range(300):
        what = record("a", "C9 F.5", chain)
        path = put(tmp_path / str(number), f"m{number}", what)
        data = (path / "joinproto" / "store.meta").read_bytes()
        data = data.replace(b'"store_id": "a\'"', b'"store_id": "%d"' % number)
        envelope = data[data.index(b"{") : data.rindex(b"sha256 ")]
        raws.append(
            Raw(
                path=f"/{number}",
                host="h",
                format=Format.JOINPROTO,
                files=(RawFile("joinproto/store.meta", seal(Envelope(1, envelope))),),
            )
        )
    (tmp_path / "all.info").write_text(info.write(raws, tool="0"))

    code, said = ask_json(capsys, "pick", tmp_path / "all.info")

    assert 300 == len(said["stores"])
    assert 5 == code


# -- other brokers -------------------------------------------------------------------------------


def test_recovered_positions_decide_among_galera_nodes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """With -1 in all files nothing is proven.  With the positions 8, 8 and 6, and --nodes 3, the
    first two tie."""
    nodes = [DATA / "galera-killed-in-turn" / name for name in ("n1", "n2", "n3")]
    positions = [
        word
        for node, seq in zip(nodes, (8, 8, 6), strict=True)
        for word in ("--position", f"{node}={seq}")
    ]

    bare, _ = ask_json(capsys, "pick", *nodes)
    uncounted, _ = ask_json(capsys, "pick", *positions, *nodes)
    code, said = ask_json(capsys, "pick", "--nodes", 3, *positions, *nodes)

    assert (5, 5) == (bare, uncounted)
    assert (0, "tie", ["n1", "n2"]) == (code, said["verdict"], names(said["latest"]))


def test_the_next_step_with_other_brokers_can_be_taken(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The step is a command for Galera and an order for RabbitMQ, not a reference to documents."""
    galera = sorted((DATA / "galera-killed-in-turn").glob("n?"))
    rabbits = sorted((DATA / "rabbitmq-stopped-in-turn").glob("*@*"))

    _, asked = ask_json(capsys, "pick", *galera)
    _, ordered = ask_json(capsys, "pick", *rabbits)

    assert "--wsrep-recover" in asked["next"]
    assert f"--position {galera[0]}=SEQNO" in asked["next"]
    assert "this order: c@localhost; then b@localhost; then a@localhost" in ordered["next"]


def test_a_store_of_qpid_gets_no_plan_and_no_mark(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Stores of other brokers are read, and never written."""
    (tmp_path / "q" / "cluster").mkdir(parents=True)
    text = "11111111-1111-1111-1111-111111111111\n00000000-0000-0000-0000-000000000000\n"
    (tmp_path / "q" / "cluster" / "store.status").write_text(text)
    before = snapshot(tmp_path)

    planned = ask(capsys, "plan", tmp_path / "q", "-o", tmp_path / "plan", "--unproven")
    marked = ask(capsys, "mark-clean", tmp_path / "q", "--unproven")

    assert 0 not in (planned.code, marked.code)
    assert before == snapshot(tmp_path)


def test_a_store_that_did_not_learn_of_the_close_is_not_called_clean(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """b has every frame, but only a knows of the orderly stop."""
    places = lay(tmp_path, "F X@F.5", a="F F.5", b="F F.5 of F")

    _, said = ask_json(capsys, "pick", *places.values())

    assert ["clean", "dirty"] == [one["state"] for one in said["stores"]]
    assert "/a) is clean: there is nothing to recover." in said["evidence"][0]
    assert "/b) has the same data, and did not learn of the close." in said["evidence"][0]
