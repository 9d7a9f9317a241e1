"""Hidden state that members share is noticed: in another process the member acts differently."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest

from tests.cli.running import run_here

MODEL = """
import collections, contextvars, functools, os, sys, threading, time, types, weakref
from joinproto.check import NOT_ENABLED, World, always
{module}

def world():
    {around}
    class Member:
        def __init__(self, name):
            self.name, self.phase = name, "looking"

        def choices(self):
            if self.phase == "looking":
                yield "found"

        def receive(self, event):
            if event != "found" or self.phase != "looking":
                return NOT_ENABLED
            {before}
            leader = {leader}
            self.phase = "founder" if leader == self.name else "follower"
            return None

        def shows(self):
            return self.phase

    return World(
        name="w",
        members={{n: (lambda n=n: Member(n)) for n in ("m1", "m2", "m3")}},
        properties=[
            always("m2 and m3 never lead", lambda v: "founder" not in (v["m2"], v["m3"])),
        ],
    )
"""

# Name of a place -> lines of the module, a line around the class, a line before the question, and
# an expression for the member that leads.
PLACES = {
    line.partition(" ;; ")[0]: [part.replace("\\n", "\n") for part in line.split(" ;; ")[1:]]
    for line in r"""
namespace of the module ;; S = types.SimpleNamespace(l=None) ;;  ;; S.l = S.l or self.name ;; S.l
namespace around ;;  ;; S = types.SimpleNamespace(l=None) ;; S.l = S.l or self.name ;; S.l
nonlocal ;;  ;; S = None ;; nonlocal S; S = S or self.name ;; S
object around ;; class Box: l = None ;; S = Box() ;; S.l = S.l or self.name ;; S.l
environment ;;  ;;  ;;  ;; os.environ.setdefault('LEADER_OF_A_TEST', self.name)
cache ;; NOW = ''\n@functools.lru_cache(None)\ndef lead(): return NOW\ndef ask(n):\n    global NOW\n    NOW = n\n    try: return lead()\n    finally: NOW = '' ;;  ;;  ;; ask(self.name)
other module ;; import collections.abc as other ;;  ;;  ;; vars(other).setdefault('_leader_of_a_test', self.name)
function attribute ;; def f(): pass ;;  ;; f.l = getattr(f, 'l', None) or self.name ;; f.l
builtins ;; import builtins ;;  ;; builtins.leader_ = getattr(builtins, 'leader_', self.name) ;; builtins.leader_
sys ;;  ;;  ;; sys.leader_ = getattr(sys, 'leader_', self.name) ;; sys.leader_
sys.modules ;;  ;;  ;; sys.modules.setdefault('leader_x', types.ModuleType(self.name)) ;; sys.modules['leader_x'].__name__
context variable ;; V = contextvars.ContextVar('v', default=None) ;;  ;; V.set(V.get() or self.name) ;; V.get()
thread's own ;; L = threading.local() ;;  ;; L.l = getattr(L, 'l', self.name) ;; L.l
generator ;; def g():\n    first = yield\n    while True: yield first\nG = g(); next(G) ;;  ;;  ;; G.send(self.name)
partial ;; P = functools.partial(dict) ;;  ;; P.l = getattr(P, 'l', self.name) ;; P.l
bound method ;; _d = {}\nput = _d.setdefault ;;  ;;  ;; put(1, self.name)
chain map ;; C = collections.ChainMap({}) ;;  ;;  ;; C.setdefault(1, self.name)
weak dict ;; class K: pass\nW = weakref.WeakKeyDictionary(); KEY = K() ;;  ;;  ;; W.setdefault(KEY, self.name)
metaclass ;; class M(type): leader = None\nclass Base(metaclass=M): pass ;;  ;; M.leader = M.leader or self.name ;; M.leader
exception ;; E = ValueError() ;;  ;; E.args = E.args or (self.name,) ;; E.args[0]
iterator ;; I = iter(range(9)) ;;  ;;  ;; self.name if next(I, 1) == 0 else 'nobody'
bytearray ;; B = bytearray() ;;  ;; B.extend(b'' if B else self.name.encode()) ;; B.decode()
named tuple's list ;; T = collections.namedtuple('T', 'l')([]) ;;  ;; T.l or T.l.append(self.name) ;; T.l[0]
code's default ;; def d(n, s=types.SimpleNamespace(l=None)):\n    s.l = s.l or n\n    return s.l ;;  ;;  ;; d(self.name)
property's closure ;; def made():\n    o = []\n    return lambda n: (o or o.append(n), o[0])[1]\nF = made() ;;  ;;  ;; F(self.name)
annotations ;;  ;;  ;;  ;; Member.receive.__annotations__.setdefault('l', self.name)
warnings ;; import warnings ;;  ;; warnings.leader_ = getattr(warnings, 'leader_', self.name) ;; warnings.leader_
hash of a text ;;  ;;  ;;  ;; self.name if hash('a text') % 4096 == {hash} else 'nobody'
clock ;;  ;;  ;;  ;; self.name if (time.localtime().tm_hour - {hour}) % 24 < 2 else 'x'
""".strip().splitlines()  # noqa: E501
}

QUICK = ["nonlocal", "environment", "cache", "generator", "hash of a text"]


Capture = pytest.CaptureFixture[str]


def run_check(capsys: Capture, folder: Path, source: str, *options: str) -> tuple[int, str]:
    """Return the exit code of a check, and its output, or its errors unless the code is 0."""
    file = folder / "model.py"
    file.write_text(source)
    done = run_here(capsys, "check", str(file), *options)
    return done.code, done.out if done.code == 0 else done.err


def model_with_state_in(name: str) -> str:
    module, around, before, leader = PLACES[name]
    leader = leader.replace("{hour}", str(time.localtime().tm_hour))
    leader = leader.replace("{hash}", str(hash("a text") % 4096))
    return MODEL.format(
        module=module,
        around=around or "pass",
        before=before or "pass",
        leader=leader,
    )


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name in QUICK else pytest.mark.soak("mutants"))
        for name in PLACES
    ],
)
def test_state_that_members_hide_and_share_is_noticed(
    name: str, capsys: Capture, tmp_path: Path
) -> None:
    code, printed = run_check(capsys, tmp_path, model_with_state_in(name))

    assert 2 == code, printed
    assert "two answers" in printed or "fresh process" in printed


def test_a_step_that_writes_to_a_file_is_refused(capsys: Capture, tmp_path: Path) -> None:
    path = str(tmp_path / "leader")
    source = MODEL.format(
        module=f"import pathlib; P = pathlib.Path({path!r})",
        around="pass",
        before="P.exists() or P.write_text(self.name)",
        leader="P.read_text()",
    )

    code, printed = run_check(capsys, tmp_path, source)

    assert 2 == code, printed
    assert path in printed


HONEST = MODEL.format(module="", around="pass", before="pass", leader="'m1'")


def test_a_model_that_hides_nothing_holds_without_a_note(capsys: Capture, tmp_path: Path) -> None:
    code, printed = run_check(capsys, tmp_path, HONEST, "--json")

    assert 0 == code, printed
    assert not json.loads(printed)["notes"]


def test_the_report_says_that_members_were_not_asked_again(capsys: Capture, tmp_path: Path) -> None:
    code, printed = run_check(capsys, tmp_path, HONEST, "--json", "--no-verify")

    assert 0 == code, printed
    assert ["members were not asked again in a fresh process: --no-verify"] == json.loads(printed)[
        "notes"
    ]


def test_the_report_says_that_no_process_could_be_started(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nothing"))

    code, printed = run_check(capsys, tmp_path, HONEST, "--json")

    assert 0 == code, printed
    assert "no process could be made" in json.loads(printed)["notes"][0]


@pytest.mark.parametrize("member", ["m1", "m2", "m3"])
def test_a_write_to_a_file_is_reported_with_the_member_that_wrote(
    member: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = f"if self.name == {member!r}: open({str(tmp_path / 'notes')!r}, 'a').close()"
    text = MODEL.format(module="", around="", before=before, leader="'m1'")
    (tmp_path / "model.py").write_text(text)

    done = run_here(capsys, "check", str(tmp_path / "model.py"))

    assert 2 == done.code
    assert f"member {member}: a step or choices() writes to" in done.err
