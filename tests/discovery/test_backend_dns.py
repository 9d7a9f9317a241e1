"""DNS: look-ups, and their results; discovery, D1."""

from __future__ import annotations

from joinproto.discovery.answers import Answer, Failed, Listed
from joinproto.discovery.asked import played_with
from joinproto.discovery.contract import Variant
from joinproto.discovery.dns import Dns, DnsBackend
from joinproto.discovery.exchange import LookedUp

SEED = "discovery.eng.example.local"
DOWN = LookedUp(error="no answer")


def asked(about: Dns, *answers: LookedUp) -> tuple[list[str], Answer]:
    """Return the look-ups and the answer."""
    answer, given = played_with(DnsBackend(about).list_nodes(), answers)
    assert answer is not None
    return [f"{one.kind.value} {one.name}" for one in given.asked], answer


def test_addresses_come_first_and_then_the_name_of_each() -> None:
    """A node with two addresses is listed once, with the prefix of the asking node."""
    about = Dns(hostname=SEED, node="bunny@x.example", long_names=True)
    names = (LookedUp(("node1.eng.example.local.",)), LookedUp(("node2.eng.example.local.",)))
    seen, answer = asked(
        about,
        LookedUp(("192.168.100.1", "192.168.100.2")),
        LookedUp(("fd00::1",)),
        *names,
        names[0],
    )

    assert [
        f"A {SEED}",
        f"AAAA {SEED}",
        "PTR 192.168.100.1",
        "PTR 192.168.100.2",
        "PTR fd00::1",
    ] == seen
    assert Listed(("bunny@node1.eng.example.local", "bunny@node2.eng.example.local")) == answer


def test_short_names_end_at_the_first_dot() -> None:
    _, answer = asked(
        Dns(hostname=SEED, node="rabbit@x"),
        LookedUp(("10.0.0.1",)),
        LookedUp(),
        LookedUp(("n1.a.b.",)),
    )

    assert Listed(("rabbit@n1",)) == answer


def test_ours_takes_the_same_of_several_names_of_one_address_each_time() -> None:
    """Servers rotate the names; ours never chooses by facts that change in time, D2."""
    both = ("n2.a.", "n1.a.")
    for names in (both, both[::-1]):
        _, answer = asked(Dns(hostname=SEED), LookedUp(("10.0.0.1",)), LookedUp(), LookedUp(names))
        assert Listed(("rabbit@n1",)) == answer


def test_real_takes_a_server_that_is_down_for_an_empty_list() -> None:
    """Ours stops at the first look-up that fails."""
    real = Dns(variant=Variant.REAL, hostname=SEED)
    _, answer = asked(real, DOWN, DOWN)
    assert Listed(()) == answer

    seen, ours = asked(Dns(hostname=SEED), DOWN)
    assert isinstance(ours, Failed)
    assert "A of discovery.eng.example.local: no answer" == ours.why
    assert 1 == len(seen)


def test_an_address_without_a_name_is_skipped_by_real_and_an_error_in_ours() -> None:
    """A partial list counts as an error: a node that it lacks would found a cluster alone."""
    answers = (LookedUp(("10.0.0.1", "10.0.0.2")), LookedUp(), LookedUp(("n1",)), DOWN)

    assert Listed(("rabbit@n1",)) == asked(Dns(variant=Variant.REAL, hostname=SEED), *answers)[1]
    assert isinstance(asked(Dns(hostname=SEED), *answers)[1], Failed)


def test_a_name_without_addresses_is_an_empty_list() -> None:
    """The server has answered that no node is listed, which is not an error."""
    assert Listed(()) == asked(Dns(hostname=SEED), LookedUp(), LookedUp())[1]


def test_a_name_that_no_server_knows_is_an_error_unless_it_has_other_addresses() -> None:
    """Some servers answer "no such name" for AAAA if there is only A."""
    none = LookedUp(no_such_name=True)
    one = (LookedUp(("10.0.0.1",)), none, LookedUp(("n1",)))

    assert isinstance(asked(Dns(hostname=SEED), none, none)[1], Failed)
    assert Listed(()) == asked(Dns(variant=Variant.REAL, hostname=SEED), none, none)[1]
    assert Listed(("rabbit@n1",)) == asked(Dns(hostname=SEED), *one)[1]


def test_without_a_hostname_real_lists_no_node_and_ours_reports_an_error() -> None:
    """Real logs a warning only, so it never finds a node."""
    assert ([], Listed(())) == asked(Dns(variant=Variant.REAL))
    assert ([], Failed("no hostname is set, so no name can be looked up")) == asked(Dns())
