"""Mutual TLS: both sides present a certificate of the cluster's CA that names the member."""

from __future__ import annotations

import logging
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attrs import define, frozen

from joinproto.errors import UsageProblem
from joinproto.net.refused import one_line
from joinproto.net.secret import warn_if_public

log = logging.getLogger(__name__)


@frozen(kw_only=True)
class TlsFiles:
    """PEM files: this member's certificate with its chain, its key, and the CA of all members."""

    certificate: Path
    key: Path
    ca: Path

    def context(self, *, accepts: bool) -> ssl.SSLContext:
        """Return the context of one side; raises `UsageProblem` for files that do not fit."""
        purpose = ssl.PROTOCOL_TLS_SERVER if accepts else ssl.PROTOCOL_TLS_CLIENT
        context = ssl.SSLContext(purpose)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        # A member's name is not a host's name, so the caller compares `names_in` instead.
        context.check_hostname = False
        context.verify_mode = ssl.CERT_REQUIRED
        self._load(
            "certificate",
            self.certificate,
            lambda: context.load_cert_chain(
                self.certificate, self.key, password=self._refuse_encrypted
            ),
        )
        warn_if_public("security.key", self.key)
        self._load("ca", self.ca, lambda: context.load_verify_locations(self.ca))
        return context

    def stamp(self) -> tuple[object, ...]:
        """Return a stamp that changes when one of the files does."""
        found: list[object] = []
        for path in (self.certificate, self.key, self.ca):
            try:
                about = path.stat()
                found.append((about.st_mtime_ns, about.st_size, about.st_ino))
            except OSError as error:
                found.append(error.errno)
        return tuple(found)

    def _load(self, what: str, path: Path, load: Callable[[], None]) -> None:
        with_key = f" with key {self.key}" if path is self.certificate else ""
        try:
            for one in (path, self.key) if with_key else (path,):
                one.open("rb").close()  # the TLS library does not say which file is missing
            load()
        except ssl.SSLError as error:
            raise UsageProblem(
                f"security.{what} {path}{with_key}: {error.reason or error}",
                next="give a certificate, its own key and the CA's certificate, all as PEM",
            ) from error
        except OSError as error:
            raise UsageProblem(
                f"security: {error.filename or path}: {error.strerror or error}",
                next="check the path, and who may read it",
            ) from error

    def _refuse_encrypted(self) -> str:
        # The TLS library calls this; otherwise it would ask for a password at the terminal.
        raise UsageProblem(
            f"security.key {self.key}: it is encrypted, and a node starts without a person",
            next=f"`openssl pkey -in {self.key}` writes it without a password; save that in a file"
            " that only the node's user can read",
        )


@define
class Contexts:
    """The contexts of both sides, read again when the files have changed.

    A renewed certificate is used from the next connection on; present connections continue.
    While the files do not fit, such as during their replacement, the former contexts are used.
    """

    files: TlsFiles
    _stamp: tuple[object, ...]
    _sides: dict[bool, ssl.SSLContext]  # True: the side that accepts, False: the side that calls

    @classmethod
    def read(cls, files: TlsFiles) -> Contexts:
        """Read the files; raises `UsageProblem` for files that do not fit."""
        stamp = files.stamp()
        return cls(files, stamp, {side: files.context(accepts=side) for side in (True, False)})

    def context(self, *, accepts: bool) -> ssl.SSLContext:
        """Return the context for a connection that begins now."""
        stamp = self.files.stamp()
        if stamp != self._stamp:
            self._stamp = stamp
            try:
                self._sides = Contexts.read(self.files)._sides
            except UsageProblem as error:
                log.warning("the certificate was not renewed: %s", one_line(error.message))
            else:
                log.info("the certificate was renewed: %s", self.files.certificate)
        return self._sides[accepts]


def why_no_tls(error: BaseException) -> str:
    """Return why there is no TLS connection, as far as this side can know."""
    cause = error if isinstance(error, ssl.SSLError) else error.__cause__
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"no TLS: we refuse its certificate: {cause.verify_message}"
    if isinstance(cause, ssl.SSLError):
        reason = (cause.reason or str(cause)).replace("_", " ").lower()
        said = "it refuses our side, and says: " if "alert" in reason else ""
        return f"no TLS: {said}{reason}"
    if isinstance(error, TimeoutError):
        return "no TLS: no answer in time"
    return (
        f"no TLS: the connection ended ({str(error) or type(error).__name__}); its log may say why"
    )


def names_in(certificate: dict[str, Any]) -> frozenset[str]:
    """Return the members that a verified certificate names: its DNS names, else its common name."""
    alternatives = {value for kind, value in certificate.get("subjectAltName", ()) if kind == "DNS"}
    subject = {
        value
        for part in certificate.get("subject", ())
        for kind, value in part
        if kind == "commonName"
    }
    return frozenset(alternatives or subject)
