"""Errors in node.toml are reported before the node does anything, with exit code 2."""

from __future__ import annotations

from pathlib import Path

import pytest

from joinproto.apps.node.settings import read_settings
from joinproto.errors import UsageProblem
from tests.cli.running import run_here
from tests.cli.schemas import faults, unexplained
from tools import json_schema as schema

GOOD = """\
member = "a"
cluster = "demo"
data = "data"
electors = ["a", "b", "c"]
wait_for = 2
listen = "127.0.0.1:7101"
clients = "127.0.0.1:7201"
[members]
b = "127.0.0.1:7102"
c = "127.0.0.1:7103"
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "node.toml"
    path.write_text(text)
    return path


def test_a_valid_file_is_read(tmp_path: Path) -> None:
    settings = read_settings(written(tmp_path, GOOD))

    assert frozenset("abc") == settings.config.electors
    assert tmp_path / "data" / "control.sock" == settings.control
    assert {"b", "c"} == settings.network.addresses.keys()


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('member = "a"\n', "", "member"),
        ("wait_for = 2", 'wait_for = "2"', 'wait_for: expected a whole number, found "2"'),
        ("wait_for = 2", "wait_for = 1", "a majority of the 3 electors"),
        ("wait_for = 2", "wait_fro = 2", "wait_fro: there is no such field"),
        ('listen = "127.0.0.1:7101"', 'listen = "0.0.0.0:7101"', "anybody could speak"),
        ('listen = "127.0.0.1:7101"', 'listen = "here"', "is not an address"),
        ('c = "127.0.0.1:7103"', "", "no address of the electors c"),
        ("[members]", "[members", "is not a TOML file"),
        (
            "[members]",
            'total_failure = "maybe"\n[members]',
            'total_failure: expected one of "manual", "automatic", found "maybe"',
        ),
        # No rule can be switched off.
        ("[members]", '[testing]\nmutants = ["minority"]\n[members]', "mutants"),
        ("[members]", "[timing]\nsilence = 0.1\n[members]", "timing.silence"),
        (
            "[members]",
            "[timing]\npatience = 0\n[members]",
            "timing.patience: expected more than 0, found 0",
        ),
        (
            "[members]",
            "[timing]\npatience = nan\n[members]",
            "timing.patience: expected a finite number, found NaN",
        ),
        (
            "[members]",
            "[timing]\nsilence = inf\n[members]",
            "timing.silence: expected a finite number, found Infinity",
        ),
        (
            "[members]",
            "[timing]\nheartbeat = 0\n[members]",
            "timing.heartbeat: expected more than 0, found 0",
        ),
        (
            "[members]",
            "[timing]\nwait = -1\n[members]",
            "timing.wait: expected a number from 0 on, found -1",
        ),
        (
            "[members]",
            "[timing]\nleave = -0.5\n[members]",
            "timing.leave: expected a number from 0 on, found -0.5",
        ),
        ('electors = ["a", "b", "c"]', 'electors = ["a", "b", "c", "b"]', "electors names b twice"),
        ("wait_for = 2", "wait_for = 4", "there are only 3 electors"),
        ("127.0.0.1:7201", "127.0.0.1:7101", "listen 127.0.0.1:7101 and clients"),
        ("[members]", 'http = "localhost:7201"\n[members]', "clients 127.0.0.1:7201 and http"),
        (
            'c = "127.0.0.1:7103"',
            'c = "127.0.0.1:7102"',
            "members.b and members.c have the same address",
        ),
        ('c = "127.0.0.1:7103"', 'c = "127.0.0.1:7101"', "members.c and a have the same address"),
        ("127.0.0.1:7201", "0.0.0.0:7201", "clients 0.0.0.0:7201 can be reached from other"),
        ("[members]", 'http = "[::]:7301"\n[members]', "http [::]:7301 can be reached from other"),
        ("[members]", '[security]\ninsecure = ["all"]\n[members]', "insecure names all"),
        (
            "[members]",
            "[log]\nkeep_frames = 0\n[members]",
            "log.keep_frames: expected a number from 1 on, found 0",
        ),
        (
            "[members]",
            "[log]\nsnapshot_every = -5\n[members]",
            "log.snapshot_every: expected a number from 1 on, found -5",
        ),
        ("[members]", '[log]\nkeep_frames = "all"\n[members]', "keep_frames"),
        (
            "[members]",
            'stop = "now"\n[members]',
            'stop: expected one of "away", "leave", found "now"',
        ),
        ("[members]", '[security]\nsecret_file = "none"\n[members]', "security.secret_file"),
        ("[members]", '[security]\nca = "ca.pem"\n[members]', "security lacks certificate, key"),
        ('cluster = "demo"', 'cluster = "de\\u0007mo"', "control character"),
    ],
)
def test_an_error_names_its_setting_and_has_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, says: str
) -> None:
    assert old in GOOD
    path = written(tmp_path, GOOD.replace(old, new))

    done = run_here(capsys, "node", "--config", str(path))

    assert (2, "") == (done.code, done.out)
    assert says in done.err
    assert "next:" in done.err
    assert not (tmp_path / "data").exists()


def test_no_frame_is_dropped_by_default(tmp_path: Path) -> None:
    """Frames are clients' writes, which may be read again."""
    (tmp_path / "b").mkdir()
    usual = read_settings(written(tmp_path, GOOD)).log
    asked = read_settings(written(tmp_path / "b", GOOD + "[log]\nkeep_frames = 7\n")).log

    assert (100_000, None) == (usual.snapshot_every, usual.keep_frames)
    assert 7 == asked.keep_frames


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match="cannot be read"):
        read_settings(tmp_path / "none.toml")


def test_a_short_secret_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("short\n")
    path = written(tmp_path, GOOD + '[security]\nsecret_file = "secret"\n')

    with pytest.raises(UsageProblem, match="5 bytes, expected at least 16"):
        read_settings(path)


def test_a_port_without_a_host_is_on_this_machine_only(tmp_path: Path) -> None:
    text = GOOD.replace("127.0.0.1:7201", "7201").replace("[members]", 'http = "7301"\n[members]')

    settings = read_settings(written(tmp_path, text))

    assert ("127.0.0.1:7201", "127.0.0.1:7301") == (str(settings.clients), str(settings.http))


def test_insecure_permits_an_unprotected_port_for_other_machines(tmp_path: Path) -> None:
    text = GOOD.replace('"127.0.0.1:7201"', '"0.0.0.0:7201"').replace(
        'listen = "127.0.0.1:7101"', 'listen = "0.0.0.0:7101"\nhttp = "0.0.0.0:7301"'
    )
    said = '[security]\ninsecure = ["listen", "clients", "http"]\n'

    settings = read_settings(written(tmp_path, text + said))

    assert not settings.network.listen.is_loopback
    assert "any machine that reaches such a port may use it" in "".join(settings.warnings)
    for less in ('"listen", "clients"', '"listen", "http"', '"clients", "http"'):
        path = written(tmp_path, text + f"[security]\ninsecure = [{less}]\n")
        with pytest.raises(UsageProblem, match="can be reached from other machines"):
            read_settings(path)


def test_check_warns_of_a_secret_that_all_users_may_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("0123456789abcdef")
    path = written(tmp_path, GOOD + '[security]\nsecret_file = "secret"\n')

    secret.chmod(0o644)
    loud = run_here(capsys, "node", "--check", "--config", str(path))
    secret.chmod(0o640)
    silent = run_here(capsys, "node", "--check", "--config", str(path))

    assert (0, True) == (loud.code, "can read it (mode 644)" in loud.err)
    assert (0, "") == (silent.code, silent.err)


def test_check_reads_the_tls_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tls = 'certificate = "a.pem"\nkey = "a.key"\nca = "ca.pem"\n'
    path = written(tmp_path, GOOD + "[security]\n" + tls)

    missing = run_here(capsys, "node", "--check", "--config", str(path))
    for name in ("a.pem", "a.key", "ca.pem"):
        (tmp_path / name).write_text("no certificate")
    wrong = run_here(capsys, "node", "--check", "--config", str(path))

    assert (2, True) == (missing.code, "a.pem: No such file" in missing.err)
    assert (2, True) == (wrong.code, "security.certificate" in wrong.err)


def test_the_options_that_must_match_make_one_digest(tmp_path: Path) -> None:
    """I2: the digest does not depend on the order of options."""
    one = read_settings(written(tmp_path, GOOD + "[options]\nx = 1\ny = 'z'\n"))
    other = read_settings(written(tmp_path, GOOD + "[options]\ny = 'z'\nx = 1\n"))
    third = read_settings(written(tmp_path, GOOD + "[options]\ny = 'z'\nx = 2\n"))

    assert one.config.options == other.config.options != third.config.options


def test_check_reads_the_file_and_starts_no_node(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = run_here(capsys, "node", "--check", "--config", str(written(tmp_path, GOOD)))

    as_json = run_here(
        capsys, "node", "--check", "--json", "--config", str(written(tmp_path, GOOD))
    )
    assert (0, True) == (done.code, "fine" in done.out)
    assert [] == [
        *faults(as_json.object, schema.NODE),
        *unexplained(as_json.object, schema.NODE),
    ]
    assert not (tmp_path / "data").exists()


def test_status_without_an_answer_has_exit_code_4(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = run_here(capsys, "status", "--json", "--config", str(written(tmp_path, GOOD)))

    assert (4, 4) == (done.code, done.error["code"])
    assert "no node answers" in done.error["message"]


@pytest.mark.parametrize("name", ["example", "fleet", "everything"])
def test_configurations_of_former_versions_are_read(name: str) -> None:
    """`written` is the form that version 0.1.0 accepted."""
    assert "a" == read_settings(Path(__file__).parent / "written" / f"{name}.toml").config.member
