"""The time limit of an orderly end: the process exits with its code in time, even if calls hang."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from joinproto.host.process import ending

HANGS = {
    "a thread that does not end": "threading.Thread(target=time.sleep, args=(NEVER,)).start()",
    "a call that does not return": "time.sleep(NEVER)",
    "a log that no thread can write": "log.handlers[0].acquire(); threading.Event().wait()",
    "an event loop with a task that cannot be cancelled": "asyncio.run(stubborn())",
}
PROGRAM = """
import asyncio, logging, threading, time
from joinproto.host.process import ending
NEVER = 3_600
async def stubborn():
    while True:
        try:
            await asyncio.sleep(NEVER)
        except asyncio.CancelledError:
            pass
logging.basicConfig()
log = logging.getLogger()
ending.LAST_WORDS_SECONDS = {words}
ending.end_within(0.3, 6)
"""
SECONDS = 300
"""The time after which the test would end the process; no hanging call ends before."""


@pytest.mark.parametrize("hang", HANGS)
def test_a_process_that_hangs_at_its_end_exits_with_its_code(hang: str) -> None:
    is_mute = "log" in hang
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(words=0.5 if is_mute else SECONDS) + HANGS[hang]],
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )

    assert 6 == done.returncode
    assert is_mute or "did not end within 0.3 s: ends at once, with code 6" in done.stderr


def test_an_end_that_comes_in_time_keeps_its_own_code(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[tuple[int, str]] = []
    monkeypatch.setattr(ending, "end_at_once", lambda *how: ended.append(how))

    call_off = ending.end_within(3_600, 6)
    (limit,) = (one for one in threading.enumerate() if isinstance(one, threading.Timer))
    call_off()
    limit.join(SECONDS)

    assert not limit.is_alive()
    assert [] == ended
