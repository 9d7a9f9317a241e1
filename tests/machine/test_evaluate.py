"""Compiled terms against a slow evaluator, over terms of every kind."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinproto.errors import MisuseError
from joinproto.machine import terms
from joinproto.machine.compiled import holds, members_of
from joinproto.machine.sets import ME, MY_WAIT_FOR, A, C, D, E, I, K, R, T
from joinproto.machine.terms import ALWAYS, Condition, Group
from joinproto.machine.vocabulary import Status, Store
from joinproto.reference.note.machine import note_machine
from joinproto.reference.qpid.machine import qpid_machine
from tests.machine.pictures import members, small_worlds
from tests.machine.slow_evaluator import slowly_holds

FIELDS = {
    "store": st.sampled_from(Store),
    "initial": st.sampled_from([None, "X", "Y"]),
    "active": st.booleans(),
    "ready": st.booleans(),
}
one_field = st.sampled_from(sorted(FIELDS)).flatmap(
    lambda name: FIELDS[name].map(lambda value: {name: value})
)
groups: st.SearchStrategy[Group] = st.recursive(
    st.sampled_from([I, ME, A, C, D, E, K, R, T]),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda pair: pair[0] | pair[1]),
        st.tuples(inner, inner).map(lambda pair: pair[0] - pair[1]),
        st.tuples(inner, one_field).map(lambda pair: pair[0].where(**pair[1])),
        inner.map(lambda group: group.named("X")),
    ),
    max_leaves=4,
)
leaves: st.SearchStrategy[Condition] = st.one_of(
    st.just(ALWAYS),
    groups.map(lambda group: group.is_empty),
    groups.map(lambda group: group.has(ME)),
    one_field.map(lambda fields: I.fact("it is so", **fields)),
    st.tuples(one_field, one_field).map(lambda pair: I.fact("both", **(pair[0] | pair[1]))),
    st.tuples(groups, st.one_of(st.integers(1, 4), st.just(MY_WAIT_FOR))).map(
        lambda pair: pair[0].fewer_than(pair[1])
    ),
    st.tuples(groups, st.sampled_from(["initial", "store", "options"])).map(
        lambda pair: pair[0].disagrees_on(pair[1])
    ),
    st.tuples(groups, one_field).map(lambda pair: pair[0].every(**pair[1])),
    st.tuples(groups, one_field).map(lambda pair: pair[0].some(**pair[1])),
)
conditions: st.SearchStrategy[Condition] = st.recursive(
    leaves,
    lambda inner: st.one_of(
        inner.map(lambda one: ~one),
        st.tuples(inner, inner).map(lambda pair: pair[0] & pair[1]),
        st.tuples(inner, inner).map(lambda pair: pair[0] | pair[1]),
    ),
    max_leaves=5,
)
statuses = st.builds(
    Status,
    id=st.just("m"),
    store=FIELDS["store"],
    initial=FIELDS["initial"],
    active=st.booleans(),
    ready=st.booleans(),
    options=st.sampled_from([(), (("x", "1"),)]),
    wait_for=st.integers(1, 4),
)


@given(conditions, st.lists(statuses, min_size=1, max_size=5), st.data())
def test_both_evaluators_agree_on_every_term(
    condition: Condition, view: list[Status], data: st.DataObject
) -> None:
    """Random terms are evaluated for random members."""
    me = data.draw(st.integers(0, len(view) - 1))

    assert slowly_holds(condition, view, me) == holds(condition, view, me)


def test_both_evaluators_agree_on_every_case_of_the_note_and_of_qpid() -> None:
    """Every set of up to two members is tried."""
    every = {
        case.condition
        for machine in (note_machine(), qpid_machine())
        for arrow in machine.arrows
        for case in arrow.table.cases
    }

    for view in small_worlds(up_to=2):
        for condition in every:
            assert slowly_holds(condition, view, 0) == holds(condition, view, 0), condition


def test_members_of_a_set_keep_their_order() -> None:
    """A verdict names sources in the order of the input."""
    view = members("oX cXF e cXF")

    assert [0, 1, 3] == members_of(C | D, view, 0)
    assert [1, 2, 3] == members_of(I - D, view, 0)


def test_an_unknown_kind_of_term_is_an_error() -> None:
    """A new kind must be added to each evaluator."""

    class New(terms.Condition):
        pass

    with pytest.raises(MisuseError, match="of an unknown kind"):
        holds(New(), members("e"), 0)
