"""Ctrl-C during a write to standard error."""

import fcntl
import os
import signal
import subprocess
import sys
import termios
import time

WRITES = """
import sys
from joinproto.cli.interrupting import interruptible
with interruptible() as interrupt:
    sys.stderr.write("." * (1 << 20))
    sys.stderr.flush()
print(interrupt.was_asked())
"""


def is_full(pipe: int) -> bool:
    """Return whether a pipe is full, so that a write waits for a reader."""
    unread = int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)
    return unread == fcntl.fcntl(pipe, fcntl.F_GETPIPE_SZ)


def test_ctrl_c_during_a_write_requests_a_stop() -> None:
    """Code that interrupts a write to one of Python's streams must not write to that stream."""
    buffered = {name: text for name, text in os.environ.items() if name != "PYTHONUNBUFFERED"}
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITES], stdout=-1, stderr=-1, text=True, env=buffered
    )
    assert writer.stderr is not None
    while not is_full(writer.stderr.fileno()):
        time.sleep(0.01)

    writer.send_signal(signal.SIGINT)
    out, errors = writer.communicate()

    assert (0, "True\n") == (writer.returncode, out), errors[-2_000:]
    assert "stopping, to report the findings" in errors
