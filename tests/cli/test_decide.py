"""`joinproto decide`: its input, its output, and its exit codes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from joinproto.__main__ import main
from joinproto.cli.decide_input import read_members
from joinproto.cli.main import COMMANDS, CommandRow
from joinproto.errors import UsageProblem
from joinproto.machine.vocabulary import Reason, Store
from joinproto.rulesets import RULESETS

CLEAN = {"id": "a", "store": "clean", "initial": "X", "final": "F"}
EMPTY = {"id": "b", "store": "empty"}

Run = Callable[..., tuple[int, str]]


@pytest.fixture(autouse=True)
def command(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the command under its name, whether or not the group lists it."""
    monkeypatch.setitem(
        COMMANDS, "decide", CommandRow("joinproto.cli.commands.decide:decide", "Judge members.")
    )


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that judges `request` and gives the exit code and standard output."""

    def judge(request: object, *options: str) -> tuple[int, str]:
        file = tmp_path / "members.json"
        file.write_bytes(request if isinstance(request, bytes) else json.dumps(request).encode())
        code = main(["decide", str(file), *options])
        return code, capsys.readouterr().out

    return judge


def test_a_verdict_is_one_json_object(run: Run) -> None:
    """The object has these fields and no others."""
    code, out = run({"wait_for": 2, "members": [CLEAN, EMPTY]}, "--json")

    assert 0 == code
    assert {
        "rules": "note",
        "initial": "X",
        "outcomes": [
            {"id": "a", "outcome": "active", "from": [], "reason": None, "rule": "I8"},
            {"id": "b", "outcome": "update", "from": ["a"], "reason": None, "rule": "I7"},
        ],
    } == json.loads(out)


def test_a_verdict_is_a_readable_table(run: Run) -> None:
    """Without --json, the output is for people."""
    code, out = run({"wait_for": 3, "members": [CLEAN, {**EMPTY, "wait_for": 1}]})

    assert 0 == code
    assert [
        "rules: note; initial signature: X",
        "",
        "member  outcome  from  rule  because",
        "a       wait           I1    too few members (too-few-members)",
        "b       update   a     I7    own store is not clean",
    ] == out.splitlines()


def test_the_verdict_abort_exits_0(run: Run) -> None:
    """An abort is an answer, not a failure."""
    code, out = run({"members": [{"id": "a", "store": "dirty", "initial": "X"}]}, "--json")

    assert 0 == code
    assert "no-clean-store" == json.loads(out)["outcomes"][0]["reason"]


def test_the_rules_of_qpid_decide(run: Run) -> None:
    """The same members are judged by other rules."""
    request = {"members": [EMPTY, {"id": "t", "store": "none"}]}

    code, out = run(request, "--json", "--rules", "qpid")

    assert 0 == code
    assert ["mixed-transient-persistent"] * 2 == [
        one["reason"] for one in json.loads(out)["outcomes"]
    ]


def test_the_rules_of_the_chain_decide(run: Run) -> None:
    """The verdict of the shipped tables has the same form."""
    code, out = run({"wait_for": 2, "members": [CLEAN, EMPTY]}, "--json", "--rules", "chain")

    assert 0 == code
    assert {
        "rules": "chain",
        "initial": "X",
        "outcomes": [
            {"id": "a", "outcome": "active", "from": [], "reason": None, "rule": "I8"},
            {"id": "b", "outcome": "update", "from": ["a"], "reason": None, "rule": "I7"},
        ],
    } == json.loads(out)


def test_the_chain_reads_views_positions_and_absent_electors(run: Run) -> None:
    """Two of three electors are away, and one elector alone is not enough."""
    lineage = {"lineage": ["X", "any name \n", "F"], "position": {"view": "any name \n", "seq": 3}}
    request = {"members": [{**CLEAN, **lineage}]}

    _, alone = run(request, "--json", "--rules", "chain")
    _, absent = run({**request, "electors": ["a", "b", "c"]}, "--json", "--rules", "chain")

    assert "active" == json.loads(alone)["outcomes"][0]["outcome"]
    assert "too-few-members" == json.loads(absent)["outcomes"][0]["reason"]


BAD_FOR_CHAIN: list[tuple[dict[str, Any], str]] = [
    ({"electors": "abc"}, "electors: expected a list"),
    ({"electors": []}, "electors: expected at least one id"),
    ({"lineage": {}}, "members[0].lineage: expected a list"),
    ({"lineage": ["X", 1]}, "members[0].lineage[1]: expected a text"),
    ({"lineage": ["V", "V"]}, "members[0].lineage: expected each name once"),
    ({"lineage": ["V", "X"]}, "members[0].lineage: expected the initial signature first"),
    ({"lineage": ["F", "V"]}, "members[0].lineage: expected the final signature last"),
    ({"position": ["X", 1]}, "members[0].position: expected an object or null"),
    ({"position": {"view": 1}}, "members[0].position.view: expected a text"),
    ({"position": {"view": "X"}}, "members[0].position: seq is missing"),
    ({"position": {"view": "X", "seq": True}}, "members[0].position.seq: expected a whole number"),
    (
        {"position": {"view": "X", "seq": -1}},
        "members[0].position.seq: expected a number from 0 on",
    ),
    ({"store": "empty", "lineage": ["X"]}, "members[0].lineage: expected no views"),
    (
        {"store": "empty", "position": {"view": "X", "seq": 1}},
        "members[0].position: expected null",
    ),
]


@pytest.mark.parametrize(
    ("fields", "message"), BAD_FOR_CHAIN, ids=[message for _, message in BAD_FOR_CHAIN]
)
def test_only_the_chain_refuses_a_wrong_field_that_only_it_reads(
    run: Run, fields: dict[str, Any], message: str
) -> None:
    """One file serves all rules; other rules ignore the fields of the chain."""
    electors = {"electors": fields["electors"]} if "electors" in fields else {}
    row = {**CLEAN, **{name: value for name, value in fields.items() if name != "electors"}}
    if row["store"] == "empty":
        row |= {"initial": None, "final": None}
    request = {"members": [row], **electors}

    code, out = run(request, "--json", "--rules", "chain")

    assert 2 == code
    assert message in json.loads(out)["error"]["message"]
    assert 0 == run(request, "--json", "--rules", "note")[0]


def test_unknown_rules_are_refused_and_the_known_ones_listed(run: Run) -> None:
    """The command exits 2 and names the valid rules."""
    code, out = run({"members": []}, "--json", "--rules", "none-such")

    assert 2 == code
    assert all(name in json.loads(out)["error"]["next"] for name in RULESETS)


def test_standard_input_is_read_for_a_dash(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A script can pipe its input."""
    (tmp_path / "in").write_text(json.dumps({"members": [EMPTY]}), encoding="utf-8")
    with (tmp_path / "in").open(encoding="utf-8") as given:
        monkeypatch.setattr("sys.stdin", given)

        code = main(["decide", "-", "--json"])

    assert 0 == code
    assert "new" == json.loads(capsys.readouterr().out)["initial"]


def test_a_missing_file_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    """The command exits 2."""
    assert 2 == main(["decide", "no/such/file", "--json"])
    assert "no/such/file" in json.loads(capsys.readouterr().out)["error"]["message"]


def test_names_that_a_terminal_must_not_see_are_printed_as_text(run: Run) -> None:
    """The output has no control characters."""
    code, out = run(b'{"members": [{"id": "\\u001b[2J", "store": "empty"}]}')

    assert 0 == code
    assert "\x1b" not in out


BAD: list[tuple[object, str]] = [
    ([], "expected an object, found []"),
    ({}, "members is missing"),
    ({"members": {}}, "members: expected a list"),
    ({"members": [], "waitfor": 2}, "waitfor: there is no such field"),
    ({"members": [], "wait_for": 0}, "wait_for: expected a number from 1 on, found 0"),
    ({"members": [], "wait_for": True}, "wait_for: expected a whole number"),
    ({"members": [], "wait_for": 1.5}, "wait_for: expected a whole number"),
    ({"members": [], "wait_for": None}, "wait_for: expected a whole number"),
    ({"members": ["a"]}, "members[0]: expected an object"),
    ({"members": [{"store": "empty"}]}, "members[0]: id is missing"),
    ({"members": [{"id": "", "store": "empty"}]}, "members[0].id: expected a text"),
    ({"members": [{"id": 1, "store": "empty"}]}, "members[0].id: expected a text"),
    ({"members": [{"id": "a"}]}, "members[0]: store is missing"),
    ({"members": [{"id": "a", "store": ["clean"]}]}, "members[0].store: expected one of"),
    (
        {"members": [CLEAN, {**EMPTY, "store": "cleen"}]},
        'members[1].store: expected one of "none", "empty", "clean", "dirty"',
    ),
    ({"members": [EMPTY, CLEAN, EMPTY]}, 'members[2].id: "b" is the id of members[0], too'),
    ({"members": [{**CLEAN, "initial": None}]}, "members[0].initial: expected a signature"),
    ({"members": [{**CLEAN, "final": None}]}, "members[0].final: expected a signature"),
    ({"members": [{**CLEAN, "initial": 7}]}, "members[0].initial: expected a text or null"),
    ({"members": [{**CLEAN, "initial": "new"}]}, "members[0].initial: expected a text other than"),
    ({"members": [{"id": "a", "store": "dirty"}]}, "members[0].initial: expected a signature"),
    ({"members": [{**EMPTY, "final": "F"}]}, "members[0].final: expected null"),
    (
        {"members": [{"id": "a", "store": "none", "initial": "X"}]},
        "members[0].initial: expected null: there is no store to keep it in",
    ),
    ({"members": [{**EMPTY, "active": 1}]}, "members[0].active: expected true or false, found 1"),
    ({"members": [{**EMPTY, "options": []}]}, "members[0].options: expected an object"),
    ({"members": [{**EMPTY, "wait_for": "2"}]}, "members[0].wait_for: expected a whole number"),
    ({"members": [{**EMPTY, "sotre": 1}]}, "members[0].sotre: there is no such field"),
    (b'{"members": [], "members": []}', "found the key 'members' twice"),
    (b"", "not JSON"),
    (b"{", "not JSON"),
    (b"\xff", "not UTF-8"),
    (b"[" * 100_000, "not JSON"),
    (b'{"wait_for": ' + b"9" * 5_000 + b"}", "not JSON"),
    (b'{"members": [{"id": "\\ud800", "store": "empty"}]}', "half a surrogate pair"),
]


@pytest.mark.parametrize(("request_", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_input_is_named_by_its_field(run: Run, request_: object, message: str) -> None:
    """The error has the place, the expected and the found value, and the next step."""
    code, out = run(request_, "--json")
    error = json.loads(out)["error"]

    assert 2 == code
    assert 2 == error["code"]
    assert message in error["message"]
    assert error["next"]


def test_options_compare_as_json() -> None:
    """The order of keys does not matter; 1, 1.0 and true are three values."""

    def options(text: str) -> object:
        return read_members(
            b'{"members": [{"id": "a", "store": "empty", "options": %s}]}' % text.encode()
        )[0].options

    assert options('{"x": 1, "y": {"a": 1, "b": 2}}') == options('{"y": {"b": 2, "a": 1}, "x": 1}')
    assert 3 == len({options('{"x": 1}'), options('{"x": 1.0}'), options('{"x": true}')})


def test_a_field_of_other_rules_is_accepted() -> None:
    """One file serves all rules."""
    row = {**EMPTY, "lineage": ["v1"], "position": ["v1", 3]}

    assert Store.EMPTY is read_members(json.dumps({"members": [row]}).encode())[0].store


def test_a_byte_order_mark_is_accepted() -> None:
    """Some editors write a byte order mark."""
    assert () == read_members(b"\xef\xbb\xbf" + b'{"members": []}')


@pytest.mark.parametrize("depth", [500, 5_000, 50_000])
def test_deep_input_is_answered_or_refused(depth: int, run: Run) -> None:
    """The exit code is never that of a bug."""
    text = b'{"members": [{"id": "a", "store": "empty", "options": {"x": %s}}]}' % (
        b"[" * depth + b"]" * depth
    )

    assert run(text, "--json")[0] in (0, 2)


anything: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
rows = st.fixed_dictionaries(
    {
        "id": st.text(max_size=2) | anything,
        "store": st.sampled_from([*(one.value for one in Store), 1]),
    },
    optional={
        "initial": st.sampled_from(["X", "Y", None, 3]),
        "final": st.sampled_from(["F", "G", None]),
        "active": st.booleans(),
        "options": st.dictionaries(st.sampled_from("xy"), anything, max_size=2),
        "wait_for": st.integers(-1, 4),
        "lineage": st.lists(st.sampled_from(["X", "V", "W", "F", "\ud800"]), max_size=3) | anything,
        "position": st.fixed_dictionaries(
            {"view": st.sampled_from("XVW"), "seq": st.integers(-1, 3)}
        )
        | anything,
        "extra": anything,
    },
)
requests = st.fixed_dictionaries(
    {"members": st.lists(rows, max_size=5) | anything},
    optional={
        "wait_for": st.integers(-1, 4),
        "electors": st.lists(st.text(max_size=2), max_size=4) | anything,
    },
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(request_=requests | anything | st.binary(), rules=st.sampled_from([*RULESETS, "x"]))
def test_any_input_gives_a_verdict_or_a_named_error(run: Run, request_: Any, rules: str) -> None:
    """The command exits 0 or 2 and prints one object with documented words, and no traceback."""
    code, out = run(request_, "--json", "--rules", rules)
    answer = json.loads(out)

    if code != 0:
        assert 2 == code
        assert {"code", "message", "next"} == set(answer["error"])
        return
    assert rules == answer["rules"]
    ids = [one["id"] for one in answer["outcomes"]]
    assert ids == [row["id"] for row in request_["members"]]
    for one in answer["outcomes"]:
        assert one["outcome"] in {"wait", "active", "update", "abort", "unaffected"}
        assert one["reason"] in {None, *(reason.value for reason in Reason)}
        assert set(one["from"]) <= set(ids) - {one["id"]}
    assert 0 == run(request_, "--rules", rules)[0]


def test_reading_bad_input_raises_an_error_with_the_next_step() -> None:
    with pytest.raises(UsageProblem, match=r"members\[0\]: store") as caught:
        read_members(b'{"members": [{"id": "a"}]}')

    assert "correct this field" == caught.value.next
