"""Directories like those that nodes leave: metadata that names the journal, and the journal."""

from __future__ import annotations

from pathlib import Path

from joinproto.durable.journal.journal import FILE, Frame, Journal
from joinproto.log.disk import open_disk
from joinproto.log.keeper import Keeper, Keeping
from joinproto.store.handle import create_store
from tests.join.pictures import views
from tests.log.engines import Applied
from tests.recovery.disks import record


def make_node(path: Path, text: str, chain: str, *runs: tuple[str, int]) -> Path:
    """Make the directory of the node `path.name`; `runs`: how many frames of each view it has."""
    path.mkdir(parents=True)
    what = record(path.name, text, chain)
    create_store(path, what, member=path.name, cluster_name="cluster", frames=FILE).close()
    append(path, chain, *runs)
    return path


def drop(path: Path, keep: int) -> None:
    """Make a node drop its first frames, and keep the last `keep`; all its files stay."""
    disk = open_disk(path, path.name, "cluster")
    try:
        keeping = Keeping(snapshot_every=1, keep_frames=keep, before_dropping=disk.before_dropping)
        keeper = Keeper(disk.journal, Applied(), keeping)
        keeper.begin()
        last = disk.journal.last_seq
        for at in (last - keep, last, last):
            for _ in range(20):
                for work in keeper.work(at):
                    work()
    finally:
        disk.close()


def append(path: Path, chain: str, *runs: tuple[str, int]) -> None:
    """Write frames into a journal, which is created if it does not exist."""
    drawn = views(chain)
    journal = Journal.open(path)
    try:
        for view, count in runs:
            for _ in range(count):
                seq = journal.last_seq + 1
                journal.append([Frame(str(drawn[view].id), seq, b"frame %d" % seq)])
    finally:
        journal.close()
