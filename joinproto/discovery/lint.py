"""The effect of a configuration in a release: each setting's status, and all problems by line.

Source: discovery, D6; operators' cases (docs/discovery.md, the table of cases).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from attrs import field, frozen

from joinproto.ask.question import Rule, Why
from joinproto.codec.json_form import Last
from joinproto.discovery import classic, conf, risks
from joinproto.discovery.configuration import BACKEND, Configuration, variable
from joinproto.discovery.findings import Found, Origin, Problem, SettingEffect, Severity
from joinproto.discovery.keys import (
    PREFIX,
    ROOTS,
    SETTINGS,
    Owner,
    Setting,
    setting_of,
)
from joinproto.discovery.releases import LATEST, Release
from joinproto.errors import nearest


@frozen(kw_only=True)
class Linted:
    """The effect of a file in a release.

    `accepted`: the schemas accept the file, and the code can read the variables of the environment;
    it may still end the boot because of a value.  `needs`: the plugins without which the node does
    not start; empty if `LintInput` gives the plugins.
    """

    settings: Annotated[
        tuple[Found, ...], Last(1), "the settings of discovery, in the order of the file"
    ]
    problems: Annotated[tuple[Problem, ...], Last(1), "the problems, in the order of their lines"]
    accepted: bool
    needs: tuple[str, ...] = ()
    rule: Rule = "D6"

    @property
    def starts(self) -> Annotated[bool, "whether a node with this file starts"]:
        """Return whether a node with this file starts."""
        return not any(one.severity is Severity.ERROR for one in self.problems)

    @property
    def why(self) -> Why:
        errors = sum(one.severity is Severity.ERROR for one in self.problems)
        others = len(self.problems) - errors
        if errors:
            keep = "1 line keeps" if errors == 1 else f"{errors} lines keep"
            return f"{keep} the node from starting; {_problems_in(others, 'other ')}"
        are = "are" if len(self.needs) > 1 else "is"
        enabled = f", if {' and '.join(self.needs)} {are} enabled" if self.needs else ""
        return f"it starts{enabled}; {_problems_in(others)}"


def _problems_in(number: int, which: str = "") -> str:
    return f"{number} {which}problem{'' if number == 1 else 's'}"


@frozen(kw_only=True)
class LintInput:
    """The input of `lint`, in addition to the file.

    `plugins`: the enabled plugins, or None for all plugins that a key or the backend needs.
    `environment`: the variables of the node.  `node`: its own name, or None if it is not known.
    """

    release: Release = LATEST
    plugins: frozenset[str] | None = None
    environment: Mapping[str, str] = field(factory=dict)
    node: str | None = None

    def knows(self, owner: Owner) -> bool:
        """Return whether the node knows the settings of this owner."""
        if self.plugins is None or owner is Owner.CORE:
            return True
        if owner is Owner.COMMON:
            return any(one.value in self.plugins for one in Owner if one not in _NOT_COMMON)
        if owner is Owner.AWS_LIBRARY:
            return Owner.AWS.value in self.plugins
        return owner.value in self.plugins


_PLUGIN = ("rabbit_", "rabbitmq_")
"""The prefix of a module's name, and the prefix of its plugin's name."""
_NOT_COMMON = (Owner.CORE, Owner.AWS_LIBRARY)


def lint(text: str | bytes, given: LintInput) -> Linted:
    """Return the status of each setting of this `rabbitmq.conf`, and its problems."""
    lines, wrong = read(text)
    problems = [
        Problem(
            severity=Severity.ERROR,
            line=one.number,
            found=one.text,
            why=one.why,
            next=one.next,
            rule="D6",
        )
        for one in wrong
    ]
    # If a key is set twice, the last value counts.
    last = {line.parts: line for line in lines}
    found: list[Found] = []
    for line in lines:
        if not _is_ours(line.parts):
            continue
        if last[line.parts] is not line:
            why = f"line {last[line.parts].number} sets it again, and the last value counts"
            problems.append(_one_of_two(line.number, line.key, why))
            continue
        setting = setting_of(line.parts)
        one = _judged(line, setting, given)
        found.append(one)
        problems += _problems(one, setting, given, line)
    overriding = tuple(_from_environment(found, given))
    problems += _overridden(found, overriding)
    found += overriding
    problems += [_unread(one) for one in overriding if one.status is SettingEffect.INVALID]
    accepted = not any(one.severity is Severity.ERROR for one in problems)
    about = Configuration.of(found, given.release, given.node, given.environment)
    problems += [*risks.problems(about), *_disabled(about, given)]
    order = sorted(problems, key=lambda one: (one.line or 1 << 30, one.severity.value))
    return Linted(
        settings=tuple(found),
        problems=tuple(order),
        accepted=accepted,
        needs=_needs(found, about, given),
    )


def read(text: str | bytes) -> tuple[list[conf.Line], list[conf.NotRead]]:
    """Return the settings of a configuration in either form, and the lines that are no settings."""
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    raw = raw.removeprefix(b"\xef\xbb\xbf")
    return classic.read(raw) if classic.is_classic(raw) else conf.read(raw)


def _is_ours(parts: tuple[str, ...]) -> bool:
    return parts[0] in ROOTS or setting_of(parts) is not None


def _one_of_two(line: int, key: str, why: str) -> Problem:
    return Problem(
        severity=Severity.WARNING,
        line=line,
        key=key,
        why=why,
        next="keep one of the two",
        rule="D6",
    )


def _disabled(about: Configuration, given: LintInput) -> Iterator[Problem]:
    """Yield a problem if the backend's plugin is not enabled."""
    owner = next((one for one in Owner if one.value == about.backend.replace(*_PLUGIN, 1)), None)
    if owner is not None and not given.knows(owner):
        yield about.problem(
            Severity.UNSAFE,
            BACKEND,
            f"the backend belongs to {owner.value}, which is not enabled, so it asks no server",
            f"rabbitmq-plugins --offline enable {owner.value}",
            "D6",
        )


def _needs(found: list[Found], about: Configuration, given: LintInput) -> tuple[str, ...]:
    """Return the plugins that this file needs; none if the enabled plugins are given."""
    if given.plugins is not None:
        return ()
    settings = (setting_of(conf.Line(0, one.key, "").parts) for one in found if one.line)
    owners = {one.owner for one in settings if one is not None}
    owners |= {one for one in Owner if one.value == about.backend.replace(*_PLUGIN, 1)}
    apart = owners - {Owner.CORE, Owner.COMMON, Owner.AWS_LIBRARY}
    # The plugins of backends enable the common plugin, and the plugin of AWS enables the library.
    shared = owners & {Owner.COMMON} if not apart else set()
    library = owners & {Owner.AWS_LIBRARY} if Owner.AWS not in apart else set()
    return tuple(sorted(one.value for one in apart | shared | library))


def _unread(one: Found) -> Problem:
    return Problem(
        severity=Severity.ERROR,
        key=one.key,
        found=str(one.value),
        why=f"{one.why}: the code that reads it crashes",
        next="set the variable to an expected value, or unset it",
        rule="D6",
    )


def _overridden(found: list[Found], overriding: tuple[Found, ...]) -> Iterator[Problem]:
    """Yield a problem for each line that the environment overrides."""
    names = {one.key: one.why for one in overriding if one.status is SettingEffect.ACCEPTED}
    for one in found:
        if one.status is SettingEffect.ACCEPTED and one.key in names:
            yield _one_of_two(one.line, one.key, f"{names[one.key]} overrides it")


def _judged(line: conf.Line, setting: Setting | None, given: LintInput) -> Found:
    def say(status: SettingEffect, why: str = "", value: Any = line.value) -> Found:
        if setting is not None and setting.is_secret:
            value = "..."
        return Found(
            key=line.key,
            value=value,
            status=status,
            origin=Origin.FILE,
            line=line.number,
            why=why,
        )

    # In Erlang terms, unknown names are ignored and not refused.
    unknown = SettingEffect.IGNORED if line.is_term else SettingEffect.UNKNOWN
    if setting is None:
        return say(unknown, "no release has this setting")
    status, why = setting.status(given.release)
    if status is SettingEffect.UNKNOWN:
        no_schema = f"rabbitmq.conf has it {setting.ages}; this release's code perhaps ignores it"
        return say(unknown, no_schema if line.is_term else why)
    if not given.knows(setting.owner):
        return say(unknown, f"it belongs to {setting.owner.value}, which is not enabled")
    kind = setting.term_kind if line.is_term else setting.kind(given.release)
    try:
        value = kind.read(line.value)
    except (ValueError, KeyError):
        return say(SettingEffect.INVALID, f"expected {kind.about}")
    if setting.short == "aws.hostname_path.$" and not line.parts[-1].isdigit():
        return say(SettingEffect.INVALID, "expected a whole number as the last part of the key")
    return say(status, why, value)


def _problems(
    one: Found, setting: Setting | None, given: LintInput, line: conf.Line
) -> Iterator[Problem]:
    if one.status is SettingEffect.ACCEPTED:
        return
    is_ignored = one.status is SettingEffect.IGNORED
    yield Problem(
        severity=Severity.WARNING if is_ignored else Severity.ERROR,
        line=one.line,
        key=one.key,
        found=str(one.value),
        why=one.why if is_ignored else f"{one.why}: {given.release} does not start",
        next=_next(one, setting, given, line.is_term),
        rule="D6",
    )


def _next(one: Found, setting: Setting | None, given: LintInput, is_term: bool) -> str:
    if one.key.startswith("cluster_nodes"):
        return f"write {PREFIX}.classic_config.nodes.1 = rabbit@host1, and so on"
    if setting is None:
        near = classic.nearest_term(one.key) if is_term else _nearest(one.key)
        return f"did you mean {near}?" if near else "take the line out, or correct the key"
    if one.status is SettingEffect.INVALID:
        return f"write {setting.kind(given.release).about}"
    if "not enabled" in one.why:
        return f"rabbitmq-plugins --offline enable {setting.owner.value}"
    return "take the line out"


def _nearest(key: str) -> str | None:
    # In Erlang terms this prefix is before a backend's name.
    short = key.removeprefix(f"{PREFIX}.").removeprefix("peer_discovery_")
    # A key of another backend would have no effect.
    backend, label = short.partition(".")[0], short.rpartition(".")[2]
    keys = [setting.key.removeprefix(f"{PREFIX}.") for setting in SETTINGS]
    known = [one for one in keys if one.startswith(f"{backend}.")] or keys
    near = nearest(short, known, cutoff=0.8)
    return f"{PREFIX}.{near.replace('$', label)}" if near else None


def _from_environment(found: list[Found], given: LintInput) -> Iterator[Found]:
    """Yield the settings in the environment, which override the settings of the file."""
    for setting in SETTINGS:
        status, why = setting.status(given.release)
        if status is SettingEffect.UNKNOWN or not given.knows(setting.owner):
            continue
        value = variable(given.environment, setting.variable)
        if value is None:
            continue
        kind, read = setting.kind(given.release), value
        try:
            read = kind.read(value) if value else value
            said = SettingEffect.IGNORED if why else SettingEffect.ACCEPTED
        except (ValueError, KeyError):
            said, why = SettingEffect.INVALID, f"expected {kind.about}"
        yield Found(
            key=setting.key,
            value="..." if setting.is_secret else read,
            status=said,
            origin=Origin.ENVIRONMENT,
            why=f"{setting.variable} in the environment{why and f'; {why}'}",
        )
