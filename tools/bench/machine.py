"""The machine of a benchmark: processor, memory, system, and versions."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from attrs import Factory, frozen

CPUINFO = Path("/proc/cpuinfo")
MEMINFO = Path("/proc/meminfo")
OS_RELEASE = Path("/etc/os-release")
PACKAGES = ("attrs", "numba", "numpy")
# Program -> the option that prints its version, and the pattern of the version in the output.
PROGRAMS = {"spin": ("-V", r"Version (\S+)"), "gcc": ("-dumpfullversion", r"(\S+)")}


@frozen
class Machine:
    """Facts of a machine.  `load_before`, `load_after`: its load average of one minute, around the
    measurement.
    """

    processor: str
    processors: int
    memory_gib: float
    system: str
    kernel: str
    python: str
    versions: Mapping[str, str] = Factory(dict)
    load_before: float = 0.0
    load_after: float = 0.0


def describe() -> Machine:
    """Return the facts of this machine; an unknown text is "unknown" or left out, a number 0."""
    return Machine(
        processor=processor_of(_read(CPUINFO)),
        processors=len(os.sched_getaffinity(0)),
        memory_gib=round(memory_kib_of(_read(MEMINFO)) / 1024**2, 1),
        system=system_of(_read(OS_RELEASE)),
        kernel=platform.release(),
        python=platform.python_version(),
        versions=_versions(),
        load_before=round(os.getloadavg()[0], 2),
    )


def processor_of(cpuinfo: str) -> str:
    """Return one line from the text of /proc/cpuinfo: model, family, clock, cache."""
    found = {
        key: match[1].strip()
        for key in ("model name", "cpu family", "model", "cpu MHz", "cache size")
        if (match := re.search(rf"^{key}\s*:(.*)$", cpuinfo, re.MULTILINE))
    }
    parts = [found.get("model name", "unknown")]
    if {"cpu family", "model"} <= found.keys():
        # A virtual machine often hides the model's name, but never the family.
        parts.append(f"family {found['cpu family']} model {found['model']}")
    if "cpu MHz" in found:
        parts.append(f"{float(found['cpu MHz']):.0f} MHz")
    if "cache size" in found:
        parts.append(f"{found['cache size']} cache")
    if re.search(r"^flags\s*:.*\bhypervisor\b", cpuinfo, re.MULTILINE):
        parts.append("virtual machine")
    return ", ".join(parts)


def memory_kib_of(meminfo: str) -> int:
    """Return the machine's memory from the text of /proc/meminfo, or 0."""
    match = re.search(r"^MemTotal:\s*(\d+) kB", meminfo, re.MULTILINE)
    return int(match[1]) if match else 0


def system_of(os_release: str) -> str:
    """Return the distribution from the text of /etc/os-release."""
    match = re.search(r'^PRETTY_NAME="?([^"\n]*)', os_release, re.MULTILINE)
    return match[1] if match else platform.system()


def _read(path: Path) -> str:
    return path.read_text("utf-8") if path.exists() else ""


def _versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    for program, (option, pattern) in PROGRAMS.items():
        try:
            done = subprocess.run([program, option], capture_output=True, text=True, check=False)
        except OSError:
            continue
        if match := re.search(pattern, done.stdout):
            found[program] = match[1]
    return found
