"""The requirements of a test on the machine, and the outcome of the test if one is missing.

`@pytest.mark.needs("strace", "ptrace")` names a test's requirements; `need(...)` does the same
in a fixture or a helper.  A module that cannot be imported without a package calls
`pytest.importorskip` before its other imports.

* If a program or a Python package is missing, the test skips and says what to install.  In CI
  (`CI=true`), which installs all of them, the test fails.  Every other test that skips in CI fails
  as well, so no test is left out unnoticed.
* If this machine lacks an ability that no package gives, the test skips, in CI as well.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Generator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest
from _pytest.outcomes import Skipped  # `pytest.skip.Exception` has no type

from joinproto.errors import EnvironmentProblem

ROOT = Path(__file__).resolve().parents[1]

# Program -> the Debian package that holds it.
PROGRAMS = {
    "/usr/lib/galera/libgalera_smm.so": "galera-4",
    "/usr/sbin/mkfs.ext4": "e2fsprogs",
    "chromium": "chromium",
    "debootstrap": "debootstrap",
    "dnsmasq": "dnsmasq-base",
    "etcd": "etcd-server",
    "gcc": "gcc",
    "ip": "iproute2",
    "java": "openjdk-17-jre-headless",
    "jq": "jq",
    "mariadbd": "mariadb-server",
    "mosquitto_sub": "mosquitto-clients",
    "node": "nodejs",
    "npm": "npm",
    "ocf-tester": "resource-agents",
    "rabbitmq-server": "rabbitmq-server",
    "spin": "spin",
    "stdbuf": "coreutils",
    "strace": "strace",
    "systemd-analyze": "systemd",
    "unshare": "util-linux",
    "xmllint": "libxml2-utils",
}

# Module -> the extra or the dependency group that installs it.
PACKAGES = {
    "anyio": "run",
    "cvc5": "second",
    "duckdb": "query",
    "httpx": "reconcile",
    "material": "docs",
    "matplotlib": "plot",
    "moto": "dev",
    "numpy": "check",
    "pyarrow": "spark",
    "pyspark": "spark",
    "playwright": "dev",
    "starlette": "web",
    "stormpy": "dev",
}


GROUPS = ("dev", "docs")


class Unable(Skipped):
    """Skips a test for a missing ability of the machine; CI allows this skip."""

    __module__ = "builtins"  # so that pytest shows the reason without a module name


def _failure_of(*command: str) -> str:
    """Return the complaint of a failed command, or "" if it succeeds."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return (done.stderr.strip() or f"exit code {done.returncode}") if done.returncode else ""


def _namespaces() -> str:
    from tools.faults.namespaces import missing

    return missing()


def _newer_python() -> str:
    from tools.bench.pythons import newer_python

    return "" if sys.version_info >= (3, 12) or newer_python() else "none is installed"


def _peak() -> str:
    is_kept = "VmHWM:" in Path("/proc/self/status").read_text()
    return "" if is_kept else "this kernel keeps no peak for each program"


AS_NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
JOINPROTO = (sys.executable, "-B", "-m", "joinproto", "--version")
TMPFS = ("mount", "-t", "tmpfs", "none", "/mnt")

# Ability -> a function that returns why this machine lacks it, or "" if it has it.
ABILITIES: dict[str, Callable[[], str]] = {
    "/proc": lambda: "" if Path("/proc/self/statm").exists() else "this system has no /proc",
    "a peak for each program": _peak,
    "mounts": lambda: _failure_of("unshare", "--mount", *TMPFS),
    "mounts without being root": lambda: _failure_of("unshare", "-rm", *TMPFS),
    "network namespaces": _namespaces,
    "no root": lambda: "" if os.geteuid() else "the tests run as root, who may do everything",
    "nobody may run joinproto": lambda: _failure_of(*AS_NOBODY, *JOINPROTO),
    # A shell starts without the rights that setpriv itself still has.
    "nobody's shell may run joinproto": lambda: _failure_of(
        *AS_NOBODY, "sh", "-c", 'exec "$@"', "sh", *JOINPROTO
    ),
    "ptrace": lambda: _failure_of("strace", "-f", "-qq", "-o", os.devnull, "true"),
    "Python 3.12": _newer_python,
    "root": lambda: "the tests do not run as root" if os.geteuid() else "",
}


def _path_of(program: str) -> str | None:
    """Return the path of a program, or None; some programs are not on a user's path."""
    return shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def _java() -> str:
    from spark_explore.session import need_java

    try:
        need_java()
    except EnvironmentProblem as problem:
        return f"{problem.message}; {problem.next}"
    return ""


@cache
def _lacks(name: str) -> str:
    """Return how to install a program or a module, or "" if it is installed."""
    if name == "java":
        return _java()
    if name in PROGRAMS:
        is_there = _path_of(name) is not None or Path(name).is_file()
        return "" if is_there else f"{name} is not installed: apt-get install {PROGRAMS[name]}"
    if find_spec(name) is not None:
        return ""
    place = PACKAGES[name]
    how = f"--group {place}" if place in GROUPS else f"'joinproto[{place}]'"
    return f"{name} is not installed: pip install {how}"


@cache
def _unable(name: str) -> str:
    return ABILITIES[name]()


def need(*names: str) -> None:
    """Skip the test if a requirement is missing.

    `names`: keys of the three tables above, programs before the abilities that need them.
    """
    for name in names:
        if name in ABILITIES:
            if why := _unable(name):
                raise Unable(f"this machine lacks {name}: {why}")
        elif why := _lacks(name):
            pytest.skip(why)


# -- as a plugin of pytest -------------------------------------------------------------------------


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Check the test's requirements, before its fixtures are made."""
    for mark in reversed(list(item.iter_markers("needs"))):
        need(*mark.args)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    call: pytest.CallInfo[None],
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail a test that skips in CI."""
    report = yield
    if call.excinfo is None or not isinstance(call.excinfo.value, Unable):
        _refuse(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Fail a module that skips in CI."""
    report = yield
    _refuse(report)
    return report


def _refuse(report: pytest.TestReport | pytest.CollectReport) -> None:
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("CI") == "true":
        why = report.longrepr[-1] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"CI installs what tests need, and skips none: {why}"
