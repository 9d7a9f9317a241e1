"""`joinproto ask`: its list, schemas, answers and refusals."""

from __future__ import annotations

import io
import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

import fastjsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinproto.ask.catalogue import questions
from joinproto.ask.question import Question
from joinproto.cli.commands.ask import answered, described
from joinproto.codec.json_form import encoded, schema_of
from joinproto.codec.strict import DoesNotFit, fitted, parse
from tests.cli.running import Done, Run, run_here

ALL = questions()
NAMES = [one.name for one in ALL]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs `joinproto ask` here."""
    return lambda *words: run_here(capsys, "ask", *words)


@pytest.fixture
def stream(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that asks line by line."""

    def asked(name: str, *lines: str) -> Done:
        text = io.TextIOWrapper(io.BytesIO("\n".join(lines).encode()))
        monkeypatch.setattr(sys, "stdin", text)
        return run(name, "-")

    return asked


def test_without_a_question_all_questions_are_listed(run: Run) -> None:
    """Each question is one line, which begins with its name."""
    lines = run().out.splitlines()

    assert NAMES == [line.split()[0] for line in lines]


@pytest.mark.parametrize("asked", ALL, ids=NAMES)
def test_schema_and_code_agree(asked: Question[..., object]) -> None:
    """The printed examples of input and answer fit their schemas."""
    shown = described(asked)
    fastjsonschema.compile(shown["input"])(shown["input"]["examples"][0])
    fastjsonschema.compile(shown["answer"])(shown["answer"]["examples"][0])
    for name in ("rule", "why"):
        assert shown["answer"]["examples"][0][name]
    for side in ("input", "answer"):
        for name, field in shown[side]["properties"].items():
            assert field.get("description"), (asked.name, name)


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_is_one_json_object(run: Run, name: str) -> None:
    """`--schema` prints the JSON Schemas of input and answer, with an example of each."""
    assert {"question", "about", "input", "answer"} == set(run(name, "--schema").object)


def test_a_file_is_answered_in_one_line(run: Run, tmp_path: Path) -> None:
    """A file holds one object, which may take several lines."""
    file = tmp_path / "asked.json"
    file.write_text('{\n "argument": 3\n}\n')
    done = run("reconcile.target", str(file))

    assert (0, 3) == (done.code, done.object["target"])


def test_a_bad_file_prints_its_error_object_and_no_answer(run: Run, tmp_path: Path) -> None:
    """The command exits 2, names the wrong field's path, and prints nothing on standard output."""
    file = tmp_path / "asked.json"
    file.write_text('{"members": ["a"], "nodes": [{"name": "a"}, {"name": 3}]}')
    done = run("reconcile.queue", str(file))

    assert (2, "") == (done.code, done.out)
    assert "nodes[1].name" == json.loads(done.err)["error"]["path"]


def test_in_a_stream_an_error_takes_the_place_of_its_answer(stream: Run) -> None:
    """The other lines are answered, and the exit code is 2 at the end."""
    done = stream("reconcile.target", '{"argument": 3}', '{"argument": "3"}', '{"policy": 5}')
    first, second, third = map(json.loads, done.out.splitlines())

    assert 2 == done.code
    assert (3, 5) == (first["target"], third["target"])
    assert "argument" == second["error"]["path"]
    assert 'expected a whole number or null, found "3"' == second["error"]["message"]


def test_an_unknown_question_is_refused_with_the_list_of_questions(run: Run) -> None:
    """The command exits 2 and says how to list the questions."""
    for name in ("reconcile.all", "nothing", "no.thing"):
        done = run(name)
        assert 2 == done.code
        assert "joinproto ask   lists the questions" in done.err


def test_missing_input_is_refused(run: Run, tmp_path: Path) -> None:
    """The command neither waits for a terminal nor ends in a traceback."""
    assert 2 == run("reconcile.target").code
    assert 2 == run("reconcile.target", str(tmp_path / "missing")).code


BAD = [
    ('{"argument": true}', "argument"),
    ('{"argument": 1.5}', "argument"),
    ('{"argument": -1}', "argument"),
    ('{"argumen": 1}', "argumen"),
    ('{"variant": "theirs"}', "variant"),
    ('{"argument": 1, "argument": 2}', ""),
    ('{"argument": NaN}', ""),
    ('{"argument": 1e400}', ""),
    (f'{{"argument": {"9" * 400}}}', ""),
    ('{"variant": "\\ud800"}', ""),
    ("[]", ""),
    ("", ""),
    ("[" * 100_000, ""),
]


@pytest.mark.parametrize(("text", "path"), BAD, ids=range(len(BAD)))
def test_a_value_that_does_not_fit_is_reported_with_its_path(text: str, path: str) -> None:
    """The reader accepts no text for a number, no unknown field, and no field twice."""
    (asked,) = (one for one in ALL if one.name == "reconcile.target")
    with pytest.raises(DoesNotFit) as refused:
        answered(asked, text.encode())
    assert path == refused.value.path


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)


BY_NAME = {one.name: one for one in ALL}


@cache
def fields_of(name: str) -> list[str]:
    return list(schema_of(BY_NAME[name].asks, read=True)["properties"])


@cache
def checker_of(name: str) -> Any:
    """Return a check that raises if an answer does not fit its schema."""
    return fastjsonschema.compile(schema_of(BY_NAME[name].answers))


@pytest.mark.parametrize("asked", ALL, ids=NAMES)
@given(data=st.data())
def test_any_json_is_answered_or_refused(asked: Question[..., object], data: st.DataObject) -> None:
    """The example with one field changed gets an answer that fits its schema, or `DoesNotFit`."""
    field = data.draw(st.sampled_from(fields_of(asked.name)))
    value = {**asked.example, field: data.draw(JSON)}
    try:
        answer = encoded(asked.answer(fitted(asked.asks, value)))
    except DoesNotFit:
        return
    checker_of(asked.name)(json.loads(json.dumps(answer)))


def test_a_text_that_is_not_utf_8_is_refused() -> None:
    """The bytes are of another encoding."""
    with pytest.raises(DoesNotFit, match="not UTF-8"):
        parse(b'"\xff"')
