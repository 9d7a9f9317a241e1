"""The hard limit of an end: whatever hangs, the process exits with its code in time."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

HANGS = {
    "a thread that does not end": "threading.Thread(target=time.sleep, args=(60,)).start()",
    "a call that does not return": "time.sleep(60)",
    "a log that nobody can write": "log.handlers[0].acquire(); threading.Event().wait()",
    "an event loop with a task that cannot be cancelled": "asyncio.run(stubborn())",
}
PROGRAM = """
import asyncio, logging, threading, time
from joinproto.node.ending import end_within
async def stubborn():
    while True:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            pass
logging.basicConfig()
log = logging.getLogger()
end_within(0.3, 6)
"""


@pytest.mark.parametrize("what", HANGS)
def test_a_process_that_hangs_at_its_end_exits_with_its_code(what: str) -> None:
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM + HANGS[what]],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )

    assert 6 == done.returncode
    assert time.monotonic() - began < 20
    assert "log" in what or "did not end within 0.3 s: ends at once, with code 6" in done.stderr


def test_an_end_that_comes_in_time_keeps_its_own_code() -> None:
    program = PROGRAM.replace("end_within(0.3, 6)", "call_off = end_within(0.3, 6); call_off()")

    done = subprocess.run([sys.executable, "-c", program + "time.sleep(0.6)"], check=False)

    assert 0 == done.returncode
