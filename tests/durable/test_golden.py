"""Files of earlier versions are read and continued.

`golden.json` has the files of each kind as an earlier version wrote them, in base64: among them
bare JSON of the Clusterer's members and of the keeper's changes, and a journal with a base.
"""

from __future__ import annotations

import json
from base64 import b64decode
from pathlib import Path

import pytest

from joinproto.apps.clusterer.keeping.members import MembersFile
from joinproto.apps.clusterer.keeping.stored import StoredConfig
from joinproto.apps.reconcile.journal import Journal as Changes
from joinproto.apps.standby.keeping.disk import open_disk as open_broker
from joinproto.clusterer.messages import Members
from joinproto.durable.envelope import Envelope, unseal
from joinproto.durable.journal.journal import Frame, Journal
from joinproto.join.store import Ballot
from joinproto.log.disk import open_disk
from joinproto.log.snapshot import FILE, load
from joinproto.reconcile.keeper import Intent
from joinproto.reconcile.queue import Kind
from joinproto.reconcile.reading import Key
from joinproto.reconcile.tables import Action
from joinproto.store.handle import open_store
from tests.store.records import life


@pytest.fixture
def files(tmp_path: Path) -> Path:
    golden = json.loads(Path(__file__).with_name("golden.json").read_text("utf-8"))
    for name, data in golden.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b64decode(data))
    return tmp_path


def test_a_store_is_read_and_the_same_bytes_are_written(files: Path) -> None:
    meta = files / "store" / "joinproto" / "store.meta"
    before = meta.read_bytes()
    with open_store(files / "store") as store:
        assert (life()[5], 6, ()) == (store.record, store.generation, store.problems)
        store.write(life()[4])
        store.write(life()[5])

    after = unseal(meta.read_bytes())
    was = unseal(before)
    assert isinstance(after, Envelope)
    assert isinstance(was, Envelope)
    assert (was.payload, was.format, 8) == (after.payload, after.format, after.generation)


def test_a_members_directory_is_opened(files: Path) -> None:
    disk = open_disk(files / "member", "a", "cluster")

    assert (Ballot(7, "b"), None) == (disk.record.promised, disk.journal.last)
    disk.close()


def test_a_journal_with_a_base_and_a_snapshot_is_read_and_continued(files: Path) -> None:
    journal = Journal.open(files / "log")
    texts = [b"frame %d" % number for number in range(1, 13)]

    assert (9, 12) == (journal.first_seq, journal.last_seq)
    assert texts[8:] == [frame.data for frame in journal.read(9)]
    assert b"".join(len(one).to_bytes(4, "big") + one for one in texts[:8]) == journal.state()
    snapshot = load(journal, FILE, "texts")
    assert snapshot is not None
    assert 8 == snapshot.last
    journal.append([Frame("9" * 64, 13, b"more")])
    journal.close()
    again = Journal.open(files / "log")
    assert (13, b"more") == (again.last_seq, again.read(13)[0].data)
    again.close()


def test_a_brokers_directory_is_read_and_continued(files: Path) -> None:
    with open_broker(files / "broker", "a") as disk:
        assert (2, "i", False) == (disk.kept.view.generation, disk.kept.cluster, disk.kept.clean)
        assert ["2.2", "2.3"] == [one.id for one in disk.queues["q"].in_order]
        disk.write(disk.kept)
    with open_broker(files / "broker", "a") as again:
        assert ["2.2", "2.3"] == [one.id for one in again.queues["q"].in_order]


def test_a_stored_config_is_read_and_continued(files: Path) -> None:
    stored = StoredConfig(files / "config" / "data")
    found = stored.load()
    assert found is not None
    assert (4, "a#1", 2) == (found.held.config.version, found.identity, found.generation)
    stored.keep(found.held, "a#1")

    again = stored.load()
    assert again is not None
    assert (found.held, 3) == (again.held, again.generation)


def test_bare_json_of_members_is_read_and_written_as_a_record(files: Path) -> None:
    file = MembersFile(files / "members" / "data")
    bare = file.path.read_bytes()
    members = Members(members=("a", "b"), ran=("b",), given_up=True)

    assert members == file.load()
    file.keep(Members(members=("a",)))
    assert Members(members=("a",)) == file.load()
    assert bare == file.path.with_name(f"{file.path.name}.previous").read_bytes()
    record = unseal(file.path.read_bytes())
    assert isinstance(record, Envelope)
    assert 1 == record.generation


def test_bare_json_of_changes_is_read_and_written_as_a_record(files: Path) -> None:
    journal = Changes.open(files / "changes" / "state.json")
    one = Intent(Key("/", "q"), Kind.QUORUM, Action.ADD, "c", "a", 12.5)

    assert {one.key: one} == journal.read()
    journal.write({})
    journal.close()
    again = Changes.open(files / "changes" / "state.json")
    assert {} == again.read()
    again.close()
    record = unseal((files / "changes" / "state.json").read_bytes())
    assert isinstance(record, Envelope)
