"""`make playground`: dist/playground, a static folder that any file server serves.

The folder has the page, Pyodide (Python in WebAssembly), joinproto with its worlds, and a snapshot
of Python's memory with both loaded.  Pyodide and the editor come from npm, in the exact versions of
`package.json`; `licences.txt` in the folder lists their sources.  The page fetches only files of
the folder.

Exit codes: 0 written, 4 a program is not installed, or npm does not reach its registry.
"""

from __future__ import annotations

import functools
import gzip
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from string import Template

import click

from joinproto import __version__
from joinproto.cli.show.page import asset, style_hash
from joinproto.errors import EnvironmentProblem
from tools.playground.listing import EXAMPLES, listing
from tools.pyz import CHECKOUT, SOURCES, dependencies

HERE = Path(__file__).parent
PACKAGES = CHECKOUT / "build/playground"
"""The folder where npm puts the packages of `package.json`."""

RESCUE = EXAMPLES / "rescue"
PYODIDE = (
    "pyodide.mjs",
    "pyodide.asm.mjs",
    "pyodide.asm.wasm",
    "pyodide-lock.json",
    "python_stdlib.zip",
)
EXPLORE = CHECKOUT / "joinproto/explore/static"
"""The folder with the page of `joinproto explore`, which is also in the wheel."""

NOT_COPIED = ("index.html", "editor.entry.js")
"""Files that are not copied: one is a template, the other is bundled."""

LEFT_OUT = re.compile(r"joinproto/(check/engine|prove|cli/rehearse|cli/validate)/")
"""Modules of commands that a page cannot run: they need NumPy, Z3, threads or sockets."""


def packages() -> Path:
    """Return the folder `node_modules`, which npm fills if the lock file has changed.

    Raises `EnvironmentProblem`.
    """
    lock = HERE / "package-lock.json"
    done = PACKAGES / "done"
    if not (done.is_file() and done.read_bytes() == lock.read_bytes()):
        PACKAGES.mkdir(parents=True, exist_ok=True)
        for name in ("package.json", "package-lock.json", ".npmrc"):
            shutil.copy(HERE / name, PACKAGES / name)
        _run("npm", "ci", "--ignore-scripts", "--silent", folder=PACKAGES)
        done.write_bytes(lock.read_bytes())
    return PACKAGES / "node_modules"


def _run(*command: str, folder: Path, **variables: str) -> None:
    program = command[0]
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        raise EnvironmentProblem(
            f"{program} is not installed", next="install Node.js and npm"
        ) from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip()[-800:]
        raise EnvironmentProblem(
            f"{Path(program).name} ended with exit code {done.returncode}: {said}",
            next="npm must reach its registry after each change of package-lock.json",
        )


def build(folder: Path) -> None:
    """Write the playground to `folder`, which is emptied first; raises `EnvironmentProblem`."""
    modules = packages()
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "pyodide").mkdir(parents=True)
    for name in PYODIDE:
        shutil.copy(modules / "pyodide" / name, folder / "pyodide" / name)
    bundled = _editor(modules, folder)
    _write_code(folder / "joinproto.tar.gz")
    (folder / "worlds.json").write_text(json.dumps(listing()), encoding="utf-8")
    _page(folder)
    (folder / "examples").mkdir()
    for carried in sorted(RESCUE.glob("*.info")):
        shutil.copy(carried, folder / "examples" / carried.name)
    _run("node", str(HERE / "snapshot.mjs"), str(folder.resolve()), folder=folder)
    text = "\n\n".join(_licences(modules, bundled))
    (folder / "licences.txt").write_text(text, encoding="utf-8")


def _editor(modules: Path, folder: Path) -> set[str]:
    """Bundle the editor; return the packages in the bundle."""
    metafile = PACKAGES / "bundle.json"
    _run(
        str(modules / ".bin/esbuild"),
        str(HERE / "web/editor.entry.js"),
        *("--bundle", "--format=esm", "--minify", "--legal-comments=none", "--log-level=error"),
        f"--outfile={folder / 'editor.js'}",
        f"--metafile={metafile}",
        folder=PACKAGES,
        NODE_PATH=str(modules),
    )
    inputs = json.loads(metafile.read_text("utf-8"))["inputs"]
    found = (re.search(r"node_modules/((?:@[^/]+/)?[^/]+)/", name) for name in inputs)
    return {match[1] for match in found if match}


def code() -> Iterator[tuple[str, bytes]]:
    """Yield name and bytes of each file for Python in the page's worker."""
    for package, folder in SOURCES.items():
        for file in folder.rglob("*"):
            name = f"{package}/{file.relative_to(folder).as_posix()}"
            if file.is_file() and "__pycache__" not in file.parts and not LEFT_OUT.match(name):
                yield name, file.read_bytes()
    for name in ("__init__", "playground/__init__", "playground/answers", "playground/worker"):
        yield f"tools/{name}.py", (CHECKOUT / f"tools/{name}.py").read_bytes()
    yield "LICENSE", (CHECKOUT / "LICENSE").read_bytes()
    yield from dependencies()


def _write_code(file: Path) -> None:
    """Write an archive of the code; the same content gives the same bytes."""
    with (
        file.open("wb") as raw,
        gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive,
    ):
        for name, data in sorted(code()):
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))


def _page(folder: Path) -> None:
    for file in (HERE / "web").iterdir():
        if file.name not in NOT_COPIED:
            shutil.copy(file, folder / file.name)
    shutil.copytree(EXPLORE, folder / "explore")
    # The colours of the report's page, which is shown inside this page.
    palette, _, _ = asset("page.css").partition("* { box-sizing")
    (folder / "palette.css").write_text(palette, encoding="utf-8")
    page = Template((HERE / "web/index.html").read_text("utf-8"))
    # Inside this page, a report's page may run only its own script.
    filled = page.substitute(script_hash=style_hash(asset("page.js")), version=__version__)
    (folder / "index.html").write_text(filled, encoding="utf-8")


def _licences(modules: Path, bundled: set[str]) -> Iterator[str]:
    """Yield the licence of everything in the folder that is not ours."""
    yield f"joinproto {__version__}\n\n{(CHECKOUT / 'LICENSE').read_text('utf-8')}"
    for name in sorted({"pyodide", *bundled}):
        package = json.loads((modules / name / "package.json").read_text("utf-8"))
        source = package.get("repository", "")
        source = source.get("url", "") if isinstance(source, dict) else source
        text = next((file.read_text("utf-8") for file in (modules / name).glob("LICEN[CS]E*")), "")
        if name == "pyodide":
            # This package names its licence without the text; axe-core has the same licence.
            text = (modules / "axe-core/LICENSE").read_text("utf-8")
            text += "\n" + _python_licence()
        yield f"{name} {package['version']}: {package['license']}\nSource: {source}\n\n{text}"
    for name, data in dependencies():
        if "dist-info" in name:
            yield f"{name.partition('.dist-info')[0]}\n\n{data.decode('utf-8')}"


def _python_licence() -> str:
    """Return the licence of Python, which is part of Pyodide, from this Python's files."""
    file = Path(os.__file__).with_name("LICENSE.txt")
    about = "Pyodide holds CPython and its standard library, under the PSF licence."
    return f"{about}\n\n{file.read_text('utf-8')}" if file.is_file() else about


def serve(folder: Path, port: int) -> None:
    """Serve the folder on loopback, until Ctrl-C."""
    handler = functools.partial(SimpleHTTPRequestHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", port), handler) as server:
        click.echo(f"http://127.0.0.1:{server.server_address[1]}/   (Ctrl-C ends it)")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return


@click.command()
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), default=CHECKOUT / "dist/playground"
)
@click.option(
    "--serve",
    "port",
    type=int,
    help="Serve the folder on this port of this machine after the build.",
)
@click.pass_context
def main(context: click.Context, out: Path, port: int | None) -> None:
    """Build the playground."""
    try:
        build(out)
    except EnvironmentProblem as error:
        click.echo(f"playground: {error}", err=True)
        context.exit(error.code)
    size = sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
    click.echo(f"{out}: {size:,} bytes")
    if port is None:
        click.echo(f"next: python -m http.server --directory {out}")
    else:
        serve(out, port)


if __name__ == "__main__":
    sys.exit(main())
