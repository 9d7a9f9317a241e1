"""The slices of the soak: all checks that are too long for every landing, in pieces of minutes.

A test joins a slice by its marker, `@pytest.mark.soak("name")`; a slice without tests is a program.
`tests/soak.py` runs them; `python tests/soak.py --list` prints this table.
"""

from __future__ import annotations

from typing import Literal

from attrs import frozen


@frozen
class Slice:
    """A slice.  `about`: its purpose.  `program`: its command line, or "" if it consists of tests.

    In a program, `{python}` is this interpreter, `{seed}` the seed of the run, `{seconds}` and
    `{minutes}` the time of the slice.  `spread`: how xdist gives tests to its two workers: one by
    one, or the tests of a file together because they share a server.  `alone`: without workers, a
    test at a time, because one test may need all memory.
    """

    about: str
    program: str = ""
    spread: Literal["load", "loadfile", "alone"] = "load"


SLICES: dict[str, Slice] = {
    # Searches: worlds too large for every landing, and all worlds by every searcher.
    "join-worlds": Slice(
        "join worlds of about 10^6 states, and the claims that break without each rule"
    ),
    "join-three": Slice("`join` and its mutants with three members", spread="alone"),
    "join-wiped": Slice("`join-wiped` and its mutants", spread="alone"),
    "zen": Slice("Elasticsearch's model, searched to its end", spread="alone"),
    "system-worlds": Slice("large worlds of the other systems"),
    "reference": Slice("every quick world against the reference search"),
    "reference-large": Slice("worlds that take the reference search a minute"),
    "reference-largest": Slice("worlds that take the reference search several minutes"),
    "engines": Slice(
        "every quick world in plain Python, and by two and three workers; chances by Storm"
    ),
    "explore": Slice("every quick world by the graph of the page of explore"),
    "random-models": Slice("random models and claims by every searcher, more examples"),
    "examples": Slice(
        "tests of `make test` that use hypothesis, with other examples drawn by the seed",
        "{python} -m pytest -q -m 'hypothesis and not soak and not landing' -n 2 --dist load"
        " --hypothesis-profile drawn --hypothesis-seed {seed}",
    ),
    "soundness": Slice(
        "random models, compared with a search that shares no code with the checker",
        "{python} -m tools.soundness --models 3000 --seed {seed}000 --jobs 2",
    ),
    # Spark.
    "spark-worlds": Slice("every quick world on Spark", spread="loadfile"),
    "spark-faults": Slice("killed workers, drivers and executors of Spark", spread="alone"),
    "spark-apart": Slice("workers of Spark that share only a store", spread="alone"),
    # Proofs.
    "proofs": Slice(
        "walks of large worlds against the relation; runs that are possible without a guard"
    ),
    # The protocol, mutated and at random.
    "mutations": Slice(
        "mutations of the protocol, drawn by the seed: does a test notice each?",
        "{python} -m tools.mutate --tests --sample 999 --seed {seed} --jobs 2 --minutes {minutes}",
    ),
    "swarm": Slice(
        "real members in a simulated network, drawn by the seed",
        "{python} -m joinproto simulate join --swarm --seconds {seconds} --jobs 2 --seed {seed}",
    ),
    "swarm-rules": Slice("each rule that is left out is found by a simulated run"),
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
        "shipped nodes of the Clusterer, in random orders and virtual time",
        "{python} -m tools.swarms clusterer --seconds {seconds} --seed {seed}000",
    ),
    "failover": Slice(
        "brokers of hot standby, killed, stopped, and promoted by an outside manager",
        "{python} -m tools.torture --system standby --minutes {minutes} --seed {seed} --quiet",
    ),
    "failover-built-in": Slice(
        "brokers of hot standby that promote themselves",
        "{python} -m tools.torture --system standby --built-in --minutes {minutes} --seed {seed}"
        " --quiet",
    ),
    "histories-rabbitmq": Slice(
        "random histories of RabbitMQ: is `recover` right about the stores that they leave?",
        "{python} -m tools.histories rabbitmq --seed {seed}000 --count 999 --minutes {minutes}",
    ),
    "histories-quorum": Slice(
        "random histories of quorum queues: does a log that is called proven lack a message?",
        "{python} -m tools.histories quorum --seed {seed}000 --count 999 --minutes {minutes}",
    ),
    "histories-galera": Slice(
        "random histories of Galera: is `recover` right about the stores that they leave?",
        "{python} -m tools.histories galera --seed {seed}000 --count 999 --minutes {minutes}",
    ),
    "histories-etcd": Slice(
        "random histories of etcd: is `recover` right about the stores that they leave?",
        "{python} -m tools.histories etcd --seed {seed}000 --count 999 --minutes {minutes}",
    ),
    "histories-postgresql": Slice(
        "random histories of PostgreSQL: is the fork point where pg_rewind finds it?",
        "{python} -m tools.histories postgresql --seed {seed}000 --count 999 --minutes {minutes}",
    ),
    "histories-joinproto": Slice(
        "random histories of our nodes: is `recover` right about the stores that they leave?",
        "{python} -m tools.histories joinproto --seed {seed}000 --count 999 --minutes {minutes}",
    ),
    "histories-standby": Slice(
        "random histories of hot standby: is `recover` right about the stores that they leave?",
        "{python} -m tools.histories standby --seed {seed}000 --count 999 --minutes {minutes}",
    ),
    **{
        f"histories-{name}-later": Slice(
            f"random histories of a later Debian's {about}: is `recover` right about the stores?",
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
        "brokers of hot standby in a simulated network, on disks that lose writes, by the seed",
        "{python} -m tools.swarms standby --seconds {seconds} --seed {seed}000",
    ),
    "boots": Slice("nodes that start at once, on every backend", spread="loadfile"),
    "starts": Slice(
        "first starts of the installed RabbitMQ: is `would-it-split` right about them?",
        "{python} -m tools.starts --times 99 --minutes {minutes} --seed {seed}",
    ),
    "starts-later": Slice(
        "first starts of a later Debian's RabbitMQ; cuts heal, because 4.0 retries for minutes",
        "{python} -m tools.releases trixie -- {python} -m tools.starts --heals --times 99"
        " --minutes {minutes} --seed {seed}",
    ),
    "rabbitmq-later": Slice(
        "a later RabbitMQ: does it accept what `lint` accepts, and does `reconcile` keep queues?",
        "{python} -m tools.releases trixie -- {python} -m pytest -q -p no:cacheprovider"
        " tests/discovery/test_installed.py tests/reconcile/test_real.py -m 'landing or soak'",
    ),
    "durable": Slice("a thousand schedules of power cuts and faults for each kind of durable file"),
    "stores": Slice(
        "stores and journals: killed at every step, on disks that lose and misreport writes"
    ),
    "nodes": Slice(
        "nodes as processes: storms, slow disks, snapshots, how they end", spread="loadfile"
    ),
    "brokers": Slice("brokers of hot standby as processes", spread="loadfile"),
    "peers": Slice("SPIN and other checkers find the same counts; the benchmark itself"),
    "extras": Slice("each extra alone in an empty environment", spread="alone"),
    "rabbitmq": Slice("real clusters of RabbitMQ and Galera", spread="loadfile"),
    "tla": Slice("quick worlds as TLA+: another checker finds the same states and violations"),
    "playground": Slice("every quick world in the browser", spread="loadfile"),
}
