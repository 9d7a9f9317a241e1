"""Runs in words; every presentation is made from these words."""

from hypothesis import given

from joinproto.check.report import Trace
from joinproto.cli.show.pieces import visible
from joinproto.cli.show.story import Change, story_of
from joinproto.cli.show.words import closing, sentence, statements_of
from tests.cli.show import traces
from tests.cli.show.strategies import any_trace


def texts_of(trace: Trace, number: int) -> list[str]:
    """Return the sentence of a step and its statements, as text."""
    story = story_of(trace)
    moment = story.moments[number]
    return [sentence(moment, story).text, *(statement.text for statement in statements_of(moment))]


def test_a_step_states_only_its_own_changes() -> None:
    """As in Rumur, a step shows the changed fields, old and new, and no other field."""
    story = story_of(traces.exchange())

    changes = story.moments[3].changes

    assert (Change("tm", "prepared", "{}", "{rm1}"),) == changes


def test_a_received_message_names_the_step_that_sent_it() -> None:
    """An arrow is drawn where the message arrives, so its other end must be found."""
    words = texts_of(traces.exchange(), 5)

    assert words[0] == "rm1 receives commit from tm (sent in step 4)"


def test_equal_messages_are_received_in_the_order_they_were_sent() -> None:
    """In a queue the second of two equal messages is the later one."""
    run = traces.Run({"a": {"n": "0"}, "b": {"n": "0"}})
    sent = traces.message("a", "b", "x")
    for _ in range(2):
        run.step("send", "a", sent=(sent,))
    for _ in range(3):
        run.step("receive", "b", sent)

    moments = story_of(run.trace("any")).moments

    # The third time, no message is left, so the newest one is received again.
    assert [1, 2, 2] == [moment.sent_in for moment in moments[3:]]


def test_a_crash_states_the_forgotten_and_the_durable_attributes() -> None:
    """The names of durable attributes end in a star, and a crash keeps these attributes."""
    words = texts_of(traces.crash_and_restart(), 6)

    assert ["a crashes", "is down; forgets phase chosen; keeps tip* v1, promised* 1"] == words


def test_a_crash_in_the_middle_of_a_step_states_which_effects_were_made() -> None:
    """A message that was sent before the crash stays sent."""
    words = texts_of(traces.crash_and_restart(), 3)

    assert [
        "b crashes while receiving hello(1) from a (sent in step 2) after effect 1",
        "is down; forgets phase waiting; keeps tip* -, promised* 0",
        "sends promise(1) to a",
        "by V3, V4",
    ] == words


def test_a_memory_and_its_durable_copy_change_in_one_statement() -> None:
    """If `tip` and `tip*` change in the same way, this is one event to a reader."""
    words = texts_of(traces.crash_and_restart(), 4)

    assert "tip, tip* - → v1" in words


def test_a_split_names_both_sides() -> None:
    """The step's detail holds one side only."""
    words = texts_of(traces.split_and_heal(), 2)

    assert words[0] == "the network splits: a, b (1) apart from c (2)"


def test_a_monitor_has_no_lifeline() -> None:
    """A monitor has a state but takes no steps; a member named `monitor` may take steps."""
    run = traces.Run({"a": {"n": "0"}, "monitor": {"n": "0"}})
    run.step("go", "a", now={"monitor": {"n": "1"}})
    watched = story_of(run.trace("any"))
    run.step("go", "monitor")
    acting = story_of(run.trace("any"))

    assert ("a",) == watched.lifelines
    assert ("a", "monitor") == watched.members
    assert ("a", "monitor") == acting.lifelines


def test_a_message_still_under_way_at_the_end_is_reported() -> None:
    """In a stuck run, the message that no member received is often the reason."""
    run = traces.Run({"a": {"n": "0"}, "b": {"n": "0"}})
    one, other = traces.message("a", "b", "one"), traces.message("a", "b", "other")
    run.step("send", "a", sent=(one, other))
    run.step("receive", "b", one)

    remarks = [item.text for item in closing(story_of(run.trace("any")))]

    assert "still under way: other from a to b (sent in step 1)" == remarks[-1]


def test_a_message_of_a_cycle_is_received_in_the_next_round() -> None:
    """So it is not under way for ever, but a message that was sent before the cycle is."""
    run = traces.Run({"a": {"n": "0"}, "b": {"n": "0"}})
    for number in range(3):
        run.step("send", "a", sent=(traces.message("a", "b", f"text {number}"),))

    story = story_of(run.trace("any", "eventually", loop_at=1))

    assert ["text 0"] == [item.message.content for item in story.under_way]


@given(any_trace())
def test_every_change_is_stated(trace: Trace) -> None:
    """Attribute, old and new value of a change are in a statement about the member.

    An exception is an attribute that has the same value whenever the member runs: its absence
    while the member is down is left out.
    """
    for moment in story_of(trace).moments[1:]:
        for change in moment.changes:
            if (change.member, change.attribute) in moment.fixed:
                assert None in (change.before, change.after)
                continue
            texts = [item.text for item in statements_of(moment) if item.member == change.member]
            wanted = [visible(change.attribute)] if change.attribute else []
            wanted += [
                visible(value) for value in (change.before, change.after) if value is not None
            ]
            if not change.attribute and change.after is None:
                wanted = ["is up"]
            elif not change.attribute:
                wanted = [visible(change.after or "")]

            assert any(all(part in text for part in wanted) for text in texts), (change, texts)


@given(any_trace())
def test_the_sentence_of_a_step_has_its_member_message_and_detail(trace: Trace) -> None:
    story = story_of(trace)
    for moment in story.moments[1:]:
        step = moment.step
        assert step is not None
        text = sentence(moment, story).text
        wanted = [step.member] if step.member is not None else []
        if step.message is not None:
            sender = step.message.sender
            wanted += [step.message.content, *([] if sender is None else [sender])]
        if step.detail and not moment.side:
            wanted.append(step.detail)

        assert [] == [part for part in wanted if visible(part) not in text]
