"""The corpus: contents of disks, with the expected verdict and exit code.

Source: ecosystem, 1.4; recovery, "Verdicts of `pick`" and the exit codes.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from attrs import evolve, frozen

from joinproto.durable.envelope import FORMAT, PLAIN
from joinproto.durable.filesystem import RealFileSystem
from joinproto.errors import StoreError
from joinproto.recovery import info
from joinproto.recovery.found import Found, Raw, RawFile, State
from joinproto.recovery.gather import gather, read
from joinproto.store.handle import open_store
from tests.recovery.asking import ask, ask_json, names, snapshot
from tests.recovery.disks import lay, put, record

CURRENT = Path("joinproto") / "store.meta"


@frozen
class StoresAndVerdict:
    """Stores, and the expected verdict.  `chain`: for each store without a chain of its own."""

    chain: str
    stores: dict[str, str]
    verdict: str
    code: int
    latest: str = ""
    missing: str = ""


CORPUS = {
    "all empty": StoresAndVerdict(
        "F", {"a": "- - of -", "b": "- - of -", "c": "- - of -"}, "clean", 0
    ),
    "all clean and equal": StoresAndVerdict(
        "F X@F.5", {"a": "F F.5", "b": "F F.5", "c": "F F.5"}, "clean", 0, "abc"
    ),
    "one clean, the rest dirty": StoresAndVerdict(
        "F X@F.5", {"a": "F F.5", "b": "F F.4", "c": "F F.3 of F"}, "clean", 0, "a"
    ),
    "all dirty and ordered": StoresAndVerdict(
        "F", {"a": "F F.5", "b": "F F.4", "c": "F F.3"}, "proven", 0, "a"
    ),
    "a tie": StoresAndVerdict("F", {"a": "F F.5", "b": "F F.5", "c": "F F.3"}, "tie", 0, "ab"),
    "an older survivor of a minority": StoresAndVerdict(
        "F C1:bc@F.5",
        {"a": "F F.9 of F", "b": "C1 C1.6", "c": "C1 C1.7"},
        "proven",
        0,
        "c",
    ),
    "a sole survivor": StoresAndVerdict(
        "F C1:ab@F.5 C2:a@C1.6",
        {"a": "C2 C2.9", "b": "C1 C1.6 of F C1:ab@F.5", "c": "F F.5 of F"},
        "proven",
        0,
        "a",
    ),
    "a sole survivor, with less in it than an old tail": StoresAndVerdict(
        "F C1:ab@F.5 C2:a@C1.6",
        {"a": "C2 C1.6", "b": "C1 C1.99 of F C1:ab@F.5", "c": "F F.5 of F"},
        "proven",
        0,
        "a",
    ),
    "two clusters mixed": StoresAndVerdict(
        "F1", {"a": "F1 F1.5", "b": "F1 F1.5", "x": "F2 F2.5 of F2"}, "different-clusters", 3
    ),
    "forked": StoresAndVerdict(
        "F C1:ab@F.5",
        {"a": "C1 C1.6", "b": "C1 C1.6", "c": "C2 C2.7 of F C2:c@F.5"},
        "diverged",
        4,
    ),
    "a member of the last view is missing": StoresAndVerdict(
        "F", {"a": "F F.5", "b": "F F.4"}, "unproven", 5, "a", "c"
    ),
    "most of the last view is missing": StoresAndVerdict(
        "F", {"a": "F F.5"}, "unproven", 5, "a", "bc"
    ),
    "no store has all data": StoresAndVerdict(
        "F C1:ab@F.5", {"c": "F F.5", "d": "- - of -"}, "unproven", 5, "", "ab"
    ),
    "an unfinished update has the largest numbers": StoresAndVerdict(
        "F C1:abc@F.5",
        {"a": "C1 C1.6", "b": "C1 C1.6", "c": "C1 C1.9 unfinished"},
        "tie",
        0,
        "ab",
    ),
    "no member was ready in the newest view": StoresAndVerdict(
        "F C1:ab@F.5",
        {"a": "F F.5", "b": "F F.6", "c": "F F.5 of F"},
        "proven",
        0,
        "b",
    ),
    "the clean store is of an earlier stop": StoresAndVerdict(
        "F X@F.5 R:bc C:b",
        {"a": "F F.5 of F X@F.5", "b": "C C.9", "c": "R F.5 of F X@F.5 R:bc"},
        "proven",
        0,
        "b",
    ),
    "stopped in order, the clean store is missing": StoresAndVerdict(
        "F X@F.5", {"a": "F F.4", "b": "F F.3"}, "unproven", 5, "a", "c"
    ),
    "a disk was put back from a backup": StoresAndVerdict(
        "F C1:ab@F.5",
        {"a": "C1 C1.6", "b": "F F.5 of F", "c": "F F.5 of F"},
        "unproven",
        5,
        "",
    ),
    "a close was accepted and not learned": StoresAndVerdict(
        "F", {"a": "F F.5 accepted=X@F.5", "b": "F F.5", "c": "F F.4"}, "tie", 0, "ab"
    ),
    "a member that accepted may have continued with the missing member": StoresAndVerdict(
        "F",
        {"a": "F F.5", "b": "F F.5 accepted=C1:c@F.5"},
        "unproven",
        5,
        "ab",
        "c",
    ),
}


@pytest.mark.parametrize("name", CORPUS)
def test_each_set_of_stores_has_its_verdict(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its latest stores, missing stores and exit code are as expected, too."""
    drawn = CORPUS[name]
    disks = lay(tmp_path, drawn.chain, **drawn.stores)
    before = snapshot(tmp_path)

    code, said = ask_json(capsys, "pick", *disks.values())

    assert (drawn.verdict, drawn.code) == (said["verdict"], code)
    assert list(drawn.latest) == names(said["latest"])
    if drawn.missing:
        assert list(drawn.missing) == [one["member"] for one in said["missing"]]
    assert before == snapshot(tmp_path)


@pytest.mark.parametrize("name", CORPUS)
def test_the_verdict_does_not_depend_on_the_order(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The verdict, the latest stores and the missing stores are the same in reverse order."""
    drawn = CORPUS[name]
    disks = list(lay(tmp_path, drawn.chain, **drawn.stores).values())

    _, one = ask_json(capsys, "pick", *disks)
    _, other = ask_json(capsys, "pick", *reversed(disks))

    assert one["verdict"] == other["verdict"]
    assert sorted(one["latest"]) == sorted(other["latest"])
    assert one["missing"] == other["missing"]


@pytest.mark.parametrize("name", CORPUS)
def test_the_text_has_the_verdict_the_next_step_and_the_facts_not_examined(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The output has no colour outside a terminal, and never says "edit"."""
    drawn = CORPUS[name]
    disks = lay(tmp_path, drawn.chain, **drawn.stores)

    done = ask(capsys, "pick", *disks.values())

    assert drawn.code == done.code
    assert f"\n{drawn.verdict.upper()}: " in done.out
    assert "\nnext: " in done.out
    assert "\nnot examined\n" in done.out
    assert "edit" not in done.out
    assert "\x1b" not in done.out


def test_one_cluster_of_two_can_be_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--cluster` takes the beginning of a signature."""
    disks = lay(tmp_path, "F1", a="F1 F1.5", b="F1 F1.5", c="F1 F1.4", x="F2 F2.5 of F2")
    _, groups = ask_json(capsys, "pick", *disks.values())
    signature = groups["groups"][0]["cluster"]

    code, said = ask_json(capsys, "pick", "--cluster", signature[:8], *disks.values())

    assert (0, "tie") == (code, said["verdict"])
    assert ["a", "b"] == names(said["latest"])


def test_a_copied_directory_is_named_and_no_plan_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two stores of one member are a copy or a backup; both paths are named."""
    disks = lay(tmp_path, "F", a="F F.5", b="F F.5", c="F F.4")
    shutil.copytree(disks["b"], tmp_path / "copy")

    code, said = ask_json(capsys, "pick", *disks.values(), tmp_path / "copy")
    planned = ask(
        capsys, "plan", "--unproven", *disks.values(), tmp_path / "copy", "-o", tmp_path / "plan"
    )

    assert (5, "unproven", []) == (code, said["verdict"], said["latest"])
    assert f"{tmp_path / 'b'}" in said["evidence"][0]
    assert f"{tmp_path / 'copy'}" in said["evidence"][0]
    assert 5 == planned.code
    assert not (tmp_path / "plan").exists()


def test_the_same_directory_twice_is_counted_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A link to a directory, or its .info file, is not a copy."""
    disks = lay(tmp_path, "F", a="F F.5", b="F F.5", c="F F.4")
    (tmp_path / "link").symlink_to(disks["a"])
    collected = ask(capsys, "collect", disks["b"])
    (tmp_path / "b.info").write_text(collected.out)

    code, said = ask_json(capsys, "pick", *disks.values(), tmp_path / "link", tmp_path / "b.info")

    assert (0, "tie") == (code, said["verdict"])
    assert 3 == len(said["stores"])


def test_stores_with_the_same_name_do_not_replace_each_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One file with the stores of three machines that have the same host name and path."""
    disks = lay(tmp_path, "F", a="F F.5", b="F F.5", c="F F.4")
    raws = [evolve(gather(path, host="node"), path="/data") for path in disks.values()]
    (tmp_path / "all.info").write_text(info.write(raws, tool="0"))

    code, said = ask_json(capsys, "pick", tmp_path / "all.info")

    assert (0, "tie", 3) == (code, said["verdict"], len(said["stores"]))
    assert 3 == len({one["name"] for one in said["stores"]})


def test_compare_shows_where_two_branches_part(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Diverged: the last common view, and the views of each side beyond it."""
    disks = lay(tmp_path, "F C C1:ab", a="C1 C1.6", b="C1 C1.6", c="C2 C2.7 of F C C2:c")

    done = ask(capsys, "compare", *disks.values())
    text = " ".join(done.out.split())

    assert 4 == done.code
    assert "have view 2" in text
    assert "/c: CHANGE 3 of c" in text
    assert "only in the longest chain: CHANGE 3 of a b" in text


def test_compare_shows_how_far_each_store_is_behind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit code is 0 although the verdict is unproven, and 3 with two clusters."""
    disks = lay(tmp_path, "F C1 C2", a="C2 C2.6", b="F F.5 of F", x="F2 F2.5 of F2")

    some = ask(capsys, "compare", disks["a"], disks["b"])
    everything = ask(capsys, "compare", *disks.values())

    assert 0 == some.code
    assert f"{disks['b']}: 2 views behind the newest" in " ".join(some.out.split())
    assert 3 == everything.code
    assert 2 == everything.out.count("\ncluster cluster ")


def test_a_store_lost_for_good_changes_the_advice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--lost` proves nothing, but changes the next command."""
    disks = lay(tmp_path, "F", a="F F.5", b="F F.4")

    code, tail = ask_json(capsys, "pick", "--lost", "c", *disks.values())
    alone, both = ask_json(capsys, "pick", "--lost", "b", "--lost", "c", disks["a"])
    _, one = ask_json(capsys, "pick", "--lost", "c", disks["a"])

    assert (5, 5) == (code, alone)
    assert "plan --unproven" in tail["next"]
    assert "plan --electors" in both["next"]
    assert "collect" in one["next"]


def test_a_directory_with_files_of_two_brokers_needs_the_option_format(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """--format says which of the two formats counts."""
    (tmp_path / "grastate.dat").write_text("# GALERA saved state\n")
    (tmp_path / "cluster").mkdir()
    (tmp_path / "cluster" / "store.status").write_text("x\ny\n")

    both = ask(capsys, "inspect", tmp_path)
    named = ask(capsys, "inspect", "--format", "qpid", tmp_path)

    assert (2, 1) == (both.code, named.code)


# -- damage ------------------------------------------------------------------------------------


def _three(tmp_path: Path) -> dict[str, Path]:
    return lay(tmp_path, "F", a="F F.5", b="F F.4", c="F F.4")


def test_an_empty_metadata_file_is_corrupt(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An empty file is unknown, which is never clean and never a blank store."""
    disks = _three(tmp_path)
    (disks["c"] / CURRENT).write_bytes(b"")

    code, said = ask_json(capsys, "pick", *disks.values())

    assert (1, "corrupt", []) == (code, said["verdict"], said["latest"])


def test_a_file_cut_off_anywhere_is_never_readable(tmp_path: Path) -> None:
    """This holds for a file that is truncated at any byte."""
    path = put(tmp_path / "a", "a", record("a", "F F.5", "F"))
    whole = (path / CURRENT).read_bytes()
    raw = gather(path, host="here")

    for length in range(len(whole)):
        cut = _with_data(raw, whole[:length])

        assert not cut.state.is_readable, length
        assert State.IN_USE is not cut.state
        assert cut.problems


def test_a_flipped_bit_is_never_believed(tmp_path: Path) -> None:
    """With any bit flipped, the store is corrupt or newer, and not readable."""
    path = put(tmp_path / "a", "a", record("a", "F F.5", "F"))
    whole = (path / CURRENT).read_bytes()
    raw = gather(path, host="here")
    states = set()

    for bit in range(8 * len(whole)):
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        found = _with_data(raw, bytes(flipped))
        states.add(found.state)

        assert not found.state.is_readable, bit

    assert {State.CORRUPT, State.NEWER} == states


def _with_data(raw: Raw, data: bytes) -> Found:
    file = RawFile("joinproto/store.meta", data)
    return read(evolve(raw, files=(file,)))


def test_a_newer_version_is_not_called_corrupt(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A newer format version is "written by a newer version", not "corrupt"."""
    disks = _three(tmp_path)
    file = disks["c"] / CURRENT
    data = file.read_bytes()
    file.write_bytes(data.replace(b"format %d\n" % PLAIN, b"format %d\n" % (FORMAT + 1)))

    code, said = ask_json(capsys, "inspect", disks["c"])

    assert (1, "newer") == (code, said["stores"][0]["state"])
    assert "newer version" in said["stores"][0]["problems"][0]


def test_a_damaged_store_is_shown_field_by_field(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`inspect` shows the fields that it can read."""
    path = put(tmp_path / "a", "a", record("a", "F F.5", "F"))
    file = path / CURRENT
    data = file.read_bytes()
    file.write_bytes(data[: data.index(b'"held"') + 20])

    done = ask(capsys, "inspect", path)

    assert 1 == done.code
    assert "store.meta store_id" in done.out
    assert "cannot be read" in done.out


def test_damage_that_cannot_change_the_verdict_is_only_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A member that left long ago cannot change the answer, but its damage is named."""
    disks = lay(tmp_path, "F C1:ab@F.5", a="C1 C1.6", b="C1 C1.7", c="F F.5 of F")
    (disks["c"] / CURRENT).write_bytes(b"")

    code, said = ask_json(capsys, "pick", *disks.values())

    assert (0, "proven", ["b"]) == (code, said["verdict"], names(said["latest"]))
    assert any("store.meta" in line for line in said["evidence"])


def test_a_leftover_temporary_file_is_shown_and_stays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """After an unfinished write the store is as before."""
    disks = _three(tmp_path)
    left = disks["a"] / "joinproto" / "store.meta.0123456789abcdef.tmp"
    left.write_bytes(b"half")
    before = snapshot(tmp_path)

    code, said = ask_json(capsys, "pick", *disks.values())
    shown = ask(capsys, "inspect", disks["a"])

    assert (0, "proven") == (code, said["verdict"])
    assert left.name in shown.out
    assert before == snapshot(tmp_path)


class _UnreadableDisk(RealFileSystem):
    """A disk on which one file cannot be read."""

    def open_to_read(self, directory: int, name: str) -> int:
        if name == "store.meta":
            raise PermissionError(13, "Permission denied")
        return super().open_to_read(directory, name)


def test_an_unreadable_file_is_unreadable_and_not_absent(tmp_path: Path) -> None:
    """Unreadable is not missing, not empty and not clean."""
    path = put(tmp_path / "a", "a", record("a", "F F.5", "F"))

    found = read(gather(path, host="here", files=_UnreadableDisk()))

    assert State.UNREADABLE is found.state
    assert "Permission denied" in found.problems[0]


def test_a_link_in_the_place_of_the_file_is_not_followed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The tool never follows links out of the directory."""
    disks = _three(tmp_path)
    file = disks["c"] / CURRENT
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")

    code, said = ask_json(capsys, "inspect", disks["c"])

    assert (1, "unreadable") == (code, said["stores"][0]["state"])


def test_a_store_in_use_needs_no_recovery(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """If a broker runs (it holds the lock), the exit code is 6."""
    disks = _three(tmp_path)

    with open_store(disks["b"]):
        code, said = ask_json(capsys, "pick", *disks.values())
        planned = ask(capsys, "plan", *disks.values(), "-o", tmp_path / "plan")

    assert (6, "in-use", []) == (code, said["verdict"], said["latest"])
    assert 6 == planned.code


def test_a_missing_store_or_directory_is_not_an_empty_store(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A mistyped path must not pass for an empty store."""
    disks = _three(tmp_path)
    (tmp_path / "nothing").mkdir()

    code, said = ask_json(capsys, "pick", disks["a"], disks["b"], tmp_path / "nothing")
    assert (1, "corrupt") == (code, said["verdict"])
    for path in (tmp_path / "mistyped", disks["c"] / "joinproto"):
        assert 2 == ask(capsys, "pick", disks["a"], disks["b"], path).code, path


def test_a_lock_that_cannot_be_examined_is_reported(tmp_path: Path) -> None:
    """It is then unknown whether the store is open, and this is reported as a problem."""
    path = put(tmp_path / "a", "a", record("a", "F F.5", "F"))
    lock = path / "joinproto" / "store.lock"
    lock.unlink()
    lock.mkdir()

    found = read(gather(path, host="here"))

    assert found.raw.lock_problem
    assert any("not known" in problem for problem in found.problems)


def test_a_directory_in_place_of_the_metadata_raises_no_error(tmp_path: Path) -> None:
    """`gather` and `read` return problems as a part of their result."""
    (tmp_path / "joinproto").mkdir()
    (tmp_path / "joinproto" / "store.meta").mkdir()

    try:
        found = read(gather(tmp_path, host="here"))
    except StoreError as error:
        pytest.fail(str(error))

    assert State.UNREADABLE is found.state
