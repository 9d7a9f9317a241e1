"""Directories that etcd wrote: the facts of each, and verdicts about several.

`data/etcd-away`: three members of 3.4.23, with a snapshot after each 20 entries.  b was killed
after 30 writes, a and c after 12 more.  The last write is in both logs and was acknowledged, but no
written commit has it.  Kept by `python -m tools.histories.trees`.
"""

from __future__ import annotations

import fcntl
import os
from functools import cache
from pathlib import Path

import pytest
from attrs import evolve

from joinproto.errors import UsageProblem
from joinproto.pick.raft import Configuration
from joinproto.pick.table import Verdict
from joinproto.recovery.cli_look import judgement_of
from joinproto.recovery.foreign import etcd, etcd_wal
from joinproto.recovery.foreign.crc32c import crc32c
from joinproto.recovery.foreign.text import NotAsWritten, packed
from joinproto.recovery.found import Format, Found, Raw, RawFile, State
from joinproto.recovery.judgement import Judgement, judge
from tests.recovery.asking import ask, ask_json
from tests.recovery.foreign.directories import DATA
from tools.histories.etcd import RESTORE
from tools.histories.judged import SHOWN_BY_ALL
from tools.histories.judged import judged as judged_all
from tools.histories.kept import kept
from tools.histories.trees import Bytes, Sparse, loaded

SEGMENT = "member/wal/0000000000000000-0000000000000000.wal"
ACKNOWLEDGED = 50


@cache
def member(name: str) -> Sparse:
    return loaded((DATA / "etcd-away" / f"{name}.tree").read_text("utf-8"))


def store_of(name: str, tree: Sparse | None = None) -> Found:
    data = etcd.digest(tree or member(name))
    files = (RawFile(etcd.NAMES[0], data),)
    return etcd.read(Raw(path=f"/{name}", host="h", format=Format.ETCD, files=files))


def verdict_of(*stores: Found, lost: tuple[str, ...] = ()) -> Judgement:
    return judge(stores, lost=lost, words=[one.path for one in stores])


def write_tree(tree: Sparse, to: Path) -> Path:
    """Write a directory, with holes for zeros."""
    for name, data in tree.files.items():
        path = to / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        os.truncate(path, tree.sizes[name])
    return to


def test_the_facts_of_a_directory_have_the_end_of_its_log_and_its_voters() -> None:
    facts = etcd.facts_of(member("a"))

    assert (facts.cluster, facts.member, facts.names[facts.member]) == (
        "3a4e8dc277840ee3",
        "24685c10b4a3d2d8",
        "a",
    )
    assert (facts.term, facts.last_term, facts.last_index, facts.commit) == (2, 2, 50, 49)
    assert (facts.applied, facts.revision, facts.release) == (48, 41, "3.4.0")
    assert [len(one.voters) for one in facts.configurations] == [3]


def test_a_majority_proves_the_latest_store_and_a_lagging_member_alone_does_not() -> None:
    a, b, c = store_of("a"), store_of("b"), store_of("c")

    assert (Verdict.TIE, ("h:/a", "h:/c")) == (
        verdict_of(a, b, c).verdict,
        verdict_of(a, b, c).pick.latest,
    )
    assert (Verdict.PROVEN, ("h:/c",)) == (verdict_of(b, c).verdict, verdict_of(b, c).pick.latest)
    alone = verdict_of(b)
    assert (Verdict.UNPROVEN, 5) == (alone.verdict, alone.code)
    assert ["a", "c"] == [item.member for item in alone.missing]
    assert "on the hosts of a and c" in alone.next


def test_the_advice_to_force_a_cluster_names_the_entries_that_it_drops() -> None:
    """A forced start keeps only entries that the store knows to be committed: here 49 of 50."""
    together = verdict_of(store_of("b"), store_of("c"))
    alone = verdict_of(store_of("c"), lost=("a", "b"))
    whole = store_of("c")
    assert whole.raft_log is not None
    facts = evolve(whole.raft_log, commit=50, applied=50)
    whole = evolve(whole, raft_log=facts)
    newer = evolve(whole, raft_log=evolve(facts, release="3.5.0"))

    assert "start b (h:/b) and c (h:/c) as always" in together.next
    assert "--force-new-cluster" not in together.next
    assert "etcdctl member remove 24685c10b4a3d2d8" in together.next
    assert "it drops 1 entry after entry 49 that may be acknowledged" in alone.next
    assert (
        "or, if only one can run: on h: etcd --data-dir /c" in verdict_of(store_of("b"), whole).next
    )
    restore = RESTORE.search(verdict_of(store_of("b"), newer).next)
    assert restore is not None
    assert "/c" == restore[1]


def test_assumed_and_unknown_facts_are_reported() -> None:
    said = "\n".join(verdict_of(store_of("b"), store_of("c")).evidence)

    assert "assumed: that no store was put back from a copy" in said
    assert "entries 50 to 50 may or may not have been acknowledged; c has them" in said


def test_a_damaged_store_does_not_count_towards_the_majority() -> None:
    data = bytearray(member("c").files[SEGMENT])
    data[3_000] ^= 1
    damaged = store_of("c", member("c").with_file(SEGMENT, bytes(data)))

    assert State.CORRUPT is damaged.state
    assert Verdict.UNPROVEN is verdict_of(store_of("b"), damaged).verdict
    assert Verdict.PROVEN is verdict_of(store_of("a"), store_of("b"), damaged).verdict


def test_a_log_whose_last_record_is_cut_off_is_reported_and_does_not_count() -> None:
    """A power failure leaves such a record; but a disk that lost synced data leaves the same."""
    data = member("c").files[SEGMENT]
    torn = store_of("c", member("c").with_file(SEGMENT, data[: len(data) - 8 & ~511]))

    assert "the last record is cut off, and etcd drops it" in torn.problems[0]
    assert Verdict.UNPROVEN is verdict_of(store_of("b"), torn).verdict


def test_an_old_copy_of_the_log_alongside_its_database_is_noticed() -> None:
    mixed = member("c").with_file(SEGMENT, member("b").files[SEGMENT])
    older = Sparse(
        {**member("a").files, "member/snap/db": member("b").files["member/snap/db"]},
        {**member("a").sizes, "member/snap/db": member("b").sizes["member/snap/db"]},
    )

    assert store_of("c", mixed).state is State.CORRUPT
    assert "is older than the snapshot" in store_of("a", older).problems[0]


def test_directories_are_picked_collected_and_not_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    places = [write_tree(member(name), tmp_path / name) for name in "bc"]
    before = _modified(places)

    code, said = ask_json(capsys, "pick", *places)
    text = ask(capsys, "collect", places[1]).out
    (tmp_path / "c.info").write_text(text, "utf-8")
    _, again = ask_json(capsys, "pick", places[0], tmp_path / "c.info")

    assert (0, "proven", said["latest"]) == (code, said["verdict"], again["latest"])
    assert 50 == said["stores"][1]["raft"]["last_index"]
    assert before == _modified(places)
    assert len(text) < 3_000


def test_a_store_that_a_process_has_locked_is_in_use(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = write_tree(member("c"), tmp_path / "c")
    with (place / "member/snap/db").open("rb+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        code, said = ask_json(capsys, "pick", place)

    assert (6, "in-use") == (code, said["verdict"])


def test_a_directory_without_a_log_is_not_a_store(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "member").mkdir()

    _, said = ask_json(capsys, "pick", tmp_path)

    assert "none" == said["stores"][0]["state"]


@pytest.mark.parametrize(
    ("name", "verdict", "latest", "assumed"),
    [
        ("cut-1064", "tie", "bc", ()),
        # An old copy of c was put back.  All three stores show this, because too few have what b
        # knows to be committed.  b and c alone do not, and the last entry was on a and c.
        ("old-copy-1048", "unproven", "a", (("b", "c"),)),
        ("replaced-1066", "proven", "b", ()),
        ("wiped-back-1067", "proven", "a", ()),
        # etcd 3.5.16.  a and b were restored from one snapshot, c from a later one; a and b alone
        # do not show this.  a was upgraded from 3.4, b and c were not.
        # d was a learner, and became a voter.
        ("wiped-back-2007", "tie", "ab", ()),
        ("restored-apart-3100", "diverged", "", (("a", "b"),)),
        ("upgraded-3100", "tie", "ac", ()),
        ("learner-3102", "tie", "bc", ()),
        # b was forced, and a and c continued, in terms with the same numbers, which begin at
        # different entries.
        ("forced-3114", "diverged", "", (("a", "c"), ("b",))),
        # b was started alone by force, and a and c continued.  This shows if both sides are
        # given.
        ("forced-1102", "diverged", "", (("a", "c"), ("b",))),
    ],
)
def test_no_verdict_about_a_history_is_wrong(
    name: str, verdict: str, latest: str, assumed: tuple[tuple[str, ...], ...]
) -> None:
    """All subsets of a real cluster's stores are judged, as by `python -m tools.histories etcd`."""
    [(_, history)] = kept(DATA / "etcd-histories" / name)

    said = list(judged_all(history))

    assert [] == [one.wrong for one in said if one.wrong]
    assert (verdict, tuple(latest)) == (said[0].verdict.value, said[0].named)
    assert assumed == tuple(one.given for one in said if one.assumed)
    assert any(one.is_true_claim for one in said) or history.kind in SHOWN_BY_ALL


def _modified(places: list[Path]) -> dict[Path, tuple[int, int]]:
    paths = [path for place in places for path in place.rglob("*")]
    return {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in paths}


@pytest.mark.parametrize(
    "files",
    [
        {},
        {SEGMENT: b""},
        {SEGMENT: b"\xff" * 64},
        {SEGMENT: (1 << 60).to_bytes(8, "little")},
        {"member/wal/zz.wal": b"x", "member/snap/db": b"\0" * 9_000},
    ],
)
def test_a_malformed_log_is_reported_as_damaged(files: dict[str, bytes]) -> None:
    facts = etcd.facts_of(Bytes(files))

    assert facts.damaged
    assert not facts.member


@pytest.mark.parametrize(
    ("kinds", "said"),
    [
        ([(2, 3, 1), (2, 5, 1)], "entry 5 follows 3"),
        ([(2, 1, 2), (2, 2, 1)], "of an earlier term"),
        ([(2, 1, 1), (3, 1, 1), (2, 1, 2)], "was committed, and is written again"),
    ],
)
def test_an_order_that_raft_never_writes_is_refused(
    kinds: list[tuple[int, int, int]], said: str
) -> None:
    log = etcd_wal.Log(Configuration(index=0), last_index=kinds[0][1] - 1)

    def take(kind: int, index: int, term: int) -> None:
        entry = bytes([8, 0, 16, term, 24, index]) if kind == 2 else bytes([8, term, 24, index])
        log.take(kind, crc32c(entry, log.crc), entry)

    for one in kinds[:-1]:
        take(*one)

    with pytest.raises(NotAsWritten, match=said):
        take(*kinds[-1])


def test_the_checksum_is_that_of_the_standard() -> None:
    long = bytes(range(256)) * 5

    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert crc32c(long) == crc32c(long[100:], crc32c(long[:100]))


def test_a_second_store_of_a_member_is_reported_even_if_the_others_are_a_majority() -> None:
    copy = evolve(store_of("a"), path="/copy")

    said = verdict_of(store_of("a"), store_of("b"), store_of("c"), copy)

    assert said.verdict is Verdict.UNPROVEN
    assert "two of these are stores of one member" in said.sentence


def test_a_store_that_knows_no_voters_is_never_forced() -> None:
    facts = evolve(etcd.facts_of(member("a")), configurations=(), last_index=0, last_term=0)
    files = (RawFile(etcd.NAMES[0], packed(evolve(facts, commit=0, applied=0, revision=None))),)
    blank = etcd.read(Raw(path="/a", host="h", format=Format.ETCD, files=files))

    assert "force" not in verdict_of(blank).next
    assert verdict_of(store_of("b"), blank).verdict is Verdict.UNPROVEN


@pytest.mark.parametrize(("name", "why"), [("zzz", "no member has this name"), ("b", "is here")])
def test_the_option_lost_needs_a_member_whose_store_is_not_here(name: str, why: str) -> None:
    with pytest.raises(UsageProblem, match=why):
        verdict_of(store_of("b"), lost=(name,))


def test_a_member_that_was_founded_again_does_not_count() -> None:
    """Real stores: b was killed while a and c acknowledged 61 keys, all were stopped, c was wiped
    and founded again.  So b and c are no majority."""
    a, b, c = (
        store_of(name, loaded((DATA / "etcd-founded" / f"{name}.tree").read_text("utf-8")))
        for name in "abc"
    )

    behind, whole = verdict_of(b, c), verdict_of(a, b, c)

    assert "unproven" == behind.verdict.value
    assert ("none", True) == (c.state.value, "founded again under its old name" in c.problems[0])
    assert ("proven", ["a"]) == (whole.verdict.value, [one.member for one in whole.latest])


def restored(name: str) -> Found:
    return store_of(name, loaded((DATA / "etcd-restored" / f"{name}.tree").read_text("utf-8")))


def test_stores_that_were_restored_from_two_snapshots_are_two_branches() -> None:
    """etcdutl 3.5.16 restored them, n3 from a snapshot with three more keys.  Their new logs are
    the same."""
    said = verdict_of(restored("n1"), restored("n3"))
    same = verdict_of(restored("n1"), evolve(restored("n1"), path="/n2"))

    assert Verdict.DIVERGED is said.verdict
    assert "h:/n1 has revision 8 at entry 3, and h:/n3 revision 11 at entry 3" in said.evidence[0]
    assert "restored from another snapshot" in said.next
    assert Verdict.DIVERGED is not same.verdict


@pytest.mark.parametrize(
    ("applied", "revision", "diverged"),
    [(50, 43, False), (50, 44, True), (48, 41, False), (48, 40, True), (40, 33, False)],
)
def test_an_entry_makes_at_most_one_revision(applied: int, revision: int, diverged: bool) -> None:
    """Store `a` has revision 41 at entry 48."""
    one, other = store_of("a"), store_of("c")
    assert other.raft_log is not None
    facts = evolve(other.raft_log, applied=applied, revision=revision)

    said = verdict_of(one, evolve(other, raft_log=facts))

    assert diverged is (said.verdict is Verdict.DIVERGED)


@pytest.mark.parametrize(
    ("release", "applied", "cluster"),
    [("3.4.23", 13, "3.4.0"), ("3.5.16", 14, "3.5.0"), ("3.5.30", 14, "3.5.0")],
)
def test_a_compaction_does_not_lower_the_revision(release: str, applied: int, cluster: str) -> None:
    """After five puts, four deletions and a compaction, each member said revision 10.  With 3.4 no
    key has this revision, and `etcdctl snapshot status` says 2."""
    tree = loaded((DATA / "etcd-compacted" / f"{release}.tree").read_text("utf-8"))
    facts = etcd.facts_of(tree)

    assert (10, applied, cluster, "") == (
        facts.revision,
        facts.applied,
        facts.release,
        facts.damaged,
    )
    assert (2, 14, 14) == (facts.term, facts.last_index, facts.commit)


def test_a_member_with_an_empty_log_is_not_called_corrupt() -> None:
    """etcd 3.5.16: c was wiped and started again under its old name, and has no entry yet."""
    [(place, _)] = kept(DATA / "etcd-histories" / "wiped-back-2007")

    alone, both = (
        judgement_of(
            words=[str(place / f"{name}.info") for name in names], kind="auto", positions=()
        )
        for names in ("c", "bc")
    )

    assert (Verdict.UNPROVEN, ("dirty",)) == (
        alone.verdict,
        tuple(one.state.value for one in alone.stores),
    )
    assert "their members are new, or were wiped" in alone.sentence
    assert "look for other stores of this cluster" in alone.next
    assert (Verdict.UNPROVEN, "b") == (both.verdict, both.latest[0].member)


@pytest.mark.parametrize(("release", "state"), [("3.7.0", "newer"), ("3.6.0", "corrupt")])
def test_a_log_in_the_form_of_a_newer_release_is_not_called_corrupt(
    release: str, state: str
) -> None:
    facts = evolve(etcd.facts_of(member("a")), damaged="a record of kind 6", release=release)
    files = (RawFile(etcd.NAMES[0], packed(facts)),)
    one = etcd.read(Raw(path="/a", host="h", format=Format.ETCD, files=files))

    said = verdict_of(one)

    assert state == one.state.value
    assert ("unproven" if state == "newer" else "corrupt") == said.verdict.value
    assert ("newer than the known releases" in one.problems[0]) is (state == "newer")
    assert verdict_of(store_of("b"), store_of("c"), one).verdict is Verdict.PROVEN
