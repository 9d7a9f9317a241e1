"""Logs of another program: three real nodes of RabbitMQ 3.10.8, stopped, killed and started.

The folder `rabbitmq` has the lines of their logs about nodes and tables.  A node was stopped and
came back, a node was killed and came back, and all were stopped or killed and came back in another
order.
"""

from __future__ import annotations

import gzip
import re
import shutil
from functools import partial
from pathlib import Path

import pytest

from joinproto.check.catalogue import load
from joinproto.cli.validate.foreign import follow
from joinproto.cli.validate.patterns import Patterns
from joinproto.errors import UsageProblem
from tests.cli.running import Run, run_here
from tests.cli.schemas import faults, unexplained
from tools.json_schema import SCHEMAS

LOGS = Path(__file__).with_name("rabbitmq")
EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"
WORLD, PATTERNS = EXAMPLES / "rabbitmq_nodes.py", EXAMPLES / "rabbitmq_nodes.toml"


@pytest.fixture
def logs(tmp_path: Path) -> list[Path]:
    return sorted(Path(shutil.copytree(LOGS, tmp_path / "logs")).iterdir())


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return partial(run_here, capsys, "validate", "--world", str(WORLD), "--patterns", str(PATTERNS))


def test_the_logs_of_real_nodes_fit(run: Run, logs: list[Path]) -> None:
    done = run(*map(str, logs), "--json")

    assert 0 == done.code
    found = done.object
    assert ("fits", None, []) == (found["result"], found["first"], found["unlogged"])
    assert all(rate["fit"] == rate["lines"] > 0 for rate in found["rates"])
    assert 8 == next(rate["lines"] for rate in found["rates"] if rate["action"] == "starts")
    assert [] == [*faults(found, SCHEMAS["followed"]), *unexplained(found, SCHEMAS["followed"])]


@pytest.mark.parametrize("without", ["Starting RabbitMQ", "synced tables", "startup complete"])
def test_a_missing_line_is_noticed(run: Run, logs: list[Path], without: str) -> None:
    """A line after the missing line does not fit."""
    lines = logs[1].read_text().splitlines(keepends=True)
    logs[1].write_text("".join(line for line in lines if without not in line))

    done = run(*map(str, logs))

    assert 1 == done.code
    assert "the first line that does not fit" in done.out
    assert "DIFFERS" in done.out


def test_a_log_that_another_log_contradicts_is_noticed(run: Run, logs: list[Path]) -> None:
    """No node can see a node that never started."""
    logs[1].write_text("")

    done = run(*map(str, logs))

    assert 1 == done.code
    assert "receive up" in done.out


def test_a_member_without_a_log_may_do_anything(run: Run, logs: list[Path]) -> None:
    done = run(str(logs[0]))

    assert 0 == done.code
    assert "without a log, so they may do anything: b, c" in done.out


def test_a_claim_that_is_false_on_the_way_is_reported(tmp_path: Path, logs: list[Path]) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text(WORLD.read_text().replace('node.phase != "stopped" or', "node.phase and"))
    world = load(str(wrong), {}).world

    found = follow(world, Patterns.read(PATTERNS), logs, states_max=1_000)

    assert ("violated", ("a stopped node sees no peer",)) == (found.result, found.violated)


def test_too_many_states_or_no_reported_step_is_undetermined(run: Run, logs: list[Path]) -> None:
    few = run(*map(str, logs), "--max-states", "2")
    logs[0].write_text("nothing that a pattern knows\n")
    none = run(str(logs[0]))

    assert 3 == few.code == none.code
    assert "UNDETERMINED" in few.out
    assert "more than 2 states" in few.out
    assert "no line reports a step" in none.out


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("line = '", "line = '("), "is not a pattern"),
        (("{peer}", "{pear}"), "{pear} is not a group"),
        (("(?P<time>", "("), "no group `time`"),
        (("action", "akction"), "akction"),
        (("^(?P<time>\\S+ \\S+) \\[", "(?P<time>rabbit)"), "is not a time"),
        (("time =", "#"), "when a line was written"),
        (('"{log}"', '"x{log}"'), "no such member"),
        (("[[step]]", "[[step"), "is not a TOML file"),
        ((PATTERNS.read_text(), "step = []"), "step: it is empty"),
    ],
)
def test_a_wrong_pattern_file_is_refused_with_the_place_of_its_error(
    tmp_path: Path, logs: list[Path], change: tuple[str, str], message: str
) -> None:
    wrong = tmp_path / "wrong.toml"
    wrong.write_text(PATTERNS.read_text().replace(*change))

    with pytest.raises(UsageProblem, match=r".") as raised:
        follow(load(str(WORLD), {}).world, Patterns.read(wrong), logs, states_max=1_000)

    assert message in raised.value.message
    assert raised.value.next


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (gzip.compress(b"a"), "is not text"),
        ("a log\n".encode("utf-16"), "is not text"),
        (b"2026-11-27 17:21:09 [", "the time in"),
        (None, "is given twice"),
    ],
    ids=["packed", "utf-16", "no zone", "twice"],
)
def test_logs_that_cannot_be_followed_are_refused(
    run: Run, logs: list[Path], content: bytes | None, message: str
) -> None:
    if content is not None:
        logs[1].write_bytes(content)

    done = run(str(logs[0]), str(logs[content is not None]))

    assert 2 == done.code
    assert message in done.err


PAIRS = """
from joinproto.check import NOT_ENABLED, Send, World, always


class Member:
    def __init__(self, peer):
        self.peer, self.called = peer, False

    def choices(self):
        if not self.called:
            yield "calls"

    def receive(self, event):
        if event == "calls":
            self.called = True
            return [Send(self.peer, "call")]
        return []


def world() -> World:
    members = {"a": lambda: Member("b"), "b": lambda: Member("a")}
    return World(name="pairs", members=members, properties=[always("x", lambda view: True)])
"""

CALLS = """
time = '^(?P<time>\\S+)?'
names = { node-a = "a", node-b = "b" }
[[step]]
line = 'a calls'
member = "a"
action = "calls"
[[step]]
line = 'hears (?P<peer>.*)'
member = "node-{log}"
action = "receive"
sender = "node-{peer}"
"""


@pytest.mark.parametrize(
    ("texts", "result"),
    [
        (("1 hears b",), "fits"),
        (("1 a calls", "2 hears a"), "fits"),
        (("3 a calls", "2 hears a"), "differs"),
        (("1 a calls\n2 hears b\n", "1 other"), "fits"),  # no pattern reports a call of b
        (("8 a calls\n1 hears b\n", "9 hears a"), "fits"),  # a clock set back
        (("8 hears b\n1 a calls\n", "7 hears a"), "differs"),
        (("1 hears b\n", "9 hears a"), "differs"),  # the log of a has no call
    ],
)
def test_a_call_must_be_logged_before_it_is_heard(
    tmp_path: Path, texts: tuple[str, ...], result: str
) -> None:
    """The order inside one log counts more than the clock."""
    model, patterns = tmp_path / "pairs.py", tmp_path / "calls.toml"
    model.write_text(PAIRS)
    patterns.write_text(CALLS)
    logs = [tmp_path / f"{name}.log" for name, _ in zip("ab", texts, strict=False)]
    for log, text in zip(logs, texts, strict=True):
        log.write_text(re.sub(r"^(\d)", r"2026-11-27T00:00:0\1", text, flags=re.MULTILINE))

    found = follow(load(str(model), {}).world, Patterns.read(patterns), logs, states_max=1_000)

    assert result == found.result, found.first


MEETING = """
from joinproto.check import NOT_ENABLED, Together, World, always


class Member:
    def __init__(self):
        self.met = False

    def choices(self):
        if self.met:
            yield from ("leaves", "is killed")

    def receive(self, event):
        self.met = event == "meet"


def meet(view):
    if not (view["a"].met or view["b"].met):
        yield Together("meet", {"a": "meet", "b": "meet"})


def world() -> World:
    claims = [always("x", lambda view: True)]
    return World(
        name="meeting", members={"a": Member, "b": Member}, together=meet, properties=claims
    )
"""


@pytest.mark.parametrize(
    ("first", "second", "result"),
    [
        ("1 meet\n3 leaves", "2 meet\n4 leaves", "fits"),
        ("1 meet\n2 leaves", "3 meet\n4 leaves", "fits"),
        ("1 meet", "2 leaves", "differs"),  # b never logged the meeting
        ("1 meet\n2 leaves\n3 meet", "4 meet", "fits"),  # b was killed before its line
    ],
)
def test_each_member_logs_a_joint_step(
    tmp_path: Path, first: str, second: str, result: str
) -> None:
    model, patterns = tmp_path / "meeting.py", tmp_path / "meeting.toml"
    model.write_text(MEETING)
    step = """[[step]]\nline = '{0}'\nmember = "{{log}}"\naction = "{0}"\n"""
    time = "time = '(?P<time>.*) '\n"
    patterns.write_text(time + step.format("meet") + step.format("leaves"))
    logs = [tmp_path / "a.log", tmp_path / "b.log"]
    for log, text in zip(logs, (first, second), strict=True):
        log.write_text(re.sub(r"^(\d)", r"2026-11-27T00:00:0\1", text, flags=re.MULTILINE))

    found = follow(load(str(model), {}).world, Patterns.read(patterns), logs, states_max=1_000)

    assert result == found.result, found.first


def test_validate_needs_both_world_and_patterns(capsys: pytest.CaptureFixture[str]) -> None:
    done = run_here(capsys, "validate", "x.log", "--world", "join-two")

    assert 2 == done.code
    assert "--patterns" in done.err
