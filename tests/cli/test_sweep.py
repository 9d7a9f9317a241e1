"""`joinproto check --set NAME=1..5`, and the `--help` of a world."""

from __future__ import annotations

from pathlib import Path

import pytest

from joinproto.cli.interrupting import Interrupt
from tests.cli.running import Run, run_here

MODEL = """
import enum

from joinproto.check import World, always


class Counter:
    def __init__(self, most):
        self.count, self.most = 0, most

    def choices(self):
        return ["count"] if self.count < self.most else []

    def receive(self, event):
        self.count += 1


def counter(*, counts: int = 3, claimed: int | None = None, word: str = "x"):
    return World(
        name="counter",
        members={"a": lambda: Counter(counts)},
        properties=[always("few", lambda view: claimed is None or view["a"].count <= claimed)],
    )


class Colour(enum.Enum):
    RED = 1


def _one(properties=(always("true", lambda view: True),), **more):
    members = {"a": lambda: Counter(2)}
    return World(name="one", members=members, properties=[*properties], **more)


def never(*, k: int = 1):
    return _one(properties=[always("idle", lambda view: True, premise=lambda view: False)])


def bounded(*, k: int = 1):
    return _one(within=lambda view: view["a"].count < k, same=lambda view: view["a"].count)


def raises(*, k: int = 1):
    return _one(properties=[always("odd", lambda view: 1 // (3 - k))])


def words(*, text: str = "x", listed: list = (), colour: Colour = Colour.RED, share: float = 0.5):
    return _one(about=repr((text, listed)))


def untyped(*, share=None):
    return _one(about=repr(share))


def anything(**more):
    return _one()


def placed(k=1, /):
    return _one()


made, number = dict, 5
"""


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return lambda *words: run_here(capsys, "check", *words)


@pytest.fixture
def model(tmp_path: Path) -> str:
    file = tmp_path / "counter.py"
    file.write_text(MODEL)
    return f"{file}::counter"


def test_a_parameter_is_swept(run: Run, model: str) -> None:
    """A counter to n has n + 1 states; the claim "3 at most" is violated from n = 4 on."""
    done = run(model, "--set", "counts=2..5", "--set", "claimed=3", "--json")

    searches = done.object["searches"]
    assert [2, 3, 4, 5] == [item["options"]["counts"] for item in searches]
    assert [3, 4, 5, 5] == [item["distinct"] for item in searches]
    assert [[], [], ["few"], ["few"]] == [item["broken"] for item in searches]
    assert 1 == done.code


def test_values_are_listed_and_printed_as_a_table(run: Run, model: str) -> None:
    done = run(model, "--set", "counts=each:1,9")

    lines = [line.split() for line in done.out.splitlines()]
    assert ["counter"] == lines[0]
    assert ["counts", "result", "states", "steps", "depth", "time", "broken"] == lines[1]
    assert [["1", "holds", "2"], ["9", "holds", "10"]] == [line[:3] for line in lines[2:]]
    assert 0 == done.code


def test_a_sweep_is_refused_before_its_first_search(run: Run, model: str) -> None:
    for words, message in (
        (["counts=5..2"], "goes from 5 down to 2"),
        (["counts=0..1000"], "asks for 1,001 searches"),
        (["counts=1..20", "claimed=1..20"], "ask for 400 searches"),
        (["counts=each:1,two"], "counts must be a whole number"),
    ):
        done = run(model, *(more for word in words for more in ("--set", word)))
        assert (2, "") == (done.code, done.out)
        assert message in done.err
    assert 2 == run(model, "--set", "counts=1..2", "--trace", "run.html").code


def test_help_lists_the_parameters_of_a_world(run: Run, model: str) -> None:
    """The help has the type and the default of each parameter."""
    text = " ".join(run(model, "--help").out.split())
    assert "--set counts=... a whole number; 3 if not given" in text
    assert "--set claimed=... a whole number or none; none if not given" in text
    assert "--set word=... a text; x if not given" in text
    shipped = " ".join(run("durable-vote-split", "--help").out.split())
    assert "--members N 2 to 4; 3 if not given" in shipped
    assert "--partitions ... a whole number; 1 if not given" in shipped
    assert "Parameters" not in run("--help").out
    unknown = run(model.replace("::counter", "::no"), "--help").out
    assert "definesno'no'" in "".join(unknown.split())


def test_a_sweep_reports_the_remarks_of_single_searches(run: Run, model: str) -> None:
    """The remarks of each search are printed, and the exit code is that of the worst search."""
    never, bounded = (model.replace("::counter", f"::{name}") for name in ("never", "bounded"))
    idle = "“idle” says nothing here: its premise was never met"

    assert 1 == run(never, "--set", "k=1", "--strict").code
    strict = run(never, "--set", "k=1..2", "--strict")
    assert 1 == strict.code
    assert f"--strict: not exercised with --set k=2: {idle}" in strict.err
    assert 1 == strict.out.count(idle)
    assert 0 == run(never, "--set", "k=1..2").code

    text = run(bounded, "--set", "k=1..2").out
    assert "note: same(view) is not proved sound" in text
    assert "reduction: states that same(view) does not tell apart are one" in text
    first, _ = run(bounded, "--set", "k=1..2", "--json").object["searches"]
    single = run(bounded, "--set", "k=1", "--json").object
    keys = ("beyond", "notes", "reductions", "not_exercised", "stopped_by")
    assert [single[name] for name in keys] == [first[name] for name in keys]
    assert 0 < first["beyond"]

    stopped = run(model, "--set", "counts=9..10", "--max-states", "3")
    assert 3 == stopped.code
    assert "stopped: the limit of 3 states" in stopped.out


def test_a_failing_search_is_named_and_the_searches_before_it_are_reported(
    run: Run, model: str
) -> None:
    done = run(model.replace("::counter", "::raises"), "--set", "k=2..4")

    assert 2 == done.code
    assert ["2", "holds"] == done.out.splitlines()[2].split()[:2]
    assert "with --set k=3" in done.err


def test_one_ctrl_c_ends_a_sweep(run: Run, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other searches are not begun, and are named."""
    monkeypatch.setattr(Interrupt, "was_asked", lambda _: True)

    text = run(model, "--set", "counts=each:5,6,7")
    found = run(model, "--set", "counts=each:5,6,7", "--json").object

    assert 3 == text.code
    assert "not searched: --set counts=6, --set counts=7" in text.out
    assert ["interrupted"] == [item["stopped_by"] for item in found["searches"]]
    assert [{"counts": 6}, {"counts": 7}] == found["left"]


def test_a_sweep_of_one_value_is_a_sweep(run: Run, model: str) -> None:
    """A script that sweeps up to a bound always gets the same form of output."""
    assert 1 == len(run(model, "--set", "counts=1..1", "--json").object["searches"])
    assert "searches" not in run(model, "--set", "counts=1", "--json").object


def test_too_many_searches_are_counted_and_not_listed(run: Run, model: str) -> None:
    """The sweep would have a hundred million searches."""
    values = [f"{name}=1..100" for name in ("counts", "claimed", "word_", "other")]
    done = run(model, *(more for value in values for more in ("--set", value)))

    assert 2 == done.code
    assert "ask for 100,000,000 searches" in done.err


def test_values_are_separated_by_commas_outside_of_brackets(run: Run, model: str) -> None:
    words = model.replace("::counter", "::words")

    def options(value: str) -> list[object]:
        found = run(words, "--set", value, "--json").object
        return [item["options"] for item in found.get("searches", [found])]

    assert [{"text": "1..2"}] == options("text=1..2")
    assert [{"text": "1..2"}, {"text": "b"}] == options("text=each:1..2,b")
    assert [{"listed": [1, 2]}, {"listed": [3]}] == options("listed=each:[1,2],[3]")
    for value, message in (
        ("text=each:a,,b", "--set text=each:a,,b has an empty value"),
        ("text=each:", "--set text=each: has an empty value"),
        ("share=each:nan,1", "share must be a number"),
        ("share=inf", "share must be a number"),
        ("listed=[1,1e999]", "listed must be any value but nan and inf"),
        (f"share=1..{'9' * 5000}", "share must be a number"),
    ):
        done = run(words, "--set", value)
        assert (2, True) == (done.code, message in done.err)


@pytest.mark.parametrize("value", ["nan", "-inf", "Infinity", "1e999", "(1, 1e999)", "{1: -1e999}"])
def test_a_parameter_without_a_type_refuses_nan_and_infinity(
    run: Run, model: str, value: str
) -> None:
    """JSON has no such numbers."""
    untyped = model.replace("::counter", "::untyped")

    done = run(untyped, "--set", f"share={value}", "--json")

    assert 2 == done.code
    assert "share must be any value but nan and inf" in done.out
    assert 0 == run(untyped, "--set", f"share={'9' * 400}").code


def test_another_command_refuses_a_sweep(capsys: pytest.CaptureFixture[str], model: str) -> None:
    done = run_here(capsys, "simulate", model, "--set", "counts=1..5")

    assert 2 == done.code
    assert "only joinproto check takes several values" in done.err


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("made", "made is a class next: expected `world = World(...)`"),
        ("Counter", "Counter is a class"),
        ("number", "number is a value of type int"),
        ("anything", "--set NAME=... any other name"),
        ("placed", "none it is one fixed world"),
        ("words", "one of red; red if not given"),
    ],
)
def test_help_describes_each_name(run: Run, model: str, name: str, message: str) -> None:
    done = run(model.replace("::counter", f"::{name}"), "--help")

    assert 0 == done.code
    assert message in " ".join(done.out.split())


def test_help_describes_the_world_and_no_other_word(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file after --trace is not run as a world."""
    monkeypatch.chdir(tmp_path)
    Path("run.py").write_text("raise SystemExit('run')")

    assert "Parameters of token-ring:" in run("--trace", "run.py", "token-ring", "--help").out
    assert run("nonsense", "--help").out.startswith("nonsense: there is no world called 'nonsense'")
    assert run("my_ring.py::r", "--help").out.startswith(
        "my_ring.py::r: there is no file my_ring.py\n"
    )
