"""The broker of the Clusterer's torture: a process that keeps messages in a file.

    python clusterer_broker.py FOLDER LABEL|-  [SOCKET]

FOLDER/data/messages begins with the label of the broker's set of data.  Each line after it is a
message, which is on disk before it is acknowledged.  The broker answers at FOLDER/broker.sock.
SOCKET: the socket of a broker whose messages it copies first.  This file imports no module of the
project, because it is started often.
"""

from __future__ import annotations

import fcntl
import os
import socket
import sys
from pathlib import Path

SECONDS = 10.0


def ask(place: str, request: str) -> str | None:
    """Return the answer of the broker at a socket; None if there is no answer."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
            link.settimeout(SECONDS)
            link.connect(place)
            link.sendall(request.encode() + b"\n")
            with link.makefile("rb") as file:
                found = file.read().decode()
    except OSError:
        return None
    return found or None


def _keep(file: Path, text: str) -> None:
    new = file.with_suffix(".new")
    with new.open("w") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    new.replace(file)


def _answer(file: Path, request: str) -> str:
    what, _, text = request.strip().partition(" ")
    if what == "publish":
        with file.open("a") as out:
            out.write(text + "\n")
            out.flush()
            os.fsync(out.fileno())
        return "kept\n"
    return file.read_text() if what == "copy" else "ends\n"


def main(folder: Path, label: str, source: str | None) -> None:
    lock = (folder / "broker.lock").open("w")
    # A broker that a killed node has left running may still hold the lock.
    fcntl.flock(lock, fcntl.LOCK_EX)
    file, place = folder / "data" / "messages", folder / "broker.sock"
    file.parent.mkdir(exist_ok=True)
    if source is not None:
        copied = ask(source, "copy")
        if copied is None:
            sys.exit(f"no broker to copy from answers at {source}")
        _keep(file, copied)
    elif not file.exists():
        _keep(file, label + "\n")
    place.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as port:
        port.bind(str(place))
        port.listen(16)
        request = ""
        while request.strip() != "end":
            link, _ = port.accept()
            with link, link.makefile("r") as lines:
                link.settimeout(SECONDS)
                try:
                    request = lines.readline()
                    link.sendall(_answer(file, request).encode())
                except OSError:
                    request = ""
        place.unlink(missing_ok=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else None)
