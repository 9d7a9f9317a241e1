"""The measured cost of a command: that of its own process and its children."""

import sys
from pathlib import Path

import pytest

from tests.needs import need
from tools.bench import spin
from tools.bench.measure import Command, measure

MIB = 1024**2
PYTHON = (sys.executable, "-S", "-E", "-c")


@pytest.fixture
def launcher(tmp_path: Path) -> Path:
    """Return peers/launch.c, compiled."""
    need("gcc")
    return spin.build_launcher(tmp_path)


def test_a_command_returns_its_outputs_and_its_exit_code(tmp_path: Path) -> None:
    """If the command wrote to standard error, its complaint is that text."""
    text = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"

    done = measure(Command([*PYTHON, text], tmp_path))

    assert (3, "out\n", "err") == (done.exit_code, done.stdout, done.complaint)


def test_the_exit_code_of_a_killed_command_is_128_plus_its_signal(tmp_path: Path) -> None:
    done = measure(Command([*PYTHON, "import os; os.kill(os.getpid(), 9)"], tmp_path))

    assert 128 + 9 == done.exit_code


def test_cpu_includes_the_children_of_a_command(tmp_path: Path) -> None:
    """Otherwise a tool that works in a child would look cheaper."""
    busy = "import time\nwhile time.process_time() < 0.3: pass"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {busy!r}])"

    alone = measure(Command([*PYTHON, busy], tmp_path))
    through = measure(Command([*PYTHON, parent], tmp_path))

    assert alone.cost.cpu_seconds >= 0.3
    assert through.cost.cpu_seconds >= 0.3


def test_memory_is_the_peak_of_resident_memory(launcher: Path, tmp_path: Path) -> None:
    """Memory that is freed again counts, and memory that is only reserved does not."""
    taken = f"x = b'x' * (100 * {MIB}); del x"
    reserved = f"import mmap; mmap.mmap(-1, 100 * {MIB})"

    plain, large, empty = (
        measure(Command([*PYTHON, text], tmp_path), launcher=launcher).cost.peak_bytes
        for text in ("import mmap", taken, reserved)
    )

    assert 95 * MIB < large - plain < 105 * MIB
    assert abs(empty - plain) < 5 * MIB


def test_the_environment_reaches_the_command(tmp_path: Path) -> None:
    """The variables are added to those of this process."""
    text = "import os; print(os.environ['OF_THIS_TEST'], 'PATH' in os.environ)"

    done = measure(Command([*PYTHON, text], tmp_path, {"OF_THIS_TEST": "1"}))

    assert "1 True\n" == done.stdout


def test_a_small_program_shows_its_own_memory_under_the_launcher(
    launcher: Path, tmp_path: Path
) -> None:
    """Without the launcher, a child begins with the peak of its parent (peers/launch.c)."""
    command = Command(["sh", "-c", "exit 5"], tmp_path)

    own = measure(command, launcher=launcher)
    inherited = measure(command)

    assert 5 == own.exit_code == inherited.exit_code
    assert own.cost.peak_bytes < 5 * MIB < inherited.cost.peak_bytes
