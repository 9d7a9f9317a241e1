"""`joinproto explore`: a page on this machine that walks through a world's states.

0  ended by Ctrl-C, or the page was written    2  usage, a bad model
                                               4  a package is missing, or a port is taken
"""

from __future__ import annotations

import html
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from joinproto.cli import completing, loading
from joinproto.cli.options import FILE, option
from joinproto.errors import not_installed

if TYPE_CHECKING:
    from joinproto.explore.session import Session

EXAMPLE = """\b
Examples:
  joinproto explore join
  joinproto explore docs/examples/my_first_try.py
  joinproto explore termination --mutant stays-white
  joinproto explore docs/examples/my_model.py --export page.html
  joinproto explore run.json
  joinproto explore run.json --world docs/examples/my_first_try.py
  joinproto explore events/
"""


@click.command(epilog=EXAMPLE)
@click.argument(
    "targets",
    metavar="WORLD|FILE.py[::NAME]|RUN.json|LOG...",
    nargs=-1,
    required=True,
    shell_complete=completing.worlds,
)
@loading.world_options
@option("--world", "With runs or logs: their world.", metavar="WORLD|FILE.py")
@option(
    "--patterns",
    "With logs of another program: which lines report which steps.",
    FILE,
    metavar="FILE",
)
@option(
    "--port",
    "Listen on this port; 0: any free port.",
    click.IntRange(0, 65535),
    default=0,
    metavar="N",
)
@option(
    "--export",
    "Write the page with all states as one file, and end.",
    click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.html",
)
@option(("--open/--no-open", "opens"), "Open the page in a browser.", default=True)
def explore(
    targets: tuple[str, ...],
    world: str | None,
    patterns: Path | None,
    port: int,
    export: Path | None,
    opens: bool,
    **arguments: Any,
) -> int:
    """Walk through the states of a world in the browser, on demand.

    The page is served on this machine alone, under an address with a token.  RUN.json is a run
    that `joinproto check --trace RUN.json` wrote; two runs are compared.  LOG is an event log of
    `joinproto node`, or a folder with *.jsonl; with --world and --patterns, a text log of another
    program, as `joinproto validate` takes it.
    """
    from joinproto.cli.exploring import session_of

    options = loading.given(arguments)
    session = session_of(targets, options, world=world, patterns=patterns)
    if export is not None:
        return _exported(session, export)
    if find_spec("starlette") is None:
        raise not_installed("starlette")
    from joinproto.explore.listening import take_port

    loaded = session.now.loaded
    if find_spec("numba") is not None:
        from joinproto.explore.deep import Engine

        session.deep = Engine(loaded.target, loaded.options)
    taken, token = take_port(port), secrets.token_urlsafe(18)
    address = taken.address(token)
    click.echo(f"explore {session.now.loaded.words}")
    click.echo(f"  {address}")
    click.echo("  Ctrl-C ends it")
    try:
        # The server raises KeyboardInterrupt again once it has ended.
        with suppress(KeyboardInterrupt), redirect_file(address) as file:
            if opens:
                import webbrowser  # imported here: --no-open does not need it

                webbrowser.open(file.as_uri())
            # Imported after that: the browser starts while the server's libraries are loaded.
            from joinproto.explore.server import listen

            listen(session.answer, token=token, at=taken).run()
    finally:
        if session.deep is not None:
            session.deep.close()
    return 0


@contextmanager
def redirect_file(address: str) -> Iterator[Path]:
    """Yield a file that only this user can read, and that leads a browser to `address`.

    All users of a machine see the arguments of its processes.  A browser that is started with the
    address itself would show them the token.
    """
    # The folder has mode 0700 from the start.
    with TemporaryDirectory(prefix="joinproto-explore-") as folder:
        file = Path(folder) / "open.html"
        place = html.escape(address)
        text = (
            f'<!DOCTYPE html><meta charset="utf-8"><title>joinproto explore</title>'
            f'<meta http-equiv="refresh" content="0; url={place}">'
            f'<a href="{place}">joinproto explore</a>\n'
        )
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
            out.write(text)
        yield file


def _exported(session: Session, file: Path) -> int:
    from joinproto.explore.export import export

    with session.now.loaded.at_work():
        wrote = export(session, file)
    click.echo(f"wrote {file}: {wrote['states']:,} states, {wrote['bytes'] / 1e6:.1f} MB")
    return 0
