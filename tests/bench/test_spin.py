"""SPIN's models have the states of our worlds, however they are compiled."""

from pathlib import Path

import pytest

from joinproto.errors import EnvironmentProblem
from tools.bench import oracle, spin
from tools.bench.measure import measure

SPIN = pytest.mark.needs("spin", "gcc")
REPORT = """
State-vector 12 byte, depth reached 28, errors: 0
 10340352 states, stored
1.1321805e+08 states, matched
1.235584e+08 transitions (= stored+matched)
        0 atomic steps
"""


def search(
    folder: Path,
    *,
    members: int,
    search: spin.Search,
    profiled: bool = False,
    wrong: bool = False,
    world: str = "two-phase-commit",
) -> spin.SpinResult:
    """Build and run the model of `world`."""
    command = spin.build(
        folder / "built",
        world,
        members=members,
        search=search,
        memory_mib=1_000,
        profiled=profiled,
        wrong=wrong,
    )
    return spin.read(measure(command).stdout)


@pytest.mark.soak("peers")
@pytest.mark.parametrize("way", ["bfs", "dfs"])
@pytest.mark.parametrize("members", [3, 4, 5])
@SPIN
def test_spin_finds_the_known_counts_of_two_phase_commit(
    tmp_path: Path, members: int, way: spin.Search
) -> None:
    """A tool that searched fewer states would look faster."""
    right = oracle.two_phase_commit(members)

    found = search(tmp_path, members=members, search=way)

    # The longest path of all is a shortest one, so both searches reach the same depth.
    expected = spin.SpinResult(right.distinct, right.generated, right.depth - 1, 0, True)
    assert expected == found


@pytest.mark.soak("peers")
@SPIN
def test_spin_finds_the_known_counts_with_nine_managers(tmp_path: Path) -> None:
    """The ninth manager is the first whose bits are in the masks that end in _b."""
    right = oracle.two_phase_commit(9)

    found = search(tmp_path, members=9, search="dfs")

    assert right.distinct == found.distinct
    assert spin.rounded(right.generated) == spin.rounded(found.generated)
    assert 0 == found.errors


@pytest.mark.soak("peers")
@pytest.mark.parametrize("way", ["bfs", "dfs"])
@pytest.mark.parametrize("members", [3, 5])
@SPIN
def test_spin_finds_a_commit_without_all_votes(
    tmp_path: Path, members: int, way: spin.Search
) -> None:
    """With N - 1 votes, one manager may have aborted while another has committed."""
    found = search(tmp_path, members=members, search=way, wrong=True)

    assert 1 == found.errors
    assert not found.is_complete


@pytest.mark.soak("peers")
@SPIN
def test_a_breadth_first_search_of_the_wrong_model_fails_after_seven_steps(tmp_path: Path) -> None:
    """Two prepare, two votes are heard, commit, one manager obeys, the third aborts."""
    found = search(tmp_path, members=3, search="bfs", wrong=True)

    assert 7 == found.depth_steps


@pytest.mark.soak("peers")
@pytest.mark.parametrize("way", ["bfs", "dfs"])
@pytest.mark.parametrize("members", [2, 3])
@SPIN
def test_spin_finds_the_space_of_founding_by_paxos(
    tmp_path: Path, members: int, way: spin.Search
) -> None:
    """The same protocol, written in Promela, has the states and steps of our world."""
    right = oracle.PAXOS_FOUNDING[members]

    found = search(tmp_path, members=members, search=way, world="paxos-founding")

    assert (right.distinct, right.generated) == (found.distinct, found.generated)
    assert (0, True) == (found.errors, found.is_complete)
    if way == "bfs":
        assert right.depth == found.depth_steps + 1


@pytest.mark.soak("peers")
@SPIN
def test_spin_finds_a_founder_accepted_below_the_promise_after_twenty_steps(tmp_path: Path) -> None:
    """Our world also breaks after 20 steps (tests/models/test_counts.py)."""
    found = search(tmp_path, members=3, search="bfs", world="paxos-founding", wrong=True)

    assert (1, 20) == (found.errors, found.depth_steps)


@pytest.mark.soak("peers")
@SPIN
def test_compiling_with_a_profile_changes_no_count(tmp_path: Path) -> None:
    """The second compilation may reorder code, but not the search."""
    right = oracle.two_phase_commit(4)

    found = search(tmp_path, members=4, search="dfs", profiled=True)

    assert (right.distinct, right.generated) == (found.distinct, found.generated)


def test_a_size_without_masks_is_refused(tmp_path: Path) -> None:
    """Eleven managers would need another set of masks."""
    with pytest.raises(EnvironmentProblem, match="not for 11"):
        spin.build(tmp_path / "b", "two-phase-commit", members=11, search="bfs", memory_mib=1_000)


def test_a_missing_spin_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next step names the Debian packages."""
    monkeypatch.setenv("PATH", "")

    problem = spin.missing()

    assert problem is not None
    assert "spin and gcc not found" in problem.message
    assert problem.next.startswith("apt-get install spin gcc")


def test_a_report_with_large_counts_is_read() -> None:
    """SPIN prints eight digits; from 10^8 on it rounds."""
    found = spin.read(REPORT)

    assert 10_340_352 == found.distinct
    assert 123_558_400 == found.generated
    assert spin.rounded(123_558_402) == spin.rounded(found.generated)
    assert 28 == found.depth_steps
    assert found.is_complete


@pytest.mark.parametrize(
    "line", ["Warning: Search not completed", "error: max search depth too small"]
)
def test_a_search_that_was_cut_off_is_not_complete(line: str) -> None:
    """SPIN counted only a part of the states."""
    assert not spin.read(REPORT + line).is_complete


def test_output_without_a_report_is_refused() -> None:
    """A crash prints no counts."""
    with pytest.raises(ValueError, match="states, stored"):
        spin.read("Segmentation fault")


@pytest.mark.parametrize(("members", "bits"), [(7, 19), (8, 22), (9, 24)])
def test_the_hash_table_is_the_smallest_with_enough_slots(members: int, bits: int) -> None:
    """A table of half the size would have less than one and a half slots for each state."""
    distinct = oracle.two_phase_commit(members).distinct

    assert bits == spin.table_bits(distinct)
    assert 2 ** (bits - 1) < 1.5 * distinct <= 2**bits
