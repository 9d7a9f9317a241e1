"""`joinproto validate` on event logs of brokers: for each claim, a story breaks it and no other.

Source: hot standby, H1 to H4; LM4.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinproto.apps.standby.recording import ids_in, spans
from joinproto.cli.validate.standby import BrokerLog, validate_brokers
from joinproto.host.eventlog import PARTS, FileLog
from tests.cli.running import run_here
from tests.cli.schemas import faults
from tools import json_schema as schema

Line = dict[str, Any]
X = {"q": {"1.a": [[1, 1]]}}


def role(was: str, to: str, generation: int = 0) -> Line:
    return {"kind": "role", "was": was, "role": to, "generation": generation}


def view(generation: int, number: int, *of: str) -> Line:
    return {"kind": "view", "generation": generation, "number": number, "of": list(of)}


def serves(generation: int, has: Any) -> list[Line]:
    return [
        {"kind": "serves", "generation": generation, "has": has},
        role("connecting", "primary", generation),
        {"kind": "promote", "verdict": "accepted", "rule": "H3"},
    ]


def commit(token: int, puts: Any = {}, takes: Any = {}) -> Line:  # noqa: B006  read only
    return {"kind": "commit", "token": token, "puts": puts, "takes": takes}


STARTS = [role("stopped", "connecting"), {"kind": "started", "mark": "empty", "generation": 0}]
CONFIRMED = {"kind": "confirm", "token": 1}


def story() -> dict[str, list[Line]]:
    """Return the logs of two brokers: x is confirmed in generation 1, and b takes over with it."""
    return {
        "a": [
            *STARTS,
            view(1, 1, "a"),
            *serves(1, {}),
            view(1, 2, "a", "b"),
            commit(1, X),
            CONFIRMED,
        ],
        "b": [
            *STARTS,
            role("connecting", "backup", 1),
            view(1, 2, "a", "b"),
            role("backup", "connecting", 1),
            view(2, 1, "b"),
            *serves(2, X),
        ],
    }


def write_logs(top: Path, logs: dict[str, list[Line]]) -> None:
    for at, (broker, lines) in enumerate(logs.items()):
        text = "".join(
            json.dumps({"n": n, "t": 100 * at + n, **line, "broker": broker}) + "\n"
            for n, line in enumerate(lines)
        )
        (top / f"{broker}-{at}-1.jsonl").write_text(text)


def test_logs_in_which_all_claims_hold_exit_0(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_logs(tmp_path, story())

    text, found = (run_here(capsys, "validate", str(tmp_path), *more) for more in ((), ("--json",)))

    assert (0, 0) == (text.code, found.code)
    assert "2 runs of the brokers a, b: 18 events, 2 generations, 1 durable" in text.out
    assert "holds" == found.object["result"]
    assert [] == list(faults(found.object, schema.SCHEMAS["validate-brokers"]))
    assert [] == found.object["notes"]


def lose_a_confirmed_message(logs: dict[str, list[Line]]) -> None:
    logs["b"][-3]["has"] = {}


def bring_back_a_taken_message(logs: dict[str, list[Line]]) -> None:
    logs["a"] += [commit(2, takes=X), {"kind": "confirm", "token": 2}]


def let_two_brokers_serve(logs: dict[str, list[Line]]) -> None:
    logs["b"][-4:] = [view(1, 2, "a", "b"), *serves(1, X)]


def return_to_an_older_view(logs: dict[str, list[Line]]) -> None:
    logs["b"].append(view(1, 2, "a", "b"))


def change_members_of_a_view(logs: dict[str, list[Line]]) -> None:
    logs["b"][3]["of"] = ["b"]


def skip_a_role(logs: dict[str, list[Line]]) -> None:
    logs["a"].append(role("primary", "backup", 1))


def refuse_the_promotion(logs: dict[str, list[Line]]) -> None:
    logs["b"][-1]["verdict"] = "refused"


@pytest.mark.parametrize(
    ("breaks", "claim"),
    [
        (lose_a_confirmed_message, "confirmed_is_kept"),
        (bring_back_a_taken_message, "taken_stays_gone"),
        (let_two_brokers_serve, "one_primary_for_each_generation"),
        (return_to_an_older_view, "generations_rise"),
        (change_members_of_a_view, "views_agree"),
        (skip_a_role, "roles_follow_the_machine"),
        (refuse_the_promotion, "who_serves_was_promoted"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_each_claim_is_broken_by_its_changed_logs(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    breaks: Callable[[dict[str, list[Line]]], None],
    claim: str,
) -> None:
    logs = story()
    breaks(logs)
    write_logs(tmp_path, logs)

    done = run_here(capsys, "validate", str(tmp_path), "--json")

    broken = [one["name"] for one in done.object["properties"] if one["found"]]
    assert (1, [claim]) == (done.code, broken)


def test_a_message_that_a_client_took_may_be_lacking_later(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The commit that took it need not be confirmed: the primary may have died before."""
    logs = story()
    lose_a_confirmed_message(logs)
    logs["a"].append(commit(2, takes=X))
    write_logs(tmp_path, logs)

    assert 0 == run_here(capsys, "validate", str(tmp_path)).code


def test_messages_are_not_judged_across_a_primary_without_a_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A client may have taken the message from the primary without a log."""
    logs = story()
    logs["b"][-4:] = [view(3, 1, "b"), *serves(3, {})]
    write_logs(tmp_path, logs)

    done = run_here(capsys, "validate", str(tmp_path), "--json")

    assert 0 == done.code
    assert ["no log of serving brokers in 2: messages are not judged across them"] == (
        done.object["notes"]
    )


def test_a_far_later_generation_is_reported_as_one_gap(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The memory for the gap does not grow with its generations."""
    write_logs(tmp_path, {"a": [*STARTS, view(10**9, 1, "a")]})

    done = run_here(capsys, "validate", str(tmp_path), "--json")

    assert 0 == done.code
    assert "no log of serving brokers in 1 to 1000000000: " in done.object["notes"][0]


def test_logs_are_not_read_again_for_each_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number of reads is the same for 1 and for 20 messages."""
    read: list[str] = []
    of = BrokerLog.of

    def noted(log: BrokerLog, kind: str) -> Iterator[Line]:
        read.append(kind)
        return of(log, kind)

    monkeypatch.setattr(BrokerLog, "of", noted)
    often = []
    for count in (1, 20):
        logs = story()
        logs["b"][-3]["has"] = {"q": {"1.a": [[1, count]]}}
        for number in range(2, count + 1):
            puts = {"q": {"1.a": [[number, number]]}}
            logs["a"] += [commit(number, puts), {"kind": "confirm", "token": number}]
        write_logs(tmp_path, logs)
        verdict = validate_brokers([tmp_path])
        assert (True, count) == (verdict.holds, verdict.confirmed)
        often.append(len(read))
        read.clear()

    assert often[0] == often[1]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda text: text.replace('"n": 3', '"n": 4'), "line 4 has number 4: lines are missing"),
        (lambda text: text.replace("q", "\x00"), "line 4 is not an event"),
        (
            lambda text: text.replace('"broker": "a"', '"broker": 7'),
            "line 1 is not a broker's event",
        ),
        (lambda text: text.replace('"token"', '"tokens"'), "not the event logs of brokers"),
        (lambda text: text.replace('"1.a": [[1, 1]]', '"1.a": 7'), "not the event logs of brokers"),
        (
            lambda text: text.replace("[[1, 1]]", "[[0, 100000000]]"),
            "a span of 100,000,001 messages",
        ),
    ],
    ids=["number", "no-json", "no-broker", "no-token", "no-spans", "far"],
)
def test_a_malformed_log_is_refused(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    damage: Callable[[str], str],
    message: str,
) -> None:
    logs = story()
    logs["a"][3]["has"] = X
    write_logs(tmp_path, logs)
    file = tmp_path / "a-0-1.jsonl"
    file.write_text(damage(file.read_text()))

    done = run_here(capsys, "validate", str(tmp_path))

    assert 2 == done.code
    assert message in done.err


@given(st.sets(st.tuples(st.sampled_from(["1.a", "12.b.c"]), st.integers(0, 50))))
def test_spans_hold_the_same_identities(ids: set[tuple[str, int]]) -> None:
    names = {f"{origin}.{number}" for origin, number in ids}

    assert {("q", name) for name in names} == {*ids_in({"q": spans(names)})}


def write_log(file: Path, lines: list[Line], *, bytes_max: int) -> None:
    """Write these lines to a log as a broker does."""
    log = FileLog.create(file, bytes_max=bytes_max, is_needed=False)
    for line in lines:
        log.write(line["kind"], broker="a", **{key: line[key] for key in line if key != "kind"})
    log.close()


def test_a_log_of_several_files_is_one_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A broker that runs for long continues its log in another file."""
    lines = [*STARTS, view(1, 1, "a"), *serves(1, {}), *(commit(n) for n in range(100))]
    write_log(tmp_path / "a-1-1.jsonl", lines, bytes_max=PARTS * 2_000)
    assert 2 < len(list(tmp_path.iterdir())) < PARTS

    for path in (tmp_path, tmp_path / "a-1-1.jsonl"):
        done = run_here(capsys, "validate", str(path), "--json")
        assert (0, 1, len(lines)) == (done.code, done.object["runs"], done.object["lines"])


@pytest.mark.parametrize(
    ("renamed", "why"),
    [
        ("a-0-1.part2.jsonl", "part 1 of this run is missing"),
        ("a-0-1.cut.jsonl", "the disk was full, so the log ends here although the run continued"),
    ],
)
def test_a_run_whose_log_lacks_a_part_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], renamed: str, why: str
) -> None:
    """Its deliveries are unknown; here b has a message that a may have given to a client."""
    logs = story()
    bring_back_a_taken_message(logs)
    write_logs(tmp_path, logs)
    file = (tmp_path / "a-0-1.jsonl").rename(tmp_path / renamed)

    done = run_here(capsys, "validate", str(tmp_path), "--json")
    alone = run_here(capsys, "validate", str(file))

    assert (0, 1) == (done.code, done.object["runs"])
    assert f"{file}: {why}: the run is left out" == done.object["notes"][0]
    assert "no log of serving brokers in 1: " in done.object["notes"][1]
    assert (2, True) == (alone.code, why in alone.err)
