"""Bookkeeping of identities, which tell whether a config belongs to the data at hand.

An identity tells apart nodes that had one name at different times.  In our variant it also names
the node's set of data, and changes with the set: `NODE~COUNT=SET`.  SET is the `NODE~COUNT` of the
node that founded the set; the founder leaves `=SET` out.  Thus two nodes that never heard of each
other know that they have the same data, and the count tells which of two identities of one node is
later.

After every operation, `tidy` drops the identities of nodes that the config does not name, and sets
the node's own.

Source: Clusterer, U3; the node ids of the real Clusterer.
"""

from __future__ import annotations

from functools import cache

from attrs import frozen

from joinproto.clusterer.config import Age, Config, Held, Notes, compare
from joinproto.clusterer.tables import BOOT, COMPATIBLE, Choice, Fits, Pair, Takes
from joinproto.clusterer.variants import Rules
from joinproto.machine.tables import Case
from joinproto.machine.values import evolve


def tidy(held: Held, me: str, identity: str, *, heads: bool = False) -> Held:
    """Return the config with the identities of its nodes only, and `identity` for `me`.

    `heads`: the node is only in transition to the config, and leaves an identity for its own name
    unchanged.  The identity there may belong to an earlier node of this name.  If the node sent its
    own identity instead, and is the gospel, its data would count as that earlier node's.
    """
    ids = held.ids.of_nodes(held.config.nodes)
    if me in held.config.nodes and not (heads and ids.get(me) is not None):
        ids = ids.with_(me, identity)
    return held if ids is held.ids else evolve(held, ids=ids)


def transferred(new: Held, old: Held | None, rules: Rules) -> Held:
    """Return a new config with the identities of the last achieved config, before `tidy`.

    In our variant, the new config's own notes are kept too; in the others they are dropped.
    """
    if old is None:
        return new
    return evolve(new, ids=known(new.ids, old.ids) if rules.ours else old.ids)


def known(first: Notes[str], second: Notes[str]) -> Notes[str]:
    """Return both notes of identities together.

    If both have a node, `first` wins, unless `second` has a later identity of that node (ours).
    Otherwise: c, left out by version 2 with gospel reset, comes back with version 4 and remembers
    the a of version 1; a, the gospel, would take that identity for another node's data, and stop.
    """
    both = first.over(second)
    for name, one in second.pairs:
        if (said := first.get(name)) is not None and is_later(one, said):
            both = both.with_(name, one)
    return both


def updated(held: Held, node: str, remote: Held, rules: Rules) -> Held:
    """Return `held` with the identity that a node gives itself, or `held` if the node gives none.

    With `rules.crashes`, a node that the config does not name clears all identities.
    """
    said = remote.ids.get(node)
    if rules.crashes and node not in held.config.nodes:
        return evolve(held, ids=Notes())
    return held if said is None else evolve(held, ids=held.ids.with_(node, said))


@frozen
class NotedIdentities:
    """A config after an identity was noted.

    `changed`: another identity of the node was known before.
    """

    held: Held
    changed: bool


def noted(held: Held, node: str, identity: str) -> NotedIdentities:
    """Return the config with the identity of `node`, if the config names this node."""
    if node not in held.config.nodes:
        return NotedIdentities(held, changed=False)
    known = held.ids.get(node)
    changed = known is not None and known != identity
    return NotedIdentities(evolve(held, ids=held.ids.with_(node, identity)), changed)


def stamped(new: Held, old: Held | None) -> Held:
    """Return the config with the version since which each node has been a member (ours).

    The sender of a config may have missed another config that left a node out.  Otherwise: a is
    given version 2 without b, which is off; b brings version 3, which names both, and returns with
    its old data.
    """
    since = {}
    for node in new.config.nodes:
        least = new.config.version
        if old is not None and node in old.config.nodes:
            least = old.since.get(node) or 0
        elif says_of_all(new):
            least = 0 if old is None else old.config.version + 1
        since[node] = max(new.since.get(node) or 0, least)
    return evolve(new, since=Notes.of(since))


def leaving(new: Held, me: str) -> Held:
    """Return a config that leaves this node out, with a note on this node (ours).

    The note is the next version, the first in which the node can be a member again.
    """
    return evolve(new, since=new.since.with_(me, new.config.version + 1))


def returning(new: Held, old: Held | None, me: str) -> Held:
    """Return the new config with the old config's note that this node was left out (ours).

    Otherwise: b is off, and version 2 leaves a out; version 3, given to a, names both, with gospel
    a; b, which knows a as a member, goes first with its older data.
    """
    at = None if old is None or me in old.config.nodes else old.since.get(me)
    if at is None or me not in new.config.nodes:
        return new
    return evolve(new, since=new.since.with_(me, max(at, new.since.get(me) or 0)))


def says_of_all(held: Held) -> bool:
    """Return whether `since` has every node of the config.

    A node that leaves a config before it is ready notes only itself.
    """
    said = {node for node, _ in held.since.pairs}
    return bool(said) and held.config.nodes <= said


def combined(one: Notes[int], other: Notes[int]) -> Notes[int]:
    """Return two notes of `Held.since` together; for each node, the later version counts."""
    both = {name: max(version, one.get(name) or 0) for name, version in other.pairs}
    return Notes.of({**dict(one.pairs), **both})


def was_out(new: Held, old: Held, me: str) -> bool:
    """Return whether this node became a member again after the last config that it achieved (ours).

    If both configs are the same, the new notes may show a config that this node missed.  That does
    not count for the gospel, whose data survive in any case.
    """
    is_same = new.config == old.config
    if is_same and new.config.gospel == me:
        return False
    return (new.since.get(me) or 0) > ((old.since.get(me) or 0) if is_same else old.config.version)


def is_apart(new: Held, old: Held, me: str) -> bool:
    """Return whether the gospel was left out, and has had other data than this node since (ours).

    The gospel was left out after the old config.  Or it was left out before the old config, and did
    not hear of that.  A gospel that has joined again has a later identity.  The story that needs
    this: a is cut off, b is given version 2 without a, then version 3, which names both; version 4,
    given to a, has the gospel a; without this rule, each would continue with the data that it has
    then.
    """
    gospel = new.config.gospel
    if gospel is None or gospel == me or new.config == old.config:
        return False
    since, before = new.since.get(gospel), old.since.get(gospel) or 0
    ours, its = old.ids.get(gospel), new.ids.get(gospel)
    if since is None or gospel not in old.config.nodes:
        return False
    if since > old.config.version:
        return ours is None or its is None or not is_later(its, ours)
    return since < before and its is not None and (ours is None or not is_later(ours, its))


def with_the_same(ids: Notes[str], identity: str) -> Notes[str]:
    """Return the identities of the nodes that have the same data as `identity` (ours).

    A node that only asked, or that the config only names, may have other data.  So may a blank
    machine with a member's name.  A config with such a gospel must not count as compatible.
    """
    data = data_of(identity)
    return Notes(tuple(pair for pair in ids.pairs if data_of(pair[1]) == data))


@cache
def _parts(identity: str) -> tuple[str, int, str | None]:
    own, _, data = identity.partition("=")
    node, has_count, count = own.rpartition("~")
    if not has_count or not count.isdecimal():
        return identity, 0, None  # a node without data, or of an earlier version
    return node, int(count), data or own


def renewed(identity: str, data: str | None = None) -> str:
    """Return the identity of the same node with other data; `data` None: it founds a set."""
    node, count, _ = _parts(identity)
    return f"{node}~{count + 1}" + ("" if data is None else f"={data}")


def of_node(identity: str | None) -> str | None:
    """Return the part of an identity that names the node, without its data."""
    return None if identity is None else _parts(identity)[0]


def data_of(identity: str | None) -> str | None:
    """Return the set of data that an identity names, or None."""
    return None if identity is None else _parts(identity)[2]


def is_later(one: str, other: str) -> bool:
    """Return whether both identities are of one node, and `one` is of its later data."""
    (node, count, _), (its, before, _) = _parts(one), _parts(other)
    return node == its and count > before


def fits(new: Held, old: Held | None, me: str, rules: Rules) -> Case[Fits]:
    """Return whether a config is compatible with the data of the last achieved config.

    The identities of the two configs must not be merged yet.
    """
    config = new.config
    gospel = config.gospel
    if old is None:
        return COMPATIBLE.choose((Pair(has_old=False, resets=gospel is None),), 0)
    one, other = (new.ids.get(gospel), old.ids.get(gospel)) if gospel is not None else (None, None)
    never_came, contradicts = False, one is not None and other is not None and one != other
    if rules.ours:
        # Old notes without identities do not show whether the gospel ever came.
        never_came = bool(old.ids.pairs) and other is None
        if (mine := data_of(old.ids.get(me))) is not None:
            its = known(new.ids, old.ids).get(gospel or "")
            never_came, contradicts = its is None, data_of(its) != mine
    out = was_out(new, old, me)
    row = Pair(
        identical=config == old.config and new.ids == old.ids and not out,
        resets=gospel is None,
        self_in_old=me in old.config.nodes,
        gospel_in_old=gospel in old.config.nodes,
        never_came=never_came,
        contradicts=contradicts,
        was_out=out,
        is_apart=rules.ours and is_apart(new, old, me),
    )
    return COMPATIBLE.choose((row,), 0)


@frozen
class TakenConfig:
    """The config that a starting node takes, and the case that decided.

    `differs`: the given and the stored config have the same version but other content.
    """

    case: Case[Takes]
    new: Config
    differs: bool


def config_at_start(given: Config | None, stored: Config | None, blank: Config) -> TakenConfig:
    """Return the config that a starting node takes.  `blank`: the default config."""
    age = compare(given, stored) if given is not None and stored is not None else None
    row = Choice(given=given is not None, stored=stored is not None, age=age)
    case = BOOT.choose((row,), 0)
    chosen = {Takes.DEFAULT: blank, Takes.GIVEN: given, Takes.STORED: stored}[case.outcome]
    return TakenConfig(case, chosen or blank, differs=age is Age.INVALID)
