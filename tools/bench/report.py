"""Results as text, with the same tables for the terminal and for docs/benchmarks.md."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tools.bench import spin
from tools.bench.figures import short, table, times
from tools.bench.machine import Machine
from tools.bench.results import (
    COMMIT,
    MEMBERS_OF_BASE,
    TOOL_NAMES,
    MemberCost,
    NodeCost,
    RestartCost,
    Results,
    Row,
)

MIB = 1024**2
ROUND_MICROSECONDS_MAX = 300
MEMBER_BYTES_MAX = MIB
"""The limits that the first release promised."""


def rows_table(rows: Sequence[Row]) -> str:
    """Return the measurements as a table, one line for each tool and size.

    The smallest size has no rates: it measures only the start.
    """
    return table(
        [
            "N",
            "tool:",
            "distinct",
            "CPU s",
            "wall s",
            "distinct / CPU s",
            "generated / CPU s",
            "peak MiB",
            "bytes / state",
            "calls of members",
        ],
        [
            [
                str(row.members),
                TOOL_NAMES[row.tool],
                f"{row.seen.distinct:,}",
                f"{row.cpu_seconds:.2f}",
                f"{row.wall_seconds:.2f}",
                short(None if _is_base(row) else row.distinct_per_cpu_second),
                short(None if _is_base(row) else row.generated_per_cpu_second),
                f"{row.peak_bytes / MIB:,.0f}",
                short(row.bytes_per_state),
                "-" if row.seen.calls is None else f"{row.seen.calls:,}",
            ]
            for row in rows
        ],
    )


def _is_base(row: Row) -> bool:
    return (row.world, row.members) == (COMMIT, MEMBERS_OF_BASE)


def comparisons_table(results: Results, world: str) -> str:
    return table(
        ["N", "joinproto against:", "distinct / CPU s", "start left out", "bytes / state"],
        [
            [
                str(item.members),
                TOOL_NAMES[item.peer],
                times(item.speed),
                times(item.speed_after_start),
                times(item.memory),
            ]
            for item in results.comparisons
            if item.world == world
        ],
    )


def starts_table(results: Results) -> str:
    named = [(f"`{start.command}`", start) for start in results.starts]
    if results.cold is not None:
        named.append((f"`{results.cold.command}`, the first time ever", results.cold))
    return table(
        ["command:", "CPU s", "wall s"],
        [[name, f"{it.cpu_seconds:.2f}", f"{it.wall_seconds:.2f}"] for name, it in named],
    )


def member_table(cost: MemberCost) -> str:
    """Return the cost of a member that a broker embeds, and the promised limit."""
    per_trigger = cost.trigger_us
    promised = f"{ROUND_MICROSECONDS_MAX} us"
    kib = f"{MEMBER_BYTES_MAX // 1024:,} KiB"
    return table(
        ["what:", "found", "in triggers", "at most"],
        [
            ["one trigger of its machine, the reference", _us(per_trigger), "1.00 x", "-"],
            ["one round, a heartbeat", _us(cost.round_us), times(cost.ratio), promised],
            [
                f"one round, median of {cost.life_rounds:,} of a life",
                _us(cost.life_us),
                times(cost.life_us / per_trigger),
                promised,
            ],
            [
                "one round, nine of ten are faster",
                _us(cost.life_slowest_tenth_us),
                times(cost.life_slowest_tenth_us / per_trigger),
                promised,
            ],
            ["memory, just active", f"{cost.young_bytes / 1024:,.1f} KiB", "-", kib],
            [
                f"memory, after {cost.old_views:,} views",
                f"{cost.old_bytes / 1024:,.0f} KiB",
                "-",
                kib,
            ],
        ],
    )


def node_table(cost: NodeCost) -> str:
    """Return the speed of three nodes, and of etcd on the same machine."""
    etcd = "etcd, not installed" if cost.etcd is None else f"etcd {cost.etcd}"
    return table(
        ["what:", "joinproto", etcd, "ratio"],
        [
            [
                "three new nodes start, until all serve",
                f"{cost.founded_seconds:.2f} s",
                _or_dash(cost.etcd_founded_seconds, "{:.2f} s"),
                _ratio(cost.founded_seconds, cost.etcd_founded_seconds),
            ],
            [
                f"writes a second, {cost.clients} clients",
                f"{cost.writes_per_second:,.0f}",
                _or_dash(cost.etcd_writes_per_second, "{:,.0f}"),
                _ratio(cost.writes_per_second, cost.etcd_writes_per_second),
            ],
            [
                f"writes a second, {cost.many_clients or '-'} clients",
                _or_dash(cost.many_writes_per_second, "{:,.0f}"),
                _or_dash(cost.etcd_many_writes_per_second, "{:,.0f}"),
                _ratio(cost.many_writes_per_second, cost.etcd_many_writes_per_second),
            ],
            [
                "a write of one client alone, median",
                _or_dash(_in_ms(cost.lone_seconds), "{:.2f} ms"),
                _or_dash(_in_ms(cost.etcd_lone_seconds), "{:.2f} ms"),
                _ratio(cost.lone_seconds, cost.etcd_lone_seconds),
            ],
            [
                "kill -9 of the sequencer, until the next answer",
                f"{cost.leader_killed_seconds:.2f} s",
                _or_dash(cost.etcd_leader_killed_seconds, "{:.2f} s"),
                _ratio(cost.leader_killed_seconds, cost.etcd_leader_killed_seconds),
            ],
            [
                "kill -9 of another member, until the next answer",
                f"{cost.other_killed_seconds:.2f} s",
                _or_dash(cost.etcd_other_killed_seconds, "{:.2f} s"),
                _ratio(cost.other_killed_seconds, cost.etcd_other_killed_seconds),
            ],
        ],
    )


def restart_table(cost: RestartCost) -> str:
    """Return how long a node with many frames takes to start."""
    return table(
        ["a start, until it serves:", "seconds"],
        [
            ["without a frame", f"{cost.empty_seconds:.1f}"],
            ["the first start, without index and snapshot", f"{cost.first_seconds:.1f}"],
            ["with the index and snapshot that it made", f"{cost.restart_seconds:.1f}"],
        ],
    )


def _or_dash(value: float | None, form: str) -> str:
    return "-" if value is None else form.format(value)


def _ratio(ours: float | None, theirs: float | None) -> str:
    return "-" if ours is None or not theirs else f"{ours / theirs:.2f}"


def _in_ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1_000


def _us(microseconds: float) -> str:
    return f"{microseconds:.0f} us"


def machine_lines(machine: Machine) -> list[str]:
    versions = ", ".join(f"{name} {number}" for name, number in sorted(machine.versions.items()))
    return [
        f"* {machine.processor}; {machine.processors} processors for us",
        f"* {machine.memory_gib:g} GiB of memory",
        f"* {machine.system}, Linux {machine.kernel}",
        f"* Python {machine.python}; {versions}",
        f"* load before {machine.load_before:g}, after {machine.load_after:g}",
    ]


def terminal(results: Results) -> str:
    """Return the text that the command prints at its end."""
    parts = []
    for world in dict.fromkeys(row.world for row in results.rows):
        parts += [world, rows_table([row for row in results.rows if row.world == world])]
        if any(item.world == world for item in results.comparisons):
            parts.append(comparisons_table(results, world))
    parts.append(starts_table(results))
    if results.member is not None:
        parts += ["a member", member_table(results.member)]
    if results.node is not None:
        parts += ["three nodes", node_table(results.node)]
    if results.restart is not None:
        parts += ["a node with many frames", restart_table(results.restart)]
    parts += list(results.left_out)
    parts += [f"PROBLEM: {text}" for text in results.problems]
    return "\n\n".join(parts)


def summary(results: Results) -> str:
    """Return the lines for the README: the largest size, one line for each tool."""
    commit = [row for row in results.rows if row.world == COMMIT]
    largest = max(row.members for row in commit)
    return (
        SUMMARY_HEAD.format(members=largest).strip()
        + "\n\n"
        + _shown(
            table(
                ["tool:", "distinct states", "CPU s", "states / CPU s", "bytes / state"],
                [
                    [
                        TOOL_NAMES[row.tool],
                        f"{row.seen.distinct:,}",
                        f"{row.cpu_seconds:.1f}",
                        short(row.distinct_per_cpu_second),
                        short(row.bytes_per_state),
                    ]
                    for row in commit
                    if row.members == largest
                ],
            )
        )
        + "\n"
    )


def page_table(results: Results, world: str) -> str:
    """Return a world's measurements of the largest size; benchmarks.json has all sizes."""
    largest = max(row.members for row in results.rows if row.world == world)
    return table(
        ["tool:", "distinct", "CPU s", "states / CPU s", "bytes / state"],
        [
            [
                TOOL_NAMES[row.tool],
                f"{row.seen.distinct:,}",
                f"{row.cpu_seconds:.2f}",
                short(row.distinct_per_cpu_second),
                short(row.bytes_per_state),
            ]
            for row in results.rows
            if (row.world, row.members) == (world, largest)
        ],
    )


def _shown(printed: str) -> str:
    """Return a Markdown table as columns of text, which a page shows as a program's output."""
    rows = [line for line in printed.splitlines() if not re.fullmatch(r"[|:\- ]+", line)]
    plain = [re.sub(r"`([^`|]*)`([^|]*)", r"\1\2  ", row) for row in rows]
    columns = [row.strip("|").split("|") for row in plain]
    return "\n".join(["```text", *("".join(cells)[1:].rstrip() for cells in columns), "```"])


def markdown(results: Results, *, plot: str) -> str:
    """Return docs/benchmarks.md.  `plot`: the name of the picture's file in the same folder."""
    parts = [HEAD.format(command=results.command, date=results.date)]
    parts += [f"**Problem:** {text}" for text in results.problems]
    parts += [text.replace("\n  next: ", ". Next: ") + "." for text in results.left_out]
    parts += [
        f"![Distinct states for each second of CPU, and bytes for each state]({plot})",
        SEARCHES_HEAD,
    ]
    for world in dict.fromkeys(row.world for row in results.rows):
        members = max(row.members for row in results.rows if row.world == world)
        parts += [f"### {world}, N = {members}", _shown(page_table(results, world))]
    parts += ["## Start", _shown(starts_table(results))]
    if results.member is not None:
        head = MEMBER_HEAD.format(members=results.member.members)
        parts += [head, _shown(member_table(results.member))]
    if results.node is not None:
        parts += [node_head(results.node), _shown(node_table(results.node))]
    if results.restart is not None:
        parts += [restart_head(results.restart), _shown(restart_table(results.restart))]
    parts += [
        METHOD.format(
            runs=results.runs,
            base=MEMBERS_OF_BASE,
            options=" ".join(spin.COMPILER_OPTIONS),
            times=spin.SLOTS_PER_STATE,
        ),
        "## The machine",
        "\n".join(machine_lines(results.machine)),
    ]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


SUMMARY_HEAD = """
Two-phase commit with {members} resource managers, the whole command, on two cores (`make bench`):
"""

HEAD = """
# Benchmarks

This page is for people who compare checkers, or who ask what a member costs. Written by
`{command}` on {date}; write it again rather than edit it. `benchmarks.json` has all sizes and
columns.
"""

SEARCHES_HEAD = """
## Searches

Two-phase commit has N resource managers, messages in a set that only grows, and one claim. There
are exactly 2^N + 4^N + 6^N states, and every run of every tool is compared with that. In the other
worlds calls of members' code are most of the time. The search in plain Python visits only the first
20,000 states of larger worlds. On small sizes joinproto's start is most of its time, so there the
other tools are faster.
"""

MEMBER_HEAD = """
## A member

One of {members} members, embedded as in a broker (`python -m tools.bench.member`). A round is
`receive`, `poll` and `advance`. A life goes from the founding to the orderly shutdown.
"""

NODE_HEAD = """
## Three nodes

Three processes of `joinproto node` on this machine (`python -m
tools.bench.node`). Each client has one write at a time. Every frame is on all three disks before
it is answered, so the cluster pauses for any member that is killed; etcd's is on a majority, and
etcd waits only for a new leader. `ratio` is our figure by etcd's.
{load}"""


def node_head(cost: NodeCost) -> str:
    load = "" if cost.load is None else f"The load of the machine was {cost.load:.1f} before.\n"
    return NODE_HEAD.format(load=load)


RESTART_HEAD = """
## A restart

A node with {frames:,} frames ({mega:,.0f} MB) was killed with -9 and started again (`python -m
tools.bench --only-restart`). The load of the machine was {load:.1f} before.
"""


def restart_head(cost: RestartCost) -> str:
    return RESTART_HEAD.format(frames=cost.frames, mega=cost.journal_bytes / 1e6, load=cost.load)


METHOD = """
## How it was measured

* CPU is user and system time of the whole process. Each number is the median of {runs}. The tools
  take turns, so another load affects all of them.
* joinproto is `joinproto check WORLD --members N --json --no-cache`, on all cores, with compiled
  loops.
* Bytes for each state: by how much the largest resident set grew from N = {base}.
* SPIN is compiled with `{options}`, breadth first with `-DBFS`, and again with the profile of a
  run. It uses large pages, and a hash table of the least power of two that is {times} times the
  number of states, which only this benchmark knows in advance. `tools/bench/spin.py` has the
  reasons, and `tools/bench/peers/` the models.
* Breadth first, as joinproto searches, the first counterexample is a shortest one; depth first it
  rarely is.
"""
