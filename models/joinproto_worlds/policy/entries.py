"""The worlds that ask a program, and the rules that deployed programs follow in them.

The catalogue has no rows for them, because such a world is searched together with a program:
`joinproto policy check PROGRAM --world WORLD`.  `joinproto models` lists them as a family, and
finds them by a person's own words, as it finds incidents.

The paragraphs tell the shortest runs of docs/policies.md as an operator would, and the rules as the
examples there quote them.
"""

from __future__ import annotations

from attrs import frozen

from joinproto.check.entry import Entry
from joinproto_worlds.policy.worlds import WORLDS

FAMILY = "policies"
ABOUT = "programs that decide who founds a cluster after a failure, and the run that defeats each"

GALERA, RABBITMQ, OURS = "galera", "rabbitmq", "joinproto"
RULES = "docs/examples/policies"


@frozen
class Asked:
    """A program in a world.  `entry`: how it is listed; `command`: checks it.

    `before`: the command that builds the program, "" if none is needed.
    """

    entry: Entry
    command: str
    before: str = ""


def _asked(
    name: str,
    about: str,
    happened: str,
    *,
    world: str,
    program: str = "pick",
    options: str = "",
    steps: int | None = None,
    before: str = "",
) -> Asked:
    entry = Entry(
        f"policy-{name}",
        f"joinproto_worlds.policy.{WORLDS[world].build}",
        about,
        members=(3, 3),
        usual=3,
        expected="holds" if steps is None else "violated",
        steps=steps,
        happened=" ".join(happened.split()),
    )
    words = f"joinproto policy check {program} --world {world} {options}"
    return Asked(entry, words.rstrip(), before)


ROWS: tuple[Asked, ...] = (
    _asked(
        "highest-seqno",
        "The node with the highest sequence number founds the cluster",
        """Galera, MariaDB or Percona: after a power failure our script compared the seqno in
        grastate.dat (or what wsrep-recover printed) on every database node it could reach, took the
        highest and bootstrapped there. One node did not answer the script and was still serving, so
        now there are two clusters, and writes are gone.""",
        world=GALERA,
        program=f"{RULES}/highest-seqno",
        steps=3,
    ),
    _asked(
        "highest-seqno-all-answer",
        "The highest sequence number, when every node answers: numbers of two histories",
        """Galera: all nodes answered, we bootstrapped the one with the biggest seqno, and it was
        the wrong one. Earlier an operator had bootstrapped another node by hand. Both histories
        went on counting from the same number, and the longer one lacked transactions that clients
        had seen committed.""",
        world=GALERA,
        program=f"{RULES}/highest-seqno",
        options="--all-answer",
        steps=7,
    ),
    _asked(
        "flag-first",
        "The node whose grastate.dat says safe_to_bootstrap: 1 founds the cluster",
        """Galera: the playbook looks for safe_to_bootstrap: 1 and starts that node with
        wsrep-new-cluster. The flag said which node was alone when it stopped; a node that the
        playbook could not reach still served, and the cluster split.""",
        world=GALERA,
        program=f"{RULES}/flag_first.py",
        options="--ask choose-founder",
        steps=3,
    ),
    _asked(
        "ordinal-0",
        "Pod 0 of the StatefulSet always founds the cluster",
        """Galera on Kubernetes: pod 0 bootstraps whenever it finds no other pod ready. It was the
        first to be killed and came back with old data, or with an empty volume, while the others
        were only slow to answer: it founded a second cluster, or the newest writes were lost.""",
        world=GALERA,
        program=f"{RULES}/ordinal_0",
        steps=3,
        before=f"cc -o {RULES}/ordinal_0 {RULES}/ordinal_0.c",
    ),
    _asked(
        "last-in-list",
        "The last node of the list founds the cluster",
        """Galera, RabbitMQ: the inventory's last host is stopped last and started first by our
        ansible, and forced to start. This time it had crashed before the others, so it forced its
        older state on the cluster and what was written after its crash disappeared.""",
        world=GALERA,
        program=f"{RULES}/last_in_list.py",
        options="--all-answer",
        steps=4,
    ),
    _asked(
        "wait-for-all",
        "Wait until every node answers, then take the highest sequence number",
        """Galera: recovery waits for all nodes before it picks one. One machine is dead for good,
        so the cluster stays down for ever; and when all did answer, the highest number belonged to
        a history that a person had founded by hand.""",
        world=GALERA,
        program=f"{RULES}/wait_for_all.py",
        options="--ask choose-founder",
        steps=7,
    ),
    _asked(
        "openstack-helm",
        "The rule of the MariaDB chart of OpenStack-Helm",
        """MariaDB Galera in OpenStack on Kubernetes: after a reboot of the whole cluster each pod
        writes the seqno of its grastate.dat to a ConfigMap, and the pod with the highest leads and
        bootstraps. A pod that said nothing was taken for one that is not there; it still served,
        and the cluster split.""",
        world=GALERA,
        program=f"{RULES}/openstack_helm.py",
        steps=3,
    ),
    _asked(
        "fuel-ocf",
        "The rule of a Pacemaker resource agent for Galera: a majority answers, the highest wins",
        """Galera under Pacemaker and Corosync (Fuel, OpenStack): each node reported its uuid and
        seqno, a majority was in quorum, and the resource agent started the highest as a new
        cluster. The third node was cut off from the agent only: it still served clients,
        alone.""",
        world=GALERA,
        program=f"{RULES}/fuel_ocf.py",
        steps=3,
    ),
    _asked(
        "pick-galera",
        "What `recover pick` chooses of Galera's nodes: no run defeats it",
        """Galera: every database node is down, and we must decide from grastate.dat and
        gvwstate.dat which one to bootstrap without losing transactions.""",
        world=GALERA,
    ),
    _asked(
        "pick-rabbitmq",
        "What `recover pick` chooses of RabbitMQ's nodes with Mnesia: no run defeats it",
        """RabbitMQ with Mnesia: all nodes are stopped, each waits for another one
        (timeout_waiting_for_tables), and we must decide where force_boot is safe.""",
        world=RABBITMQ,
    ),
    _asked(
        "pick-joinproto",
        "What `recover pick` chooses of our own stores: no run defeats it",
        """The join protocol: the power failed everywhere at once, and an operator has the stores of
        all members, or of some.""",
        world=OURS,
    ),
)
