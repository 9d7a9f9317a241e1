"""Reading a config from Erlang terms and TOML: Clusterer, U2."""

from __future__ import annotations

from contextlib import suppress
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinproto.clusterer.config import INFINITY, Config, Held, Notes
from joinproto.clusterer.reading import Form, NotConfig, Release, of_json, read
from joinproto.clusterer.writing import as_erlang, as_json, kinds
from joinproto.codec.erlang_terms import read_terms

SEED = """[{version, 43},
     {nodes, [{rabbit@hostA, {rabbit@hostB, ram}, {rabbit@hostD, disc}}]},
     {gospel, {node, rabbit@hostD}},
     {shutdown_timeout, 30}]"""
"""The first example of the document, as it is written there."""

MENDED = SEED.replace("[{rabbit@hostA", "[rabbit@hostA").replace("disc}}]", "disc}]")


def config_with(**changed: str) -> str:
    """Return a config of Erlang terms, one key a line, with `changed` values."""
    keys = {
        "version": "1",
        "nodes": "[a, {b, ram}]",
        "gospel": "{node, a}",
        "shutdown_timeout": "30",
    } | changed
    return "[" + ",\n".join(f"{{{key}, {value}}}" for key, value in keys.items()) + "]."


def test_the_first_example_of_the_seed_is_refused_with_what_to_write() -> None:
    """U2: the example nests the nodes, which is not valid; the error tells what to write."""
    with pytest.raises(NotConfig) as refused:
        read(SEED)

    assert (2, "nodes[0]") == (refused.value.line, refused.value.place)
    assert refused.value.found.startswith("nodes has {rabbit@hostA, {rabbit@hostB, ram}")
    assert refused.value.write.endswith("[rabbit@hostA, {rabbit@hostB, ram}, {rabbit@hostD, disc}]")


def test_the_corrected_example_is_read_with_a_note_on_its_missing_full_stop() -> None:
    """Its three nodes have the kinds that its text describes."""
    found = read(MENDED)

    assert (
        Config(
            version=43,
            disc=frozenset({"rabbit@hostA", "rabbit@hostD"}),
            ram=frozenset({"rabbit@hostB"}),
            gospel="rabbit@hostD",
            shutdown_timeout=30,
        )
        == found.held.config
    )
    assert "line 4: write a full stop after the last bracket" == found.note
    assert "" == read(MENDED + ".").note


EQUIVALENT = (
    "[rabbit@hostA, rabbit@hostD, {rabbit@hostB, ram}]",
    "[rabbit@hostD, rabbit@hostA, {rabbit@hostB, ram}]",
    "[{rabbit@hostB, ram}, rabbit@hostD, rabbit@hostA]",
    "[rabbit@hostA, {rabbit@hostD, disk}, {rabbit@hostB, ram}]",
    "[{rabbit@hostA, disc}, {rabbit@hostD, disk}, {rabbit@hostB, ram}]",
)


def test_the_five_ways_to_list_nodes_are_one_config() -> None:
    """Order does not matter; a bare name, disc and disk are the same."""
    found = {
        read(config_with(nodes=nodes, gospel="{node, rabbit@hostA}")).held for nodes in EQUIVALENT
    }

    assert 1 == len(found)


FAULTS = [
    ("{version, 1}.", 1, "", "{version, 1}"),
    ("foo.", 1, "", "foo"),
    ("", 1, "", "nothing"),
    ("[].\n[].", 2, "", "2 terms"),
    ("[{version, 1}", 1, "", "no ] for the [ of line 1"),
    ("[{version 1}].", 1, "", "1 after version"),
    ("[{nodes, [Host]}].", 1, "", "Host, a variable"),
    ("[{nodes, ['a}].", 1, "", "' that is not closed"),
    ("[{version, 1}].\n]", 2, "", "] where a term begins"),
    ("[{version, 2#9}].", 1, "", "2#9, not a number"),
    ("[{version, x}].", 1, "nodes", "no nodes, gospel, shutdown_timeout"),
    (config_with(version="-1", nodes="3"), 1, "version", "version is -1"),
    (config_with(version="1.0"), 1, "version", "version is 1.0"),
    (config_with(version="one", gospel="x"), 1, "version", "version is one"),
    (config_with(nodes="{a}", gospel="x"), 2, "nodes", "nodes is {a}"),
    (config_with(nodes='["a"]'), 2, "nodes[0]", 'nodes has "a"'),
    (config_with(nodes="[a, [b]]"), 2, "nodes[1]", "nodes has [b]"),
    (config_with(nodes="[{a, disq}]"), 2, "nodes[0]", "nodes has {a, disq}"),
    (config_with(nodes="[{a, ram}, a]"), 2, "nodes[1]", "nodes has a more than once"),
    (config_with(nodes="[{a, ram}, {a, ram}]"), 2, "nodes", "nodes has ram nodes only"),
    (config_with(nodes="[]"), 3, "gospel", "gospel names a, which is not among nodes"),
    (config_with(gospel="{node, c}", shutdown_timeout="x"), 3, "gospel", "gospel names c"),
    (config_with(gospel="{a}"), 3, "gospel", "gospel is {a}"),
    (config_with(gospel="none"), 3, "gospel", "gospel is none"),
    (config_with(shutdown_timeout="-3", node_ids="x"), 4, "shutdown_timeout", "is -3"),
    (config_with(shutdown_timeout="never"), 4, "shutdown_timeout", "is never"),
    (config_with(node_ids="x"), 5, "node_ids", "node_ids is x"),
    (config_with(nodes=f"[a, {'b' * 256}]"), 2, "nodes[1]", "a name of 256 characters"),
    (config_with()[:-2] + ",\ndebug].", 5, "", "debug, which is no {key, value}"),
]
"""Text, line, key and found value for each documented error, in the order of checks; texts with two
errors show which comes first.
"""


@pytest.mark.parametrize(("text", "line", "place", "found"), FAULTS, ids=range(len(FAULTS)))
def test_each_error_names_its_line_and_comes_in_its_order(
    text: str, line: int, place: str, found: str
) -> None:
    """U2: the form comes first, then missing keys, then the values of the keys in their order."""
    with pytest.raises(NotConfig) as refused:
        read(text)

    assert (line, place) == (refused.value.line, refused.value.place)
    assert found in refused.value.found
    assert refused.value.write


@pytest.mark.parametrize(
    ("text", "write"),
    [
        (config_with(nodes="[{a, disq}]"), "{a, disc} or {a, ram}"),
        (config_with(nodes="[{rabbit@a, rabbit@b}]"), "[rabbit@a, rabbit@b]"),
        (config_with(nodes="[rabbit@host-a.net, b]"), "'rabbit@host-a.net' in quotes"),
        (config_with(nodes="[rabbit@10.0.0.1]"), "'rabbit@10.0.0.1' in quotes"),
        (config_with(gospel='{node, "a"}'), "the name without double quotes: a"),
    ],
)
def test_the_suggested_text_fits_the_fault(text: str, write: str) -> None:
    with pytest.raises(NotConfig) as refused:
        read(text)

    assert refused.value.write.endswith(write)


def test_a_key_that_the_real_clusterer_ignores_is_noted() -> None:
    """The key is repeated, or is a timeout in a release without this setting."""
    twice = config_with().replace("{nodes", "{version, 2},\n{nodes")

    assert 1 == read(twice).held.config.version
    assert "line 2: version is here once more; the first one counts" == read(twice).note
    assert "line 4: shutdown_timeout is ignored" in read(config_with(), None, Release.HEAD).note


def test_many_nodes_are_read_in_seconds() -> None:
    """The search for duplicates does not compare all pairs."""
    began = process_time()

    assert 50_000 == len(read(config_with(nodes=f"[a,{','.join(many(49_999))}]")).held.config.nodes)
    assert process_time() - began < 10


def many(number: int) -> list[str]:
    """Return this many names."""
    return [f"n{at}" for at in range(number)]


def test_an_empty_list_of_nodes_is_accepted_with_reset() -> None:
    """Such a config turns every node off."""
    found = read(config_with(nodes="[]", gospel="reset")).held.config

    assert (frozenset(), None) == (found.nodes, found.gospel)


def test_a_ram_node_may_be_the_gospel() -> None:
    assert "b" == read(config_with(gospel="{node, b}")).held.config.gospel


def test_the_head_release_has_no_shutdown_timeout() -> None:
    """The key is required in the seed release, and ignored in the head release."""
    text = "[{version, 1}, {nodes, [a]}, {gospel, reset}]."

    assert read(text, release=Release.HEAD).held.config.shutdown_timeout is None
    with pytest.raises(NotConfig, match="no shutdown_timeout"):
        read(text)


def test_comments_quotes_and_the_form_on_disk_are_read() -> None:
    """The text is a stored config, with identities."""
    text = """%% ours
    [{node_id, <<"me">>}, {node_ids, [{'a-1', <<97, 98>>}]},  % ids
     {nodes, ['a-1' , b]}, {version, 16#10}, {gospel, reset}, {shutdown_timeout, infinity}]."""
    found = read(text)

    assert "me" == found.own
    assert (("a-1", "ab"),) == found.held.ids.pairs
    assert (16, INFINITY) == (found.held.config.version, found.held.config.shutdown_timeout)


TOML = """# ours
version = 3
gospel = { node = "a" }
shutdown_timeout = "infinity"

[nodes]
a = "disc"
"b@host" = "ram"
"""


def test_a_config_in_toml_is_read_as_the_same_config() -> None:
    """The nodes may be a table or a list."""
    found = read(TOML).held.config
    listed = 'version = 3\nnodes = ["a", ["b@host", "ram"]]\ngospel.node = "a"\n'

    assert Config(3, frozenset({"a"}), frozenset({"b@host"}), "a", INFINITY) == found
    assert found == read(listed + 'shutdown_timeout = "infinity"').held.config


@pytest.mark.parametrize(
    ("text", "line", "found"),
    [
        (TOML.replace('"ram"', '"rma"'), 8, "rma}"),
        (TOML.replace("= 3", "= true"), 2, "version is true"),
        (TOML.replace("version = 3", "version = "), 2, "not a TOML file"),
        (TOML.replace("= 3", "= " + "9" * 5000), 1, "a number has thousands of digits"),
        (TOML.replace('node = "a"', 'node = "c"'), 3, "gospel names c"),
    ],
)
def test_errors_of_toml_name_their_lines(text: str, line: int, found: str) -> None:
    """The checks and their order are the same as for Erlang terms."""
    with pytest.raises(NotConfig) as refused:
        read(text)

    assert line == refused.value.line
    assert found in refused.value.found


NAMES = st.text(min_size=1, max_size=6).filter(lambda text: text.isprintable() or "\n" in text)


@st.composite
def configs(draw: st.DrawFn) -> Config:
    """Return any valid config."""
    disc = draw(st.frozensets(NAMES, max_size=3))
    ram = draw(st.frozensets(NAMES, max_size=2)) - disc if disc else frozenset[str]()
    nodes = sorted(disc | ram)
    return Config(
        version=draw(st.integers(0, 10**12)),
        disc=disc,
        ram=ram,
        gospel=draw(st.sampled_from([None, *nodes])),
        shutdown_timeout=draw(st.integers(0, 10**9) | st.just(INFINITY)),
    )


def as_toml(config: Config) -> str:
    """Return the config as TOML, as operators write it."""
    gospel = '"reset"' if config.gospel is None else f"{{ node = {_quoted(config.gospel)} }}"
    rows = [f"version = {config.version}", f"gospel = {gospel}"]
    if config.shutdown_timeout is not None:
        timeout = config.shutdown_timeout
        rows.append(
            f"shutdown_timeout = {timeout if isinstance(timeout, int) else _quoted(timeout)}"
        )
    rows += ["", "[nodes]"]
    rows += [f'{_quoted(name)} = "{kind}"' for name, kind in kinds(config).items()]
    return "\n".join(rows) + "\n"


def _quoted(text: str) -> str:
    def one(char: str) -> str:
        if char in '"\\':
            return "\\" + char
        return char if char.isprintable() else f"\\U{ord(char):08x}"

    return '"' + "".join(map(one, text)) + '"'


@given(config=configs(), own=NAMES, data=st.data())
def test_written_text_reads_back_as_the_same_value(
    config: Config, own: str, data: st.DataObject
) -> None:
    """This holds for Erlang terms with all that is stored, TOML, and JSON."""
    nodes = sorted(config.nodes)
    ids = {name: data.draw(NAMES) for name in nodes if data.draw(st.booleans())}
    held = Held(config, Notes.of(ids))
    found = read(as_erlang(held, own), Form.ERLANG)

    assert (held, own, "") == (found.held, found.own, found.note)
    assert config == read(as_toml(config), Form.TOML).held.config
    assert held == of_json(as_json(config) | {"node_ids": ids})
    assert (held, config) == (read(as_erlang(held)).held, read(as_toml(config)).held.config)


@given(st.text("[]{},.|'\"%<>a1$\\ \n=#-", max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    """No text raises another error than `NotConfig`."""
    for form in (None, *Form):
        with suppress(NotConfig):
            read(text, form)


def test_terms_are_printed_as_erlang_writes_them() -> None:
    """Thus an error shows the text of the file."""
    text = '{a, \'A b\', "x\\"y", <<"z">>, [1, 2.5, $a], {}}'

    assert text.replace("$a", "97") == str(read_terms(text).all[0])
