"""Settings of connections, for all systems: proofs of identity, and checks across settings."""

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
    """The file of the cluster's secret, the files of mutual TLS, or both.

    The paths are as written in the settings file.
    """

    secret_file: str | None = None
    certificate: str | None = None
    key: str | None = None
    ca: str | None = None

    def secret(self, top: Path) -> bytes:
        """Return the secret, b"" for none.  `top`: the directory to which paths are relative."""
        if self.secret_file is None:
            return b""
        return read_secret("security.secret_file", top / self.secret_file)

    def tls(self, top: Path) -> TlsFiles | None:
        """Return the files of TLS, None if none is set; raises `UsageProblem` for faulty files.

        `top`: the directory to which paths are relative.
        """
        given = {"certificate": self.certificate, "key": self.key, "ca": self.ca}
        if not any(given.values()):
            return None
        certificate, key, ca = given.values()
        if certificate is None or key is None or ca is None:
            missing = ", ".join(name for name, value in given.items() if value is None)
            raise UsageProblem(
                f"security lacks {missing}",
                next="set certificate, key and ca, all as PEM files, or none of them",
            )
        files = TlsFiles(certificate=top / certificate, key=top / key, ca=top / ca)
        files.context(accepts=True)  # read now, so that `--check` reports their errors
        return files

    def warnings(self, top: Path) -> Iterator[str]:
        """Yield a warning for each secret file that all users of this machine can read or write.

        `top`: the directory to which paths are relative.
        """
        for name, file in (("secret_file", self.secret_file), ("key", self.key)):
            if file is not None and (why := public(f"security.{name}", top / file)):
                yield why


def require_times(silence: float, heartbeat: float, ends: str) -> None:
    """Raise `UsageProblem` if `silence` is less than two heartbeats; both are in seconds.

    `ends`: the thing that one lost heartbeat would end, in words.
    """
    if silence < 2 * heartbeat:
        raise UsageProblem(
            f"timing.silence is {silence} s, timing.heartbeat {heartbeat} s: one lost heartbeat"
            f" would end {ends}",
            next="set silence to several heartbeats",
        )


def require_apart(ports: Mapping[str, Address | None]) -> None:
    """Raise `UsageProblem` for two listeners on one port.  `ports`: None for a closed port."""
    there = [(name, at) for name, at in ports.items() if at is not None]
    for (one, here), (other, elsewhere) in combinations(there, 2):
        if here.clashes(elsewhere):
            raise UsageProblem(
                f"{one} {here} and {other} {elsewhere} use the same port",
                next="give each its own port",
            )


def require_distinct(named: Mapping[str, Address], what: str) -> None:
    """Raise `UsageProblem` for two names with the same address.

    `what`: the kind of thing that the names are of, for the advice.
    """
    names: dict[Address, str] = {}
    for name, at in named.items():
        if names.setdefault(at, name) != name:
            raise UsageProblem(
                f"{names[at]} and {name} have the same address, {at}",
                next=f"give each {what} its own HOST:PORT",
            )


def require_protected(
    ports: Mapping[str, Address | None],
    insecure: Collection[str],
    *,
    proved: Collection[str],
    next_of: Callable[[str], str],
) -> None:
    """Raise `UsageProblem` for an unprotected port that other machines can reach.

    Args:
        ports: for each port's name the address at which it listens, None if it is closed.
        insecure: names of ports that the file allows to be unprotected.
        proved: names of ports that let in only members of the cluster.
        next_of: returns the advice for a port, by its name.
    """
    if unknown := sorted({*insecure} - {*ports}):
        *names, last = ports
        raise UsageProblem(
            f"insecure names {', '.join(unknown)}, and there is no such port",
            next=f"name {', '.join(names)} or {last}",
        )
    for name, at in ports.items():
        if at is not None and not at.is_loopback and name not in {*insecure, *proved}:
            raise UsageProblem(
                f"{name} {at} can be reached from other machines, and nothing protects it",
                next=next_of(name),
            )
