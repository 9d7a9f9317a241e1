"""`python -m tools.histories RIG`: play random histories, and judge the verdicts about them.

RIG is rabbitmq, quorum (quorum queues of RabbitMQ), khepri (the same, with Khepri), galera, etcd,
postgresql, joinproto (our own nodes) or standby (brokers of hot standby).

`python -m tools.histories judge DIR` judges kept histories again; it needs no broker.

Exit codes: 0 no verdict is wrong, 1 some are, 2 usage, 4 a program is not installed.
"""

from __future__ import annotations

import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol, cast

import click

from joinproto.errors import JoinprotoError
from tools.histories.damage import damaged
from tools.histories.followed import Followed
from tools.histories.judged import History, judged
from tools.histories.kept import keep, kept, laid_out
from tools.histories.report import Examined, Table

RIGS = ("rabbitmq", "quorum", "khepri", "galera", "joinproto", "standby", "etcd", "postgresql")


class Rig(Protocol):
    """A module that plays histories of one broker; `follow` may be missing."""

    KINDS: tuple[str, ...]

    def draw(self, seed: int, folder: Path, kind: str | None = None) -> History: ...


Follow = Callable[[History, str, Path], Followed | None]


@click.group()
def main() -> None:
    """Play histories of real clusters, and compare `recover pick` with the stores' data."""


def _examine(
    history: History, folder: Path | None, follow: Follow | None, damages: int = 0
) -> Examined:
    try:
        if history.broker == "quorum":
            from tools.histories import quorum

            found = tuple(quorum.judged(history))
        else:
            found = tuple(judged(history))
    except JoinprotoError as error:
        return Examined(history=history, refused=error.message)
    followed = None
    worse: tuple[str, ...] = ()
    if found and folder is not None and damages:
        chance = random.Random(f"{history.seed} damage")
        worse = tuple(damaged(history, found[0], count=damages, chance=chance, folder=folder))
    if found and follow is not None and folder is not None:
        followed = follow(history, found[0].next, folder)
    return Examined(history=history, judged=found, followed=followed, worse=worse)


def _play(
    rig: Rig,
    *,
    seeds: range,
    end: float,
    kind: str | None,
    top: Path,
    out: Path | None,
    damages: int,
) -> bool:
    """Play, judge and print histories; return whether a verdict was wrong."""
    table, is_wrong = Table(), False
    follow = cast("Follow | None", getattr(rig, "follow", None))
    for seed in seeds:
        if time.monotonic() > end:
            break
        folder = top / str(seed)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o777)
        folder.chmod(0o777)
        began = time.monotonic()
        try:
            one = _examine(rig.draw(seed, folder, kind), folder, follow, damages)
        except JoinprotoError as error:
            if error.code == 4 and "not installed" in error.message:
                raise
            click.echo(f"{seed}: not played: {error.message[-500:]}", err=True)
            continue
        table.add(one)
        is_wrong = is_wrong or bool(one.wrong)
        click.echo(f"{one.line}\n    {time.monotonic() - began:.0f} s")
        if out is not None:
            keep(one.history, out / f"{one.history.kind}-{seed}")
        shutil.rmtree(folder, ignore_errors=True)
    click.echo(table.text if table.rows else "no history was played")
    return is_wrong


def _command(name: str) -> click.Command:
    @click.command(
        name, help=f"Play random histories of {name}, and judge the verdicts about them."
    )
    @click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True)
    @click.option("--count", type=click.IntRange(min=1), default=1, show_default=True)
    @click.option("--minutes", type=float, help="Begin no history after this time.")
    @click.option("--kind", help="Play only histories of this kind.")
    @click.option(
        "--damages",
        type=click.IntRange(min=0),
        default=0,
        help="The number of damaged copies of each history that are judged, too.",
    )
    @click.option(
        "--out",
        type=click.Path(path_type=Path, file_okay=False),
        help="Keep the histories in this folder.",
    )
    @click.pass_context
    def command(
        context: click.Context,
        seed: int,
        count: int,
        minutes: float | None,
        kind: str | None,
        damages: int,
        out: Path | None,
    ) -> None:
        if find_spec(f"tools.histories.{name}") is None:
            raise click.UsageError(f"there is no rig for {name}")
        rig = cast(Rig, import_module(f"tools.histories.{name}"))
        if kind is not None and kind not in rig.KINDS:
            raise click.BadParameter(f"no kind {kind}; there are: {', '.join(rig.KINDS)}")
        # If the run is terminated, its servers must end, too.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
        end = time.monotonic() + (60 * minutes if minutes else float("inf"))
        top = Path(tempfile.mkdtemp(prefix="histories-"))
        top.chmod(0o755)  # servers that do not run as root must reach the folder
        try:
            seeds = range(seed, seed + count)
            is_wrong = _play(
                rig, seeds=seeds, end=end, kind=kind, top=top, out=out, damages=damages
            )
        except JoinprotoError as error:
            click.echo(str(error), err=True)
            context.exit(error.code)
        finally:
            getattr(rig, "end", lambda: None)()
            shutil.rmtree(top, ignore_errors=True)
        context.exit(int(is_wrong))

    return command


for _name in RIGS:
    main.add_command(_command(_name))


@main.command()
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option(
    "--damages",
    type=click.IntRange(min=0),
    default=0,
    help="The number of damaged copies of each history that are judged, too.",
)
@click.pass_context
def judge(context: click.Context, folder: Path, damages: int) -> None:
    """Judge kept histories again; no broker is started."""
    table, is_wrong = Table(), False
    for _, history in kept(folder):
        with tempfile.TemporaryDirectory(prefix="histories-") as top:
            place = Path(top)
            whole = laid_out(history, place / "whole") if damages else history
            one = _examine(whole, place, None, damages)
        table.add(one)
        is_wrong = is_wrong or bool(one.wrong)
        click.echo(one.line)
    click.echo(table.text if table.rows else f"no history in {folder}")
    context.exit(int(is_wrong))


if __name__ == "__main__":
    main()
