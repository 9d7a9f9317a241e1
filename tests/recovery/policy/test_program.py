"""A policy's program: each way to answer is accepted, and each way to fail has its own error."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from joinproto.errors import UsageProblem
from joinproto.recovery.found import Format, State
from joinproto.recovery.policy import program
from joinproto.recovery.policy.program import PolicyFailed, Program, asks_of, command_of
from joinproto.recovery.policy.question import Question
from joinproto.recovery.schema import Store

ScriptMaker = Callable[[str], str]


def store(host: str, seq: int | None = 1) -> Store:
    return Store(
        name=f"{host}:/data",
        path="/data",
        host=host,
        format=Format.GALERA,
        member=None,
        cluster="c",
        state=State.DIRTY,
        lineage_length=None,
        view=None,
        seq=seq,
        problems=(),
    )


def question(*hosts: str) -> Question:
    return Question(ask="choose-founder", nodes=("a", "b"), stores=tuple(map(store, hosts)))


@pytest.fixture
def script(tmp_path: Path) -> ScriptMaker:
    """Return a function that writes a shell script, and returns its path."""

    def make(text: str) -> str:
        path = tmp_path / "policy"
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return str(path)

    return make


def answers(policy: str, *asked: Question, seconds: float = 20) -> list[str | None]:
    with Program(command_of(policy), seconds=seconds) as running:
        found = [running.answer(one) for one in asked]
        running.ask_again()
    return found


def failure(policy: str, *asked: Question, seconds: float = 20) -> PolicyFailed:
    with pytest.raises(PolicyFailed) as caught:
        answers(policy, *asked, seconds=seconds)
    return caught.value


TWO = (question("a"), question("a", "b"))


def test_a_program_answers_line_by_line(script: ScriptMaker) -> None:
    assert answers(script("while read line; do echo '\"a\"'; done"), *TWO) == ["a", "a"]


def test_a_program_that_answers_one_question_is_started_for_each(script: ScriptMaker) -> None:
    assert answers(script("read line; echo wait"), *TWO) == ["wait", "wait"]


def test_a_program_that_answers_at_the_end_of_its_input_is_started_for_each(
    script: ScriptMaker,
) -> None:
    slow = script('lines=$(cat); echo "refuse"')
    assert answers(slow, *TWO, seconds=0.5) == ["refuse", "refuse"]


@pytest.mark.needs("jq")
@pytest.mark.needs("stdbuf")
def test_a_filter_that_buffers_its_output_is_not_started_for_each_question() -> None:
    """`stdbuf` makes `jq` write each line at once.  The second process is that of `ask_again`."""
    with Program(command_of("jq -c .stores[0].host"), seconds=20) as asked:
        found = [asked.answer(one) for one in TWO]
        asked.ask_again()

    assert (found, asked.starts) == (["a", "a"], 2)


def test_each_distinct_question_is_asked_once(script: ScriptMaker, tmp_path: Path) -> None:
    counted = script(f"while read line; do echo >> {tmp_path}/asked; echo wait; done")
    with Program(command_of(counted)) as asked:
        assert [asked.answer(question("a")) for _ in range(3)] == ["wait"] * 3
    assert (tmp_path / "asked").read_text() == "\n"


def test_a_python_file_answers_the_questions_for_which_it_has_functions(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "import helper\ndef choose_founder(facts):\n"
        "    print('this goes to standard error')\n    return helper.last(facts)\n"
    )
    (tmp_path / "helper.py").write_text("def last(facts): return facts['stores'][-1]['name']")
    removal = Question(ask="may-i-remove", nodes=("a", "b"), node="b", stores=(store("a"),))
    assert answers(str(file), question("a", "b"), removal) == ["b", None]


def test_a_python_file_is_asked_the_questions_for_which_it_has_functions(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("def may_i_start(facts): ...\nmay_i_remove = may_i_start\nprint('loaded')\n")

    assert asks_of(str(file)) == ("may-i-start", "may-i-remove")
    assert asks_of("jq .stores") == ("choose-founder",)


@pytest.mark.parametrize(
    ("text", "how", "said"),
    [
        ("def choose(facts): ...", "malformed", "has no function that is asked"),
        ("import nonesuch", "dies", "No module named 'nonesuch'"),
        ("while True: pass", "hangs", "is not loaded within"),
    ],
)
def test_a_python_file_without_usable_functions_is_reported(
    tmp_path: Path, text: str, how: str, said: str
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(text)
    with pytest.raises(PolicyFailed, match=said) as refused:
        asks_of(str(file), seconds=2.0 if how != "hangs" else 0.1)
    assert refused.value.how == how


def test_a_store_may_be_named_by_its_own_name(script: ScriptMaker) -> None:
    assert answers(script("while read line; do echo b:/data; done"), TWO[1]) == ["b"]


def test_a_program_that_hangs_is_reported(script: ScriptMaker) -> None:
    assert failure(script("sleep 60"), TWO[0], seconds=0.3).how == "hangs"


def test_a_program_that_computes_longer_than_its_time_is_waited_for(
    script: ScriptMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine a program that would be quick waits for a processor."""
    monkeypatch.setattr(program, "PATIENCE", 1_000)
    busy = script("read line; i=0; while [ $i -lt 1000000 ]; do i=$((i+1)); done; echo wait")

    assert answers(busy, TWO[0], seconds=0.2) == ["wait"]


def test_a_program_that_computes_for_ever_is_reported_as_hanging(script: ScriptMaker) -> None:
    assert failure(script("while :; do :; done"), TWO[0], seconds=0.05).how == "hangs"


def test_a_program_that_dies_is_reported_with_its_standard_error(script: ScriptMaker) -> None:
    problem = failure(script("echo cannot open the disk >&2; exit 3"), TWO[0])
    assert problem.how == "dies"
    assert "exit code 3" in problem.message
    assert "cannot open the disk" in problem.message


def test_a_program_that_answers_twice_is_reported(script: ScriptMaker) -> None:
    """The second line would answer the next question, which the program has not read."""
    twice = script("while read line; do printf 'wait\\nrefuse\\n'; done")

    assert failure(twice, *TWO).how == "malformed"


def test_a_program_that_answers_and_then_fails_is_reported(script: ScriptMaker) -> None:
    assert failure(script("read line; echo wait; exit 1"), *TWO).how == "dies"


def test_a_program_that_ends_without_an_answer_is_reported(script: ScriptMaker) -> None:
    assert failure(script("cat > /dev/null"), TWO[0], seconds=0.5).how == "dies"


def test_a_program_that_answers_differently_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "clock.py"
    file.write_text(
        "asked = []\ndef choose_founder(facts):\n"
        "    asked.append(1)\n    return 'wait' if len(asked) == 1 else 'refuse'\n"
    )
    assert failure(str(file), *(question("a", *["b"] * count) for count in range(4))).how == (
        "differs"
    )


@pytest.mark.parametrize("said", ["c", "12", "[]", '{"b": 1}', "", "\\377"])
def test_a_malformed_answer_is_reported(script: ScriptMaker, said: str) -> None:
    problem = failure(script(f"while read line; do printf '{said}\\n'; done"), TWO[0])
    assert problem.how == "malformed"
    assert "expected" in problem.message


@pytest.mark.parametrize("policy", ["", "'", "/nonesuch/program", "nonesuch --flag"])
def test_a_program_that_cannot_be_run_is_refused(policy: str) -> None:
    with pytest.raises(UsageProblem):
        answers(policy, TWO[0])


def test_a_file_that_is_not_executable_is_refused(tmp_path: Path) -> None:
    (tmp_path / "policy").write_text("#!/bin/sh\n")
    with pytest.raises(UsageProblem, match="not executable"):
        command_of(str(tmp_path / "policy"))


def test_a_program_that_closes_its_output_and_goes_on_is_reported(script: ScriptMaker) -> None:
    closed = script("exec 0<&-; exec 1>&-; exec sleep 60")

    assert failure(closed, TWO[0], seconds=0.3).how == "hangs"


def test_a_process_that_a_program_started_ends_with_it(script: ScriptMaker, tmp_path: Path) -> None:
    started = script(f"sleep 60 & echo $! > {tmp_path}/child; while read line; do echo wait; done")

    answers(started, TWO[0])

    child = Path(f"/proc/{(tmp_path / 'child').read_text().strip()}/stat")
    until = time.monotonic() + 10  # a busy machine needs time to end a killed process
    while _runs(child) and time.monotonic() < until:
        time.sleep(0.01)
    assert not _runs(child)


def _runs(stat: Path) -> bool:
    try:
        return stat.read_text().split()[2] != "Z"
    except OSError:
        return False
