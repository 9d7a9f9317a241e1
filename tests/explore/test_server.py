"""The page's server answers this machine's own page, and no other."""

import base64
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="pip install 'joinproto[web]'")

from joinproto.explore.session import Session
from tests.explore.serving import TOKEN, request, serving

ASK = json.dumps({"verb": "state", "arguments": {"id": 0}})
JSON = {"content-type": "application/json"}
BUSY_SECONDS = 0.5
"""Seconds of CPU; reading a question takes less, so an expression is being evaluated."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    session = Session()
    session.answer("open", {"target": "docs/examples/my_first_try.py"})
    with serving(session) as place:
        yield place


def test_a_question_of_the_page_is_answered(address: str) -> None:
    status, text, headers = request(address, f"/{TOKEN}/ask", body=ASK, headers=JSON)

    assert 200 == status
    assert 2 == len(json.loads(text)["members"])
    assert "application/json" == headers["content-type"]


@pytest.mark.parametrize("name", ["app.js", "explore.css"])
def test_the_files_of_the_page_have_a_policy_that_runs_no_other_script(
    address: str, name: str
) -> None:
    status, text, headers = request(address, f"/{TOKEN}/{name}")

    assert 200 == status
    assert text
    assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self';")
    assert "nosniff" == headers["x-content-type-options"]
    assert "no-referrer" == headers["referrer-policy"]


def test_the_page_has_its_first_state_and_runs_only_its_own_script(address: str) -> None:
    """One request until the first step is shown; the policy names script and style by hash."""
    _, text, headers = request(address, f"/{TOKEN}/")
    _, state, _ = request(address, f"/{TOKEN}/ask", body=ASK, headers=JSON)

    [held] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text)
    [script] = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    [style] = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    allowed = headers["content-security-policy"]
    assert json.loads(state) == json.loads(held)["first"]
    assert allowed.startswith(f"default-src 'none'; script-src 'self' '{hashed(script)}';")
    assert f"'{hashed(style)}';" in allowed
    assert "unsafe" not in allowed


def hashed(text: str) -> str:
    """Return the hash of a text as a security policy writes it."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@pytest.mark.parametrize("path", ["/", "/favicon.ico", "/wrong/", "/wrong/app.js", f"/{TOKEN}x/"])
def test_a_wrong_token_is_refused(address: str, path: str) -> None:
    status, text, _ = request(address, path)

    assert status in (403, 404)
    assert "<" not in text


@pytest.mark.parametrize("path", [f"/{TOKEN}/ask", f"/{TOKEN}/"])
def test_another_page_gets_no_web_socket(address: str, path: str) -> None:
    upgrade = {
        "connection": "Upgrade",
        "upgrade": "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
        "origin": "https://evil.example",
    }

    status, _, _ = request(address, path, headers=upgrade)

    assert status in (403, 404, 405)


def test_a_question_with_a_wrong_token_is_refused(address: str) -> None:
    status, text, _ = request(address, "/wrong/ask", body=ASK, headers=JSON)

    assert 403 == status
    assert "the token is wrong" in text


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "rebound.example"},
        {"host": "rebound.example:80"},
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "cors"},
    ],
)
def test_another_origin_or_name_is_refused(address: str, headers: dict[str, str]) -> None:
    status, _, _ = request(address, f"/{TOKEN}/ask", body=ASK, headers={**JSON, **headers})

    assert 403 == status


@pytest.mark.parametrize(
    "path",
    [
        "../server.py",
        "..%2fserver.py",
        "%2e%2e/server.py",
        "vendor/../../server.py",
        "/etc/passwd",
        "%2fetc%2fpasswd",
        "app.js%00.html",
        "..\\server.py",
        "none.js",
    ],
)
def test_no_path_leads_out_of_the_folder(address: str, path: str) -> None:
    status, text, _ = request(address, f"/{TOKEN}/{path}")

    assert status in (403, 404)
    assert "import" not in text
    assert "root:" not in text


@pytest.mark.parametrize(
    ("body", "headers", "expected"),
    [
        ("{", JSON, 400),
        ("[]", JSON, 400),
        ('{"verb": "state", "arguments": 7}', JSON, 400),
        (ASK, {"content-type": "text/plain"}, 415),
        ("[" * 100_000, JSON, 400),
        (" " * (1 << 21), JSON, 413),
    ],
)
def test_a_malformed_question_is_refused(
    address: str, body: str, headers: dict[str, str], expected: int
) -> None:
    status, _, _ = request(address, f"/{TOKEN}/ask", body=body, headers=headers)

    assert expected == status


def test_a_failing_question_is_answered_and_the_server_continues(address: str) -> None:
    asked = json.dumps({"verb": "nearest", "arguments": {"where": "m1.nothing"}})

    status, text, _ = request(address, f"/{TOKEN}/ask", body=asked, headers=JSON)
    after, _, _ = request(address, f"/{TOKEN}/ask", body=ASK, headers=JSON)

    assert (200, 200) == (status, after)
    assert "error" in json.loads(text)


def cpu_seconds(process: int) -> float:
    """Return how many seconds of CPU a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.needs("/proc")
def test_ctrl_c_ends_the_server_while_an_expression_never_ends() -> None:
    """No traceback is printed, and the process does not wait for the thread that answers."""
    words = ["explore", "docs/examples/my_first_try.py", "--no-open"]
    process = subprocess.Popen(
        [sys.executable, "-m", "joinproto", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        process.stdout.readline()
        address = process.stdout.readline().strip()
        endless = {"where": "all(True for one in range(10000000000000))"}
        asked = json.dumps({"verb": "nearest", "arguments": endless})
        path = f"/{address.rstrip('/').rpartition('/')[2]}/ask"
        answers: list[int] = []
        asking = threading.Thread(
            target=lambda: answers.append(request(address, path, body=asked, headers=JSON)[0])
        )
        before = cpu_seconds(process.pid)
        asking.start()
        until = time.monotonic() + 60
        while cpu_seconds(process.pid) < before + BUSY_SECONDS and time.monotonic() < until:
            time.sleep(0.02)
        assert cpu_seconds(process.pid) >= before + BUSY_SECONDS
        assert asking.is_alive()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        asking.join(60)
    finally:
        process.kill()

    assert 0 == process.returncode
    assert "Traceback" not in errors
    assert [503] == answers


def test_the_list_of_processes_shows_no_token(tmp_path: Path) -> None:
    """The browser gets a file that only its user can read; it leads to the page."""
    browser, arguments = tmp_path / "browser", tmp_path / "arguments"
    browser.write_text(
        f'#!/bin/sh\necho "$@" > {arguments}.part && mv {arguments}.part {arguments}\n'
    )
    browser.chmod(0o700)
    process = subprocess.Popen(
        [sys.executable, "-m", "joinproto", "explore", "docs/examples/my_first_try.py"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "BROWSER": str(browser)},
    )
    assert process.stdout is not None
    try:
        process.stdout.readline()
        address = process.stdout.readline().strip()
        until = time.monotonic() + 60
        while not arguments.exists() and time.monotonic() < until:
            time.sleep(0.02)
        given = arguments.read_text().strip()
        file = Path(given.removeprefix("file://"))
        text = file.read_text()
        modes = [one.stat().st_mode & 0o777 for one in (file, file.parent)]
        status, _, _ = request(address, f"/{address.rstrip('/').rpartition('/')[2]}/")
        process.send_signal(signal.SIGINT)
        process.wait(60)
    finally:
        process.kill()
        process.stdout.close()

    assert address.rstrip("/").rpartition("/")[2] not in given
    assert f"url={address}" in text
    assert [0o600, 0o700] == modes
    assert 200 == status
    assert not file.exists()
