"""Which parts of a state an expression reads, found in its text; in doubt, all parts."""

import pytest

from joinproto.explore.deep.reads import ANYTHING, Reads, reads_of

MEMBERS = ("a", "b", "c")


@pytest.mark.parametrize(
    ("text", "members", "attributes"),
    [
        ('count("phase", "active") >= 2', None, {"phase"}),
        ('count("view.id", 3) == 1', None, {"view"}),
        ("a.phase == b.phase", {"a", "b"}, {"phase"}),
        ("a is not DOWN and a.term > 2", {"a"}, {"term"}),
        ("len(up) == 0", None, set()),
        ("all(one is DOWN for one in view.values())", None, set()),
        ("any(one.term < 2 for one in up.values() if one.phase)", None, {"term", "phase"}),
        ("any(n == 'a' and one.term for n, one in up.items())", None, {"term"}),
        ("any(up[n].term for n in up)", None, {"term"}),
        ("view['a'].term", None, {"term"}),
    ],
)
def test_an_expression_may_read_only_some_attributes(
    text: str, members: set[str] | None, attributes: set[str]
) -> None:
    wanted = None if members is None else frozenset(members)

    assert Reads(wanted, frozenset(attributes)) == reads_of(text, MEMBERS)


@pytest.mark.parametrize(
    "text",
    [
        "a == b",
        "text(a) == ''",
        'count("active") == 1',
        "a in (1, 2)",
        "any(one for one in up.values())",
        "any(True for one in up.values() if one)",
        "any(one.x for one in sorted(up.values()))",
        "any(two for one in up.values() for two in (one,))",
        "[one for one in (1,) if up.values()]",
        "len(set(up.values())) == 1",
        "a is b",
        "a is DOWN is b",
    ],
)
def test_an_expression_may_read_whole_members(text: str) -> None:
    assert reads_of(text, MEMBERS).attributes is None


@pytest.mark.parametrize(
    "text", ["view.links", "view.under_way()", "str(view)", "(lambda a: a)(a)"]
)
def test_an_expression_that_is_not_understood_may_read_anything(text: str) -> None:
    assert ANYTHING == reads_of(text, MEMBERS)


def test_parts_outside_of_members_are_read_by_name() -> None:
    found = reads_of("monitor.count > 1 and split is None and disk['a'].vote", MEMBERS)

    assert (True, True, True) == (found.monitor, found.split, found.disk)
    assert frozenset() == found.members
