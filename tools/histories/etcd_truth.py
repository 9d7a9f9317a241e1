"""Compare our reader of etcd's directories with etcd's own programs.

A member is asked for its status just before it is ended, and `etcdutl snapshot status` (before 3.5
`etcdctl`) reads the database that it left, with bbolt's own check of all its pages.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from joinproto.errors import EnvironmentProblem
from joinproto.recovery.foreign.etcd import DATABASE
from joinproto.recovery.gather import gather, read
from joinproto.recovery.raft_facts import RaftFacts
from tools.fixtures.servers import require, run
from tools.histories.etcd_cluster import API, LastStatus


def faults(stores: Mapping[str, Path], asked: Mapping[str, LastStatus]) -> Iterator[str]:
    """Yield the facts of our reader that etcd contradicts.

    `asked`: the last status of each member whose store shows its last state.
    """
    for name, store in stores.items():
        facts = read(gather(store, host="h")).raft_log
        if facts is None or facts.blank:
            if name in asked:
                yield f"{name} served, but our reader finds no facts"
            continue
        if facts.damaged:
            yield f"our reader calls {name} damaged: {facts.damaged}"
        yield from _database(name, store, facts)
        if name in asked:
            yield from status_faults(name, asked[name], facts)


def status_faults(name: str, said: LastStatus, facts: RaftFacts) -> Iterator[str]:
    """Yield the facts of our reader that a member's own last status contradicts."""
    if (said.cluster, said.member) != (facts.cluster, facts.member):
        yield f"{name} is {said.member} of {said.cluster}, not {facts.member} of {facts.cluster}"
    if facts.term < said.term or facts.last_index < said.index:
        yield (
            f"{name} was at {said.index} in term {said.term}, and is read as at {facts.last_index}"
            f" in term {facts.term}"
        )
    # An orderly stop writes all revisions to the database.
    if not said.kill and (facts.revision or 0) < said.revision:
        yield f"{name} had revision {said.revision}, and {facts.revision} is read"
    now = facts.configurations[-1]
    if facts.commit == facts.last_index and said.is_learner is not (said.member in now.learners):
        yield f"{name} is {'a' if said.is_learner else 'no'} learner, and the reader says otherwise"


def _database(name: str, store: Path, facts: RaftFacts) -> Iterator[str]:
    tool = "etcdutl" if shutil.which("etcdutl") else "etcdctl"
    copy = store.with_name(f"{name}.db")
    shutil.copyfile(store / DATABASE, copy)
    try:
        words = ("snapshot", "status", str(copy), "-w", "json")
        told = json.loads(run([require(tool, "etcd-client"), *words], env=API))
    except EnvironmentProblem as error:
        yield f"{name}: {tool} cannot read the database: {error.message[-200:]}"
        return
    finally:
        copy.unlink()
    # The tool reports the revision of the last key in the database, without compacted keys.
    if (facts.revision or 0) < int(told["revision"]):
        yield f"{name}: {tool} has revision {told['revision']}, and {facts.revision} is read"
