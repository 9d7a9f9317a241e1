"""The machine's description is read from Linux's files."""

from tools.bench.machine import describe, memory_kib_of, processor_of, system_of

CPUINFO = """\
processor\t: 0
cpu family\t: 6
model\t\t: 85
model name\t: A Processor @ 2.50GHz
cpu MHz\t\t: 2500.104
cache size\t: 36608 KB
flags\t\t: fpu vme hypervisor lahf_lm
"""


def test_a_processor_is_reported_with_clock_cache_and_family() -> None:
    expected = "A Processor @ 2.50GHz, family 6 model 85, 2500 MHz, 36608 KB cache, virtual machine"
    assert expected == processor_of(CPUINFO)


def test_a_missing_processor_is_unknown_and_missing_memory_is_zero() -> None:
    """/proc/cpuinfo of other processors has other lines."""
    assert "unknown" == processor_of("Hardware : something\n")
    assert 0 == memory_kib_of("")


def test_memory_and_system_are_read() -> None:
    """Both are read from the text of /proc/meminfo and /etc/os-release."""
    assert 24_000_000 == memory_kib_of("MemTotal:       24000000 kB\nMemFree: 1 kB\n")
    assert "Debian 12" == system_of('NAME="Debian"\nPRETTY_NAME="Debian 12"\n')


def test_this_machine_can_be_described() -> None:
    """Any machine has a processor, memory, Python and NumPy."""
    found = describe()

    assert found.processors >= 1
    assert found.memory_gib > 0
    assert found.python.startswith("3.")
    assert "numpy" in found.versions
