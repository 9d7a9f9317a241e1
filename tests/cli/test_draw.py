"""`joinproto draw` lists its drawings, and every drawing is complete."""

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from joinproto.__main__ import main
from joinproto.cli.diagrams.catalog import FORMATS, drawings
from joinproto.cli.diagrams.graph import graph_of_machine
from joinproto.cli.main import COMMANDS, CommandRow
from joinproto.join.admission import admission
from joinproto.join.awaiting import awaiting
from joinproto.join.phases import arrows, standing
from joinproto.join.succession import founding, going_on, reopening
from joinproto.machine.tables import Table
from joinproto.machine.vocabulary import Phase
from joinproto.reference.note.initialization import initialization
from joinproto.reference.note.machine import note_machine
from tools import docs

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(autouse=True)
def command(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the command under its name, whether or not the group lists it."""
    monkeypatch.setitem(
        COMMANDS, "draw", CommandRow("joinproto.cli.commands.draw:draw", "Draw machines.")
    )


def test_without_a_name_the_command_lists_all_drawings(capsys: pytest.CaptureFixture[str]) -> None:
    """Machines come first, and then tables."""
    code = main(["draw"])
    lines = capsys.readouterr().out.splitlines()

    assert 0 == code
    assert "machines:" == lines[0]
    assert set(drawings()) <= {line.split()[0] for line in lines}


def test_the_list_of_drawings_is_also_one_json_object(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["draw", "--json"])
    found = json.loads(capsys.readouterr().out)

    assert 0 == code
    assert list(drawings()) == [drawing["name"] for drawing in found["drawings"]]
    assert list(FORMATS) == found["formats"]


def test_a_machine_is_drawn_with_all_its_arrows(capsys: pytest.CaptureFixture[str]) -> None:
    """Every case of every table is on an edge."""
    code = main(["draw", "note"])
    text = capsys.readouterr().out

    assert 0 == code
    assert text.startswith("stateDiagram-v2\n    [*] --> stopped\n")
    assert "    initializing --> aborted : agreed I2, I4, I5, I6, J3\n" in text
    for arrow in note_machine().arrows:
        for phase in arrow.sources:
            for case in arrow.table.cases:
                start = f"    {phase.value} --> {case.outcome.value} : "
                edge = next(line for line in text.splitlines() if line.startswith(start))
                assert case.label in edge


def test_the_member_that_ships_is_drawn_with_the_arrows_that_searches_meet(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """No table has these arrows, because a member's next phase follows from its knowledge."""
    code = main(["draw", "join"])
    text = capsys.readouterr().out

    assert 0 == code
    assert text.startswith("stateDiagram-v2\n    [*] --> initializing\n")
    for arrow in arrows():
        for case in arrow.table.cases:
            assert f" --> {case.outcome.value} : " in text, case.outcome
    assert "    ready --> active : receive Ready\n" in text
    assert "down --> active" not in text


OWN = """
from joinproto.check import World, sometimes
class Lamp:
    def __init__(self): self.state, self.n = "off", 0
    def choices(self): return ["switch"] if self.n < 3 else []
    def receive(self, event):
        self.state = {"off": "on", "on": "off"}[self.state]
        self.n += 1
def world():
    claims = [sometimes("on", lambda view: view["lamp"].state == "on")]
    return World(name="lamps", members={"lamp": Lamp}, properties=claims)
"""


def test_the_members_of_a_users_model_are_drawn(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """An attribute with a name such as `phase` or `state` gives the nodes; arrows count steps."""
    (tmp_path / "lamps.py").write_text(OWN)

    code = main(["draw", str(tmp_path / "lamps.py")])
    done = capsys.readouterr()

    assert 0 == code
    assert "Lamp by its state: all 4 states of" in done.err
    lines = ["    [*] --> off", "    off --> on : switch 2", "    on --> off : switch 1"]
    assert ["stateDiagram-v2", *lines] == done.out.splitlines()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("two-phase-commit", "--member", "rm9"), "did you mean rm3?"),
        (("two-phase-comit",), "did you mean two-phase-commit?"),
        (("ring-election", "--by", "nothing"), "has no attribute 'nothing'"),
        (("note", "--by", "x"), "--member and --by are for a world"),
    ],
)
def test_a_wrong_world_member_or_attribute_is_refused(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
) -> None:
    code = main(["draw", *words])

    assert (2, True) == (code, message in capsys.readouterr().err)


def test_every_table_of_the_chain_can_be_drawn() -> None:
    tables: list[Table[Any]] = [
        founding(),
        reopening(),
        going_on(),
        admission(),
        awaiting(),
        standing(),
    ]

    for table in tables:
        rows = drawings()[table.name].as_text("markdown").splitlines()[2:]
        assert [case.name for case in table.cases] == [row.split(" | ")[1] for row in rows]


def test_a_table_is_drawn_as_a_chain_of_questions(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The last case has no question: it applies if no other case does."""
    main(["draw", "note-joining"])
    lines = capsys.readouterr().out.splitlines()

    assert "flowchart TD" == lines[0]
    assert '    start((start)) --> c0{"I2: options not the same within A + me?"}' == lines[1]
    assert '    c2 -->|no| o3["aborted (wrong-store)<br/>J3: wrong store"]' == lines[-1]


@pytest.mark.parametrize("name", drawings())
def test_every_svg_is_well_formed_and_inside_its_frame(name: str) -> None:
    """No text lies outside the frame, and no two texts start at the same place."""
    root = ET.fromstring(drawings()[name].as_text("svg"))
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    places = [
        (float(text.attrib["x"]), float(text.attrib["y"]), text.text or "")
        for text in root.iter(f"{SVG}text")
    ]

    assert len(places) == len({(x, y) for x, y, _ in places})
    for x, y, text in places:
        assert 0 <= x
        assert x + len(text) * 6.7 <= width + 1, text
        assert 0 < y <= height, text


def test_every_phase_is_a_node_of_the_drawing() -> None:
    """The phases in which a member ends are nodes too."""
    graph = graph_of_machine(note_machine())

    assert {phase.value for phase in Phase} == set(graph.nodes)


def test_every_case_of_a_table_is_a_row_of_its_svg() -> None:
    """A row has the rule and the outcome of its case."""
    text = drawings()["note-initialization"].as_text("svg")

    for case in initialization().cases:
        assert f">{case.label}<" in text
        assert f">{case.outcome.value}" in text


def test_a_drawing_is_written_to_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command then prints nothing to standard output."""
    file = tmp_path / "note.svg"

    code = main(["draw", "note", "--format", "svg", "--out", str(file)])

    assert 0 == code
    assert "" == capsys.readouterr().out
    assert file.read_text(encoding="utf-8").startswith("<svg")


def test_a_drawing_is_also_one_json_object(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The object has the text, or the file that the text was written to."""
    main(["draw", "qpid", "--json"])
    printed = json.loads(capsys.readouterr().out)
    main(["draw", "qpid", "--json", "--out", str(tmp_path / "q")])
    written = json.loads(capsys.readouterr().out)

    assert {"name": "qpid", "kind": "machine", "format": "mermaid"}.items() <= printed.items()
    assert printed["text"] + "\n" == (tmp_path / "q").read_text(encoding="utf-8")
    assert str(tmp_path / "q") == written["out"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["draw", "nothing"], 2, "no drawing and no world 'nothing'"),
        (["draw", "note", "--format", "png"], 2, "png"),
        (["draw", "--out", "x"], 2, "no drawing is named"),
        (["draw", "note", "--out", "no/such/folder/x"], 4, "cannot write"),
    ],
)
def test_a_drawing_that_cannot_be_made_is_reported(
    arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit code is that of the kind of error."""
    assert code == main([*arguments, "--json"])
    assert message in json.loads(capsys.readouterr().out)["error"]["message"]


def test_a_block_that_is_out_of_date_is_found_and_written_again() -> None:
    """The text around a block stays as it is."""
    text = "before\n<!-- drawing: note-joining -->\nold\n<!-- end -->\nafter\n"

    made = docs.regenerate(text)

    assert made != text
    assert made == docs.regenerate(made)
    assert re.search(r"(?m)^J3 +wrong store +always +aborted", made)
    assert made.startswith("before\n")
    assert made.endswith("after\n")
