"""The arguments of the command besides a world: runs, and logs of real runs."""

import json
import re
import time
from pathlib import Path

import pytest

from joinproto.__main__ import main
from joinproto.check.options import TypedText
from joinproto.cli.exploring import session_of
from joinproto.errors import UsageProblem
from joinproto.explore.recorded import LINES_MAX, RecordedLine, in_causal_order

STATIC = Path("joinproto/explore/static")
FIRST_TRY = "docs/examples/my_first_try.py"
RABBITMQ = Path("tests/cli/validate/rabbitmq")


def written_run(path: Path, *steps: tuple[str, str], world: str = "who-founds") -> str:
    """Write a run as `joinproto check --trace` does, as far as it is read here."""
    trace = [{"member": member, "label": label} for member, label in steps]
    path.write_text(json.dumps({"world": world, "trace": trace}), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("words", "world"),
    [
        (["durable-vote", "--mutant", "no-persist"], None),
        (["termination", "--mutant", "stays-white"], None),
        ([FIRST_TRY], FIRST_TRY),
    ],
)
def test_a_run_that_a_check_wrote_is_walked(
    words: list[str], world: str | None, tmp_path: Path
) -> None:
    """`joinproto check` writes the run; a model's file and its options must be named again.

    The second world begins in more than one state.
    """
    run = tmp_path / "run.json"
    assert 1 == main(["check", *words, "--trace", str(run)])
    options = {"mutant": TypedText(words[2])} if len(words) > 1 else {}

    session = session_of([str(run)], options, world=world)
    found = session.answer("follow", session.answer("world")["begin"])

    assert found["fits"] == found["of"] == len(json.loads(run.read_text("utf-8"))["trace"])


def test_a_run_does_not_choose_which_file_is_loaded(tmp_path: Path) -> None:
    """A run may be from another machine, and loading a model's file runs its code."""
    model = tmp_path / "model.py"
    model.write_text("raise SystemExit('it ran')\n", encoding="utf-8")
    run = written_run(tmp_path / "run.json", world=str(model))

    with pytest.raises(UsageProblem, match="not a shipped world") as caught:
        session_of([run], {})

    assert "--world FILE.py" in caught.value.next


def test_a_name_of_a_world_and_a_folder_means_the_world(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "join").mkdir()
    monkeypatch.chdir(tmp_path)

    session = session_of(["join"], {})

    assert "join" == session.now.loaded.target
    assert session.logs is None


def test_the_common_steps_of_two_runs_are_counted(tmp_path: Path) -> None:
    first = written_run(tmp_path / "one.json", ("m1", "wait no longer"), ("m2", "wait no longer"))
    second = written_run(
        tmp_path / "two.json", ("m1", "wait no longer"), ("m1", "receive is anybody there from m2")
    )

    found = session_of([first, second], {}, world=FIRST_TRY).answer("runs")

    assert 1 == found["common"]
    assert [2, 2] == [len(run["steps"]) for run in found["runs"]]


def test_claims_are_compared_at_each_step_of_two_runs(tmp_path: Path) -> None:
    """In the first run both members found a cluster; in the second, m1 answers m2 first."""
    both = [("m1", "wait no longer"), ("m2", "wait no longer")]
    first = written_run(tmp_path / "one.json", *both)
    second = written_run(tmp_path / "two.json", both[0], ("m1", "receive is anybody there from m2"))
    session = session_of([first, second], {}, world=FIRST_TRY)

    found = session.answer("runs")

    at = [claim["name"] for claim in found["claims"]].index("one founder")
    says = [[here[at] for here in run["says"]] for run in found["runs"]]
    assert [[True, True, False], [True, True, True]] == says
    keys, other = ([step["key"] for step in run["steps"]] for run in found["runs"])
    sides = session.answer("pair", {"keys": keys, "other": other})["sides"]
    at_end = [{claim["name"]: claim["is"] for claim in one["state"]["claims"]} for one in sides]
    assert [False, True] == [claims["one founder"] for claims in at_end]


@pytest.mark.parametrize("text", ["", "[]", "{", '{"world": "join"}', '{"trace": [1]}'])
def test_a_file_that_holds_no_run_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "run.json"
    file.write_text(text, encoding="utf-8")

    with pytest.raises(UsageProblem, match="holds no run"):
        session_of([str(file)], {})


def rabbitmq(logs: list[str], tmp: Path) -> dict[str, object]:
    session = session_of(
        [str(tmp / log) for log in logs],
        {},
        world="docs/examples/rabbitmq_nodes.py",
        patterns=Path("docs/examples/rabbitmq_nodes.toml"),
    )
    return session.answer("logs")


def test_logs_of_another_program_are_a_run_of_its_model() -> None:
    logs = sorted(file.name for file in RABBITMQ.glob("*.log"))

    found = rabbitmq(logs, RABBITMQ)

    lines = found["lines"]
    assert isinstance(lines, list)
    assert {True} == {line["fits"] for line in lines}
    steps = [step for step in found["run"]["steps"] if step["label"] != "is killed"]  # type: ignore[index]
    assert len(lines) == len(steps), "no log reports that its node is killed"


def test_the_first_line_that_no_member_would_write_is_marked(tmp_path: Path) -> None:
    """Some lines are left out, so a later line is not possible."""
    for log in RABBITMQ.glob("*.log"):
        text = log.read_text(encoding="utf-8")
        if log.name.startswith("rabbit@a") or log.name.startswith("a"):
            kept = [line for line in text.splitlines() if "Starting RabbitMQ" not in line]
            text = "\n".join(kept) + "\n"
        (tmp_path / log.name).write_text(text, encoding="utf-8")
    logs = sorted(file.name for file in tmp_path.glob("*.log"))

    found = rabbitmq(logs, tmp_path)

    fits = [line["fits"] for line in found["lines"]]  # type: ignore[attr-defined]
    at = fits.index(False)
    assert {True} == set(fits[:at]) or at == 0
    assert {None} == set(fits[at + 1 :])


def test_no_line_is_put_before_its_cause() -> None:
    a = [RecordedLine("a", "says hello", sends=("a>b hello",)), RecordedLine("a", "ends")]
    b = [RecordedLine("b", "starts"), RecordedLine("b", "hears", hears="a>b hello")]
    cut = [RecordedLine("c", "hears what was never said", hears="x")]

    merged = [line.text for line in in_causal_order({"b": b, "c": cut, "a": a})]

    assert merged.index("says hello") < merged.index("hears")
    assert {"starts", "hears", "says hello", "ends", "hears what was never said"} == set(merged)


def test_long_logs_are_put_in_causal_order_in_five_seconds() -> None:
    """40,000 lines, of which half wait for a line of the other half, take 0.2 s of CPU."""
    count = 20_000
    sent = [RecordedLine("a", f"says {i}", sends=(f"a>b {i}",)) for i in range(count)]
    heard = [RecordedLine("b", f"hears {i}", hears=f"a>b {i}") for i in range(count)]
    began = time.process_time()

    merged = in_causal_order({"b": heard, "a": sent})

    assert 2 * count == len(merged)
    assert 5 > time.process_time() - began


def test_event_logs_of_nodes_are_shown_with_the_world_of_their_members(tmp_path: Path) -> None:
    import anyio

    from tests.cli.validate.conftest import run_three_members

    anyio.run(run_three_members, tmp_path)

    session = session_of([str(tmp_path / "events")], {})
    found = session.answer("logs")

    assert ["a", "b", "c"] == sorted(found["nodes"])
    assert {True} == {line["fits"] for line in found["lines"]}
    assert "active" in {line["note"] for line in found["lines"]}
    where = next(line["where"] for line in found["lines"] if "active" in line["where"])
    assert "error" not in session.answer("nearest", {"where": where, "seconds": 0})


def test_the_page_of_the_playground_loads_all_its_modules_at_once() -> None:
    """Otherwise a browser learns of a module only from the module that imports it."""
    needed: set[str] = set()
    waiting = ["app"]
    while waiting:
        name = waiting.pop()
        needed.add(name)
        text = (STATIC / f"{name}.js").read_text("utf-8")
        waiting += {*re.findall(r'from "\./(\w+)\.js"', text)} - needed

    page = Path("tools/playground/web/step.html").read_text("utf-8")
    loaded = re.findall(r'<link rel="modulepreload" href="explore/(\w+)\.js">', page)

    assert sorted(needed) == loaded


def test_only_the_part_of_an_event_log_that_the_page_shows_is_read(tmp_path: Path) -> None:
    """The other lines are not read, so a long log opens as fast as a short one."""
    import anyio

    from tests.cli.validate.conftest import run_three_members

    anyio.run(run_three_members, tmp_path)
    [log] = (tmp_path / "events").glob("a-*.jsonl")
    first, *others = log.read_text("utf-8").splitlines()
    again = next(line for line in others if '"heartbeat"' in line and '"receive"' in line)
    at = others.index(again)
    long = [first, *others[:at], *[again] * (2 * LINES_MAX), *others[at:]]
    numbered = (f'{{"n":{n}{line[line.index(",") :]}\n' for n, line in enumerate(long))
    log.write_text("".join(numbered), encoding="utf-8")

    session = session_of([str(tmp_path / "events")], {})
    found = session.answer("logs")

    assert LINES_MAX == len(found["lines"])
    assert re.search(r"a-\w+\.jsonl: the first 5,0\d\d lines were read", found["says"])
    assert "joinproto validate judges all" in found["says"]


def test_a_line_whose_cause_may_be_cut_off_comes_after_the_lines_of_that_log() -> None:
    a = [RecordedLine("a", f"a {n}", sends=(f"a>b {n}",)) for n in range(3)]
    b = [RecordedLine("b", f"b {n}", hears=f"a>b {n}", sender="a") for n in (2, 0)]

    whole = in_causal_order({"b": b, "a": a})
    cut = in_causal_order({"b": b, "a": a[:2]}, {"a"})

    assert ["a 0", "a 1", "a 2", "b 2", "b 0"] == [line.text for line in whole]
    assert ["a 0", "a 1", "b 2", "b 0"] == [line.text for line in cut]


def test_too_many_lines_of_another_program_are_refused_with_the_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("joinproto.cli.exploring.STEP_LINES_MAX", 2)

    with pytest.raises(UsageProblem, match="more than 2 lines report a step") as caught:
        rabbitmq(sorted(file.name for file in RABBITMQ.glob("*.log")), RABBITMQ)

    assert "joinproto validate" in caught.value.next
