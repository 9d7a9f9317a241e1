"""Histories of real clusters: the judge finds errors, and the rig carries out a line `next:`.

`python -m tools.histories rabbitmq --count 10` plays histories on real nodes.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from shlex import quote
from typing import Any

import pytest
from attrs import evolve
from click.testing import CliRunner

from joinproto.pick.table import Verdict
from joinproto.recovery.foreign.etcd import facts_of
from tools.histories import joinproto
from tools.histories.__main__ import main
from tools.histories.etcd_cluster import LastStatus
from tools.histories.etcd_truth import status_faults
from tools.histories.followed import Followed, Steps, evals_of, says_loss, steps_of
from tools.histories.judged import History, judged
from tools.histories.kept import keep, kept
from tools.histories.trees import loaded

DATA = Path(__file__).parents[1] / "recovery" / "foreign" / "data"
NODES = ("a@localhost", "b@localhost", "c@localhost")


def history(story: str, tmp_path: Path, *, has: dict[str, set[str]], seed: int = 7) -> History:
    """Return a history with the files of a recorded story, and the given data of each store."""
    stores = {}
    for node in NODES:
        stores[node] = tmp_path / "stores" / node
        shutil.copytree(DATA / story / node, stores[node])
    return History(
        broker="rabbitmq",
        seed=seed,
        kind="recorded",
        events=(story,),
        stores=stores,
        has={node: frozenset(has[node]) for node in NODES},
        acknowledged=frozenset({"x-1", "x-2"}),
        nodes=3,
    )


@pytest.mark.parametrize(
    ("line", "steps"),
    [
        (
            "nothing is lost with this order: c@localhost; then a@localhost, b@localhost",
            Steps(force="", stages=(("c@localhost",), ("a@localhost", "b@localhost"))),
        ),
        (
            "start all of them within five minutes: a@localhost, b@localhost",
            Steps(force="", stages=(("a@localhost", "b@localhost"),)),
        ),
        (
            (
                "do not just start all (an older one would load first); nothing is lost by:"
                " rabbitmqctl -n b@localhost force_boot, and this order: b@localhost;"
                " then a@localhost"
            ),
            Steps(force="b@localhost", stages=(("b@localhost",), ("a@localhost",))),
        ),
        ("rabbitmqctl -n b@h.x force_boot", Steps(force="b@h.x", stages=(("b@h.x",),))),
        ("supply it; then one of a@localhost, b@localhost can be forced", None),
    ],
)
def test_the_order_of_starts_and_a_forced_start_are_read_from_the_last_line(
    line: str, steps: Steps | None
) -> None:
    assert steps == steps_of(line)


def test_the_code_after_eval_is_read_as_a_shell_reads_it() -> None:
    """The name of the queue has a quote."""
    code = """f(<<"/"/utf8>>, <<"it's"/utf8>>)."""
    line = (
        f"start a@h: each group elects; then once a@h runs: rabbitmqctl -n a@h eval {quote(code)}"
    )

    assert (("a@h", code),) == evals_of(line)
    assert () == evals_of("start a@h, b@h: each group elects")


def test_only_a_line_that_names_lost_data_says_a_loss() -> None:
    assert says_loss("force a@localhost, and what b@localhost did without the others is lost")
    assert not says_loss("nothing is lost with this order: a@localhost")
    assert not says_loss("start all of them within five minutes: a@localhost")


def test_a_loss_is_wrong_only_if_the_line_did_not_say_it() -> None:
    steps = Steps(force="", stages=(NODES,))

    def wrong_lines(*, lost: int, is_said: bool) -> list[str]:
        followed = Followed(steps=steps, kept=9, lost=lost, is_said=is_said, not_up=())
        return list(followed.wrong)

    assert [] == wrong_lines(lost=0, is_said=False)
    assert [] == wrong_lines(lost=3, is_said=True)
    assert 1 == len(wrong_lines(lost=3, is_said=False))


@pytest.mark.parametrize(
    ("last", "code"), [({"x-1", "x-2"}, 0), ({"x-1"}, 1)], ids=["has all", "lacks one"]
)
def test_a_kept_history_is_judged_again(tmp_path: Path, last: set[str], code: int) -> None:
    """In the story c stopped last, so the verdict is right if c has the others' messages."""
    has = {NODES[0]: {"x-1"}, NODES[1]: {"x-1", "x-2"}, NODES[2]: last}
    played = history("rabbitmq-stopped-in-turn", tmp_path / "played", has=has)

    keep(played, tmp_path / "kept" / "one")
    [(_, read)] = kept(tmp_path / "kept")
    done = CliRunner().invoke(main, ["judge", str(tmp_path / "kept")])

    assert (played.has, played.acknowledged) == (read.has, read.acknowledged)
    assert code == done.exit_code
    lacking = "WRONG [a,b,c] proven c@localhost, which lacks 1 acknowledged"
    assert bool(code) is (lacking in done.output)


@pytest.mark.parametrize(
    ("seed", "kind", "verdict"),
    [
        (104, "cut", Verdict.TIE),
        (118, "old-copy", Verdict.UNPROVEN),
        (121, "orderly", Verdict.CLEAN),
        # The mark is on an older store, so it permits no start.
        (119, "forced", Verdict.TIE),
    ],
)
def test_histories_of_our_nodes_are_judged_rightly_and_can_be_followed(
    seed: int, kind: str, verdict: Verdict, tmp_path: Path
) -> None:
    """Members, logs and stores run in simulated time, about a second for each history."""
    played = joinproto.draw(seed, tmp_path, kind)

    found = list(judged(played))
    followed = joinproto.follow(played, found[0].next, tmp_path)

    assert [] == [(one.given, one.wrong) for one in found if one.wrong]
    assert (verdict, True) == (found[0].verdict, len(played.acknowledged) > 0)
    assert 2 ** len(played.stores) - 1 == len(found)
    assert followed is None or (0, ()) == (followed.lost, followed.not_up)
    assert (followed is None) is (kind == "old-copy")


def test_an_unknown_rig_or_kind_is_a_usage_error() -> None:
    assert 2 == CliRunner().invoke(main, ["rabbitmq", "--kind", "none"]).exit_code
    assert 2 == CliRunner().invoke(main, ["cassandra"]).exit_code


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({}, ""),
        ({"index": 51}, "was at 51 in term 2, and is read as at 50 in term 2"),
        ({"term": 3}, "was at 50 in term 3"),
        ({"member": "77"}, "is 77 of 3a4e8dc277840ee3, not 24685c10b4a3d2d8"),
        ({"revision": 42}, "had revision 42, and 41 is read"),
        ({"revision": 42, "kill": True}, ""),
    ],
)
def test_a_difference_between_etcd_s_answer_and_our_reader_is_reported(
    change: dict[str, Any], fault: str
) -> None:
    facts = facts_of(loaded((DATA / "etcd-away" / "a.tree").read_text("utf-8")))
    said = LastStatus(
        cluster="3a4e8dc277840ee3",
        member="24685c10b4a3d2d8",
        term=2,
        index=50,
        revision=41,
        is_learner=False,
        kill=False,
    )

    found = [*status_faults("a", evolve(said, **change), facts)]

    assert len(found) == bool(fault)
    assert fault in "".join(found)
