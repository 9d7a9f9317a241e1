"""Runs at an address: moto's server takes the place of S3, over real sockets."""

from __future__ import annotations

import json
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attrs import asdict

from joinproto.check import load_world
from joinproto.check.check import check
from joinproto.errors import JoinprotoError, UsageProblem
from spark_explore import analyses
from spark_explore.arrays import packed
from spark_explore.explore import Plan, here
from spark_explore.keys import keys_of, unique
from spark_explore.places import Address, Folder, Place, StoreFailure, place_of
from spark_explore.query import dataset_in
from spark_explore.sessions import Engine, session_over
from spark_explore.storage import KINDS, Run, Share, Storage, share_of
from tests.cli.running import run_here
from tests.needs import need
from tests.spark_explore.compare import on_spark
from tests.spark_explore.conftest import CREDENTIALS

RANDOM = np.random.default_rng(3)


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """Return the address of an object store with an empty bucket `runs`."""
    need("moto", "pyarrow")
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    urllib.request.urlopen(urllib.request.Request(f"{url}/runs", method="PUT")).close()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in CREDENTIALS.items():
            patch.setenv(name, value)
        yield url
    server.stop()


def address(endpoint: str, path: str) -> str:
    return f"s3://{path}?endpoint_override={endpoint}&region=us-east-1"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("run:1", Folder(Path("run:1"))),
        ("a/b", Folder(Path("a/b"))),
        ("file:///a%20b", Folder(Path("/a b"))),
        ("s3://b/run/", Address("s3://b/run")),
        ("gs://b/run", Address("gs://b/run")),
        ("hdfs://name:8020/run", Address("hdfs://name:8020/run")),
        ("s3://b/run?region=x", Address("s3://b/run", (("region", "x"),))),
    ],
)
def test_a_place_is_a_path_or_an_address(text: str, place: Place) -> None:
    assert place == place_of(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("ftp://host/run", "ftp:// is not a known store"),
        ("s3a://bucket/run", "Hadoop's name"),
        ("s3://bucket", "names no folder"),
        ("s3:///run", "names no folder"),
        ("s3://bucket/run?secret_key=hush-hush", "no option secret_key"),
        ("s3://AKIA1:hush-hush@bucket/run", "contains a user name or a password"),
        ("file://other/run", "another machine"),
        ("s3://bucket/run#2", "does not belong to a place"),
        ("file:///run?2", "does not belong to a place"),
        (
            "abfs://:hush-hush@account.dfs.core.windows.net/c/run",
            "contains a user name or a password",
        ),
        ("gs://bucket/run?json_credentials=hush-hush", "no option json_credentials"),
    ],
)
def test_a_bad_address_is_refused_and_its_secrets_are_not_repeated(text: str, why: str) -> None:
    with pytest.raises(UsageProblem, match=why) as caught:
        place_of(text)

    assert "hush-hush" not in f"{caught.value.message} {caught.value.next}"


@pytest.mark.parametrize("name", ["../../.profile", "/etc/passwd", "levels/../../x.npy", "runs/x"])
def test_a_share_may_name_only_files_of_a_search(name: str) -> None:
    """The files that a share names are copied to a folder of this machine.

    Without this rule, a name such as ../../.profile would be written outside the folder.
    """
    share = asdict(
        Share(0, 0, 1, ("levels/1-0-0-abc.npy",), (Run("runs/keys-1-0-0-a.npy", "", 1),))
    )

    assert share_of(share).count == 1
    with pytest.raises(UsageProblem, match="not a file of a search"):
        share_of({**share, "files": (name,)})


def test_a_file_that_was_not_written_to_its_end_does_not_exist(endpoint: str) -> None:
    place = place_of(address(endpoint, "runs/half"))
    assert isinstance(place, Address)

    def write_half() -> None:
        with place._replacing("levels") as stream:
            stream.write(b"half")
            raise OSError(5, "the disk gave an error")

    with pytest.raises(OSError, match="the disk"):
        write_half()

    assert place.names() == []


@pytest.fixture(params=["folder", "object store"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "folder":
        return Folder(tmp_path / "place")
    return place_of(address(request.getfixturevalue("endpoint"), "runs/place"))


def test_an_object_store_behaves_like_a_folder(place: Place, tmp_path: Path) -> None:
    """Files are written whole, replaced, uploaded, listed and removed."""
    part = place / "part"
    part.make()
    assert [] == part.names()

    (tmp_path / "large").write_bytes(b"x" * 20_000_000)
    part.put("large", tmp_path / "large")
    for content in (b"old", b"new"):
        part.write("small", content)

    assert ["large", "small"] == part.names()
    assert b"new" == part.read("small")
    assert (20_000_000, b"x") == (len(part.read("large")), part.read("large")[-1:])
    part.remove(["small", "not there"])
    assert ["large"] == part.names()
    with pytest.raises(FileNotFoundError):
        part.read("small")
    place.clear()
    assert [] == part.names()


def stored(place: Place) -> set[str]:
    """Return the names that shares have for the arrays in a store."""
    found = {f"{kind}/{name}" for kind in KINDS for name in (place / kind).names()}
    return {name.replace(".parquet", ".npy") for name in found}


@pytest.mark.parametrize("words", [1, 2])
def test_levels_are_found_by_a_machine_that_did_not_write_them(
    endpoint: str, tmp_path: Path, words: int
) -> None:
    """Another machine does each step, and one step is done twice.

    Files that no share names are removed.
    """
    place = place_of(address(endpoint, f"runs/levels{words}"))
    share = before = Share(-1, 3, 0, (), ())
    machine, everything = Storage(place), np.zeros((0, words), np.uint64)

    for level in range(7):
        machine = Storage(place, tmp_path / f"{level}")
        machine.make()
        rows = RANDOM.integers(0, 400, (90, words), dtype=np.uint64)
        arrived = unique(keys_of(rows, wide=words > 1), rows)
        before = share
        for _ in range(2 if level == 4 else 1):
            new = machine.drop_known(before, *arrived)
            share = machine.extend(1, before, [new], words, wide=words > 1)
        everything = np.concatenate([everything, rows])

    reader = Storage(place, tmp_path / "reader")
    reader.make()
    found = np.concatenate([reader.load(name) for name in share.files])
    assert sorted({*map(tuple, everything.tolist())}) == sorted(map(tuple, found.tolist()))
    assert share.names() < stored(place)
    reader.forget([share])
    assert share.names() == stored(place)
    kept = {f"{kind}/{path.name}" for kind in KINDS for path in (machine.here / kind).iterdir()}
    assert kept <= share.names() | before.names()


@pytest.mark.parametrize("half", [False, True])
def test_a_damaged_array_in_a_store_is_named(endpoint: str, tmp_path: Path, *, half: bool) -> None:
    """Half of the object is missing, or one of its bits is flipped."""
    content = bytearray(packed(np.arange(5000, dtype=np.uint64)))
    content[len(content) // 3] ^= 1
    place = place_of(address(endpoint, f"runs/damaged-{half}"))
    place.write("levels/a.parquet", bytes(content[: len(content) // 2] if half else content))
    storage = Storage(place, tmp_path)
    storage.make()

    with pytest.raises(StoreFailure, match=r"levels/a\.parquet is damaged"):
        storage.load("levels/a.npy")

    assert [] == [*(tmp_path / "levels").iterdir()]


@pytest.mark.needs("duckdb")
def test_a_dataset_at_an_address_gives_the_same_answers_as_in_a_folder(
    endpoint: str, tmp_path: Path
) -> None:
    asked = "SELECT a_phase, count(*) AS n, min(level) FROM states GROUP BY 1 ORDER BY 1"
    answers = []

    for place in (Folder(tmp_path), place_of(address(endpoint, "runs/dataset"))):
        for _ in range(2):
            here(load_world("note-hasty-abort"), Plan(out=place))
        dataset = dataset_in(place)
        with session_over(dataset, "duckdb", None) as session:
            answers.append((dataset.states, dataset.columns, session.ask(asked, 99)))

    assert answers[0] == answers[1]
    assert 39 == answers[0][0]


def test_a_run_at_an_address_has_its_files_and_refuses_another_search(
    endpoint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The address has the report and the counterexample, as a folder has."""
    words = ("check", "note-hasty-abort", "--engine", "local", "--json", "--out")
    out = address(endpoint, "runs/one")

    found = run_here(capsys, *words, out)
    other = run_here(capsys, "check", "two-phase-commit", *words[2:], out)

    place = place_of(out)
    names = {"run.json", "report.json", "report.html", "levels.csv", "states", "trace.html"}
    assert names <= {*place.names()}
    assert found.object == json.loads(place.read("report.json"))
    assert 2 == other.code
    assert "s3://runs/one holds another run" in other.error["message"]


def test_a_refusal_of_an_object_store_is_reported(
    endpoint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit code is 2 if the bucket does not exist, and 4 if the store denies access.

    The output has no secret."""
    words = ("check", "note-hasty-abort", "--json", "--out")

    def check_credentials_after(free_requests: str) -> None:
        """Make the object store check credentials after `free_requests` requests."""
        kind = {"Content-Type": "text/plain"}
        asking = urllib.request.Request(
            f"{endpoint}/moto-api/reset-auth", free_requests.encode(), kind
        )
        urllib.request.urlopen(asking).close()

    missing = run_here(capsys, *words, address(endpoint, "nothing/run"))
    check_credentials_after("0")
    denied = run_here(capsys, *words, address(endpoint, "runs/denied"))
    check_credentials_after("inf")

    assert (2, 4) == (missing.code, denied.code)
    assert "there is no such bucket" in missing.error["message"]
    assert "denies access" in denied.error["message"]
    for told in (missing, denied):
        assert "hush-hush" not in told.out + told.err


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    with pytest.raises(JoinprotoError, match="pyarrow is not installed"):
        place_of("s3://never/asked").names()


def test_executors_judge_runs_and_answer_questions_at_an_address(
    endpoint: str, lasting: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Executors keep tables of all steps without a Hadoop client; Spark and DuckDB agree."""
    monkeypatch.setattr(analyses, "BYTES_PER_STEP", 1 << 50)
    out = place_of(address(endpoint, "runs/claims"))
    asked = "SELECT level, count(*) AS n FROM states GROUP BY 1 ORDER BY 1"

    world = load_world("dining-left-handed")
    report = on_spark(world, lasting, Plan(seed=1, out=out))
    answers = []
    engines: tuple[Engine, ...] = ("duckdb", "spark")
    for engine in engines:
        with session_over(dataset_in(out), engine, "local[2]") as session:
            answers.append(session.ask(asked, 99))

    here = check(world)
    assert [one.result for one in here.properties] == [one.result for one in report.properties]
    assert any("executors judged" in note for note in report.notes)
    assert answers[0] == answers[1]
    assert list(here.levels) == [count for _, count in answers[0].rows]
