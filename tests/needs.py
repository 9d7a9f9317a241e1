"""The requirements of a test on the machine, and the fate of the test where one is missing.

`@pytest.mark.needs("strace", "ptrace")` names a test's requirements; `need(...)` is the same in a
fixture or a helper.  A module that cannot be imported without a package says `pytest.importorskip`
before its other imports.

* A program or a Python package that is missing: the test skips and says what to install.  In CI
  (`CI=true`), which installs all of them, the test fails.  So does every other skip there, so no
  test is left out unnoticed.
* An ability that this machine lacks and no package gives: the test skips, in CI, too.
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

# By program: the Debian package that holds it.
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

# By module: the extra that installs it, or the dependency group.
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
    """Skips a test for something that no package gives; CI allows it."""

    __module__ = "builtins"  # so that the reason is shown without it


def _says(*command: str) -> str:
    """Return the output of a failed command, "" if it succeeds."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return (done.stderr.strip() or f"exit code {done.returncode}") if done.returncode else ""


def _namespaces() -> str:
    from tools.faults.namespaces import missing

    return missing()


def _newer_python() -> str:
    from tools.bench.pythons import newer_python

    return "" if sys.version_info >= (3, 12) or newer_python() else "there is none"


def _peak() -> str:
    is_kept = "VmHWM:" in Path("/proc/self/status").read_text()
    return "" if is_kept else "this kernel keeps no peak for each program"


AS_NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
JOINPROTO = (sys.executable, "-B", "-m", "joinproto", "--version")
TMPFS = ("mount", "-t", "tmpfs", "none", "/mnt")

# By ability: a function that returns why this machine lacks it, "" where it exists.
ABILITIES: dict[str, Callable[[], str]] = {
    "/proc": lambda: "" if Path("/proc/self/statm").exists() else "there is none",
    "a peak for each program": _peak,
    "mounts": lambda: _says("unshare", "--mount", *TMPFS),
    "mounts without being root": lambda: _says("unshare", "-rm", *TMPFS),
    "network namespaces": _namespaces,
    "no root": lambda: "" if os.geteuid() else "root may do everything",
    "nobody may run joinproto": lambda: _says(*AS_NOBODY, *JOINPROTO),
    # A shell starts without the rights that setpriv itself still has.
    "nobody's shell may run joinproto": lambda: _says(
        *AS_NOBODY, "sh", "-c", 'exec "$@"', "sh", *JOINPROTO
    ),
    "ptrace": lambda: _says("strace", "-f", "-qq", "-o", os.devnull, "true"),
    "Python 3.12": _newer_python,
    "root": lambda: "tests do not run as root" if os.geteuid() else "",
}


def _there(names: tuple[str, ...]) -> list[str]:
    """Return the paths of those programs that are there; some are on no user's path."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    return [found for name in names if (found := shutil.which(name, path=path))]


def _java() -> str:
    from spark_explore.session import need_java

    try:
        need_java()
    except EnvironmentProblem as problem:
        return f"{problem.message}; {problem.next}"
    return ""


@cache
def _lacks(name: str) -> str:
    """Return the package to install for a program or a module, "" if it is present."""
    if name == "java":
        return _java()
    if name in PROGRAMS:
        is_there = _there((name,)) or Path(name).is_file()
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
    """Skip the test where one of these is missing.

    `names`: of the three tables above; programs before the abilities that take them.
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
