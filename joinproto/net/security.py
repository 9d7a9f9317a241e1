"""How the two sides of a connection prove who they are, as settings say it, for all systems."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from attrs import frozen

from joinproto.errors import UsageProblem
from joinproto.net.secret import read_secret
from joinproto.net.tls import TlsFiles


@frozen(kw_only=True)
class Proofs:
    """A file with a secret that all of a cluster share, mutual TLS, or both; paths as written."""

    secret_file: str | None = None
    certificate: str | None = None
    key: str | None = None
    ca: str | None = None

    def secret(self, top: Path) -> bytes:
        """Return the secret, empty for none; `top`: what paths are relative to."""
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
        files.context(accepts=True)  # now, so that `--check` says what is wrong with them
        return files

    def warnings(self, top: Path) -> Iterator[str]:
        """Yield which of the files all users of this machine may read."""
        for name, file in (("secret_file", self.secret_file), ("key", self.key)):
            if file is None:
                continue
            with suppress(OSError):
                path = top / file
                mode = stat.S_IMODE(path.stat().st_mode)
                if mode & 0o007:
                    yield f"security.{name} {path}: all may read it (mode {mode:o}); chmod o= it"
