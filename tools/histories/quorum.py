"""Histories of quorum queues on three RabbitMQ nodes, drawn from a seed and judged by queue.

A boot takes ten seconds and more, so one cluster serves several histories, its life.  At the end
of each history all nodes are ended, their directories are copied and judged, the last line is
followed on the directories themselves (a copy has other paths, and Ra's files have the old ones),
and the life continues.  Later changes of a store (a disk wiped, an older copy put in its place) are
made to the copy; then the nodes are only frozen, and no line is followed.  Each history has three
queues of its own; those of earlier ones in that life are judged with them.

Clients record each confirmed message.  Ra itself reads the data of a store, on copies
(`ra_contents.escript`); a log that `names.dets` does not name has no data, as for RabbitMQ.

    fresh         queues are seconds old, so `names.dets` may not name them on the disk yet
    again         a queue is deleted, and declared again under its name, while a node is away
    forgotten     a node that is away is forgotten, and stays away
    joined        a forgotten node joins again, without its disk
    reset         a node is reset, and continues alone
    wiped, copy   a store was lost, or went back, and files may not show it: counted separately
    other kinds   kills, stops, cuts, members that are away, changes of members, snapshots

Source: RabbitMQ 3.10.8 of Debian 12, with Ra 2.2.0; 4.0.5 and 4.3.6, with Ra 2.14.0 and 3.1.10.
"""

from __future__ import annotations

import random
import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from itertools import combinations
from pathlib import Path

from joinproto.errors import EnvironmentProblem
from joinproto.pick.table import Verdict
from joinproto.recovery.cli_look import judgement_of
from joinproto.recovery.foreign.ra.verdicts import GroupVerdict
from tools.fixtures.rabbitmq import NODES
from tools.fixtures.servers import require, wait_until
from tools.histories import rabbitmq_nodes
from tools.histories.followed import Followed, Steps, evals_of, steps_of
from tools.histories.judged import History, SubsetVerdict
from tools.histories.quorum_play import IN_A_LIFE, METADATA, Life, Play
from tools.histories.rabbitmq import _formed
from tools.histories.rabbitmq_nodes import Nodes, full, nodes, release

CONTENTS = Path(__file__).with_name("ra_contents.escript")
QUEUES = 3
CONTENTS_SECONDS = 600
# Small files, so that there are also segments and snapshots.
CONFIGURATION = "raft.wal_max_size_bytes = 65536\nraft.segment_max_entries = 128\n"
ADVANCED = "[{rabbit, [{quorum_snapshot_interval, 64}]}].\n"

PLOTS: Mapping[str, str] = {
    "killed": "publish kill publish kill-all",
    "away": "publish kill publish back publish",
    "stopped": "publish stop publish back publish",
    "cut": "publish cut publish mend publish",
    "members": "publish shrink publish grow publish",
    "purged": "publish purge publish kill back publish",
    "wiped": "publish kill publish wipe",
    "copy": "publish kill publish put-back",
    "fresh": "publish kill back publish",
    "again": "publish purge publish kill declare-again publish",
    "forgotten": "publish kill forget publish",
    "joined": "publish kill forget blank publish grow publish",
    "reset": "publish reset publish",
    "any": "",
}
KINDS = tuple(PLOTS)
ASKED = ("again", "forgotten", "joined", "reset")
DRAWN = tuple(kind for kind in KINDS if kind not in ASKED)
"""The kinds that a seed draws; the other kinds need `--kind`."""
ASSUMED = ("wiped", "copy")
ANSWER = re.compile(r"\{ok,\s*(\d+),")
"""The answer of Ra's leader to a query."""
MARK = r"m-[-0-9a-z]+:[0-9]+;"
SYSTEMS = ("quorum", "coordination")
STARTED = re.compile(r"start (?:all these nodes|([\w@., -]+)): each group elects")
EVENTS = ("publish", "publish", "kill", "stop", "back", "cut", "mend", "shrink", "grow", "purge")


_LIVES: list[tuple[ExitStack, Life]] = []


def _life(top: Path, *, khepri: bool) -> Life:
    """Return the running cluster, or a new cluster if its life is over."""
    life = _LIVES[0][1] if _LIVES else None
    if life and life.running and life.histories < IN_A_LIFE and not life.is_over:
        return life
    end()
    formed = _formed(top / "formed", khepri=khepri)
    place = top / f"life-{time.monotonic_ns()}"
    place.mkdir()
    stack = ExitStack()
    cluster = stack.enter_context(nodes(place / "play"))
    cluster.prepare(formed)
    with (cluster.root / "rabbitmq.conf").open("a") as file:
        file.write(CONFIGURATION)
    (cluster.root / "advanced.config").write_text(ADVANCED)
    life = Life(cluster, place)
    _LIVES.append((stack, life))
    cluster.start(*NODES)
    if not cluster.come_up(*NODES, seconds=300):
        end()
        raise EnvironmentProblem("the copy of a formed cluster does not start")
    life.running = set(NODES)
    life.has_khepri = cluster.has_khepri(NODES[0])
    return life


def end() -> None:
    """End the running cluster, if any, and remove its files."""
    while _LIVES:
        stack, life = _LIVES.pop()
        stack.close()
        shutil.rmtree(life.top, ignore_errors=True)


def draw(seed: int, folder: Path, kind: str | None = None, *, khepri: bool = False) -> History:
    """Play the history of a seed, in a life that may have had histories before it.

    `khepri`: whether the metadata are in Khepri, if the release allows a choice.
    """
    kind = kind or DRAWN[seed % len(DRAWN)]
    life = _life(folder.parent, khepri=khepri)
    chance = random.Random(f"{seed} quorum {kind}")
    names = PLOTS[kind].split() or ["publish"]
    for _ in range(chance.randint(0, 2) if PLOTS[kind] else 5):
        names.insert(chance.randint(1, len(names)), chance.choice(EVENTS))
    play = Play(life, chance, seed, [f"q{seed}-{number}" for number in range(QUEUES)])
    play.declare(is_settled=kind != "fresh")
    if kind == "copy":
        # Only queues of the last history are in the store that is put back.
        play.queues = [*play.queues, *life.queues]
    life.queues = play.queues[:QUEUES]
    for name in names:
        play.event(name)
    is_followed = not play.changes
    if is_followed:
        play.end_all()
    stores, after = play.frozen(folder / "stores")
    life.histories += 1
    for one in after:
        play.events.append(one)
    has = contents(stores, folder / "aside")
    # If no line is followed, the cluster continues, so cut or ended nodes must come back.
    if not is_followed:
        play.whole_again()
    acknowledged = frozenset().union(*life.confirmed.values()) if life.confirmed else frozenset()
    return History(
        broker="quorum",
        seed=seed,
        kind=kind,
        events=tuple(play.events),
        stores=stores,
        has=has,
        acknowledged=frozenset(acknowledged),
        queues={one: queue for queue, those in life.confirmed.items() for one in those},
        nodes=len(NODES),
    )


def contents(stores: Mapping[str, Path], aside: Path) -> Mapping[str, frozenset[str]]:
    """Return the messages of each store, which Ra itself reads from copies below `aside`."""
    places: dict[Path, str] = {}
    for name, store in stores.items():
        for system in SYSTEMS:
            if (store / system / name).exists():
                places[aside / system / name] = name
                shutil.copytree(store / system / name, aside / system / name)
    done = subprocess.run(
        [
            require("escript", "erlang-base"),
            str(CONTENTS),
            str(rabbitmq_nodes._plugins()),
            *map(str, places),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=CONTENTS_SECONDS,
    )
    has: dict[str, set[str]] = {name: set() for name in stores}
    if done.returncode:
        raise EnvironmentProblem(f"Ra cannot be asked: {done.stderr[-300:]}")
    for line in done.stdout.splitlines():
        verb, _, rest = line.partition(" ")
        folder, _, said = rest.partition(" ")
        if verb == "failed":
            raise EnvironmentProblem(f"Ra cannot read {folder}: {said[:300]}")
        if verb == "log":
            has[places[Path(folder)]].update(said.split()[1:])
    shutil.rmtree(aside)
    return {name: frozenset(found) for name, found in has.items()}


def follow(history: History, line: str, folder: Path) -> Followed | None:
    """Start the cluster as the last line says, and compare the messages of each proven queue.

    Returns None if a node still runs, or if the line gives no order; then all nodes are started.
    """
    life = _LIVES[0][1]
    if life.running:
        return None
    cluster = life.cluster
    steps = steps_of(line)
    found = judgement_of(
        words=[str(cluster.directory(node)) for node in NODES], kind="auto", positions=[]
    )
    every = tuple(map(full, NODES))
    told = STARTED.match(line)
    if steps is None and told is not None:
        some = tuple(told[1].split(", ")) if told[1] else every
        steps = Steps(force="", stages=(some,), evals=evals_of(line))
    stages = steps.stages if steps is not None else (every,)
    if steps is not None and steps.force:
        cluster.force(_short(steps.force))
    for stage in stages:
        names = [_short(name) for name in stage]
        cluster.start(*names)
        cluster.come_up(*names, seconds=240)
    all_of = [_short(name) for stage in stages for name in stage]
    up = {node for node in all_of if cluster.is_up(node)}
    life.running = up
    if up != {*NODES}:
        life.is_over = True
    if steps is None:
        return None
    for node, code in steps.evals:
        cluster.ask(_short(node), code, seconds=120)
    rows = () if found.raft is None else found.raft.rows
    proven = {_group(row) for row in rows if row.is_proven} & life.confirmed.keys()
    # The queues of earlier histories are compared once, in the life's last history.
    if life.histories < IN_A_LIFE:
        proven &= {*life.queues, METADATA}
    wanted = {queue: life.confirmed[queue] & history.kept for queue in proven}
    lost = {
        queue: len(those - _messages(cluster, queue)) for queue, those in wanted.items() if those
    }
    return Followed(
        steps=steps,
        kept=sum(map(len, wanted.values())),
        lost=sum(lost.values()),
        is_said=False,
        not_up=tuple(full(node) for node in all_of if node not in up),
        messages=lost,
        queues=len(lost),
    )


def _short(name: str) -> str:
    return name.partition("@")[0]


def _messages(cluster: Nodes, queue: str) -> frozenset[str]:
    """Return the messages of a queue's leader, or none without a leader; exchanges for `METADATA`.

    A consistent query comes first: a leader with a majority answers it once all committed entries
    are applied.  A `basic.get` before that may find the queue empty.
    """
    if queue == METADATA:
        return _exchanges(cluster)
    server = f"{{'%2F_{queue}', '{{}}'}}"
    total = "{rabbit_fifo, query_messages_total, []}"
    if release() < (4, 1):
        total = "fun rabbit_fifo:query_messages_total/1"
    query = f"ra:consistent_query({server}, {total}, 5000)."
    found: list[frozenset[str]] = []

    def answers() -> bool:
        for node in NODES:
            with suppress(EnvironmentProblem):
                if ANSWER.match(cluster.ask(node, query.replace("{}", full(node)))):
                    found.append(cluster.control.look(cluster.port(node), queue))
                    return True
        return False

    with suppress(EnvironmentProblem):
        wait_until(f"{queue} has a leader", answers, seconds=90)
    return frozenset().union(*found)


def _exchanges(cluster: Nodes) -> frozenset[str]:
    """Return the exchanges of histories on a node that has applied all committed operations."""
    for node in NODES:
        with suppress(EnvironmentProblem):
            cluster.ask(node, "khepri:fence(rabbitmq_metadata, 60000).", seconds=70)
            names = "[N || {resource, _, exchange, N} <- rabbit_exchange:list_names()]"
            listed = cluster.ask(node, f"iolist_to_binary(lists:join(<<32>>, {names})).")
            return frozenset(re.findall(MARK, listed))
    return frozenset()


def judged(history: History) -> Iterator[SubsetVerdict]:
    """Yield the verdict about every subset of the stores, all of them first."""
    given = sorted(history.stores)
    for size in range(len(given), 0, -1):
        for some in combinations(given, size):
            yield judge(history, some)


def judge(history: History, given: tuple[str, ...]) -> SubsetVerdict:
    """Return the verdict, which is wrong if a store proven best for a group lacks its messages."""
    found = judgement_of(
        words=[str(history.stores[node]) for node in given], kind="auto", positions=[]
    )
    rows = () if found.raft is None else found.raft.rows
    claims = [row for row in rows if row.is_proven]
    wrong = [
        f"{row.title}: {node} is proven, and lacks {len(lost)} of {len(wanted)} confirmed"
        for row in claims
        for wanted in [_wanted(history, row)]
        for node in row.best
        if (lost := wanted - history.has[node])
    ]
    return SubsetVerdict(
        given=given,
        verdict=Verdict.PROVEN if rows and len(claims) == len(rows) else Verdict.UNPROVEN,
        named=tuple(sorted({node for row in claims for node in row.best})),
        next=found.next,
        text="\n".join((found.sentence, *found.evidence)),
        wrong=() if history.kind in ASSUMED else tuple(wrong),
        assumed=tuple(wrong) if history.kind in ASSUMED else (),
        claims=len(claims),
    )


def _wanted(history: History, row: GroupVerdict) -> frozenset[str]:
    """Return the confirmed messages of a queue that some store has."""
    return frozenset(one for one in history.kept if history.queues.get(one) == _group(row))


def _group(row: GroupVerdict) -> str:
    """Return the name of a group's queue, or of Khepri's group."""
    return row.any_log.queue or row.any_log.group
