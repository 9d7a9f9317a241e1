"""`joinproto policy check`: runs defeat the example policies, and none defeats the shipped one."""

import json
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from joinproto.__main__ import main
from joinproto.check import check
from joinproto.cli.reports.policy import HARMS
from joinproto.recovery.found import State
from joinproto.recovery.judgement import store_result
from joinproto.recovery.policy.asked import AskedQuestion, Questioner, StateQuestion, totals_of
from joinproto.recovery.policy.question import Question
from joinproto_worlds.policy import galera, ours
from joinproto_worlds.policy.built_in import pick
from joinproto_worlds.policy.galera import found
from joinproto_worlds.policy.nodes import Left, Node
from joinproto_worlds.policy.worlds import WORLDS

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples" / "policies"
FEW = ("--ends", "2", "--writes", "1")


def run_check(capsys: Any, policy: str, *words: str) -> tuple[int, dict[str, Any]]:
    code = main(["policy", "check", policy, *words, "--json"])
    return code, json.loads(capsys.readouterr().out)


def labels(tree: dict[str, Any]) -> list[str]:
    return [f"{step['action']} {step['detail']}".strip() for step in tree["trace"]]


@pytest.mark.parametrize(
    ("policy", "words", "steps", "claim"),
    [
        ("flag_first.py", ("--ask", "choose-founder"), 3, "one cluster serves"),
        ("flag_first.py", ("--ask", "may-i-start"), 5, "one cluster serves"),
        ("last_in_list.py", ("--all-answer",), 4, "no acknowledged write is lost"),
        (
            "last_in_list.py",
            ("--world", "rabbitmq", "--all-answer"),
            4,
            "no acknowledged write is lost",
        ),
        pytest.param(
            "wait_for_all.py",
            ("--ask", "choose-founder"),
            7,
            "no acknowledged write is lost",
            marks=pytest.mark.landing,
        ),
        ("openstack_helm.py", (), 3, "one cluster serves"),
        ("fuel_ocf.py", (), 3, "one cluster serves"),
    ],
)
def test_each_policy_of_the_examples_is_defeated(
    capsys: Any, policy: str, words: tuple[str, ...], steps: int, claim: str
) -> None:
    """Every deployed rule has a shortest run in which it does harm."""
    code, tree = run_check(capsys, str(EXAMPLES / policy), *words)

    assert code == 1
    assert (len(tree["trace"]), tree["property"]) == (steps, claim)
    assert labels(tree)[-1].startswith("the policy, asked")


@pytest.mark.needs("jq")
def test_a_one_line_jq_policy_is_checked(capsys: Any) -> None:
    code, tree = run_check(capsys, str(EXAMPLES / "highest-seqno"))

    assert (code, len(tree["trace"])) == (1, 3)
    assert tree["unknown_as_absent"] > 0


@pytest.mark.needs("gcc")
def test_a_compiled_policy_is_checked(capsys: Any, tmp_path: Path) -> None:
    program = tmp_path / "ordinal_0"
    subprocess.run(["gcc", "-Wall", "-o", program, EXAMPLES / "ordinal_0.c"], check=True)

    code, tree = run_check(capsys, str(program), "--all-answer")

    assert (code, tree["property"]) == (1, "no acknowledged write is lost")


@pytest.mark.parametrize("world", ["galera", "rabbitmq"])
def test_no_run_defeats_the_shipped_policy(capsys: Any, world: str) -> None:
    """`recover pick` chooses a founder in some runs, and does harm in no run."""
    code, tree = run_check(capsys, "pick", "--world", world, *FEW)

    assert code == 0
    assert tree["answers"]["choose-founder: a node"] > 0


@pytest.mark.landing
@pytest.mark.parametrize(
    ("world", "states"),
    [("galera", 10_651), ("rabbitmq", 6_528), ("joinproto", 49_503), ("joinproto-two", 117_166)],
)
def test_no_run_in_the_default_bounds_defeats_pick(capsys: Any, world: str, states: int) -> None:
    code, tree = run_check(capsys, "pick", "--world", world)

    assert (code, tree["distinct"]) == (0, states)
    assert 0 == tree["unknown_as_absent"]


@pytest.mark.parametrize(("safe", "counted"), [({"a", "b"}, 0), ({"b"}, 1)])
def test_only_a_harmful_choice_is_blamed_on_reading_unknown_as_absent(
    safe: set[str], counted: int
) -> None:
    """If two stores are equally good, either may be chosen."""
    question = Question(ask="choose-founder", nodes=("a", "b"), stores=())
    whole, blank = (
        StateQuestion(question=evolve(question, reasons=(why,)), found=())
        for why in ("both answer", "b is blank")
    )
    silent = StateQuestion(
        question=evolve(question, unknown={"b": "timed-out"}),
        found=(),
        safe=frozenset(safe),
        truth=lambda: whole,
        blank=lambda: blank,
    )
    asker = Questioner(lambda asked: "b" if asked is whole else "a")

    assert "a" == asker.answer(silent)

    assert counted == totals_of(asker, is_whole=True).unknown_as_absent


@pytest.mark.landing
@pytest.mark.needs("jq")
def test_the_highest_number_is_defeated_if_members_crash(capsys: Any) -> None:
    """Of two members that crash, one may have a frame that was never committed."""
    rule = str(EXAMPLES / "highest-seqno")

    code, tree = run_check(capsys, rule, "--world", "joinproto-two")

    assert (code, len(tree["trace"])) == (1, 27)
    assert "no acknowledged frame is lost" == tree["property"]
    assert 0 == run_check(capsys, rule, "--world", "joinproto")[0]


@pytest.mark.landing
def test_pick_is_too_careful_only_if_a_node_is_silent_or_blank() -> None:
    """Such a node may have been founded by hand and have written alone, which no other node knows.

    So with a silent node, no choice is safe in larger runs.  docs/policies.md has the counts.
    """
    asker, more = asked_of_galera(Left()), asked_of_galera(Left(by_hand=2))

    careful = {line: each.question for line, each in asker.items() if is_too_careful(each)}

    kinds = Counter(
        (bool(asked.unknown), any(one.state is State.NONE for one in asked.stores))
        for asked in careful.values()
    )
    assert {(True, False): 252, (False, True): 567, (True, True): 6} == kinds
    silent = [line for line, asked in careful.items() if asked.unknown]
    assert 258 == len(silent)
    assert not any(more[line].safe for line in silent)


def asked_of_galera(left: Left) -> dict[str, AskedQuestion]:
    asker = Questioner(pick, ("choose-founder",))
    assert "holds" == check(galera.world(asker, left)).result
    return asker.records


def is_too_careful(record: AskedQuestion) -> bool:
    return record.answer == "wait" and bool(record.safe)


def test_a_disk_that_is_not_mounted_looks_blank_and_keeps_its_data() -> None:
    node = Node("a", runs=False, serves=False, data=(0, 1), view=("a.1", "b.1"))
    blank, unmounted = evolve(node, disk="blank", data=()), evolve(node, disk="unmounted")

    assert [store_result(found(blank))] == [store_result(found(unmounted))]
    assert (found(node).seq, unmounted.data, unmounted.at_hand) == (2, (0, 1), ())


def test_a_policy_that_never_founds_is_reported(capsys: Any, tmp_path: Path) -> None:
    (tmp_path / "never.py").write_text("def choose_founder(facts): return 'wait'")

    code, tree = run_check(capsys, str(tmp_path / "never.py"), *FEW)

    assert code == 1
    assert "trace" not in tree
    assert tree["too_careful"] > 0


def test_a_policy_that_reads_unknown_as_absent_is_reported_on_every_world(
    capsys: Any, tmp_path: Path
) -> None:
    """This policy chooses among the nodes that answer, as if there were no other nodes."""
    (tmp_path / "blind.py").write_text(
        "def choose_founder(facts):\n"
        "    known = [one for one in facts['stores'] if one['state'] != 'none']\n"
        "    return max(known, key=lambda one: one['seq'] or 0)['host'] if known else 'wait'\n"
    )

    for world in ("galera", "joinproto"):
        _, tree = run_check(capsys, str(tmp_path / "blind.py"), "--world", world)
        assert tree["unknown_as_absent"] > 0


def test_the_smallest_number_is_defeated_on_the_join_protocol(capsys: Any, tmp_path: Path) -> None:
    """A member that the second view left behind lacks frames that the view acknowledged."""
    rule, page = tmp_path / "lowest.py", tmp_path / "page.md"
    rule.write_text(
        "def choose_founder(facts):\n"
        "    return min(facts['stores'], key=lambda one: one['seq'] or 0)['host']\n"
    )

    code, tree = run_check(capsys, str(rule), "--world", "joinproto", "--report", str(page))

    assert (code, tree["property"]) == (1, "no acknowledged frame is lost")
    assert HARMS["no acknowledged frame is lost"] in page.read_text("utf-8")
    assert "recover pick --json a.info b.info c.info" in page.read_text("utf-8")


def test_a_policy_gets_far_fewer_questions_than_there_are_states() -> None:
    """Many states of the join protocol have the same disks."""
    asker = Questioner(pick, ("choose-founder",))
    put = Counter[str]()
    answer = asker.answer

    def counted(asked: StateQuestion) -> str | None:
        put[asked.question.line] += 1
        return answer(asked)

    asker.answer = counted  # type: ignore[method-assign]

    report = check(ours.world(asker), states_max=3_000)

    assert len(put) > 1
    # 1,407 questions for 3,082 states; with a question for each state, there were 2,590.
    assert 3 * put.total() < 2 * report.distinct


@pytest.mark.parametrize("world", [name for name, it in WORLDS.items() if not it.is_bounded])
def test_an_option_that_a_world_does_not_use_is_refused(capsys: Any, world: str) -> None:
    code, tree = run_check(capsys, "pick", "--world", world, "--ends", "2")

    assert code == 2
    assert "--ends" in tree["error"]["message"]


def test_the_error_of_a_failing_policy_is_reported(capsys: Any, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def choose_founder(facts): return facts['nothing']")

    code, tree = run_check(capsys, str(tmp_path / "broken.py"))

    assert code == 2
    assert "KeyError: 'nothing'" in tree["error"]["message"]


def test_the_run_that_defeats_a_policy_is_written(capsys: Any, tmp_path: Path) -> None:
    page = tmp_path / "run.html"

    main(["policy", "check", str(EXAMPLES / "last_in_list.py"), "--trace", str(page)])

    assert "asked for a founder" in page.read_text()
    assert "defeats it" in capsys.readouterr().out


def test_the_knowledge_of_a_policy_decides_which_answers_are_safe() -> None:
    """A founder is safe for a question if it is safe in every state that leads to it."""
    store = found(Node("a", runs=False, serves=False, data=(0,), view=("a.1", "b.1")))
    question = Question(ask="choose-founder", nodes=("a", "b"), stores=(store_result(store),))

    def careful(*safe: frozenset[str]) -> int | None:
        asker = Questioner(lambda asked: "wait")
        for each in safe:
            asker.answer(StateQuestion(question=question, found=(store,), safe=each))
        return totals_of(asker, is_whole=True).too_careful

    assert careful(frozenset("a")) == 1
    assert careful(frozenset("a"), frozenset()) == 0


def test_real_stores_are_put_to_a_policy(capsys: Any, tmp_path: Path) -> None:
    """`recover pick --policy` prints the program's choice next to the verdict."""
    for name, seqno, mark in (("a", 7, 0), ("b", 9, 1)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "grastate.dat").write_text(
            "# GALERA saved state\nversion: 2.1\nuuid:    6a1f3c9e-0000-11ee-8d7e-1f2e3d4c5b6a\n"
            f"seqno:   {seqno}\nsafe_to_bootstrap: {mark}\n"
        )
    words = ["recover", "pick", str(tmp_path / "a"), str(tmp_path / "b"), "--nodes", "2", "--json"]

    main([*words, "--policy", str(EXAMPLES / "flag_first.py")])

    found = json.loads(capsys.readouterr().out)
    assert found["policy"]["answer"] == "b"
    assert found["policy"]["agrees"] is True
