"""The slices of the soak: all checks that are too long for every landing, in pieces of minutes.

A test joins a slice by its marker, `@pytest.mark.soak("name")`; a slice without tests is a program.
`tests/soak.py` runs them; `python tests/soak.py --list` prints this table.
"""

from __future__ import annotations

from typing import Literal

from attrs import frozen


@frozen
class Slice:
    """`about`: its purpose.  `program`: its command line; without one it is made of tests.

    In a program, `{python}` is this interpreter, `{seed}` the seed of the run, `{seconds}` and
    `{minutes}` what the slice may take.  `spread`: how xdist hands tests to its two workers: one by
    one, or the tests of a file together because they share a server; `alone`: a test at a time,
    because one may take all the memory there is.
    """

    about: str
    program: str = ""
    spread: Literal["load", "loadfile", "alone"] = "load"


SLICES: dict[str, Slice] = {
    # Searches: worlds too large for every landing, and all worlds by every searcher.
    "join-worlds": Slice("join worlds of some 10^6 states, and what breaks without each rule"),
    "join-three": Slice("`join` and its mutants with three members", spread="alone"),
    "join-wiped": Slice("`join-wiped`, and its mutants", spread="alone"),
    "zen": Slice("Elasticsearch's model to its end", spread="alone"),
    "system-worlds": Slice("large worlds of the other systems"),
    "reference": Slice("every quick world against the reference search"),
    "reference-large": Slice("worlds that the reference search takes a minute for"),
    "reference-largest": Slice("worlds that the reference search takes minutes for"),
    "engines": Slice(
        "every quick world in plain Python, and by two and three workers; chances by Storm"
    ),
    "explore": Slice("every quick world by the graph that explore's page walks"),
    "random-models": Slice("random models and claims by every searcher, more examples"),
    "examples": Slice(
        "tests of `make test` that try examples: others, drawn by the seed",
        "{python} -m pytest -q -m 'hypothesis and not soak and not landing' -n 2 --dist load"
        " --hypothesis-profile drawn --hypothesis-seed {seed}",
    ),
    "soundness": Slice(
        "random models by a search that shares no code with the checker",
        "{python} -m tools.soundness --models 3000 --seed {seed}000 --jobs 2",
    ),
    # Spark.
    "spark-worlds": Slice("every quick world on Spark", spread="loadfile"),
    "spark-faults": Slice("killed workers, drivers and executors of Spark", spread="alone"),
    "spark-apart": Slice("workers of Spark that share nothing but a store", spread="alone"),
    # Proofs.
    "proofs": Slice("walks of large worlds against the relation; runs that a dropped guard allows"),
    # The protocol, mutated and at random.
    "mutations": Slice(
        "mutations of the protocol, drawn by the seed: does anything notice?",
        "{python} -m tools.mutate --tests --sample 999 --seed {seed} --jobs 2 --minutes {minutes}",
    ),
    "swarm": Slice(
        "real members in a simulated network, drawn by the seed",
        "{python} -m joinproto simulate join --swarm --seconds {seconds} --jobs 2 --seed {seed}",
    ),
    "swarm-rules": Slice("each rule left out is found by a simulated run"),
    "mutants": Slice("the programs that mutate the protocol and draw random models"),
    # Real processes.
    "torture": Slice(
        "three nodes in a storm of faults",
        "{python} -m tools.torture --minutes {minutes} --seed {seed} --quiet",
    ),
    "torture-register": Slice(
        "two nodes and an etcd in a storm of faults",
        "{python} -m tools.torture --minutes {minutes} --seed {seed} --register etcd --quiet",
    ),
    "torture-clusterer": Slice(
        "four nodes of the Clusterer in a storm of faults",
        "{python} -m tools.torture --system clusterer --minutes {minutes} --seed {seed} --quiet",
    ),
    "swarm-clusterer": Slice(
        "nodes of the Clusterer as they ship, in random orders and virtual time",
        "{python} -m tools.swarms clusterer --seconds {seconds} --seed {seed}000",
    ),
    "failover": Slice(
        "brokers of hot standby, killed, stopped and promoted from outside",
        "{python} -m tools.torture --system standby --minutes {minutes} --seed {seed} --quiet",
    ),
    "failover-built-in": Slice(
        "brokers of hot standby that promote themselves",
        "{python} -m tools.torture --system standby --built-in --minutes {minutes} --seed {seed}"
        " --quiet",
    ),
    "histories-rabbitmq": Slice(
        "drawn histories of RabbitMQ: is `recover` right about what they left?",
        "{python} -m tools.histories rabbitmq --seed {seed}000 --count 999 --minutes {minutes}",
    ),
    "histories-quorum": Slice(
        "drawn histories of quorum queues: does a log that is called proven lack a message?",
        "{python} -m tools.histories quorum --seed {seed}000 --count 999 --minutes {minutes}",
    ),
    "histories-galera": Slice(
        "drawn histories of Galera: is `recover` right about what they left?",
        "{python} -m tools.histories galera --seed {seed}000 --count 999 --minutes {minutes}",
    ),
    "histories-etcd": Slice(
        "drawn histories of etcd: is `recover` right about what they left?",
        "{python} -m tools.histories etcd --seed {seed}000 --count 999 --minutes {minutes}",
    ),
    "histories-postgresql": Slice(
        "drawn histories of PostgreSQL: is the fork point where pg_rewind finds it?",
        "{python} -m tools.histories postgresql --seed {seed}000 --count 999 --minutes {minutes}",
    ),
    "histories-joinproto": Slice(
        "drawn histories of our own nodes: is `recover` right about what they left?",
        "{python} -m tools.histories joinproto --seed {seed}000 --count 999 --minutes {minutes}",
    ),
    "histories-standby": Slice(
        "drawn histories of hot standby: is `recover` right about what they left?",
        "{python} -m tools.histories standby --seed {seed}000 --count 999 --minutes {minutes}",
    ),
    **{
        f"histories-{name}-later": Slice(
            f"drawn histories of {about} of a later Debian: is `recover` right about them?",
            "{python} -m tools.releases trixie -- {python} -m tools.histories "
            + name
            + " --seed {seed}000 --count 999 --minutes {minutes}",
        )
        for name, about in (
            ("khepri", "RabbitMQ with Khepri"),
            ("etcd", "etcd"),
            ("galera", "Galera"),
            ("postgresql", "PostgreSQL"),
        )
    },
    "swarm-standby": Slice(
        "brokers of hot standby in a simulated network, on disks that lose, drawn by the seed",
        "{python} -m tools.swarms standby --seconds {seconds} --seed {seed}000",
    ),
    "boots": Slice("nodes that start at once, on every backend", spread="loadfile"),
    "starts": Slice(
        "first starts of the RabbitMQ that is installed: is `would-it-split` right about them?",
        "{python} -m tools.starts --times 99 --minutes {minutes} --seed {seed}",
    ),
    "starts-later": Slice(
        "the same with the RabbitMQ of a later Debian; cuts heal, as 4.0 looks for minutes",
        "{python} -m tools.releases trixie -- {python} -m tools.starts --heals --times 99"
        " --minutes {minutes} --seed {seed}",
    ),
    "rabbitmq-later": Slice(
        "a later RabbitMQ: does it accept what `lint` accepts, and does `reconcile` keep queues?",
        "{python} -m tools.releases trixie -- {python} -m pytest -q -p no:cacheprovider"
        " tests/discovery/test_installed.py tests/reconcile/test_real.py -m 'landing or soak'",
    ),
    "durable": Slice("a thousand schedules of power cuts and faults for each durable kind"),
    "stores": Slice("stores and journals: killed at every step, on disks that lose and lie"),
    "nodes": Slice("nodes as processes: storms, slow disks, snapshots, ends", spread="loadfile"),
    "brokers": Slice("brokers of hot standby as processes", spread="loadfile"),
    "peers": Slice("SPIN and other checkers count what this one counts; the benchmark itself"),
    "extras": Slice("each extra alone in an empty environment", spread="alone"),
    "rabbitmq": Slice("real clusters of RabbitMQ and Galera", spread="loadfile"),
    "tla": Slice("quick worlds as TLA+: another checker finds the same"),
    "playground": Slice("every quick world in the browser", spread="loadfile"),
}
