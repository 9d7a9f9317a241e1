"""The stories can be played again, and then the files have the same facts."""

from pathlib import Path

import pytest

from joinproto.recovery.foreign.rabbitmq import wait_graphs
from joinproto.recovery.gather import gather, read
from tests.recovery.foreign.directories import stories, story
from tools.fixtures import galera, rabbitmq
from tools.fixtures.story import Story, tell


def ignore(_: str) -> None:
    """Ignore a line of output."""


def test_every_story_was_played_and_kept() -> None:
    """The directories in data/ have the names of the stories."""
    assert sorted(rabbitmq.STORIES) == stories("rabbitmq")
    assert sorted(galera.STORIES) == stories("galera")


def test_a_story_keeps_the_files_and_records_the_steps(tmp_path: Path) -> None:
    """The story also names missing files, and replaces an earlier story."""
    (tmp_path / "one" / "old").mkdir(parents=True)
    (tmp_path / "state").write_bytes(b"1 \n")
    told = Story("one", "About it.", ("server 1.0",), ignore)

    told.note("started")
    told.keep({"a": tmp_path}, ["state", "view"])
    told.write(tmp_path)

    assert b"1 \n" == (tmp_path / "one" / "a" / "state").read_bytes()
    text = (tmp_path / "one" / "story.txt").read_text("utf-8")
    assert "server 1.0" in text
    assert "1. started\n2. (no view in a)\n" in text
    assert not (tmp_path / "one" / "old").exists()


@pytest.mark.soak("rabbitmq")
@pytest.mark.needs("rabbitmq-server")
def test_real_rabbitmq_nodes_leave_the_same_lists_again(tmp_path: Path) -> None:
    """The nodes are killed one after the other; this takes about half a minute."""
    name = "rabbitmq-killed-in-turn"

    tell(rabbitmq, name, ignore).write(tmp_path)

    found = [read(gather(path, host="h")) for path in sorted((tmp_path / name).glob("*@*"))]
    assert wait_graphs(list(story(name).values())) == wait_graphs(found)


@pytest.mark.soak("rabbitmq")
@pytest.mark.needs("mariadbd", galera.PROVIDER)
def test_real_galera_nodes_leave_the_same_state_again(tmp_path: Path) -> None:
    """The nodes are stopped one by one, in about half a minute; the ids are new each time."""
    name = "galera-stopped-in-turn"

    tell(galera, name, ignore).write(tmp_path)

    found = [read(gather(path, host="h")) for path in sorted((tmp_path / name).glob("n*"))]
    assert [item.stopped_last for item in story(name).values()] == [
        item.stopped_last for item in found
    ]
    assert [item.state for item in story(name).values()] == [item.state for item in found]
