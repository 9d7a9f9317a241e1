"""Settings of connections for all systems: proofs of identity, and conditions across fields."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import combinations
from pathlib import Path

from attrs import frozen

from joinproto.errors import UsageProblem
from joinproto.net.addresses import Address
from joinproto.net.secret import public, read_secret
from joinproto.net.tls import TlsFiles


@frozen(kw_only=True)
class Proofs:
    """A file with a secret that all of a cluster share, mutual TLS, or both; paths as written."""

    secret_file: str | None = None
    certificate: str | None = None
    key: str | None = None
    ca: str | None = None

    def secret(self, top: Path) -> bytes:
        """Return the secret, empty for none; `top`: the directory that paths are relative to."""
        if self.secret_file is None:
            return b""
        return read_secret("security.secret_file", top / self.secret_file)

    def tls(self, top: Path) -> TlsFiles | None:
        """Return the files of TLS, which were read once; raises `UsageProblem` for bad ones."""
        given = {"certificate": self.certificate, "key": self.key, "ca": self.ca}
        if not any(given.values()):
            return None
        certificate, key, ca = given.values()
        if certificate is None or key is None or ca is None:
            missing = ", ".join(name for name, value in given.items() if value is None)
            raise UsageProblem(
                f"security without {missing}", next="TLS needs all three, as PEM files"
            )
        files = TlsFiles(certificate=top / certificate, key=top / key, ca=top / ca)
        files.context(accepts=True)  # now, so that `--check` reports their errors
        return files

    def warnings(self, top: Path) -> Iterator[str]:
        """Yield the files that all users of this machine may read."""
        for name, file in (("secret_file", self.secret_file), ("key", self.key)):
            if file is not None and (why := public(f"security.{name}", top / file)):
                yield why


def require_times(silence: float, heartbeat: float, ends: str) -> None:
    """Raise `UsageProblem` where one lost heartbeat `ends` something; both in seconds."""
    if silence < 2 * heartbeat:
        raise UsageProblem(
            f"timing.silence is {silence} s, timing.heartbeat {heartbeat} s: one lost heartbeat"
            f" would end {ends}",
            next="set silence to several heartbeats",
        )


def require_apart(ports: Mapping[str, Address | None]) -> None:
    """Raise `UsageProblem` for two listeners on one port; None if it does not listen."""
    there = [(name, at) for name, at in ports.items() if at is not None]
    for (one, here), (other, elsewhere) in combinations(there, 2):
        if here.clashes(elsewhere):
            raise UsageProblem(
                f"{one} {here} and {other} {elsewhere} are one port", next="give each its own port"
            )


def require_distinct(named: Mapping[str, Address], what: str) -> None:
    """Raise `UsageProblem` for one address of two; the names are as the file has them."""
    names: dict[Address, str] = {}
    for name, at in named.items():
        if names.setdefault(at, name) != name:
            raise UsageProblem(
                f"{names[at]} and {name} have one address, {at}",
                next=f"give each {what} its own HOST:PORT",
            )


def require_protected(
    ports: Mapping[str, Address | None],
    insecure: Collection[str],
    *,
    proved: Collection[str],
    next_of: Callable[[str], str],
) -> None:
    """Raise `UsageProblem` for ports that others reach and nothing protects, unless that is said.

    Args:
        ports: where each listens; None if it does not.
        insecure: names of ports that the file says may be unprotected.
        proved: names of ports at which only members of the cluster are let in.
        next_of: returns the advice for the port of a name.
    """
    if unknown := sorted({*insecure} - {*ports}):
        *names, last = ports
        raise UsageProblem(
            f"insecure names {', '.join(unknown)}", next=f"name {', '.join(names)} or {last}"
        )
    for name, at in ports.items():
        if at is not None and not at.is_loopback and name not in {*insecure, *proved}:
            raise UsageProblem(
                f"{name} {at} can be reached from other machines, and nothing protects it",
                next=next_of(name),
            )
