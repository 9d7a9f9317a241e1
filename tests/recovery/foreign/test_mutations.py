"""Mutations of each format cause no traceback and no false verdict.

The directories were written by real programs (those of KRaft by its format).  One file of one
directory is changed, and every set of the stores with this directory is judged as by `recover
pick`.  A sure verdict is false if it was not sure before, or if it names a store that lacks
acknowledged data, or a store whose facts differ from those before the change.

Only changes that no reader can see are permitted: a plain text without a checksum that still has
the form in which its program writes it, and a log that ends early, cut off or with zeros after a
record (an older log looks the same).  `is_unseen` decides this for each format.
"""

from __future__ import annotations

import json
import os
import random
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import combinations
from pathlib import Path

import click
import pytest
from attrs import define, frozen

from joinproto.codec.json_form import printed
from joinproto.errors import JoinprotoError
from joinproto.pick.table import Verdict
from joinproto.recovery import show
from joinproto.recovery.found import Found, State
from joinproto.recovery.gather import gather, read
from joinproto.recovery.judgement import Judgement, judge, result_of
from joinproto.recovery.own import with_shared_log
from tests.recovery.foreign import ra_files, test_kraft
from tests.recovery.foreign.directories import DATA
from tests.recovery.foreign.mutations import mutated
from tools.histories.trees import Sparse, kept, loaded

# A disk in memory, because each mutation writes a file, and etcd reserves 64 MB for a file.
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
WRITTEN = Path(__file__).parents[1] / "written" / "0.1.0"
SURE = (Verdict.PROVEN, Verdict.TIE, Verdict.CLEAN)
RECOVERED = "recovered.log"

Stores = Mapping[str, Sparse]


@frozen(kw_only=True)
class Form:
    """A format.  `examples`: clusters' stores.

    `nodes`: the value of `--nodes`, if no file says how many nodes there are.  `is_unseen`: whether
    no reader can see that a file was changed, from its name and its bytes before and after.
    `mutates`: a pattern of the files that are changed.
    """

    examples: Callable[[], Sequence[Stores]]
    is_unseen: Callable[[str, bytes, bytes], bool] = lambda name, before, after: False
    nodes: int | None = None
    mutates: str = "."


# -- the examples ----------------------------------------------------------------------------------


def _kept_trees(broker: str, names: Sequence[str]) -> Sequence[Stores]:
    return [{n: loaded((DATA / broker / f"{n}.tree").read_text("utf-8")) for n in names}]


def _trees_below(*folders: Path) -> Sequence[Stores]:
    return [
        {one.name: loaded(kept(one)) for one in sorted(folder.iterdir()) if one.is_dir()}
        for folder in sorted(folders)
    ]


def _ra(*packs: Path) -> Sequence[Stores]:
    found = []
    for pack in packs:
        with tempfile.TemporaryDirectory(dir=MEMORY) as place:
            nodes = ra_files.real_nodes(Path(place), pack)
            found.append({name: loaded(kept(path)) for name, path in nodes.items()})
    return found


def _kraft() -> Sequence[Stores]:
    third = test_kraft.controller(3, [test_kraft.FOUNDING, *test_kraft.DATA[:5]], epoch=1)
    return [{"1": test_kraft.ONE, "2": test_kraft.TWO, "3": third}]


# -- damage that no reader can see -----------------------------------------------------------------


def _is_shorter(before: bytes, after: bytes, ends: Sequence[int]) -> bool:
    """Return whether a log ends earlier, after a whole record, perhaps followed by zeros."""
    rest = after.rstrip(b"\0")
    return any(before[:end].rstrip(b"\0") == rest for end in ends)


def _etcd_ends(data: bytes) -> Iterator[int]:
    at = 0
    while at + 8 <= len(data):
        length = int.from_bytes(data[at : at + 8], "little")
        at += 8 + (length & ((1 << 56) - 1)) + (length >> 56 & 7)
        yield at


def _unseen_in_etcd(name: str, before: bytes, after: bytes) -> bool:
    return name.endswith(".wal") and _is_shorter(before, after, list(_etcd_ends(before)))


def _kraft_ends(data: bytes) -> Iterator[int]:
    at = 0
    while at + 12 <= len(data):
        at += 12 + int.from_bytes(data[at + 8 : at + 12], "big")
        yield at


def _unseen_in_kraft(name: str, before: bytes, after: bytes) -> bool:
    if name.endswith(".log"):
        return _is_shorter(before, after, list(_kraft_ends(before)))
    if name.endswith("quorum-state"):
        try:
            one, other = json.loads(before), json.loads(after)
        except ValueError:
            return False
        return isinstance(other, dict) and all(
            type(other.get(key)) is type(value) for key, value in one.items()
        )
    return _has_form(before, after)


def _has_form(before: bytes, after: bytes) -> bool:
    """Return whether a text has the same words as before, except for numbers and names."""
    form = re.escape(before.decode("ascii"))
    form = re.sub(r"[0-9a-f]{8}(?:\\-[0-9a-f]+){4}", "ID", form)
    form = re.sub(r"(?<==)[\w\\-]+", r"[\\w-]+", form)
    form = re.sub(r"\b[0-9]+\b", "-?[0-9]+", form).replace("ID", "[0-9a-f-]{36}")
    try:
        return re.fullmatch(form + r"\s*", after.decode("ascii")) is not None
    except UnicodeDecodeError:
        return False


def _unseen_in_ra(name: str, before: bytes, after: bytes) -> bool:
    """Return whether only names in `config`, a text without a checksum, changed.

    A change of the node's own name is seen, because the folder has it, too.
    """
    one, other = (re.sub(rb"[\w-]+", b"x", data) for data in (before, after))
    own, changed = (re.findall(rb"id => \{[^}]*\}", data) for data in (before, after))
    return name.endswith("/config") and one == other and own == changed


NODE = r"(?:[a-z]\w*@[\w.-]+|'[^'\\]+@[^'\\]+')"
NODES = rf"\[(?:{NODE}(?:,\s*{NODE})*)?\]"
LISTS = re.compile(rf"(?:\{{{NODES},\s*{NODES}\}}|{NODES})\.\s*")


def _unseen_in_rabbitmq(name: str, before: bytes, after: bytes) -> bool:
    try:
        return LISTS.fullmatch(after.decode("ascii")) is not None
    except UnicodeDecodeError:
        return False


FORMS: Mapping[str, Form] = {
    "etcd": Form(
        examples=lambda: [
            *_kept_trees("etcd-away", "abc"),
            *_kept_trees("etcd-founded", "abc"),
            *_kept_trees("etcd-restored", ("n1", "n3")),
        ],
        is_unseen=_unseen_in_etcd,
    ),
    "ra": Form(examples=lambda: _ra(ra_files.REAL), is_unseen=_unseen_in_ra, mutates="quorum/"),
    "khepri": Form(
        examples=lambda: _ra(ra_files.KHEPRI, ra_files.KHEPRI_4_3, ra_files.MNESIA),
        is_unseen=_unseen_in_ra,
        mutates="quorum/|coordination/",
    ),
    "kraft": Form(examples=_kraft, is_unseen=_unseen_in_kraft),
    "postgresql": Form(
        examples=lambda: [
            one
            for release in ("", "-17", "-18")
            for one in _kept_trees(f"postgresql-forked{release}", "bc")
        ],
        nodes=2,
    ),
    "galera": Form(
        examples=lambda: _trees_below(*DATA.glob("galera-*")),
        is_unseen=lambda _, before, after: _has_form(before, after),
        nodes=3,
        mutates=r".*\.dat",
    ),
    "rabbitmq": Form(
        examples=lambda: _trees_below(*DATA.glob("rabbitmq-*")), is_unseen=_unseen_in_rabbitmq
    ),
    "joinproto": Form(examples=lambda: _trees_below(WRITTEN)),
}


# -- judged stores ---------------------------------------------------------------------------------


def facts(found: Found) -> object:
    """Return the facts of a store that decide which store is the latest."""
    log = found.raft_log
    if log is not None:
        # etcd itself uses the snapshot before a damaged one, if the log continues from there.
        voters = log.configurations[-1].voters if log.configurations else ()
        ends = log.last_term, log.last_index, log.commit
        return log.cluster, log.member, log.term, log.vote, *ends, voters
    one = found.candidate
    view = one.last_view, one.stopped_last, one.may_be_last, one.lost_view, one.node
    return one.member, one.cluster, one.record, one.seq, one.final, one.history, *view


def queues(judgement: Judgement) -> Mapping[str, tuple[frozenset[str], Mapping[str, object]]]:
    """Return the proven Raft groups: the best nodes, and the end of each node's log."""
    rows = () if judgement.raft is None else judgement.raft.rows
    return {
        f"{row.any_log.vhost} {row.title}": (
            frozenset(row.best),
            {
                log.node: (log.last_index, log.last_term, log.prints, log.configurations[-1].voters)
                for log in row.logs.values()
            },
        )
        for row in rows
        if row.is_proven
    }


@define
class Cluster:
    """An example on the disk.  `before`: the verdict about each set of its stores."""

    place: Path
    form: Form
    stores: Stores
    found: Mapping[str, Found]
    before: Mapping[tuple[str, ...], Judgement]

    @classmethod
    def write(cls, place: Path, form: Form, stores: Stores) -> Cluster:
        for name, tree in stores.items():
            for file in tree.files:
                _put(place / name, file, tree)
        found = {name: _read(place / name) for name in stores}
        sets = [some for size in range(2, len(stores) + 1) for some in combinations(stores, size)]
        before = {some: _judge(form, [found[name] for name in some]) for some in sets}
        return cls(place, form, stores, found, before)

    @contextmanager
    def changed_store(self, name: str, file: str, tree: Sparse) -> Iterator[Found]:
        """Yield the findings in a store after its file was replaced by that of `tree`."""
        try:
            _put(self.place / name, file, tree)
            yield _read(self.place / name)
        finally:
            _put(self.place / name, file, self.stores[name])

    @property
    def complete(self) -> frozenset[str]:
        """Return the stores that have each entry of a majority; empty if they have no Raft log."""
        logs = {one.name: one.raft_log for one in self.found.values()}
        ends = {name: log.last_index for name, log in logs.items() if log is not None}
        if not ends:
            return frozenset()
        least = sorted(ends.values(), reverse=True)[len(ends) // 2]
        return frozenset(name for name, end in ends.items() if end >= least)


def _put(place: Path, file: str, tree: Sparse) -> None:
    path = place / file
    if file not in tree.files:
        path.unlink()
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(tree.files[file])
    os.truncate(path, tree.sizes[file])


def _read(place: Path) -> Found:
    log = place / RECOVERED
    return read(gather(place, host="h", recovered=log.read_bytes() if log.exists() else b""))


def _judge(form: Form, stores: Sequence[Found]) -> Judgement:
    found = with_shared_log(tuple(stores))
    words = [one.path for one in found]
    judgement = judge(found, nodes=form.nodes, words=words)
    text = click.unstyle(show.judgement_text(judgement))
    assert all(line.isascii() and line.isprintable() for line in text.splitlines()), text
    assert printed(result_of(judgement))
    return judgement


def false_in(before: Judgement, now: Judgement, changed: Found, was: Found, also: Cluster) -> str:
    """Return why a verdict is false, "" if it is not false."""
    if now.verdict in SURE:
        latest = set(now.pick.latest)
        if before.verdict not in SURE:
            return f"{now.verdict.value}, and was {before.verdict.value}"
        if not latest <= {*before.pick.latest, *also.complete}:
            return f"{now.verdict.value}: {sorted(latest)}, and was {before.pick.latest}"
        if changed.name in latest and facts(changed) != facts(was):
            return f"{now.verdict.value}: {facts(changed)}, and was {facts(was)}"
    known = queues(before)
    for queue, (best, logs) in queues(now).items():
        if queue not in known:
            return f"{queue} is proven, and was not"
        if not best <= known[queue][0]:
            return f"{queue}: best are {best}, and were {known[queue][0]}"
        if any(logs[one] != known[queue][1][one] for one in best):
            return f"{queue}: a best log is a different one"
    return ""


def mutate(kind: str, count: int, seed: int) -> tuple[list[str], Counter[str]]:
    """Return the mutations that make a false verdict, and how many there are of each sort."""
    form, chance = FORMS[kind], random.Random(f"{kind} {seed}")
    wrong, counts = list[str](), Counter[str]()
    with tempfile.TemporaryDirectory(dir=MEMORY) as place:
        clusters = [
            Cluster.write(Path(place) / str(at), form, stores)
            for at, stores in enumerate(examples(kind))
        ]
        while counts.total() < count:
            cluster = clusters[counts.total() % len(clusters)]
            name = chance.choice(sorted(cluster.stores))
            tree = cluster.stores[name]
            what, file, changed = mutated(tree, chance, form.mutates)
            if changed == tree:
                continue
            mutation = f"{counts.total()}: {what} of {file} of {name}"
            counts[_judge_all(cluster, name, file, changed, mutation, wrong)] += 1
    return wrong, counts


def _judge_all(
    cluster: Cluster, name: str, file: str, tree: Sparse, mutation: str, wrong: list[str]
) -> str:
    """Judge all sets with a changed store; return the sort of the change.

    If no verdict is false: `damaged`: the store is damaged; `said`: its facts differ; `harmless`:
    they do not.  If one is false: `unseen`: no reader can see the change; `wrong`: a reader can,
    and the mutation is added to `wrong`.  `refused`: a set is refused.
    """
    why = ""
    try:
        with cluster.changed_store(name, file, tree) as found:
            for some, before in cluster.before.items():
                if name in some:
                    others = [found if one == name else cluster.found[one] for one in some]
                    now = _judge(cluster.form, others)
                    why = why or false_in(before, now, found, cluster.found[name], cluster)
    except JoinprotoError:
        return "refused"
    except Exception as error:
        error.add_note(mutation)
        raise
    if not why:
        is_damaged = found.state in (State.CORRUPT, State.UNREADABLE, State.NONE)
        is_other = (
            facts(found) != facts(cluster.found[name]) or found.raft != cluster.found[name].raft
        )
        return "damaged" if is_damaged else "said" if is_other else "harmless"
    if file in tree.files and cluster.form.is_unseen(
        file, cluster.stores[name].files[file], tree.files[file]
    ):
        return "unseen"
    wrong.append(f"{mutation}: {why}")
    return "wrong"


@cache
def examples(kind: str) -> Sequence[Stores]:
    return FORMS[kind].examples()


@pytest.mark.parametrize("kind", FORMS)
def test_no_mutation_makes_a_verdict_false(kind: str) -> None:
    """Sixty mutations are tried; the test below tries two thousand others."""
    wrong, counts = mutate(kind, 60, seed=1)

    assert [] == wrong
    assert counts["damaged"] + counts["said"] > 10, counts


@pytest.mark.soak("stores")
@pytest.mark.parametrize("kind", FORMS)
def test_none_of_2_000_mutations_makes_a_verdict_false(kind: str) -> None:
    wrong, counts = mutate(kind, 2_000, seed=2)

    assert [] == wrong
    assert counts["damaged"] + counts["said"] > 400, counts
