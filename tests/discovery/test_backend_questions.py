"""`joinproto ask discovery.*` of the backends; systems, section 2."""

from __future__ import annotations

import json
from typing import Any

import fastjsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joinproto.ask.question import Question
from joinproto.codec.json_form import encoded, schema_of
from joinproto.codec.strict import DoesNotFit, fitted
from joinproto.discovery.backend_questions import BACKEND_QUESTIONS

NAMES = [one.name for one in BACKEND_QUESTIONS]
EACH = pytest.mark.parametrize("question", BACKEND_QUESTIONS, ids=NAMES)


KEYS = {"access_key": "a", "secret_key": "b"}


def ask(name: str, **asked: Any) -> dict[str, Any]:
    """Return an answer, as it is printed."""
    question = BACKEND_QUESTIONS[NAMES.index(name)]
    answer: dict[str, Any] = encoded(question.answer(fitted(question.asks, asked)))
    return answer


@EACH
def test_the_schema_and_the_code_agree(question: Question[Any, Any]) -> None:
    """The example fits the input's schema, and its answer fits the answer's, with rule and why."""
    fastjsonschema.compile(schema_of(question.asks, read=True))(dict(question.example))
    answer = ask(question.name, **question.example)
    fastjsonschema.compile(schema_of(question.answers))(answer)

    assert answer["rule"] in {"D1", "D2", "D3"}
    assert answer["why"]
    assert json.dumps(answer)


def test_every_operation_of_the_backends_has_a_question() -> None:
    """Each backend has questions for its requests and for the result of given answers."""
    of = {name.split(".")[1] for name in NAMES}

    assert {"name", "dns", "aws", "k8s", "consul", "etcd2", "etcd3", "proxy"} == of
    assert len(NAMES) == len(set(NAMES))


@pytest.mark.parametrize(
    ("name", "asked", "path"),
    [
        ("discovery.consul.list", {"node": "rabbit"}, "node"),
        ("discovery.consul.list", {"port": 70000}, "port"),
        ("discovery.consul.list", {"scheme": "ftp"}, "scheme"),
        ("discovery.consul.list", {"answers": [{"status": "x"}]}, "answers[0].status"),
        ("discovery.consul.list", {"answers": [{"body": "[]"}, {}]}, "answers[1]"),
        ("discovery.dns", {"hostname": "h", "answers": [{}, {}, {}]}, "answers[2]"),
        ("discovery.aws.sign", {"host": "c", "time": "x"} | KEYS, "time"),
        ("discovery.name", {"host": ""}, "host"),
        ("discovery.proxy", {"host": "h", "scheme": "ftp"}, "scheme"),
        ("discovery.etcd3.list", {"varian": "real"}, "varian"),
    ],
)  # fmt: skip
def test_invalid_input_is_reported_with_its_path(
    name: str, asked: dict[str, Any], path: str
) -> None:
    """The error has the path of the field at fault."""
    with pytest.raises(DoesNotFit) as refused:
        ask(name, **asked)

    assert path == refused.value.path


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=6,
)
LISTS = [name for name in NAMES if name.endswith((".list", ".endpoints"))]


@pytest.mark.parametrize("name", LISTS)
@settings(max_examples=40)
@given(body=st.text(max_size=20) | JUNK.map(json.dumps), status=st.sampled_from([200, 404, 500]))
def test_a_question_has_an_answer_for_any_body_of_a_server(
    name: str, body: str, status: int
) -> None:
    """Only a body that may be JSON, with status 200, leads to a list of nodes."""
    more: dict[str, Any] = {"instance_tags": {"a": "b"}} | KEYS
    asked = more if "aws" in name else {}
    done = ask(name, answers=[{"status": status, "body": body}], **asked)

    assert done["outcome"] in {"error", "nodes", "asks"}
    if done["outcome"] == "nodes":
        assert status == 200
        assert body.strip().startswith(("[", "{"))
