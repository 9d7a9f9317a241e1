"""The generated parts of docs/recovery.md: the picture and the example.

A block is between `<!-- recover: NAME -->` and `<!-- end -->`.  `pytest tests/recovery --rewrite`
writes all blocks again; a test compares them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

from attrs import evolve

from joinproto.machine.terms import ALWAYS
from joinproto.pick.table import verdicts
from joinproto.recovery import info
from joinproto.recovery.gather import gather
from tests.cli.running import Done
from tests.join import pictures
from tests.recovery.disks import lay

PAGE = Path(__file__).resolve().parents[2] / "docs" / "recovery.md"
BLOCK = re.compile(r"(<!-- recover: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
DATA = "/var/lib/broker"
NAME = "orders"
"""The cluster's name."""

Ask = Callable[..., Done]


def regenerate(text: str, folder: Path, run: Ask) -> str:
    """Return the page with every block made again; the example runs in `folder`."""
    made = {"picture": picture(), "example": example(folder, run)}

    def block(found: re.Match[str]) -> str:
        start, name, end = found.groups()
        return f"{start}\n{made[name]}\n\n{end}"

    return BLOCK.sub(block, text)


def picture() -> str:
    """Return the table of verdicts as a picture of questions, which are asked from the top."""
    lines, arrows = ["```mermaid", "block-beta", "    columns 3"], list[str]()
    for at, case in enumerate(verdicts().cases):
        verdict = case.outcome.value.upper()
        if at:
            lines.append("    space:3")
        if case.condition == ALWAYS:
            lines.append(f'    c{at}["{verdict}: {case.name}"]')
        else:
            lines.append(f'    c{at}["{case.name}?"] space o{at}["{verdict}"]')
            arrows += [f'    c{at} -- "yes" --> o{at}', f'    c{at} -- "no" --> c{at + 1}']
    return "\n".join([*lines, *arrows, "```"])


def example(folder: Path, run: Ask) -> str:
    """Return the worked example: the commands, and their real output."""
    with patch.object(pictures, "CLUSTER_NAME", NAME):
        disks = lay(folder, "F C1:ab@F.5", a="C1 C1.6", b="C1 C1.7", c="F F.5 of F")
    for name, path in disks.items():
        raw = evolve(gather(path, host=f"node-{name}"), path=DATA)
        (folder / f"node-{name}.info").write_text(info.write([raw], tool="0"))
    few = ("node-a.info", "node-c.info")
    every = ("node-a.info", "node-b.info", "node-c.info")
    parts = [
        _command_output(run, folder, "pick", *few),
        "Then `b` is reached, too.",
        _command_output(run, folder, "pick", *every),
        _command_output(run, folder, "plan", *every, "-o", "plan.json", tail=9),
    ]
    # The same plan, made on `b` itself: only the names of places differ.
    here = run("plan", *map(str, disks.values()), "-o", str(folder / "here.json"))
    digest = re.findall(r"plan      (\w{64})", here.out)[0]
    shown = re.findall(r"plan      (\w{64})", parts[-1])[0]
    agreed = run("apply", str(folder / "here.json"), "--yes", "--plan-hash", digest)
    host = re.findall(r"store     b at (.*?):/", agreed.out)[0]
    said = [
        line
        for line in agreed.out.replace(str(disks["b"]), DATA)
        .replace(digest, shown)
        .replace(digest[:16], shown[:16])
        .replace(f" {host}:", " node-b:")
        .splitlines()
        if not line.startswith("not examined again")
    ]
    cut = next(at for at, line in enumerate(said) if line.startswith("b at "))
    asked = ["", f"To go on, type: {NAME}", f"> {NAME}"]
    parts.append("On `node-b`:")
    parts.append(_indented("joinproto recover apply plan.json", [*said[:cut], *asked, *said[cut:]]))
    return "\n\n".join(parts)


def _command_output(run: Ask, folder: Path, *words: str, tail: int = 0) -> str:
    there = [str(folder / word) if word.endswith((".info", ".json")) else word for word in words]
    out = run(*there).out.replace(f"{folder}/", "")
    lines = out.splitlines()
    return _indented(f"joinproto recover {' '.join(words)}", lines[-tail:])


def _indented(command: str, lines: list[str]) -> str:
    return "\n".join(f"    {line}".rstrip() for line in [f"$ {command}", "", *lines])
