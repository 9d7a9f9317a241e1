"""Mutation by program: operators make the expected patches, and the right catchers notice."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from attrs import asdict, evolve
from click.testing import CliRunner

from joinproto.errors import UsageProblem
from tools.mutate import baseline, catchers, changed, report
from tools.mutate.__main__ import main
from tools.mutate.baseline import Baseline, Catcher
from tools.mutate.campaign import Result, read, still_holds, write
from tools.mutate.isolated import isolated
from tools.mutate.patches import (
    MUTATED_PACKAGES,
    ROOT,
    Mutation,
    all_mutations,
    mutations,
    source_of,
)

ADMISSION = "joinproto/join/admission.py"
HEARD = "joinproto/join/observations.py"


def patched(source: str) -> dict[str, str]:
    """Return the name of each mutation of a small source, and its new lines, or ""."""
    content = source.encode()
    found = {}
    for one in mutations("joinproto/join/small.py", content):
        after = one.apply(content).decode()
        ast.parse(after)
        new = [line.strip() for line in after.splitlines() if line not in source.splitlines()]
        found[one.name.removeprefix("small:")] = " ".join(new)
    return found


def test_a_guard_is_dropped_forced_and_negated_and_its_operands_are_dropped() -> None:
    """An `if` never holds, always holds, or has one operand less."""
    found = patched("def f(a, b):\n    if a >= 1 and not b:\n        return 2\n    return 3\n")

    assert {
        "f:boundary:1": "if a > 1 and not b:",
        "f:drop-guard:1": "if False:",
        "f:drop-operand:1": "if (not b):",
        "f:drop-operand:2": "if (a >= 1):",
        "f:force-guard:1": "if True:",
        "f:negate:1": "if a >= 1 and bool(b):",
    } == found


def test_effects_statements_and_fields_are_dropped() -> None:
    """One of several effects is missing, a field stays as it was, an action is not done."""
    found = patched(
        "class Member:\n    def f(self, record):\n        self.left = record\n"
        "        self.out.persist(record)\n"
        "        return (Persist(record), Send(evolve(record, held=1, at=2)))\n"
    )

    assert {
        "Member.f:drop-effect:1": "return (Send(evolve(record, held=1, at=2)),)",
        "Member.f:drop-effect:2": "return (Persist(record),)",
        "Member.f:drop-statement:1": "pass",
        "Member.f:drop-statement:2": "pass",
        "Member.f:forget-field:1": "return (Persist(record), Send(evolve(record, at=2)))",
        "Member.f:forget-field:2": "return (Persist(record), Send(evolve(record, held=1)))",
    } == found


def test_a_count_a_filter_and_the_end_of_an_order_are_changed() -> None:
    """A majority is off by one, a filter is dropped, the least is taken for the greatest."""
    found = patched(
        "def f(seats):\n    enough = len(seats) // 2 + 1\n"
        "    return max(seat for seat in seats if seat.voted) >= enough\n"
    )

    assert {
        "f:off-by-one:1": "enough = (len(seats) // 2)",
        "f:boundary:1": "return max((seat for seat in seats if seat.voted)) > enough",
        "f:drop-filter:1": "return max(seat for seat in seats if True) >= enough",
        "f:other-end:1": "return min(seat for seat in seats if seat.voted) >= enough",
        "f:last-of:1": "return [*(seat for seat in seats if seat.voted)][-1] >= enough",
    } == found


def test_cases_of_a_table_are_dropped_swapped_weakened_and_negated() -> None:
    """The name of a mutation names its case; the last case of a table is not changed."""
    rows = (
        'Case("A", "first one", S & K, 1)',
        'Case("B", "second", V.where(x=True, y=True), 2)',
        'Case("C", "last", ALWAYS, 3)',
    )
    inside = "".join(f"        {row},\n" for row in rows)

    found = patched(f"def table():\n    return Table((\n{inside}    ))\n")

    assert {
        "table/first-one:drop-case:1": "",
        "table/first-one:negate:1": 'Case("A", "first one", ~(S & K), 1),',
        "table/first-one:swap-cases:1": "Case('B', 'second', V.where(x=True, y=True), 2), "
        "Case('A', 'first one', S & K, 1),",
        "table/first-one:weaken:1": 'Case("A", "first one", (S), 1),',
        "table/first-one:weaken:2": 'Case("A", "first one", (K), 1),',
        "table/second:drop-case:1": "",
        "table/second:negate:1": 'Case("B", "second", ~(V.where(x=True, y=True)), 2),',
        "table/second:negate:2": 'Case("B", "second", V.where(x=False, y=True), 2),',
        "table/second:negate:3": 'Case("B", "second", V.where(x=True, y=False), 2),',
        "table/second:weaken:1": 'Case("B", "second", V.where(y=True), 2),',
        "table/second:weaken:2": 'Case("B", "second", V.where(x=True), 2),',
    } == found


def test_errors_and_texts_for_people_are_not_changed() -> None:
    """Only the guard of an error is a rule."""
    found = patched(
        "def f(self, a):\n    if a:\n        raise WrongError(g(a == 1), next='x')\n"
        "    return f'{a == 1}'\n"
    )

    assert {"drop-guard:1", "force-guard:1"} == {name.removeprefix("f:") for name in found}


def test_the_greatest_becomes_the_last_and_a_part_of_a_key_is_removed() -> None:
    """Keys of `max` and pairs that are compared lose a part."""
    found = patched(
        "def f(a, b, these):\n"
        "    best = max(these, key=lambda it: (it.round, it.name))\n"
        "    least = min(these, default=0)\n"
        "    return (a.x, a.y) < (b.x, b.y)\n"
    )

    assert {
        "f:last-of:1": "best = [*these][-1]",
        "f:last-of:2": "least = next(reversed([*these]), 0)",
        "f:other-end:1": "best = min(these, key=lambda it: (it.round, it.name))",
        "f:other-end:2": "least = max(these, default=0)",
        "f:part-of-key:1": "best = max(these, key=lambda it: (it.name,))",
        "f:part-of-key:2": "best = max(these, key=lambda it: (it.round,))",
        "f:part-of-key:3": "return ((a.y,) < (b.y,))",
        "f:part-of-key:4": "return ((a.x,) < (b.x,))",
        "f:boundary:1": "return (a.x, a.y) <= (b.x, b.y)",
    } == found


def test_actions_are_swapped_and_positions_are_compared_by_number() -> None:
    """Two consecutive actions change places; positions of two views count as equal."""
    found = patched(
        "def f(self, position):\n"
        "    yield self.write\n"
        "    self.tell(position)\n"
        "    return self.position == position\n"
    )

    assert {
        "f:drop-statement:1": "pass",
        "f:negate:1": "return self.position != position",
        "f:seq-alone:1": "return (getattr(self.position, 'seq', None) == "
        "getattr(position, 'seq', None))",
        "f:swap-statements:1": "self.tell(position); yield self.write",
    } == found


def test_each_mutation_has_a_unique_name_and_is_the_same_on_every_call() -> None:
    found = all_mutations()

    assert 2_000 < len(found)
    assert len(found) == len({one.name for one in found})
    assert {one.path for one in found} > {ADMISSION, HEARD}
    assert found == all_mutations()


@pytest.mark.soak("mutants")
def test_every_mutation_can_be_compiled() -> None:
    """The compiler would notice any other mutation, so it would test no catcher."""
    for path in (path for package in MUTATED_PACKAGES.values() for path in package.files):
        source = source_of(path)
        for one in mutations(path, source):
            compile(one.apply(source), one.name, "exec")


# -- trying them ---------------------------------------------------------------------------


def lines_of(path: str) -> dict[str, list[int]]:
    return {path: list(range(1, source_of(path).count(b"\n") + 1))}


def named(name: str) -> Mutation:
    (found,) = [one for one in all_mutations() if one.name == name]
    return found


def tried(mutation: Mutation, *asked: Catcher) -> Result:
    """Return the result of trying a mutation in another process: pytest does not run in itself."""
    given = json.dumps([asdict(mutation), asdict(Baseline({}, list(asked)))])
    program = (
        "import json, sys; from attrs import asdict\n"
        "from tools.mutate.baseline import Catcher, Baseline\n"
        "from tools.mutate.campaign import try_one\n"
        "from tools.mutate.patches import Mutation\n"
        "one, base = json.load(sys.stdin)\n"
        "base = Baseline(base['key'], [Catcher(**it) for it in base['asked']])\n"
        "print(json.dumps(asdict(try_one(Mutation(**one), base, 'catchers'))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=given,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return Result(**json.loads(done.stdout))


GUESTS = "observations:Observations.for_tip:drop-filter:1"
HEARD_TEST = Catcher(
    "unit", "tests/join/test_observations.py::test_a_close_leaves_no_guest", 0.01, lines_of(HEARD)
)


def unchanged() -> Mutation:
    return evolve(named(GUESTS), start=0, end=0, text="")


def test_a_mutation_is_caught_by_the_unit_test_of_its_line() -> None:
    """The test is about guests after a CLOSE, which the mutation counts."""
    found = tried(named(GUESTS), HEARD_TEST)

    assert ("unit", HEARD_TEST.name, "test") == (found.kind, found.who, found.by)


def test_a_patch_that_changes_nothing_survives() -> None:
    """No catcher must notice unchanged source."""
    assert tried(unchanged(), HEARD_TEST).survived


def test_a_table_without_its_last_case_is_caught_at_the_import() -> None:
    """A table is checked when it is made, so the import is the cheapest catcher."""
    source = source_of(ADMISSION)
    last = source.index(b'Case("J1", "an update is needed"')
    mutation = Mutation("x", ADMISSION, "x", (1, 1), last, source.index(b"\n", last), "")

    found = tried(mutation)

    assert ("import", "error") == (found.kind, found.by)
    assert "always hold" in found.what


@pytest.mark.soak("mutants")
@pytest.mark.parametrize(("more", "by"), [(0, ""), (1, "pin")])
def test_a_changed_count_alone_is_reported_as_a_pin(more: int, by: str) -> None:
    """The result says whether a claim noticed the mutation, or only a pinned count."""
    world = Catcher("world", "join-options", 1.0, lines_of(HEARD), [22 + more, 57, 7])

    assert by == tried(unchanged(), HEARD_TEST, world).by


@pytest.mark.soak("mutants")
def test_a_small_world_notices_that_a_rule_is_left_out() -> None:
    """Members serve before all are ready, and the result names the claim."""
    mutation = named("phases:standing/others-are-not-ready:drop-case:1")
    world = Catcher("world", "join-founders", 1.0, lines_of(mutation.path), [114, 1_042, 16])

    found = tried(mutation, world)

    assert ("world", "join-founders", "claim") == (found.kind, found.who, found.by)
    assert "waits_for_n violated" == found.what


def test_a_baseline_that_fails_is_a_usage_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A catcher that fails on unchanged code would seem to notice every mutation."""
    monkeypatch.setattr(catchers, "linked", lambda name: "chain: a step")

    with pytest.raises(UsageProblem, match="join-two fails on the unchanged code"):
        baseline._link("join-two")


def test_an_isolated_task_ends_with_a_time_out_an_error_or_a_value() -> None:
    """The task's processor time is limited."""

    def forever() -> None:
        while True:
            pass

    assert "time-out" == isolated(forever, 0.2).outcome
    assert "raised" == isolated(lambda: 1 // 0, 60).outcome
    assert {"a": [1]} == isolated(lambda: {"a": [1]}, 60).value


# -- selection ---------------------------------------------------------------------------


def test_the_newest_whole_result_of_a_name_counts(tmp_path: Path) -> None:
    """A line that was cut short does not count."""
    file = tmp_path / "results.jsonl"
    write(file, Result("a", source="1", catchers="2"))
    write(file, Result("a", "unit", "t", source="1", catchers="2"))
    with file.open("a") as out:
        out.write('{"name": "b", "ki')

    found = read(file)

    assert {"a"} == found.keys()
    assert "unit" == found["a"].kind


@pytest.mark.parametrize(
    ("kind", "who", "source", "hashes", "expected"),
    [
        ("", "", "1", {"2", "3"}, True),
        ("", "", "1", {"3"}, False),
        ("", "", "other", {"2"}, False),
        ("world", "join", "1", {"3"}, True),
        ("unit", "t.py::kept", "1", {"3"}, True),
        ("unit", "t.py", "1", {"3"}, True),  # the file could not be collected
        ("unit", "t.py::gone", "1", {"3"}, False),
        ("unit", "t.py::kept", "other", {"2"}, False),
    ],
)
def test_a_result_holds_while_its_source_and_the_test_that_noticed_it_are_there(
    kind: str, who: str, source: str, hashes: set[str], expected: bool
) -> None:
    """A mutation that survived holds only for the same catchers: a new test may notice it."""
    found = Result("a", kind, who, source="1", catchers="2")

    assert expected is still_holds(found, source, hashes, {"t.py::kept"})
    assert not still_holds(None, source, hashes, {"t.py::kept"})


def test_a_baseline_of_the_tests_alone_is_completed_later(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The part that is there is not made again."""
    file = tmp_path / "baseline.json"
    said: list[str] = []
    one, two = Catcher("unit", "t", 0.1, {}), Catcher("link", "join-two", 1.0, {})
    monkeypatch.setattr(baseline, "_tests", lambda package: [one])
    monkeypatch.setattr(baseline, "_world", lambda name: [])
    monkeypatch.setattr(baseline, "_link", lambda name: [two])
    monkeypatch.setattr(baseline, "_run", lambda seed: f"seed {seed}")

    assert [one] == baseline.baseline(file, 1, said.append, ("tests",)).asked
    monkeypatch.setattr(baseline, "_tests", lambda package: pytest.fail("made again"))
    assert [one] == baseline.baseline(file, 1, said.append, ("tests",)).asked
    whole = baseline.baseline(file, 1, said.append)

    assert [one, two] == whole.asked[:2]
    assert f"seed {catchers.RUNS[0]}" in whole.left_out
    assert whole == baseline.baseline(file, 1, said.append)
    assert 2 == len(said)


def test_since_chooses_the_mutations_of_changed_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lines are new or changed, or are the two lines around a removed line."""
    said = f"+++ b/{HEARD}\n@@ -3 +3,2 @@\n@@ -9,2 +9,0 @@\n"
    done: Any = subprocess.CompletedProcess([], 0, said, "")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)

    assert {HEARD: {3, 4, 9, 10}} == changed.lines_since("HEAD~1")
    one, two = (Mutation("x", HEARD, "x", lines, 0, 0, "") for lines in ((1, 3), (5, 8)))
    assert [one] == changed.chosen([one, two], (), "HEAD~1")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--only", "no-such-thing"], "no mutation is called"),
        (["--since", "no-such-revision"], "git does not know the revision"),
        (["--results", "none.jsonl", "--report"], "no result"),
        (["--jobs", "0"], "Invalid value"),
    ],
)
def test_bad_arguments_exit_with_2(options: list[str], said: str) -> None:
    """The output names the mistake, and no mutation is tried."""
    done = CliRunner().invoke(main, options)

    assert 2 == done.exit_code
    assert said in done.output


def test_list_and_show_print_the_names_and_the_patches() -> None:
    """A sample is the same for the same seed, and begins with each smaller sample of the seed."""
    name = "succession:founding/options-differ:drop-case:1"

    assert f"{name}\n" == CliRunner().invoke(main, ["--only", name, "--list"]).output
    assert (
        "-            OPTIONS_DIFFER,"
        in CliRunner().invoke(main, ["--only", name, "--show"]).output
    )
    one, two, other = (
        CliRunner().invoke(main, ["--sample", "20", "--seed", seed, "--list"]).output
        for seed in ("1", "1", "2")
    )
    assert 20 == one.count("\n")
    assert one == two != other
    assert one.startswith(CliRunner().invoke(main, ["--sample", "5", "--list"]).output)


def test_a_reason_needs_an_existing_mutation_and_a_known_sort(tmp_path: Path) -> None:
    """The reviewed list cannot outlive its mutations."""
    file = tmp_path / "survivors.toml"
    row = '[[survivor]]\nname = "a"\nsort = {}\nreason = {}\n'

    file.write_text(row.format('"redundant"', '"b does it"'))
    assert "b does it" == report.reasons({"a"}, file)["a"].reason
    with pytest.raises(UsageProblem, match="which is not a mutation"):
        report.reasons({"b"}, file)
    file.write_text(row.format('"whatever"', '"b does it"'))
    with pytest.raises(UsageProblem, match="whatever"):
        report.reasons({"a"}, file)


def test_each_reviewed_reason_is_of_an_existing_mutation() -> None:
    assert report.reasons({one.name for one in all_mutations()}) is not None


def test_the_table_counts_the_mutations_of_each_catcher(tmp_path: Path) -> None:
    """Results of former sources do not count, and a survivor without a reason is open."""
    file, document = tmp_path / "results.jsonl", tmp_path / "mutation.md"
    document.write_text("before\n<!-- mutations -->\nold\n<!-- end -->\nafter\n")
    here = [one for one in all_mutations() if one.path == HEARD]
    some, now = [one.name for one in here], [one.hash(source_of(HEARD)) for one in here]
    write(file, Result(some[0], "unit", "t", by="test", seconds=3.0, source=now[0]))
    write(file, Result(some[1], "world", "w", by="pin", seconds=1.0, source=now[1]))
    write(file, Result(some[2], source=now[2]))
    write(file, Result(some[3], source=now[2]))

    code = report.write(file, document)

    text = document.read_text()
    assert 1 == code
    assert "| `observations.py` | 3 | 0 | 1 | 1 | 0 | 0 | 1 |" in text
    assert "another count alone 1" in text
    assert f"| `{some[2]}` | open |" in text
    assert "old" not in text.split("after")[0].split("before")[1].split("\n")[2]
    assert 4 == len([json.loads(line) for line in file.read_text().splitlines()])
